// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/matrices/UnitOrSoftware.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

// What added to a magnitude, as bits, reaches the sign where the number is infinite or NaN.
struct SpecialNumbers {
  uint32_t signs, added;
};
SpecialNumbers specialsOf(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
    return {0x80008000, 0x04000400};
  case ptx::Type::BF16:
    return {0x80008000, 0x00800080};
  case ptx::Type::E5M2:
    return {0x80808080, 0x04040404};
  case ptx::Type::E4M3:
    return {0x80808080, 0x01010101};
  default: // tf32
    return {0x80000000, 0x00800000};
  }
}

} // namespace

bool hasHalvedBytes(const Target &target, const MmaForm &form) {
  return (form.a == ptx::Type::E4M3 || form.a == ptx::Type::E5M2) &&
         target.row->float8 == targets::Float8::Fnuz;
}

bool splitsSingles(const Target &target, const MmaForm &form) {
  return form.a == ptx::Type::TF32 && !target.row->hasMfma();
}

Value *hasSpecial(FunctionLowering &fn, ptx::Type type, ArrayRef<Value *> factors) {
  IRBuilder<> &b = fn.builder();
  const auto [signs, added] = specialsOf(type);
  Value *seen = b.getInt32(0);
  for (Value *word : factors)
    seen = b.CreateOr(seen, b.CreateAdd(b.CreateAnd(word, ~signs), b.getInt32(added)));
  return b.CreateICmpNE(b.CreateAnd(seen, signs), b.getInt32(0));
}

// The lower of the two has bits down to 2^-10 of the number's exponent, and bf16 is normal from
// 2^-126 on.
Value *hasUnsplittable(FunctionLowering &fn, ArrayRef<Value *> factors) {
  IRBuilder<> &b = fn.builder();
  constexpr uint32_t kLeast = 11u << 23, kInfinity = 0x7f800000;
  Value *found = b.getFalse();
  for (Value *word : factors) {
    Value *magnitude = b.CreateAnd(word, 0x7fffe000);
    Value *isOutside =
        b.CreateICmpUGE(b.CreateSub(magnitude, b.getInt32(kLeast)), b.getInt32(kInfinity - kLeast));
    Value *isZero = b.CreateICmpEQ(magnitude, b.getInt32(0));
    found = b.CreateOr(found, b.CreateAnd(isOutside, b.CreateNot(isZero)));
  }
  return found;
}

Value *hasUnhalved(FunctionLowering &fn, ptx::Type type, ArrayRef<Value *> bytes) {
  IRBuilder<> &b = fn.builder();
  constexpr uint32_t kSigns = 0x80808080, kOnes = 0x01010101;
  Value *found = b.getInt32(0); // a byte that is 0x80: its sign, and of those above it
  for (Value *word : bytes) {
    Value *others = b.CreateXor(word, kSigns);
    found =
        b.CreateOr(found, b.CreateAnd(b.CreateSub(others, b.getInt32(kOnes)), b.CreateNot(others)));
  }
  Value *hasNegativeZero = b.CreateICmpNE(b.CreateAnd(found, kSigns), b.getInt32(0));
  return b.CreateOr(hasNegativeZero, hasSpecial(fn, type, bytes));
}

MmaFragment multiplyByWave(FunctionLowering &fn, Value *isExcluded,
                           function_ref<MmaFragment()> excluded,
                           function_ref<MmaFragment()> ordinary) {
  IRBuilder<> &b = fn.builder();
  Type *mask = fn.intType(fn.target().waveSize);
  Value *lanes = b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {mask}, {isExcluded});
  BasicBlock *first = fn.newBlock("product.excluded"), *second = fn.newBlock("product.ordinary"),
             *next = fn.newBlock("product.next");
  b.CreateCondBr(b.CreateICmpNE(lanes, Constant::getNullValue(mask)), first, second);
  auto filled = [&](BasicBlock *&block, function_ref<MmaFragment()> multiply) {
    b.SetInsertPoint(block);
    MmaFragment registers = multiply();
    block = b.GetInsertBlock();
    b.CreateBr(next);
    return registers;
  };
  const MmaFragment one = filled(first, excluded), other = filled(second, ordinary);
  b.SetInsertPoint(next);
  MmaFragment results;
  for (auto [value, otherValue] : zip_equal(one, other)) {
    PHINode *result = b.CreatePHI(value->getType(), 2);
    result->addIncoming(value, first);
    result->addIncoming(otherValue, second);
    results.push_back(result);
  }
  return results;
}

} // namespace rubia::lowering
