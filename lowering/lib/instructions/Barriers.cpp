// SPDX-License-Identifier: Apache-2.0
// Barriers. PTX ISA: parallel-synchronization-and-communication-instructions-bar.
//
// BarrierPlan.h tells which are AMD's one barrier a workgroup. The others are counted in LDS: each
// has a 64-bit state that warps change by compare and swap, so that every arrival belongs to one
// phase of the barrier, which can be used again at once.
//
//   bits 0..7    warps that have arrived in this phase
//   bits 8..15   bar.red: warps that have yet to read the sum of the phase before
//   bits 16..31  number of the phase
//   bits 32..63  bar.red: the sum of this phase, then that of the phase before until all have it
//
// Who waits, waits for another number of the phase; who completes a phase does not wait. One lane
// acts for its warp: PTX counts warps, whatever lanes are active.
#include "lowering/lib/instructions/Barriers.h"
#include "lowering/lib/frame/ClusterSlots.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/MissedBarriers.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/MemoryModel.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier And, Cluster, Cta, Popc, Relaxed, Wait;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {

constexpr uint32_t kArrived = 0xff, kLeaving = 0xff00, kPhase = 0xffff0000;
constexpr uint32_t kOneLeaving = 1 << 8, kOnePhase = 1 << 16;

// What the bodies below are made with.
struct Builder : IRBuilder<> {
  UnitLowering &unit;
  SyncScope::ID workgroup;

  Builder(UnitLowering &unit, BasicBlock *block)
      : IRBuilder<>(block), unit(unit),
        workgroup(syncScopeOf(unit.module.getContext(), ptx::Mod::Cta)) {}
  Builder(FunctionLowering &fn) : Builder(fn.unit(), fn.builder().GetInsertBlock()) {
    SetInsertPoint(fn.builder().GetInsertBlock(), fn.builder().GetInsertPoint());
    SetCurrentDebugLocation(fn.builder().getCurrentDebugLocation());
  }

  void fence(AtomicOrdering ordering) { CreateFence(ordering, workgroup); }
  BasicBlock *block(const Twine &name) {
    return BasicBlock::Create(getContext(), name, GetInsertBlock()->getParent());
  }
  Value *ballot(Value *condition) {
    return CreateIntrinsic(Intrinsic::amdgcn_ballot, {getIntNTy(unit.target.waveSize)},
                           {condition});
  }
  // The number of active lanes in which a condition holds.
  Value *count(Value *condition) {
    return CreateZExtOrTrunc(CreateUnaryIntrinsic(Intrinsic::ctpop, ballot(condition)),
                             getInt32Ty());
  }
  // Whether this is the first of the active lanes.
  Value *isFirstActive() {
    Value *active = ballot(getTrue());
    Value *before = CreateIntrinsic(getInt32Ty(), Intrinsic::amdgcn_mbcnt_lo,
                                    {CreateTrunc(active, getInt32Ty()), getInt32(0)});
    if (unit.target.waveSize == 64)
      before = CreateIntrinsic(getInt32Ty(), Intrinsic::amdgcn_mbcnt_hi,
                               {CreateTrunc(CreateLShr(active, 32), getInt32Ty()), before});
    return CreateICmpEQ(before, getInt32(0));
  }
  Value *firstLane(Value *value) {
    return CreateIntrinsic(getInt32Ty(), Intrinsic::amdgcn_readfirstlane, {value});
  }
  Value *load(Type *type, Value *place) {
    LoadInst *load = CreateAlignedLoad(type, place, Align(type->getIntegerBitWidth() / 8));
    load->setAtomic(AtomicOrdering::Monotonic, workgroup);
    return load;
  }
  void store(Value *value, Value *place) {
    CreateAlignedStore(value, place, Align(4))->setAtomic(AtomicOrdering::Monotonic, workgroup);
  }
  Value *modify(AtomicRMWInst::BinOp operation, Value *place, Value *value) {
    return CreateAtomicRMW(operation, place, value, Align(4), AtomicOrdering::Monotonic, workgroup);
  }
  void sleep() { CreateIntrinsic(getVoidTy(), Intrinsic::amdgcn_s_sleep, {getInt32(1)}); }
  // s_barrier, which orders what the CTA's threads did before and do after it.
  void barrier() {
    fence(AtomicOrdering::Release);
    CreateIntrinsic(getVoidTy(), Intrinsic::amdgcn_s_barrier, {});
    fence(AtomicOrdering::Acquire);
  }
};

