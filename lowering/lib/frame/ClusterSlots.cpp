// SPDX-License-Identifier: Apache-2.0
// A CTA of a cluster waits for others only here and in barrier.cluster, and in what the program
// does itself. Here: the first CTA of a cluster waits for its turn and for slots, the others for it
// (abi::ClusterMeeting).
//
// All of a cluster's slots are given back by the last thread of the cluster that ends: others may
// access the memory of a CTA that has ended, and the barrier's word is one of the cluster's.
#include "lowering/lib/frame/ClusterSlots.h"
#include "lowering/lib/frame/SlotBuilder.h"
#include "ptx-frontend/SpecialRegisters.h"
#include <cstddef>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation BarrierCluster, Getctarank, Mapa, RedAsync, StAsync;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier MbarrierCompleteTxBytes, MulticastCluster, MulticastClusterAll, SharedCluster;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// ---------- Which units

static bool isOfCluster(const ptx::Operand &operand) {
  using Special = ptx::SpecialRegister;
  if (operand.kind == ptx::Operand::Kind::SpecialRegister)
    switch (operand.special) {
    case Special::ClusterId:
    case Special::NClusterId:
    case Special::ClusterCtaId:
    case Special::ClusterNCtaId:
    case Special::ClusterCtaRank:
    case Special::ClusterNCtaRank:
      return true;
    default:
      return false;
    }
  return any_of(operand.elements(), isOfCluster);
}

static bool expectsCluster(const ptx::Instruction &instruction) {
  namespace Mod = ptx::Mod;
  using ptx::Modifier;
  const ptx::Spelling &spelling = *instruction.spelling;
  const ptx::Operation op = instruction.op();
  for (Modifier mod : {Mod::MulticastCluster, Mod::MulticastClusterAll})
    if (spelling.has(mod))
      return true;
  if (op == ptx::Op::Mapa || op == ptx::Op::Getctarank || op == ptx::Op::BarrierCluster)
    return true;
  if ((op == ptx::Op::StAsync || op == ptx::Op::RedAsync) &&
      spelling.has(Mod::MbarrierCompleteTxBytes))
    return true;
  return any_of(instruction.operands, isOfCluster);
}

// `.shared::cluster` alone is no sign of several CTAs: bulk copies have it always.
static bool namesCluster(const ptx::Instruction &instruction) {
  return expectsCluster(instruction) || instruction.spelling->has(ptx::Mod::SharedCluster);
}

static bool anyInstruction(const Unit &unit, function_ref<bool(const ptx::Instruction &)> is) {
  for (ArrayRef<const ptx::Function *> functions :
       {ArrayRef(unit.kernels), ArrayRef(unit.functions)})
    for (const ptx::Function *function : functions)
      if (any_of(function->body, is))
        return true;
  return false;
}

bool namesClusters(const Unit &unit) { return anyInstruction(unit, namesCluster); }

bool expectsClusters(const Unit &unit) {
  return anyInstruction(unit, expectsCluster) ||
         any_of(unit.kernels, [](const ptx::Function *kernel) {
           return kernel->attributes.explicitCluster || kernel->attributes.maxClusterRank;
         });
}

// ---------- The pool

namespace {

struct Builder : SlotBuilder {
  using SlotBuilder::SlotBuilder;

  Value *wide(Value *value) { return b.CreateZExt(value, b.getInt64Ty()); }
  Value *narrow(Value *value) { return b.CreateTrunc(value, b.getInt32Ty()); }
  Value *bits(Value *word, unsigned at, unsigned width) {
    return b.CreateAnd(narrow(b.CreateLShr(word, at)), maskTrailingOnes<uint32_t>(width));
  }

