// SPDX-License-Identifier: Apache-2.0
// LLVM's back end moves a negation into its operand. Where that is a bitcast of a vector of words,
// it negates the last word alone: this is right for an f64, and wrong for vectors (docs/errata.md).
// It moves negations through arithmetic and roundings first, and makes negations of integer
// operations that flip signs. Beside this, it selects the negation of two f32 as a packed addition,
// which flushes denormals where the mode says so.
//
// Negations of single elements are right. So a negation is taken apart if such a bitcast may be
// among what it is moved into, and if it must not flush. What stays whole can be a modifier of
// packed instructions. To take one apart in vain costs one instruction.
//
// Selection also takes 0 - x for a negation, where an instruction can negate its operand. Then it
// has -0 instead of 0. It makes such differences of sums with 0 too. So it must not see what makes
// the operand.
#include "codegen/lib/errata/Negations.h"
#include "codegen/lib/errata/Opaque.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

using Values = SmallPtrSet<const Value *, 32>;

bool isWide(const Type *type) {
  return isa<FixedVectorType>(type) && type->getPrimitiveSizeInBits() > 32;
}

/// Whether the back end may see a bitcast of a vector of words in the value, or may move a negation
/// of it to one. `words` has the values before it of which this is so. What comes from another
/// block or from memory is a register, not a bitcast.
bool mayBeWords(const Instruction &inst, const Values &words) {
  if (!inst.getType()->isVectorTy())
    return false;
  switch (inst.getOpcode()) {
  case Instruction::PHI:
  case Instruction::Load:
  case Instruction::InsertElement:
    return false;
  case Instruction::BitCast:
    return isWide(inst.getType());
  case Instruction::Select: // one of 64 bits is lowered to two of words
    if (isWide(inst.getType()))
      return true;
    break;
  default:
    break;
  }
  return any_of(inst.operands(), [&](const Use &use) { return words.contains(use.get()); });
}

/// An integer operation that flips the signs of what is used as a vector of floating-point numbers.
bool flipsSigns(const Instruction &inst) {
  using namespace PatternMatch;
  return isWide(inst.getType()) && match(&inst, m_Xor(m_Value(), m_SignMask())) &&
         any_of(inst.users(), [](const User *user) {
           return isa<BitCastInst>(user) && user->getType()->isFPOrFPVectorTy();
         });
}

bool isWrongWhole(const Instruction &inst, const Values &words) {
  if (!isa<FixedVectorType>(inst.getType()))
    return false;
  if (inst.getOpcode() != Instruction::FNeg)
    return flipsSigns(inst);
  const DenormalMode mode = inst.getFunction()->getDenormalMode(APFloat::IEEEsingle());
  return words.contains(inst.getOperand(0)) ||
         (inst.getType()->getScalarType()->isFloatTy() && mode != DenormalMode::getIEEE());
}

bool hasPlusZero(const Value *value) {
  const auto *constant = dyn_cast<Constant>(value);
  if (!constant)
    return false;
  const auto *type = dyn_cast<FixedVectorType>(constant->getType());
  for (unsigned i = 0, count = type ? type->getNumElements() : 1; i < count; ++i) {
    const auto *number =
        dyn_cast_or_null<ConstantFP>(type ? constant->getAggregateElement(i) : constant);
    if (number && number->getValueAPF().isPosZero())
      return true;
  }
  return false;
}

/// Whether selection may see 0 - x, or make it: of a sum with 0, one factor may have its sign
/// changed. Differences of f64, and of pairs of halves, are sums with a negated operand there.
bool mayBeFromZero(const Instruction &inst) {
  using namespace PatternMatch;
  const Type *element = inst.getType()->getScalarType();
  if (!element->isFloatTy() && !element->isHalfTy())
    return false;
  Value *factor, *other, *addend;
  if (inst.getOpcode() == Instruction::FSub)
    return hasPlusZero(inst.getOperand(0));
  if (inst.getOpcode() == Instruction::FAdd)
    return hasPlusZero(inst.getOperand(0)) || hasPlusZero(inst.getOperand(1));
  return match(&inst,
               m_Intrinsic<Intrinsic::fma>(m_Value(factor), m_Value(other), m_Value(addend))) &&
         hasPlusZero(addend) && (isa<Constant>(factor) || isa<Constant>(other));
}

void hide(Instruction &inst) {
  IRBuilder<> b(inst.getNextNode());
  Value *opaque = makeOpaque(b, &inst);
  inst.replaceUsesWithIf(opaque, [&](const Use &use) { return use.getUser() != opaque; });
}

void takeApart(Instruction &inst) {
  IRBuilder<> b(&inst);
  Value *result = PoisonValue::get(inst.getType());
  const unsigned count = cast<FixedVectorType>(inst.getType())->getNumElements();
  for (uint64_t i = 0; i < count; ++i) {
    Instruction *element = inst.clone();
    for (Use &operand : element->operands())
      operand = b.CreateExtractElement(operand, i);
    element->mutateType(inst.getType()->getScalarType());
    result = b.CreateInsertElement(result, b.Insert(element), i);
  }
  inst.replaceAllUsesWith(result);
  inst.eraseFromParent();
}

void protect(Function &function) {
  Values words;
  SmallVector<Instruction *> wrong, fromZero;
  for (const BasicBlock *block : ReversePostOrderTraversal<const Function *>(&function))
    for (const Instruction &inst : *block) {
      if (mayBeWords(inst, words))
        words.insert(&inst);
      if (isWrongWhole(inst, words))
        wrong.push_back(const_cast<Instruction *>(&inst));
      if (mayBeFromZero(inst))
        fromZero.push_back(const_cast<Instruction *>(&inst));
    }
  for (Instruction *inst : wrong)
    takeApart(*inst);
  for (Instruction *inst : fromZero)
    hide(*inst);
}

} // namespace

void protectNegations(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      protect(function);
}

} // namespace rubia::codegen