// ---------- Barriers of the hardware

// Each wave adds its count to one of three words, which change places from one reduction to the
// next: while one is summed up, the next one is cleared, and who is still reading the one before
// keeps everybody from the reduction after next. So one barrier is enough. Each wave keeps a word
// that tells which reduction it has come to; it executes all of them, in callees and loops too.
Value *reduceInHardware(FunctionLowering &fn, Value *condition) {
  Builder b(fn);
  Value *words = b.CreateConstGEP1_32(b.getInt8Ty(), fn.unit().barrierWords(),
                                      fn.unit().barriers.words.reductionOffset());
  auto word = [&](Value *index) { return b.CreateGEP(b.getInt32Ty(), words, index); };
  Value *wave = fn.launch().waveIndex();
  Value *count = b.count(condition);
  BasicBlock *before = b.GetInsertBlock(), *speak = b.block("reduce"), *next = b.block("reduced");
  b.CreateCondBr(b.isFirstActive(), speak, next);

  b.SetInsertPoint(speak);
  Value *own = word(b.CreateAdd(wave, b.getInt32(3)));
  Value *turn = b.modify(AtomicRMWInst::UIncWrap, own, b.getInt32(2));
  b.modify(AtomicRMWInst::Add, word(turn), count);
  b.store(b.getInt32(0), word(b.CreateSelect(b.CreateICmpEQ(turn, b.getInt32(2)), b.getInt32(0),
                                             b.CreateAdd(turn, b.getInt32(1)))));
  b.CreateBr(next);

  b.SetInsertPoint(next);
  PHINode *which = b.CreatePHI(b.getInt32Ty(), 2);
  which->addIncoming(turn, speak);
  which->addIncoming(b.getInt32(0), before);
  Value *index = b.firstLane(which);
  b.barrier();
  Value *sum = b.load(b.getInt32Ty(), word(index));
  fn.builder().SetInsertPoint(next);
  return sum;
}

// ---------- Barriers that are counted

enum class Counted { Arrive, Sync, Reduce };

