// SPDX-License-Identifier: Apache-2.0
// What register allocation puts into whole-wave regions: values of active lanes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// The pass of LLVM's back end that gives spilled values their places in the frame.
constexpr llvm::StringLiteral kFrame = "Prologue/Epilogue Insertion & Frame Finalization";

/// A pass to be run right before that one (docs/errata.md). It reports where the lanes that were
/// active are not to be had.
llvm::Pass *makeRegionReloads();

} // namespace rubia::codegen
