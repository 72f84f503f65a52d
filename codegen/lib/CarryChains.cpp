// LLVM's back end folds (x + y) + 0 + carry into x + y + carry, word by word, and takes the carry
// out of the latter for that of the former (docs/errata.md): wrong where x + y wraps. Words of that
// shape come from
// additions whose carry out is used, of 64 bits where an operand's high word is zero, and of 32
// bits where an operand is a single bit, such as a carry; and from such subtractions. The high word
// of a product of 64 bits is a sum too.
//
// Here the carry of such a word becomes a comparison of its operand: adding a bit to x carries if
// the bit is set and x is all ones. It costs a comparison and an `and` for each word.
//
// The back end knows more than is known here. It may find that a word is zero (the difference of
// two loads that turn out to be one), so that what was added to it takes the place of the sum. So
// the question is what it could find (`Outlook`), not what is known. Operands that it cannot see
// as a sum of the same block (loaded, from a phi, a parameter or another carrying addition of
// such), and words that cannot be zero, are harmless, so that long numbers stay as they are.
#include "codegen/lib/CarryChains.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Pass.h"
#include "llvm/Support/KnownBits.h"
#include <optional>

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

/// Whether the back end sees a value as a register or memory only: it is from there, or from
/// another block.
bool isHidden(const Value *value, const BasicBlock *block) {
  auto *inst = dyn_cast<Instruction>(value);
  if (!inst || inst->getParent() != block || isa<PHINode, LoadInst>(inst))
    return true;
  if (isa<ExtractElementInst, ShuffleVectorInst, BitCastInst>(inst))
    return all_of(inst->operands(), [&](const Use &use) { return isHidden(use, block); });
  return inst->mayReadFromMemory();
}

/// What the back end may make of the words of a value. It knows more than one sees here: two loads
/// may turn out to be the same, and their difference to be zero.
class Outlook {
public:
  Outlook(const BasicBlock *block, const DataLayout &layout) : block(block), layout(layout) {}

  /// Whether a word may be the result of an `add` or `sub`.
  bool mayBeSum(const Value *value, unsigned word, unsigned depth = 0) const;
  bool mayBeZero(const Value *value, unsigned word) const;
  /// Whether it may be a carry.
  bool mayBeBit(const Value *value, unsigned depth = 0) const;

private:
  static constexpr unsigned kMaxDepth = 6;

  bool mayBeConstant(const Value *value, unsigned word, unsigned depth = 0) const;
  bool mayBecomeSum(const WithOverflowInst &inst, unsigned word, unsigned depth) const;
  bool isWord(const Value *value) const {
    return computeKnownBits(value, layout).countMaxActiveBits() <= kWord;
  }

  const BasicBlock *block;
  const DataLayout &layout;
};

/// The word of another value that a word is a copy of, or 0.
struct Copied {
  const Value *value;
  unsigned word;
};

std::optional<Copied> copiedWord(const Value *value, unsigned word) {
  const Value *source;
  auto ofWords = [](const Value *v) { return v->getType()->isIntegerTy(kWord); };
  if (match(value, m_Trunc(m_Value(source))) && source->getType()->isIntegerTy(2 * kWord) &&
      ofWords(value))
    return Copied{source, 0};
  if (match(value, m_ZExt(m_Value(source))) && (word || ofWords(source)))
    return Copied{word ? nullptr : source, 0};
  if (value->getType()->isIntegerTy(2 * kWord)) {
    if (match(value, m_LShr(m_Value(source), m_SpecificInt(kWord))))
      return Copied{word ? nullptr : source, 1};
    if (match(value, m_Shl(m_Value(source), m_SpecificInt(kWord))))
      return Copied{word ? source : nullptr, 0};
  }
  return std::nullopt;
}

/// A carrying addition becomes a plain one when its carry goes into that of the next addition (`or`
/// of both) while a third one still uses its sum, or if it is one of 64 bits with 1 or -1, whose
/// carry is found by a comparison. It becomes its operand if the other one is zero.
bool Outlook::mayBecomeSum(const WithOverflowInst &inst, unsigned word, unsigned depth) const {
  auto mayBeUnit = [&](const Value *value) {
    if (auto *constant = dyn_cast<ConstantInt>(value))
      return constant->isOne() || constant->isMinusOne();
    return mayBeConstant(value, 0) && mayBeConstant(value, 1);
  };
  if (inst.getLHS()->getType()->isIntegerTy(2 * kWord) &&
      (mayBeUnit(inst.getLHS()) || mayBeUnit(inst.getRHS())))
    return true;
  auto takesPlaceOf = [&](const Value *x, const Value *y) {
    return mayBeZero(y, word) && mayBeSum(x, word, depth);
  };
  return takesPlaceOf(inst.getLHS(), inst.getRHS()) ||
         (inst.getBinaryOp() == Instruction::Add && takesPlaceOf(inst.getRHS(), inst.getLHS()));
}

