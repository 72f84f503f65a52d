// SPDX-License-Identifier: Apache-2.0
// One array is followed from its alloca through everything that is computed of its address.
#include "codegen/lib/LocalArrays.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr unsigned kFlat = 0, kPrivate = 5;

/// Larger arrays stay in memory. LLVM chooses an element of up to 16 registers by comparisons; of
/// more it writes all of them to memory for each access.
constexpr uint64_t kMostBytes = 16 * 4;

/// An alloca and what is computed of its address.
class LocalArray {
public:
  LocalArray(AllocaInst &array, const DataLayout &layout)
      : array(array), layout(layout),
        stayInMemory(array.getFunction()->hasFnAttribute("rubia-local-arrays")) {}

  /// Whether the address is used as a number at all.
  bool hasAddress() const { return !roots.empty(); }
  /// Whether all uses are understood.
  bool follow();
  void rewrite();

private:
  AllocaInst &array;
  const DataLayout &layout;
  const bool stayInMemory;
  /// Addresses that pointers are made numbers at, all numbers computed of them, and where they
  /// become pointers again.
  SmallVector<PtrToIntInst *> roots;
  SmallSetVector<Instruction *, 16> numbers;
  SmallSetVector<Instruction *, 16> pointers; // derived ones, without the array itself
  SmallVector<IntToPtrInst *> ends;
  uint64_t elementBytes = 8; // the least size of an access

  bool followPointer(Value &pointer);
  bool followNumber(Instruction &number);
  void access(Type *type) {
    elementBytes = std::min<uint64_t>(elementBytes, layout.getTypeStoreSize(type->getScalarType()));
  }
  bool isConsistent() const;
  Value *offsetOf(IRBuilder<> &b, Value &pointer);
};

bool LocalArray::followPointer(Value &pointer) {
  for (User *user : pointer.users()) {
    auto *instruction = cast<Instruction>(user);
    if (auto *load = dyn_cast<LoadInst>(instruction)) {
      access(load->getType());
    } else if (auto *store = dyn_cast<StoreInst>(instruction)) {
      if (store->getValueOperand() == &pointer)
        return false;
      access(store->getValueOperand()->getType());
    } else if (auto *step = dyn_cast<GetElementPtrInst>(instruction)) {
      if (!step->hasAllConstantIndices())
        return false;
      pointers.insert(step);
    } else if (auto *cast = dyn_cast<AddrSpaceCastInst>(instruction)) {
      if (cast->getDestAddressSpace() != kFlat && cast->getDestAddressSpace() != kPrivate)
        return false;
      pointers.insert(cast);
    } else if (auto *number = dyn_cast<PtrToIntInst>(instruction)) {
      if (number->getType()->getIntegerBitWidth() !=
          layout.getPointerSizeInBits(number->getPointerAddressSpace()))
        return false;
      roots.push_back(number);
      numbers.insert(number);
    } else {
      return false;
    }
  }
  return true;
}

bool LocalArray::followNumber(Instruction &number) {
  if (number.isUsedByMetadata()) // somebody wants to see the address
    return false;
  for (User *user : number.users()) {
    auto *instruction = cast<Instruction>(user);
    switch (instruction->getOpcode()) {
    case Instruction::Add:
    case Instruction::PHI:
    case Instruction::Freeze:
      numbers.insert(instruction);
      break;
    case Instruction::Sub: // of a number from it
      if (instruction->getOperand(1) == &number)
        return false;
      numbers.insert(instruction);
      break;
    case Instruction::Select:
      if (cast<SelectInst>(instruction)->getCondition() == &number)
        return false;
      numbers.insert(instruction);
      break;
    case Instruction::ZExt:
      numbers.insert(instruction);
      break;
    case Instruction::Trunc:
      if (instruction->getType()->getIntegerBitWidth() != 32)
        return false;
      numbers.insert(instruction);
      break;
    case Instruction::ICmp:
      if (!cast<ICmpInst>(instruction)->isEquality())
        return false;
      numbers.insert(instruction);
      break;
    case Instruction::IntToPtr: {
      auto *end = cast<IntToPtrInst>(instruction);
      if (!is_contained(ends, end))
        ends.push_back(end);
      pointers.insert(end);
      break;
    }
    default:
      return false;
    }
  }
  return true;
}

