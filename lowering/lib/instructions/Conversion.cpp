// SPDX-License-Identifier: Apache-2.0
// cvt of one number: between integers, half, bfloat16, tf32, single and double precision.
// PTX ISA: data-movement-and-conversion-instructions-cvt.
//
// Float to integer always saturates. AMD's v_cvt does too and gives 0 for NaN, as PTX wants for
// results of up to 32 bits from f32; LLVM's fptosi has no way to say so, hence the inline assembly,
// one instruction instead of the eight that fptosi.sat becomes.
//
// bf16 is the upper half of an f32, so it is computed with as f32 and rounded to by integers.
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "lowering/lib/instructions/NarrowFloat.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode
namespace rubia::targets::Fact {
extern const GenerationFact waitsForTranscendentals;
} // namespace rubia::targets::Fact
namespace rubia::ptx::Mod {
extern const Modifier Ftz, Relu, Rmi, Rna, Rni, Rpi, Rzi, Sat, Satfinite;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// ---------- Integers

Value *saturateInteger(IRBuilder<> &b, Value *value, bool fromSigned, unsigned toBits,
                       bool toSigned) {
  unsigned bits = value->getType()->getIntegerBitWidth();
  if (fromSigned && !toSigned)
    value =
        b.CreateBinaryIntrinsic(Intrinsic::smax, value, Constant::getNullValue(value->getType()));
  unsigned valueBits = toSigned ? toBits - 1 : toBits; // of the magnitude that fits
  unsigned sourceBits = fromSigned ? bits - 1 : bits;  // of the largest magnitude
  if (sourceBits <= valueBits)
    return value;
  Constant *largest = ConstantInt::get(value->getType(), APInt::getLowBitsSet(bits, valueBits));
  value = b.CreateBinaryIntrinsic(fromSigned ? Intrinsic::smin : Intrinsic::umin, value, largest);
  if (fromSigned && toSigned)
    value = b.CreateBinaryIntrinsic(
        Intrinsic::smax, value,
        ConstantInt::get(value->getType(), APInt::getHighBitsSet(bits, bits - valueBits)));
  return value;
}

static Value *integerToInteger(FunctionLowering &fn, const ptx::Instruction &inst, ptx::Type to,
                               ptx::Type from) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  if (inst.spelling->has(ptx::Mod::Sat))
    value = saturateInteger(b, value, isSigned(from), ptx::sizeInBits(to), isSigned(to));
  Type *type = fn.intType(ptx::sizeInBits(to));
  return isSigned(from) ? b.CreateSExtOrTrunc(value, type) : b.CreateZExtOrTrunc(value, type);
}

// ---------- Float to integer

// The first source; bf16 as the f32 that it is the upper half of.
static Value *floatSource(FunctionLowering &fn, ptx::Type from) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  if (from != ptx::Type::BF16)
    return value;
  Value *bits = b.CreateZExt(b.CreateBitCast(value, b.getInt16Ty()), b.getInt32Ty());
  return b.CreateBitCast(b.CreateShl(bits, 16), b.getFloatTy());
}

// The integer that .rni, .rzi, .rmi or .rpi makes of a value, still a float.
static Value *roundToIntegral(FunctionLowering &fn, const ptx::Spelling &spelling, Value *value) {
  const ptx::Modifier rounding = spelling.first(ptx::ModCategory::IntegerRounding);
  const Intrinsic::ID id = rounding == ptx::Mod::Rni   ? Intrinsic::roundeven
                           : rounding == ptx::Mod::Rmi ? Intrinsic::floor
                           : rounding == ptx::Mod::Rpi ? Intrinsic::ceil
                           : rounding == ptx::Mod::Rzi ? Intrinsic::trunc
                                                       : Intrinsic::not_intrinsic;
  return id == Intrinsic::not_intrinsic ? value : fn.builder().CreateUnaryIntrinsic(id, value);
}

