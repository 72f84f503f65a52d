// SPDX-License-Identifier: Apache-2.0
// LLVM's back end folds (x + y) + 0 + carry into x + y + carry, word by word, and takes the carry
// out of the latter for that of the former (docs/errata.md): wrong where x + y wraps. It comes to
// such words in many ways. It may find that a word is zero, or that a carrying sum is a plain one;
// it makes words of long additions itself.
//
// So nothing of that is left to it. Long additions and subtractions become steps of one word here,
// and what enters a step is opaque to the back end, or a constant. A step is x + y, x + carry, or
// both together in the form that becomes one instruction. The factors of long products are opaque
// too, since the back end adds up their parts in such steps.
#include "codegen/lib/errata/CarryChains.h"
#include "codegen/lib/errata/Opaque.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Pass.h"
#include "llvm/Support/KnownBits.h"
#include <optional>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace rubia::codegen {

namespace {

constexpr unsigned kWord = 32;

/// x + y + carry or x - y - carry, of any number of words. `y` or `carry` may be null.
struct Sum {
  Value *x, *y, *carry;
  bool subtracts;
};

struct Result {
  Value *sum, *carry;
};

/// Who has the results of a carrying addition.
struct Users {
  SmallVector<ExtractValueInst *, 2> sums, carries;
  SmallVector<User *, 1> others;

  explicit Users(WithOverflowInst &inst) {
    for (User *user : inst.users())
      if (auto *extract = dyn_cast<ExtractValueInst>(user))
        (*extract->idx_begin() ? carries : sums).push_back(extract);
      else
        others.push_back(user);
  }
};

bool isOfWords(const Type *type) {
  return type->isIntegerTy() && type->getIntegerBitWidth() % kWord == 0;
}

/// An intrinsic that gives a sum of words and whether it is out of range.
WithOverflowInst *carryingAddition(Value *value) {
  auto *inst = dyn_cast<WithOverflowInst>(value);
  return inst && !inst->isSigned() && inst->getBinaryOp() != Instruction::Mul &&
                 isOfWords(inst->getLHS()->getType())
             ? inst
             : nullptr;
}

Value *carryOf(Value *operand) {
  Value *bit;
  return match(operand, m_ZExt(m_Value(bit))) && bit->getType()->isIntegerTy(1) ? bit : nullptr;
}

/// x + y, and the carry that is added to the sum. The carry out is `or` of both.
struct Pair {
  WithOverflowInst *second;
  Value *carry;
  Instruction *carryOut;
};

std::optional<Pair> pairOf(WithOverflowInst &first) {
  const Users users(first);
  if (users.sums.size() != 1 || users.carries.size() != 1 || !users.others.empty() ||
      !users.carries[0]->hasOneUse())
    return std::nullopt;
  ExtractValueInst *sum = users.sums[0];
  auto *carryOut = cast<Instruction>(users.carries[0]->user_back());
  for (User *user : sum->users()) {
    WithOverflowInst *second = carryingAddition(user);
    if (!second || second->getIntrinsicID() != first.getIntrinsicID() ||
        second->getParent() != first.getParent())
      continue;
    const bool isLeft = second->getLHS() == sum;
    Value *carry = carryOf(isLeft ? second->getRHS() : second->getLHS());
    const Users ofSecond(*second);
    if (carry && (isLeft || second->isCommutative()) && ofSecond.others.empty() &&
        ofSecond.carries.size() == 1 && ofSecond.carries[0]->hasOneUse() &&
        match(carryOut, m_c_Or(m_Specific(users.carries[0]), m_Specific(ofSecond.carries[0]))))
      return Pair{second, carry, carryOut};
  }
  return std::nullopt;
}

/// |x - y| is one instruction, if it is left a comparison: then nobody carries.
bool isAbsoluteDifference(WithOverflowInst &inst, const Users &users) {
  if (inst.getBinaryOp() != Instruction::Sub || !users.others.empty())
    return false;
  auto isOne = [&](User *user) {
    return match(user,
                 m_Select(m_Value(), m_Sub(m_Specific(inst.getRHS()), m_Specific(inst.getLHS())),
                          m_ExtractValue<0>(m_Specific(&inst))));
  };
  return !users.carries.empty() &&
         all_of(users.carries, [&](auto *carry) { return all_of(carry->users(), isOne); });
}

class Separator {
public:
  explicit Separator(Function &function) : layout(function.getDataLayout()) {
    for (Instruction &inst : instructions(function))
      if (match(&inst, m_LShr(m_Mul(m_SExt(m_Value()), m_NegatedPower2()), m_SpecificInt(64))))
        negations.push_back(cast<BinaryOperator>(&inst));
      else if (isLong(inst) || carryingAddition(&inst))
        additions.push_back(&inst);
      else if (inst.getOpcode() == Instruction::Mul && inst.getType()->isIntegerTy(4 * kWord))
        longProducts.push_back(&inst);
  }

