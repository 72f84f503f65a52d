// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/MissedBarriers.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

static std::string whoMayBeRight() {
  return "a block of at most " + std::to_string(abi::kMostHalfFilledThreads) +
         " threads may be right";
}

// A bit for each who is here: the lanes of a warp, in the checked form the two warps of the wave.
static Value *presentHere(IRBuilder<> &b, const UnitLowering &unit) {
  Value *active = b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {b.getIntNTy(unit.target.waveSize)},
                                    {b.getTrue()});
  Value *low = b.CreateTrunc(active, b.getInt32Ty());
  if (!unit.warpForm.isChecked)
    return low; // waves that two warps share have no such barrier otherwise
  Value *high = b.CreateTrunc(b.CreateLShr(active, 32), b.getInt32Ty());
  auto isAny = [&](Value *lanes) { return b.CreateZExt(b.CreateIsNotNull(lanes), b.getInt32Ty()); };
  return b.CreateOr(isAny(low), b.CreateShl(isAny(high), 1));
}

static Value *placeOfWord(FunctionLowering &fn) {
  UnitLowering &unit = fn.unit();
  IRBuilder<> &b = fn.builder();
  Value *words =
      b.CreateConstGEP1_32(b.getInt8Ty(), unit.barrierWords(), unit.barriers.words.missedOffset());
  return b.CreateGEP(b.getInt32Ty(), words, fn.launch().waveIndex());
}

// A warp may wait at barriers, round by round, for what the other warp of its wave has yet to do.
// The other one cannot go on as long as this one does. `before` is the word before the barrier, and
// `present` who is here. Above the bits of the warps the word counts barriers without one of them.
static void countBarriersAlone(FunctionLowering &fn, const ptx::Instruction &barrier, Value *place,
                               Value *before, Value *present) {
  UnitLowering &unit = fn.unit();
  IRBuilder<> &b = fn.builder();
  // The last wave of an odd number of warps has only one.
  Value *firstOfSecond = b.CreateAdd(b.CreateShl(fn.launch().waveIndex(), 6), b.getInt32(32));
  Value *areTwo = b.CreateICmpUGT(fn.launch().threadCount(), firstOfSecond);
  BasicBlock *alone = fn.newBlock("alone"), *together = fn.newBlock("together");
  b.CreateCondBr(b.CreateAnd(b.CreateICmpNE(present, b.getInt32(3)), areTwo), alone, together);
  b.SetInsertPoint(alone);
  const uint32_t limit = fn.options().mostRounds();
  Value *count = b.CreateAdd(b.CreateLShr(before, 2), b.getInt32(1));
  endIf(fn, b.CreateICmpEQ(count, b.getInt32(limit)), abi::TrapReason::NeedsIndependentScheduling,
        unit.describe(fn.ptxFunction(), barrier) + ": a warp may wait at '" +
            barrier.spelling->text.str() +
            "' for the warp that shares a wave with it: it has passed " + std::to_string(limit) +
            " barriers without that one (" + whoMayBeRight() + ")");
  Value *after = b.CreateOr(b.CreateShl(count, 2), b.CreateXor(present, 3));
  b.CreateAlignedStore(after, place, Align(4))
      ->setAtomic(AtomicOrdering::Monotonic, b.getContext().getOrInsertSyncScopeID("workgroup"));
  b.CreateBr(together);
  b.SetInsertPoint(together);
}

// Who is not here has missed this barrier, if it is one.
static void refuseLate(FunctionLowering &fn, const ptx::Instruction &instruction, bool isBarrier) {
  UnitLowering &unit = fn.unit();
  IRBuilder<> &b = fn.builder();
  Value *place = placeOfWord(fn);
  Value *present = presentHere(b, unit);
  Value *absent = b.CreateNot(present);
  if (unit.warpForm.isChecked)
    absent = b.CreateAnd(absent, 3);
  // One operation, since a load alone would be brought in front of the branch.
  Value *missed = b.CreateAtomicRMW(AtomicRMWInst::Or, place, isBarrier ? absent : b.getInt32(0),
                                    Align(4), AtomicOrdering::Monotonic,
                                    b.getContext().getOrInsertSyncScopeID("workgroup"));
  missed = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_readfirstlane, {missed});
  endIf(fn, b.CreateIsNotNull(b.CreateAnd(missed, present)),
        abi::TrapReason::NeedsIndependentScheduling, whyLate(fn, instruction));
  if (isBarrier && unit.warpForm.isChecked)
    countBarriersAlone(fn, instruction, place, missed, present);
}

void refuseLateAtBarrier(FunctionLowering &fn, const ptx::Instruction &barrier) {
  if (fn.unit().barriers.of(barrier).noticesLate)
    refuseLate(fn, barrier, /*isBarrier=*/true);
}

void refuseLateWrite(FunctionLowering &fn, const ptx::Instruction &write) {
  refuseLate(fn, write, /*isBarrier=*/false);
}

std::string whyLate(FunctionLowering &fn, const ptx::Instruction &instruction) {
  const std::string who =
      fn.unit().warpForm.isChecked
          ? "the warp that shares a wave with theirs has passed a barrier without them (" +
                whoMayBeRight() + ")"
          : "others of their warp have passed a barrier without them";
  return fn.unit().describe(fn.ptxFunction(), instruction) + ": threads come to '" +
         instruction.spelling->text.str() + "' when " + who;
}

} // namespace rubia::lowering
