// SPDX-License-Identifier: Apache-2.0
// In wave32 and in the packed form the workgroup is the CTA, and the hardware deals its threads to
// waves in the order that PTX deals them to warps. In the half-filled form the workgroup is
// one-dimensional and each wave64 carries one warp in its lower half, so that a thread's place in
// the CTA has to be computed: its linear index from the hardware's id, and %tid from that by
// division.
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/ClusterSlots.h"
#include "lowering/lib/frame/SharedSlot.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include <cstddef>

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact trapMayDoNothing;
} // namespace rubia::targets::Fact

namespace rubia::lowering {

Value *LaunchState::id(Intrinsic::ID intrinsic) {
  Value *&value = ids[intrinsic];
  if (!value)
    value = builder.CreateIntrinsic(builder.getInt32Ty(), intrinsic, {});
  return value;
}

Value *LaunchState::start() {
  if (arguments)
    return arguments;
  Function &self = *builder.GetInsertBlock()->getParent();
  if (function && function->isKernel)
    return arguments = builder.CreateConstGEP1_64(
               builder.getInt8Ty(), self.getArg(0),
               abi::launchArgumentsOffset(layoutOf(*function).sizeInBytes));
  Value *hidden = builder.CreateIntrinsic(builder.getPtrTy(kConstantSpace),
                                          Intrinsic::amdgcn_implicitarg_ptr, {});
  return arguments = builder.CreateConstGEP1_64(builder.getInt8Ty(), hidden,
                                                -int64_t(sizeof(abi::LaunchArguments)));
}

Value *LaunchState::argument(size_t offset, unsigned bits) {
  Value *&value = fields[unsigned(offset)];
  if (value)
    return value;
  Value *place = builder.CreateConstGEP1_64(builder.getInt8Ty(), start(), offset);
  LoadInst *load =
      builder.CreateAlignedLoad(builder.getIntNTy(bits), place, Align(bits == 64 ? 8 : 4));
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(builder.getContext(), {}));
  return value = load;
}

// They end where the launch arguments start, but for what aligns these.
std::pair<Value *, Value *> LaunchState::parameters() {
  Value *flags = argument(offsetof(abi::LaunchArguments, flags), 32);
  Value *size =
      builder.CreateZExt(builder.CreateLShr(flags, abi::kParameterSizeShift), builder.getInt64Ty());
  Value *aligned = builder.CreateAnd(builder.CreateAdd(size, builder.getInt64(7)), ~uint64_t(7));
  Value *end = builder.CreatePtrToInt(start(), builder.getInt64Ty());
  return {builder.CreateSub(end, aligned), size};
}

Value *LaunchState::ctaSize(unsigned dimension) {
  if (function && function->attributes.requiredThreads[0])
    return builder.getInt32(std::max(function->attributes.requiredThreads[dimension], 1u));
  return argument(offsetof(abi::LaunchArguments, ntid) + 4 * dimension, 32);
}

Value *LaunchState::gridSize(unsigned dimension) {
  return argument(offsetof(abi::LaunchArguments, nctaid) + 4 * dimension, 32);
}

Value *LaunchState::ctaIndex(unsigned dimension) {
  if (!unit.isForClusters())
    return workgroupIndex(dimension);
  Value *&index = ctaIndexes[dimension];
  if (!index)
    index = loadCtaIndex(unit, builder, dimension);
  return index;
}

Value *LaunchState::indexInCluster(unsigned dimension) {
  if (!unit.isForClusters())
    return builder.getInt32(0);
  return builder.CreateURem(ctaIndex(dimension), clusterSize(dimension));
}

Value *LaunchState::clusterIndex(unsigned dimension) {
  if (!unit.isForClusters())
    return ctaIndex(dimension);
  return builder.CreateUDiv(ctaIndex(dimension), clusterSize(dimension));
}

Value *LaunchState::clustersInGrid(unsigned dimension) {
  if (!unit.isForClusters())
    return gridSize(dimension);
  return builder.CreateUDiv(gridSize(dimension), clusterSize(dimension));
}

// What a launch without clusters gives is 0.
Value *LaunchState::clusterSize(unsigned dimension) {
  if (!unit.isForClusters())
    return builder.getInt32(1);
  Value *sizes = argument(offsetof(abi::LaunchArguments, cluster), 32);
  Value *size = builder.CreateAnd(builder.CreateLShr(sizes, 8 * dimension), 0xff);
  return builder.CreateBinaryIntrinsic(Intrinsic::umax, size, builder.getInt32(1));
}

Value *LaunchState::clusterCtas() {
  return builder.CreateMul(builder.CreateMul(clusterSize(0), clusterSize(1)), clusterSize(2));
}

Value *LaunchState::workgroupIndex(unsigned dimension) {
  constexpr Intrinsic::ID kIds[] = {Intrinsic::amdgcn_workgroup_id_x,
                                    Intrinsic::amdgcn_workgroup_id_y,
                                    Intrinsic::amdgcn_workgroup_id_z};
  return id(kIds[dimension]);
}

