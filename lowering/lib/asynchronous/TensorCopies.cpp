// SPDX-License-Identifier: Apache-2.0
// Tensor copies and tensor maps. PTX ISA: data-movement-and-conversion-instructions-cp-async-bulk-
// tensor, -cp-reduce-async-bulk-tensor, -tensormap-replace, -tensormap-cp-fenceproxy.
//
// A tensor map says at run time what is copied, so that the copy is a device function
// (lowering/device/TensorCopies.h). It is done at once, by the thread that starts it.
#include "lowering/Abi.h"
#include "lowering/TensorMap.h"
#include "lowering/lib/asynchronous/BulkCopies.h"
#include "lowering/lib/frame/AsyncNotes.h"
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/MemoryModel.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Add, And, BoxDim, BulkGroup, Dec, ElementStride, Elemtype, FillMode,
    Geometry1d, Geometry2d, Geometry3d, Geometry4d, GlobalAddress, GlobalDim, GlobalStride, Im2col,
    Im2colNoOffs, Inc, InterleaveLayout, Max, Min, Or, Rank, SwizzleMode, Xor;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {

unsigned rankOf(const ptx::Spelling &spelling) {
  const ptx::Modifier geometry = spelling.first(ptx::ModCategory::Geometry);
  if (geometry == ptx::Mod::Geometry1d)
    return 1;
  if (geometry == ptx::Mod::Geometry2d)
    return 2;
  if (geometry == ptx::Mod::Geometry3d)
    return 3;
  if (geometry == ptx::Mod::Geometry4d)
    return 4;
  return 5;
}

uint32_t tensorReductionOf(const ptx::Spelling &spelling) {
  const std::pair<ptx::Modifier, abi::TensorReduction> kReductions[] = {
      {ptx::Mod::Add, abi::kAdd}, {ptx::Mod::Min, abi::kMin}, {ptx::Mod::Max, abi::kMax},
      {ptx::Mod::Inc, abi::kInc}, {ptx::Mod::Dec, abi::kDec}, {ptx::Mod::And, abi::kAnd},
      {ptx::Mod::Or, abi::kOr},   {ptx::Mod::Xor, abi::kXor}};
  for (auto [mod, reduction] : kReductions)
    if (spelling.has(mod))
      return reduction;
  return 0;
}

// The arguments that all of the device functions begin with: map, shared address, coordinates.
bool addPlace(FunctionLowering &fn, const ptx::Spelling &spelling, const ptx::Operand &tensor,
              const ptx::Operand &shared, SmallVectorImpl<Value *> &arguments) {
  IRBuilder<> &b = fn.builder();
  ArrayRef<ptx::Operand> parts = tensor.elements();
  Value *map = fn.pointer(parts[0], ptx::StateSpace::None);
  Value *place = fn.pointer(shared, ptx::StateSpace::Shared);
  if (!map || !place)
    return false;
  arguments.push_back(
      b.CreatePtrToInt(b.CreateAddrSpaceCast(map, b.getPtrTy(kFlatSpace)), b.getInt64Ty()));
  arguments.push_back(fn.sharedAddress(place));
  SmallVector<ptx::Operand, 8> coordinates;
  for (const ptx::Operand &part : parts.drop_front())
    append_range(coordinates, fn.elementsOf(part, rankOf(spelling)));
  for (unsigned i = 0; i < abi::kMaxTensorRank; ++i)
    arguments.push_back(i < coordinates.size() ? fn.read(coordinates[i], ptx::Type::S32)
                                               : b.getInt32(0));
  return true;
}

// Where shared memory lies beyond LDS other functions copy, which are told where.
Function *tensorFunction(FunctionLowering &fn, StringRef name) {
  return fn.unit().driverFunction(fn.unit().sharedInMemory() ? name.str() + "_beyond" : name.str());
}

// Calls a device function, and ends the kernel where the H100 does. `shift`: inMulticast().
Value *callTensor(FunctionLowering &fn, const ptx::Instruction &inst, StringRef name,
                  ArrayRef<Value *> given, Value *shift = nullptr) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 12> arguments(given);
  if (fn.unit().sharedInMemory())
    arguments.push_back(b.CreatePtrToInt(shifted(fn, fn.sharedBase(), shift), b.getInt64Ty()));
  CallInst *bytes = b.CreateCall(tensorFunction(fn, name), arguments);
  using Reason = abi::TrapReason;
  constexpr Refusal kErrors[] = {
      {abi::kTensorMapInvalid, Reason::IllegalInstruction, "the tensor map is none"},
      {abi::kTensorCoordinateMisaligned, Reason::IllegalInstruction,
       "the innermost coordinate is no multiple of 16 bytes"},
      {abi::kTensorCoordinateNegative, Reason::IllegalInstruction,
       "what is written begins before the tensor, or leaves the image"},
      {abi::kTensorWrongAccess, Reason::IllegalInstruction,
       "the tensor map is for another mode or number of dimensions, or its type has no such "
       "reduction"},
      {abi::kTensorPixelOutside, Reason::IllegalInstruction,
       "the first pixel lies outside of the image's bounding box"},
      {abi::kTensorSharedMisaligned, Reason::MisalignedAddress,
       "the address in shared memory is no multiple of 128"},
      {abi::kTensorBaseMisaligned, Reason::MisalignedAddress,
       "the tensor's address is no multiple of 16, or of 32 with slices of 32 bytes"}};
  BasicBlock *wrong = fn.newBlock("tensor.wrong"), *right = fn.newBlock("tensor.right");
  b.CreateCondBr(b.CreateICmpUGE(bytes, b.getInt32(abi::kTensorLastError)), wrong, right);
  b.SetInsertPoint(wrong);
  failByCode(fn, inst, bytes, kErrors, right);
  return bytes;
}

