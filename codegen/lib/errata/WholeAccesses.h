// SPDX-License-Identifier: Apache-2.0
// Atomic loads and stores of 16 bytes, which LLVM's IR cannot express for AMDGPU.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
}

namespace rubia::codegen {

/// The pass of LLVM's back end that gives atomic accesses their cache policy and waits.
constexpr llvm::StringLiteral kMemoryLegalizer = "SI Memory Legalizer";

/// A pass to be run before that one. Volatile accesses of 16 bytes outside of private memory become
/// atomic and monotonic. The scope is the part behind "rubia.whole." of the name of their TBAA
/// type, as LLVM spells it ("agent"); without one it is the system.
llvm::Pass *makeWholeAccesses();

} // namespace rubia::codegen
