// SPDX-License-Identifier: Apache-2.0
// State spaces: from the addresses that PTX computes with to pointers that LLVM knows the address
// space of.
//
// An address in a register is an integer. In .shared and .local it is the 32-bit offset of LLVM's
// address spaces 3 and 5, zero-extended; everywhere else it is the 64-bit address itself, so that
// .global, .const and .param addresses are their own generic addresses. No pointer is `inbounds`:
// PTX may compute any address.
//
// Where shared memory lies in device memory (SharedSlot.h), a .shared address is the 32-bit offset
// in the CTA's slot. What is computed from it wraps in 32 bits, as in LDS, before it becomes a
// pointer.
//
// In code for clusters (ClusterSlots.h) the upper bits of a .shared address are the rank of the CTA
// (abi::kClusterRankAt). What says .shared::cluster heeds them, and so does cvta in all forms.
// Other accesses refuse addresses of other CTAs, as NVIDIA's hardware does (measured on an H200).
#include "lowering/lib/frame/ClusterSlots.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/SharedSlot.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Call, Cvta, Ldmatrix, St, Stmatrix;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier MbarrierCompleteTxBytes, MulticastCluster, MulticastClusterAll, ParamEntry,
    ParamFunc, SharedCluster;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

static StringRef nameOf(ptx::StateSpace space) {
  switch (space) {
  case ptx::StateSpace::None:
    return "generic";
  case ptx::StateSpace::Reg:
    return ".reg";
  case ptx::StateSpace::SReg:
    return ".sreg";
  case ptx::StateSpace::Const:
    return ".const";
  case ptx::StateSpace::Global:
    return ".global";
  case ptx::StateSpace::Local:
    return ".local";
  case ptx::StateSpace::Param:
    return ".param";
  case ptx::StateSpace::Shared:
    return ".shared";
  case ptx::StateSpace::Tex:
    return ".tex";
  }
  return "";
}

// Memory for a parameter or result that is passed by value, or an argument on its way to a call.
// Whole words, as UnitLowering::passedType has it.
Value *FunctionLowering::parameterSlot(const ptx::Variable &variable) {
  Value *&slot = variables[&variable];
  if (!slot) {
    uint64_t size = alignTo(std::max<uint64_t>(variable.sizeInBytes, 1), 4);
    AllocaInst *made = entryBuilder.CreateAlloca(ArrayType::get(intType(8), size), kPrivateSpace,
                                                 nullptr, variable.name);
    made->setAlignment(Align(PowerOf2Ceil(std::max<uint32_t>(variable.alignment, 4))));
    slot = made;
  }
  return slot;
}

// In a kernel an alloca; functions are given its address as their last argument.
Value *FunctionLowering::moduleLocals() {
  if (moduleLocalFrame)
    return moduleLocalFrame;
  if (!source_.isKernel)
    return moduleLocalFrame = function.getArg(unsigned(function.arg_size() - 1));
  AllocaInst *frame = entryBuilder.CreateAlloca(
      ArrayType::get(intType(8), unitLowering.moduleLocalBytes), kPrivateSpace, nullptr, "locals");
  frame->setAlignment(Align(unitLowering.moduleLocalAlignment));
  return moduleLocalFrame = frame;
}

Value *FunctionLowering::variablePointer(const ptx::Variable &variable) {
  switch (variable.space) {
  case ptx::StateSpace::Shared:
    return unitLowering.sharedInMemory()
               ? toPointer(irBuilder.getInt32(unitLowering.sharedOffset(variable)), variable.space)
               : static_cast<Value *>(unitLowering.sharedVariable(variable));
  case ptx::StateSpace::Local:
    if (!variable.function && unitLowering.passesModuleLocals)
      return irBuilder.CreateConstGEP1_64(irBuilder.getInt8Ty(), moduleLocals(),
                                          unitLowering.moduleLocalOffset(variable));
    // One of the module that only kernels name is like one of their own.
    if (!variable.function || variable.function == &source_)
      return parameterSlot(variable);
    return nullptr;
  case ptx::StateSpace::Param:
    if (auto found = kernelParameters.find(&variable); found != kernelParameters.end())
      return found->second == 0 ? function.getArg(0)
                                : irBuilder.CreateConstGEP1_64(irBuilder.getInt8Ty(),
                                                               function.getArg(0), found->second);
    return parameterSlot(variable);
  case ptx::StateSpace::Global:
  case ptx::StateSpace::Const: {
    Value *address = unitLowering.loadModuleTable(irBuilder, unitLowering.slotOf(variable));
    return toPointer(address, variable.space);
  }
  case ptx::StateSpace::None:
  case ptx::StateSpace::Reg:
  case ptx::StateSpace::SReg:
  case ptx::StateSpace::Tex:
    break;
  }
  return nullptr;
}

