// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/ShortLoops.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr uint64_t kMost = 300; // instructions of all rounds: the limit of LLVM's AMDGPU target

/// Whether no machine instruction comes of it: what renames a value, or is the address of a memory
/// access with its offset.
bool isFree(const Instruction &inst) {
  if (isa<PHINode, FreezeInst, BitCastInst, IntToPtrInst>(inst) || inst.isDebugOrPseudoInst())
    return true;
  return inst.getOpcode() == Instruction::Add && !inst.use_empty() &&
         all_of(inst.users(), [](const User *user) { return isa<IntToPtrInst>(user); });
}

uint64_t sizeOf(const Loop &loop) {
  uint64_t size = 0;
  for (const BasicBlock *block : loop.blocks())
    for (const Instruction &inst : *block)
      size += !isFree(inst);
  return size;
}

} // namespace

PreservedAnalyses ShortLoopsPass::run(Loop &loop, LoopAnalysisManager &,
                                      LoopStandardAnalysisResults &results, LPMUpdater &) {
  const unsigned rounds = results.SE.getSmallConstantTripCount(&loop);
  if (rounds > 1 && loop.isInnermost() && sizeOf(loop) * rounds <= kMost)
    addStringMetadataToLoop(&loop, "llvm.loop.unroll.full");
  return PreservedAnalyses::all();
}

} // namespace rubia::codegen