static Value *convertByHardware(FunctionLowering &fn, Value *value, bool toSigned) {
  IRBuilder<> &b = fn.builder();
  std::string text =
      targets::Fact::waitsForTranscendentals(*fn.target().row) ? "s_waitcnt_depctr 0xfff\n\t" : "";
  text += toSigned ? "v_cvt_i32_" : "v_cvt_u32_";
  text += value->getType()->isDoubleTy() ? "f64 $0, $1" : "f32 $0, $1";
  auto *type = FunctionType::get(b.getInt32Ty(), {value->getType()}, /*isVarArg=*/false);
  CallInst *call =
      b.CreateCall(InlineAsm::get(type, text, "=v,v", /*hasSideEffects=*/false), value);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(Attribute::WillReturn);
  return call;
}

// Measured on NVIDIA's hardware: NaN becomes 0 if the source has at most 32 bits and the result
// too, otherwise it has only the top bit of the result set.
static Value *floatToInteger(FunctionLowering &fn, const ptx::Instruction &inst, ptx::Type to,
                             ptx::Type from) {
  IRBuilder<> &b = fn.builder();
  Value *value = floatSource(fn, from);
  if (from == ptx::Type::F16)
    value = b.CreateFPExt(value, b.getFloatTy()); // exact
  if (from == ptx::Type::F32 && inst.spelling->has(ptx::Mod::Ftz))
    value = flushDenormal(fn, value);
  bool truncates = inst.spelling->has(ptx::Mod::Rzi);
  Value *integral = truncates ? value : roundToIntegral(fn, *inst.spelling, value);
  unsigned bits = ptx::sizeInBits(to);
  Type *type = fn.intType(bits);
  Value *result;
  if (bits == 64) {
    result = b.CreateIntrinsic(isSigned(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                               {type, integral->getType()}, {integral});
  } else {
    result = convertByHardware(fn, integral, isSigned(to));
    if (bits < 32)
      result = b.CreateTrunc(saturateInteger(b, result, isSigned(to), bits, isSigned(to)), type);
  }
  if (bits < 64 && from != ptx::Type::F64)
    return result;
  return b.CreateSelect(b.CreateFCmpUNO(value, value),
                        ConstantInt::get(type, APInt::getSignMask(bits)), result);
}

// ---------- To half and bfloat16

// A denormal f32 is 0 in half but for rounding away from 0.
static Value *narrowToHalf(FunctionLowering &fn, Value *value, const NarrowRule &rule) {
  IRBuilder<> &b = fn.builder();
  Type *half = b.getHalfTy();
  if (rule.relu)
    value = reluF32(fn, value);
  Value *result;
  if (rule.rounding == Rounding::NearestEven)
    result = b.CreateFPTrunc(value, half);
  else if (rule.rounding == Rounding::Zero)
    result =
        b.CreateExtractElement(b.CreateIntrinsic(Intrinsic::amdgcn_cvt_pkrtz, {},
                                                 {value, ConstantFP::get(b.getFloatTy(), 0.0)}),
                               uint64_t(0));
  else
    result = inMode(fn, {rule.rounding, /*flushesF32=*/false}, "v_cvt_f16_f32 $0, $1", half, value);
  if (!rule.satfinite)
    return result;
  return b.CreateBitCast(infinityToLargest(b, kF16, b.CreateBitCast(result, b.getInt16Ty())), half);
}

// An i16, because LLVM selects between bfloat values by way of f32, whose denormals a unit may
// flush.
static Value *narrowToBfloat(FunctionLowering &fn, Value *value, const NarrowRule &rule) {
  IRBuilder<> &b = fn.builder();
  return b.CreateTrunc(encodeNarrow(fn, kBf16, value, rule), b.getInt16Ty());
}

// An f64 in f32 so that rounding it again, to fewer bits, is as good as rounding once: truncated,
// and what is not exact is odd.
static Value *roundToOddF32(FunctionLowering &fn, Value *wide) {
  IRBuilder<> &b = fn.builder();
  Value *narrow = roundToF32(fn, wide, Rounding::Zero, /*flushes=*/false);
  Value *isInexact = b.CreateFCmpUNE(b.CreateFPExt(narrow, wide->getType()), wide);
  Value *bits = b.CreateBitCast(narrow, b.getInt32Ty());
  return b.CreateBitCast(b.CreateOr(bits, b.CreateZExt(isInexact, b.getInt32Ty())), b.getFloatTy());
}

// Every rounding in the same direction to a coarser format is the direct one.
static Value *narrowF64(FunctionLowering &fn, Value *value, ptx::Type to, Rounding rounding) {
  IRBuilder<> &b = fn.builder();
  bool isNearest = rounding == Rounding::NearestEven;
  if (to == ptx::Type::BF16)
    return narrowToBfloat(fn,
                          isNearest ? roundToOddF32(fn, value)
                                    : roundToF32(fn, value, rounding, /*flushes=*/false),
                          {rounding});
  if (isNearest)
    return b.CreateFPTrunc(value, b.getHalfTy());
  return narrowToHalf(fn, roundToF32(fn, value, rounding, /*flushes=*/false), {rounding});
}

// ---------- Integer to float

// A 64-bit integer with at most 53 significant bits, that rounds as the given one does to formats
// of at most 51 bits: the low bits, if they do not fit, are one sticky bit.
static Value *fitIntoF64(IRBuilder<> &b, Value *value, bool isSigned) {
  const uint64_t kLow = (1 << 11) - 1;
  Value *low = b.CreateAnd(value, kLow);
  Value *sticky = b.CreateAnd(b.CreateAdd(low, b.getInt64(kLow)), kLow + 1);
  Value *folded = b.CreateOr(b.CreateAnd(value, ~kLow), sticky);
  // Signed and unsigned: the upper bits are all alike where the value fits as it is.
  Value *upper = isSigned ? b.CreateAShr(value, 53) : b.CreateLShr(value, 53);
  Value *isSmall = b.CreateICmpEQ(upper, b.getInt64(0));
  if (isSigned)
    isSmall = b.CreateOr(isSmall, b.CreateICmpEQ(upper, b.getInt64(~0ull)));
  return b.CreateSelect(isSmall, value, folded);
}

// bf16, to nearest: up to 16 bits are exact in f32, the others in f64.
static Value *integerToBfloat(FunctionLowering &fn, Value *value, bool isSigned) {
  IRBuilder<> &b = fn.builder();
  unsigned bits = value->getType()->getIntegerBitWidth();
  if (bits == 64)
    value = fitIntoF64(b, value, isSigned);
  Type *exact = bits <= 16 ? b.getFloatTy() : b.getDoubleTy();
  Value *number = isSigned ? b.CreateSIToFP(value, exact) : b.CreateUIToFP(value, exact);
  return narrowToBfloat(fn, bits <= 16 ? number : roundToOddF32(fn, number), {});
}

// In steps: 64-bit integers to f64 to f32 to f16 or bf16.
static Value *integerToFloatDirected(FunctionLowering &fn, Value *value, bool fromSigned,
                                     ptx::Type to, Rounding rounding) {
  IRBuilder<> &b = fn.builder();
  unsigned bits = value->getType()->getIntegerBitWidth();
  FloatMode mode{rounding, fn.flushesF32Denormals()};
  Type *f32 = b.getFloatTy(), *f64 = b.getDoubleTy();
  auto convert = [&](Value *integer, bool hasSign, Type *type) {
    return hasSign ? b.CreateSIToFP(integer, type) : b.CreateUIToFP(integer, type);
  };
  auto fromF32 = [&](Value *number) {
    return to == ptx::Type::F16    ? narrowToHalf(fn, number, {rounding})
           : to == ptx::Type::BF16 ? narrowToBfloat(fn, number, {rounding})
                                   : number;
  };
  if (bits == 32 && to == ptx::Type::F64)
    return convert(value, fromSigned, f64);
  if (bits < 32)
    return to == ptx::Type::F64 ? convert(value, fromSigned, f64)
                                : fromF32(convert(value, fromSigned, f32));
  if (bits == 32)
    return fromF32(
        inMode(fn, mode, fromSigned ? "v_cvt_f32_i32 $0, $1" : "v_cvt_f32_u32 $0, $1", f32, value));
  // Both halves are exact in f64, their sum rounds once.
  Value *high = b.CreateTrunc(b.CreateLShr(value, 32), b.getInt32Ty());
  Value *low = b.CreateTrunc(value, b.getInt32Ty());
  Value *scaled = b.CreateFMul(convert(high, fromSigned, f64), ConstantFP::get(f64, 0x1p32));
  Value *sum = inMode(fn, mode, "v_add_f64 $0, $1, $2", f64, {scaled, convert(low, false, f64)});
  return to == ptx::Type::F64 ? sum : fromF32(roundToF32(fn, sum, rounding, /*flushes=*/false));
}

static Value *integerToFloat(FunctionLowering &fn, const ptx::Instruction &inst, ptx::Type to,
                             ptx::Type from) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  Rounding rounding = roundingOf(*inst.spelling);
  if (rounding != Rounding::NearestEven)
    return integerToFloatDirected(fn, value, isSigned(from), to, rounding);
  if (to == ptx::Type::BF16)
    return integerToBfloat(fn, value, isSigned(from));
  return isSigned(from) ? b.CreateSIToFP(value, fn.typeOf(to))
                        : b.CreateUIToFP(value, fn.typeOf(to));
}