// mbcnt_lo counts the lanes below this one among the first 32, mbcnt_hi among the others: there are
// no others but in the packed form.
Value *LaunchState::laneInWave() {
  if (waveLane)
    return waveLane;
  auto count = [&](Intrinsic::ID intrinsic, Value *base, unsigned limit) {
    CallInst *call =
        builder.CreateIntrinsic(builder.getInt32Ty(), intrinsic, {builder.getInt32(~0u), base});
    call->addRangeRetAttr(ConstantRange(APInt(32, 0), APInt(32, limit)));
    return call;
  };
  if (!unit.target.isPacked)
    return waveLane = count(Intrinsic::amdgcn_mbcnt_lo, builder.getInt32(0), 32);
  return waveLane = count(Intrinsic::amdgcn_mbcnt_hi,
                          count(Intrinsic::amdgcn_mbcnt_lo, builder.getInt32(0), 33), 64);
}

Value *LaunchState::laneIndex() {
  if (!lane)
    lane = unit.target.isPacked ? builder.CreateAnd(laneInWave(), 31) : laneInWave();
  return lane;
}

Value *LaunchState::isUpperWarp() {
  if (!upper)
    upper = unit.target.isPacked ? builder.CreateICmpUGE(laneInWave(), builder.getInt32(32))
                                 : builder.getFalse();
  return upper;
}

Value *LaunchState::linearThreadIndex() {
  if (linear)
    return linear;
  if (unit.target.halfFilled()) {
    Value *x = id(Intrinsic::amdgcn_workitem_id_x);
    Value *warp = builder.CreateShl(builder.CreateLShr(x, 6), 5);
    return linear = builder.CreateAdd(warp, builder.CreateAnd(x, 63));
  }
  Value *row = builder.CreateAdd(threadIndex(1), builder.CreateMul(threadIndex(2), ctaSize(1)));
  return linear = builder.CreateAdd(threadIndex(0), builder.CreateMul(row, ctaSize(0)));
}

Value *LaunchState::threadCount() {
  return builder.CreateMul(builder.CreateMul(ctaSize(0), ctaSize(1)), ctaSize(2));
}

Value *LaunchState::isThread() {
  Value *lowerHalf = builder.CreateICmpULT(
      builder.CreateAnd(id(Intrinsic::amdgcn_workitem_id_x), 63), builder.getInt32(32));
  return builder.CreateAnd(lowerHalf, builder.CreateICmpULT(linearThreadIndex(), threadCount()));
}

Value *LaunchState::waveIndex() {
  if (!wave)
    wave = unit.target.halfFilled()
               ? builder.CreateLShr(id(Intrinsic::amdgcn_workitem_id_x), 6)
               : builder.CreateLShr(linearThreadIndex(), unit.target.waveSize == 64 ? 6 : 5);
  return wave;
}

Value *LaunchState::isFirstThread() {
  Value *any = builder.CreateOr(
      id(Intrinsic::amdgcn_workitem_id_x),
      builder.CreateOr(id(Intrinsic::amdgcn_workitem_id_y), id(Intrinsic::amdgcn_workitem_id_z)));
  return builder.CreateICmpEQ(any, builder.getInt32(0));
}

Value *LaunchState::nonZero(Value *value) {
  if (isa<ConstantInt>(value))
    return value;
  return builder.CreateBinaryIntrinsic(Intrinsic::umax, builder.CreateFreeze(value),
                                       builder.getInt32(1));
}

Value *LaunchState::threadIndex(unsigned dimension) {
  if (!unit.target.halfFilled()) {
    constexpr Intrinsic::ID kIds[] = {Intrinsic::amdgcn_workitem_id_x,
                                      Intrinsic::amdgcn_workitem_id_y,
                                      Intrinsic::amdgcn_workitem_id_z};
    return id(kIds[dimension]);
  }
  if (Value *known = threadIndexes.lookup(dimension))
    return known;
  Value *row = builder.CreateUDiv(linearThreadIndex(), nonZero(ctaSize(0)));
  threadIndexes[0] = builder.CreateSub(linear, builder.CreateMul(row, ctaSize(0)));
  if (dimension == 0)
    return threadIndexes[0];
  Value *plane = builder.CreateUDiv(row, nonZero(ctaSize(1)));
  threadIndexes[1] = builder.CreateSub(row, builder.CreateMul(plane, ctaSize(1)));
  return threadIndexes[2] = plane, threadIndexes[dimension];
}

void emitTrap(IRBuilder<> &builder, UnitLowering &unit, abi::TrapReason reason, unsigned place) {
  emitTrapOf(builder, unit, reason, builder.getInt32(place));
}

