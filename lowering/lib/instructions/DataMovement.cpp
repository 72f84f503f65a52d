// SPDX-License-Identifier: Apache-2.0
// mov, cvta, isspacep, mapa, getctarank and hints for caches.
// PTX ISA: data-movement-and-conversion-instructions-mov, -cvta, -isspacep, -mapa, -getctarank,
// -prefetch, -applypriority, -discard, -createpolicy.
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier SharedCluster, To;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// mov never interprets its bits.
static ptx::Type bitsTypeOf(ptx::Type type) {
  switch (ptx::sizeInBits(type)) {
  case 8:
    return ptx::Type::B8;
  case 16:
    return ptx::Type::B16;
  case 32:
    return ptx::Type::B32;
  case 64:
    return ptx::Type::B64;
  case 128:
    return ptx::Type::B128;
  default:
    return type;
  }
}

// mov.type d, a: a register, constant, special register, address of a variable or function; either
// side may be a vector in braces, which is packed or unpacked.
// mov.vec.type d, a: vectors, element by element.
Expected<Value *> lowerMov(FunctionLowering &fn, const ptx::Instruction &inst) {
  ptx::Type type = bitsTypeOf(inst.spelling->type(0));
  unsigned count = inst.spelling->vectorWidth();
  if (count == 1) {
    fn.write(inst.operands[0], fn.source(0, type), type);
    return nullptr;
  }
  auto destinations = fn.elementsOf(inst.operands[0], count);
  auto sources = fn.elementsOf(inst.operands[1], count);
  if (destinations.size() != count || sources.size() != count)
    return fn.malformed(inst, "as many operands as elements are needed");
  SmallVector<Value *, 4> values; // all are read before any is written
  for (const ptx::Operand &source : sources)
    values.push_back(fn.read(source, type));
  for (auto [destination, value] : zip_equal(destinations, values))
    fn.write(destination, value, type);
  return nullptr;
}

// cvta{.to}.space.size d, a
Expected<Value *> lowerCvta(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  ptx::StateSpace space = inst.spelling->space();
  if (ptx::sizeInBits(inst.spelling->type(0)) != 64)
    return fn.unsupported(inst, "32-bit generic addresses");
  const ptx::Operand &operand = fn.sourceOperand(0);
  Value *address = fn.source(0, ptx::Type::B64);
  if (!inst.spelling->has(ptx::Mod::To)) {
    // What a kernel passes to functions lies in local memory too.
    if (operand.variable() && operand.variable()->space == ptx::StateSpace::Param &&
        !is_contained(fn.ptxFunction().parameters, operand.variable()))
      space = ptx::StateSpace::Local;
    return fn.toGeneric(address, space);
  }
  space = fn.memoryOf(space);
  if (space == ptx::StateSpace::Shared && fn.unit().sharedInMemory()) {
    Value *start = b.CreatePtrToInt(fn.sharedBase(), fn.intType(64));
    Value *offset = b.CreateTrunc(b.CreateSub(address, start), fn.intType(32));
    if (fn.unit().isForClusters())
      offset = fn.clusterAddress(offset);
    return b.CreateZExt(offset, fn.intType(64));
  }
  // The aperture is in the upper half, the offset in the lower.
  if (space == ptx::StateSpace::Shared || space == ptx::StateSpace::Local)
    return b.CreateZExt(b.CreateTrunc(address, fn.intType(32)), fn.intType(64));
  return address;
}

// Whether an address lies in the `size` bytes from `start` on; all are i64.
static Value *isWithin(IRBuilder<> &b, Value *address, Value *start, Value *size) {
  return b.CreateICmpULT(b.CreateSub(address, start), size);
}

// isspacep.space p, a
// Constant memory and the parameters of a kernel lie in AMD's global memory: an address is in
// .const if a constant variable of the module is there, in .param if the kernel's parameters are,
// and in .global if it is neither in .const nor in another aperture. Measured on NVIDIA's hardware:
// what is in .param is in .global too, what is in .const is not.
Expected<Value *> lowerIsspacep(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *bits = fn.source(0, ptx::Type::B64);
  Value *address = fn.toPointer(bits, ptx::StateSpace::None);
  auto is = [&](Intrinsic::ID intrinsic) {
    return b.CreateIntrinsic(b.getInt1Ty(), intrinsic, {address});
  };
  auto isConst = [&] {
    Value *found = b.getFalse();
    for (const ptx::Variable *variable : fn.unit().ptxModule.variables)
      if (variable->space == ptx::StateSpace::Const)
        found = b.CreateOr(
            found, isWithin(b, bits, fn.addressOf(*variable), b.getInt64(variable->sizeInBytes)));
    return found;
  };
  switch (inst.spelling->space()) {
  case ptx::StateSpace::Shared:
    return inst.spelling->has(ptx::Mod::SharedCluster) ? fn.isShared(address)
                                                       : fn.isOwnShared(address);
  case ptx::StateSpace::Local:
    return is(Intrinsic::amdgcn_is_private);
  case ptx::StateSpace::Global:
    return b.CreateNot(
        b.CreateOr(b.CreateOr(fn.isShared(address), is(Intrinsic::amdgcn_is_private)), isConst()));
  case ptx::StateSpace::Const:
    return isConst();
  case ptx::StateSpace::Param: {
    const ptx::Function &function = fn.ptxFunction();
    if (!function.isKernel) {
      auto [start, size] = fn.launch().parameters();
      return isWithin(b, bits, start, size);
    }
    if (function.parameters.empty())
      return b.getFalse();
    return isWithin(b, bits, fn.addressOf(*function.parameters.front()),
                    b.getInt64(layoutOf(function).sizeInBytes));
  }
  default:
    return fn.unsupported(inst, "this state space has no addresses");
  }
}

