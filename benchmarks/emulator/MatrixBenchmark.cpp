// SPDX-License-Identifier: Apache-2.0
// Multiply-adds per second of matrix instructions, one wave on one host thread: `multiplyAdds` by
// processor time. The operands are ordinary numbers, the accumulator goes round the loop.
#include "emulator/Emulator.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include <benchmark/benchmark.h>
#include <random>

using namespace rubia::emulator;

namespace {

struct Form {
  int number; // in Matrix.cl
  const char *name, *processor;
  double multiplyAdds; // of an instruction
  uint32_t code;       // a word of small numbers of the type
};

constexpr double kTile = 16.0 * 16;
constexpr Form kForms[] = {
    {0, "f32_16x16x16_f16", "gfx90a", kTile * 16, 0x3c003800},
    {1, "f32_32x32x8_f16", "gfx90a", 4 * kTile * 8, 0x3c003800},
    {2, "f32_16x16x16_bf16", "gfx90a", kTile * 16, 0x3f803f00},
    {3, "f32_16x16x4_f32", "gfx90a", kTile * 4, 0x3f800000},
    {4, "f32_32x32x2_f32", "gfx90a", 4 * kTile * 2, 0x3f800000},
    {5, "i32_16x16x16_i8", "gfx90a", kTile * 16, 0x01ff0203},
    {0, "f32_16x16x16_f16", "gfx942", kTile * 16, 0x3c003800},
    {1, "f32_32x32x8_f16", "gfx942", 4 * kTile * 8, 0x3c003800},
    {2, "f32_16x16x16_bf16", "gfx942", kTile * 16, 0x3f803f00},
    {3, "f32_16x16x4_f32", "gfx942", kTile * 4, 0x3f800000},
    {6, "i32_16x16x32_i8", "gfx942", kTile * 32, 0x01ff0203},
    {7, "f32_16x16x32_fp8", "gfx942", kTile * 32, 0x38383038},
    {8, "f32_16x16x8_xf32", "gfx942", kTile * 8, 0x3f800000},
    {9, "f32_16x16x32_f16", "gfx950", kTile * 32, 0x3c003800},
    {10, "i32_16x16x64_i8", "gfx950", kTile * 64, 0x01ff0203},
    {11, "f32_16x16x16_f16", "gfx1100", kTile * 16, 0x3c003800},
    {12, "i32_16x16x16_iu8", "gfx1100", kTile * 16, 0x01ff0203},
    {13, "f32_16x16x16_f16", "gfx1201", kTile * 16, 0x3c003800},
    {14, "i32_16x16x16_iu8", "gfx1201", kTile * 16, 0x01ff0203},
};

std::vector<uint8_t> compile(const Form &form) {
  llvm::SmallString<128> output;
  (void)llvm::sys::fs::createTemporaryFile("matrix", "co", output);
  const std::string processor = std::string("-mcpu=") + form.processor;
  const std::string number = "-DFORM=" + std::to_string(form.number);
  const llvm::StringRef arguments[] = {RUBIA_CLANG, "-target",       "amdgcn-amd-amdhsa",
                                       processor,   "-nogpulib",     "-x",
                                       "cl",        "-cl-std=CL2.0", "-O3",
                                       number,      RUBIA_MATRIX,    "-o",
                                       output};
  std::vector<uint8_t> object;
  if (llvm::sys::ExecuteAndWait(RUBIA_CLANG, arguments) == 0)
    if (auto file = llvm::MemoryBuffer::getFile(output))
      object.assign((*file)->getBufferStart(), (*file)->getBufferEnd());
  (void)llvm::sys::fs::remove(output);
  return object;
}

double processorSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void multiply(benchmark::State &state, const Form &form) {
  constexpr uint32_t kSteps = 20'000, kBytes = 64 * 64;
  Memory memory;
  const std::vector<uint8_t> object = compile(form);
  auto code = CodeObject::load(object, memory);
  if (!code) {
    state.SkipWithError(llvm::toString(code.takeError()).c_str());
    return;
  }
  struct {
    uint32_t *a, *b, *c;
    uint32_t steps = kSteps;
  } arguments;
  for (uint32_t **words : {&arguments.a, &arguments.b, &arguments.c}) {
    *words = static_cast<uint32_t *>(llvm::cantFail(memory.allocate(kBytes, MemoryKind::Device)));
    std::fill(*words, *words + kBytes / 4, words == &arguments.c ? 0 : form.code);
  }
  Launch launch;
  launch.kernel = (*code)->kernel("k");
  launch.grid = {1};
  launch.block = {launch.kernel->waveSize};
  launch.kernarg = {reinterpret_cast<const uint8_t *>(&arguments), 28};
  launch.hostThreads = 1;
  const double before = processorSeconds();
  for (auto _ : state) {
    auto result = run(launch, memory);
    if (!result) {
      state.SkipWithError(llvm::toString(result.takeError()).c_str());
      return;
    }
  }
  const double all = form.multiplyAdds * kSteps * double(state.iterations());
  state.counters["multiplyAdds"] = all / (processorSeconds() - before);
}

} // namespace

int main(int argc, char **argv) {
  for (const Form &form : kForms)
    benchmark::RegisterBenchmark((std::string(form.name) + "/" + form.processor).c_str(),
                                 [&form](benchmark::State &state) { multiply(state, form); })
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