Value *FunctionLowering::addressOf(const ptx::Variable &variable) {
  if (variable.space == ptx::StateSpace::Global || variable.space == ptx::StateSpace::Const)
    return unitLowering.loadModuleTable(irBuilder, unitLowering.slotOf(variable));
  if (variable.space == ptx::StateSpace::Shared && unitLowering.sharedInMemory()) {
    Value *offset = irBuilder.getInt64(unitLowering.sharedOffset(variable));
    if (!unitLowering.isForClusters())
      return offset;
    Value *ofRank = irBuilder.CreateShl(clusterRank(), abi::kClusterRankAt);
    return irBuilder.CreateOr(irBuilder.CreateZExt(ofRank, intType(64)), offset);
  }
  Value *pointer = variablePointer(variable);
  if (!pointer) {
    ptx::Operand here{};
    problem(here,
            "'" + variable.name + "' lives in " + nameOf(variable.space) +
                " at module scope, which has no address",
            true);
    return nullptr;
  }
  unsigned bits = module().getDataLayout().getPointerTypeSizeInBits(pointer->getType());
  return irBuilder.CreateZExt(irBuilder.CreatePtrToInt(pointer, intType(bits)), intType(64));
}

void FunctionLowering::findParameterAddresses() {
  for (const ptx::Instruction &instruction : source_.body)
    for (const ptx::Operand &operand : instruction.operands)
      if (operand.kind == ptx::Operand::Kind::Variable && instruction.op() != ptx::Op::Call &&
          instruction.op() != ptx::Op::Cvta && // gives a generic address
          operand.variable()->space == ptx::StateSpace::Param)
        (is_contained(source_.parameters, operand.variable()) ? takesParameterAddress
                                                              : takesArgumentAddress) = true;
}

// PTX ISA: data-movement-and-conversion-instructions-ld: without ::entry or ::func, .param is that
// of the function that it stands in. A kernel has both kinds: its parameters and what it passes to
// functions; only the latter can be written, and which one a register points to is known as long
// as the kernel takes addresses of one kind.
ptx::StateSpace FunctionLowering::memoryOf(ptx::StateSpace space) {
  if (space != ptx::StateSpace::Param)
    return space;
  const ptx::Spelling &spelling = *current->spelling;
  if (spelling.has(ptx::Mod::ParamEntry))
    return ptx::StateSpace::Const;
  if (!source_.isKernel || spelling.has(ptx::Mod::ParamFunc) || current->op() == ptx::Op::St)
    return ptx::StateSpace::Local;
  if (takesParameterAddress && takesArgumentAddress) {
    ptx::Operand here{};
    here.place = current->place;
    problem(here,
            "an address in .param that may be a parameter of the kernel or an argument for another "
            "function: write .param::entry or .param::func",
            true);
  }
  return takesArgumentAddress ? ptx::StateSpace::Local : ptx::StateSpace::Const;
}

ptx::StateSpace FunctionLowering::spaceOf(const ptx::Operand &address,
                                          ptx::StateSpace space) const {
  return address.variable() ? address.variable()->space : space;
}

Value *FunctionLowering::sharedSlot() {
  if (!slot)
    slot = loadSharedSlot(unitLowering, prologueBuilder);
  return slot;
}

Value *FunctionLowering::sharedBase() {
  if (!unitLowering.isForClusters())
    return sharedSlot();
  if (!base)
    base = loadSharedBase(unitLowering, prologueBuilder);
  return base;
}

Value *FunctionLowering::clusterRank() {
  if (!rank)
    rank = loadClusterRank(unitLowering, prologueBuilder);
  return rank;
}

Value *FunctionLowering::clusterAddress(Value *offset) {
  Value *bytes = irBuilder.getInt32(abi::kSharedSlotBytes);
  Value *owner = irBuilder.CreateUDiv(offset, bytes);
  Value *inSlot = irBuilder.CreateSub(offset, irBuilder.CreateMul(owner, bytes));
  return irBuilder.CreateOr(irBuilder.CreateShl(owner, abi::kClusterRankAt), inSlot);
}

static bool isMulticast(const ptx::Instruction &instruction) {
  return instruction.spelling->has(ptx::Mod::MulticastCluster) ||
         instruction.spelling->has(ptx::Mod::MulticastClusterAll);
}