// i32 f(i32 barrier, i32 warps, i32 contribution): the sum, for Counted::Reduce.
Function *countedBarrier(UnitLowering &unit, Counted kind) {
  constexpr const char *kNames[] = {"__rubia_barrier_arrive", "__rubia_barrier_sync",
                                    "__rubia_barrier_reduce"};
  IntegerType *i32 = Type::getInt32Ty(unit.module.getContext());
  Function *function =
      unit.ownFunction(kNames[size_t(kind)], FunctionType::get(i32, {i32, i32, i32}, false));
  if (!function->empty())
    return function;
  Value *id = function->getArg(0), *warps = function->getArg(1);
  Value *contribution = function->getArg(2);
  const bool reduces = kind == Counted::Reduce;

  Builder b(unit, BasicBlock::Create(unit.module.getContext(), "entry", function));
  BasicBlock *entry = b.GetInsertBlock(), *first = b.block("first"), *attempt = b.block("attempt");
  BasicBlock *swap = b.block("swap"), *arrived = b.block("arrived"), *done = b.block("done");
  Value *place = b.CreateGEP(b.getInt64Ty(), unit.barrierWords(), id);
  b.fence(AtomicOrdering::Release);
  b.CreateCondBr(b.isFirstActive(), first, done);

  b.SetInsertPoint(first);
  Value *start = b.load(b.getInt64Ty(), place);
  b.CreateBr(attempt);

  b.SetInsertPoint(attempt);
  PHINode *state = b.CreatePHI(b.getInt64Ty(), 3);
  state->addIncoming(start, first);
  Value *low = b.CreateTrunc(state, i32);
  if (reduces) {
    // The sum that others have yet to read stays until then.
    BasicBlock *drain = b.block("drain");
    b.CreateCondBr(b.CreateICmpEQ(b.CreateAnd(low, kLeaving), b.getInt32(0)), swap, drain);
    b.SetInsertPoint(drain);
    b.sleep();
    state->addIncoming(b.load(b.getInt64Ty(), place), drain);
    b.CreateBr(attempt);
  } else {
    b.CreateBr(swap);
  }

  b.SetInsertPoint(swap);
  Value *before = b.CreateAnd(low, kArrived);
  Value *isLast = b.CreateICmpEQ(b.CreateAdd(before, b.getInt32(1)), warps);
  Value *completed = b.CreateAdd(b.CreateAnd(low, ~kArrived), b.getInt32(kOnePhase));
  Value *sum = b.CreateTrunc(b.CreateLShr(state, 32), i32);
  if (reduces) {
    completed =
        b.CreateOr(completed, b.CreateShl(b.CreateSub(warps, b.getInt32(1)), b.getInt32(8)));
    Value *isFirst = b.CreateICmpEQ(before, b.getInt32(0));
    sum = b.CreateAdd(b.CreateSelect(isFirst, b.getInt32(0), sum), contribution);
  }
  Value *newLow = b.CreateSelect(isLast, completed, b.CreateAdd(low, b.getInt32(1)));
  Value *newState = b.CreateOr(b.CreateZExt(newLow, b.getInt64Ty()),
                               b.CreateShl(b.CreateZExt(sum, b.getInt64Ty()), 32));
  Value *exchange =
      b.CreateAtomicCmpXchg(place, state, newState, Align(8), AtomicOrdering::Monotonic,
                            AtomicOrdering::Monotonic, b.workgroup);
  state->addIncoming(b.CreateExtractValue(exchange, 0), swap);
  b.CreateCondBr(b.CreateExtractValue(exchange, 1), arrived, attempt);

  PHINode *result = PHINode::Create(i32, 3, "sum", done);
  result->addIncoming(b.getInt32(0), entry);
  result->addIncoming(sum, arrived);
  b.SetInsertPoint(arrived);
  if (kind == Counted::Arrive) {
    b.CreateBr(done);
  } else {
    BasicBlock *wait = b.block("wait"), *passed = b.block("passed");
    b.CreateCondBr(isLast, done, wait);
    b.SetInsertPoint(wait);
    b.sleep();
    Value *now = b.load(b.getInt64Ty(), place);
    Value *changed = b.CreateAnd(b.CreateXor(b.CreateTrunc(now, i32), low), kPhase);
    b.CreateCondBr(b.CreateICmpEQ(changed, b.getInt32(0)), wait, passed);
    b.SetInsertPoint(passed);
    if (reduces)
      b.modify(AtomicRMWInst::Sub, place, b.getInt32(kOneLeaving));
    result->addIncoming(b.CreateTrunc(b.CreateLShr(now, 32), i32), passed);
    b.CreateBr(done);
  }

  b.SetInsertPoint(done, done->end());
  if (kind != Counted::Arrive)
    b.fence(AtomicOrdering::Acquire);
  b.CreateRet(reduces ? b.firstLane(result) : result);
  return function;
}

Value *countBarrier(FunctionLowering &fn, Counted kind, Value *id, Value *warps,
                    Value *contribution) {
  return fn.builder().CreateCall(countedBarrier(fn.unit(), kind), {id, warps, contribution});
}

// ---------- Both

// Waits, and sums up over the threads for which a condition holds, unless it is null.
Value *waitInHardware(FunctionLowering &fn, Value *condition) {
  if (condition)
    return reduceInHardware(fn, condition);
  Builder(fn).barrier();
  return nullptr;
}

Value *waitAndCount(FunctionLowering &fn, Value *id, Value *warps, Value *condition) {
  Value *contribution = condition ? Builder(fn).count(condition) : fn.builder().getInt32(0);
  return countBarrier(fn, condition ? Counted::Reduce : Counted::Sync, id, warps, contribution);
}

