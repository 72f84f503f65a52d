// SPDX-License-Identifier: Apache-2.0
#include "ExecutedOperations.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/xxhash.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace llvm;

namespace rubia::test {
namespace {

using Operations = std::set<ptx::Operation>;

Operations operationsOf(const lowering::Unit &unit) {
  Operations operations;
  auto add = [&](const ptx::Function *function) {
    for (const ptx::Instruction &instruction : function->body)
      operations.insert(instruction.op());
  };
  for_each(unit.kernels, add);
  for_each(unit.functions, add);
  return operations;
}

struct Record {
  Operations executed;
  DenseMap<uint64_t, Operations> compiled; // by digest of the code

  ~Record() {
    const char *folder = secure_getenv("RUBIA_TEST_EXECUTED_OPERATIONS");
    if (!folder || executed.empty())
      return;
    std::ofstream file(std::string(folder) + "/" + std::to_string(getpid()));
    file << std::filesystem::read_symlink("/proc/self/exe").string() << '\n';
    for (ptx::Operation op : executed)
      file << ptx::nameOf(op).str() << '\n';
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write to %s\n", folder);
      _exit(1);
    }
  }
};

Record &record() {
  static Record record;
  return record;
}

} // namespace

void noteExecuted(const lowering::Unit &unit) { record().executed.merge(operationsOf(unit)); }

void noteCompiled(ArrayRef<uint8_t> code, const lowering::Unit &unit) {
  record().compiled[xxh3_64bits(code)] = operationsOf(unit);
}

void noteExecuted(ArrayRef<uint8_t> code) {
  auto found = record().compiled.find(xxh3_64bits(code));
  if (found != record().compiled.end())
    record().executed.insert(found->second.begin(), found->second.end());
}

} // namespace rubia::test
