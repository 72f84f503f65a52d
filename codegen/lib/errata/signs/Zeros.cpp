// SPDX-License-Identifier: Apache-2.0
// Selection takes 0 - x for a negation, where an instruction can negate its operand. Then it has -0
// instead of 0. It makes such differences of sums with 0 too.
//
// It takes x < 0 ? x : 0 for a minimum. That is right for numbers that are not equal. Of 0 and -0
// the choice gives the one that is written last, and a minimum gives -0.
//
// And it takes the minimum of -0 and the maximum of x and 0 for the middle of the three, as the
// bounds are equal for it. For instructions -0 is less, and then the middle is another one.
//
// And it takes a pair of 16-bit numbers of which one is -0 for one with 0.
//
// In each case it must not see what makes the operand.
#include "codegen/lib/errata/signs/Zeros.h"
#include "codegen/lib/errata/Opaque.h"
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

/// Whether an element of a constant is a zero of that sign.
bool hasZero(const Value *value, bool isMinus) {
  const auto *constant = dyn_cast<Constant>(value);
  if (!constant)
    return false;
  const auto *type = dyn_cast<FixedVectorType>(constant->getType());
  for (unsigned i = 0, count = type ? type->getNumElements() : 1; i < count; ++i) {
    const auto *number =
        dyn_cast_or_null<ConstantFP>(type ? constant->getAggregateElement(i) : constant);
    if (number && number->isZero() && number->isNegative() == isMinus)
      return true;
  }
  return false;
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
         hasZero(addend, false) && (isa<Constant>(factor) || isa<Constant>(other));
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

/// A minimum or maximum of x and a zero, of which another one with the other zero is made.
bool mayBecomeMiddle(const Instruction &inst) {
  if (!isMinimum(inst) && !isMaximum(inst))
    return false;
  for (const bool isMinus : {false, true})
    if (hasZeroOperand(inst, isMinus) && any_of(inst.users(), [&](const User *user) {
          const auto &outer = cast<Instruction>(*user);
          return (isMinimum(outer) || isMaximum(outer)) && isMinimum(outer) != isMinimum(inst) &&
                 hasZeroOperand(outer, !isMinus);
        }))
      return true;
  return false;
}

/// The number of a choice between it and the zero that it is compared with, where a minimum or
/// maximum gives another zero. Of equal ones the choice gives the value that is written last. With
/// a comparison that is true for these selection leaves it alone.
Use *chosenNumber(SelectInst &choice) {
  const auto *compare = dyn_cast<FCmpInst>(choice.getCondition());
  if (!compare || FCmpInst::isTrueWhenEqual(compare->getPredicate()) || compare->isEquality())
    return nullptr;
  const bool isLess = compare->getPredicate() == FCmpInst::FCMP_OLT ||
                      compare->getPredicate() == FCmpInst::FCMP_ULT;
  for (const unsigned left : {0, 1}) {
    const Value *x = compare->getOperand(left);
    if (!match(compare->getOperand(1 - left), m_AnyZeroFP()))
      continue;
    for (const bool isFirst : {true, false}) {
      Use &number = choice.getOperandUse(isFirst ? 1 : 2);
      const Value *zero = choice.getOperand(isFirst ? 2 : 1);
      const bool isMinimum = (isLess == (left == 0)) == isFirst;
      if (number == x && hasZero(zero, isMinimum != isFirst))
        return &number;
    }
  }
  return nullptr;
}

/// A constant with a -0 of which, and of another number, a pair of 16-bit numbers is made.
Use *insertedMinusZero(Instruction &inst) {
  if (!isa<InsertElementInst, ShuffleVectorInst>(inst) ||
      !inst.getType()->getScalarType()->is16bitFPTy())
    return nullptr;
  for (Use &operand : inst.operands())
    if (hasZero(operand, true))
      return &operand;
  return nullptr;
}

void hideResult(Instruction &inst) {
  IRBuilder<> b(inst.getNextNode());
  Value *opaque = makeOpaque(b, &inst);
  inst.replaceUsesWithIf(opaque, [&](const Use &use) { return use.getUser() != opaque; });
}

} // namespace

void protectZeros(Module &module) {
  SmallVector<Instruction *> results;
  SmallVector<Use *> operands;
  for (Function &function : module)
    for (Instruction &inst : instructions(function))
      if (mayBeFromZero(inst) || mayBecomeMiddle(inst))
        results.push_back(&inst);
      else if (Use *constant = insertedMinusZero(inst))
        operands.push_back(constant);
      else if (auto *choice = dyn_cast<SelectInst>(&inst))
        if (Use *number = chosenNumber(*choice))
          operands.push_back(number);
  for (Instruction *inst : results)
    hideResult(*inst);
  for (Use *operand : operands) {
    IRBuilder<> b(cast<Instruction>(operand->getUser()));
    operand->set(makeOpaque(b, *operand));
  }
}

} // namespace rubia::codegen
