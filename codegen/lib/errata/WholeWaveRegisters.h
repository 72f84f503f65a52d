// SPDX-License-Identifier: Apache-2.0
// Values of whole waves that do not fit in the registers, or that lose theirs in a loop.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// The pass of LLVM's back end that gives values of whole waves their registers.
constexpr llvm::StringLiteral kWholeWaveAllocation = "SI Pre-allocate WWM Registers";

/// A pass that reports where that one would find no register (docs/errata.md), as LLVM reports
/// other failures of register allocation. It is to be run right before.
llvm::Pass *makeWholeWaveRegisters();

/// A pass that lets vector registers begin in front of a loop where their lanes keep spilled scalar
/// registers from one round to the next (docs/errata.md). It is to be run there too.
llvm::Pass *makeSpillLanes();

} // namespace rubia::codegen
