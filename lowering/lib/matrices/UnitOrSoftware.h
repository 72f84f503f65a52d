// SPDX-License-Identifier: Apache-2.0
// Products that some way computes as PTX has them for ordinary factors only. A wave in which any
// lane has another factor takes another way; the branch is uniform.
#pragma once

#include "lowering/lib/matrices/MmaSoftware.h"

namespace rubia::lowering {

/// Whether the unit takes tf32 factors apart into two bf16 (MatrixUnit.cpp), which only numbers
/// within a range are the sum of.
bool splitsSingles(const Target &target, const MmaForm &form);

/// Whether the unit's bytes are FNUZ's, which for all but a few are half as large as OCP's.
bool hasHalvedBytes(const Target &target, const MmaForm &form);

/// i1, of a lane: whether a factor is infinite or NaN.
llvm::Value *hasSpecial(FunctionLowering &fn, ptx::Type type,
                        llvm::ArrayRef<llvm::Value *> factors);
/// i1, of a lane: whether a tf32 factor is not zero nor the sum of two bf16 that are no denormals.
llvm::Value *hasUnsplittable(FunctionLowering &fn, llvm::ArrayRef<llvm::Value *> factors);

/// i1, of a lane: whether a byte is not FNUZ's of half the value: NaN, infinite or -0.
llvm::Value *hasUnhalved(FunctionLowering &fn, ptx::Type type, llvm::ArrayRef<llvm::Value *> bytes);

/// The one or the other: `excluded` where any lane of the wave `isExcluded`.
MmaFragment multiplyByWave(FunctionLowering &fn, llvm::Value *isExcluded,
                           llvm::function_ref<MmaFragment()> excluded,
                           llvm::function_ref<MmaFragment()> ordinary);

} // namespace rubia::lowering