// ---------- Float to float

// tf32 is an f32 whose low 13 bits are 0.
static Value *narrowToTf32(FunctionLowering &fn, Value *value, const NarrowRule &rule) {
  IRBuilder<> &b = fn.builder();
  return b.CreateShl(encodeNarrow(fn, kTf32, value, rule), 32 - kTf32.bits);
}

// .rna rounds bit patterns, as measured on NVIDIA's hardware: what is not finite is truncated, and
// of what is not finite then, .satfinite takes the pattern before it.
static Value *narrowToTf32Away(IRBuilder<> &b, Value *value, bool satfinite) {
  const uint32_t kUnit = 0x2000, kInfinity = 0x7f800000;
  Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  auto isFinite = [&](Value *pattern) {
    return b.CreateICmpULT(b.CreateAnd(pattern, 0x7fffffff), b.getInt32(kInfinity));
  };
  Value *half = b.CreateSelect(isFinite(bits), b.getInt32(kUnit / 2), b.getInt32(0));
  Value *rounded = b.CreateAnd(b.CreateAdd(bits, half), ~(kUnit - 1));
  if (!satfinite)
    return rounded;
  return b.CreateSelect(isFinite(rounded), rounded, b.CreateSub(rounded, b.getInt32(kUnit)));
}

// .ftz concerns f32 and bf16: half denormals, source or result, are kept, and a denormal f32 that
// is converted to half is not flushed either.
static Expected<Value *> floatToFloat(FunctionLowering &fn, const ptx::Instruction &inst,
                                      ptx::Type to, ptx::Type from) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  Value *value = floatSource(fn, from);
  bool flushes = spelling.has(ptx::Mod::Ftz);
  NarrowRule rule{roundingOf(spelling), spelling.has(ptx::Mod::Relu),
                  spelling.has(ptx::Mod::Satfinite)};
  if (value->getType()->isFloatTy() && to != ptx::Type::F16 && flushes)
    value = flushDenormal(fn, value);
  if (spelling.first(ptx::ModCategory::IntegerRounding) != ptx::Mod::None) {
    if (to != from)
      return fn.malformed(inst, "integer rounding needs source and result of the same type");
    value = roundToIntegral(fn, spelling, value);
  }
  if (from == ptx::Type::F16 && to != ptx::Type::F16)
    value = b.CreateFPExt(value, b.getFloatTy());
  switch (to) {
  case ptx::Type::F64:
    return from == ptx::Type::F64 ? value : b.CreateFPExt(value, b.getDoubleTy());
  case ptx::Type::F32:
    return from == ptx::Type::F64 ? roundToF32(fn, value, rule.rounding, flushes) : value;
  case ptx::Type::TF32:
    return spelling.has(ptx::Mod::Rna) ? narrowToTf32Away(b, value, rule.satfinite)
                                       : narrowToTf32(fn, value, rule);
  default: // F16, BF16
    if (from == ptx::Type::F64)
      return narrowF64(fn, value, to, rule.rounding);
    if (to == ptx::Type::BF16) // exact from bf16 itself
      return narrowToBfloat(fn, value, rule);
    return from == ptx::Type::F16 ? value : narrowToHalf(fn, value, rule);
  }
}

