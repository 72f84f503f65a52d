// SPDX-License-Identifier: Apache-2.0
// Keeps values on their way into loops with several entries, where LLVM loses them.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// The pass that gives loops with several entries one.
constexpr llvm::StringLiteral kFixIrreducible =
    "Convert irreducible control-flow into natural loops";

/// A pass that gives each way into such an entry a block of its own (docs/errata.md). It is to be
/// run right before that one: others remove such blocks.
llvm::Pass *makeLoopEntries();

/// A pass behind that one, before control flow is made structured: of functions with such loops,
/// phis have a value on every edge.
llvm::Pass *makeWholePhis();

} // namespace rubia::codegen