  Value *pool() {
    return b.CreateIntToPtr(unit.loadModuleTable(b, abi::kClusterPoolSlot),
                            b.getPtrTy(kGlobalSpace));
  }
  Value *at(Value *pool, size_t offset) {
    return b.CreateConstGEP1_64(b.getInt8Ty(), pool, offset);
  }
  Value *meeting(Value *pool) { return at(pool, offsetof(abi::ClusterPool, meeting)); }
  Value *tickets(Value *pool) { return at(pool, offsetof(abi::ClusterPool, tickets)); }
  Value *barrierOf(Value *pool, Value *slot) {
    return b.CreateGEP(b.getInt64Ty(), at(pool, sizeof(abi::ClusterPool)), wide(slot));
  }
  // Of the words with a bit for each slot.
  Value *takenWord(Value *pool, Value *words, Value *index) {
    Value *first = barrierOf(pool, b.CreateShl(words, 5));
    return b.CreateGEP(b.getInt32Ty(), first, wide(index));
  }
  Value *bytesOf(Value *pool, Value *words, Value *slot) {
    return takenWord(pool, words, b.CreateAdd(words, slot));
  }
  Value *words(Value *pool) { return constantField(pool, offsetof(abi::ClusterPool, words), 32); }

  Value *nonZero(Value *value) {
    return b.CreateBinaryIntrinsic(Intrinsic::umax, value, b.getInt32(1));
  }

  // The logarithm of how many slots a cluster takes: a power of two.
  Value *logOfRun(Value *ctas) {
    Value *zeros =
        b.CreateBinaryIntrinsic(Intrinsic::ctlz, b.CreateSub(ctas, b.getInt32(1)), b.getFalse());
    return b.CreateSub(b.getInt32(32), zeros);
  }
  // A bit for each slot of the run, from the bit of its first on.
  Value *maskOfRun(Value *log, Value *bit) {
    Value *count = b.CreateShl(b.getInt32(1), b.CreateAnd(log, 31));
    Value *ones = b.CreateSub(b.CreateShl(b.getInt32(1), b.CreateAnd(count, 31)), b.getInt32(1));
    return b.CreateShl(ones, b.CreateAnd(bit, 31));
  }

  // Goes round a loop until `isOver` is built true, and sleeps between.
  template <class IsOver> void sleepUntil(const Twine &name, const IsOver &isOver) {
    BasicBlock *look = block(name), *rest = block(name + ".rest"), *over = block(name + ".over");
    b.CreateBr(look);
    b.SetInsertPoint(look);
    b.CreateCondBr(isOver(), over, rest);
    b.SetInsertPoint(rest);
    b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_sleep, {b.getInt32(1)});
    b.CreateBr(look);
    b.SetInsertPoint(over);
  }

  // Changes a word of 64 bits by compare and swap. Returns what it was.
  template <class Change> Value *change(Value *place, const Change &change) {
    Value *start = load(place, agent, 64);
    BasicBlock *before = b.GetInsertBlock(), *again = block("cluster.again"),
               *done = block("cluster.done");
    b.CreateBr(again);
    b.SetInsertPoint(again);
    PHINode *old = b.CreatePHI(b.getInt64Ty(), 2);
    old->addIncoming(start, before);
    AtomicCmpXchgInst *swap =
        b.CreateAtomicCmpXchg(place, old, change(old), Align(8), AtomicOrdering::Monotonic,
                              AtomicOrdering::Monotonic, agent);
    isDeviceMemory(swap);
    old->addIncoming(b.CreateExtractValue(swap, 0), again);
    b.CreateCondBr(b.CreateExtractValue(swap, 1), done, again);
    b.SetInsertPoint(done);
    return old;
  }

