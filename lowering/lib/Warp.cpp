// What the threads of a warp do together: shfl, vote, activemask, bar.warp.sync.
//
// In both warp forms (docs/architecture.md) a warp's threads are the lanes 0 to 31 of a wave, so
// lane numbers and masks are PTX's own; of a wave64 the upper half has ended.
#include "lowering/lib/FunctionLowering.h"
#include "lowering/lib/UnitLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

// The mask of active lanes in which a condition holds.
static Value *ballot(FunctionLowering &fn, Value *condition) {
  IRBuilder<> &b = fn.builder();
  Value *mask =
      b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {fn.intType(fn.target().waveSize)}, {condition});
  return b.CreateTrunc(mask, b.getInt32Ty());
}

// shfl{.sync}.mode.b32 d{|p}, a, b, c{, membermask}
// PTX ISA: data-movement-and-conversion-instructions-shfl-sync. c is clamp | segment mask << 8; a
// source out of range leaves the thread its own value and makes p false. The result for a source
// lane that does not take part is undefined in PTX, so membermask needs no attention.
Expected<Value *> lowerShfl(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  Value *lane = fn.launch().laneIndex();
  Value *offset = b.CreateAnd(fn.source(1), 31);
  Value *control = fn.source(2);
  Value *clamp = b.CreateAnd(control, 31);
  Value *segment = b.CreateAnd(b.CreateLShr(control, 8), 31);
  Value *inSegment = b.CreateXor(segment, 31);
  Value *first = b.CreateAnd(lane, segment);
  Value *limit = b.CreateOr(first, b.CreateAnd(clamp, inSegment));

  Value *from, *inRange;
  switch (inst.spelling->first(ptx::ModCategory::Shuffle)) {
  case ptx::Mod::Up:
    from = b.CreateSub(lane, offset);
    inRange = b.CreateICmpSGE(from, limit);
    break;
  case ptx::Mod::Down:
    from = b.CreateAdd(lane, offset);
    inRange = b.CreateICmpSLE(from, limit);
    break;
  case ptx::Mod::Bfly:
    from = b.CreateXor(lane, offset);
    inRange = b.CreateICmpSLE(from, limit);
    break;
  case ptx::Mod::Idx:
    from = b.CreateOr(first, b.CreateAnd(offset, inSegment));
    inRange = b.CreateICmpSLE(from, limit);
    break;
  default:
    return fn.malformed(inst, "a mode is needed");
  }
  from = b.CreateSelect(inRange, from, lane);
  fn.setDestination(1, inRange);
  // ds_bpermute_b32 takes byte addresses.
  return b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_ds_bpermute,
                           {b.CreateShl(from, 2), value});
}

// vote{.sync}.mode d, {!}a{, membermask}
// PTX ISA: parallel-synchronization-and-communication-instructions-vote-sync. Lanes outside
// membermask do not count.
Expected<Value *> lowerVote(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *condition = fn.source(0);
  Value *members = inst.spelling->has(ptx::Mod::Sync) ? fn.source(1) : b.getInt32(~0u);
  auto among = [&](Value *which) { return b.CreateAnd(ballot(fn, which), members); };
  auto none = [&](Value *mask) { return b.CreateICmpEQ(mask, b.getInt32(0)); };
  switch (inst.spelling->first(ptx::ModCategory::Vote)) {
  case ptx::Mod::All:
    return none(among(b.CreateNot(condition)));
  case ptx::Mod::Any:
    return b.CreateNot(none(among(condition)));
  case ptx::Mod::Uni:
    return b.CreateOr(none(among(condition)), none(among(b.CreateNot(condition))));
  case ptx::Mod::Ballot:
    return among(condition);
  default:
    return fn.malformed(inst, "a mode is needed");
  }
}

// activemask.b32 d   PTX ISA: parallel-synchronization-and-communication-instructions-activemask
Expected<Value *> lowerActivemask(FunctionLowering &fn, const ptx::Instruction &) {
  return ballot(fn, fn.builder().getTrue());
}

// bar.warp.sync membermask
// PTX ISA: parallel-synchronization-and-communication-instructions-bar-warp-sync. A wave executes
// in lockstep and its memory operations in order, so it only has to stop the compiler.
Expected<Value *> lowerBarWarpSync(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  SyncScope::ID wave = fn.context().getOrInsertSyncScopeID("wavefront");
  b.CreateFence(AtomicOrdering::Release, wave);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  b.CreateFence(AtomicOrdering::Acquire, wave);
  return nullptr;
}

} // namespace rubia::lowering
