// SPDX-License-Identifier: Apache-2.0
// The .approx operations of f32, those of f64 that are no more than f32, and those of f16 and bf16,
// which are rounded f32. AMD's transcendental
// instructions are within 1 ulp, but flush denormal operands and results whatever the mode is, so
// forms without .ftz scale them into the normal range and back. The errors that PTX promises are
// cited at each function.
#include "lowering/lib/frame/FloatingPoint.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode
namespace rubia::ptx::Mod {
extern const Modifier Ftz;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// The instructions flush operands and results of f32 whatever the mode is; LLVM computes those of
// constants without it. So denormal literals become zeros here; docs/numerics.md has what is left.
static Value *flushedLiteral(Value *value) {
  auto *literal = dyn_cast<ConstantFP>(value);
  if (!literal || !value->getType()->isFloatTy() || !literal->getValueAPF().isDenormal())
    return value;
  return ConstantFP::getZero(value->getType(), literal->isNegative());
}

static Value *hardware(FunctionLowering &fn, Intrinsic::ID id, Value *value) {
  value = flushedLiteral(value);
  return fn.builder().CreateIntrinsic(id, {value->getType()}, {value});
}

static Constant *f32(FunctionLowering &fn, double value) {
  return ConstantFP::get(fn.builder().getFloatTy(), value);
}

static Value *fma(IRBuilder<> &b, Value *x, Value *y, Value *z) {
  return b.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
}

// v_rcp_f32, that of a literal with its result flushed.
static Value *reciprocal(FunctionLowering &fn, Value *x) {
  auto *literal = dyn_cast<ConstantFP>(flushedLiteral(x));
  if (!literal)
    return hardware(fn, Intrinsic::amdgcn_rcp, x);
  APFloat quotient(1.0f);
  quotient.divide(literal->getValueAPF(), APFloat::rmNearestTiesToEven);
  return flushedLiteral(ConstantFP::get(x->getContext(), quotient));
}

// `refined` where the seed is an ordinary number: zeros and infinities would give NaN, and so do
// denormal operands, of which the instructions make zeros and the refinement does not.
static Value *refinedIfFinite(IRBuilder<> &b, Value *seed, Value *refined) {
  return b.CreateSelect(b.CreateFCmpUNO(refined, refined), seed, refined);
}

// What denormal divisors are multiplied by, and quotients after them.
static Value *scaleOfDivisor(FunctionLowering &fn, Value *x) {
  IRBuilder<> &b = fn.builder();
  const double kScale = 0x1p24;
  if (auto *literal = dyn_cast<ConstantFP>(x))
    return f32(fn, literal->getValueAPF().isDenormal() ? kScale : 1.0);
  Value *isDenormal =
      b.CreateFCmpOLT(b.CreateUnaryIntrinsic(Intrinsic::fabs, x), f32(fn, 0x1p-126));
  return b.CreateSelect(isDenormal, f32(fn, kScale), f32(fn, 1.0));
}

// a * (1/b). PTX: at most 2 ulp for |b| in [2^-126, 2^126]; beyond it 1/b is 0, so the result is 0,
// or NaN for an infinite a, which v_rcp_f32's flushing gives. An error of 1 ulp of 1/b can be 2 ulp
// of the product, plus its rounding, so 1/b is refined by a Newton step, where it is finite.
Value *approximateQuotient(FunctionLowering &fn, Value *a, Value *b, bool flushes) {
  IRBuilder<> &builder = fn.builder();
  Value *scale = nullptr;
  if (!flushes) {
    scale = scaleOfDivisor(fn, b);
    b = builder.CreateFMul(b, scale);
  }
  Value *seed = reciprocal(fn, b);
  Value *error = fma(builder, builder.CreateFNeg(b), seed, f32(fn, 1.0));
  Value *refined = refinedIfFinite(builder, seed, fma(builder, error, seed, seed));
  Value *quotient =
      arithmeticInMode(fn, {Rounding::NearestEven, flushes}, Arithmetic::Mul, {a, refined});
  return scale ? builder.CreateFMul(quotient, scale) : quotient;
}

// PTX: at most 1 ulp. Mantissa and exponent apart, ldexp rounds denormal results.
Value *approximateReciprocal(FunctionLowering &fn, Value *a, bool flushes) {
  IRBuilder<> &b = fn.builder();
  if (flushes)
    return reciprocal(fn, a);
  Type *type = a->getType();
  Value *mantissa = b.CreateIntrinsic(Intrinsic::amdgcn_frexp_mant, {type}, {a});
  Value *exponent = b.CreateIntrinsic(Intrinsic::amdgcn_frexp_exp, {b.getInt32Ty(), type}, {a});
  return b.CreateIntrinsic(Intrinsic::ldexp, {type, b.getInt32Ty()},
                           {hardware(fn, Intrinsic::amdgcn_rcp, mantissa), b.CreateNeg(exponent)});
}

// instruction(a), where a denormal (and every negative) a is multiplied by `in` before and `finish`
// puts the result right.
static Value *scaledBelowNormal(FunctionLowering &fn, Intrinsic::ID instruction, Value *a,
                                double in, function_ref<Value *(Value *result, Value *small)> out) {
  IRBuilder<> &b = fn.builder();
  Value *small = b.CreateFCmpOLT(a, f32(fn, 0x1p-126));
  Value *scaled = b.CreateFMul(a, b.CreateSelect(small, f32(fn, in), f32(fn, 1.0)));
  return out(hardware(fn, instruction, scaled), small);
}

// PTX: relative error at most 2^-23.
Value *approximateSqrt(FunctionLowering &fn, Value *a, bool flushes) {
  if (flushes)
    return hardware(fn, Intrinsic::amdgcn_sqrt, a);
  IRBuilder<> &b = fn.builder();
  return scaledBelowNormal(fn, Intrinsic::amdgcn_sqrt, a, 0x1p32, [&](Value *root, Value *small) {
    return b.CreateFMul(root, b.CreateSelect(small, f32(fn, 0x1p-16), f32(fn, 1.0)));
  });
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write high words only, flush denormals, and
// have one NaN. PTX promises a relative error of 2^-20. The instructions are within 2^29 units
// (RDNA3 ISA, V_RCP_F64), which is 2^-23, and rounding to 20 bits of fraction adds 2^-21.
static Value *ofHighWord(FunctionLowering &fn, Intrinsic::ID instruction, Value *a) {
  IRBuilder<> &b = fn.builder();
  auto highWord = [&](Value *value) {
    Value *bits = b.CreateBitCast(value, b.getInt64Ty());
    return b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty());
  };
  auto number = [&](Value *high) {
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32), b.getDoubleTy());
  };
  auto flushed = [&](Value *value, Value *high) {
    return b.CreateSelect(b.createIsFPClass(value, fcSubnormal),
                          b.CreateAnd(high, b.getInt32(0x80000000)), high);
  };
  Value *result = hardware(fn, instruction, number(flushed(a, highWord(a))));
  Value *low = b.CreateTrunc(b.CreateBitCast(result, b.getInt64Ty()), b.getInt32Ty());
  // The NaN of an operand whose low word is 0 has such a low word too.
  Value *high = b.CreateAdd(highWord(result), b.CreateLShr(low, 31));
  if (instruction == Intrinsic::amdgcn_rcp) // roots of normal numbers are normal
    high = flushed(result, high);
  if (fn.options().code.is(settings::NanMode::Canonical))
    high = b.CreateSelect(b.createIsFPClass(result, fcNan), b.getInt32(0x7fffffff), high);
  return number(high);
}