// ---------- NaN

// Where f64 is one of both types, NVIDIA's hardware keeps a NaN's sign and what fits of its
// payload, and quiets it; but .ftz makes an f32 canonical first.
static Value *convertedNan(FunctionLowering &fn, const ptx::Instruction &inst, ptx::Type to,
                           ptx::Type from, Value *result) {
  IRBuilder<> &b = fn.builder();
  auto fractionBits = [](ptx::Type type) {
    return type == ptx::Type::F64   ? 52u
           : type == ptx::Type::F32 ? 23u
           : type == ptx::Type::F16 ? kF16.fraction
                                    : kBf16.fraction;
  };
  Value *source = fn.source(0);
  Value *isNan = b.CreateFCmpUNO(source, source);
  unsigned toBits = ptx::sizeInBits(to), fromBits = ptx::sizeInBits(from);
  unsigned toFraction = fractionBits(to), fromFraction = fractionBits(from);
  uint64_t canonical = 0x7fffffffe0000000; // f32's, widened
  Value *nan = b.getInt64(canonical);
  if (!inst.spelling->has(ptx::Mod::Ftz) || from == ptx::Type::F64) {
    Value *bits = b.CreateZExt(b.CreateBitCast(source, fn.intType(fromBits)), b.getInt64Ty());
    Value *payload = b.CreateAnd(bits, (1ull << fromFraction) - 1);
    payload = toFraction > fromFraction ? b.CreateShl(payload, toFraction - fromFraction)
                                        : b.CreateLShr(payload, fromFraction - toFraction);
    Value *sign = b.CreateShl(b.CreateLShr(bits, fromBits - 1), toBits - 1);
    uint64_t magnitude = (1ull << (toBits - 1)) - 1;
    uint64_t quiet = magnitude >> (toFraction - 1) << (toFraction - 1); // infinity with its top bit
    nan = b.CreateOr(b.CreateOr(payload, sign), quiet);
  }
  return b.CreateSelect(isNan, b.CreateTrunc(nan, fn.intType(toBits)),
                        b.CreateBitCast(result, fn.intType(toBits)));
}

