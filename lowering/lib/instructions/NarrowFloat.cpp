// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/instructions/NarrowFloat.h"
#include "llvm/IR/Intrinsics.h"
#include <cmath>

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

namespace rubia::lowering {

static constexpr unsigned kF32Fraction = 23;
static constexpr uint32_t kF32Hidden = 0x00800000;

// As signed integers, all numbers with a sign bit are up to minus infinity, and NaNs are above it.
static Value *negativesToZero(IRBuilder<> &b, Value *bits, uint64_t minusInfinity) {
  Type *type = bits->getType();
  Constant *last = ConstantInt::get(type, APInt(type->getScalarSizeInBits(), minusInfinity));
  return b.CreateSelect(b.CreateICmpSLE(bits, last), Constant::getNullValue(type), bits);
}

Value *reluF32(FunctionLowering &fn, Value *value) {
  IRBuilder<> &b = fn.builder();
  Value *bits = negativesToZero(b, b.CreateBitCast(value, b.getInt32Ty()), 0xff800000);
  return b.CreateBitCast(bits, b.getFloatTy());
}

Value *infinityToLargest(IRBuilder<> &b, const NarrowFormat &format, Value *code) {
  Type *type = code->getType();
  Value *magnitude = b.CreateAnd(code, ConstantInt::get(type, (1u << (format.bits - 1)) - 1));
  Value *isInfinite = b.CreateICmpEQ(magnitude, ConstantInt::get(type, format.infinity));
  return b.CreateSub(code, b.CreateZExt(isInfinite, type)); // the codes are neighbours
}

// What is added to `bits`, whose low `dropped` bits are about to be cut off, so that the cut
// rounds. An f32 beside its sign bit, which the directed roundings look at.
static Value *roundingIncrement(IRBuilder<> &b, Value *bits, unsigned dropped,
                                const NarrowRule &rule) {
  uint32_t unit = 1u << dropped;
  if (rule.random)
    return b.CreateShl(rule.random, dropped - rule.randomBits);
  Value *zero = b.getInt32(0), *up = b.getInt32(unit - 1);
  Value *isNegative = b.CreateICmpSLT(bits, zero);
  switch (rule.rounding) {
  case Rounding::NearestEven:
    return b.CreateAdd(b.CreateAnd(b.CreateLShr(bits, dropped), 1), b.getInt32(unit / 2 - 1));
  case Rounding::Zero:
    return zero;
  case Rounding::Up:
    return b.CreateSelect(isNegative, zero, up);
  case Rounding::Down:
    return b.CreateSelect(isNegative, up, zero);
  }
  return zero;
}

static Value *roundAway(IRBuilder<> &b, Value *bits, unsigned dropped, const NarrowRule &rule) {
  return b.CreateLShr(b.CreateAdd(bits, roundingIncrement(b, bits, dropped, rule)), dropped);
}

// The rounded magnitude of a format with fewer exponents than f32; `magnitude` is not beyond the
// format's range.
static Value *encodeMagnitude(IRBuilder<> &b, const NarrowFormat &format, Value *magnitude,
                              const NarrowRule &rule) {
  unsigned dropped = kF32Fraction - format.fraction;
  uint32_t leastBiased = uint32_t(format.minExponent + 127);
  Value *isNormal = b.CreateICmpUGE(magnitude, b.getInt32(leastBiased << kF32Fraction));
  Value *rebiased = b.CreateSub(magnitude, b.getInt32((leastBiased - 1) << kF32Fraction));
  if (!rule.random) {
    // A denormal result is a multiple of one quantum: f32 numbers whose unit in the last place is
    // the quantum round to it by themselves.
    float magic = std::ldexp(1.0f, format.minExponent + int(dropped));
    Value *sum = b.CreateFAdd(b.CreateBitCast(magnitude, b.getFloatTy()),
                              ConstantFP::get(b.getFloatTy(), magic));
    Value *quanta =
        b.CreateSub(b.CreateBitCast(sum, b.getInt32Ty()), b.getInt32(bit_cast<uint32_t>(magic)));
    return b.CreateSelect(isNormal, roundAway(b, rebiased, dropped, rule), quanta);
  }
  // The bits that the shift loses are below all random bits and cannot carry.
  Value *significand =
      b.CreateOr(b.CreateAnd(magnitude, b.getInt32(kF32Hidden - 1)), b.getInt32(kF32Hidden));
  Value *shift = b.CreateSub(b.getInt32(leastBiased), b.CreateLShr(magnitude, kF32Fraction));
  shift = b.CreateBinaryIntrinsic(Intrinsic::umin, shift, b.getInt32(31));
  Value *denormal = b.CreateLShr(significand, shift);
  return roundAway(b, b.CreateSelect(isNormal, rebiased, denormal), dropped, rule);
}

Value *encodeNarrow(FunctionLowering &fn, const NarrowFormat &format, Value *value,
                    const NarrowRule &rule) {
  IRBuilder<> &b = fn.builder();
  if (rule.relu)
    value = reluF32(fn, value);
  Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  Value *isNan = b.CreateFCmpUNO(value, value);
  unsigned dropped = kF32Fraction - format.fraction;
  if (format.hasF32Range()) { // numbers never carry into the sign
    Value *rounded = b.CreateAdd(bits, roundingIncrement(b, bits, dropped, rule));
    Value *code =
        b.CreateLShr(b.CreateSelect(isNan, b.getInt32(format.nan << dropped), rounded), dropped);
    return rule.satfinite ? infinityToLargest(b, format, code) : code;
  }
  Value *magnitude = b.CreateAnd(bits, b.getInt32(0x7fffffff));
  uint32_t limit = rule.satfinite || !format.infinity ? format.largest : format.infinity;
  uint32_t limitBits = (limit << dropped) + (uint32_t(format.minExponent + 126) << kF32Fraction);
  Value *clamped = b.CreateBinaryIntrinsic(Intrinsic::umin, magnitude, b.getInt32(limitBits));
  Value *sign = b.CreateShl(b.CreateLShr(bits, 31), format.bits - 1);
  Value *code = b.CreateOr(encodeMagnitude(b, format, clamped, rule), sign);
  return b.CreateSelect(isNan, b.getInt32(format.nan), code);
}

// The code's fraction at the top of a half's is the number times a power of two, denormals too.
Value *decodeToHalves(FunctionLowering &fn, const NarrowFormat &format, Value *codes, bool relu) {
  IRBuilder<> &b = fn.builder();
  Type *type = codes->getType();
  auto constant = [&](uint32_t bits) { return ConstantInt::get(type, bits); };
  Value *magnitude = b.CreateAnd(codes, constant((1u << (format.bits - 1)) - 1));
  Value *sign = b.CreateAnd(b.CreateShl(codes, 16 - format.bits), constant(0x8000));
  Value *result = b.CreateOr(b.CreateShl(magnitude, kF16.fraction - format.fraction), sign);
  int scale = format.minExponent - kF16.minExponent;
  if (scale != 0) {
    Type *halves = FixedVectorType::get(b.getHalfTy(), 2);
    Value *product = b.CreateFMul(b.CreateBitCast(result, halves),
                                  ConstantFP::get(halves, std::ldexp(1.0, scale)));
    result = b.CreateBitCast(product, type);
  }
  // With infinity there are NaNs by themselves.
  bool hasNan = format.nan != format.largest;
  if (hasNan && (!format.infinity || fn.options().code.is(settings::NanMode::Canonical))) {
    Value *isNan =
        b.CreateICmpUGT(magnitude, constant(format.infinity ? format.infinity : format.largest));
    result = b.CreateSelect(isNan, constant(kF16.nan), result);
  }
  return relu ? negativesToZero(b, result, 0xfc00) : result;
}

} // namespace rubia::lowering