  // Waves are counted, as warps. The two warps of a packed one come to barriers together, and while
  // one of them waits the wave may not have come yet to where the other one ends (WarpForm.cpp).
  Value *wavesOf(Value *threads) {
    const unsigned log = unit.target.isPacked ? 6 : 5;
    return b.CreateLShr(b.CreateAdd(threads, b.getInt32((1 << log) - 1)), log);
  }
  Value *activeMask() {
    Value *mask = b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {b.getIntNTy(unit.target.waveSize)},
                                    {b.getTrue()});
    return b.CreateZExt(mask, b.getInt64Ty());
  }
  Value *lane() {
    Value *below = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_lo,
                                     {b.getInt32(~0u), b.getInt32(0)});
    return b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_hi, {b.getInt32(~0u), below});
  }
  // Of a packed wave: in each half the first of these lanes.
  Value *isFirstOfWarp(Value *mask) {
    Value *lower = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_lo,
                                     {narrow(mask), b.getInt32(0)});
    Value *upper = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_mbcnt_hi,
                                     {narrow(b.CreateLShr(mask, 32)), b.getInt32(0)});
    Value *isLower = b.CreateICmpULT(lane(), b.getInt32(32));
    return b.CreateIsNull(b.CreateSelect(isLower, lower, upper));
  }
  Value *count(Value *mask) { return narrow(b.CreateUnaryIntrinsic(Intrinsic::ctpop, mask)); }

  // What a CTA keeps of its cluster.
  Value *kept(uint32_t offset, unsigned bits) {
    return firstLane(b.CreateAlignedLoad(b.getIntNTy(bits), word(offset), Align(bits / 8)));
  }
  Value *barrier() {
    return b.CreateIntToPtr(kept(SlotWords::kBarrier, 64), b.getPtrTy(kGlobalSpace));
  }
  Value *arrivedLanesOf(Value *wave) {
    return b.CreateGEP(b.getInt64Ty(), word(SlotWords::kArrivedLanes), wave);
  }
  Value *nextPhaseOf(Value *wave) {
    return b.CreateGEP(b.getInt32Ty(), word(SlotWords::kNextPhase), wave);
  }

  // abi::ClusterBarrier. A phase ends when all waves that have not ended have arrived.
  Value *barrierWith(Value *old, Value *live, Value *arrived) {
    Value *isOver = b.CreateICmpEQ(live, arrived);
    Value *phase = b.CreateAdd(narrow(b.CreateLShr(old, abi::kBarrierPhase)),
                               b.CreateZExt(isOver, b.getInt32Ty()));
    Value *waiting = b.CreateSelect(isOver, b.getInt32(0), arrived);
    Value *counts = b.CreateOr(live, b.CreateShl(waiting, abi::kBarrierArrived));
    return b.CreateOr(wide(counts), b.CreateShl(wide(phase), abi::kBarrierPhase));
  }
};

// The first of the slots that a cluster gets. One thread is active, the only one of the device that
// looks for slots; others give some back at any time.
Value *takeRun(Builder &c, Value *pool, Value *words, Value *log) {
  IRBuilder<> &b = c.b;
  BasicBlock *before = b.GetInsertBlock(), *look = c.block("run.look"), *take = c.block("run.take"),
             *next = c.block("run.next");
  b.CreateBr(look);

  b.SetInsertPoint(look);
  PHINode *index = b.CreatePHI(b.getInt32Ty(), 2);
  Value *place = c.takenWord(pool, words, index);
  Value *starts = b.CreateNot(c.load(place, c.agent)); // where a run of free slots begins
  Value *aligned = b.getInt32(~0u);
  constexpr uint32_t kAligned[] = {0x55555555, 0x11111111, 0x01010101, 0x00010001};
  for (unsigned step = 0; step < std::size(kAligned); ++step) {
    Value *isLonger = b.CreateICmpUGT(log, b.getInt32(step));
    Value *both = b.CreateAnd(starts, b.CreateLShr(starts, 1u << step));
    starts = b.CreateSelect(isLonger, both, starts);
    aligned = b.CreateSelect(isLonger, b.getInt32(kAligned[step]), aligned);
  }
  starts = b.CreateAnd(starts, aligned);
  b.CreateCondBr(b.CreateICmpNE(starts, b.getInt32(0)), take, next);

  b.SetInsertPoint(next);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_sleep, {b.getInt32(1)});
  Value *following = b.CreateAdd(index, b.getInt32(1));
  Value *wrapped = b.CreateSelect(b.CreateICmpEQ(following, words), b.getInt32(0), following);
  b.CreateBr(look);
  index->addIncoming(b.getInt32(0), before);
  index->addIncoming(wrapped, next);

  b.SetInsertPoint(take);
  Value *bit = b.CreateBinaryIntrinsic(Intrinsic::cttz, starts, b.getFalse());
  c.modify(AtomicRMWInst::Or, place, c.maskOfRun(log, bit), c.agent);
  return b.CreateAdd(b.CreateShl(index, 5), bit);
}