bool Outlook::mayBeSum(const Value *value, unsigned word, unsigned depth) const {
  if (isa<Constant>(value) || isHidden(value, block))
    return false;
  if (++depth > kMaxDepth)
    return true;
  if (auto copied = copiedWord(value, word))
    return copied->value && mayBeSum(copied->value, copied->word, depth);
  auto *inst = cast<Instruction>(value);
  auto any = [&](const Value *operand) {
    const bool isWide = operand->getType()->isIntegerTy(2 * kWord);
    return mayBeSum(operand, 0, depth) || (isWide && mayBeSum(operand, 1, depth));
  };
  switch (inst->getOpcode()) {
  case Instruction::Mul:
    // (x + 1) * 3 becomes x * 3 + 3. A high word is the sum of three, or that of two words'
    // product.
    return isa<Constant>(inst->getOperand(1)) ||
           (word == 1 && !(isWord(inst->getOperand(0)) && isWord(inst->getOperand(1))));
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
    return any(inst->getOperand(0)) || any(inst->getOperand(1));
  case Instruction::Select:
    return any(inst->getOperand(1)) || any(inst->getOperand(2));
  case Instruction::ExtractValue:
    if (const WithOverflowInst *sum = carryingAddition(inst->getOperand(0)))
      return !usesCarry(*sum) || !value->hasOneUse() || mayBecomeSum(*sum, word, depth);
    return true;
  default:
    return true;
  }
}

bool Outlook::mayBeConstant(const Value *value, unsigned word, unsigned depth) const {
  if (isa<Constant>(value))
    return true;
  if (isHidden(value, block))
    return false;
  if (++depth > kMaxDepth)
    return true;
  if (auto copied = copiedWord(value, word))
    return !copied->value || mayBeConstant(copied->value, copied->word, depth);
  auto whole = [&](const Value *operand) {
    return mayBeConstant(operand, 0, depth) &&
           (operand->getType()->isIntegerTy(kWord) || mayBeConstant(operand, 1, depth));
  };
  auto both = [&](const User *user) {
    return mayBeConstant(user->getOperand(0), word, depth) &&
           mayBeConstant(user->getOperand(1), word, depth);
  };
  auto *inst = cast<Instruction>(value);
  switch (inst->getOpcode()) {
  case Instruction::Add:
    return both(inst);
  case Instruction::Mul: // by zero
    return all_of(inst->operands(), whole) || any_of(inst->operands(), [&](const Use &operand) {
             return !isa<Constant>(operand) && whole(operand);
           });
  case Instruction::And:
  case Instruction::Or: // with all ones
    return any_of(inst->operands(), [&](const Use &operand) {
      return !isa<Constant>(operand) && mayBeConstant(operand, word, depth);
    });
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
    return whole(inst->getOperand(0)) || !isa<Constant>(inst->getOperand(1));
  case Instruction::Xor:
    return !isa<Constant>(inst->getOperand(1)) || both(inst);
  case Instruction::ExtractValue:
    if (const WithOverflowInst *sum = carryingAddition(inst->getOperand(0)))
      return sum->getBinaryOp() == Instruction::Sub || both(sum);
    return true;
  default:
    return true;
  }
}

bool Outlook::mayBeZero(const Value *value, unsigned word) const {
  KnownBits bits = computeKnownBits(value, layout).extractBits(kWord, word * kWord);
  return bits.isZero() ||
         (bits.One.isZero() && !isa<Constant>(value) && mayBeConstant(value, word));
}

bool Outlook::mayBeBit(const Value *value, unsigned depth) const {
  if (isBit(value, layout))
    return true;
  if (isa<Constant>(value) || isHidden(value, block))
    return false;
  if (++depth > kMaxDepth)
    return true;
  if (auto copied = copiedWord(value, 0))
    return copied->value && copied->word == 0 && mayBeBit(copied->value, depth);
  auto either = [&](const User *sum) {
    const Value *x = sum->getOperand(0), *y = sum->getOperand(1);
    return (mayBeBit(x, depth) && mayBeZero(y, 0)) || (mayBeBit(y, depth) && mayBeZero(x, 0));
  };
  auto *inst = cast<Instruction>(value);
  if (auto *extract = dyn_cast<ExtractValueInst>(inst))
    if (const WithOverflowInst *sum = carryingAddition(extract->getAggregateOperand()))
      return either(sum);
  return (inst->getOpcode() == Instruction::Add || inst->getOpcode() == Instruction::Or) &&
         either(inst);
}

/// Whether the back end may find x to be a sum, and y zero or a carry, in one of their words.
bool isAtRisk(const Sum &sum, const Outlook &outlook) {
  return (outlook.mayBeBit(sum.y) && outlook.mayBeSum(sum.x, 0)) ||
         (sum.bits() == 2 * kWord && outlook.mayBeZero(sum.y, 1) && outlook.mayBeSum(sum.x, 1));
}

class Protector {
public:
  explicit Protector(Function &function) : layout(function.getDataLayout()) {
    for (Instruction &inst : instructions(function))
      if (auto *sum = dyn_cast<WithOverflowInst>(&inst))
        note(sum);
      else if (match(&inst, m_LShr(m_Mul(m_SExt(m_Value()), m_NegatedPower2()), m_SpecificInt(64))))
        products.push_back(cast<BinaryOperator>(&inst));
  }

