// SPDX-License-Identifier: Apache-2.0
// atom and red. PTX ISA: parallel-synchronization-and-communication-instructions-atom, -red.
//
// Most are one atomicrmw, and LLVM knows whether the target has an instruction for it. AMD's fast
// atomics are wrong on memory of the host or of another device (they may be dropped on the bus), so
// LLVM wants to be told that there is none: docs in AMDGPUUsage, "LLVM IR Metadata". `.sys` never
// tells it, the rest does unless AtomicsMode::Safe, or in units whose functions have addresses:
// those exist in one form only.
//
// Where there is no instruction, and LLVM's own loop would not compute what PTX does, the loop is
// ours: addition of f32 in global memory, which flushes denormals whatever the unit's mode is, of
// bf16, which never does, minima and maxima of halves, and with --nan=canonical all but f64.
#include "lowering/lib/instructions/Atomics.h"
#include "lowering/lib/frame/FloatingPoint.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace rubia::settings::AtomicsMode {
extern const Word Safe;
} // namespace rubia::settings::AtomicsMode
namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode
namespace rubia::targets::Fact {
extern const GenerationFact addsF32InMemory;
} // namespace rubia::targets::Fact
namespace rubia::ptx::Mod {
extern const Modifier Add, And, Cas, Cta, Dec, Exch, Gpu, Inc, Max, Min, Or, Sys, Xor;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

struct Atomic {
  Value *pointer;
  AtomicOrdering ordering;
  SyncScope::ID scope;
  bool fast;     // may use instructions that work only in memory of this device
  bool isShared; // certainly in shared memory, which may lie in LDS or in memory of this device
  bool keepsDenormals = false; // of f32, in global memory too

