// SPDX-License-Identifier: Apache-2.0
// What a kept function writes is found twice: by LLVM, which tells callers, and here in the machine
// code that they get. A register that callers do not know of would lose their values.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Function;
class TargetMachine;
} // namespace llvm

namespace rubia::codegen {

/// An error if the function's code writes a register that is not among LLVM's numbers of `written`,
/// and that LLVM's convention does not have restored (EXEC, the stack pointer).
llvm::Error checkWritten(const llvm::Function &function, llvm::StringRef code,
                         llvm::ArrayRef<unsigned> written, const llvm::TargetMachine &machine);

} // namespace rubia::codegen
