// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/transform/ForbiddenForms.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace rubia::lowering {
namespace {

bool hasPoisonFlags(const Instruction &instruction) {
  if (isa<FPMathOperator>(instruction) && instruction.getFastMathFlags().any())
    return true;
  if (const auto *gep = dyn_cast<GetElementPtrInst>(&instruction))
    return gep->getNoWrapFlags() != GEPNoWrapFlags::none();
  return instruction.hasPoisonGeneratingFlags();
}

// A constant, max(freeze x, 1), max(|freeze x|, 1), or a select that replaces the values of a
// frozen divisor that are undefined.
bool isSafeDivisor(Value *divisor, bool isSigned) {
  const APInt *number;
  if (match(divisor, m_APInt(number)))
    return !number->isZero() && !(isSigned && number->isAllOnes());
  auto frozen = m_Freeze(m_Value());
  auto magnitude = m_Intrinsic<Intrinsic::abs>(m_CombineOr(frozen, m_Constant()), m_Zero());
  if (!isSigned && match(divisor, m_UMax(m_CombineOr(frozen, magnitude), m_One())))
    return true;
  Value *condition, *original;
  if (!match(divisor, m_Select(m_Value(condition), m_One(), m_Value(original))) ||
      !isa<FreezeInst, Constant>(original))
    return false;
  auto tests = [&](Value *test, const APInt &value) {
    CmpPredicate predicate;
    const APInt *compared;
    return match(test, m_ICmp(predicate, m_Specific(original), m_APInt(compared))) &&
           predicate == CmpInst::ICMP_EQ && *compared == value;
  };
  unsigned bits = divisor->getType()->getScalarSizeInBits();
  APInt zero = APInt::getZero(bits), minusOne = APInt::getAllOnes(bits);
  if (!isSigned)
    return tests(condition, zero);
  Value *left, *right;
  return match(condition, m_Or(m_Value(left), m_Value(right))) && tests(left, zero) &&
         tests(right, minusOne);
}

bool isSafeShiftAmount(Value *amount) {
  unsigned bits = amount->getType()->getScalarSizeInBits();
  while (match(amount, m_ZExt(m_Value(amount))) || match(amount, m_Trunc(m_Value(amount)))) {
  }
  const APInt *bound;
  if (match(amount, m_APInt(bound)) || match(amount, m_c_And(m_Value(), m_APInt(bound))) ||
      match(amount, m_UMin(m_Value(), m_APInt(bound))))
    return bound->ult(bits);
  return false;
}

const char *faultOf(const Instruction &instruction) {
  if (hasPoisonFlags(instruction))
    return "a flag that makes a result poison";
  switch (instruction.getOpcode()) {
  case Instruction::FPToSI:
  case Instruction::FPToUI:
    return "a conversion that is undefined out of range";
  case Instruction::UDiv:
  case Instruction::URem:
    return isSafeDivisor(instruction.getOperand(1), false) ? nullptr : "an unguarded divisor";
  case Instruction::SDiv:
  case Instruction::SRem:
    return isSafeDivisor(instruction.getOperand(1), true) ? nullptr : "an unguarded divisor";
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
    return isSafeShiftAmount(instruction.getOperand(1)) ? nullptr : "an unbounded shift";
  default:
    return nullptr;
  }
}

} // namespace

std::vector<std::string> forbiddenForms(const Module &module) {
  std::vector<std::string> found;
  for (const Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (!function.hasFnAttribute(Attribute::NullPointerIsValid) ||
        function.hasFnAttribute(Attribute::MustProgress) ||
        function.hasFnAttribute(Attribute::WillReturn))
      found.push_back((function.getName() + ": wrong attributes").str());
    for (const Instruction &instruction : instructions(function))
      if (const char *fault = faultOf(instruction)) {
        std::string text;
        raw_string_ostream(text) << function.getName() << ": " << fault << ":" << instruction;
        found.push_back(text);
      }
  }
  return found;
}

} // namespace rubia::lowering
