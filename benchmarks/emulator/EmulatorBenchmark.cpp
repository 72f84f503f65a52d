// Lane operations per second: wave instructions times the wave size, hints not counted. The
// yardstick is the same loop compiled for the host, which is what a translating tier could reach.
#include "emulator/Emulator.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <benchmark/benchmark.h>
#include <cmath>
#include <optional>

using namespace rubia::emulator;

namespace {

const char *const kSource = R"(
#define GID (__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x())
kernel void saxpy(global float *y, global const float *x, float a, uint n) {
  uint i = GID;
  if (i < n) y[i] = __builtin_fmaf(a, x[i], y[i]);
}
kernel void mix(global uint *out, uint n) {
  uint i = GID, h = i;
  float f = (float)i;
  for (uint k = 0; k < n; ++k) {
    h ^= h << 13; h ^= h >> 17; h ^= h << 5; h += k * 0x9e3779b9u;
    f = __builtin_fmaf(f, 0.999f, 0.5f);
    f = __builtin_fmaf(f, 1.001f, -0.25f);
  }
  out[i] = h + (uint)f;
}
kernel void mandelbrot(global uint *out, uint width, uint limit) {
  uint i = GID;
  float cx = (float)(i % width) * (3.0f / (float)width) - 2.0f, cy = (float)(i / width) * (2.0f / (float)width) - 1.0f;
  float x = 0, y = 0;
  uint k = 0;
  while (x * x + y * y < 4.0f && k < limit) { float t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; ++k; }
  out[i] = k;
}
)";

std::vector<uint8_t> compileKernels() {
  llvm::SmallString<128> input, output;
  int fd;
  if (llvm::sys::fs::createTemporaryFile("emulator", "cl", fd, input))
    return {};
  llvm::raw_fd_ostream(fd, true) << kSource;
  (void)llvm::sys::fs::createTemporaryFile("emulator", "co", output);
  llvm::SmallVector<llvm::StringRef> arguments = {RUBIA_CLANG,
                                                  "-target",
                                                  "amdgcn-amd-amdhsa",
                                                  "-mcpu=gfx1100",
                                                  "-nogpulib",
                                                  "-x",
                                                  "cl",
                                                  "-O3",
                                                  input,
                                                  "-o",
                                                  output};
  std::vector<uint8_t> object;
  if (llvm::sys::ExecuteAndWait(RUBIA_CLANG, arguments) == 0)
    if (auto file = llvm::MemoryBuffer::getFile(output))
      object.assign((*file)->getBufferStart(), (*file)->getBufferEnd());
  (void)llvm::sys::fs::remove(input);
  (void)llvm::sys::fs::remove(output);
  return object;
}

/// A loaded object, memory for it, and launches that count lane operations.
struct Setup {
  Memory memory;
  std::unique_ptr<CodeObject> code;

  Setup() {
    static const std::vector<uint8_t> object = compileKernels();
    if (auto loaded = CodeObject::load(object, memory))
      code = std::move(*loaded);
    else
      llvm::consumeError(loaded.takeError());
  }

  void measure(benchmark::State &state, const char *kernel, Dim3 grid,
               llvm::ArrayRef<uint8_t> kernarg) {
    if (!code) {
      state.SkipWithError("no code object: is clang installed?");
      return;
    }
    Launch launch;
    launch.kernel = code->kernel(kernel);
    launch.grid = grid;
    launch.block = {256};
    launch.kernarg = kernarg;
    launch.hostThreads = unsigned(state.range(0));
    uint64_t instructions = 0;
    for (auto _ : state) {
      auto statistics = run(launch, memory);
      if (!statistics) {
        state.SkipWithError(llvm::toString(statistics.takeError()).c_str());
        return;
      }
      instructions += statistics->instructions;
    }
    state.counters["laneOps"] =
        benchmark::Counter(double(instructions) * 32, benchmark::Counter::kIsRate);
  }
};

template <class... T> std::vector<uint8_t> pack(T... values) {
  std::vector<uint8_t> bytes;
  auto add = [&](auto value) {
    bytes.resize((bytes.size() + sizeof(value) - 1) / sizeof(value) * sizeof(value));
    const uint8_t *raw = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(value));
  };
  (add(values), ...);
  return bytes;
}

void saxpy(benchmark::State &state) {
  Setup setup;
  constexpr uint32_t n = 1 << 20;
  float *x = static_cast<float *>(llvm::cantFail(setup.memory.allocate(n * 4, MemoryKind::Device)));
  float *y = static_cast<float *>(llvm::cantFail(setup.memory.allocate(n * 4, MemoryKind::Device)));
  std::fill(x, x + n, 1.0f);
  std::fill(y, y + n, 2.0f);
  setup.measure(state, "saxpy", {n / 256}, pack(y, x, 0.5f, n));
}
void mix(benchmark::State &state) {
  Setup setup;
  void *out = llvm::cantFail(setup.memory.allocate(64 * 256 * 4, MemoryKind::Device));
  setup.measure(state, "mix", {64}, pack(out, 1000u));
}
void mandelbrot(benchmark::State &state) {
  Setup setup;
  void *out = llvm::cantFail(setup.memory.allocate(65536 * 4, MemoryKind::Device));
  setup.measure(state, "mandelbrot", {256}, pack(out, 256u, 500u));
}

/// The ceiling: the loop of `mix` on the host.
void mixOnHost(benchmark::State &state) {
  constexpr uint32_t n = 64 * 256, steps = 1000;
  std::vector<uint32_t> out(n);
  for (auto _ : state) {
    for (uint32_t first = 0; first < n; first += 32) {
      uint32_t h[32];
      float f[32];
      for (uint32_t l = 0; l < 32; ++l)
        h[l] = first + l, f[l] = float(first + l);
      for (uint32_t k = 0; k < steps; ++k)
        for (uint32_t l = 0; l < 32; ++l) {
          h[l] ^= h[l] << 13, h[l] ^= h[l] >> 17, h[l] ^= h[l] << 5, h[l] += k * 0x9e3779b9u;
          f[l] = f[l] * 0.999f + 0.5f;
          f[l] = f[l] * 1.001f - 0.25f;
        }
      for (uint32_t l = 0; l < 32; ++l)
        out[first + l] = h[l] + uint32_t(int32_t(f[l]));
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.counters["laneOps"] =
      benchmark::Counter(double(state.iterations()) * n * steps * 12, benchmark::Counter::kIsRate);
}

void loadObject(benchmark::State &state) {
  static const std::vector<uint8_t> object = compileKernels();
  Memory memory;
  for (auto _ : state)
    if (auto code = CodeObject::load(object, memory))
      benchmark::DoNotOptimize(code->get());
    else
      state.SkipWithError(llvm::toString(code.takeError()).c_str());
}

} // namespace

BENCHMARK(saxpy)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(mix)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(mandelbrot)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(mixOnHost);
BENCHMARK(loadObject);
BENCHMARK_MAIN();
