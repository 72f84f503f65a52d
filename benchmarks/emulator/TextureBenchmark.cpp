// SPDX-License-Identifier: Apache-2.0
// Samples of textures per second on the emulator, as programs get them: by the driver API.
// `samples` is by processor time of all threads, and so per core.
#include "runtime/cuda/texture/Descriptors.h"
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <vector>

using namespace rubia::runtime::cuda;

namespace {

constexpr unsigned kBlocks = 512, kThreads = 256, kSamples = 64, kSide = 256;

// Each thread takes kSamples samples on a line and writes their sum.
constexpr const char *kText = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 texture)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .f32 %f<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [texture];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  cvt.rn.f32.u32 %f0, %r0;
  cvt.rn.f32.u32 %f1, %r1;
  mov.f32 %f2, 0f00000000;
  mov.u32 %r2, 0;
loop:
  tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%d1, {%f0, %f1}];
  add.f32 %f2, %f2, %f4;
  add.f32 %f0, %f0, 0f3E99999A;
  add.f32 %f1, %f1, 0fBE4CCCCD;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p, %r2, 64;
  @%p bra loop;
  mad.lo.u32 %r3, %r1, 256, %r0;
  mul.wide.u32 %d2, %r3, 4;
  add.u64 %d2, %d0, %d2;
  st.global.f32 [%d2], %f2;
  ret;
}
)";

void *library;
template <class... Arguments> bool call(const char *name, Arguments... arguments) {
  void *function = dlsym(library, name);
  return function && reinterpret_cast<int (*)(Arguments...)>(function)(arguments...) == 0;
}

double processorSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

struct Kind {
  const char *name;
  int filter, format;
  unsigned channels, flags;
};

// All texels are the same number, of each format one without NaN.
bool fill(const Kind &kind, Array *array) {
  const unsigned texelBytes = kind.channels * (kind.format == kFormatFloat  ? 4
                                               : kind.format == kFormatHalf ? 2
                                                                            : 1);
  std::vector<uint8_t> contents(size_t(kSide) * kSide * texelBytes, 0x3c);
  Copy3D copy = {};
  copy.from.type = kMemoryHost;
  copy.from.host = contents.data();
  copy.from.pitch = copy.widthInBytes = size_t(kSide) * texelBytes;
  copy.from.height = copy.height = kSide;
  copy.to.type = kMemoryArray;
  copy.to.array = array;
  copy.depth = 1;
  return call("cuMemcpy3D_v2", static_cast<const Copy3D *>(&copy));
}

ObjectHandle makeTexture(const Kind &kind) {
  const Array3DDescriptor descriptor = {kSide, kSide, 0, kind.format, kind.channels, 0};
  ResourceDescriptor resource = {};
  TextureDescriptor texture = {};
  texture.addressMode[0] = texture.addressMode[1] = 1;
  texture.filter = kind.filter;
  texture.flags = kind.flags;
  ObjectHandle object = 0;
  return call("cuArray3DCreate_v2", &resource.array, &descriptor) && fill(kind, resource.array) &&
                 call("cuTexObjectCreate", &object,
                      static_cast<const ResourceDescriptor *>(&resource),
                      static_cast<const TextureDescriptor *>(&texture),
                      static_cast<const ViewDescriptor *>(nullptr))
             ? object
             : 0;
}

void sample(benchmark::State &state, const Kind &kind) {
  void *module = nullptr, *function = nullptr, *context = nullptr, *none = nullptr;
  uint64_t out = 0;
  ObjectHandle texture = 0;
  bool isFine = call("cuInit", 0u) && call("cuDevicePrimaryCtxRetain", &context, 0) &&
                call("cuCtxSetCurrent", context) &&
                call("cuModuleLoadData", &module, static_cast<const void *>(kText)) &&
                call("cuModuleGetFunction", &function, module, "k") &&
                call("cuMemAlloc_v2", &out, size_t(kBlocks) * kThreads * 4) &&
                (texture = makeTexture(kind));
  void *values[] = {&out, &texture};
  auto launch = [&] {
    isFine = isFine &&
             call("cuLaunchKernel", function, kBlocks, 1u, 1u, kThreads, 1u, 1u, 0u, none,
                  &values[0], static_cast<void **>(nullptr)) &&
             call("cuCtxSynchronize");
  };
  launch(); // compiles
  const double before = processorSeconds();
  for (auto _ : state)
    launch();
  const double seconds = processorSeconds() - before;
  if (!isFine)
    state.SkipWithError("a call of the driver API failed");
  state.counters["samples"] =
      double(kBlocks) * kThreads * kSamples * double(state.iterations()) / seconds;
}

} // namespace

int main(int argc, char **argv) {
  setenv("RUBIA_DEVICE", "emulator", 0);
  library = dlopen(RUBIA_LIBCUDA, RTLD_NOW);
  static constexpr Kind kKinds[] = {
      {"point", 0, kFormatFloat, 1, 0},
      {"point/u8x4", 0, kFormatU8, 4, 0},
      {"linear", 1, kFormatFloat, 1, 0},
      {"linear/f32x4", 1, kFormatFloat, 4, 0},
      {"linear/f16", 1, kFormatHalf, 1, 0},
      {"linear/f16x4", 1, kFormatHalf, 4, 0},
      {"linear/u8", 1, kFormatU8, 1, 0},
      {"linear/u8x4", 1, kFormatU8, 4, 0},
      {"linear/f32/normalized", 1, kFormatFloat, 1, kNormalizedCoordinates},
      {"linear/u8x4/normalized", 1, kFormatU8, 4, kNormalizedCoordinates}};
  for (const Kind &kind : kKinds)
    benchmark::RegisterBenchmark(kind.name, [&kind](benchmark::State &state) {
      sample(state, kind);
    })->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