// Claims the record and says why and where. The builder goes on where that is done. Where others of
// the wave have values that are needed afterwards, one field after the other is stored: LLVM would
// join them to vectors, which take eight registers more.
static void reportTrap(IRBuilder<> &builder, UnitLowering &unit, Value *reason, Value *place,
                       bool isInPlace) {
  LLVMContext &context = builder.getContext();
  Function *function = builder.GetInsertBlock()->getParent();
  BasicBlock *claim = BasicBlock::Create(context, "trap.claim", function);
  BasicBlock *report = BasicBlock::Create(context, "trap.report", function);
  BasicBlock *end = BasicBlock::Create(context, "trap.end", function);

  Value *address = unit.loadModuleTable(builder, abi::kTrapRecordSlot);
  builder.CreateCondBr(builder.CreateICmpNE(address, builder.getInt64(0)), claim, end);

  builder.SetInsertPoint(claim);
  Value *record = builder.CreateIntToPtr(address, builder.getPtrTy(kGlobalSpace));
  auto *exchange = builder.CreateAtomicCmpXchg(record, builder.getInt32(0), builder.getInt32(1),
                                               Align(4), AtomicOrdering::Monotonic,
                                               AtomicOrdering::Monotonic, SyncScope::System);
  builder.CreateCondBr(builder.CreateExtractValue(exchange, 1), report, end);

  builder.SetInsertPoint(report);
  auto store = [&](size_t offset, Value *value) {
    StoreInst *stored = builder.CreateAlignedStore(
        value, builder.CreateConstGEP1_64(builder.getInt8Ty(), record, offset), Align(4));
    if (isInPlace)
      stored->setAtomic(AtomicOrdering::Monotonic, SyncScope::SingleThread);
  };
  LaunchState launch(unit, nullptr, builder);
  store(offsetof(abi::TrapRecord, reason), reason);
  store(offsetof(abi::TrapRecord, place), place);
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    store(offsetof(abi::TrapRecord, ctaid) + 4 * dimension, launch.ctaIndex(dimension));
    store(offsetof(abi::TrapRecord, tid) + 4 * dimension, launch.threadIndex(dimension));
  }
  // The record has to be in memory before the wave dies.
  builder.CreateFence(AtomicOrdering::Release, SyncScope::System);
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
}

void emitTrapOf(IRBuilder<> &builder, UnitLowering &unit, Value *reason, Value *place) {
  reportTrap(builder, unit, reason, place, /*isInPlace=*/false);
  builder.CreateIntrinsic(builder.getVoidTy(), Intrinsic::trap, {});
}

void emitTrapOf(IRBuilder<> &builder, UnitLowering &unit, abi::TrapReason reason, Value *place) {
  Value *number = builder.getInt32(uint32_t(reason));
  if (reason != abi::TrapReason::Assertion)
    return emitTrapOf(builder, unit, number, place);
  reportTrap(builder, unit, number, place, /*isInPlace=*/false);
  // A failed assertion ends its wave alone, as on NVIDIA's GPUs its warp: others may have something
  // to say.
  if (unit.sharedInMemory())
    loseWave(unit, builder, LaunchState(unit, nullptr, builder).waveIndex());
  builder.CreateIntrinsic(builder.getVoidTy(), Intrinsic::amdgcn_endpgm, {});
}

// Where s_trap may do nothing, what its handler does, and LLVM's SIMULATED_TRAP (errata E32): tells
// the queue by an interrupt that the wave has aborted, and halts. Only a privileged wave comes
// here, which may write ttmp2. As it does not return, nobody misses scc. Saying that it is written
// would cost some milliseconds: LLVM compares a register's name with those of all classes.
static const char *const kTrapWhereItMayDoNothing =
    "s_trap 2\n"
    "s_sendmsg_rtn_b32 $0, sendmsg(MSG_RTN_GET_DOORBELL)\n"
    "s_mov_b32 ttmp2, m0\n"
    "s_waitcnt lgkmcnt(0)\n"
    "s_and_b32 $0, $0, 0x3ff\n"
    "s_bitset1_b32 $0, 10\n"
    "s_mov_b32 m0, $0\n"
    "s_sendmsg sendmsg(MSG_INTERRUPT)\n"
    "s_mov_b32 m0, ttmp2\n"
    ".Lrubia_halt_${:uid}:\n"
    "s_sethalt 5\n"
    "s_branch .Lrubia_halt_${:uid}";

// LLVM knows that nothing follows llvm.trap().
void emitTrapInPlace(IRBuilder<> &builder, UnitLowering &unit, Value *reason, Value *place) {
  reportTrap(builder, unit, reason, place, /*isInPlace=*/true);
  const bool mayDoNothing = targets::Fact::trapMayDoNothing(*unit.target.row);
  auto *type = FunctionType::get(mayDoNothing ? builder.getInt32Ty() : builder.getVoidTy(), false);
  InlineAsm *trap = mayDoNothing
                        ? InlineAsm::get(type, kTrapWhereItMayDoNothing, "=&s,~{memory}",
                                         /*hasSideEffects=*/true)
                        : InlineAsm::get(type, "s_trap 2", "~{memory}", /*hasSideEffects=*/true);
  builder.CreateCall(trap)->addFnAttr(Attribute::Convergent);
}

} // namespace rubia::lowering
