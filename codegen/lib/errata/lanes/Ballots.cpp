// SPDX-License-Identifier: Apache-2.0
// A ballot of a comparison is selected as one instruction, whose result is a mask of lanes. LLVM
// takes the wrong one for `fcmp one`: that of `fcmp une`, which is true for NaNs (docs/errata.md).
// Two numbers differ in the lanes in which the first is less and in those in which it is greater.
#include "codegen/lib/errata/lanes/Ballots.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

/// What is compared: two numbers, or an element of two vectors.
struct Comparison {
  FCmpInst *inst = nullptr;
  Value *index = nullptr; // of the element, if they are vectors
};

/// The comparison of which a ballot is wrong, or none. The back end sees through inversions, and
/// through vectors of comparisons.
Comparison differenceOf(const Instruction &inst) {
  using namespace PatternMatch;
  const auto *call = dyn_cast<IntrinsicInst>(&inst);
  if (!call || call->getIntrinsicID() != Intrinsic::amdgcn_ballot)
    return {};
  Comparison result;
  Value *lanes = call->getArgOperand(0), *inner = nullptr;
  FCmpInst::Predicate wrong = FCmpInst::FCMP_ONE;
  for (bool isPeeled = true; isPeeled;) {
    isPeeled = match(lanes, m_Not(m_Value(inner)));
    if (isPeeled)
      wrong = FCmpInst::getInversePredicate(wrong);
    else if (auto *element = dyn_cast<ExtractElementInst>(lanes)) {
      result.index = element->getIndexOperand();
      inner = element->getVectorOperand();
      isPeeled = true;
    }
    if (isPeeled)
      lanes = inner;
  }
  result.inst = dyn_cast<FCmpInst>(lanes);
  return result.inst && result.inst->getPredicate() == wrong ? result : Comparison();
}

void mend(Instruction &ballot, const Comparison &comparison) {
  IRBuilder<> b(&ballot);
  Value *first = comparison.inst->getOperand(0), *second = comparison.inst->getOperand(1);
  if (comparison.index) {
    first = b.CreateExtractElement(first, comparison.index);
    second = b.CreateExtractElement(second, comparison.index);
  }
  auto lanesOf = [&](Value *condition) {
    return b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {ballot.getType()}, {condition});
  };
  Value *less = lanesOf(b.CreateFCmpOLT(first, second));
  ballot.replaceAllUsesWith(b.CreateOr(less, lanesOf(b.CreateFCmpOGT(first, second))));
  ballot.eraseFromParent();
}

} // namespace

void protectBallots(Module &module) {
  for (Function &function : module)
    for (Instruction &inst : make_early_inc_range(instructions(function)))
      if (Comparison comparison = differenceOf(inst); comparison.inst)
        mend(inst, comparison);
}

} // namespace rubia::codegen