// PTX ISA: the addresses of st.async and red.async, and of what a bulk copy completes, are
// .shared::cluster without saying so. Those of a multicast are for each CTA the place in it,
// whoever they are of: they are taken as the own CTA's, and forEachCta() has the others'.
bool FunctionLowering::reachesCluster() const {
  if (!unitLowering.isForClusters() || !current || isMulticast(*current))
    return false;
  return current->spelling->has(ptx::Mod::SharedCluster) ||
         current->spelling->has(ptx::Mod::MbarrierCompleteTxBytes);
}

Value *FunctionLowering::intoShared(Value *pointer) {
  unsigned own = unitLowering.sharedInMemory() ? kGlobalSpace : kSharedSpace;
  return pointer->getType()->getPointerAddressSpace() == own
             ? pointer
             : irBuilder.CreateAddrSpaceCast(pointer, irBuilder.getPtrTy(own));
}

Value *FunctionLowering::sharedAddress(Value *pointer) {
  if (!unitLowering.sharedInMemory())
    return irBuilder.CreatePtrToInt(pointer, intType(32));
  Value *start = irBuilder.CreatePtrToInt(sharedBase(), intType(64));
  Value *address = irBuilder.CreatePtrToInt(pointer, intType(64));
  return irBuilder.CreateTrunc(irBuilder.CreateSub(address, start), intType(32));
}

Value *FunctionLowering::isWithinShared(Value *pointer, Value *start, Value *bytes) {
  Value *offset = irBuilder.CreateSub(irBuilder.CreatePtrToInt(pointer, intType(64)),
                                      irBuilder.CreatePtrToInt(start, intType(64)));
  return irBuilder.CreateICmpULT(offset, bytes);
}

Value *FunctionLowering::isOwnShared(Value *pointer) {
  if (!unitLowering.sharedInMemory())
    return irBuilder.CreateIntrinsic(irBuilder.getInt1Ty(), Intrinsic::amdgcn_is_shared, {pointer});
  return isWithinShared(pointer, sharedSlot(), irBuilder.getInt64(abi::kSharedSlotBytes));
}

Value *FunctionLowering::isShared(Value *pointer) {
  if (!unitLowering.isForClusters())
    return isOwnShared(pointer);
  Value *ctas = specialRegister(ptx::SpecialRegister::ClusterNCtaRank, 0xff);
  return isWithinShared(pointer, sharedBase(),
                        irBuilder.CreateMul(irBuilder.CreateZExt(ctas, intType(64)),
                                            irBuilder.getInt64(abi::kSharedSlotBytes)));
}

// A .shared address (i32) without the rank, an i64.
static Value *inSlot(FunctionLowering &fn, Value *address) {
  IRBuilder<> &b = fn.builder();
  if (fn.unit().isForClusters())
    address = b.CreateAnd(address, maskTrailingOnes<uint32_t>(abi::kClusterRankAt));
  return b.CreateZExt(address, fn.intType(64));
}

// Where in the cluster's memory a .shared address (i32) lies, by its rank.
static Value *clusterPointer(FunctionLowering &fn, Value *address) {
  IRBuilder<> &b = fn.builder();
  Value *owner = b.CreateZExt(b.CreateLShr(address, abi::kClusterRankAt), fn.intType(64));
  Value *start = b.CreateGEP(b.getInt8Ty(), fn.sharedBase(),
                             b.CreateMul(owner, b.getInt64(abi::kSharedSlotBytes)));
  return b.CreateGEP(b.getInt8Ty(), start, inSlot(fn, address));
}

Value *FunctionLowering::toPointer(Value *address, ptx::StateSpace space) {
  unsigned addressSpace = kFlatSpace;
  switch (memoryOf(space)) {
  case ptx::StateSpace::Shared:
    if (unitLowering.sharedInMemory()) {
      Value *offset = irBuilder.CreateZExtOrTrunc(address, intType(32));
      return reachesCluster()
                 ? clusterPointer(*this, offset)
                 : irBuilder.CreateGEP(irBuilder.getInt8Ty(), sharedSlot(), inSlot(*this, offset));
    }
    addressSpace = kSharedSpace;
    break;
  case ptx::StateSpace::Local:
    addressSpace = kPrivateSpace;
    break;
  case ptx::StateSpace::Const:
    addressSpace = kConstantSpace;
    break;
  case ptx::StateSpace::Global:
    addressSpace = kGlobalSpace;
    break;
  case ptx::StateSpace::None:
  case ptx::StateSpace::Reg:
  case ptx::StateSpace::SReg:
  case ptx::StateSpace::Param:
  case ptx::StateSpace::Tex:
    break;
  }
  unsigned bits = addressSpace == kSharedSpace || addressSpace == kPrivateSpace ? 32 : 64;
  return irBuilder.CreateIntToPtr(irBuilder.CreateZExtOrTrunc(address, intType(bits)),
                                  irBuilder.getPtrTy(addressSpace));
}