  unsigned space() const { return pointer->getType()->getPointerAddressSpace(); }
  bool inLds() const { return space() == kSharedSpace; }
};

// Where atomics of the agent's scope work in any memory (AMDGPUUsage "Memory Model"), two halves of
// bf16 are added too, and additions of f32 may keep denormals.
bool isModern(const Target &target) { return target.row->atomicsReachHost; }

// A relaxed one.
Atomic atomicAt(FunctionLowering &fn, Value *pointer, ptx::Modifier scope, bool isShared) {
  bool safe = fn.options().code.is(settings::AtomicsMode::Safe) ||
              (fn.unit().hasFunctionAddresses && !isModern(fn.target()));
  return {pointer, AtomicOrdering::Monotonic, syncScopeOf(fn.context(), scope),
          isShared || (scope != ptx::Mod::Sys && !safe), isShared};
}

std::optional<Atomic> atomicOf(FunctionLowering &fn, const ptx::Instruction &inst,
                               const ptx::Operand &address) {
  const ptx::Spelling &spelling = *inst.spelling;
  Value *pointer = fn.pointer(address, spelling.space());
  if (!pointer)
    return std::nullopt;
  bool isShared = fn.spaceOf(address, spelling.space()) == ptx::StateSpace::Shared;
  Atomic atomic = atomicAt(fn, pointer, spelling.first(ptx::ModCategory::Scope), isShared);
  atomic.ordering = orderingOf(spelling.first(ptx::ModCategory::Semantics));
  return atomic;
}

void annotate(FunctionLowering &fn, const Atomic &atomic, Instruction *inst) {
  LLVMContext &context = fn.context();
  MDNode *empty = MDNode::get(context, {});
  auto *update = dyn_cast<AtomicRMWInst>(inst);
  if (atomic.fast && !atomic.inLds()) {
    inst->setMetadata("amdgpu.no.fine.grained.memory", empty);
    inst->setMetadata("amdgpu.no.remote.memory", empty);
    fn.unit().hasFastAtomics |= update && !atomic.isShared && !isModern(fn.target()) &&
                                update->getOperation() != AtomicRMWInst::Add &&
                                update->getOperation() != AtomicRMWInst::Xchg;
  }
  // Denormals are taken care of: strategyFor().
  if (update && update->getType()->isFloatTy() && !atomic.inLds())
    inst->setMetadata("amdgpu.ignore.denormal.mode", empty);
  // A generic address of an atomic is global or shared, never local.
  if (atomic.space() == kFlatSpace)
    inst->setMetadata(
        LLVMContext::MD_noalias_addrspace,
        MDBuilder(context).createRange(APInt(32, kPrivateSpace), APInt(32, kPrivateSpace + 1)));
}

std::optional<AtomicRMWInst::BinOp> operationOf(ptx::Modifier operation, ptx::Type of) {
  ptx::TypeClass type = ptx::classOf(of);
  bool isFloat = type == ptx::TypeClass::Float, isSigned = type == ptx::TypeClass::Signed;
  if (operation == ptx::Mod::And)
    return AtomicRMWInst::And;
  if (operation == ptx::Mod::Or)
    return AtomicRMWInst::Or;
  if (operation == ptx::Mod::Xor)
    return AtomicRMWInst::Xor;
  if (operation == ptx::Mod::Exch)
    return AtomicRMWInst::Xchg;
  if (operation == ptx::Mod::Add)
    return isFloat ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
  if (operation == ptx::Mod::Min)
    return isFloat ? AtomicRMWInst::FMin : isSigned ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
  if (operation == ptx::Mod::Max)
    return isFloat ? AtomicRMWInst::FMax : isSigned ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
  if (operation == ptx::Mod::Inc) // d = old >= b ? 0 : old + 1
    return AtomicRMWInst::UIncWrap;
  if (operation == ptx::Mod::Dec) // d = old == 0 || old > b ? b : old - 1
    return AtomicRMWInst::UDecWrap;
  return std::nullopt;
}

// ---------- Floating point

// Whether atomicrmw computes what PTX does: by an instruction of the target, or by LLVM's loop.
bool hasInstruction(const FunctionLowering &fn, const Atomic &atomic, AtomicRMWInst::BinOp op,
                    Type *type) {
  const Target &target = fn.target();
  if (op == AtomicRMWInst::FMin || op == AtomicRMWInst::FMax)
    return false;
  if (fn.options().code.is(settings::NanMode::Canonical) && !type->isDoubleTy())
    return false;
  bool anyMemory = isModern(target) && atomic.scope != SyncScope::System;
  bool thisMemory = atomic.fast || anyMemory;
  if (type->getScalarType()->isBFloatTy())
    return type->isVectorTy() && isModern(target) && thisMemory;
  if (atomic.keepsDenormals && type->isFloatTy())
    return false;
  if (!type->isFloatTy() || atomic.inLds())
    return true; // LLVM's loops for f64 and f16 are as good: their denormals are always kept
  return targets::Fact::addsF32InMemory(*target.row) && thisMemory;
}

// PTX ISA: atom.add.f32 in global memory flushes denormals, in shared memory it does not. A generic
// address may be either's.
Value *flushedOutsideShared(FunctionLowering &fn, const Atomic &atomic, Value *value) {
  if (atomic.isShared || atomic.keepsDenormals)
    return value;
  Value *flushed = flushDenormal(fn, value);
  if (atomic.space() == kGlobalSpace)
    return flushed;
  IRBuilder<> &b = fn.builder();
  Value *shared = fn.isShared(atomic.pointer);
  return b.CreateSelect(shared, value, flushed);
}

Value *compute(FunctionLowering &fn, const ptx::Instruction &inst, const Atomic &atomic,
               AtomicRMWInst::BinOp op, Value *old, Value *operand) {
  IRBuilder<> &b = fn.builder();
  if (op != AtomicRMWInst::FAdd)
    return finish(fn, inst, minOrMax(fn, op == AtomicRMWInst::FMax, old, operand));
  if (!operand->getType()->isFloatTy())
    return finish(fn, inst, halfArithmetic(fn, inst, Arithmetic::Add, {old, operand}));
  Value *sum = b.CreateFAdd(flushedOutsideShared(fn, atomic, old),
                            flushedOutsideShared(fn, atomic, operand));
  return finish(fn, inst, flushedOutsideShared(fn, atomic, sum));
}

// Reads, computes and compares and swaps until nobody came between. What does not change need not
// be written. A half is changed within the word that it lies in.
Value *loop(FunctionLowering &fn, const ptx::Instruction &inst, const Atomic &atomic,
            AtomicRMWInst::BinOp op, Value *operand) {
  IRBuilder<> &b = fn.builder();
  Type *type = operand->getType();
  Type *word = b.getInt32Ty();
  Value *place = atomic.pointer, *shift = nullptr;
  if (type->getPrimitiveSizeInBits() == 16) {
    unsigned bits = fn.module().getDataLayout().getPointerTypeSizeInBits(place->getType());
    Value *address = b.CreatePtrToInt(place, fn.intType(bits));
    shift = b.CreateTrunc(b.CreateAnd(b.CreateShl(address, 3), 16), word); // of the upper half: 16
    place = b.CreateIntrinsic(Intrinsic::ptrmask, {place->getType(), fn.intType(bits)},
                              {place, ConstantInt::getSigned(fn.intType(bits), -4)});
  }
  auto take = [&](Value *from) {
    Value *part = shift ? b.CreateTrunc(b.CreateLShr(from, shift), b.getInt16Ty()) : from;
    return b.CreateBitCast(part, type);
  };
  auto put = [&](Value *into, Value *value) -> Value * {
    if (!shift)
      return b.CreateBitCast(value, word);
    Value *part = b.CreateZExt(b.CreateBitCast(value, b.getInt16Ty()), word);
    Value *mask = b.CreateNot(b.CreateShl(b.getInt32(0xffff), shift));
    return b.CreateOr(b.CreateAnd(into, mask), b.CreateShl(part, shift));
  };

  LoadInst *first = b.CreateAlignedLoad(word, place, Align(4));
  first->setAtomic(AtomicOrdering::Monotonic, atomic.scope);
  annotate(fn, atomic, first);
  Value *start = b.CreateFreeze(first);
  BasicBlock *before = b.GetInsertBlock(), *again = fn.newBlock("atomic.again"),
             *write = fn.newBlock("atomic.write"), *done = fn.newBlock("atomic.done");
  b.CreateBr(again);
  b.SetInsertPoint(again);
  PHINode *expected = b.CreatePHI(word, 2);
  expected->addIncoming(start, before);
  Value *made = put(expected, compute(fn, inst, atomic, op, take(expected), operand));
  b.CreateCondBr(b.CreateICmpEQ(made, expected), done, write);
  b.SetInsertPoint(write);
  AtomicCmpXchgInst *swap =
      b.CreateAtomicCmpXchg(place, expected, made, Align(4), AtomicOrdering::Monotonic,
                            AtomicOrdering::Monotonic, atomic.scope);
  annotate(fn, atomic, swap);
  expected->addIncoming(b.CreateExtractValue(swap, 0), write);
  b.CreateCondBr(b.CreateExtractValue(swap, 1), done, again);
  b.SetInsertPoint(done);
  return take(expected);
}

Value *instruction(FunctionLowering &fn, const Atomic &atomic, AtomicRMWInst::BinOp op,
                   Value *operand) {
  AtomicRMWInst *rmw = fn.builder().CreateAtomicRMW(
      op, atomic.pointer, operand, Align(operand->getType()->getPrimitiveSizeInBits() / 8),
      atomic.ordering, atomic.scope);
  annotate(fn, atomic, rmw);
  return rmw;
}

// How an operation is done.
enum class Strategy { Instruction, Loop, LoopIfTiny };

Strategy strategyFor(FunctionLowering &fn, const Atomic &atomic, AtomicRMWInst::BinOp op,
                     Type *type) {
  if (!AtomicRMWInst::isFPOperation(op))
    return Strategy::Instruction;
  if (!hasInstruction(fn, atomic, op, type))
    return Strategy::Loop;
  // PTX flushes denormals in global memory, where modern instructions may keep them, and keeps them
  // in shared memory, where the others flush them if it is no LDS.
  bool mayBeShared = fn.unit().sharedInMemory() && atomic.space() != kGlobalSpace;
  bool mayDiffer = type->isFloatTy() && !atomic.inLds() &&
                   (isModern(fn.target()) || atomic.isShared || mayBeShared);
  return mayDiffer ? Strategy::LoopIfTiny : Strategy::Instruction;
}

// An addition whose instruction may keep denormals where PTX's flushes them, or the reverse. From
// 2^-100 on an operand hides the difference: a denormal in memory is below half of its last place,
// and a sum with anything else is a multiple of 2^-124 or 0.
Value *loopIfTiny(FunctionLowering &fn, const ptx::Instruction &inst, const Atomic &atomic,
                  AtomicRMWInst::BinOp op, Value *operand) {
  IRBuilder<> &b = fn.builder();
  BasicBlock *tiny = fn.newBlock("atomic.tiny"), *usual = fn.newBlock("atomic.usual"),
             *end = fn.newBlock("atomic.end");
  Value *magnitude = b.CreateUnaryIntrinsic(Intrinsic::fabs, operand);
  b.CreateCondBr(b.CreateFCmpOLT(magnitude, ConstantFP::get(operand->getType(), 0x1p-100)), tiny,
                 usual);
  b.SetInsertPoint(tiny);
  Value *ofLoop = loop(fn, inst, atomic, op, operand);
  tiny = b.GetInsertBlock();
  b.CreateBr(end);
  b.SetInsertPoint(usual);
  Value *ofInstruction = instruction(fn, atomic, op, operand);
  b.CreateBr(end);
  b.SetInsertPoint(end);
  PHINode *old = b.CreatePHI(operand->getType(), 2);
  old->addIncoming(ofLoop, tiny);
  old->addIncoming(ofInstruction, usual);
  return old;
}

// One scalar, or two halves of a word: the old value.
Value *update(FunctionLowering &fn, const ptx::Instruction &inst, Atomic atomic,
              AtomicRMWInst::BinOp op, Value *operand, unsigned offset) {
  IRBuilder<> &b = fn.builder();
  if (offset)
    atomic.pointer = b.CreateConstGEP1_64(b.getInt8Ty(), atomic.pointer, offset);
  switch (strategyFor(fn, atomic, op, operand->getType())) {
  case Strategy::Instruction:
    return instruction(fn, atomic, op, operand);
  case Strategy::Loop:
    return loop(fn, inst, atomic, op, operand);
  case Strategy::LoopIfTiny:
    return loopIfTiny(fn, inst, atomic, op, operand);
  }
  return nullptr;
}

// ---------- The forms

// PTX ISA: each element of a vector is updated atomically, not all at once. Neighbouring halves are
// updated together, since their vectors are aligned.
Expected<Value *> readModifyWrite(FunctionLowering &fn, const ptx::Instruction &inst,
                                  const ptx::Operand *destination, const ptx::Operand &address,
                                  const ptx::Operand &operand) {
  const ptx::Spelling &spelling = *inst.spelling;
  IRBuilder<> &b = fn.builder();
  std::optional<AtomicRMWInst::BinOp> op = operationOf(reductionOf(spelling), spelling.type(0));
  if (!op)
    return fn.malformed(inst, "an operation is needed");
  std::optional<Atomic> atomic = atomicOf(fn, inst, address);
  if (!atomic)
    return nullptr;
  ptx::Type type = spelling.type(0);
  unsigned count = std::max(spelling.vectorWidth(), 1u);
  Type *llvmType = fn.typeOf(type);
  if (count == 1 && strategyFor(fn, *atomic, *op, llvmType) == Strategy::Instruction)
    return update(fn, inst, *atomic, *op, fn.read(operand, type), 0);

  auto sources = fn.elementsOf(operand, count);
  if (sources.size() != count)
    return fn.malformed(inst, "as many sources as elements are needed");
  SmallVector<Value *, 8> values, results;
  for (const ptx::Operand &source : sources)
    values.push_back(fn.read(source, type));
  unsigned bytes = ptx::sizeInBits(type) / 8;
  bool inPairs = bytes == 2 && count > 1;
  atomic->ordering = AtomicOrdering::Monotonic;
  withSemantics(fn, spelling.first(ptx::ModCategory::Semantics),
                spelling.first(ptx::ModCategory::Scope), [&]() -> Value * {
                  for (unsigned i = 0; i < count; i += inPairs ? 2 : 1) {
                    if (!inPairs) {
                      results.push_back(update(fn, inst, *atomic, *op, values[i], i * bytes));
                      continue;
                    }
                    Value *pair = PoisonValue::get(FixedVectorType::get(llvmType, 2));
                    pair = b.CreateInsertElement(pair, values[i], uint64_t(0));
                    pair = b.CreateInsertElement(pair, values[i + 1], uint64_t(1));
                    Value *old = update(fn, inst, *atomic, *op, pair, i * bytes);
                    results.push_back(b.CreateExtractElement(old, uint64_t(0)));
                    results.push_back(b.CreateExtractElement(old, uint64_t(1)));
                  }
                  return nullptr;
                });
  if (count == 1)
    return results[0];
  if (!destination || destination->kind == ptx::Operand::Kind::Sink)
    return nullptr;
  auto destinations = fn.elementsOf(*destination, count);
  if (destinations.size() != count)
    return fn.malformed(inst, "as many destinations as elements are needed");
  for (auto [element, old] : zip_equal(destinations, results))
    fn.write(element, old, type);
  return nullptr;
}

// atom.(cas|exch).b128
Expected<Value *> wide(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  IRBuilder<> &b = fn.builder();
  Value *pointer = fn.pointer(inst.operands[1], spelling.space());
  if (!pointer)
    return nullptr;
  Value *first = fn.read(inst.operands[2], ptx::Type::B128);
  Value *swapped =
      spelling.has(ptx::Mod::Cas) ? fn.read(inst.operands[3], ptx::Type::B128) : nullptr;
  ptx::Modifier scope = spelling.first(ptx::ModCategory::Scope);
  return withSemantics(fn, spelling.first(ptx::ModCategory::Semantics), scope, [&] {
    return updateWide(fn, pointer, scope, [&](Value *old) {
      return swapped ? b.CreateSelect(b.CreateICmpEQ(old, first), swapped, old) : first;
    });
  });
}

} // namespace