  /// Whether anything has changed.
  bool run() {
    bool isChanged = !products.empty();
    for (BinaryOperator *high : products)
      negate(*high);
    while (!candidates.empty())
      isChanged |= protect(*candidates.pop_back_val());
    return isChanged;
  }

private:
  const DataLayout &layout;
  SmallVector<WithOverflowInst *> candidates;
  SmallVector<BinaryOperator *> products; // high halves of those by -2^n

  static void negate(BinaryOperator &high);
  void note(WithOverflowInst *inst) {
    if (carryingAddition(inst) && (inst->getLHS()->getType()->isIntegerTy(kWord) ||
                                   inst->getLHS()->getType()->isIntegerTy(2 * kWord)))
      candidates.push_back(inst);
  }
  bool protect(WithOverflowInst &inst);
  Result addBit(IRBuilder<> &b, Value *x, Value *bit, bool subtracts);
  Result addWords(IRBuilder<> &b, const Sum &sum);
  Result addLongs(IRBuilder<> &b, const Sum &sum);
};

/// The high half of x * -2^n is that of -(x << n), of which the back end loses a borrow where it
/// knows the low bits of x.
void Protector::negate(BinaryOperator &high) {
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

Value *asBit(IRBuilder<> &b, Value *value) {
  Value *bit;
  return match(value, m_ZExt(m_Value(bit))) && bit->getType()->isIntegerTy(1)
             ? bit
             : b.CreateTrunc(value, b.getInt1Ty());
}

/// A word and a bit.
Result Protector::addBit(IRBuilder<> &b, Value *x, Value *bit, bool subtracts) {
  Value *y = b.CreateZExt(bit, x->getType());
  Constant *last =
      subtracts ? Constant::getNullValue(x->getType()) : Constant::getAllOnesValue(x->getType());
  return {subtracts ? b.CreateSub(x, y) : b.CreateAdd(x, y),
          b.CreateAnd(bit, b.CreateICmpEQ(x, last))};
}

/// Two words, one of which may be a carry.
Result Protector::addWords(IRBuilder<> &b, const Sum &sum) {
  if (isBit(sum.y, layout))
    return addBit(b, sum.x, asBit(b, sum.y), sum.subtracts);
  Value *both = b.CreateBinaryIntrinsic(
      sum.subtracts ? Intrinsic::usub_with_overflow : Intrinsic::uadd_with_overflow, sum.x, sum.y);
  auto *inst = dyn_cast<WithOverflowInst>(both);
  if (!inst || !isAtRisk(sum, {inst->getParent(), layout}))
    return {b.CreateExtractValue(both, 0), b.CreateExtractValue(both, 1)};
  inst->eraseFromParent();
  Value *whole = sum.subtracts ? b.CreateSub(sum.x, sum.y) : b.CreateAdd(sum.x, sum.y);
  return {whole, sum.subtracts ? b.CreateICmpULT(sum.x, sum.y) : b.CreateICmpULT(whole, sum.y)};
}

Result Protector::addLongs(IRBuilder<> &b, const Sum &sum) {
  Type *wide = sum.x->getType();
  auto low = [&](Value *v) { return b.CreateTrunc(v, b.getInt32Ty()); };
  auto high = [&](Value *v) { return low(b.CreateLShr(v, kWord)); };
  Result lower = addWords(b, {low(sum.x), low(sum.y), sum.subtracts}), upper;
  if (computeKnownBits(sum.y, layout).countMaxActiveBits() <= kWord) {
    upper = addBit(b, high(sum.x), lower.carry, sum.subtracts);
  } else {
    Result words = addWords(b, {high(sum.x), high(sum.y), sum.subtracts});
    upper = addBit(b, words.sum, lower.carry, sum.subtracts);
    upper.carry = b.CreateOr(upper.carry, words.carry);
  }
  Value *whole =
      b.CreateOr(b.CreateShl(b.CreateZExt(upper.sum, wide), kWord), b.CreateZExt(lower.sum, wide));
  return {whole, upper.carry};
}

bool Protector::protect(WithOverflowInst &inst) {
  if (!usesCarry(inst))
    return false;
  const Outlook outlook(inst.getParent(), layout);
  Sum sum = {inst.getLHS(), inst.getRHS(), inst.getBinaryOp() == Instruction::Sub};
  if (!isAtRisk(sum, outlook)) {
    std::swap(sum.x, sum.y);
    if (sum.subtracts || !isAtRisk(sum, outlook))
      return false;
  }
  IRBuilder<> b(&inst);
  Result result = sum.bits() == kWord ? addWords(b, sum) : addLongs(b, sum);
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
  return true;
}

class CarryChains : public FunctionPass {
public:
  static char ID;
  CarryChains() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Carry Chains"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesCFG(); }
  bool runOnFunction(Function &function) override { return Protector(function).run(); }
};

char CarryChains::ID = 0;

} // namespace

Pass *makeCarryChains() { return new CarryChains; }

} // namespace rubia::codegen
