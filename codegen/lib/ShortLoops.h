// SPDX-License-Identifier: Apache-2.0
// Short loops are unrolled whole, as LLVM's AMDGPU target does it with what clang makes of source
// text. Lowering's code looks longer to LLVM: registers are frozen and change their types, and
// addresses are sums of integers.
#pragma once

#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class LPMUpdater;
} // namespace llvm

namespace rubia::codegen {

/// Marks the loops that `loop-unroll-full` shall unroll (`llvm.loop.unroll.full`): those without
/// inner loops, of a constant number of rounds, that have few instructions in all of them. What
/// makes no machine instruction does not count.
struct ShortLoopsPass : llvm::PassInfoMixin<ShortLoopsPass> {
  llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &,
                              llvm::LoopStandardAnalysisResults &results, llvm::LPMUpdater &);
};

} // namespace rubia::codegen
