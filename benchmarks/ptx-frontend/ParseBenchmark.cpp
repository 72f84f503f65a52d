// ptx::parse, verifier included, in bytes a second: over kernels.ptx (nvcc's output for kernels.cu)
// and over the files that RUBIA_PTX_FILES names, separated by colons.

#include "ptx-frontend/Parser.h"
#include "ptx-frontend/Printer.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <benchmark/benchmark.h>
#include <cstdlib>

using namespace rubia::ptx;

static void parseText(benchmark::State &state, const std::string &text) {
  size_t instructions = 0;
  for (auto _ : state) {
    ParseResult result = parse("benchmark.ptx", text);
    instructions = 0;
    for (const Function *fn : result.module.functions)
      instructions += fn->body.size();
    benchmark::DoNotOptimize(result.module.functions.data());
  }
  state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(text.size()));
  state.counters["instructions"] =
      benchmark::Counter(double(instructions), benchmark::Counter::kIsIterationInvariantRate);
}

static void printText(benchmark::State &state, const std::string &text) {
  ParseResult result = parse("benchmark.ptx", text);
  size_t bytes = 0;
  for (auto _ : state)
    bytes = print(result.module).size();
  state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(bytes));
}

int main(int argc, char **argv) {
  llvm::SmallVector<std::string> files{RUBIA_PTX_SAMPLE};
  if (const char *more = getenv("RUBIA_PTX_FILES"))
    for (llvm::StringRef file : llvm::split(more, ':'))
      files.push_back(file.str());
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      continue;
    std::string text = (*buffer)->getBuffer().str();
    llvm::StringRef name = llvm::StringRef(file).rsplit('/').second;
    benchmark::RegisterBenchmark(("parse/" + name).str().c_str(), parseText, text);
    benchmark::RegisterBenchmark(("print/" + name).str().c_str(), printText, text);
  }
  // Many kernels in one module: what a large library looks like.
  if (auto buffer = llvm::MemoryBuffer::getFile(RUBIA_PTX_SAMPLE)) {
    llvm::StringRef text = (*buffer)->getBuffer();
    size_t bodies = text.find(".visible");
    std::string large = text.take_front(bodies).str();
    for (unsigned copy = 0; copy < 100; ++copy)
      for (llvm::StringRef line : llvm::split(text.drop_front(bodies), '\n')) {
        // Names of the module get a number; those of a body are local already.
        size_t name = line.find("bench_");
        if (name == llvm::StringRef::npos)
          large += line;
        else
          large += (line.take_front(name) + "b" + llvm::Twine(copy) + line.drop_front(name)).str();
        large += '\n';
      }
    benchmark::RegisterBenchmark("parse/100 times kernels.ptx", parseText, large);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
