// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/LimitedLoops.h"
#include "llvm/Analysis/LoopInfo.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr uint64_t kMostForgotten = 8'000'000; // some 3 s

} // namespace

PreservedAnalyses LimitedLoopsPass::run(Function &function, FunctionAnalysisManager &analyses) {
  const size_t loops = analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder().size();
  if (loops * uint64_t(function.getInstructionCount()) > kMostForgotten)
    return PreservedAnalyses::all();
  return passes.run(function, analyses);
}

} // namespace rubia::codegen
