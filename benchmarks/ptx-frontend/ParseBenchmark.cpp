// SPDX-License-Identifier: Apache-2.0
// ptx::parse, verifier included: megabytes, tokens and instructions a second, and the most memory
// that it holds, in bytes per byte of text (which counts itself). Over a generated text of the
// libraries' mix, over kernels.ptx (nvcc's output for kernels.cu), and over the *.ptx files of the
// folder that RUBIA_PTX_FOLDER names: each of a megabyte or more, and all together.

#include "benchmarks/ptx-frontend/LibraryMix.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/Printer.h"
#include "ptx-frontend/lib/Lexer.h"
#include "runtime/base/HeapPages.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <filesystem>
#include <malloc.h>
#include <new>

using namespace rubia::ptx;

// ---------- Memory: what operator new has handed out

static size_t allocated = 0, mostAllocated = 0;

static void *allocate(size_t size, size_t alignment) {
  void *memory = alignment > alignof(std::max_align_t)
                     ? aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                     : malloc(size);
  if (!memory)
    abort();
  allocated += malloc_usable_size(memory);
  mostAllocated = std::max(mostAllocated, allocated);
  return memory;
}
static void release(void *memory) {
  allocated -= malloc_usable_size(memory);
  free(memory);
}
void *operator new(size_t size) { return allocate(size, 1); }
void *operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, size_t(alignment));
}
void operator delete(void *memory) noexcept { release(memory); }
void operator delete(void *memory, size_t) noexcept { release(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { release(memory); }

// ---------- Benchmarks

static size_t countTokens(const std::string &text) {
  Lexer lexer{llvm::StringRef(text)};
  size_t tokens = 0;
  while (lexer.next().kind != Token::Kind::End)
    ++tokens;
  return tokens;
}

static void parseTexts(benchmark::State &state, const std::vector<std::string> &texts) {
  size_t instructions = 0, bytes = 0, tokens = 0, errors = 0;
  double memory = 0;
  for (const std::string &text : texts) {
    size_t before = mostAllocated = allocated;
    ParseResult result = parse("benchmark.ptx", text);
    memory = std::max(memory, double(mostAllocated - before) / double(text.size()));
    for (const Function *fn : result.module.functions)
      instructions += fn->body.size();
    errors += result.diagnostics.size();
    bytes += text.size();
    tokens += countTokens(text);
  }
  for (auto _ : state)
    for (const std::string &text : texts) {
      ParseResult result = parse("benchmark.ptx", text);
      benchmark::DoNotOptimize(result.module.functions.data());
    }
  auto rate = [&](double perIteration) {
    return benchmark::Counter(perIteration, benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["MB/s"] = rate(double(bytes) / 1e6);
  state.counters["tokens"] = rate(double(tokens));
  state.counters["instructions"] = rate(double(instructions));
  state.counters["memory/text"] = memory;
  state.counters["diagnostics"] = double(errors);
}

static void lexText(benchmark::State &state, const std::string &text) {
  size_t tokens = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(tokens = countTokens(text));
  state.counters["MB/s"] =
      benchmark::Counter(double(text.size()) / 1e6, benchmark::Counter::kIsIterationInvariantRate);
}

static void printText(benchmark::State &state, const std::string &text) {
  ParseResult result = parse("benchmark.ptx", text);
  size_t bytes = 0;
  for (auto _ : state)
    bytes = print(result.module).size();
  state.counters["MB/s"] =
      benchmark::Counter(double(bytes) / 1e6, benchmark::Counter::kIsIterationInvariantRate);
}

int main(int argc, char **argv) {
  rubia::runtime::keepHeapInHugePages(); // as processes that compile do
  benchmark::Initialize(&argc, argv);
  auto add = [](const std::string &name, const std::string &text) {
    benchmark::RegisterBenchmark(("parse/" + name).c_str(), parseTexts, std::vector{text});
    benchmark::RegisterBenchmark(("lex/" + name).c_str(), lexText, text);
    benchmark::RegisterBenchmark(("print/" + name).c_str(), printText, text);
  };
  add("library mix", libraryMix(4 << 20));
  if (auto buffer = llvm::MemoryBuffer::getFile(RUBIA_PTX_SAMPLE))
    add("kernels.ptx", (*buffer)->getBuffer().str());
  if (const char *folder = getenv("RUBIA_PTX_FOLDER")) {
    std::vector<std::string> files, texts;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(folder, error))
      if (entry.path().extension() == ".ptx")
        files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    for (const std::string &file : files) {
      auto buffer = llvm::MemoryBuffer::getFile(file);
      if (!buffer)
        continue;
      texts.push_back((*buffer)->getBuffer().str());
      if (texts.back().size() >= 1000000)
        add(std::filesystem::path(file).filename().string(), texts.back());
    }
    benchmark::RegisterBenchmark("parse/all files", parseTexts, texts);
  }
  benchmark::RunSpecifiedBenchmarks();
}