Value *withSemantics(FunctionLowering &fn, ptx::Modifier semantics, ptx::Modifier scope,
                     function_ref<Value *()> relaxed) {
  AtomicOrdering ordering = orderingOf(semantics);
  SyncScope::ID syncScope = syncScopeOf(fn.context(), scope);
  if (isReleaseOrStronger(ordering))
    fn.builder().CreateFence(AtomicOrdering::Release, syncScope);
  Value *result = relaxed();
  if (isAcquireOrStronger(ordering))
    fn.builder().CreateFence(AtomicOrdering::Acquire, syncScope);
  return result;
}

ptx::Modifier reductionOf(const ptx::Spelling &spelling) {
  for (ptx::Modifier logical : {ptx::Mod::And, ptx::Mod::Or, ptx::Mod::Xor})
    if (spelling.has(logical))
      return logical;
  return spelling.first(ptx::ModCategory::Atomic);
}

void reduceElement(FunctionLowering &fn, const ptx::Instruction &inst, Value *pointer,
                   bool isShared, ptx::Modifier operation, ptx::Type type, Value *operand) {
  std::optional<AtomicRMWInst::BinOp> op = operationOf(operation, type);
  if (!op)
    return fn.problem(inst.operands[0], "an operation is needed");
  Atomic atomic = atomicAt(fn, pointer, isShared ? ptx::Mod::Cta : ptx::Mod::Gpu, isShared);
  atomic.keepsDenormals = true;
  update(fn, inst, atomic, *op, operand, 0);
}

