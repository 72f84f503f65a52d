// SPDX-License-Identifier: Apache-2.0
// Keeps carries away from what LLVM's instruction selection gets wrong about them.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// The pass that selects instructions.
constexpr llvm::StringLiteral kSelection = "AMDGPU DAG->DAG Pattern Instruction Selection";

/// A pass that takes additions and subtractions whose carry is used apart into words that the back
/// end cannot look into (docs/errata.md). It is to be run right before that one: others would join
/// them again, and make more. makeOpaqueCopies() is to be run behind.
llvm::Pass *makeCarryChains();

} // namespace rubia::codegen