// The number that says which CTA of the grid this workgroup is. One thread is active.
Value *drawNumber(Builder &c, LaunchState &launch, Value *pool, Value *const (&sizes)[3],
                  Value *const (&clusters)[3], Value *ctas) {
  IRBuilder<> &b = c.b;
  Value *cluster = b.getInt32(0), *rank = b.getInt32(0);
  for (unsigned i = 3; i-- > 0;) {
    Value *index = launch.workgroupIndex(i);
    cluster = b.CreateAdd(b.CreateMul(cluster, clusters[i]), b.CreateUDiv(index, sizes[i]));
    rank = b.CreateAdd(b.CreateMul(rank, sizes[i]), b.CreateURem(index, sizes[i]));
  }
  Value *own = b.CreateAdd(b.CreateMul(cluster, ctas), rank);
  Value *flags = launch.argument(offsetof(abi::LaunchArguments, flags), 32);
  Value *isInOrder = b.CreateICmpNE(b.CreateAnd(flags, abi::kWorkgroupsInOrder), b.getInt32(0));
  BasicBlock *before = b.GetInsertBlock(), *draw = c.block("cluster.draw"),
             *drawn = c.block("cluster.drawn");
  b.CreateCondBr(isInOrder, drawn, draw);
  b.SetInsertPoint(draw);
  Value *ticket = c.modify(AtomicRMWInst::Add, c.tickets(pool), b.getInt32(1), c.agent);
  b.CreateBr(drawn);
  b.SetInsertPoint(drawn);
  PHINode *number = b.CreatePHI(b.getInt32Ty(), 2);
  number->addIncoming(own, before);
  number->addIncoming(ticket, draw);
  return number;
}

// Where the CTAs of a cluster learn of their slots. One thread is active. Returns the first slot.
Value *meet(Builder &c, Value *pool, Value *words, Value *cluster, Value *rank, Value *ctas,
            Value *waves, Value *clusters) {
  IRBuilder<> &b = c.b;
  Value *meeting = c.meeting(pool);
  BasicBlock *led = c.enterIf(b.CreateICmpEQ(rank, b.getInt32(0)), "cluster.lead");
  c.sleepUntil("cluster.turn",
               [&] { return b.CreateICmpEQ(c.load(meeting, c.agent, 64), c.wide(cluster)); });
  Value *taken = takeRun(c, pool, words, c.logOfRun(ctas));
  b.CreateFence(AtomicOrdering::Acquire, c.agent);
  c.store(c.wide(b.CreateMul(waves, ctas)), c.barrierOf(pool, taken), c.agent);
  b.CreateFence(AtomicOrdering::Release, c.agent);
  Value *told = b.CreateShl(c.wide(b.CreateAdd(taken, b.getInt32(1))), abi::kMeetingSlot);
  c.store(b.CreateOr(told, c.wide(cluster)), meeting, c.agent);
  c.goOn(led);

  Value *slot = nullptr;
  c.sleepUntil("cluster.read", [&] {
    Value *now = c.load(meeting, c.agent, 64);
    slot = c.bits(now, abi::kMeetingSlot, 16);
    return b.CreateAnd(b.CreateICmpEQ(c.narrow(now), cluster), b.CreateICmpNE(slot, b.getInt32(0)));
  });
  b.CreateFence(AtomicOrdering::Acquire, c.agent);
  Value *joined = c.modify(AtomicRMWInst::Add, meeting,
                           b.getInt64(uint64_t(1) << abi::kMeetingJoined), c.agent);
  Value *isLast = b.CreateICmpEQ(
      b.CreateAdd(c.narrow(b.CreateLShr(joined, abi::kMeetingJoined)), b.getInt32(1)), ctas);
  BasicBlock *joinedAll = c.enterIf(isLast, "cluster.last");
  Value *next = b.CreateAdd(cluster, b.getInt32(1));
  Value *isEnd = b.CreateICmpEQ(next, clusters); // all is as before the launch
  BasicBlock *reset = c.enterIf(isEnd, "cluster.reset");
  c.store(b.getInt32(0), c.tickets(pool), c.agent);
  c.goOn(reset);
  c.store(c.wide(b.CreateSelect(isEnd, b.getInt32(0), next)), meeting, c.agent);
  c.goOn(joinedAll);
  return b.CreateSub(slot, b.getInt32(1));
}