  /// Whether anything has changed.
  bool run();

private:
  const DataLayout &layout;
  SmallVector<Instruction *> additions; // or subtractions, in their order
  SmallVector<WeakVH> longProducts;
  SmallVector<BinaryOperator *> negations; // high halves of products by -2^n
  SmallPtrSet<Instruction *, 16> erased;   // of the additions
  DenseMap<Value *, SmallVector<Value *, 4>> made;
  DenseMap<Value *, Value *> factors; // and what hides them

  static bool isLong(const Instruction &inst) {
    return (inst.getOpcode() == Instruction::Add || inst.getOpcode() == Instruction::Sub) &&
           isOfWords(inst.getType()) && inst.getType()->getIntegerBitWidth() > 2 * kWord;
  }
  static void negate(BinaryOperator &high);
  Value *word(IRBuilder<> &b, Value *value, unsigned index);
  static Result addWords(IRBuilder<> &b, Value *x, Value *y, Value *carry, bool subtracts);
  Result add(IRBuilder<> &b, const Sum &sum);
  bool separate(WithOverflowInst &inst);
  void separatePair(WithOverflowInst &first, const Pair &pair);
  void separateLong(BinaryOperator &inst);
  Value *factor(Value *value);
  bool hideFactors(BinaryOperator &product);
  void erase(Instruction *inst) {
    erased.insert(inst);
    inst->eraseFromParent();
  }
};

/// The high half of x * -2^n is that of -(x << n), of which the back end loses a borrow where it
/// knows the low bits of x.
void Separator::negate(BinaryOperator &high) {
  auto *product = cast<Instruction>(high.getOperand(0));
  Value *x = cast<SExtInst>(product->getOperand(0))->getOperand(0);
  const unsigned shift = cast<ConstantInt>(product->getOperand(1))->getValue().countr_zero();
  if (!x->getType()->isIntegerTy(64) || shift == 0 || shift >= 64)
    return;
  IRBuilder<> b(&high);
  Value *rest = b.CreateShl(x, shift), *upper = b.CreateAShr(x, 64 - shift);
  Value *inverted = b.CreateNot(upper);
  Value *whole = b.CreateSelect(b.CreateICmpEQ(rest, b.getInt64(0)), b.CreateNeg(upper), inverted);
  high.replaceAllUsesWith(b.CreateZExt(whole, high.getType()));
  high.eraseFromParent();
  if (product->use_empty())
    product->eraseFromParent();
}

/// A word of a value, of which the back end knows what is known here and no more. What comes from
/// another block is a register to it anyway.
Value *Separator::word(IRBuilder<> &b, Value *value, unsigned index) {
  const unsigned shift = index * kWord;
  KnownBits known = computeKnownBits(value, layout).extractBits(kWord, shift);
  if (known.isConstant())
    return b.getInt(known.getConstant());
  Value *word;
  if (auto words = made.find(value); words != made.end())
    word = words->second[index];
  else
    word = b.CreateTrunc(shift ? b.CreateLShr(value, shift) : value, b.getIntNTy(kWord));
  auto *inst = dyn_cast<Instruction>(value);
  const bool isHidden = !inst || inst->getParent() != b.GetInsertBlock() || isa<PHINode>(inst);
  return isHidden ? word : makeOpaque(b, word);
}

/// A step. The back end makes one instruction of both additions and the `or`.
Result Separator::addWords(IRBuilder<> &b, Value *x, Value *y, Value *carry, bool subtracts) {
  if (!subtracts && match(x, m_Zero()))
    std::swap(x, y);
  Value *carryOut = nullptr;
  auto add = [&](Value *operand) {
    Value *both = b.CreateBinaryIntrinsic(
        subtracts ? Intrinsic::usub_with_overflow : Intrinsic::uadd_with_overflow, x, operand);
    Value *isOut = b.CreateExtractValue(both, 1);
    x = b.CreateExtractValue(both, 0);
    carryOut = carryOut ? b.CreateOr(carryOut, isOut) : isOut;
  };
  if (!match(y, m_Zero()))
    add(y);
  if (carry && !match(carry, m_Zero()))
    add(b.CreateZExt(carry, x->getType()));
  return {x, carryOut ? carryOut : b.getFalse()};
}

Result Separator::add(IRBuilder<> &b, const Sum &sum) {
  Type *type = sum.x->getType();
  Result result = {nullptr, sum.carry};
  SmallVector<Value *, 4> words;
  for (unsigned i = 0; i < type->getIntegerBitWidth() / kWord; ++i) {
    Value *x = word(b, sum.x, i), *y = sum.y ? word(b, sum.y, i) : b.getIntN(kWord, 0);
    Result step = addWords(b, x, y, result.carry, sum.subtracts);
    words.push_back(step.sum);
    result.carry = step.carry;
    Value *wide = b.CreateZExt(step.sum, type);
    result.sum = i ? b.CreateOr(result.sum, b.CreateShl(wide, i * kWord)) : wide;
  }
  made[result.sum] = std::move(words);
  return result;
}

bool Separator::separate(WithOverflowInst &inst) {
  Users users(inst);
  if (users.carries.empty() && users.others.empty())
    return false;
  IRBuilder<> b(&inst);
  auto replace = [](ArrayRef<ExtractValueInst *> extracts, Value *value) {
    for (ExtractValueInst *extract : extracts) {
      extract->replaceAllUsesWith(value);
      extract->eraseFromParent();
    }
  };
  if (isAbsoluteDifference(inst, users)) {
    replace(users.sums, b.CreateSub(inst.getLHS(), inst.getRHS()));
    replace(users.carries, b.CreateICmpULT(inst.getLHS(), inst.getRHS()));
    erase(&inst);
    return true;
  }
  Sum sum = {inst.getLHS(), inst.getRHS(), nullptr, inst.getBinaryOp() == Instruction::Sub};
  if (!sum.subtracts && carryOf(sum.x))
    std::swap(sum.x, sum.y);
  if (Value *carry = carryOf(sum.y))
    sum = {sum.x, nullptr, carry, sum.subtracts};
  Result result = add(b, sum);
  replace(users.sums, result.sum);
  replace(users.carries, result.carry);
  if (!inst.use_empty()) {
    Value *both = b.CreateInsertValue(PoisonValue::get(inst.getType()), result.sum, 0);
    inst.replaceAllUsesWith(b.CreateInsertValue(both, result.carry, 1));
  }
  erase(&inst);
  return true;
}

void Separator::separatePair(WithOverflowInst &first, const Pair &pair) {
  const Users ofFirst(first), ofSecond(*pair.second);
  const bool subtracts = first.getBinaryOp() == Instruction::Sub;
  IRBuilder<> b(pair.second);
  Result result = add(b, {first.getLHS(), first.getRHS(), pair.carry, subtracts});
  for (ExtractValueInst *extract : ofSecond.sums)
    extract->replaceAllUsesWith(result.sum);
  pair.carryOut->replaceAllUsesWith(result.carry);
  pair.carryOut->eraseFromParent();
  for (ArrayRef<ExtractValueInst *> extracts :
       {ArrayRef(ofSecond.sums), ArrayRef(ofSecond.carries)})
    for (ExtractValueInst *extract : extracts)
      extract->eraseFromParent();
  erase(pair.second);
  // Others may have the sum without the carry.
  IRBuilder<> before(&first);
  ofFirst.sums[0]->replaceAllUsesWith(
      before.CreateBinOp(first.getBinaryOp(), first.getLHS(), first.getRHS()));
  ofFirst.sums[0]->eraseFromParent();
  ofFirst.carries[0]->eraseFromParent();
  erase(&first);
}

void Separator::separateLong(BinaryOperator &inst) {
  IRBuilder<> b(&inst);
  inst.replaceAllUsesWith(add(b, {inst.getOperand(0), inst.getOperand(1), nullptr,
                                  inst.getOpcode() == Instruction::Sub})
                              .sum);
  erase(&inst);
}

/// What stands for a factor of 64 bits. Half of it may be known to be zero.
Value *Separator::factor(Value *value) {
  if (isa<Constant>(value))
    return value;
  Value *&hidden = factors[value];
  if (hidden)
    return hidden;
  IRBuilder<> b(value->getContext());
  if (auto *inst = dyn_cast<Instruction>(value))
    b.SetInsertPoint(*inst->getInsertionPointAfterDef());
  else
    b.SetInsertPoint(&*cast<Argument>(value)->getParent()->getEntryBlock().getFirstInsertionPt());
  const bool isWord = computeKnownBits(value, layout).countMaxActiveBits() <= kWord;
  hidden = isWord ? b.CreateZExt(makeOpaque(b, b.CreateTrunc(value, b.getIntNTy(kWord))),
                                 value->getType())
                  : makeOpaque(b, value);
  // The low half of the product, which may be computed too, has parts in common with the high one.
  for (Use &use : make_early_inc_range(value->uses()))
    if (match(use.getUser(), m_Mul(m_Value(), m_Value())))
      use.set(hidden);
  return hidden;
}

bool Separator::hideFactors(BinaryOperator &product) {
  bool isChanged = false;
  for (Use &operand : product.operands()) {
    auto *extension = dyn_cast<CastInst>(operand);
    Value *source;
    if (!extension || !match(extension, m_ZExtOrSExt(m_Value(source))) ||
        !source->getType()->isIntegerTy(2 * kWord))
      continue;
    Value *hidden = factor(source);
    IRBuilder<> b(&product);
    operand.set(b.CreateCast(extension->getOpcode(), hidden, product.getType()));
    if (extension->use_empty())
      extension->eraseFromParent();
    isChanged = true;
  }
  return isChanged;
}

bool Separator::run() {
  bool isChanged = !negations.empty();
  for (BinaryOperator *high : negations)
    negate(*high);
  for (Instruction *inst : additions) {
    if (erased.contains(inst))
      continue;
    auto *sum = dyn_cast<WithOverflowInst>(inst);
    if (!sum) {
      separateLong(cast<BinaryOperator>(*inst));
      isChanged = true;
    } else if (auto pair = pairOf(*sum)) {
      separatePair(*sum, *pair);
      isChanged = true;
    } else
      isChanged |= separate(*sum);
  }
  for (Value *product : longProducts)
    if (product) // negated, if not
      isChanged |= hideFactors(*cast<BinaryOperator>(product));
  return isChanged;
}

class CarryChains : public FunctionPass {
public:
  static char ID;
  CarryChains() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Carry Chains"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesCFG(); }
  bool runOnFunction(Function &function) override { return Separator(function).run(); }
};

char CarryChains::ID = 0;

} // namespace

Pass *makeCarryChains() { return new CarryChains; }

} // namespace rubia::codegen
