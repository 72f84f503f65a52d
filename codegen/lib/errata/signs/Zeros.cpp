// SPDX-License-Identifier: Apache-2.0
// Selection takes 0 - x for a negation, where an instruction can negate its operand. Then it has -0
// instead of 0. It makes such differences of sums with 0 too.
//
// It takes x < 0 ? x : 0 for a minimum. That is right for numbers that are not equal. Of 0 and -0
// the choice gives the one that is written last, and a minimum gives -0.
//
// And it takes the minimum of a number and the maximum of x and another for the middle of the
// three. For bounds of 0 and -0 the middle is another one, as -0 is less. And with an upper bound
// of 0 the instruction gives 0 for -0: it compares x with the largest of the three, which is equal.
//
// And it takes a pair of 16-bit numbers of which one is -0 for one with 0.
//
// In each case it must not see what makes the operand.
#include "codegen/lib/errata/signs/Zeros.h"
#include "codegen/lib/errata/Opaque.h"
#include "codegen/lib/errata/signs/Elements.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace rubia::codegen {
namespace {

bool isZero(Element element, bool isMinus) {
  const ConstantFP *number = numberOf(element);
  return number && number->isZero() && number->isNegative() == isMinus;
}

/// Whether an element is a zero of that sign.
bool hasZero(Value *value, bool isMinus) {
  return any_of(seq(elementsOf(value)), [&](unsigned i) { return isZero({value, i}, isMinus); });
}

bool hasNumber(Value *value) {
  return any_of(seq(elementsOf(value)), [&](unsigned i) { return numberOf({value, i}); });
}

/// Whether selection may see 0 - x, or make it: of a sum with 0, one factor may have its sign
/// changed. Differences of f64, and of pairs of halves, are sums with a negated operand there.
bool mayBeFromZero(const Instruction &inst) {
  const Type *element = inst.getType()->getScalarType();
  if (!element->isFloatTy() && !element->isHalfTy())
    return false;
  Value *factor, *other, *addend;
  if (inst.getOpcode() == Instruction::FSub)
    return hasZero(inst.getOperand(0), false);
  if (inst.getOpcode() == Instruction::FAdd)
    return hasZero(inst.getOperand(0), false) || hasZero(inst.getOperand(1), false);
  return match(&inst,
               m_Intrinsic<Intrinsic::fma>(m_Value(factor), m_Value(other), m_Value(addend))) &&
         hasZero(addend, false) && (hasNumber(factor) || hasNumber(other));
}

bool isOfTwo(const Instruction &inst, ArrayRef<Intrinsic::ID> ids) {
  const auto *call = dyn_cast<IntrinsicInst>(&inst);
  return call && is_contained(ids, call->getIntrinsicID());
}

bool isMinimum(const Instruction &inst) {
  return isOfTwo(inst, {Intrinsic::minnum, Intrinsic::minimumnum, Intrinsic::minimum});
}

bool isMaximum(const Instruction &inst) {
  return isOfTwo(inst, {Intrinsic::maxnum, Intrinsic::maximumnum, Intrinsic::maximum});
}

bool hasZeroOperand(const Instruction &inst, bool isMinus) {
  return hasZero(inst.getOperand(0), isMinus) || hasZero(inst.getOperand(1), isMinus);
}

bool hasNumberOperand(const Instruction &inst) {
  return hasNumber(inst.getOperand(0)) || hasNumber(inst.getOperand(1));
}

/// Whether the middle of three may be another zero than a minimum of a maximum, or the other way
/// round, or than that with all signs changed.
bool losesZeroAsMiddle(const Instruction &minimum, const Instruction &maximum) {
  return (hasZeroOperand(minimum, false) && hasNumberOperand(maximum)) ||
         (hasZeroOperand(maximum, true) && hasNumberOperand(minimum)) ||
         (hasZeroOperand(minimum, true) && hasZeroOperand(maximum, false));
}

/// The operand of such a minimum or maximum that is the other one.
Use *innerOfMiddle(Instruction &outer) {
  if (!isMinimum(outer) && !isMaximum(outer))
    return nullptr;
  for (Use &operand : MutableArrayRef(outer.op_begin(), 2))
    for (unsigned i = 0; i < elementsOf(operand); ++i) {
      const auto *inner = dyn_cast<Instruction>(sourceOf({operand, i}).value);
      if (inner && ((isMinimum(outer) && isMaximum(*inner) && losesZeroAsMiddle(outer, *inner)) ||
                    (isMaximum(outer) && isMinimum(*inner) && losesZeroAsMiddle(*inner, outer))))
        return &operand;
    }
  return nullptr;
}

/// Whether an element of a choice is the number that is compared with zero, or the zero, and that
/// as a minimum or maximum would give another zero. Of equal ones the choice gives the value that
/// is written last. With a comparison that is true for these selection leaves it alone.
bool losesZero(SelectInst &choice, Use &number, unsigned index) {
  Value *condition = choice.getCondition();
  const Element compared = sourceOf({condition, condition->getType()->isVectorTy() ? index : 0});
  const auto *compare = dyn_cast<FCmpInst>(compared.value);
  if (!compare || FCmpInst::isTrueWhenEqual(compare->getPredicate()) || compare->isEquality())
    return false;
  const bool isLess = compare->getPredicate() == FCmpInst::FCMP_OLT ||
                      compare->getPredicate() == FCmpInst::FCMP_ULT;
  const bool isFirst = &number == &choice.getOperandUse(1);
  Value *zero = choice.getOperand(isFirst ? 2 : 1);
  for (const unsigned left : {0, 1}) {
    const Element bound = {compare->getOperand(1 - left), compared.index};
    const bool isMinimum = (isLess == (left == 0)) == isFirst;
    if ((isZero(bound, false) || isZero(bound, true)) &&
        sourceOf({compare->getOperand(left), compared.index}) == sourceOf({number, index}) &&
        isZero({zero, index}, isMinimum != isFirst))
      return true;
  }
  return false;
}

/// The number of such a choice.
Use *chosenNumber(SelectInst &choice) {
  for (const unsigned i : {1, 2})
    for (unsigned element = 0; element < elementsOf(&choice); ++element)
      if (losesZero(choice, choice.getOperandUse(i), element))
        return &choice.getOperandUse(i);
  return nullptr;
}

/// Whether pairs of 16-bit numbers may be made of a vector, with a -0 that selection knows.
bool hasMinusZeroInPair(Instruction &inst) {
  return inst.getType()->isVectorTy() && inst.getType()->getScalarType()->is16bitFPTy() &&
         hasZero(&inst, true);
}

void hideResult(Instruction &inst) {
  IRBuilder<> b(inst.getNextNode());
  Value *opaque = makeOpaque(b, &inst);
  inst.replaceUsesWithIf(opaque, [&](const Use &use) { return use.getUser() != opaque; });
}

/// Gives the elements of a pair that are -0 to selection as numbers that it does not know.
void hideMinusZeros(Instruction &inst) {
  IRBuilder<> b(inst.getNextNode());
  Value *pair = &inst;
  SmallPtrSet<User *, 4> own;
  for (unsigned i = 0; i < elementsOf(&inst); ++i)
    if (isZero({&inst, i}, true)) {
      pair = b.CreateInsertElement(
          pair, makeOpaque(b, ConstantFP::getNegativeZero(inst.getType()->getScalarType())), i);
      own.insert(cast<User>(pair));
    }
  if (pair != &inst)
    inst.replaceUsesWithIf(pair, [&](const Use &use) { return !own.contains(use.getUser()); });
}

} // namespace

void protectZeros(Module &module) {
  SmallVector<Instruction *> results, pairs;
  SmallVector<Use *> operands;
  for (Function &function : module)
    for (Instruction &inst : instructions(function)) {
      if (mayBeFromZero(inst))
        results.push_back(&inst);
      if (hasMinusZeroInPair(inst))
        pairs.push_back(&inst);
      if (Use *inner = innerOfMiddle(inst))
        operands.push_back(inner);
      if (auto *choice = dyn_cast<SelectInst>(&inst))
        if (Use *number = chosenNumber(*choice))
          operands.push_back(number);
    }
  for (Use *operand : operands) {
    IRBuilder<> b(cast<Instruction>(operand->getUser()));
    operand->set(makeOpaque(b, *operand));
  }
  for (Instruction *inst : results)
    hideResult(*inst);
  for (Instruction *inst : pairs)
    hideMinusZeros(*inst);
}

} // namespace rubia::codegen