// One thread is active, the last of the cluster.
void freeRun(Builder &c) {
  IRBuilder<> &b = c.b;
  b.CreateFence(AtomicOrdering::Acquire, c.agent);
  Value *slot = c.kept(SlotWords::kNumber, 32);
  Value *pool = c.pool(), *words = c.words(pool);
  Value *ctas = LaunchState(c.unit, nullptr, b).clusterCtas();
  BasicBlock *before = b.GetInsertBlock(), *clear = c.block("run.clear"),
             *done = c.block("run.free");
  b.CreateBr(clear);
  b.SetInsertPoint(clear);
  PHINode *rank = b.CreatePHI(b.getInt32Ty(), 2);
  rank->addIncoming(b.getInt32(0), before);
  c.store(b.getInt32(0), c.bytesOf(pool, words, b.CreateAdd(slot, rank)), c.agent);
  Value *next = b.CreateAdd(rank, b.getInt32(1));
  rank->addIncoming(next, clear);
  b.CreateCondBr(b.CreateICmpULT(next, ctas), clear, done);
  b.SetInsertPoint(done);
  b.CreateFence(AtomicOrdering::Release, c.agent);
  Value *mask = c.maskOfRun(c.logOfRun(ctas), b.CreateAnd(slot, 31));
  c.modify(AtomicRMWInst::And, c.takenWord(pool, words, b.CreateLShr(slot, 5)), b.CreateNot(mask),
           c.agent);
}

// One thread of a wave is active, which has ended if `isOver`: the others may wait for that. If the
// wave has arrived in this phase, it is no more among those that have.
void countWave(Builder &c, Value *wave, Value *isOver) {
  IRBuilder<> &b = c.b;
  BasicBlock *waveEnd = c.enterIf(isOver, "leave.wave");
  Value *barrier = c.barrier(), *next = c.load(c.nextPhaseOf(wave), c.workgroup);
  Value *old = c.change(barrier, [&](Value *word) {
    Value *phase = c.narrow(b.CreateLShr(word, abi::kBarrierPhase));
    Value *hasArrived = b.CreateICmpEQ(next, b.CreateAdd(phase, b.getInt32(1)));
    Value *arrived = b.CreateSub(c.bits(word, abi::kBarrierArrived, 16),
                                 b.CreateZExt(hasArrived, b.getInt32Ty()));
    Value *left = b.CreateSub(c.bits(word, abi::kBarrierLive, 16), b.getInt32(1));
    return c.barrierWith(word, left, arrived);
  });
  Value *isLast = b.CreateICmpEQ(c.bits(old, abi::kBarrierLive, 16), b.getInt32(1));
  BasicBlock *clusterEnd = c.enterIf(isLast, "leave.cluster");
  freeRun(c);
  c.goOn(clusterEnd);
  c.goOn(waveEnd);
}

} // namespace

// ---------- The CTA's life

