// SPDX-License-Identifier: Apache-2.0
// Packed integer instructions have no signs of floating-point numbers.
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// A pass to be run behind instruction selection, which gives packed integer instructions operands
/// that are negated as halves (docs/errata.md): it negates them by instructions of their own.
llvm::Pass *makePackedIntegers();

} // namespace rubia::codegen
