// SPDX-License-Identifier: Apache-2.0
// LLVM's machine instructions and registers by name: their numbers stand in headers of its target,
// which are private.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCRegister.h"

namespace llvm {
class TargetInstrInfo;
class TargetRegisterInfo;
} // namespace llvm

namespace rubia::codegen {

/// A name that this LLVM lacks ends the compilation. All processors have the same numbers.
unsigned findOpcode(const llvm::TargetInstrInfo &instructions, llvm::StringRef name);
llvm::MCRegister findRegister(const llvm::TargetRegisterInfo &registers, llvm::StringRef name);

} // namespace rubia::codegen