Value *takeClusterSlot(UnitLowering &unit, const ptx::Function &kernel, IRBuilder<> &b) {
  Builder c(unit, b);
  LaunchState launch(unit, &kernel, b);
  Value *wave = launch.waveIndex(), *threads = launch.threadCount();
  Value *lanes = c.count(c.activeMask());
  Value *bytes =
      b.CreateAdd(launch.argument(offsetof(abi::LaunchArguments, dynamicSharedBytes), 32),
                  b.getInt32(uint32_t(unit.sharedLayout.dynamic)));
  Value *isFirstThread = launch.isFirstThread();
  Value *ctas = c.nonZero(launch.clusterCtas());
  Value *sizes[3], *inGrid[3]; // CTAs of a cluster, clusters of the grid
  for (unsigned i = 0; i < 3; ++i) {
    sizes[i] = launch.clusterSize(i);
    inGrid[i] = c.nonZero(b.CreateUDiv(launch.gridSize(i), sizes[i]));
  }
  for (unsigned i = 0; i < 3; ++i) // before branches: the values are kept
    launch.workgroupIndex(i);
  launch.argument(offsetof(abi::LaunchArguments, flags), 32);

  BasicBlock *counted =
      c.enterIf(b.CreateICmpEQ(launch.laneInWave(), b.getInt32(0)), "prologue.wave");
  c.store(lanes, c.lanesOf(wave), c.workgroup);
  c.store(b.getInt64(~uint64_t(0)), c.arrivedLanesOf(wave), c.workgroup); // before the first phase
  c.store(b.getInt32(0), c.nextPhaseOf(wave), c.workgroup);
  c.goOn(counted);

  BasicBlock *taken = c.enterIf(isFirstThread, "prologue.cluster");
  Value *pool = c.pool(), *words = c.words(pool);
  Value *number = drawNumber(c, launch, pool, sizes, inGrid, ctas);
  Value *cluster = b.CreateUDiv(number, ctas);
  Value *rank = b.CreateSub(number, b.CreateMul(cluster, ctas));
  Value *clusters = b.CreateMul(b.CreateMul(inGrid[0], inGrid[1]), inGrid[2]);
  Value *slot = meet(c, pool, words, cluster, rank, ctas, c.wavesOf(threads), clusters);
  Value *own = b.CreateAdd(slot, rank);
  Value *log = c.logOfRun(ctas);
  c.store(b.CreateOr(bytes, b.CreateShl(log, abi::kClusterRunAt)), c.bytesOf(pool, words, own),
          c.agent);

  auto startOf = [&](Value *which) {
    return b.CreateAdd(c.constantField(pool, offsetof(abi::ClusterPool, slots), 64),
                       b.CreateMul(c.wide(which), b.getInt64(abi::kSharedSlotBytes)));
  };
  auto keep = [&](uint32_t offset, Value *value) { c.store(value, c.word(offset), c.workgroup); };
  keep(SlotWords::kStart, startOf(own));
  keep(SlotWords::kNumber, slot);
  keep(SlotWords::kCluster, startOf(slot));
  keep(SlotWords::kBarrier, b.CreatePtrToInt(c.barrierOf(pool, slot), b.getInt64Ty()));
  keep(SlotWords::kRank, rank);
  Value *clusterLeft = cluster, *rankLeft = rank;
  for (unsigned i = 0; i < 3; ++i) {
    Value *clusterIndex = i < 2 ? b.CreateURem(clusterLeft, inGrid[i]) : clusterLeft;
    Value *inCluster = i < 2 ? b.CreateURem(rankLeft, sizes[i]) : rankLeft;
    keep(SlotWords::kCtaId + 4 * i, b.CreateAdd(b.CreateMul(clusterIndex, sizes[i]), inCluster));
    if (i < 2) {
      clusterLeft = b.CreateUDiv(clusterLeft, inGrid[i]);
      rankLeft = b.CreateUDiv(rankLeft, sizes[i]);
    }
  }
  c.goOn(taken);

  b.CreateFence(AtomicOrdering::Release, c.workgroup);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_s_barrier, {});
  b.CreateFence(AtomicOrdering::Acquire, c.workgroup);
  return loadSharedSlot(unit, b);
}

void leaveCluster(UnitLowering &unit, IRBuilder<> &b, Value *wave) {
  Builder c(unit, b);
  b.CreateFence(AtomicOrdering::Release, c.agent);
  Value *ending = c.activeLanes(), *isFirst = c.isFirstActive();
  // Each warp of a packed wave tells what it has done. There are half as many waves as words.
  Value *toTell = c.lanesOf(b.CreateAdd(wave, b.getInt32(BarrierWords::kMaxWaves / 2)));
  if (unit.target.isPacked) {
    BasicBlock *told = c.enterIf(c.isFirstOfWarp(c.activeMask()), "leave.tell");
    c.store(b.getInt32(0), toTell, c.workgroup);
    c.goOn(told);
  }
  BasicBlock *behind = c.enterIf(isFirst, "leave.lanes");
  if (unit.target.isPacked)
    c.load(toTell, c.workgroup);
  Value *before = c.modify(AtomicRMWInst::Sub, c.lanesOf(wave), ending, c.workgroup);
  countWave(c, wave, b.CreateICmpEQ(before, ending));
  c.goOn(behind);
}

void loseWaveOfCluster(UnitLowering &unit, IRBuilder<> &b, Value *wave) {
  Builder c(unit, b);
  b.CreateFence(AtomicOrdering::Release, c.agent);
  BasicBlock *behind = c.enterIf(c.isFirstActive(), "lose.wave");
  Value *before = c.modify(AtomicRMWInst::Xchg, c.lanesOf(wave), b.getInt32(0), c.workgroup);
  countWave(c, wave, b.CreateICmpNE(before, b.getInt32(0)));
  c.goOn(behind);
}

