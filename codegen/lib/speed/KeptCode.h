// SPDX-License-Identifier: Apache-2.0
// The machine code of one function.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace llvm {
class Function;
class Module;
class TargetMachine;
} // namespace llvm

namespace rubia::codegen {

/// What stands for a body. No code: the function needs more of the unit that calls it than its
/// arguments and a stack of one size, or refers to symbols.
struct KeptCode {
  std::string code, accesses; // the latter: bytes of .rubia.accesses
  std::string written;        // LLVM's numbers of registers, with commas
  uint64_t stackBytes = 0, alignment = 1;
};

/// The function's body in a module of its own, with a caller that has a kernel's attributes: the
/// same for all units that have the function. A declaration is left. No instruction has a line.
std::unique_ptr<llvm::Module> takeApart(llvm::Function &function, const llvm::Function &kernel);

/// The body goes back from such a module.
void giveBack(llvm::Module &module, llvm::Function &function);

/// Compiles such a module, of the function with this name.
llvm::Expected<KeptCode> compileApart(const llvm::Module &module, llvm::StringRef name,
                                      llvm::TargetMachine &machine, unsigned optLevel);

/// The code of a function by its whole name, as the process has it from elsewhere
/// (codegen/ReadyFunctions.h). An error: that is damaged.
llvm::Expected<std::optional<KeptCode>> readyFunction(llvm::StringRef name);

/// Calls `visit` for all code that this thread keeps.
void forEachKept(llvm::function_ref<void(llvm::StringRef name, const KeptCode &)> visit);

} // namespace rubia::codegen
