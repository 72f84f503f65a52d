// SPDX-License-Identifier: Apache-2.0
// mbarrier objects. PTX ISA: parallel-synchronization-and-communication-instructions-mbarrier.
//
// The 64 bits are opaque in PTX, so their meaning is ours:
//
//   bits 0..19   arrivals that the phase still waits for
//   bits 20..39  arrivals that the next phase will wait for
//   bits 40..60  tx-count, signed: bytes that are announced and have yet to come, or the reverse
//   bit 63       number of the phase, modulo 2
//
// A phase ends when it waits for no arrival and its tx-count is zero. Who changes the object does
// so by compare and swap, so that each change belongs to one phase. The state that arrive returns
// is the object before it. Where a cluster is one CTA, .cluster asks for no more than .cta.
#include "lowering/lib/asynchronous/Mbarriers.h"
#include "lowering/lib/frame/AsyncNotes.h"
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/MemoryModel.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier ArriveDrop, Cluster, CompleteTx, Cta, ExpectTx, Noinc, Parity, Relaxed,
    TryWait;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {

constexpr unsigned kCountBits = 20, kTxBits = 21;
constexpr unsigned kExpectedAt = kCountBits, kTxAt = 2 * kCountBits, kPhaseAt = 63;
constexpr uint64_t kCountMask = (1u << kCountBits) - 1, kTxMask = (1u << kTxBits) - 1;

// Other CTAs of a cluster may arrive, and complete bytes of what they have copied.
SyncScope::ID scopeOf(FunctionLowering &fn) {
  return syncScopeOf(fn.context(), fn.unit().isForClusters() ? ptx::Mod::Cluster : ptx::Mod::Cta);
}

Value *field(IRBuilder<> &b, Value *object, unsigned at, uint64_t mask) {
  return b.CreateTrunc(b.CreateAnd(b.CreateLShr(object, at), mask), b.getInt32Ty());
}

Value *objectOf(IRBuilder<> &b, Value *pending, Value *expected, Value *tx, Value *phaseBit) {
  auto at = [&](Value *value, uint64_t mask, unsigned shift) {
    return b.CreateShl(b.CreateZExt(b.CreateAnd(value, mask), b.getInt64Ty()), shift);
  };
  return b.CreateOr(b.CreateOr(at(pending, kCountMask, 0), at(expected, kCountMask, kExpectedAt)),
                    b.CreateOr(at(tx, kTxMask, kTxAt), phaseBit));
}

Value *load(FunctionLowering &fn, Value *place, SyncScope::ID scope) {
  LoadInst *load = fn.builder().CreateAlignedLoad(fn.intType(64), place, Align(8));
  load->setAtomic(AtomicOrdering::Monotonic, scope);
  return fn.builder().CreateFreeze(load);
}

} // namespace

Value *changeMbarrier(FunctionLowering &fn, const ptx::Instruction &inst, Value *place,
                      const MbarrierChange &change) {
  IRBuilder<> &b = fn.builder();
  Value *zero = b.getInt32(0);
  Value *arrivals = change.arrivals ? change.arrivals : zero;
  Value *drops = change.drops ? change.drops : zero, *tx = change.tx ? change.tx : zero;
  failIfMisaligned(fn, inst, place, 8);
  if (change.releases)
    b.CreateFence(AtomicOrdering::Release, scopeOf(fn));
  const SyncScope::ID scope = scopeOfArrival(fn.context(), scopeOf(fn));
  Value *start = load(fn, place, scope);
  BasicBlock *before = b.GetInsertBlock(), *again = fn.newBlock("mbarrier.again"),
             *done = fn.newBlock("mbarrier.done");
  b.CreateBr(again);
  b.SetInsertPoint(again);
  PHINode *old = b.CreatePHI(b.getInt64Ty(), 2);
  old->addIncoming(start, before);
  Value *pending = field(b, old, 0, kCountMask);
  if (change.arrivals)
    failIf(fn, inst, b.CreateICmpULT(pending, arrivals), abi::TrapReason::BarrierMisuse,
           "more threads arrive than the phase of the mbarrier waits for");
  Value *left = b.CreateSub(pending, arrivals);
  Value *expected = b.CreateSub(field(b, old, kExpectedAt, kCountMask), drops);
  Value *bytes = b.CreateAnd(b.CreateAdd(field(b, old, kTxAt, kTxMask), tx), kTxMask);
  if (change.tx) { // on an H100 neither count passes 2^20 - 1
    Value *most = b.getInt32(uint32_t(kTxMask) / 2);
    Value *before =
        b.CreateAShr(b.CreateShl(field(b, old, kTxAt, kTxMask), 32 - kTxBits), 32 - kTxBits);
    Value *sum = b.CreateAdd(before, tx);
    failIf(fn, inst,
           b.CreateOr(b.CreateICmpSGT(sum, most), b.CreateICmpSLT(sum, b.CreateNeg(most))),
           abi::TrapReason::BarrierMisuse, "the tx-count of the mbarrier is out of range");
  }
  Value *isOver = b.CreateICmpEQ(b.CreateOr(left, bytes), zero);
  Value *phase = b.CreateAnd(old, uint64_t(1) << kPhaseAt);
  Value *nextPhase = b.CreateXor(phase, uint64_t(1) << kPhaseAt);
  Value *made = objectOf(b, b.CreateSelect(isOver, expected, left), expected,
                         bytes /* 0 if it is over */, b.CreateSelect(isOver, nextPhase, phase));
  AtomicCmpXchgInst *swap = b.CreateAtomicCmpXchg(
      place, old, made, Align(8), AtomicOrdering::Monotonic, AtomicOrdering::Monotonic, scope);
  old->addIncoming(b.CreateExtractValue(swap, 0), b.GetInsertBlock());
  b.CreateCondBr(b.CreateExtractValue(swap, 1), done, again);
  b.SetInsertPoint(done);
  return old;
}

