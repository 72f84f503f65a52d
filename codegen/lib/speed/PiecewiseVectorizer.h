// SPDX-License-Identifier: Apache-2.0
// LLVM's pass that joins neighbouring loads and stores, in pieces of long blocks.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

constexpr llvm::StringLiteral kAccessVectorizer = "GPU Load and Store Vectorizer";

/// Takes that pass, and returns the one that runs it.
llvm::Pass *makePiecewiseVectorizer(llvm::Pass *pass);

} // namespace rubia::codegen
