// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/Divisions.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace rubia::codegen {

namespace {

class Divisions {
public:
  Divisions(const DataLayout &layout, const LoopInfo &loops) : layout(layout), loops(loops) {}
  void expand(BinaryOperator &division);
  bool hasShortForm(const BinaryOperator &division) const {
    return all_of(division.operands(), [&](const Use &operand) {
      return computeKnownBits(operand, layout).countMinLeadingZeros() >= 8;
    });
  }

private:
  const DataLayout &layout;
  const LoopInfo &loops;
  /// z by divisor and the block that it is computed in.
  DenseMap<std::pair<Value *, BasicBlock *>, Instruction *> reciprocals;

  Value *reciprocalOf(Value *divisor, Instruction &use);
};

Value *highProduct(IRBuilder<> &b, Value *x, Value *y) {
  Type *wide = b.getInt64Ty();
  Value *product = b.CreateMul(b.CreateZExt(x, wide), b.CreateZExt(y, wide));
  return b.CreateTrunc(b.CreateLShr(product, 32), b.getInt32Ty());
}

Value *Divisions::reciprocalOf(Value *divisor, Instruction &use) {
  Instruction *place = &use;
  for (const Loop *loop = loops.getLoopFor(use.getParent()); loop; loop = loop->getParentLoop()) {
    BasicBlock *before = loop->getLoopPreheader();
    if (!before || !loop->isLoopInvariant(divisor))
      break;
    place = before->getTerminator();
  }
  Instruction *&known = reciprocals[{divisor, place->getParent()}];
  if (known && known->comesBefore(place))
    return known;
  IRBuilder<> b(place);
  Type *f32 = b.getFloatTy();
  Value *inverse = b.CreateIntrinsic(Intrinsic::amdgcn_rcp, {f32}, {b.CreateUIToFP(divisor, f32)});
  // LLVM's factor is 0x1.fffffcp31. With it 289 divisors get too large a reciprocal where v_rcp_f32
  // is one unit off, which it may be; with this one none does, and the quotient is at most 2 low.
  Value *z =
      b.CreateFPToUI(b.CreateFMul(inverse, ConstantFP::get(f32, 0x1.fffffap31)), b.getInt32Ty());
  known = b.Insert(
      BinaryOperator::CreateAdd(z, highProduct(b, z, b.CreateMul(b.CreateNeg(divisor), z))));
  return known;
}

/// A select that has all ones for a divisor of zero in the place of this remainder, or null.
SelectInst *guardOf(BinaryOperator &remainder) {
  Value *original;
  if (!remainder.hasOneUse() || !match(remainder.getOperand(1), m_UMax(m_Value(original), m_One())))
    return nullptr;
  auto *guard = dyn_cast<SelectInst>(*remainder.user_begin());
  CmpPredicate predicate;
  if (!guard || !match(guard->getCondition(), m_ICmp(predicate, m_Specific(original), m_Zero())) ||
      predicate != CmpInst::ICMP_EQ || !match(guard->getTrueValue(), m_AllOnes()))
    return nullptr;
  return guard;
}

void Divisions::expand(BinaryOperator &division) {
  IRBuilder<> b(&division);
  Value *dividend = division.getOperand(0), *divisor = division.getOperand(1);
  Value *quotient = highProduct(b, dividend, reciprocalOf(divisor, division));
  Value *rest = b.CreateSub(dividend, b.CreateMul(quotient, divisor));
  auto least = [&](Value *x, Value *y) { return b.CreateBinaryIntrinsic(Intrinsic::umin, x, y); };
  auto most = [&](Value *x, Value *y) { return b.CreateBinaryIntrinsic(Intrinsic::umax, x, y); };
  if (division.getOpcode() == Instruction::UDiv) {
    auto carry = [&] { return b.CreateZExt(b.CreateICmpUGE(rest, divisor), b.getInt32Ty()); };
    quotient = b.CreateAdd(quotient, carry());
    rest = least(rest, b.CreateSub(rest, divisor));
    division.replaceAllUsesWith(b.CreateAdd(quotient, carry()));
  } else {
    rest = least(rest, b.CreateSub(rest, divisor));
    Value *less = b.CreateSub(rest, divisor);
    SelectInst *guard = guardOf(division);
    if (guard) {
      // The median with 0 is the minimum. With a divisor of 1 the rest is 0 by now and `less` all
      // ones, which is then the median with all ones.
      b.SetInsertPoint(guard);
      Value *mask = b.CreateSExt(guard->getCondition(), b.getInt32Ty());
      guard->replaceAllUsesWith(most(least(rest, less), least(most(rest, less), mask)));
      guard->eraseFromParent();
    } else {
      division.replaceAllUsesWith(least(rest, less));
    }
  }
  division.eraseFromParent();
}

} // namespace

PreservedAnalyses DivisionsPass::run(Function &function, FunctionAnalysisManager &analyses) {
  Divisions divisions(function.getDataLayout(), analyses.getResult<LoopAnalysis>(function));
  SmallVector<BinaryOperator *> found;
  for (Instruction &instruction : instructions(function)) {
    auto *division = dyn_cast<BinaryOperator>(&instruction);
    if (division &&
        (division->getOpcode() == Instruction::UDiv ||
         division->getOpcode() == Instruction::URem) &&
        division->getType()->isIntegerTy(32) && !isa<Constant>(division->getOperand(1)) &&
        !divisions.hasShortForm(*division))
      found.push_back(division);
  }
  if (found.empty())
    return PreservedAnalyses::all();
  for (BinaryOperator *division : found)
    divisions.expand(*division);
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

} // namespace rubia::codegen
