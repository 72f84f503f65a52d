// SPDX-License-Identifier: Apache-2.0
// Division, reciprocal and square root with the rounding of the instruction.
//
// Round to nearest is LLVM's fdiv and llvm.sqrt, which are correctly rounded without !fpmath.
// Directed rounding has no hardware sequence that could be trusted, so it is derived from results
// that are rounded to nearest:
// f32: computed in f64 and converted under the wanted mode. An f64 result never lies on an f32
//   value g unless the exact result does: for a quotient a/b, |a/b - g| = |a - g*b| / |b|, and g*b
//   has at most 48 bits, so the relative distance is 0 or at least 2^-48; for a square root,
//   |sqrt(a) - g| = |a - g*g| / (sqrt(a) + g), at least 2^-49. Rounding to 53 bits cannot bridge
//   that, and it is monotone, so it never crosses g. f64's range holds all f32 quotients.
// f64: mantissas and exponents apart. With all mantissas in [0.5, 2] the residual a - q*b (or
//   a - s*s) is exactly representable, one fma computes it, and its sign says on which side of q
//   the exact result lies: q or its neighbour is the result with 53 bits. Rounding that once more
//   in the same direction, to fewer bits or out of range, is rounding the exact value in that
//   direction: the last multiplication by a power of two runs under the wanted mode.
#include "lowering/lib/frame/FloatingPoint.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Approx, Ftz, Full;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

static Value *mantissa(IRBuilder<> &b, Value *value) {
  return b.CreateIntrinsic(Intrinsic::amdgcn_frexp_mant, {value->getType()}, {value});
}

static Value *exponent(IRBuilder<> &b, Value *value) {
  return b.CreateIntrinsic(Intrinsic::amdgcn_frexp_exp, {b.getInt32Ty(), value->getType()},
                           {value});
}

// 2^exponent for an i32 in [-1022, 1023].
static Value *powerOfTwo(IRBuilder<> &b, Value *exponent) {
  Value *biased = b.CreateZExt(b.CreateAdd(exponent, b.getInt32(1023)), b.getInt64Ty());
  return b.CreateBitCast(b.CreateShl(biased, b.getInt64(52)), b.getDoubleTy());
}

// The neighbour of a positive `nearest` away from zero if the residual is positive and `away`, the
// one towards zero if it is negative and not `away`. NaN residuals, those of infinities, zeros and
// NaNs, change nothing.
static Value *correct(IRBuilder<> &b, Value *nearest, Value *residual, Value *away) {
  Value *zero = ConstantFP::get(b.getDoubleTy(), 0.0);
  Value *up = b.CreateAnd(b.CreateFCmpOGT(residual, zero), away);
  Value *down = b.CreateAnd(b.CreateFCmpOLT(residual, zero), b.CreateNot(away));
  Value *bits = b.CreateBitCast(nearest, b.getInt64Ty());
  bits = b.CreateAdd(bits, b.CreateZExt(up, b.getInt64Ty()));
  bits = b.CreateSub(bits, b.CreateZExt(down, b.getInt64Ty()));
  return b.CreateBitCast(bits, b.getDoubleTy());
}

static Value *directedQuotientF64(FunctionLowering &fn, Value *dividend, Value *divisor,
                                  Rounding rounding) {
  IRBuilder<> &b = fn.builder();
  Type *f64 = b.getDoubleTy();
  Value *x = b.CreateUnaryIntrinsic(Intrinsic::fabs, mantissa(b, dividend));
  Value *y = b.CreateUnaryIntrinsic(Intrinsic::fabs, mantissa(b, divisor));
  Value *nearest = b.CreateFDiv(x, y);
  Value *residual = b.CreateIntrinsic(Intrinsic::fma, {f64}, {b.CreateFNeg(nearest), y, x});
  Value *signs = b.CreateXor(b.CreateBitCast(dividend, b.getInt64Ty()),
                             b.CreateBitCast(divisor, b.getInt64Ty()));
  Value *negative = b.CreateICmpSLT(signs, b.getInt64(0));
  Value *away = rounding == Rounding::Zero ? b.getFalse()
                : rounding == Rounding::Up ? b.CreateNot(negative)
                                           : negative;
  Value *quotient = correct(b, nearest, residual, away);
  quotient = b.CreateBinaryIntrinsic(Intrinsic::copysign, quotient, b.CreateBitCast(signs, f64));

  // Beyond 2^1200 and below 2^-1200 all exponents give the same result. In two steps, because
  // 2^exponent itself can be out of range; the first is exact.
  Value *scale = b.CreateSub(exponent(b, dividend), exponent(b, divisor));
  scale = b.CreateBinaryIntrinsic(Intrinsic::smax, scale, b.getInt32(-1200));
  scale = b.CreateBinaryIntrinsic(Intrinsic::smin, scale, b.getInt32(1200));
  Value *half = b.CreateAShr(scale, b.getInt32(1));
  Value *scaled = b.CreateFMul(quotient, powerOfTwo(b, half));
  return inMode(fn, {rounding, fn.flushesF32Denormals()}, "v_mul_f64 $0, $1, $2", f64,
                {scaled, powerOfTwo(b, b.CreateSub(scale, half))});
}

