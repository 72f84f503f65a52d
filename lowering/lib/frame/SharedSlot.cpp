// SPDX-License-Identifier: Apache-2.0
// Threads of a CTA end at different times, and those of a wave too. So each wave counts its lanes
// that have not ended, and the CTA its waves; who counts to zero gives back the slot. A failed
// assertion ends a wave with lanes that have not come here (LaunchState.cpp); a trap or a fault
// ends the context, and the pool with it.
//
// What the CTA before wrote into a slot must not come late: it releases to the device before it
// frees the slot, and who takes it acquires.
#include "lowering/lib/frame/SharedSlot.h"
#include "lowering/lib/frame/ClusterSlots.h"
#include "lowering/lib/frame/SlotBuilder.h"
#include <cstddef>

using namespace llvm;

namespace rubia::lowering {

namespace {

struct Builder : SlotBuilder {
  using SlotBuilder::SlotBuilder;

  Value *pool() {
    return b.CreateIntToPtr(unit.loadModuleTable(b, abi::kSharedPoolSlot),
                            b.getPtrTy(kGlobalSpace));
  }
  // Of the words with a bit for each slot.
  Value *takenWord(Value *pool, Value *index) {
    Value *words = b.CreateConstGEP1_64(b.getInt8Ty(), pool, sizeof(abi::SharedPool));
    return b.CreateGEP(b.getInt32Ty(), words, b.CreateZExt(index, b.getInt64Ty()));
  }
  Value *bytesOf(Value *pool, Value *words, Value *slot) {
    return takenWord(pool, b.CreateAdd(words, slot));
  }
};

// The number of a slot that was free. One thread is active. CTAs that start together begin to look
// at different bits.
Value *findSlot(Builder &c, Value *pool, Value *words, Value *cta) {
  IRBuilder<> &b = c.b;
  BasicBlock *before = b.GetInsertBlock(), *look = c.block("slot.look"),
             *take = c.block("slot.take"), *next = c.block("slot.next"),
             *found = c.block("slot.found");
  Value *start = b.CreateURem(cta, words);
  Value *rotation = b.CreateAnd(b.CreateUDiv(cta, words), 31);
  b.CreateBr(look);

  b.SetInsertPoint(look);
  PHINode *index = b.CreatePHI(b.getInt32Ty(), 3);
  Value *place = c.takenWord(pool, index);
  Value *free = b.CreateNot(c.load(place, c.agent));
  b.CreateCondBr(b.CreateICmpNE(free, b.getInt32(0)), take, next);

  b.SetInsertPoint(take);
  Value *rotated = b.CreateIntrinsic(Intrinsic::fshr, {b.getInt32Ty()}, {free, free, rotation});
  Value *first = b.CreateBinaryIntrinsic(Intrinsic::cttz, rotated, b.getTrue());
  Value *bit = b.CreateAnd(b.CreateAdd(first, rotation), 31);
  Value *mask = b.CreateShl(b.getInt32(1), bit);
  Value *old = c.modify(AtomicRMWInst::Or, place, mask, c.agent);
  b.CreateCondBr(b.CreateICmpEQ(b.CreateAnd(old, mask), b.getInt32(0)), found, look);

  b.SetInsertPoint(next);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_sleep, {b.getInt32(1)});
  Value *following = b.CreateAdd(index, b.getInt32(1));
  Value *wrapped = b.CreateSelect(b.CreateICmpEQ(following, words), b.getInt32(0), following);
  b.CreateBr(look);
  index->addIncoming(start, before);
  index->addIncoming(index, take);
  index->addIncoming(wrapped, next);

  b.SetInsertPoint(found);
  return b.CreateAdd(b.CreateShl(index, 5), bit);
}

// One thread is active: all of the CTA's waves have ended but for it.
void freeSlot(Builder &c) {
  IRBuilder<> &b = c.b;
  b.CreateFence(AtomicOrdering::Acquire, c.workgroup);
  Value *slot = c.load(c.word(SlotWords::kNumber), c.workgroup);
  Value *pool = c.pool();
  Value *words = c.constantField(pool, offsetof(abi::SharedPool, words), 32);
  c.store(b.getInt32(0), c.bytesOf(pool, words, slot), c.agent);
  b.CreateFence(AtomicOrdering::Release, c.agent);
  Value *mask = b.CreateShl(b.getInt32(1), b.CreateAnd(slot, 31));
  c.modify(AtomicRMWInst::And, c.takenWord(pool, b.CreateLShr(slot, 5)), b.CreateNot(mask),
           c.agent);
}

// One thread is active, whose wave has ended if `isOver`.
void countWave(Builder &c, Value *isOver) {
  IRBuilder<> &b = c.b;
  BasicBlock *waveEnd = c.enterIf(isOver, "leave.wave");
  Value *left = c.modify(AtomicRMWInst::Sub, c.word(SlotWords::kWaves), b.getInt32(1), c.workgroup);
  BasicBlock *ctaEnd = c.enterIf(b.CreateICmpEQ(left, b.getInt32(1)), "leave.cta");
  freeSlot(c);
  c.goOn(ctaEnd);
  c.goOn(waveEnd);
}

} // namespace

