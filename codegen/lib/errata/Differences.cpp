// SPDX-License-Identifier: Apache-2.0
// LLVM's back end knows |x - y| of unsigned numbers (ISD::ABDU). For numbers that no instruction
// takes whole, it subtracts if it can tell that x is not less than y, and then takes the difference
// for a signed number, whose absolute value it forms: 2^64 - 160 becomes 160. What saturates is not
// recognised as such a difference. It costs up to five instructions more.
#include "codegen/lib/errata/Differences.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

struct Difference {
  Value *x = nullptr, *y = nullptr;
  bool isNegated = false;
};

/// |x - y| or its negation, as the back end recognises them.
bool isDifference(const Instruction &inst, Difference &found) {
  using namespace PatternMatch;
  if (match(&inst, m_Sub(m_UMax(m_Value(found.x), m_Value(found.y)),
                         m_c_UMin(m_Deferred(found.x), m_Deferred(found.y)))))
    return true;
  CmpPredicate predicate;
  Value *whenTrue = nullptr, *whenFalse = nullptr;
  if (!match(&inst, m_Select(m_ICmp(predicate, m_Value(found.x), m_Value(found.y)),
                             m_Value(whenTrue), m_Value(whenFalse))) ||
      !ICmpInst::isUnsigned(predicate))
    return false;
  const auto forward = m_Sub(m_Specific(found.x), m_Specific(found.y));
  const auto backward = m_Sub(m_Specific(found.y), m_Specific(found.x));
  const bool isForward = match(whenTrue, forward) && match(whenFalse, backward);
  if (!isForward && !(match(whenTrue, backward) && match(whenFalse, forward)))
    return false;
  const bool isLess = predicate == ICmpInst::ICMP_ULT || predicate == ICmpInst::ICMP_ULE;
  found.isNegated = isForward == isLess;
  return true;
}

} // namespace

void protectDifferences(Module &module) {
  for (Function &function : module)
    for (Instruction &inst : make_early_inc_range(instructions(function))) {
      Difference found;
      if (!inst.getType()->isIntegerTy() || inst.getType()->getIntegerBitWidth() <= 32 ||
          !isDifference(inst, found))
        continue;
      IRBuilder<> b(&inst);
      Value *difference =
          b.CreateOr(b.CreateBinaryIntrinsic(Intrinsic::usub_sat, found.x, found.y),
                     b.CreateBinaryIntrinsic(Intrinsic::usub_sat, found.y, found.x));
      inst.replaceAllUsesWith(found.isNegated ? b.CreateNeg(difference) : difference);
    }
}

} // namespace rubia::codegen