/// Nothing may combine an address with something else where both have to be addresses, or two of
/// them where only one may be. And no number of one space may become a pointer of another.
bool LocalArray::isConsistent() const {
  // Numbers are flat or private addresses. The low half of a flat one is the private one.
  DenseMap<const Value *, unsigned> spaces;
  for (const PtrToIntInst *root : roots)
    spaces[root] = root->getPointerAddressSpace();
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction *number : numbers)
      for (const Value *operand : number->operands())
        if (spaces.contains(operand) && !spaces.contains(number)) {
          spaces[number] = isa<TruncInst>(number) ? kPrivate : spaces.lookup(operand);
          changed = true;
        }
  }
  for (const Instruction *number : numbers) {
    if (isa<PtrToIntInst>(number))
      continue;
    const unsigned first = isa<SelectInst>(number) ? 1 : 0, all = number->getNumOperands() - first;
    unsigned addresses = 0;
    for (const Value *operand : drop_begin(number->operands(), first)) {
      auto found = spaces.find(operand);
      if (found == spaces.end())
        continue;
      if (found->second != spaces.lookup(number) && !isa<TruncInst>(number))
        return false;
      ++addresses;
    }
    if (addresses != (isa<BinaryOperator>(number) ? 1 : all))
      return false;
    if (isa<ZExtInst>(number) && spaces.lookup(number) != kPrivate)
      return false;
  }
  return all_of(ends, [&](const IntToPtrInst *end) {
    return spaces.lookup(end->getOperand(0)) == end->getAddressSpace();
  });
}

bool LocalArray::follow() {
  if (!followPointer(array))
    return false;
  unsigned nextPointer = 0, nextNumber = 0;
  while (nextPointer < pointers.size() || nextNumber < numbers.size()) {
    if (nextPointer < pointers.size()) {
      if (!followPointer(*pointers[nextPointer++]))
        return false;
      continue;
    }
    Instruction &number = *numbers[nextNumber++];
    if (!isa<ICmpInst>(number) && !followNumber(number))
      return false;
  }
  return isConsistent();
}

/// A number that gives `value` when it is multiplied by 2^shift, as far as the low `bits` go, or
/// null. `behind` is where it is needed.
Value *divided(IRBuilder<> &b, Value *value, unsigned shift, unsigned bits, unsigned depth = 0) {
  if (shift == 0)
    return value;
  Type *type = value->getType();
  const unsigned width = type->getIntegerBitWidth();
  if (auto *constant = dyn_cast<ConstantInt>(value))
    return constant->getValue().countr_zero() >= shift
               ? ConstantInt::get(type, constant->getValue().ashr(shift))
               : nullptr;
  auto *operation = dyn_cast<Instruction>(value);
  if (operation && depth < 6) {
    auto operand = [&](unsigned i) {
      return divided(b, operation->getOperand(i), shift, bits, depth + 1);
    };
    auto *amount =
        operation->getNumOperands() > 1 ? dyn_cast<ConstantInt>(operation->getOperand(1)) : nullptr;
    switch (operation->getOpcode()) {
    case Instruction::Mul:
      if (amount && amount->getValue().countr_zero() >= shift)
        return b.CreateMul(operation->getOperand(0),
                           ConstantInt::get(type, amount->getValue().ashr(shift)));
      break;
    case Instruction::Shl:
      if (amount && amount->getValue().uge(shift))
        return b.CreateShl(operation->getOperand(0),
                           ConstantInt::get(type, amount->getValue() - shift));
      break;
    case Instruction::Add: {
      Value *first = operand(0), *second = first ? operand(1) : nullptr;
      if (second)
        return b.CreateAdd(first, second);
      break;
    }
    case Instruction::Trunc:
      if (Value *whole = operand(0))
        return b.CreateTrunc(whole, type);
      break;
    case Instruction::ZExt:
    case Instruction::SExt:
      if (operation->getOperand(0)->getType()->getIntegerBitWidth() >= bits)
        if (Value *part = operand(0))
          return b.CreateZExt(part, type);
      break;
    default:
      break;
    }
  }
  KnownBits known(width);
  computeKnownBits(value, known, b.GetInsertBlock()->getDataLayout());
  return known.countMinTrailingZeros() >= shift ? b.CreateLShr(value, shift) : nullptr;
}

