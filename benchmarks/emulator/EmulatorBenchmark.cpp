// SPDX-License-Identifier: Apache-2.0
// Lane operations per second: the active lanes times the vector instructions that they execute,
// scalar instructions and waits not counted, pairs (V_DUAL_*) as two. They are counted in a run of
// their own, outside of the time. `laneOps` is by elapsed time, `perCore` by processor time of all
// threads, `laneOps` of a native loop the lane operations of gfx1100's loop by the time that the
// host's own instructions take for the same work.
//
//   emulator_benchmark --examples
//
// prints, beside the loops of Loops.cl with one and with two threads, how fast the kernels of the
// programs in examples/ run.
#include "benchmarks/emulator/Examples.h"
#include "benchmarks/emulator/NativeLoops.h"
#include "emulator/Emulator.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include <benchmark/benchmark.h>
#include <functional>
#include <map>

using namespace rubia::emulator;

namespace {

std::vector<uint8_t> compileLoops(const std::string &target) {
  llvm::SmallString<128> output;
  (void)llvm::sys::fs::createTemporaryFile("emulator", "co", output);
  const std::string processor = "-mcpu=" + target;
  const llvm::StringRef arguments[] = {
      RUBIA_CLANG,     "-target", "amdgcn-amd-amdhsa", processor, "-nogpulib", "-x", "cl",
      "-cl-std=CL2.0", "-O3",     RUBIA_LOOPS,         "-o",      output};
  std::vector<uint8_t> object;
  if (llvm::sys::ExecuteAndWait(RUBIA_CLANG, arguments) == 0)
    if (auto file = llvm::MemoryBuffer::getFile(output))
      object.assign((*file)->getBufferStart(), (*file)->getBufferEnd());
  (void)llvm::sys::fs::remove(output);
  return object;
}

const std::vector<uint8_t> &objectFor(const std::string &target) {
  static std::map<std::string, std::vector<uint8_t>> objects;
  auto [at, isNew] = objects.try_emplace(target);
  if (isNew)
    at->second = compileLoops(target);
  return at->second;
}

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

/// Buffers of a loop; the contents are the same for all.
struct Buffers {
  uint32_t *out, *in;
};
constexpr uint32_t kWords = 1 << 22, kThreads = 64 * 256;

struct Loop {
  const char *name;
  uint32_t workgroups;
  std::function<std::vector<uint8_t>(Buffers)> arguments;
  std::function<void(Buffers)> native; // none: has no counterpart
};

float *floats(uint32_t *words) { return reinterpret_cast<float *>(words); }

const Loop kLoops[] = {
    {"mix", 64, [](Buffers b) { return pack(b.out, 1000u); },
     [](Buffers b) { native::mix(b.out, kThreads, 1000); }},
    {"hash", 64, [](Buffers b) { return pack(b.out, 1000u); },
     [](Buffers b) { native::hash(b.out, kThreads, 1000); }},
    {"horner", 64, [](Buffers b) { return pack(b.out, 1000u); },
     [](Buffers b) { native::horner(floats(b.out), kThreads, 1000); }},
    {"mandelbrot", 256, [](Buffers b) { return pack(b.out, 256u, 500u); },
     [](Buffers b) { native::mandelbrot(b.out, 65536, 256, 500); }},
    {"saxpy", 64, [](Buffers b) { return pack(b.out, b.in, 0.5f, kWords); },
     [](Buffers b) { native::saxpy(floats(b.out), floats(b.in), 0.5f, kWords); }},
    {"gather", 64, [](Buffers b) { return pack(b.out, b.in, kWords - 1, 200u); },
     [](Buffers b) { native::gather(b.out, b.in, kWords - 1, kThreads, 200); }},
    {"reduce", 64, [](Buffers b) { return pack(b.out, 20u); }, nullptr},
};

/// A loaded object with memory for it.
struct Setup {
  Memory memory;
  std::unique_ptr<CodeObject> code;
  Buffers buffers;

  explicit Setup(const std::string &target) {
    if (auto loaded = CodeObject::load(objectFor(target), memory))
      code = std::move(*loaded);
    else
      llvm::consumeError(loaded.takeError());
    for (uint32_t **words : {&buffers.out, &buffers.in}) {
      *words =
          static_cast<uint32_t *>(llvm::cantFail(memory.allocate(kWords * 4, MemoryKind::Device)));
      std::fill(*words, *words + kWords, 0x3f800000);
    }
  }

  Launch launchOf(const Loop &loop, llvm::ArrayRef<uint8_t> kernarg, unsigned threads) const {
    Launch launch;
    launch.kernel = code->kernel(loop.name);
    launch.grid = {loop.workgroups};
    launch.block = {256};
    launch.kernarg = kernarg;
    launch.hostThreads = threads;
    return launch;
  }

  /// Lane operations of a launch.
  double count(Launch launch) {
    launch.countOperations = true;
    auto statistics = run(launch, memory);
    if (statistics)
      return double(statistics->laneOperations);
    llvm::consumeError(statistics.takeError());
    return 0;
  }
};

double processorSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void report(benchmark::State &state, double operations, double cpu) {
  operations *= double(state.iterations());
  state.counters["laneOps"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
  state.counters["perCore"] = cpu > 0 ? operations / cpu : 0;
}

void emulated(benchmark::State &state, const Loop &loop, const char *target) {
  Setup setup(target);
  if (!setup.code)
    return state.SkipWithError("no code object: is clang installed?");
  const std::vector<uint8_t> kernarg = loop.arguments(setup.buffers);
  const Launch launch = setup.launchOf(loop, kernarg, unsigned(state.range(0)));
  const double operations = setup.count(launch);
  const double before = processorSeconds();
  for (auto _ : state)
    if (auto statistics = run(launch, setup.memory); !statistics)
      return state.SkipWithError(llvm::toString(statistics.takeError()).c_str());
  report(state, operations, processorSeconds() - before);
}

void onHost(benchmark::State &state, const Loop &loop) {
  Setup setup("gfx1100");
  if (!setup.code)
    return state.SkipWithError("no code object: is clang installed?");
  const std::vector<uint8_t> kernarg = loop.arguments(setup.buffers);
  const double operations = setup.count(setup.launchOf(loop, kernarg, 1));
  const double before = processorSeconds();
  for (auto _ : state) {
    loop.native(setup.buffers);
    benchmark::ClobberMemory();
  }
  report(state, operations, processorSeconds() - before);
}

void loadObject(benchmark::State &state) {
  const std::vector<uint8_t> &object = objectFor("gfx1100");
  Memory memory;
  for (auto _ : state)
    if (auto code = CodeObject::load(object, memory))
      benchmark::DoNotOptimize(code->get());
    else
      state.SkipWithError(llvm::toString(code.takeError()).c_str());
}

} // namespace

int main(int argc, char **argv) {
  for (const Loop &loop : kLoops) {
    for (const char *target : {"gfx1100", "gfx942"})
      benchmark::RegisterBenchmark(
          (std::string(loop.name) + "/" + target).c_str(),
          [&loop, target](benchmark::State &state) { emulated(state, loop, target); })
          ->Arg(1)
          ->Arg(2)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    if (loop.native)
      benchmark::RegisterBenchmark((std::string(loop.name) + "/native").c_str(),
                                   [&loop](benchmark::State &state) { onHost(state, loop); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark("loadObject", loadObject)->Unit(benchmark::kMillisecond);
  const bool examples = argc > 1 && llvm::StringRef(argv[argc - 1]) == "--examples";
  argc -= examples;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  if (examples)
    runExamples();
  return 0;
}