// cvt{.irnd|.rnd}{.ftz}{.sat}{.relu}{.satfinite}.dtype.atype d, a   PTX ISA:
// data-movement-and-conversion-instructions-cvt
// .sat clamps to the range of an integer result and to [0, 1] for a float one. Results narrower
// than their register are extended by dispatch.
Expected<Value *> lowerCvt(FunctionLowering &fn, const ptx::Instruction &inst) {
  using ptx::Type;
  Type to = inst.spelling->type(0), from = inst.spelling->type(1);
  auto isInteger = [](Type type) {
    ptx::TypeClass typeClass = ptx::classOf(type);
    return typeClass == ptx::TypeClass::Signed || typeClass == ptx::TypeClass::Unsigned;
  };
  auto isFloat = [](Type type) {
    return type == Type::F16 || type == Type::BF16 || type == Type::TF32 || type == Type::F32 ||
           type == Type::F64;
  };
  if ((!isInteger(to) && !isFloat(to)) || (!isInteger(from) && !isFloat(from)))
    return fn.unsupported(inst, "conversion " + inst.spelling->text);
  if (isInteger(to))
    return isInteger(from) ? integerToInteger(fn, inst, to, from)
                           : floatToInteger(fn, inst, to, from);
  bool isEncoded = to == Type::BF16 || to == Type::TF32; // by integers, with canonical NaNs
  if (isInteger(from)) {
    Value *number = integerToFloat(fn, inst, to, from);
    return isEncoded ? number : finish(fn, inst, number);
  }
  Expected<Value *> result = floatToFloat(fn, inst, to, from);
  if (!result)
    return result;
  // Moves keep NaN bits: cvt.f32.f32 without .ftz, and bf16 as the upper half of an f32.
  const ptx::Spelling &spelling = *inst.spelling;
  bool saturates = spelling.has(ptx::Mod::Sat);
  bool isMove =
      (to == Type::F32 && (from == to || from == Type::BF16)) || (to == Type::F64 && from == to);
  isMove &= !saturates && !spelling.has(ptx::Mod::Ftz) &&
            spelling.first(ptx::ModCategory::IntegerRounding) == ptx::Mod::None;
  bool keepsPayload = (to == Type::F64) != (from == Type::F64) && !saturates;
  if (keepsPayload && fn.options().code.is(settings::NanMode::Canonical))
    return convertedNan(fn, inst, to, from, *result);
  if (isMove || isEncoded)
    return result;
  return finish(fn, inst, *result);
}

} // namespace rubia::lowering
