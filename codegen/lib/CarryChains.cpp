// LLVM's back end folds (x + y) + 0 + carry into x + y + carry, word by word, and takes the carry
// out of the latter for that of the former (docs/errata.md): wrong where x + y wraps. Words of that
// shape come from
// additions whose carry out is used, of 64 bits where an operand's high word is zero, and of 32
// bits where an operand is a single bit, such as a carry; and from such subtractions. The carry out
// may be asked for by intrinsics, or by comparisons of the sum with an operand, which the back end
// takes for the same.
//
// Here the carry of such a word becomes a comparison of its operand: adding a bit to x carries if
// the bit is set and x is all ones. It costs a comparison and an `and` for each word. Operands that
// the back end cannot see as a sum of the same block (loaded, from a phi, a parameter or another
// carrying addition) are harmless, so that loops over the words of long numbers stay as they are.
#include "codegen/lib/CarryChains.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/KnownBits.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace rubia::codegen {

namespace {

constexpr unsigned kWord = 32;

/// x + y or x - y, whose carry (or borrow) is used.
struct Sum {
  Value *x, *y;
  bool subtracts;

  unsigned bits() const { return x->getType()->getIntegerBitWidth(); }
};

struct Result {
  Value *sum, *carry;
};

/// At most one bit, which may be the carry of something. A constant is none.
bool isBit(const Value *value, const DataLayout &layout) {
  return !isa<Constant>(value) && computeKnownBits(value, layout).countMaxActiveBits() <= 1;
}

bool isWord(const Value *value, const DataLayout &layout) {
  return computeKnownBits(value, layout).countMaxActiveBits() <= kWord;
}

/// An intrinsic that gives a result and whether it is out of range.
const WithOverflowInst *carryingAddition(const Value *value) {
  auto *inst = dyn_cast<WithOverflowInst>(value);
  return inst && !inst->isSigned() && inst->getBinaryOp() != Instruction::Mul ? inst : nullptr;
}

bool usesCarry(const WithOverflowInst &inst) {
  return any_of(inst.users(), [](const User *user) {
    auto *extract = dyn_cast<ExtractValueInst>(user);
    return !extract || *extract->idx_begin() == 1;
  });
}

/// Whether no word of the value is the result of an `add` or `sub` in the back end. A carrying
/// addition becomes one when its carry goes into that of the next addition (`or` of both), while a
/// third addition still uses its sum.
bool hidesSums(const Value *value) {
  if (auto *phi = dyn_cast<PHINode>(value))
    return phi->getNumIncomingValues() > 1;
  if (auto *extract = dyn_cast<ExtractValueInst>(value))
    if (const WithOverflowInst *inst = carryingAddition(extract->getAggregateOperand()))
      return usesCarry(*inst) && value->hasOneUse();
  return isa<LoadInst, Argument, Constant>(value);
}

/// Makes y the operand that matters: the narrower one.
void order(Sum &sum, const DataLayout &layout) {
  auto width = [&](Value *v) { return computeKnownBits(v, layout).countMaxActiveBits(); };
  if (!sum.subtracts && width(sum.x) < width(sum.y))
    std::swap(sum.x, sum.y);
}

bool isAtRisk(const Sum &sum, const DataLayout &layout) {
  return (isBit(sum.y, layout) || (sum.bits() == 2 * kWord && isWord(sum.y, layout))) &&
         !hidesSums(sum.x);
}

/// A word and a bit.
Result addBit(IRBuilder<> &b, Value *x, Value *bit, bool subtracts) {
  Value *y = b.CreateZExt(bit, x->getType());
  Constant *last =
      subtracts ? Constant::getNullValue(x->getType()) : Constant::getAllOnesValue(x->getType());
  return {subtracts ? b.CreateSub(x, y) : b.CreateAdd(x, y),
          b.CreateAnd(bit, b.CreateICmpEQ(x, last))};
}

Value *asBit(IRBuilder<> &b, Value *value) {
  Value *bit;
  return match(value, m_ZExt(m_Value(bit))) && bit->getType()->isIntegerTy(1)
             ? bit
             : b.CreateTrunc(value, b.getInt1Ty());
}

Result rewritten(IRBuilder<> &b, const Sum &sum, const DataLayout &layout) {
  if (sum.bits() == kWord)
    return addBit(b, sum.x, asBit(b, sum.y), sum.subtracts);
  Type *word = b.getInt32Ty(), *wide = sum.x->getType();
  Value *x = b.CreateTrunc(sum.x, word);
  Result low;
  if (isBit(sum.y, layout)) {
    low = addBit(b, x, asBit(b, sum.y), sum.subtracts);
  } else {
    Value *both = b.CreateBinaryIntrinsic(sum.subtracts ? Intrinsic::usub_with_overflow
                                                        : Intrinsic::uadd_with_overflow,
                                          x, b.CreateTrunc(sum.y, word));
    low = {b.CreateExtractValue(both, 0), b.CreateExtractValue(both, 1)};
  }
  Result high =
      addBit(b, b.CreateTrunc(b.CreateLShr(sum.x, kWord), word), low.carry, sum.subtracts);
  Value *whole =
      b.CreateOr(b.CreateShl(b.CreateZExt(high.sum, wide), kWord), b.CreateZExt(low.sum, wide));
  return {whole, high.carry};
}

bool isOfWords(const Value *value) {
  return value->getType()->isIntegerTy(kWord) || value->getType()->isIntegerTy(2 * kWord);
}

void protectIntrinsic(WithOverflowInst &inst, const DataLayout &layout) {
  if (!carryingAddition(&inst) || !isOfWords(inst.getLHS()) || !usesCarry(inst))
    return;
  Sum sum = {inst.getLHS(), inst.getRHS(), inst.getBinaryOp() == Instruction::Sub};
  order(sum, layout);
  if (!isAtRisk(sum, layout))
    return;
  IRBuilder<> b(&inst);
  Result result = rewritten(b, sum, layout);
  for (User *user : make_early_inc_range(inst.users()))
    if (auto *extract = dyn_cast<ExtractValueInst>(user)) {
      extract->replaceAllUsesWith(*extract->idx_begin() == 0 ? result.sum : result.carry);
      extract->eraseFromParent();
    }
  if (!inst.use_empty()) {
    Value *both = b.CreateInsertValue(PoisonValue::get(inst.getType()), result.sum, 0);
    inst.replaceAllUsesWith(b.CreateInsertValue(both, result.carry, 1));
  }
  inst.eraseFromParent();
}

/// x == -1 beside x + 1, which the back end joins. Of 64 bits.
bool asksForCarryOfIncrement(const ICmpInst &inst) {
  auto incremented = [&](const User *user) {
    return match(user, m_c_Add(m_Specific(inst.getOperand(0)), m_One()));
  };
  return inst.getPredicate() == ICmpInst::ICMP_EQ && match(inst.getOperand(1), m_AllOnes()) &&
         any_of(inst.getOperand(0)->users(), incremented);
}

/// A comparison that is true if a sum carries.
void protectComparison(ICmpInst &inst, const DataLayout &layout) {
  Value *x, *y;
  Instruction *add;
  if (!isOfWords(inst.getOperand(0)))
    return;
  bool isWide = inst.getOperand(0)->getType()->isIntegerTy(2 * kWord);
  IRBuilder<> b(&inst);
  auto low = [&](Value *v) { return b.CreateTrunc(v, b.getInt32Ty()); };
  auto high = [&](Value *v) { return b.CreateTrunc(b.CreateLShr(v, kWord), b.getInt32Ty()); };
  auto replace = [&](Value *by) {
    inst.replaceAllUsesWith(by);
    inst.eraseFromParent();
  };
  if (isWide && asksForCarryOfIncrement(inst)) {
    x = inst.getOperand(0);
    if (!hidesSums(x))
      replace(b.CreateICmpEQ(b.CreateAnd(low(x), high(x)), b.getInt32(-1)));
    return;
  }
  if (!match(&inst, m_UAddWithOverflow(m_Value(x), m_Value(y), m_Instruction(add))) ||
      add->getOpcode() != Instruction::Add)
    return;
  Sum sum = {x, y, false};
  order(sum, layout);
  if (!isAtRisk(sum, layout))
    return;
  replace(isWide ? b.CreateAnd(b.CreateICmpULT(low(add), low(sum.y)),
                               b.CreateICmpEQ(high(add), b.getInt32(0)))
                 : b.CreateAnd(asBit(b, sum.y), b.CreateICmpEQ(sum.x, b.getInt32(-1))));
}

} // namespace

void protectCarries(Module &module) {
  const DataLayout &layout = module.getDataLayout();
  for (Function &function : module) {
    SmallVector<WeakVH> candidates;
    for (Instruction &inst : instructions(function))
      if (isa<WithOverflowInst, ICmpInst>(inst))
        candidates.push_back(&inst);
    for (WeakVH &inst : candidates)
      if (auto *intrinsic = dyn_cast_or_null<WithOverflowInst>(inst))
        protectIntrinsic(*intrinsic, layout);
      else if (auto *comparison = dyn_cast_or_null<ICmpInst>(inst))
        protectComparison(*comparison, layout);
  }
}

} // namespace rubia::codegen