Value *approximateReciprocalF64(FunctionLowering &fn, Value *a) {
  return ofHighWord(fn, Intrinsic::amdgcn_rcp, a);
}

// 1/sqrt(a) with an error of half a unit and a 2^-13th of one: PTX promises 2 ulp, but CUDA's
// rsqrt(double), which is this instruction, 1 ulp. v_rsq_f64, which takes denormals, is within
// 2^29 units (2^-23). A step of third order, r + r * (e/2 + 3/8 e^2) with e = 1 - a * r * r, leaves
// 2^-67; e is exact to 2^-75 since the rounding of a * r is taken out again.
static Value *reciprocalRootF64(FunctionLowering &fn, Value *a) {
  IRBuilder<> &b = fn.builder();
  auto constant = [&](double value) { return ConstantFP::get(b.getDoubleTy(), value); };
  Value *seed = hardware(fn, Intrinsic::amdgcn_rsq, a);
  Value *root = b.CreateFMul(a, seed), *minusRoot = b.CreateFNeg(root);
  Value *rounding = fma(b, a, seed, minusRoot);
  Value *error = fma(b, minusRoot, seed, constant(1.0));
  error = fma(b, b.CreateFNeg(rounding), seed, error);
  Value *series = fma(b, error, constant(0.375), constant(0.5));
  return refinedIfFinite(b, seed, fma(b, b.CreateFMul(seed, error), series, seed));
}