// The operands of a barrier: a, the barrier, and b, the number of threads, in warps.
struct Participants {
  Value *id, *warps, *all; // all: the number of warps of the CTA
};

Participants participantsOf(FunctionLowering &fn, const BarrierUse &use) {
  IRBuilder<> &b = fn.builder();
  auto inWarps = [&](Value *threads) {
    return b.CreateLShr(b.CreateAdd(threads, b.getInt32(31)), 5);
  };
  // All threads of a warp have to give the same operands.
  auto uniform = [&](Value *value) {
    return isa<Constant>(value) ? value : Builder(fn).firstLane(value);
  };
  Participants result;
  result.all = inWarps(fn.launch().threadCount());
  if (use.id == BarrierPlan::kWarpgroups)
    result.id = b.CreateAdd(uniform(b.CreateLShr(fn.launch().linearThreadIndex(), 7)),
                            b.getInt32(BarrierPlan::kNumbers));
  else
    result.id = use.id ? b.getInt32(uint32_t(*use.id)) : b.CreateAnd(uniform(fn.source(0)), 15);
  if (use.threads) {
    result.warps = *use.threads ? b.getInt32(uint32_t(*use.threads) / 32) : result.all;
  } else {
    Value *warps = inWarps(uniform(fn.source(1)));
    result.warps = b.CreateSelect(b.CreateICmpEQ(warps, b.getInt32(0)), result.all, warps);
  }
  return result;
}

// The sum if there is a condition.
Value *wait(FunctionLowering &fn, const ptx::Instruction &inst, Value *condition) {
  refuseLateAtBarrier(fn, inst);
  const BarrierUse &use = fn.unit().barriers.of(inst);
  if (use.form == BarrierForm::Hardware)
    return waitInHardware(fn, condition);
  Participants who = participantsOf(fn, use);
  if (use.form == BarrierForm::Counted)
    return waitAndCount(fn, who.id, who.warps, condition);

  IRBuilder<> &b = fn.builder();
  BasicBlock *all = fn.newBlock("all"), *some = fn.newBlock("some"), *next = fn.newBlock("met");
  b.CreateCondBr(b.CreateICmpEQ(who.warps, who.all), all, some);
  b.SetInsertPoint(all);
  Value *sumOfAll = waitInHardware(fn, condition);
  all = b.GetInsertBlock();
  b.CreateBr(next);
  b.SetInsertPoint(some);
  Value *sumOfSome = waitAndCount(fn, who.id, who.warps, condition);
  some = b.GetInsertBlock();
  b.CreateBr(next);
  b.SetInsertPoint(next);
  if (!condition)
    return nullptr;
  PHINode *sum = b.CreatePHI(b.getInt32Ty(), 2);
  sum->addIncoming(sumOfAll, all);
  sum->addIncoming(sumOfSome, some);
  return sum;
}

} // namespace

void emitBarrierSetup(FunctionLowering &kernel, IRBuilder<> &builder) {
  UnitLowering &unit = kernel.unit();
  uint32_t size = unit.barriers.words.sizeInBytes();
  if (size == 0)
    return;
  LaunchState launch(unit, &kernel.ptxFunction(), builder);
  BasicBlock *zero = kernel.newBlock("prologue.zero"), *next = kernel.newBlock("prologue.ready");
  zero->moveAfter(builder.GetInsertBlock());
  next->moveAfter(zero);
  builder.CreateCondBr(launch.isFirstThread(), zero, next);
  builder.SetInsertPoint(zero);
  builder.CreateMemSet(unit.barrierWords(), builder.getInt8(0), size, MaybeAlign(8));
  builder.CreateBr(next);
  builder.SetInsertPoint(next);
  Builder b(unit, next);
  b.SetCurrentDebugLocation(builder.getCurrentDebugLocation());
  b.barrier();
}

// bar.sync a{, b}; barrier.sync{.aligned} a{, b}
Expected<Value *> lowerBarSync(FunctionLowering &fn, const ptx::Instruction &inst) {
  wait(fn, inst, nullptr);
  return nullptr;
}

