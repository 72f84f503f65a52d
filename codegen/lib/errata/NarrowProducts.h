// SPDX-License-Identifier: Apache-2.0
// Products of 64 bits of numbers that have 24.
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// A pass that takes products of numbers of 24 bits apart, of which the back end would forget that
/// their factors have no more bits (docs/errata.md). It is to be run right before
/// makeCarryChains().
llvm::Pass *makeNarrowProducts();

} // namespace rubia::codegen