// mbarrier.init{.space}.b64 [a], count
Expected<Value *> lowerMbarrierInit(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *place = fn.pointer(inst.operands[0], inst.spelling->space());
  if (!place)
    return nullptr;
  failIfMisaligned(fn, inst, place, 8);
  Value *count = fn.source(1);
  b.CreateAlignedStore(objectOf(b, count, count, b.getInt32(0), b.getInt64(0)), place, Align(8))
      ->setAtomic(AtomicOrdering::Monotonic, scopeOf(fn));
  return nullptr;
}

// mbarrier.inval{.space}.b64 [a]   The memory may be used for something else; nothing changes.
Expected<Value *> lowerMbarrierInval(FunctionLowering &, const ptx::Instruction &) {
  return nullptr;
}

// mbarrier.(expect_tx|complete_tx){.relaxed.scope}{.space}.b64 [a], count
Expected<Value *> lowerMbarrierTx(FunctionLowering &fn, const ptx::Instruction &inst) {
  Value *place = fn.pointer(inst.operands[0], inst.spelling->space());
  if (!place)
    return nullptr;
  Value *count = fn.source(1);
  MbarrierChange change;
  change.tx = inst.spelling->has(ptx::Mod::CompleteTx) ? fn.builder().CreateNeg(count) : count;
  changeMbarrier(fn, inst, place, change);
  return nullptr;
}

// mbarrier.(arrive|arrive_drop){.sem.scope}{.space}.b64 d, [a]{, count}
// mbarrier.(arrive|arrive_drop).expect_tx{.sem.scope}{.space}.b64 d, [a], tx-count
// mbarrier.(arrive|arrive_drop).noComplete{.release.cta}{.space}.b64 d, [a], count: the program
// promises that the phase does not end by it.
Expected<Value *> lowerMbarrierArrive(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  Value *place = fn.pointer(inst.operands[1], inst.spelling->space());
  if (!place)
    return nullptr;
  MbarrierChange change;
  change.releases = !spelling.has(ptx::Mod::Relaxed);
  change.arrivals = fn.builder().getInt32(1);
  if (spelling.has(ptx::Mod::ExpectTx))
    change.tx = fn.source(1);
  else if (fn.hasSource(1))
    change.arrivals = fn.source(1);
  if (spelling.has(ptx::Mod::ArriveDrop))
    change.drops = change.arrivals;
  return changeMbarrier(fn, inst, place, change);
}

// mbarrier.(test_wait|try_wait){.parity}{.sem.scope}{.space}.b64 p, [a], state|parity{, hint}
// Whether the phase of the state is over, or the last phase of that parity. try_wait may give up
// waiting when it likes.
Expected<Value *> lowerMbarrierWait(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  IRBuilder<> &b = fn.builder();
  Value *place = fn.pointer(inst.operands[1], inst.spelling->space());
  if (!place)
    return nullptr;
  Value *phase = b.CreateLShr(load(fn, place, scopeOf(fn)), kPhaseAt);
  Value *awaited = spelling.has(ptx::Mod::Parity)
                       ? b.CreateZExt(b.CreateAnd(fn.source(1), 1), b.getInt64Ty())
                       : b.CreateLShr(fn.source(1), kPhaseAt);
  Value *isOver = b.CreateICmpNE(phase, awaited);
  BasicBlock *over = fn.newBlock("mbarrier.over"), *rest = fn.newBlock("mbarrier.rest"),
             *next = fn.newBlock("mbarrier.next");
  b.CreateCondBr(isOver, over, rest);
  b.SetInsertPoint(over);
  markAsync(b, AsyncMark::Observed);
  b.CreateBr(next);
  b.SetInsertPoint(rest);
  if (spelling.has(ptx::Mod::TryWait)) // who waits leaves the time to others
    b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_sleep, {b.getInt32(1)});
  b.CreateBr(next);
  b.SetInsertPoint(next);
  if (!spelling.has(ptx::Mod::Relaxed))
    b.CreateFence(AtomicOrdering::Acquire, scopeOf(fn));
  return isOver;
}

// mbarrier.pending_count.b64 d, state   On an H100 the arrivals before the one that gave the state.
Expected<Value *> lowerMbarrierPendingCount(FunctionLowering &fn, const ptx::Instruction &) {
  return field(fn.builder(), fn.source(0), 0, kCountMask);
}

// cp.async.mbarrier.arrive{.noinc}{.space}.b64 [a]
// An arrival when the copies of the thread are done, which they are. Without .noinc the phase waits
// for one more arrival first, so that nothing is left to do but to show the copies to whoever is
// woken by other arrivals of this thread, which are releases.
Expected<Value *> lowerCpAsyncMbarrierArrive(FunctionLowering &fn, const ptx::Instruction &inst) {
  Value *place = fn.pointer(inst.operands[0], inst.spelling->space());
  if (!place)
    return nullptr;
  markAsync(fn.builder(), AsyncMark::HandedOver);
  MbarrierChange change;
  change.releases = true;
  if (inst.spelling->has(ptx::Mod::Noinc)) {
    change.arrivals = fn.builder().getInt32(1);
    changeMbarrier(fn, inst, place, change);
  } else {
    fn.builder().CreateFence(AtomicOrdering::Release, scopeOf(fn));
  }
  return nullptr;
}

} // namespace rubia::lowering
