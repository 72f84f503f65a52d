// SPDX-License-Identifier: Apache-2.0
// PTX to code object, cold, for every kernel of the sample and of the files in RUBIA_PTX_FILES
// (separated by colons), beside ptxas -O3 on the same text in the same run, where ptxas is found.
// Each ptxas time includes its start, about 10 ms; `start` is that of an empty module.
#include "runtime/worker/Pipeline.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <benchmark/benchmark.h>

using namespace llvm;
using namespace rubia;
using namespace rubia::runtime;

static size_t instructionsOf(const lowering::Unit &unit) {
  size_t count = 0;
  for (const ptx::Function *f : unit.kernels)
    count += f->body.size();
  for (const ptx::Function *f : unit.functions)
    count += f->body.size();
  return count;
}

static void parseFile(benchmark::State &state, const std::shared_ptr<std::string> &text) {
  for (auto _ : state)
    benchmark::DoNotOptimize(PtxImage::fromText("sample", *text));
  state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(text->size()));
}

static void compileFile(benchmark::State &state, const std::shared_ptr<PtxImage> &image,
                        const std::string &arch) {
  PipelineOptions options;
  options.codegen.arch = arch;
  size_t instructions = 0;
  for (auto _ : state)
    for (const lowering::Unit &unit : image->units()) {
      Expected<codegen::CodeObject> object = image->compile(unit, options);
      if (!object)
        return state.SkipWithError(toString(object.takeError()).c_str());
      instructions += instructionsOf(unit);
    }
  state.counters["kernels"] = image->units().size();
  state.counters["us/instruction"] = benchmark::Counter(
      instructions / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

static void runPtxas(benchmark::State &state, const std::string &ptxas, const std::string &path) {
  for (auto _ : state) {
    std::string error;
    StringRef arguments[] = {ptxas, "-O3", "-arch=sm_80", "-o", "/dev/null", path};
    if (sys::ExecuteAndWait(ptxas, arguments, std::nullopt, {}, 0, 0, &error))
      return state.SkipWithError(("ptxas failed " + error).c_str());
  }
}

static void addFile(const std::string &path, const std::string &ptxas) {
  auto file = MemoryBuffer::getFile(path);
  if (!file) {
    errs() << path << ": " << file.getError().message() << "\n";
    return;
  }
  auto text = std::make_shared<std::string>((*file)->getBuffer().str());
  Expected<PtxImage> parsed = PtxImage::fromText(path, *text);
  if (!parsed) {
    errs() << path << ": " << toString(parsed.takeError()) << "\n";
    return;
  }
  auto image = std::make_shared<PtxImage>(std::move(*parsed));
  std::string name = sys::path::stem(path).str();
  benchmark::RegisterBenchmark(("parse/" + name).c_str(), parseFile, text);
  for (const char *arch : {"gfx1100", "gfx942"})
    benchmark::RegisterBenchmark(("compile/" + name + "/" + arch).c_str(), compileFile, image,
                                 std::string(arch))
        ->Unit(benchmark::kMillisecond);
  if (!ptxas.empty())
    benchmark::RegisterBenchmark(("ptxas/" + name).c_str(), runPtxas, ptxas, path)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
}

int main(int argc, char **argv) {
  std::string ptxas;
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    ptxas = *found;
  else
    errs() << "no ptxas: its times are left out\n";
  if (!ptxas.empty())
    addFile(RUBIA_BENCHMARK_DATA "/start.ptx", ptxas);
  addFile(RUBIA_BENCHMARK_DATA "/../ptx-frontend/kernels.ptx", ptxas);
  if (const char *more = getenv("RUBIA_PTX_FILES")) {
    SmallVector<StringRef> paths;
    StringRef(more).split(paths, ':', -1, false);
    for (StringRef path : paths)
      addFile(path.str(), ptxas);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