Value *loadCtaIndex(UnitLowering &unit, IRBuilder<> &b, unsigned dimension) {
  return Builder(unit, b).kept(SlotWords::kCtaId + 4 * dimension, 32);
}

Value *loadClusterRank(UnitLowering &unit, IRBuilder<> &b) {
  return Builder(unit, b).kept(SlotWords::kRank, 32);
}

// ---------- barrier.cluster

void arriveAtCluster(UnitLowering &unit, IRBuilder<> &b, Value *wave, unsigned late) {
  Builder c(unit, b);
  Value *mask = c.activeMask(), *isFirst = c.isFirstActive(), *isFirstOfWarp = isFirst;
  if (unit.target.isPacked)
    isFirstOfWarp = c.isFirstOfWarp(mask);
  // The phase cannot end before the wave has arrived.
  Value *barrier = c.barrier();
  Value *phase = c.narrow(b.CreateLShr(c.load(barrier, c.agent, 64), abi::kBarrierPhase));
  Value *next = b.CreateAdd(c.firstLane(phase), b.getInt32(1));
  Value *before = c.firstLane(c.load(c.arrivedLanesOf(wave), c.workgroup, 64));
  // All of them have arrived in the phase before, and no others of the wave in this one. The lanes
  // go together: those that went on alone would wait before the first one reports.
  Value *last = c.firstLane(c.load(c.nextPhaseOf(wave), c.workgroup));
  Value *isLate = b.CreateOr(b.CreateICmpEQ(last, next),
                             b.CreateIsNotNull(b.CreateAnd(mask, b.CreateNot(before))));
  BasicBlock *trap = c.block("cluster.late"), *inTime = c.block("cluster.in.time");
  b.CreateCondBr(isLate, trap, inTime);
  b.SetInsertPoint(trap);
  emitTrap(b, unit, abi::TrapReason::NeedsIndependentScheduling, late);
  b.CreateUnreachable();

  b.SetInsertPoint(inTime);
  // Each warp tells what it has done, and the first lane of the wave takes all to the cluster.
  BasicBlock *told = c.enterIf(isFirstOfWarp, "cluster.tell");
  Value *upper = unit.target.isPacked ? b.CreateLShr(c.lane(), 5) : b.getInt32(0);
  Value *half = c.narrow(b.CreateLShr(mask, c.wide(b.CreateShl(upper, 5))));
  c.store(half, b.CreateGEP(b.getInt32Ty(), c.arrivedLanesOf(wave), upper), c.workgroup);
  c.goOn(told);
  BasicBlock *behind = c.enterIf(isFirst, "cluster.arrive");
  if (unit.target.isPacked)
    c.load(c.arrivedLanesOf(wave), c.workgroup, 64);
  c.store(next, c.nextPhaseOf(wave), c.workgroup);
  c.change(barrier, [&](Value *word) {
    Value *arrived = b.CreateAdd(c.bits(word, abi::kBarrierArrived, 16), b.getInt32(1));
    return c.barrierWith(word, c.bits(word, abi::kBarrierLive, 16), arrived);
  });
  c.goOn(behind);
}

Value *isClusterPhaseOver(UnitLowering &unit, IRBuilder<> &b, Value *wave, Value *lane) {
  Builder c(unit, b);
  Value *arrived = c.load(c.arrivedLanesOf(wave), c.workgroup, 64);
  Value *hasArrived =
      b.CreateTrunc(b.CreateLShr(arrived, b.CreateAnd(c.wide(lane), 63)), b.getInt1Ty());
  Value *now = c.narrow(b.CreateLShr(c.load(c.barrier(), c.agent, 64), abi::kBarrierPhase));
  Value *next = c.load(c.nextPhaseOf(wave), c.workgroup);
  // Else what the lane has arrived in is an earlier phase.
  Value *isInThis = b.CreateAnd(b.CreateICmpEQ(next, b.CreateAdd(now, b.getInt32(1))), hasArrived);
  return b.CreateNot(isInThis);
}

} // namespace rubia::lowering
