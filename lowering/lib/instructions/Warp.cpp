// SPDX-License-Identifier: Apache-2.0
// What the threads of a warp do together: shfl, vote, match, redux, elect, activemask,
// bar.warp.sync.
//
// In wave32 and in the half-filled form (docs/architecture.md, "Warp forms") a warp's threads are
// the lanes 0 to 31 of a wave, of which the upper half has ended if it has 64. In the packed form
// each half of a wave is a warp; lane numbers and masks are those of the half.
//
// Lanes that are not active at an instruction take no part in it, whatever membermask says: AMD's
// lanes do not wait for each other. docs/synchronization.md, "Warps".
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/frame/AsyncNotes.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/LaneExchange.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::settings::MaskMode {
extern const Word Checked;
} // namespace rubia::settings::MaskMode
namespace rubia::ptx::Mod {
extern const Modifier Abs, Add, All, And, Any, Ballot, Bfly, Down, Idx, Min, NaN, Or, Sync, Uni, Up,
    Xor;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// 32 if there is none: where a lane executes what it is no member of.
static Value *lowestLane(FunctionLowering &fn, Value *mask) {
  return fn.builder().CreateBinaryIntrinsic(Intrinsic::cttz, mask, fn.builder().getFalse());
}

// Repeats a step for each value that `key` has among the active lanes, with the lanes that have it
// (`isTurn`): the result of a lane's own turn. The step is executed by all lanes that still wait
// for their turn.
static Value *forEachValue(FunctionLowering &fn, Value *key, Type *type,
                           function_ref<Value *(Value *isTurn)> step) {
  IRBuilder<> &b = fn.builder();
  BasicBlock *before = b.GetInsertBlock();
  BasicBlock *turn = fn.newBlock("turn"), *done = fn.newBlock("turns.done");
  b.CreateBr(turn);
  b.SetInsertPoint(turn);
  // A select, not an exit with the result: that would be taken by all lanes at once, after the
  // loop.
  PHINode *result = b.CreatePHI(type, 2);
  Value *first = b.CreateIntrinsic(Intrinsic::amdgcn_readfirstlane, {key->getType()}, {key});
  Value *isTurn = b.CreateICmpEQ(key, first);
  Value *next = b.CreateSelect(isTurn, step(isTurn), result);
  result->addIncoming(Constant::getNullValue(type), before);
  result->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(isTurn, done, turn);
  b.SetInsertPoint(done);
  return next;
}

// The number of the s_trap that the emulator reports as an invalid membermask (kMaskTrap of
// emulator/lib/machine/Wave.h).
static constexpr const char *kMaskTrap = "s_trap 77";

// With settings::MaskMode::Checked: reports threads that are not in their own membermask, or have
// another one than a thread in it that executes the instruction too: both are undefined in PTX.
// Members that are not here may have exited, or come later.
static void checkMembers(FunctionLowering &fn, Value *members) {
  if (!fn.options().code.is(settings::MaskMode::Checked))
    return;
  IRBuilder<> &b = fn.builder();
  members = b.CreateFreeze(members);
  Value *alike =
      forEachValue(fn, members, b.getInt32Ty(), [&](Value *isTurn) { return fn.ballot(isTurn); });
  Value *others = b.CreateAnd(b.CreateAnd(members, fn.ballot(b.getTrue())), b.CreateNot(alike));
  Value *isMember = b.CreateTrunc(b.CreateLShr(members, fn.launch().laneIndex()), b.getInt1Ty());
  Value *isWrong = b.CreateOr(b.CreateNot(isMember), b.CreateIsNotNull(others));
  BasicBlock *wrong = fn.newBlock("mask.invalid"), *right = fn.newBlock("mask.valid");
  b.CreateCondBr(isWrong, wrong, right);
  b.SetInsertPoint(wrong);
  b.CreateCall(InlineAsm::get(FunctionType::get(b.getVoidTy(), false), kMaskTrap, "", true));
  b.CreateBr(right);
  b.SetInsertPoint(right);
}

// ---------- shfl

namespace {

// shfl{.sync}.mode.b32 d{|p}, a, b, c{, membermask}; c is clamp | segment mask << 8.
struct Shuffle {
  ptx::Modifier mode;
  std::optional<uint64_t> offset, control; // b and c if they are constant

