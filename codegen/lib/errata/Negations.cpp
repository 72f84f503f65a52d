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
#include "codegen/lib/errata/Negations.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
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
  SmallVector<Instruction *> wrong;
  for (const BasicBlock *block : ReversePostOrderTraversal<const Function *>(&function))
    for (const Instruction &inst : *block) {
      if (mayBeWords(inst, words))
        words.insert(&inst);
      if (isWrongWhole(inst, words))
        wrong.push_back(const_cast<Instruction *>(&inst));
    }
  for (Instruction *inst : wrong)
    takeApart(*inst);
}

} // namespace

void protectNegations(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      protect(function);
}

} // namespace rubia::codegen
