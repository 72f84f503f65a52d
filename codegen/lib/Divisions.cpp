// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/Divisions.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace rubia::codegen {

namespace {

/// LLVM's own way for numbers of up to 24 bits multiplies by v_rcp_f32 and corrects a quotient that
/// is too low. It is too high for 16777214 / 3, and from 23 bits on where v_rcp_f32 is a unit high.
constexpr unsigned kBitsOfShortForm = 22;

class Divisions {
public:
  Divisions(const DataLayout &layout, DominatorTree &dominators, LoopInfo &loops)
      : layout(layout), updater(dominators, DomTreeUpdater::UpdateStrategy::Eager), loops(loops) {}
  ~Divisions() {
    for (Instruction *instruction : dead)
      instruction->eraseFromParent();
  }
  bool expand(BinaryOperator &division);

private:
  const DataLayout &layout;
  DomTreeUpdater updater;
  LoopInfo &loops;
  /// Erased at the end: `reciprocals` has values by their addresses.
  SmallVector<Instruction *> dead;
  /// z by divisor and the block that it is computed in.
  DenseMap<std::pair<Value *, BasicBlock *>, Instruction *> reciprocals;

  unsigned activeBits(const BinaryOperator &division) const {
    unsigned bits = 0;
    for (const Use &operand : division.operands())
      bits = std::max(bits, computeKnownBits(operand, layout).countMaxActiveBits());
    return bits;
  }
  Value *reciprocalOf(Value *divisor, Instruction &use);
  Value *narrow(BinaryOperator &division, Instruction &place);
  static Value *wide(BinaryOperator &division, Instruction &place);
  Value *ofEitherWidth(BinaryOperator &division);
};

/// The upper half of a product.
Value *highProduct(IRBuilder<> &b, Value *x, Value *y) {
  Type *type = x->getType(), *twice = type->getExtendedType();
  Value *product = b.CreateMul(b.CreateZExt(x, twice), b.CreateZExt(y, twice));
  return b.CreateTrunc(b.CreateLShr(product, type->getIntegerBitWidth()), type);
}

/// z + z (2^n - d z) / 2^n for a z of at most 2^n / d, which it does not exceed either.
Value *newtonStep(IRBuilder<> &b, Value *z, Value *divisor) {
  return b.CreateAdd(z, highProduct(b, z, b.CreateMul(b.CreateNeg(divisor), z)));
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
  if (known && known->getParent() == place->getParent() && known->comesBefore(place))
    return known;
  IRBuilder<> b(place);
  Type *f32 = b.getFloatTy();
  Value *narrow = b.CreateZExtOrTrunc(divisor, b.getInt32Ty());
  Value *inverse = b.CreateIntrinsic(Intrinsic::amdgcn_rcp, {f32}, {b.CreateUIToFP(narrow, f32)});
  // LLVM's factor is 0x1.fffffcp31. With it 289 divisors get too large a reciprocal where v_rcp_f32
  // is one unit off, which it may be; with this one none does, and the quotient is at most 2 low.
  Value *z =
      b.CreateFPToUI(b.CreateFMul(inverse, ConstantFP::get(f32, 0x1.fffffap31)), b.getInt32Ty());
  known = cast<Instruction>(newtonStep(b, z, narrow));
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

/// Of operands that fit 32 bits.
Value *Divisions::narrow(BinaryOperator &division, Instruction &place) {
  Value *reciprocal = reciprocalOf(division.getOperand(1), place);
  IRBuilder<> b(&place);
  Value *dividend = b.CreateZExtOrTrunc(division.getOperand(0), b.getInt32Ty());
  Value *divisor = b.CreateZExtOrTrunc(division.getOperand(1), b.getInt32Ty());
  Value *quotient = highProduct(b, dividend, reciprocal);
  Value *rest = b.CreateSub(dividend, b.CreateMul(quotient, divisor)), *result;
  auto least = [&](Value *x, Value *y) { return b.CreateBinaryIntrinsic(Intrinsic::umin, x, y); };
  auto most = [&](Value *x, Value *y) { return b.CreateBinaryIntrinsic(Intrinsic::umax, x, y); };
  if (division.getOpcode() == Instruction::UDiv) {
    auto carry = [&] { return b.CreateZExt(b.CreateICmpUGE(rest, divisor), b.getInt32Ty()); };
    quotient = b.CreateAdd(quotient, carry());
    rest = least(rest, b.CreateSub(rest, divisor));
    result = b.CreateAdd(quotient, carry());
  } else {
    rest = least(rest, b.CreateSub(rest, divisor));
    Value *less = b.CreateSub(rest, divisor);
    SelectInst *guard = division.getType()->isIntegerTy(32) ? guardOf(division) : nullptr;
    if (guard) {
      // The median with 0 is the minimum. With a divisor of 1 the rest is 0 by now and `less` all
      // ones, which is then the median with all ones.
      b.SetInsertPoint(guard);
      Value *mask = b.CreateSExt(guard->getCondition(), b.getInt32Ty());
      guard->replaceAllUsesWith(most(least(rest, less), least(most(rest, less), mask)));
      dead.push_back(guard);
      return nullptr;
    }
    result = least(rest, less);
  }
  return b.CreateZExtOrTrunc(result, division.getType());
}

/// highProduct() of 64 bits, or up to two less: without what the lower halves carry.
Value *nearHighProduct(IRBuilder<> &b, Value *x, Value *y) {
  Type *type = x->getType();
  auto lower = [&](Value *v) { return b.CreateAnd(v, ConstantInt::get(type, UINT32_MAX)); };
  auto upper = [&](Value *v) { return b.CreateLShr(v, 32); };
  Value *first = upper(b.CreateMul(upper(x), lower(y)));
  Value *second = upper(b.CreateMul(lower(x), upper(y)));
  return b.CreateAdd(b.CreateMul(upper(x), upper(y)), b.CreateAdd(first, second));
}

/// Of operands of up to 64 bits. The estimate of Q = 2^64 / d is from 6 to 11 units of 2^-24 low:
/// two of the divisor's conversion, two of v_rcp_f32 and one of the product may go either way.
/// - What is e low is e^2 / Q low after a step, and less than 1 more; less than 3 after the first
///   one, whose product lacks carries. Two steps leave less than 1.001 if Q is 2^20 or more.
/// - Otherwise the estimate itself is less than 2 low, and no step makes it less.
/// Either way a quotient is at most 2 low.
Value *Divisions::wide(BinaryOperator &division, Instruction &place) {
  IRBuilder<> b(&place);
  Type *f32 = b.getFloatTy(), *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty();
  auto f = [&](double value) { return ConstantFP::get(f32, value); };
  auto fused = [&](Value *x, Value *y, Value *z) {
    return b.CreateIntrinsic(Intrinsic::fma, {f32}, {x, y, z});
  };
  Value *dividend = b.CreateZExt(division.getOperand(0), i64);
  Value *divisor = b.CreateZExt(division.getOperand(1), i64);
  Value *upper = b.CreateUIToFP(b.CreateTrunc(b.CreateLShr(divisor, 32), i32), f32);
  Value *lower = b.CreateUIToFP(b.CreateTrunc(divisor, i32), f32);
  Value *inverse =
      b.CreateIntrinsic(Intrinsic::amdgcn_rcp, {f32}, {fused(upper, f(0x1p32), lower)});
  Value *estimate = b.CreateFMul(inverse, f(0x1.fffff4p63));
  upper = b.CreateUnaryIntrinsic(Intrinsic::trunc, b.CreateFMul(estimate, f(0x1p-32)));
  lower = fused(upper, f(-0x1p32), estimate);
  auto integer = [&](Value *value) { return b.CreateZExt(b.CreateFPToUI(value, i32), i64); };
  Value *z = b.CreateOr(b.CreateShl(integer(upper), 32), integer(lower));
  z = b.CreateAdd(z, nearHighProduct(b, z, b.CreateMul(b.CreateNeg(divisor), z)));
  z = newtonStep(b, z, divisor);
  Value *quotient = highProduct(b, dividend, z);
  Value *rest = b.CreateSub(dividend, b.CreateMul(quotient, divisor));
  Value *missing = b.getInt32(2);
  for (unsigned step = 0; step < 2; ++step) {
    Value *difference = b.CreateBinaryIntrinsic(Intrinsic::usub_with_overflow, rest, divisor);
    Value *isLess = b.CreateExtractValue(difference, 1);
    missing = b.CreateSub(missing, b.CreateZExt(isLess, i32));
    rest = b.CreateSelect(isLess, rest, b.CreateExtractValue(difference, 0));
  }
  quotient = b.CreateAdd(quotient, b.CreateZExt(missing, i64));
  return b.CreateTrunc(division.getOpcode() == Instruction::UDiv ? quotient : rest,
                       division.getType());
}

/// Whether the branch to a division has found that its numbers do not fit 32 bits. nvcc's PTX has
/// such a branch for each division of 64 bits. It looks at signed numbers as they are. Magnitudes
/// of negative ones may fit: wide() is right as well, and LLVM's own division is slower there.
bool isKnownWide(const BinaryOperator &division, const DataLayout &layout) {
  Value *dividend = division.getOperand(0), *divisor = division.getOperand(1);
  // A divisor of zero is one by now. Where that is not why, wide() is right as well.
  match(divisor, m_CombineOr(m_UMax(m_Value(divisor), m_One()),
                             m_Select(m_Value(), m_One(), m_Value(divisor))));
  for (Value **operand : {&dividend, &divisor})
    match(*operand, m_Intrinsic<Intrinsic::abs>(m_Value(*operand)));
  if (isa<Constant>(divisor)) // a choice between two: constants do not know who reads them
    return false;
  Constant *limit = ConstantInt::get(division.getType(), UINT32_MAX);
  return any_of(divisor->users(), [&](const User *both) {
    return match(both, m_c_Or(m_Specific(dividend), m_Specific(divisor))) &&
           isImpliedByDomCondition(ICmpInst::ICMP_UGT, both, limit, &division, layout) == true;
  });
}

/// Most numbers of 64 bits would fit 32: the kernel looks.
Value *Divisions::ofEitherWidth(BinaryOperator &division) {
  IRBuilder<> b(&division);
  Value *both = b.CreateOr(division.getOperand(0), division.getOperand(1));
  Value *fits =
      b.CreateICmpEQ(b.CreateTrunc(b.CreateLShr(both, 32), b.getInt32Ty()), b.getInt32(0));
  Instruction *ifNarrow, *ifWide;
  SplitBlockAndInsertIfThenElse(fits, division.getIterator(), &ifNarrow, &ifWide, nullptr, &updater,
                                &loops);
  Value *narrowResult = narrow(division, *ifNarrow), *wideResult = wide(division, *ifWide);
  b.SetInsertPoint(division.getParent(), division.getParent()->begin());
  PHINode *result = b.CreatePHI(division.getType(), 2);
  result->addIncoming(narrowResult, ifNarrow->getParent());
  result->addIncoming(wideResult, ifWide->getParent());
  return result;
}

/// Whether there was something to do.
bool Divisions::expand(BinaryOperator &division) {
  const unsigned bits = activeBits(division);
  if (bits <= kBitsOfShortForm)
    return false;
  Value *result = bits <= 32                      ? narrow(division, division)
                  : isKnownWide(division, layout) ? wide(division, division)
                                                  : ofEitherWidth(division);
  if (result)
    division.replaceAllUsesWith(result);
  dead.push_back(&division);
  return true;
}

} // namespace

PreservedAnalyses DivisionsPass::run(Function &function, FunctionAnalysisManager &analyses) {
  SmallVector<BinaryOperator *> found;
  for (Instruction &instruction : instructions(function)) {
    auto *division = dyn_cast<BinaryOperator>(&instruction);
    if (division &&
        (division->getOpcode() == Instruction::UDiv ||
         division->getOpcode() == Instruction::URem) &&
        division->getType()->isIntegerTy() && division->getType()->getIntegerBitWidth() <= 64 &&
        !isa<Constant>(division->getOperand(1)))
      found.push_back(division);
  }
  if (found.empty())
    return PreservedAnalyses::all();
  Divisions divisions(function.getDataLayout(), analyses.getResult<DominatorTreeAnalysis>(function),
                      analyses.getResult<LoopAnalysis>(function));
  bool changed = false;
  for (BinaryOperator *division : found)
    changed |= divisions.expand(*division);
  if (!changed)
    return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserve<DominatorTreeAnalysis>();
  preserved.preserve<LoopAnalysis>();
  return preserved;
}

} // namespace rubia::codegen
