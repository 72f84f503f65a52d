// SPDX-License-Identifier: Apache-2.0
// Words of other lanes that LLVM reads in instructions of 64 bits, which cannot do that.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// LLVM's pass that makes the exchange of lanes (DPP) a part of the instructions that read it.
constexpr llvm::StringLiteral kExchangeCombine = "GCN DPP Combine";

/// A pass to be run right before it (docs/errata.md).
llvm::Pass *makeWideExchanges();

} // namespace rubia::codegen
