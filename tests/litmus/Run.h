// Compiling litmus tests for a target, and running them in the emulator's `order` mode.
#pragma once

#include "emulator/Emulator.h"
#include "tests/litmus/Model.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>

namespace llvm {
class Module;
}

namespace rubia::litmus {

/// A code object with kernel `test<i>` for tests[i]. `change` may alter the module before it is
/// compiled.
llvm::Expected<std::vector<uint8_t>> compile(
    llvm::ArrayRef<Test> tests, const std::string &arch,
    llvm::function_ref<void(llvm::Module &)> change = [](llvm::Module &) {});

/// How often each outcome was seen.
using Histogram = std::map<Outcome, unsigned>;

class Runner {
public:
  static llvm::Expected<std::unique_ptr<Runner>> load(llvm::ArrayRef<uint8_t> code);
  /// One launch of kernel `test<index>`: kInstances outcomes, added to `histogram`.
  llvm::Error run(const Test &test, size_t index, uint64_t seed, Histogram &histogram);

private:
  Runner() = default;
  llvm::Expected<void *> location(char name, emulator::MemoryKind kind);

  emulator::Memory memory;
  std::unique_ptr<emulator::CodeObject> object;
  bool halfFilled = false;
  std::map<std::pair<char, emulator::MemoryKind>, void *> locations;
  void *results = nullptr;
};

} // namespace rubia::litmus