// What the device function writes to shared memory is on its way until somebody has waited for it.
void markStores(Function &load) {
  for (Instruction &inst : instructions(load))
    if (auto *store = dyn_cast<StoreInst>(&inst);
        store && store->getPointerAddressSpace() != kPrivateSpace)
      markAsyncStore(store);
}

Expected<Value *> writeTensor(FunctionLowering &fn, const ptx::Instruction &inst, StringRef name,
                              uint32_t reduction) {
  const ptx::Spelling &spelling = *inst.spelling;
  SmallVector<Value *, 8> arguments;
  if (!addPlace(fn, spelling, inst.operands[0], inst.operands[1], arguments))
    return nullptr;
  uint32_t form = rankOf(spelling) | (spelling.has(ptx::Mod::Im2colNoOffs) ? 8 : 0);
  arguments.push_back(fn.builder().getInt32(form | reduction << 4));
  callTensor(fn, inst, name, arguments);
  return nullptr;
}

} // namespace

// cp.async.bulk.tensor.dim.shared.global{.tile|.im2col}.mbarrier::complete_tx::bytes{.multicast}
//   [d], [map, {coordinates}], [mbar]{, {offsets}}{, mask}
// cp.async.bulk.tensor.dim.global.shared::cta{.tile|.im2col_no_offs}.bulk_group
//   [map, {coordinates}], [a]
// The mbarrier is charged with the whole box, also with what lies outside of the tensor.
Expected<Value *> lowerCpAsyncBulkTensor(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  if (spelling.has(ptx::Mod::BulkGroup))
    return writeTensor(fn, inst, "tensor_store", 0);
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 12> arguments;
  Value *mbarrier = fn.pointer(inst.operands[2], ptx::StateSpace::Shared);
  if (!mbarrier || !addPlace(fn, spelling, inst.operands[1], inst.operands[0], arguments))
    return nullptr;
  const bool isIm2col = spelling.has(ptx::Mod::Im2col);
  const unsigned offsets = isIm2col ? rankOf(spelling) - 2 : 0;
  SmallVector<ptx::Operand, 8> given;
  if (isIm2col)
    given = fn.elementsOf(inst.operands[3], offsets);
  for (unsigned i = 0; i < 3; ++i)
    arguments.push_back(i < given.size()
                            ? b.CreateZExt(fn.read(given[i], ptx::Type::U16), b.getInt32Ty())
                            : b.getInt32(0));
  arguments.push_back(b.getInt32(rankOf(spelling) | (isIm2col ? 8 : 0)));
  markStores(*tensorFunction(fn, "tensor_load"));
  inMulticast(fn, inst, isIm2col ? 4 : 3, [&](Value *shift) {
    Value *bytes = callTensor(fn, inst, "tensor_load", arguments, shift);
    completeBytes(fn, inst, shifted(fn, mbarrier, shift), bytes);
  });
  return nullptr;
}

// cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.tile|.im2col_no_offs}.bulk_group
//   [map, {coordinates}], [a]
Expected<Value *> lowerCpReduceAsyncBulkTensor(FunctionLowering &fn, const ptx::Instruction &inst) {
  return writeTensor(fn, inst, "tensor_reduce", tensorReductionOf(*inst.spelling));
}