  unsigned segment() const { return unsigned(*control >> 8 & 31); }
  // No lane is kept from its source by the clamp but at the warp's end.
  bool hasFullSegments() const { return (*control & 31) == (mode == ptx::Mod::Up ? 0 : 31); }
};

// The values of the source lanes, where those are in range, without an address; null if it needs
// one.
Value *exchangeByPattern(FunctionLowering &fn, const Shuffle &shuffle, Value *value) {
  if (!shuffle.offset || !shuffle.control)
    return nullptr;
  unsigned offset = unsigned(*shuffle.offset & 31);
  if (shuffle.mode == ptx::Mod::Bfly)
    return offset ? exchangeByXor(fn, value, offset) : value;
  if (shuffle.mode == ptx::Mod::Up)
    return offset ? shiftLanes(fn, value, -int(offset)) : value;
  if (shuffle.mode == ptx::Mod::Down)
    return offset ? shiftLanes(fn, value, int(offset)) : value;
  if (shuffle.mode == ptx::Mod::Idx) {
    unsigned inSegment = shuffle.segment() ^ 31;
    if (!isPowerOf2_32(inSegment + 1))
      return nullptr;
    return broadcastLane(fn, value, offset & inSegment, inSegment + 1);
  }
  return nullptr;
}

} // namespace

// shfl{.sync}.mode.b32 d{|p}, a, b, c{, membermask}
// PTX ISA: data-movement-and-conversion-instructions-shfl-sync. A source out of range leaves the
// thread its own value and makes p false. The result for a source lane that does not take part is
// undefined in PTX, so membermask needs no attention.
Expected<Value *> lowerShfl(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  if (inst.spelling->has(ptx::Mod::Sync))
    checkMembers(fn, fn.source(3));
  Value *value = fn.source(0);
  Value *lane = fn.launch().laneIndex();
  Value *offset = b.CreateAnd(fn.source(1), 31);
  Value *control = fn.source(2);
  Value *clamp = b.CreateAnd(control, 31);
  Value *segment = b.CreateAnd(b.CreateLShr(control, 8), 31);
  Value *inSegment = b.CreateXor(segment, 31);
  Value *first = b.CreateAnd(lane, segment);
  Value *limit = b.CreateOr(first, b.CreateAnd(clamp, inSegment));
  Shuffle shuffle{inst.spelling->first(ptx::ModCategory::Shuffle), fn.knownConstant(1),
                  fn.knownConstant(2)};

  Value *from;
  if (shuffle.mode == ptx::Mod::Up)
    from = b.CreateSub(lane, offset);
  else if (shuffle.mode == ptx::Mod::Down)
    from = b.CreateAdd(lane, offset);
  else if (shuffle.mode == ptx::Mod::Bfly)
    from = b.CreateXor(lane, offset);
  else if (shuffle.mode == ptx::Mod::Idx)
    from = b.CreateOr(first, b.CreateAnd(offset, inSegment));
  else
    return fn.malformed(inst, "a mode is needed");
  Value *inRange =
      shuffle.mode == ptx::Mod::Up ? b.CreateICmpSGE(from, limit) : b.CreateICmpSLE(from, limit);
  fn.setDestination(1, inRange);
  if (Value *exchanged = exchangeByPattern(fn, shuffle, value))
    return b.CreateSelect(inRange, exchanged, value);
  return pullFromLane(fn, value, b.CreateSelect(inRange, from, lane));
}

// ---------- vote, activemask, elect

// vote{.sync}.mode d, {!}a{, membermask}
// PTX ISA: parallel-synchronization-and-communication-instructions-vote-sync. Lanes outside
// membermask do not count.
Expected<Value *> lowerVote(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *condition = fn.source(0);
  Value *members = inst.spelling->has(ptx::Mod::Sync) ? fn.source(1) : b.getInt32(~0u);
  if (inst.spelling->has(ptx::Mod::Sync))
    checkMembers(fn, members);
  auto among = [&](Value *which) { return b.CreateAnd(fn.ballot(which), members); };
  auto none = [&](Value *mask) { return b.CreateICmpEQ(mask, b.getInt32(0)); };
  const ptx::Modifier mode = inst.spelling->first(ptx::ModCategory::Vote);
  if (mode == ptx::Mod::All)
    return none(among(b.CreateNot(condition)));
  if (mode == ptx::Mod::Any)
    return b.CreateNot(none(among(condition)));
  if (mode == ptx::Mod::Uni)
    return b.CreateOr(none(among(condition)), none(among(b.CreateNot(condition))));
  if (mode == ptx::Mod::Ballot)
    return among(condition);
  return fn.malformed(inst, "a mode is needed");
}

// activemask.b32 d   PTX ISA: parallel-synchronization-and-communication-instructions-activemask
Expected<Value *> lowerActivemask(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.ballot(fn.builder().getTrue());
}

// elect.sync d|p, membermask
// PTX ISA: parallel-synchronization-and-communication-instructions-elect-sync. Which lane is
// elected is not defined but always the same: the lowest, as on NVIDIA.
Expected<Value *> lowerElect(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  checkMembers(fn, fn.source(0));
  Value *leader = lowestLane(fn, b.CreateAnd(fn.ballot(b.getTrue()), fn.source(0)));
  fn.setDestination(1, b.CreateICmpEQ(leader, fn.launch().laneIndex()));
  return leader;
}

// ---------- match, redux

// match.any.sync.type d, a, membermask; match.all.sync.type d{|p}, a, membermask
// PTX ISA: parallel-synchronization-and-communication-instructions-match-sync
Expected<Value *> lowerMatch(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  // A register that was never written may be another value at each look.
  Value *value = b.CreateFreeze(fn.source(0)), *members = fn.source(1);
  checkMembers(fn, members);
  if (inst.spelling->has(ptx::Mod::Any))
    return b.CreateAnd(
        forEachValue(fn, value, b.getInt32Ty(), [&](Value *isTurn) { return fn.ballot(isTurn); }),
        members);

  Value *active = b.CreateAnd(fn.ballot(b.getTrue()), members);
  Value *leader = lowestLane(fn, active);
  Value *differs = b.getFalse();
  for (unsigned word = 0; word < value->getType()->getIntegerBitWidth() / 32; ++word) {
    Value *part = b.CreateTrunc(b.CreateLShr(value, 32 * word), b.getInt32Ty());
    differs = b.CreateOr(differs, b.CreateICmpNE(part, pullFromLane(fn, part, leader)));
  }
  Value *all = b.CreateICmpEQ(b.CreateAnd(fn.ballot(differs), members), b.getInt32(0));
  fn.setDestination(1, all);
  return b.CreateSelect(all, active, b.getInt32(0));
}

namespace {

struct Reduction {
  Value *(*combine)(IRBuilder<> &, Value *, Value *);
  uint32_t identity;
};

template <Intrinsic::ID kIntrinsic> Value *combineBy(IRBuilder<> &b, Value *one, Value *other) {
  return b.CreateBinaryIntrinsic(kIntrinsic, one, other);
}
template <Instruction::BinaryOps kOperation>
Value *combineWith(IRBuilder<> &b, Value *one, Value *other) {
  return b.CreateBinOp(kOperation, one, other);
}

Reduction reductionOf(const ptx::Spelling &spelling) {
  bool isSigned = spelling.type() == ptx::Type::S32;
  if (spelling.has(ptx::Mod::Add))
    return {combineWith<Instruction::Add>, 0};
  if (spelling.has(ptx::Mod::And))
    return {combineWith<Instruction::And>, ~0u};
  if (spelling.has(ptx::Mod::Or))
    return {combineWith<Instruction::Or>, 0};
  if (spelling.has(ptx::Mod::Xor))
    return {combineWith<Instruction::Xor>, 0};
  if (spelling.has(ptx::Mod::Min))
    return isSigned ? Reduction{combineBy<Intrinsic::smin>, 0x7fffffff}
                    : Reduction{combineBy<Intrinsic::umin>, ~0u};
  return isSigned ? Reduction{combineBy<Intrinsic::smax>, 0x80000000}
                  : Reduction{combineBy<Intrinsic::umax>, 0};
}

// Combines the values of the warp's active lanes; every lane gets the result. The lanes that are
// not active are given the identity, with EXEC all ones while values travel.
Value *reduceActive(FunctionLowering &fn, const Reduction &reduction, Value *value) {
  IRBuilder<> &b = fn.builder();
  value = b.CreateIntrinsic(Intrinsic::amdgcn_set_inactive, {value->getType()},
                            {value, b.getInt32(reduction.identity)});
  for (unsigned mask : {1, 2, 7, 15, 16}) // each combines groups twice as large
    value = reduction.combine(b, value, exchangeByXor(fn, value, mask));
  return b.CreateIntrinsic(Intrinsic::amdgcn_strict_wwm, {value->getType()}, {value});
}

// Floats as unsigned integers in the same order, -0 below +0, and back. NaN is the identity, or
// wins if it counts; ~0 is the NaN that NVIDIA gives.
struct OrderedFloat {
  bool isMin, nanCounts, absolute;