static Value *directedSqrtF64(FunctionLowering &fn, Value *value, Rounding rounding) {
  IRBuilder<> &b = fn.builder();
  Type *f64 = b.getDoubleTy();
  Value *scale = exponent(b, value);
  Value *isOdd = b.CreateTrunc(scale, b.getInt1Ty());
  Value *one = ConstantFP::get(f64, 1.0), *two = ConstantFP::get(f64, 2.0);
  Value *x = b.CreateFMul(mantissa(b, value), b.CreateSelect(isOdd, two, one));
  Value *nearest = b.CreateUnaryIntrinsic(Intrinsic::sqrt, x);
  Value *residual = b.CreateIntrinsic(Intrinsic::fma, {f64}, {b.CreateFNeg(nearest), nearest, x});
  Value *root = correct(b, nearest, residual, b.getInt1(rounding == Rounding::Up));
  // Never out of range, so exact. An odd exponent loses its last bit, which x got.
  return b.CreateFMul(root, powerOfTwo(b, b.CreateAShr(scale, b.getInt32(1))));
}

// The f32 quotient rounded to nearest, flushed: that of the mantissas, of which no step can be
// denormal, with the exponents added at the end. So denormals are flushed by what the quotient is
// with 24 bits, and the mode has no say. (Not fdiv: LLVM's division switches the denormal mode for
// some of its steps, loses the residual of dividends up to 2^-102, and lets the scheduler put other
// instructions between its switches; errata.)
// The steps are those of AMD's own sequence: v_rcp_f32 (1 ulp), one Newton step, two corrections of
// the quotient by its residual, v_div_fixup_f32 for zeros, infinities and NaNs.
static Value *flushingQuotient(FunctionLowering &fn, Value *dividend, Value *divisor) {
  IRBuilder<> &b = fn.builder();
  Type *f32 = b.getFloatTy();
  auto fma = [&](Value *x, Value *y, Value *z) {
    return b.CreateIntrinsic(Intrinsic::fma, {f32}, {x, y, z});
  };
  Value *n = mantissa(b, dividend), *d = mantissa(b, divisor), *minusD = b.CreateFNeg(d);
  Value *inverse = b.CreateIntrinsic(Intrinsic::amdgcn_rcp, {f32}, {d});
  inverse = fma(fma(minusD, inverse, ConstantFP::get(f32, 1.0)), inverse, inverse);
  Value *quotient = b.CreateFMul(n, inverse);
  for (int correction = 0; correction < 2; ++correction)
    quotient = fma(fma(minusD, quotient, n), inverse, quotient);
  quotient = b.CreateIntrinsic(Intrinsic::amdgcn_div_fixup, {f32}, {quotient, d, n});
  Value *scale = b.CreateSub(exponent(b, dividend), exponent(b, divisor));
  Value *scaled =
      b.CreateIntrinsic(Intrinsic::ldexp, {b.getFloatTy(), b.getInt32Ty()}, {quotient, scale});
  // frexp's exponent of 2^-126 is -125. Infinities and NaNs are not above it, but stay.
  Value *isDenormal = b.CreateICmpSLT(b.CreateAdd(exponent(b, quotient), scale), b.getInt32(-125));
  Value *isFinite = b.CreateFCmpOLE(b.CreateUnaryIntrinsic(Intrinsic::fabs, quotient),
                                    ConstantFP::get(b.getFloatTy(), 2.0));
  Value *zero =
      b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(b.getFloatTy(), 0.0), quotient);
  return b.CreateSelect(b.CreateAnd(isDenormal, isFinite), zero, scaled);
}

