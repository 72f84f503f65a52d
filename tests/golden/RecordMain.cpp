// SPDX-License-Identifier: Apache-2.0
// rubia-golden-record: the commands of rubia-golden about kernels, for machines with an NVIDIA GPU:
// without LLVM's code generators, and with few libraries.
#include "KernelCommands.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  CLI::App app("records the results of kernels");
  app.require_subcommand(1);
  int status = 0;
  rubia::golden::addKernelCommands(app, status);
  CLI11_PARSE(app, argc, argv);
  llvm::outs().flush();
  return status;
}
