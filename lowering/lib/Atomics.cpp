// atom and red. PTX ISA: parallel-synchronization-and-communication-instructions-atom, -red.
//
// AMD's fast atomics are wrong on memory of the host or of another device (they may be dropped on
// the bus), so LLVM wants to be told that there is none: docs in AMDGPUUsage, "LLVM IR Metadata".
// `.sys` never tells it, the rest does unless Options::safeAtomics.
#include "lowering/lib/FunctionLowering.h"
#include "lowering/lib/MemoryModel.h"
#include "lowering/lib/UnitLowering.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

struct Atomic {
  Value *pointer;
  AtomicOrdering ordering;
  SyncScope::ID scope;
  bool fast;
};

std::optional<Atomic> atomicOf(FunctionLowering &fn, const ptx::Instruction &inst,
                               const ptx::Operand &address) {
  const ptx::Spelling &spelling = *inst.spelling;
  Value *pointer = fn.pointer(address, spelling.space());
  if (!pointer)
    return std::nullopt;
  ptx::Mod scope = spelling.first(ptx::ModCategory::Scope);
  return Atomic{pointer, orderingOf(spelling.first(ptx::ModCategory::Semantics)),
                syncScopeOf(fn.context(), scope),
                scope != ptx::Mod::Sys && !fn.options().safeAtomics};
}

void annotate(FunctionLowering &fn, const Atomic &atomic, Instruction *inst) {
  LLVMContext &context = fn.context();
  MDNode *empty = MDNode::get(context, {});
  unsigned space = atomic.pointer->getType()->getPointerAddressSpace();
  if (atomic.fast && space != kSharedSpace) {
    inst->setMetadata("amdgpu.no.fine.grained.memory", empty);
    inst->setMetadata("amdgpu.no.remote.memory", empty);
  }
  // atom.global.add.f32 flushes denormals on NVIDIA hardware, as AMD's does where it cannot be told
  // not to; PTX ISA allows both.
  if (auto *rmw = dyn_cast<AtomicRMWInst>(inst); rmw && rmw->isFloatingPointOperation() &&
                                                 rmw->getType()->isFloatTy() &&
                                                 space != kSharedSpace)
    inst->setMetadata("amdgpu.ignore.denormal.mode", empty);
  // A generic address of an atomic is global or shared, never local.
  if (space == kFlatSpace)
    inst->setMetadata(
        LLVMContext::MD_noalias_addrspace,
        MDBuilder(context).createRange(APInt(32, kPrivateSpace), APInt(32, kPrivateSpace + 1)));
}

std::optional<AtomicRMWInst::BinOp> operationOf(const ptx::Spelling &spelling) {
  ptx::TypeClass type = ptx::classOf(spelling.type(0));
  if (spelling.has(ptx::Mod::And))
    return AtomicRMWInst::And;
  if (spelling.has(ptx::Mod::Or))
    return AtomicRMWInst::Or;
  if (spelling.has(ptx::Mod::Xor))
    return AtomicRMWInst::Xor;
  switch (spelling.first(ptx::ModCategory::Atomic)) {
  case ptx::Mod::Exch:
    return AtomicRMWInst::Xchg;
  case ptx::Mod::Add:
    return type == ptx::TypeClass::Float ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
  case ptx::Mod::Min:
    return type == ptx::TypeClass::Signed ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
  case ptx::Mod::Max:
    return type == ptx::TypeClass::Signed ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
  case ptx::Mod::Inc: // d = old >= b ? 0 : old + 1
    return AtomicRMWInst::UIncWrap;
  case ptx::Mod::Dec: // d = old == 0 || old > b ? b : old - 1
    return AtomicRMWInst::UDecWrap;
  default:
    return std::nullopt;
  }
}

Expected<Value *> readModifyWrite(FunctionLowering &fn, const ptx::Instruction &inst,
                                  const ptx::Operand &address, const ptx::Operand &operand) {
  std::optional<AtomicRMWInst::BinOp> operation = operationOf(*inst.spelling);
  if (!operation)
    return fn.malformed(inst, "an operation is needed");
  std::optional<Atomic> atomic = atomicOf(fn, inst, address);
  if (!atomic)
    return nullptr;
  ptx::Type type = inst.spelling->type(0);
  AtomicRMWInst *rmw = fn.builder().CreateAtomicRMW(
      *operation, atomic->pointer, fn.read(operand, type), Align(ptx::sizeInBits(type) / 8),
      atomic->ordering, atomic->scope);
  annotate(fn, *atomic, rmw);
  return rmw;
}

} // namespace

// atom{.sem}{.scope}{.space}.op.type d, [a], b{, c}
Expected<Value *> lowerAtom(FunctionLowering &fn, const ptx::Instruction &inst) {
  if (!inst.spelling->has(ptx::Mod::Cas))
    return readModifyWrite(fn, inst, inst.operands[1], inst.operands[2]);

  std::optional<Atomic> atomic = atomicOf(fn, inst, inst.operands[1]);
  if (!atomic)
    return nullptr;
  ptx::Type type = inst.spelling->type(0);
  AtomicCmpXchgInst *exchange = fn.builder().CreateAtomicCmpXchg(
      atomic->pointer, fn.read(inst.operands[2], type), fn.read(inst.operands[3], type),
      Align(ptx::sizeInBits(type) / 8), atomic->ordering,
      AtomicCmpXchgInst::getStrongestFailureOrdering(atomic->ordering), atomic->scope);
  annotate(fn, *atomic, exchange);
  return fn.builder().CreateExtractValue(exchange, 0);
}

// red{.sem}{.scope}{.space}.op.type [a], b
Expected<Value *> lowerRed(FunctionLowering &fn, const ptx::Instruction &inst) {
  Expected<Value *> old = readModifyWrite(fn, inst, inst.operands[0], inst.operands[1]);
  if (!old)
    return old.takeError();
  return nullptr;
}

} // namespace rubia::lowering
