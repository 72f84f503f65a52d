// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/MissedBarriers.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

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

// Who is not here has missed this barrier, if it is one.
static void refuseLate(FunctionLowering &fn, const ptx::Instruction &instruction, bool isBarrier) {
  UnitLowering &unit = fn.unit();
  IRBuilder<> &b = fn.builder();
  Value *words =
      b.CreateConstGEP1_32(b.getInt8Ty(), unit.barrierWords(), unit.barriers.words.missedOffset());
  Value *place = b.CreateGEP(b.getInt32Ty(), words, fn.launch().waveIndex());
  Value *present = presentHere(b, unit);
  // One operation, since a load alone would be brought in front of the branch.
  Value *missed = b.CreateAtomicRMW(
      AtomicRMWInst::Or, place, isBarrier ? b.CreateNot(present) : b.getInt32(0), Align(4),
      AtomicOrdering::Monotonic, b.getContext().getOrInsertSyncScopeID("workgroup"));
  missed = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_readfirstlane, {missed});
  BasicBlock *late = fn.newBlock("late"), *inTime = fn.newBlock("in.time");
  b.CreateCondBr(b.CreateIsNotNull(b.CreateAnd(missed, present)), late, inTime);
  b.SetInsertPoint(late);
  emitTrap(b, unit, abi::TrapReason::NeedsIndependentScheduling,
           unit.addTrap(whyLate(fn, instruction)));
  b.CreateUnreachable();
  b.SetInsertPoint(inTime);
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
          ? "the warp that shares a wave with theirs has passed a barrier without them (a block of "
            "at most " +
                std::to_string(abi::kMostHalfFilledThreads) + " threads may be right)"
          : "others of their warp have passed a barrier without them";
  return fn.unit().describe(fn.ptxFunction(), instruction) + ": threads come to '" +
         instruction.spelling->text.str() + "' when " + who;
}

} // namespace rubia::lowering
