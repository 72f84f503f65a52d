// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk, cp.reduce.async.bulk, st.async and red.async: copies and reductions of many bytes
// that one thread starts. PTX ISA: data-movement-and-conversion-instructions-cp-async-bulk.
//
// They are done at once: from global memory to LDS by all lanes of the warp (WholeWaveCopies.h),
// else by the thread that starts them. What waits for them, an mbarrier's tx-count or a group, is
// told when they are done; bulk groups need no attention.
#include "lowering/lib/asynchronous/BulkCopies.h"
#include "lowering/lib/asynchronous/Mbarriers.h"
#include "lowering/lib/asynchronous/WholeWaveCopies.h"
#include "lowering/lib/frame/AsyncNotes.h"
#include "lowering/lib/frame/LoweringFunctions.h"
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/Atomics.h"
#include "ptx-frontend/SpecialRegisters.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier CpMask, Global, MbarrierCompleteTxBytes, MulticastCluster;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

LoweringFunction lowerSt, lowerRed; // Memory.cpp, Atomics.cpp

constexpr unsigned kBulkUnit = 16; // addresses and sizes are multiples

void completeBytes(FunctionLowering &fn, const ptx::Instruction &inst, Value *mbarrier,
                   Value *bytes) {
  markAsync(fn.builder(), AsyncMark::HandedOver);
  MbarrierChange change;
  change.tx = fn.builder().CreateNeg(bytes);
  change.releases = true;
  changeMbarrier(fn, inst, mbarrier, change);
}

void needExplicitCluster(FunctionLowering &fn, const ptx::Instruction &inst) {
  // The attribute is the kernel's, also where one of its functions asks.
  for (const ptx::Function *kernel : fn.unit().unit.kernels)
    if (kernel->attributes.explicitCluster || kernel->attributes.requiredCluster[0])
      return;
  Value *given = fn.specialRegister(ptx::SpecialRegister::IsExplicitCluster, 0xff);
  failIf(fn, inst, fn.builder().CreateNot(given), abi::TrapReason::IllegalInstruction,
         "the kernel is launched without a cluster");
}