// atom{.sem}{.scope}{.space}.op{.noftz}{.level::cache_hint}{.vec}.type d, [a], b{, c}{, policy}
Expected<Value *> lowerAtom(FunctionLowering &fn, const ptx::Instruction &inst) {
  ptx::Type type = inst.spelling->type(0);
  if (type == ptx::Type::B128)
    return wide(fn, inst);
  if (!inst.spelling->has(ptx::Mod::Cas))
    return readModifyWrite(fn, inst, inst.operands.data(), inst.operands[1], inst.operands[2]);

  std::optional<Atomic> atomic = atomicOf(fn, inst, inst.operands[1]);
  if (!atomic)
    return nullptr;
  AtomicCmpXchgInst *exchange = fn.builder().CreateAtomicCmpXchg(
      atomic->pointer, fn.read(inst.operands[2], type), fn.read(inst.operands[3], type),
      Align(ptx::sizeInBits(type) / 8), atomic->ordering,
      AtomicCmpXchgInst::getStrongestFailureOrdering(atomic->ordering), atomic->scope);
  annotate(fn, *atomic, exchange);
  return fn.builder().CreateExtractValue(exchange, 0);
}

// red{.sem}{.scope}{.space}.op{.noftz}{.level::cache_hint}{.vec}.type [a], b{, policy}
Expected<Value *> lowerRed(FunctionLowering &fn, const ptx::Instruction &inst) {
  Expected<Value *> old = readModifyWrite(fn, inst, nullptr, inst.operands[0], inst.operands[1]);
  if (!old)
    return old.takeError();
  return nullptr;
}

} // namespace rubia::lowering