/// How far behind the array's start a pointer lies, as a number of the pointer's size. Numbers are
/// offsets by now.
Value *LocalArray::offsetOf(IRBuilder<> &b, Value &pointer) {
  Type *type = layout.getIntPtrType(pointer.getType());
  if (&pointer == &array)
    return ConstantInt::get(type, 0);
  if (auto *end = dyn_cast<IntToPtrInst>(&pointer))
    return b.CreateSExtOrTrunc(end->getOperand(0), type);
  if (auto *cast = dyn_cast<AddrSpaceCastInst>(&pointer))
    return b.CreateSExtOrTrunc(offsetOf(b, *cast->getOperand(0)), type);
  auto &step = llvm::cast<GetElementPtrInst>(pointer);
  APInt bytes(layout.getIndexTypeSizeInBits(step.getType()), 0);
  step.accumulateConstantOffset(layout, bytes);
  return b.CreateAdd(offsetOf(b, *step.getPointerOperand()),
                     ConstantInt::get(type, bytes.getSExtValue(), true));
}

void LocalArray::rewrite() {
  LLVMContext &context = array.getContext();
  for (PtrToIntInst *root : roots) {
    IRBuilder<> b(root);
    root->replaceAllUsesWith(offsetOf(b, *root->getPointerOperand()));
  }
  for (Instruction *number : numbers) {
    number->dropPoisonGeneratingFlags(); // true of addresses, not of offsets
    Value *simple = nullptr;
    if (auto *wide = dyn_cast<ZExtInst>(number)) // an offset has a sign
      simple = IRBuilder<>(wide).CreateSExt(wide->getOperand(0), wide->getType());
    else if (!isa<PtrToIntInst>(number))
      simple = simplifyInstruction(number, SimplifyQuery(layout, number));
    if (simple && simple != number)
      number->replaceAllUsesWith(simple);
  }
  const uint64_t bytes = *array.getAllocationSize(layout);
  if (bytes % elementBytes || bytes > kMostBytes || stayInMemory)
    elementBytes = 1;
  Type *element = Type::getIntNTy(context, unsigned(elementBytes * 8));
  IRBuilder<> entry(&array);
  AllocaInst *typed =
      entry.CreateAlloca(ArrayType::get(element, bytes / elementBytes), kPrivate, nullptr);
  typed->takeName(&array);
  typed->setAlignment(array.getAlign());
  Value *flat = nullptr;
  for (IntToPtrInst *end : ends) {
    const bool isFlat = end->getAddressSpace() == kFlat;
    if (isFlat && !flat)
      flat = entry.CreateAddrSpaceCast(typed, end->getType());
    IRBuilder<> b(end);
    Value *base = isFlat ? flat : typed;
    Type *offsetType = layout.getIntPtrType(end->getType());
    Value *offset = b.CreateZExtOrTrunc(end->getOperand(0), offsetType);
    Value *index = divided(b, offset, Log2_64(elementBytes), offsetType->getIntegerBitWidth());
    end->replaceAllUsesWith(index ? b.CreateGEP(element, base, index)
                                  : b.CreateGEP(b.getInt8Ty(), base, offset));
  }
  array.replaceAllUsesWith(typed);
  for (IntToPtrInst *end : ends)
    end->eraseFromParent();
  for (PtrToIntInst *root : roots)
    root->eraseFromParent();
  array.eraseFromParent();
}

} // namespace

PreservedAnalyses LocalArraysPass::run(Function &function, FunctionAnalysisManager &) {
  const DataLayout &layout = function.getDataLayout();
  std::unique_ptr<LocalArray> only;
  for (Instruction &instruction : function.getEntryBlock()) {
    auto *alloca = dyn_cast<AllocaInst>(&instruction);
    if (!alloca || !alloca->isStaticAlloca() || !alloca->getAllocatedType()->isArrayTy())
      continue;
    auto array = std::make_unique<LocalArray>(*alloca, layout);
    if (!array->follow())
      return PreservedAnalyses::all();
    if (!array->hasAddress())
      continue;
    if (only)
      return PreservedAnalyses::all();
    only = std::move(array);
  }
  if (!only)
    return PreservedAnalyses::all();
  only->rewrite();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

} // namespace rubia::codegen
