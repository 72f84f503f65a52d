// SPDX-License-Identifier: Apache-2.0
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

/// A launch with its arguments.
struct Prepared {
  std::vector<uint64_t> arguments;
  std::vector<const uint8_t *> locations; // as in Test::locations; null if shared
  const uint8_t *results = nullptr;
  emulator::Launch launch;
};

class Runner {
public:
  static llvm::Expected<std::unique_ptr<Runner>> load(llvm::ArrayRef<uint8_t> code);
  /// Clears the memory of the test. `isFine`: strong locations are in fine-grained memory.
  llvm::Error prepare(const Test &test, size_t index, bool isFine, Prepared &prepared);
  /// One launch of kernel `test<index>`: kInstances outcomes, added to `histogram`.
  llvm::Error run(const Test &test, size_t index, uint64_t seed, Histogram &histogram);

  emulator::Memory memory;

private:
  Runner() = default;
  llvm::Expected<void *> location(char name, emulator::MemoryKind kind);

  std::unique_ptr<emulator::CodeObject> object;
  bool halfFilled = false;
  std::map<std::pair<char, emulator::MemoryKind>, void *> locations;
  void *results = nullptr;
};

} // namespace rubia::litmus