Value *takeSharedSlot(UnitLowering &unit, const ptx::Function &kernel, IRBuilder<> &b) {
  if (unit.isForClusters())
    return takeClusterSlot(unit, kernel, b);
  Builder c(unit, b);
  LaunchState launch(unit, &kernel, b);
  Value *wave = launch.waveIndex();
  Value *lanes = c.activeLanes();
  Value *threads = launch.threadCount();
  Value *row = b.CreateAdd(launch.ctaIndex(1), b.CreateMul(launch.ctaIndex(2), launch.gridSize(1)));
  Value *cta = b.CreateAdd(launch.ctaIndex(0), b.CreateMul(row, launch.gridSize(0)));
  Value *bytes =
      b.CreateAdd(launch.argument(offsetof(abi::LaunchArguments, dynamicSharedBytes), 32),
                  b.getInt32(uint32_t(unit.sharedLayout.dynamic)));
  Value *isFirstThread = launch.isFirstThread();

  BasicBlock *counted =
      c.enterIf(b.CreateICmpEQ(launch.laneInWave(), b.getInt32(0)), "prologue.wave");
  c.store(lanes, c.lanesOf(wave), c.workgroup);
  c.goOn(counted);

  BasicBlock *taken = c.enterIf(isFirstThread, "prologue.slot");
  Value *pool = c.pool();
  Value *words = c.constantField(pool, offsetof(abi::SharedPool, words), 32);
  Value *slot = findSlot(c, pool, words, cta);
  b.CreateFence(AtomicOrdering::Acquire, c.agent);
  c.store(bytes, c.bytesOf(pool, words, slot), c.agent);
  Value *start = b.CreateAdd(
      c.constantField(pool, offsetof(abi::SharedPool, slots), 64),
      b.CreateMul(b.CreateZExt(slot, b.getInt64Ty()), b.getInt64(abi::kSharedSlotBytes)));
  const unsigned threadsOfWave = unit.target.isPacked ? 64 : 32;
  Value *waves =
      b.CreateUDiv(b.CreateAdd(threads, b.getInt32(threadsOfWave - 1)), b.getInt32(threadsOfWave));
  b.CreateAlignedStore(start, c.word(SlotWords::kStart), Align(8));
  c.store(slot, c.word(SlotWords::kNumber), c.workgroup);
  c.store(waves, c.word(SlotWords::kWaves), c.workgroup);
  c.goOn(taken);

  b.CreateFence(AtomicOrdering::Release, c.workgroup);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_barrier, {});
  b.CreateFence(AtomicOrdering::Acquire, c.workgroup);
  return loadSharedSlot(unit, b);
}

static Value *loadAddress(UnitLowering &unit, IRBuilder<> &b, uint32_t word) {
  Builder c(unit, b);
  Value *start = b.CreateAlignedLoad(b.getInt64Ty(), c.word(word), Align(8));
  return b.CreateIntToPtr(c.firstLane(start), b.getPtrTy(kGlobalSpace));
}

Value *loadSharedSlot(UnitLowering &unit, IRBuilder<> &b) {
  return loadAddress(unit, b, SlotWords::kStart);
}

Value *loadSharedBase(UnitLowering &unit, IRBuilder<> &b) {
  return loadAddress(unit, b, unit.isForClusters() ? SlotWords::kCluster : SlotWords::kStart);
}

Value *sharedPointer(UnitLowering &unit, IRBuilder<> &b, Value *address) {
  if (!unit.sharedInMemory())
    return b.CreateIntToPtr(address, b.getPtrTy(kSharedSpace));
  return b.CreateGEP(b.getInt8Ty(), loadSharedBase(unit, b), b.CreateZExt(address, b.getInt64Ty()));
}

void leaveSharedSlot(UnitLowering &unit, IRBuilder<> &b, Value *wave) {
  if (unit.isForClusters())
    return leaveCluster(unit, b, wave);
  Builder c(unit, b);
  b.CreateFence(AtomicOrdering::Release, c.workgroup);
  Value *ending = c.activeLanes();
  BasicBlock *behind = c.enterIf(c.isFirstActive(), "leave.lanes");
  Value *before = c.modify(AtomicRMWInst::Sub, c.lanesOf(wave), ending, c.workgroup);
  countWave(c, b.CreateICmpEQ(before, ending));
  c.goOn(behind);
}

void loseWave(UnitLowering &unit, IRBuilder<> &b, Value *wave) {
  if (unit.isForClusters())
    return loseWaveOfCluster(unit, b, wave);
  Builder c(unit, b);
  b.CreateFence(AtomicOrdering::Release, c.workgroup);
  BasicBlock *behind = c.enterIf(c.isFirstActive(), "lose.wave");
  Value *before = c.modify(AtomicRMWInst::Xchg, c.lanesOf(wave), b.getInt32(0), c.workgroup);
  countWave(c, b.CreateICmpNE(before, b.getInt32(0)));
  c.goOn(behind);
}

} // namespace rubia::lowering