static Value *roundedQuotient(FunctionLowering &fn, const ptx::Instruction &inst, Value *dividend,
                              Value *divisor) {
  IRBuilder<> &b = fn.builder();
  Rounding rounding = roundingOf(*inst.spelling);
  bool flushes = inst.spelling->has(ptx::Mod::Ftz);
  if (rounding == Rounding::NearestEven)
    return flushes ? flushingQuotient(fn, dividend, divisor) : b.CreateFDiv(dividend, divisor);
  if (dividend->getType()->isDoubleTy())
    return directedQuotientF64(fn, dividend, divisor, rounding);
  Value *quotient = b.CreateFDiv(b.CreateFPExt(dividend, b.getDoubleTy()),
                                 b.CreateFPExt(divisor, b.getDoubleTy()));
  return roundToF32(fn, quotient, rounding, flushes);
}

// Whether an f32 instruction is the approximate one. PTX ISA: without a modifier, as PTX 1.3 allows
// it, it is.
static bool isApproximate(const ptx::Spelling &spelling) {
  return spelling.type() == ptx::Type::F32 &&
         spelling.first(ptx::ModCategory::Rounding) == ptx::Mod::None &&
         !spelling.has(ptx::Mod::Full);
}

// div{.rnd|.approx|.full}{.ftz}.f32 d, a, b   PTX ISA: floating-point-instructions-div
// .full (2 ulp on the whole range) costs as much as .rn with AMD's instructions, so it is .rn.
Expected<Value *> lowerFDiv(FunctionLowering &fn, const ptx::Instruction &inst) {
  if (isApproximate(*inst.spelling))
    return finish(
        fn, inst,
        approximateQuotient(fn, fn.source(0), fn.source(1), inst.spelling->has(ptx::Mod::Ftz)));
  Value *dividend = flushedSource(fn, inst, 0), *divisor = flushedSource(fn, inst, 1);
  return finish(fn, inst, roundedQuotient(fn, inst, dividend, divisor), {dividend, divisor});
}

// rcp{.rnd|.approx}{.ftz}.(f32|f64) d, a   PTX ISA: floating-point-instructions-rcp
Expected<Value *> lowerFRcp(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  if (spelling.has(ptx::Mod::Approx) && spelling.type() == ptx::Type::F64)
    return approximateReciprocalF64(fn, fn.source(0));
  if (isApproximate(spelling))
    return finish(fn, inst, approximateReciprocal(fn, fn.source(0), spelling.has(ptx::Mod::Ftz)));
  Value *divisor = flushedSource(fn, inst, 0);
  return finish(fn, inst,
                roundedQuotient(fn, inst, ConstantFP::get(divisor->getType(), 1.0), divisor),
                divisor);
}

// sqrt{.rnd|.approx}{.ftz}.(f32|f64) d, a   PTX ISA: floating-point-instructions-sqrt
// The root of a normal number is normal, so .ftz flushes the operand only.
Expected<Value *> lowerFSqrt(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  if (isApproximate(spelling))
    return finish(fn, inst, approximateSqrt(fn, fn.source(0), spelling.has(ptx::Mod::Ftz)));
  Value *value = flushedSource(fn, inst, 0);
  Rounding rounding = roundingOf(spelling);
  Value *root;
  if (rounding == Rounding::NearestEven)
    root = b.CreateUnaryIntrinsic(Intrinsic::sqrt, value);
  else if (value->getType()->isDoubleTy())
    root = directedSqrtF64(fn, value, rounding);
  else
    root = roundToF32(
        fn, b.CreateUnaryIntrinsic(Intrinsic::sqrt, b.CreateFPExt(value, b.getDoubleTy())),
        rounding, /*flushes=*/false);
  return finish(fn, inst, root, value);
}

} // namespace rubia::lowering
