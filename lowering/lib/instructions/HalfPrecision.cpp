// SPDX-License-Identifier: Apache-2.0
// PTX ISA: half-precision-floating-point-instructions, the arithmetic of f16, bf16 and pairs of
// them.
//
// f16 is computed by AMD's own instructions. bf16 is computed in f32 and then rounded: for sums and
// products rounding twice is harmless, since f32 has more than twice the bits of bf16 and two more
// (Figueroa, "When is double rounding innocuous?"); the f32 result of an fma is rounded to odd,
// unless it is a sum or a product in fact.
#include "lowering/lib/frame/FloatingPoint.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Ftz, Oob;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

static Type *widened(Type *type, Type *element) { return type->getWithNewType(element); }

// bf16 is the upper half of f32. By integers: LLVM may choose a conversion that flushes denormals.
Value *widenBf16(IRBuilder<> &b, Value *value) {
  Type *type = value->getType();
  if (!type->getScalarType()->isBFloatTy())
    return value;
  Value *bits = b.CreateZExt(toBits(b, value), widened(type, b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(bits, ConstantInt::get(bits->getType(), 16)),
                         widened(type, b.getFloatTy()));
}

Value *narrowExactBf16(IRBuilder<> &b, Value *value, Type *type) {
  if (value->getType() == type)
    return value;
  Value *bits = toBits(b, value);
  Value *high = b.CreateLShr(bits, ConstantInt::get(bits->getType(), 16));
  return b.CreateBitCast(b.CreateTrunc(high, bitsType(type)), type);
}

// f32 rounded to bf16, denormals kept.
static Value *roundToBf16(FunctionLowering &fn, Value *value, Type *type) {
  IRBuilder<> &b = fn.builder();
  if (!fn.flushesF32Denormals())
    return b.CreateFPTrunc(value, type);
  // By integers, as above: to nearest, and to even if the last bit that stays is 1. NaN made quiet.
  Value *bits = toBits(b, value);
  auto number = [&](uint64_t n) { return ConstantInt::get(bits->getType(), n); };
  Value *last = b.CreateAnd(b.CreateLShr(bits, number(16)), number(1));
  Value *rounded = b.CreateAdd(b.CreateAdd(bits, last), number(0x7fff));
  Value *isNan = b.CreateFCmpUNO(value, value);
  rounded = b.CreateSelect(isNan, b.CreateOr(bits, number(0x400000)), rounded);
  return narrowExactBf16(b, b.CreateBitCast(rounded, value->getType()), type);
}

static bool isConstant(Value *value, function_ref<bool(const APFloat &)> is) {
  auto *constant = dyn_cast<Constant>(value);
  if (constant && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  auto *number = dyn_cast_or_null<ConstantFP>(constant);
  return number && is(number->getValueAPF());
}

static bool isZero(const APFloat &number) { return number.isZero(); }

// a * b + c where one product is exact with as many bits as a factor has, or c is zero.
static bool isSumOrProduct(ArrayRef<Value *> sources) {
  auto isExactFactor = [](const APFloat &number) {
    return number.isZero() || (number.isNormal() && number.getExactLog2Abs() != INT_MIN);
  };
  return isConstant(sources[0], isExactFactor) || isConstant(sources[1], isExactFactor) ||
         isConstant(sources[2], isZero);
}

static Value *bf16Arithmetic(FunctionLowering &fn, Arithmetic op, ArrayRef<Value *> sources) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 3> wide;
  for (Value *source : sources)
    wide.push_back(widenBf16(b, source));
  const FloatMode kKeepingDenormals;
  Value *result = op == Arithmetic::Fma && !isSumOrProduct(sources)
                      ? fmaRoundedToOdd(fn, wide[0], wide[1], wide[2])
                      : arithmeticInMode(fn, kKeepingDenormals, op, wide);
  // Triton adds products with 0 to a number, which leaves it or makes it NaN.
  if (op == Arithmetic::Fma && (isConstant(sources[0], isZero) || isConstant(sources[1], isZero)))
    return narrowExactBf16(b, result, sources[0]->getType());
  return roundToBf16(fn, result, sources[0]->getType());
}

// Measured on NVIDIA's hardware: a result is flushed if, rounded to 11 bits with unbounded
// exponent, it is below 2^-14. Sums below it are exact. A product is exact in f32, and so is an fma
// in f64 where it is near the limit.
static Value *flushingF16Arithmetic(FunctionLowering &fn, Arithmetic op,
                                    ArrayRef<Value *> sources) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 3> flushed, wide;
  Type *wideElement = op == Arithmetic::Fma ? b.getDoubleTy() : b.getFloatTy();
  for (Value *source : sources) {
    flushed.push_back(flushDenormal(fn, source));
    wide.push_back(b.CreateFPExt(flushed.back(), widened(source->getType(), wideElement)));
  }
  Value *result = plainArithmetic(b, op, flushed);
  if (op == Arithmetic::Add || op == Arithmetic::Sub)
    return flushDenormal(fn, result);
  const double kRoundsUp = 0x1p-14 - 0x1p-26;
  Value *exact = plainArithmetic(b, op, wide);
  Value *small = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(Intrinsic::fabs, exact),
                                 ConstantFP::get(exact->getType(), kRoundsUp));
  Value *bits = toBits(b, result);
  Value *zero = b.CreateAnd(bits, ConstantInt::get(bits->getType(), 0x8000));
  return b.CreateBitCast(b.CreateSelect(small, zero, bits), result->getType());
}

// .oob: the NaN 7ff7 or fff7 stands for an element out of bounds. As a factor it makes the result
// +0, as a summand it is a NaN like any other.
static Value *zeroOutOfBounds(IRBuilder<> &b, Value *result, ArrayRef<Value *> factors) {
  Value *outside = nullptr;
  for (Value *factor : factors) {
    Value *bits = toBits(b, factor);
    Type *type = bits->getType();
    Value *magnitude = b.CreateAnd(bits, ConstantInt::get(type, 0x7fff));
    Value *isMark = b.CreateICmpEQ(magnitude, ConstantInt::get(type, 0x7ff7));
    outside = outside ? b.CreateOr(outside, isMark) : isMark;
  }
  return b.CreateSelect(outside, Constant::getNullValue(result->getType()), result);
}

Value *halfArithmetic(FunctionLowering &fn, const ptx::Instruction &inst, Arithmetic op,
                      ArrayRef<Value *> sources) {
  IRBuilder<> &b = fn.builder();
  Value *result;
  if (sources[0]->getType()->getScalarType()->isBFloatTy())
    result = bf16Arithmetic(fn, op, sources);
  else if (inst.spelling->has(ptx::Mod::Ftz))
    result = flushingF16Arithmetic(fn, op, sources);
  else
    result = plainArithmetic(b, op, sources);
  return inst.spelling->has(ptx::Mod::Oob) ? zeroOutOfBounds(b, result, sources.take_front(2))
                                           : result;
}

} // namespace rubia::lowering