// rsqrt{.approx}{.ftz}.(f32|f64) d, a   PTX ISA: floating-point-instructions-rsqrt
// f32: relative error at most 2^-22.9. f64: with .ftz 2^-20, and only the high words of operand
// and result.
Expected<Value *> lowerFRsqrt(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *a = fn.source(0);
  bool flushes = inst.spelling->has(ptx::Mod::Ftz);
  if (a->getType()->isDoubleTy()) {
    if (!flushes)
      return finish(fn, inst, reciprocalRootF64(fn, a), a);
    return ofHighWord(fn, Intrinsic::amdgcn_rsq, a);
  }
  if (flushes)
    return finish(fn, inst, hardware(fn, Intrinsic::amdgcn_rsq, a));
  Value *result =
      scaledBelowNormal(fn, Intrinsic::amdgcn_rsq, a, 0x1p24, [&](Value *root, Value *small) {
        return b.CreateFMul(root, b.CreateSelect(small, f32(fn, 0x1p12), f32(fn, 1.0)));
      });
  return finish(fn, inst, result);
}

// The instructions take revolutions in [-256, 256]; beyond, the fraction is taken, which for huge
// operands is 0, as on NVIDIA's hardware. Absolute error: 2^-22 from the product (rounding, and the
// error of 1/(2 pi) as f32) for |a| <= pi, of the 2^-20.5 that PTX promises.
static Value *lowerTrigonometric(FunctionLowering &fn, const ptx::Instruction &inst,
                                 Intrinsic::ID instruction) {
  IRBuilder<> &b = fn.builder();
  Value *revolutions = flushedLiteral(b.CreateFMul(fn.source(0), f32(fn, 0.15915494309189535)));
  // LLVM's sine of -0 is +0.
  if (auto *literal = dyn_cast<ConstantFP>(revolutions);
      literal && literal->isZero() && instruction == Intrinsic::amdgcn_sin)
    return finish(fn, inst, literal);
  Value *inRange =
      b.CreateFCmpOLE(b.CreateUnaryIntrinsic(Intrinsic::fabs, revolutions), f32(fn, 256.0));
  Value *reduced =
      b.CreateSelect(inRange, revolutions, hardware(fn, Intrinsic::amdgcn_fract, revolutions));
  return finish(fn, inst, hardware(fn, instruction, reduced));
}

// sin{.approx}{.ftz}.f32 d, a   PTX ISA: floating-point-instructions-sin
// Denormals give zero also without .ftz.
Expected<Value *> lowerFSin(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerTrigonometric(fn, inst, Intrinsic::amdgcn_sin);
}

// cos{.approx}{.ftz}.f32 d, a   PTX ISA: floating-point-instructions-cos
Expected<Value *> lowerFCos(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerTrigonometric(fn, inst, Intrinsic::amdgcn_cos);
}

// lg2{.approx}{.ftz}.f32 d, a   PTX ISA: floating-point-instructions-lg2
// Absolute error 2^-22 in (0.5, 2), relative 2^-22 outside.
Expected<Value *> lowerFLg2(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *a = fn.source(0);
  if (inst.spelling->has(ptx::Mod::Ftz))
    return finish(fn, inst, hardware(fn, Intrinsic::amdgcn_log, a));
  Value *result =
      scaledBelowNormal(fn, Intrinsic::amdgcn_log, a, 0x1p32, [&](Value *log, Value *small) {
        return b.CreateFSub(log, b.CreateSelect(small, f32(fn, 32.0), f32(fn, 0.0)));
      });
  return finish(fn, inst, result);
}

