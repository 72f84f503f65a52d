// SPDX-License-Identifier: Apache-2.0
// LLVM's pass that moves instructions to where they are needed, but not in functions where it
// would take the square of their length.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

constexpr llvm::StringLiteral kSinking = "Code sinking";

/// Takes that pass, and returns the one that runs it.
llvm::Pass *makeLimitedSinking(llvm::Pass *pass);

} // namespace rubia::codegen