// AMDGPU has an aperture for LDS and one for scratch in the flat address space; addrspacecast adds
// it. Offset 0 is an address like any other: LLVM's null pointer of those spaces is all ones.
Value *FunctionLowering::toGeneric(Value *address, ptx::StateSpace space) {
  space = memoryOf(space);
  if (space != ptx::StateSpace::Shared && space != ptx::StateSpace::Local)
    return address;
  const bool mayBeOfOthers = space == ptx::StateSpace::Shared && unitLowering.isForClusters();
  Value *pointer = mayBeOfOthers
                       ? clusterPointer(*this, irBuilder.CreateZExtOrTrunc(address, intType(32)))
                       : toPointer(address, space);
  Value *generic = irBuilder.CreateAddrSpaceCast(pointer, irBuilder.getPtrTy(kFlatSpace));
  return irBuilder.CreatePtrToInt(generic, intType(64));
}

// The builder goes on where a .shared address (i32) is of the own CTA. Those of ldmatrix and
// stmatrix pass: not all lanes give one that counts.
static void refuseOtherCtas(FunctionLowering &fn, const ptx::Instruction &inst, Value *address) {
  if (isMulticast(inst) || inst.op() == ptx::Op::Ldmatrix || inst.op() == ptx::Op::Stmatrix)
    return;
  IRBuilder<> &b = fn.builder();
  Value *owner = b.CreateLShr(address, abi::kClusterRankAt);
  failIf(fn, inst, b.CreateICmpNE(owner, fn.clusterRank()), abi::TrapReason::IllegalInstruction,
         "the address is of another CTA, which only .shared::cluster reaches");
}

Value *FunctionLowering::pointer(const ptx::Operand &address, ptx::StateSpace space) {
  if (address.kind != ptx::Operand::Kind::Address) {
    problem(address, "an address in brackets is needed");
    return nullptr;
  }
  Value *base;
  if (unitLowering.sharedInMemory() && spaceOf(address, space) == ptx::StateSpace::Shared &&
      (space == ptx::StateSpace::Shared || space == ptx::StateSpace::None)) {
    Value *offset = irBuilder.getInt32(uint32_t(address.offset));
    if (address.variable())
      offset = irBuilder.CreateAdd(
          offset, irBuilder.getInt32(unitLowering.sharedOffset(*address.variable())));
    if (address.variable() && reachesCluster())
      offset = irBuilder.CreateAdd(offset, irBuilder.CreateShl(clusterRank(), abi::kClusterRankAt));
    if (address.reg != ptx::kNone)
      offset = irBuilder.CreateAdd(
          irBuilder.CreateZExtOrTrunc(readRegister(address.reg, address.component), intType(32)),
          offset);
    if (unitLowering.isForClusters() && !reachesCluster() && address.reg != ptx::kNone &&
        !address.variable())
      refuseOtherCtas(*this, *current, offset);
    return toPointer(offset, ptx::StateSpace::Shared);
  }
  if (address.variable()) {
    ptx::StateSpace own = address.variable()->space;
    if (space != ptx::StateSpace::None && own != space) {
      problem(address, "'" + address.variable()->name + "' lives in " + nameOf(own) + ", not in " +
                           nameOf(space));
      return nullptr;
    }
    base = variablePointer(*address.variable());
    if (!base) {
      problem(address,
              "'" + address.variable()->name + "' in " + nameOf(own) +
                  " cannot be reached from this function",
              true);
      return nullptr;
    }
    if (address.reg != ptx::kNone) {
      Value *index = irBuilder.CreateSExt(readRegister(address.reg), intType(64));
      base = irBuilder.CreateGEP(irBuilder.getInt8Ty(), base, index);
    }
  } else if (address.reg != ptx::kNone) {
    base = toPointer(readRegister(address.reg, address.component), space);
  } else {
    return toPointer(irBuilder.getInt64(uint64_t(int64_t(address.offset))), space);
  }
  if (address.offset == 0)
    return base;
  return irBuilder.CreateConstGEP1_64(irBuilder.getInt8Ty(), base, uint64_t(address.offset));
}

} // namespace rubia::lowering