void forEachStep(FunctionLowering &fn, Value *end, unsigned step,
                 function_ref<void(Value *offset)> body) {
  IRBuilder<> &b = fn.builder();
  BasicBlock *before = b.GetInsertBlock(), *head = fn.newBlock("bulk.next"),
             *inside = fn.newBlock("bulk.step"), *done = fn.newBlock("bulk.done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  PHINode *offset = b.CreatePHI(b.getInt32Ty(), 2);
  offset->addIncoming(b.getInt32(0), before);
  b.CreateCondBr(b.CreateICmpULT(offset, end), inside, done);
  b.SetInsertPoint(inside);
  body(offset);
  offset->addIncoming(b.CreateAdd(offset, b.getInt32(step)), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
}

namespace {

// The operands of a bulk copy: [d], [a], size{, [mbar]}{, mask}.
struct Bulk {
  Value *to = nullptr, *from = nullptr, *bytes = nullptr, *mbarrier = nullptr;
};

std::optional<Bulk> bulkOf(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  // The first space is the destination's.
  const bool toShared = spelling.space() == ptx::StateSpace::Shared;
  const bool fromShared = !spelling.has(ptx::Mod::Global) || !toShared;
  Bulk bulk;
  bulk.to =
      fn.pointer(inst.operands[0], toShared ? ptx::StateSpace::Shared : ptx::StateSpace::Global);
  bulk.from =
      fn.pointer(inst.operands[1], fromShared ? ptx::StateSpace::Shared : ptx::StateSpace::Global);
  if (!bulk.to || !bulk.from)
    return std::nullopt;
  // The front end has looked at constants. Of others the H100 takes whole units.
  bulk.bytes = fn.builder().CreateAnd(fn.source(2), ~(kBulkUnit - 1));
  if (spelling.has(ptx::Mod::MbarrierCompleteTxBytes)) {
    bulk.mbarrier = fn.pointer(inst.operands[3], ptx::StateSpace::Shared);
    if (!bulk.mbarrier)
      return std::nullopt;
  }
  if (toShared && fromShared)
    needExplicitCluster(fn, inst);
  failIfMisaligned(fn, inst, bulk.to, kBulkUnit);
  failIfMisaligned(fn, inst, bulk.from, kBulkUnit);
  return bulk;
}

Value *at(IRBuilder<> &b, Value *base, Value *offset) {
  return b.CreateGEP(b.getInt8Ty(), base, b.CreateZExt(offset, b.getInt64Ty()));
}

// Copies whole units to shared memory, some at once so that the reads overlap. The stores are
// marked, which a memcpy's would not be.
void copyToShared(FunctionLowering &fn, const Bulk &bulk) {
  constexpr unsigned kAtOnce = 8;
  IRBuilder<> &b = fn.builder();
  auto *unit = FixedVectorType::get(b.getInt32Ty(), kBulkUnit / 4);
  auto move = [&](Value *offset, unsigned count) {
    SmallVector<Value *, kAtOnce> units;
    Value *from = at(b, bulk.from, offset), *to = at(b, bulk.to, offset);
    auto place = [&](Value *base, unsigned i) { return b.CreateConstGEP1_64(unit, base, i); };
    for (unsigned i = 0; i < count; ++i)
      units.push_back(b.CreateAlignedLoad(unit, place(from, i), Align(kBulkUnit)));
    for (unsigned i = 0; i < count; ++i)
      markAsyncStore(b.CreateAlignedStore(units[i], place(to, i), Align(kBulkUnit)));
  };
  Value *most = b.CreateAnd(bulk.bytes, ~(kAtOnce * kBulkUnit - 1));
  forEachStep(fn, most, kAtOnce * kBulkUnit, [&](Value *offset) { move(offset, kAtOnce); });
  forEachStep(fn, b.CreateSub(bulk.bytes, most), kBulkUnit,
              [&](Value *offset) { move(b.CreateAdd(most, offset), 1); });
}

// Of each 16 bytes those that have a bit in the mask.
void copyMasked(FunctionLowering &fn, const Bulk &bulk, Value *mask) {
  IRBuilder<> &b = fn.builder();
  mask = b.CreateZExt(mask, b.getInt32Ty());
  forEachStep(fn, bulk.bytes, 1, [&](Value *offset) {
    BasicBlock *copy = fn.newBlock("bulk.byte"), *next = fn.newBlock("bulk.other");
    Value *bit = b.CreateLShr(mask, b.CreateAnd(offset, kBulkUnit - 1));
    b.CreateCondBr(b.CreateTrunc(bit, b.getInt1Ty()), copy, next);
    b.SetInsertPoint(copy);
    Value *byte = b.CreateFreeze(b.CreateLoad(b.getInt8Ty(), at(b, bulk.from, offset)));
    b.CreateStore(byte, at(b, bulk.to, offset));
    b.CreateBr(next);
    b.SetInsertPoint(next);
  });
}

} // namespace

Value *shifted(FunctionLowering &fn, Value *pointer, Value *shift) {
  return shift ? fn.builder().CreateGEP(fn.builder().getInt8Ty(), pointer, shift) : pointer;
}

void forEachCta(FunctionLowering &fn, Value *mask, function_ref<void(Value *shift)> copy) {
  IRBuilder<> &b = fn.builder();
  BasicBlock *before = b.GetInsertBlock(), *head = fn.newBlock("multicast.next"),
             *inside = fn.newBlock("multicast.cta"), *done = fn.newBlock("multicast.done");
  Value *own = fn.clusterRank();
  b.CreateBr(head);
  b.SetInsertPoint(head);
  PHINode *left = b.CreatePHI(b.getInt32Ty(), 2);
  left->addIncoming(mask, before);
  b.CreateCondBr(b.CreateICmpNE(left, b.getInt32(0)), inside, done);
  b.SetInsertPoint(inside);
  Value *rank = b.CreateBinaryIntrinsic(Intrinsic::cttz, left, b.getFalse());
  Value *slots = b.CreateSExt(b.CreateSub(rank, own), b.getInt64Ty());
  copy(b.CreateMul(slots, b.getInt64(abi::kSharedSlotBytes)));
  left->addIncoming(b.CreateAnd(left, b.CreateSub(left, b.getInt32(1))), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
}

void inMulticast(FunctionLowering &fn, const ptx::Instruction &inst, unsigned maskOperand,
                 function_ref<void(Value *shift)> copy) {
  if (!inst.spelling->has(ptx::Mod::MulticastCluster))
    return copy(nullptr);
  IRBuilder<> &b = fn.builder();
  Value *mask = fn.read(inst.operands[maskOperand], ptx::Type::U16);
  if (fn.unit().isForClusters()) {
    Value *wide = b.CreateZExt(mask, b.getInt32Ty());
    Value *ctas = fn.specialRegister(ptx::SpecialRegister::ClusterNCtaRank, 0xff);
    failIf(fn, inst, b.CreateICmpNE(b.CreateLShr(wide, b.CreateAnd(ctas, 31)), b.getInt32(0)),
           abi::TrapReason::IllegalInstruction, "the cluster has no such CTA");
    return forEachCta(fn, wide, copy);
  }
  BasicBlock *here = fn.newBlock("multicast.here"), *next = fn.newBlock("multicast.next");
  failIf(fn, inst, b.CreateICmpUGT(mask, ConstantInt::get(mask->getType(), 1)),
         abi::TrapReason::IllegalInstruction, "the cluster has no such CTA");
  b.CreateCondBr(b.CreateTrunc(mask, b.getInt1Ty()), here, next);
  b.SetInsertPoint(here);
  copy(nullptr);
  b.CreateBr(next);
  b.SetInsertPoint(next);
}

// cp.async.bulk.shared::(cta|cluster).global.mbarrier::complete_tx::bytes{.multicast::cluster}
//   [d], [a], size, [mbar]{, mask}
// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [d], [a], size, [mbar]
// cp.async.bulk.global.shared::cta.bulk_group{.cp_mask} [d], [a], size{, mask}
Expected<Value *> lowerCpAsyncBulk(FunctionLowering &fn, const ptx::Instruction &inst) {
  std::optional<Bulk> bulk = bulkOf(fn, inst);
  if (!bulk)
    return nullptr;
  if (inst.spelling->has(ptx::Mod::CpMask)) {
    copyMasked(fn, *bulk, fn.read(inst.operands.back(), ptx::Type::U16));
    return nullptr;
  }
  inMulticast(fn, inst, 4, [&](Value *shift) {
    if (!bulk->mbarrier) {
      fn.builder().CreateMemCpy(bulk->to, Align(kBulkUnit), bulk->from, Align(kBulkUnit),
                                bulk->bytes);
      return;
    }
    const bool fromGlobal = inst.spelling->has(ptx::Mod::Global);
    Bulk part = *bulk;
    part.to = shifted(fn, bulk->to, shift);
    if (fromGlobal && !fn.unit().sharedInMemory())
      copyByWholeWave(fn, fn.sharedAddress(bulk->to),
                      fn.builder().CreatePtrToInt(bulk->from, fn.builder().getInt64Ty()),
                      bulk->bytes);
    else
      copyToShared(fn, part);
    completeBytes(fn, inst, shifted(fn, bulk->mbarrier, shift), bulk->bytes);
  });
  return nullptr;
}

// cp.async.bulk.prefetch.L2.global [a], size: a hint
Expected<Value *> lowerCpAsyncBulkPrefetch(FunctionLowering &, const ptx::Instruction &) {
  return nullptr;
}

// cp.async.bulk.commit_group; cp.async.bulk.wait_group{.read} n   All copies are done already.
Expected<Value *> lowerCpAsyncBulkCommitGroup(FunctionLowering &, const ptx::Instruction &) {
  return nullptr;
}
Expected<Value *> lowerCpAsyncBulkWaitGroup(FunctionLowering &, const ptx::Instruction &) {
  return nullptr;
}

// cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type
//   [d], [a], size, [mbar]
// cp.reduce.async.bulk.global.shared::cta.bulk_group.op{.noftz}.type [d], [a], size
// Each element is a relaxed atomic operation of its own.
Expected<Value *> lowerCpReduceAsyncBulk(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  std::optional<Bulk> bulk = bulkOf(fn, inst);
  if (!bulk)
    return nullptr;
  IRBuilder<> &b = fn.builder();
  const ptx::Type type = spelling.type();
  const unsigned bytes = ptx::sizeInBits(type) / 8;
  forEachStep(fn, bulk->bytes, bytes, [&](Value *offset) {
    Value *operand = b.CreateFreeze(
        b.CreateAlignedLoad(fn.typeOf(type), at(b, bulk->from, offset), Align(bytes)));
    reduceElement(fn, inst, at(b, bulk->to, offset), bulk->mbarrier != nullptr,
                  reductionOf(spelling), type, operand);
  });
  if (bulk->mbarrier)
    completeBytes(fn, inst, bulk->mbarrier, bulk->bytes);
  return nullptr;
}

// st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar]
Expected<Value *> storeAndComplete(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  IRBuilder<> &b = fn.builder();
  Value *to = fn.pointer(inst.operands[0], ptx::StateSpace::Shared);
  Value *mbarrier = fn.pointer(inst.operands[2], ptx::StateSpace::Shared);
  if (!to || !mbarrier)
    return nullptr;
  needExplicitCluster(fn, inst);
  const ptx::Type type = spelling.type();
  const unsigned count = std::max(spelling.vectorWidth(), 1u),
                 bytes = ptx::sizeInBits(type) / 8 * count;
  auto sources = fn.elementsOf(inst.operands[1], count);
  if (sources.size() != count)
    return fn.malformed(inst, "as many sources as elements are needed");
  IntegerType *element = fn.intType(ptx::sizeInBits(type));
  Value *value = PoisonValue::get(FixedVectorType::get(element, count));
  for (auto [i, source] : enumerate(sources))
    value = b.CreateInsertElement(value, b.CreateBitCast(fn.read(source, type), element), i);
  failIfMisaligned(fn, inst, to, bytes);
  markAsyncStore(b.CreateAlignedStore(value, to, Align(bytes)));
  completeBytes(fn, inst, mbarrier, b.getInt32(bytes));
  return nullptr;
}

// red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]
Expected<Value *> reduceAndComplete(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Type type = inst.spelling->type();
  Value *to = fn.pointer(inst.operands[0], ptx::StateSpace::Shared);
  Value *mbarrier = fn.pointer(inst.operands[2], ptx::StateSpace::Shared);
  if (!to || !mbarrier)
    return nullptr;
  needExplicitCluster(fn, inst);
  const unsigned bytes = ptx::sizeInBits(type) / 8;
  failIfMisaligned(fn, inst, to, bytes);
  reduceElement(fn, inst, to, /*isShared=*/true, reductionOf(*inst.spelling), type,
                fn.read(inst.operands[1], type));
  completeBytes(fn, inst, mbarrier, fn.builder().getInt32(bytes));
  return nullptr;
}

// st.async{.mmio}.release.scope{.global}.type [a], b: a store of which nothing says when it is
// done.
Expected<Value *> lowerStAsync(FunctionLowering &fn, const ptx::Instruction &inst) {
  if (inst.spelling->has(ptx::Mod::MbarrierCompleteTxBytes))
    return storeAndComplete(fn, inst);
  return lowerSt(fn, inst);
}

// red.async{.mmio}.release.scope{.global}.add.type [a], b: of which nothing says when it is done.
Expected<Value *> lowerRedAsync(FunctionLowering &fn, const ptx::Instruction &inst) {
  if (inst.spelling->has(ptx::Mod::MbarrierCompleteTxBytes))
    return reduceAndComplete(fn, inst);
  return lowerRed(fn, inst);
}

} // namespace rubia::lowering