// cp.async.bulk.prefetch.tensor: a hint
Expected<Value *> lowerCpAsyncBulkPrefetchTensor(FunctionLowering &, const ptx::Instruction &) {
  return nullptr;
}

// ---------- Tensor maps

// tensormap.replace.tile.field{.space}.b1024.type [a]{, ord}, b
Expected<Value *> lowerTensormapReplace(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  IRBuilder<> &b = fn.builder();
  Value *map = fn.pointer(inst.operands[0], spelling.space());
  if (!map)
    return nullptr;
  const ptx::Operand &last = inst.operands.back();
  const unsigned ordinal =
      inst.operands.size() == 3 ? unsigned(fn.sourceConstant(1).value_or(0)) : 0;
  auto put = [&](size_t offset, unsigned bits, Value *value) -> Value * {
    b.CreateAlignedStore(b.CreateZExtOrTrunc(value, fn.intType(bits)),
                         b.CreateConstGEP1_64(b.getInt8Ty(), map, offset), Align(bits / 8));
    return nullptr;
  };
  auto word = [&] { return fn.read(last, ptx::Type::B32); };
  // A field of fewer bits than the value has, which holds one less.
  auto wrapped = [&](unsigned offset, unsigned bits, uint32_t most) {
    Value *kept = b.CreateAnd(b.CreateSub(word(), b.getInt32(1)), b.getInt32(most - 1));
    return put(offset, bits, b.CreateAdd(kept, b.getInt32(1)));
  };
  auto checked = [&](unsigned limit) -> Expected<unsigned> {
    if (ordinal >= limit)
      return fn.malformed(inst, "there is no such dimension");
    return ordinal;
  };
  using abi::TensorMap;
  if (spelling.has(ptx::Mod::GlobalAddress))
    return put(offsetof(TensorMap, base), 64, fn.read(last, ptx::Type::B64));
  if (spelling.has(ptx::Mod::Rank)) // counted from 0
    return put(offsetof(TensorMap, rank), 8, b.CreateAdd(word(), b.getInt32(1)));
  if (spelling.has(ptx::Mod::GlobalStride)) {
    Expected<unsigned> which = checked(abi::kMaxTensorRank - 1);
    if (!which)
      return which.takeError();
    return put(offsetof(TensorMap, strides) + 8 * *which, 64,
               b.CreateAnd(fn.read(last, ptx::Type::B64), b.getInt64(abi::kTensorStrideMask)));
  }
  if (spelling.has(ptx::Mod::GlobalDim)) // 0, which no copy takes, would be 1 in a map of zeros
    return put(offsetof(TensorMap, sizes) + 4 * ordinal, 32,
               b.CreateSelect(b.CreateIsNull(word()), b.getInt32(-1), word()));
  if (spelling.has(ptx::Mod::BoxDim))
    return wrapped(offsetof(TensorMap, box) + 2 * ordinal, 16, abi::kTensorMaxBox);
  if (spelling.has(ptx::Mod::ElementStride))
    return wrapped(offsetof(TensorMap, elementStrides) + ordinal, 8, abi::kTensorMaxElementStride);
  if (spelling.has(ptx::Mod::Elemtype))
    return put(offsetof(TensorMap, type), 8, word());
  if (spelling.has(ptx::Mod::InterleaveLayout))
    return put(offsetof(TensorMap, interleave), 8, word());
  if (spelling.has(ptx::Mod::SwizzleMode))
    return put(offsetof(TensorMap, swizzle), 8, word());
  if (spelling.has(ptx::Mod::FillMode))
    return put(offsetof(TensorMap, fill), 8, word());
  return fn.unsupported(inst, "unknown field of a tensor map");
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned
//   [a], [b], 128   A copy of 128 bytes for all of the warp, and a release.
Expected<Value *> lowerTensormapCpFenceproxy(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *to = fn.pointer(inst.operands[0], ptx::StateSpace::Global);
  Value *from = fn.pointer(inst.operands[1], ptx::StateSpace::Shared);
  if (!to || !from)
    return nullptr;
  b.CreateMemCpy(to, Align(16), from, Align(16), sizeof(abi::TensorMap));
  b.CreateFence(AtomicOrdering::Release,
                syncScopeOf(fn.context(), inst.spelling->first(ptx::ModCategory::Scope)));
  // Each lane of the warp may use the copy, which all of them have written.
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  return nullptr;
}

} // namespace rubia::lowering