// `function` of an f32 value, or of the elements of half types, computed in f32 and rounded.
static Value *inF32(FunctionLowering &fn, Value *a, function_ref<Value *(Value *)> function) {
  IRBuilder<> &b = fn.builder();
  return elementwise(b, a, [&](ArrayRef<Value *> element) {
    Type *type = element[0]->getType();
    if (type->isFloatTy())
      return function(element[0]);
    return b.CreateFPTrunc(function(b.CreateFPExt(element[0], b.getFloatTy())), type);
  });
}

// 2^a. Below -126 the result is denormal: computed at a + 64, exact there.
static Value *power(FunctionLowering &fn, Value *a, bool flushes) {
  IRBuilder<> &b = fn.builder();
  if (flushes)
    return hardware(fn, Intrinsic::amdgcn_exp2, a);
  Value *small = b.CreateFCmpOLT(a, f32(fn, -120.0));
  Value *scaled = b.CreateFAdd(a, b.CreateSelect(small, f32(fn, 64.0), f32(fn, 0.0)));
  Value *result = hardware(fn, Intrinsic::amdgcn_exp2, scaled);
  return b.CreateFMul(result, b.CreateSelect(small, f32(fn, 0x1p-64), f32(fn, 1.0)));
}

// ex2{.approx}{.ftz}.type d, a   PTX ISA: floating-point-instructions-ex2,
// half-precision-floating-point-instructions-ex2
// f32: at most 2 ulp. f16: relative error 2^-9.9, bf16: 2^-7, where rounding takes 2^-11 and 2^-8.
// An f16 result is 0 long before the f32 one is denormal.
Expected<Value *> lowerFEx2(FunctionLowering &fn, const ptx::Instruction &inst) {
  Value *a = fn.source(0);
  bool flushes = inst.spelling->has(ptx::Mod::Ftz) || a->getType()->getScalarType()->isHalfTy();
  return finish(fn, inst, inF32(fn, a, [&](Value *x) { return power(fn, x, flushes); }));
}

// (1 - t) / (1 + t) with t = exp(-2|a|); near 0, where that cancels, a - a^3/3; tiny operands are
// their own result, so denormals are kept in every mode.
static Value *hyperbolicTangent(FunctionLowering &fn, Value *a) {
  IRBuilder<> &b = fn.builder();
  Value *magnitude = b.CreateUnaryIntrinsic(Intrinsic::fabs, a);
  // 2 / ln(2) turns exp into exp2.
  Value *t =
      hardware(fn, Intrinsic::amdgcn_exp2, b.CreateFMul(magnitude, f32(fn, -2.8853900817779268)));
  Value *one = f32(fn, 1.0);
  Value *quotient =
      b.CreateFMul(b.CreateFSub(one, t), hardware(fn, Intrinsic::amdgcn_rcp, b.CreateFAdd(one, t)));
  Value *large = b.CreateBinaryIntrinsic(Intrinsic::copysign, quotient, a);
  Value *square = b.CreateFMul(b.CreateFMul(a, a), f32(fn, -1.0 / 3.0));
  Value *small = fma(b, square, a, a);
  Value *result = b.CreateSelect(b.CreateFCmpOLT(magnitude, f32(fn, 0x1p-5)), small, large);
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, f32(fn, 0x1p-13)), a, result);
}

// tanh.approx.type d, a   PTX ISA: floating-point-instructions-tanh,
// half-precision-floating-point-instructions-tanh
// f32: relative error at most 2^-11. f16: absolute error 2^-10.987, of which rounding takes 2^-12.
// bf16: relative error 2^-8.
Expected<Value *> lowerFTanh(FunctionLowering &fn, const ptx::Instruction &inst) {
  return finish(fn, inst,
                inF32(fn, fn.source(0), [&](Value *x) { return hyperbolicTangent(fn, x); }));
}

} // namespace rubia::lowering