// Where a generic address to shared memory lies behind the start of the cluster's.
static Value *offsetInCluster(FunctionLowering &fn, Value *address) {
  IRBuilder<> &b = fn.builder();
  Value *start = b.CreatePtrToInt(fn.sharedBase(), fn.intType(64));
  return b.CreateTrunc(b.CreateSub(address, start), fn.intType(32));
}

// mapa{.shared::cluster}.type d, a, b: the address in the shared memory of the cluster's CTA b that
// corresponds to a. Where a cluster is one CTA b is 0.
Expected<Value *> lowerMapa(FunctionLowering &fn, const ptx::Instruction &inst) {
  ptx::Type type = inst.spelling->type(0);
  const ptx::Operand &operand = fn.sourceOperand(0);
  bool generic = inst.spelling->space() == ptx::StateSpace::None;
  if (generic && ptx::sizeInBits(type) != 64)
    return fn.unsupported(inst, "32-bit generic addresses");
  Value *address = fn.source(0, type);
  if (generic && operand.variable())
    address = fn.toGeneric(address, operand.variable()->space);
  if (!fn.unit().isForClusters())
    return address;
  IRBuilder<> &b = fn.builder();
  Value *rank = fn.source(1, ptx::Type::U32);
  if (!generic) {
    Value *offset = b.CreateAnd(b.CreateZExtOrTrunc(address, b.getInt32Ty()),
                                maskTrailingOnes<uint32_t>(abi::kClusterRankAt));
    Value *mapped = b.CreateOr(b.CreateShl(rank, abi::kClusterRankAt), offset);
    return b.CreateZExtOrTrunc(mapped, address->getType());
  }
  Value *owner = b.CreateUDiv(offsetInCluster(fn, address), b.getInt32(abi::kSharedSlotBytes));
  Value *slots = b.CreateSExt(b.CreateSub(rank, owner), b.getInt64Ty());
  return b.CreateAdd(address, b.CreateMul(slots, b.getInt64(abi::kSharedSlotBytes)));
}

// getctarank{.shared::cluster}.type d, a: the rank of the CTA in whose shared memory a lies.
Expected<Value *> lowerGetctarank(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  if (!fn.unit().isForClusters())
    return b.getInt32(0);
  const ptx::Operand &operand = fn.sourceOperand(0);
  const bool generic = inst.spelling->space() == ptx::StateSpace::None;
  Value *address = fn.source(0, inst.spelling->type(0));
  if (!generic)
    return b.CreateLShr(b.CreateZExtOrTrunc(address, b.getInt32Ty()), abi::kClusterRankAt);
  if (operand.variable())
    address = fn.toGeneric(address, operand.variable()->space);
  return b.CreateUDiv(offsetInCluster(fn, b.CreateZExt(address, b.getInt64Ty())),
                      b.getInt32(abi::kSharedSlotBytes));
}

// ---------- Hints. AMD GPUs before gfx12 have no such control over their caches; none of these
// changes what a program computes, so they are left out.

// prefetch{.space}.level [a], prefetchu.L1 [a]: also of a tensor map.
Expected<Value *> lowerPrefetch(FunctionLowering &, const ptx::Instruction &) { return nullptr; }
Expected<Value *> lowerPrefetchu(FunctionLowering &, const ptx::Instruction &) { return nullptr; }

// applypriority{.global}.level::eviction [a], size
Expected<Value *> lowerApplypriority(FunctionLowering &, const ptx::Instruction &) {
  return nullptr;
}

// discard{.global}.L2 [a], size: what is there may be lost. It stays.
Expected<Value *> lowerDiscard(FunctionLowering &, const ptx::Instruction &) { return nullptr; }

// createpolicy.(range|fractional|cvt)....b64 d, ...: opaque, for .L2::cache_hint, which has no
// effect.
Expected<Value *> lowerCreatepolicy(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().getInt64(0);
}

} // namespace rubia::lowering