  uint32_t nanKey() const { return isMin == nanCounts ? 0 : ~0u; }
  Value *key(IRBuilder<> &b, Value *bits) const {
    Value *magnitude = b.CreateAnd(bits, 0x7fffffff);
    Value *isNan = b.CreateICmpUGT(magnitude, b.getInt32(0x7f800000));
    if (absolute)
      bits = magnitude;
    Value *ordered = b.CreateXor(bits, b.CreateOr(b.CreateAShr(bits, 31), 0x80000000));
    return b.CreateSelect(isNan, b.getInt32(nanKey()), ordered);
  }
  Value *bits(IRBuilder<> &b, Value *key) const {
    Value *bits = b.CreateXor(key, b.CreateOr(b.CreateNot(b.CreateAShr(key, 31)), 0x80000000));
    return b.CreateSelect(b.CreateICmpEQ(key, b.getInt32(nanKey())), b.getInt32(0x7fffffff), bits);
  }
};

} // namespace

// redux.sync.op.type d, a, membermask; redux.sync.op{.abs}{.NaN}.f32 d, a, membermask
// PTX ISA: parallel-synchronization-and-communication-instructions-redux-sync. Lanes with different
// masks form groups of their own.
Expected<Value *> lowerRedux(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  Reduction reduction = reductionOf(spelling);
  Value *value = b.CreateFreeze(fn.source(0, ptx::Type::B32)), *members = fn.source(1);
  checkMembers(fn, members);
  const bool isFloat = spelling.type() == ptx::Type::F32;
  OrderedFloat order{spelling.has(ptx::Mod::Min), spelling.has(ptx::Mod::NaN),
                     spelling.has(ptx::Mod::Abs)};
  if (isFloat)
    value = order.key(b, value);
  Value *result =
      fn.knownConstant(1)
          ? reduceActive(fn, reduction, value)
          : forEachValue(fn, b.CreateFreeze(members), b.getInt32Ty(), [&](Value *isTurn) {
              return reduceActive(fn, reduction,
                                  b.CreateSelect(isTurn, value, b.getInt32(reduction.identity)));
            });
  return isFloat ? order.bits(b, result) : result;
}

// ---------- bar.warp.sync

// bar.warp.sync membermask
// PTX ISA: parallel-synchronization-and-communication-instructions-bar-warp-sync. A wave executes
// in lockstep and its memory operations in order, so it only has to stop the compiler.
Expected<Value *> lowerBarWarpSync(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  checkMembers(fn, fn.source(0));
  SyncScope::ID wave = fn.context().getOrInsertSyncScopeID("wavefront");
  b.CreateFence(AtomicOrdering::Release, wave);
  const std::optional<uint64_t> members = fn.knownConstant(0);
  if (fn.options().code.is(settings::MaskMode::Checked) && (!members || uint32_t(*members) != ~0u))
    markPartOfWarp(b, fn.source(0));
  else
    b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  b.CreateFence(AtomicOrdering::Acquire, wave);
  return nullptr;
}

} // namespace rubia::lowering
