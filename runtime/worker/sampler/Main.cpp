// SPDX-License-Identifier: Apache-2.0
// rubia-sampler [--only KERNEL] FILE ARCH...: compiles what samplerText(), or one kernel of it,
// needs of the sampler for each target, and writes the table that rubia-worker and rubia-commands
// have within (codegen/ReadyFunctions.h). Part of the build, not for users.
#include "codegen/ReadyFunctions.h"
#include "runtime/worker/Pipeline.h"
#include "runtime/worker/sampler/SamplerText.h"
#include "llvm/Support/FileOutputBuffer.h"
#include <cstdio>
#include <mutex>
#include <thread>

using namespace rubia;
using namespace rubia::runtime;

static llvm::Error compileFor(const char *arch, llvm::StringRef only,
                              codegen::ReadyFunctions &functions) {
  llvm::Expected<PtxImage> image = PtxImage::fromText("sampler", samplerText());
  if (!image)
    return image.takeError();
  for (const ptx::Diagnostic &diagnostic : image->diagnostics())
    return llvm::createStringError(image->format(diagnostic));
  PipelineOptions options;
  options.codegen.arch = arch;
  for (const lowering::Unit &unit : image->units()) {
    if (!only.empty() && unit.kernels[0]->name != only)
      continue;
    if (llvm::Expected<codegen::CodeObject> object = image->compile(unit, options); !object)
      return object.takeError();
  }
  functions.addKept();
  return llvm::Error::success();
}

static llvm::Error write(const char *path, const std::vector<uint8_t> &bytes) {
  auto file = llvm::FileOutputBuffer::create(path, bytes.size());
  if (!file)
    return file.takeError();
  std::copy(bytes.begin(), bytes.end(), (*file)->getBufferStart());
  return (*file)->commit();
}

int main(int argc, char **argv) {
  llvm::StringRef only;
  if (argc > 2 && argv[1] == llvm::StringRef("--only")) {
    only = argv[2];
    argc -= 2;
    argv += 2;
  }
  if (argc < 3) {
    fputs("usage: rubia-sampler [--only KERNEL] FILE ARCH...\n", stderr);
    return 2;
  }
  codegen::ReadyFunctions functions;
  std::vector<std::string> problems(argc);
  std::mutex turn;
  int next = 2;
  // Each target in a thread of its own: a thread keeps what it has compiled, and only so much.
  auto compileTargets = [&] {
    for (;;) {
      std::unique_lock lock(turn);
      if (next == argc)
        return;
      const int number = next++;
      lock.unlock();
      std::thread([&] {
        codegen::ReadyFunctions own;
        problems[number] = toString(compileFor(argv[number], only, own));
        std::lock_guard adding(turn);
        functions.add(own);
      }).join();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(compileTargets);
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 2; i < argc; ++i)
    if (!problems[i].empty()) {
      fprintf(stderr, "rubia-sampler: %s: %s\n", argv[i], problems[i].c_str());
      return 1;
    }
  const std::vector<uint8_t> table = functions.table();
  if (llvm::Error error = write(argv[1], table)) {
    fprintf(stderr, "rubia-sampler: %s: %s\n", argv[1], toString(std::move(error)).c_str());
    return 1;
  }
  printf("%zu functions, %zu bytes\n", functions.size(), table.size());
  return 0;
}
