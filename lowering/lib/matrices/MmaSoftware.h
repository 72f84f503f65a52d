// SPDX-License-Identifier: Apache-2.0
// Products without a matrix unit: of every form that an H100 executes, on every target and in every
// warp form. With its bits, or as chains of multiply-adds.
#pragma once

#include "lowering/lib/analysis/MmaForm.h"
#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// Registers of fragments as PTX has them: i32, of f64 i64.
using MmaFragment = llvm::SmallVector<llvm::Value *, 8>;

struct MmaOperands {
  MmaFragment a, b, c;
  llvm::Value *metadata = nullptr; // of a sparse form
};

/// Why there is no software route; empty if there is one.
llvm::StringRef whyNotInSoftware(const MmaForm &form);

/// How multiplyInSoftware() computes: "software" with the H100's bits; "fma" floating-point types
/// in f32 and "dot" integers, which have these bits anyway.
llvm::StringRef softwareRoute(const FunctionLowering &fn, const MmaForm &form);

/// D, for a form of mma, wmma.mma or wgmma that has a software route; of wgmma that of a tile.
MmaFragment multiplyInSoftware(FunctionLowering &fn, const MmaForm &form,
                               const MmaOperands &operands);

/// A unit's `results`, and those of multiplyInSoftware() for each warp of the wave with a lane that
/// `isWrong`.
MmaFragment redoInSoftware(FunctionLowering &fn, const MmaForm &form, const MmaOperands &operands,
                           const MmaFragment &results, llvm::Value *isWrong);

} // namespace rubia::lowering