// wgmma.wait_group.sync.aligned n
// PTX ISA: asynchronous-multiply-and-accumulate-instruction-wgmma-wait-group. Nothing is on its
// way, but other warps of the warpgroup may still read A and B.
Expected<Value *> lowerWgmmaWait(FunctionLowering &fn, const ptx::Instruction &inst) {
  wait(fn, inst, nullptr);
  return nullptr;
}

// bar.arrive a, b; barrier.arrive{.aligned} a, b
Expected<Value *> lowerBarArrive(FunctionLowering &fn, const ptx::Instruction &inst) {
  refuseLateAtBarrier(fn, inst);
  Participants who = participantsOf(fn, fn.unit().barriers.of(inst));
  countBarrier(fn, Counted::Arrive, who.id, who.warps, fn.builder().getInt32(0));
  return nullptr;
}

// bar.red.popc.u32 d, a{, b}, {!}c; bar.red.(and|or).pred d, a{, b}, {!}c
Expected<Value *> lowerBarRed(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  bool isAnd = inst.spelling->has(ptx::Mod::And);
  Value *condition = fn.source(fn.hasSource(2) ? 2 : 1, ptx::Type::Pred);
  if (isAnd) // all are true if none is false
    condition = b.CreateNot(condition);
  Value *sum = wait(fn, inst, condition);
  if (inst.spelling->has(ptx::Mod::Popc))
    return sum;
  return isAnd ? b.CreateICmpEQ(sum, b.getInt32(0)) : b.CreateICmpNE(sum, b.getInt32(0));
}

// The same for clusters of several CTAs.
static void waitForCluster(FunctionLowering &fn) {
  UnitLowering &unit = fn.unit();
  Builder b(fn);
  Value *wave = fn.launch().waveIndex(), *lane = fn.launch().laneInWave();
  BasicBlock *look = b.block("cluster.look"), *rest = b.block("cluster.rest"),
             *over = b.block("cluster.over");
  b.CreateBr(look);
  b.SetInsertPoint(look);
  b.CreateCondBr(isClusterPhaseOver(unit, b, wave, lane), over, rest);
  b.SetInsertPoint(rest);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_sleep, {b.getInt32(1)});
  b.CreateBr(look);
  b.SetInsertPoint(over);
  fn.builder().SetInsertPoint(over);
}

// barrier.cluster.arrive{.sem}{.aligned}; barrier.cluster.wait{.acquire}{.aligned}
// PTX ISA: parallel-synchronization-and-communication-instructions-barrier-cluster. Arriving orders
// what was before it. Where a cluster is one CTA its barrier is the workgroup's, reached at the
// wait: there every thread comes that has arrived and has not ended.
Expected<Value *> lowerBarrierCluster(FunctionLowering &fn, const ptx::Instruction &inst) {
  const bool isForClusters = fn.unit().isForClusters();
  if (isForClusters && inst.spelling->has(ptx::Mod::Wait)) {
    waitForCluster(fn);
    // The threads of a warp are together too, as the emulator's check `warps` wants to know.
    fn.builder().CreateIntrinsic(fn.builder().getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
    fn.builder().CreateFence(AtomicOrdering::Acquire, syncScopeOf(fn.context(), ptx::Mod::Cluster));
    return nullptr;
  }
  if (isForClusters) {
    if (!inst.spelling->has(ptx::Mod::Relaxed))
      fn.builder().CreateFence(AtomicOrdering::Release,
                               syncScopeOf(fn.context(), ptx::Mod::Cluster));
    arriveAtCluster(fn.unit(), fn.builder(), fn.launch().waveIndex(),
                    fn.unit().addTrap(whyLate(fn, inst)));
    return nullptr;
  }
  if (inst.spelling->has(ptx::Mod::Wait)) {
    refuseLateAtBarrier(fn, inst);
    Builder(fn).barrier();
  } else if (!inst.spelling->has(ptx::Mod::Relaxed)) {
    Builder(fn).fence(AtomicOrdering::Release);
  }
  return nullptr;
}

} // namespace rubia::lowering
