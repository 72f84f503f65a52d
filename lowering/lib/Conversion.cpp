// cvt between integers, half, single and double precision.
// PTX ISA: data-movement-and-conversion-instructions-cvt.
//
// Float to integer always saturates. AMD's v_cvt does too and gives 0 for NaN, as PTX wants for
// results of up to 32 bits from f32; LLVM's fptosi has no way to say so, hence the inline assembly,
// one instruction instead of the eight that fptosi.sat becomes.
#include "lowering/lib/FloatingPoint.h"
#include "lowering/lib/IntegerArithmetic.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace rubia::lowering {

// The range of the destination, clamped to in the wider of both types.
static Value *saturateInteger(IRBuilder<> &b, Value *value, bool fromSigned, unsigned toBits,
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

// The integer that .rni, .rzi, .rmi or .rpi makes of a value, still a float.
static Value *roundToIntegral(FunctionLowering &fn, const ptx::Spelling &spelling, Value *value) {
  Intrinsic::ID id = Intrinsic::not_intrinsic;
  switch (spelling.first(ptx::ModCategory::IntegerRounding)) {
  case ptx::Mod::Rni:
    id = Intrinsic::roundeven;
    break;
  case ptx::Mod::Rmi:
    id = Intrinsic::floor;
    break;
  case ptx::Mod::Rpi:
    id = Intrinsic::ceil;
    break;
  case ptx::Mod::Rzi:
    id = Intrinsic::trunc;
    break;
  default:
    return value;
  }
  return fn.builder().CreateUnaryIntrinsic(id, value);
}

static Value *convertByHardware(FunctionLowering &fn, Value *value, bool toSigned) {
  IRBuilder<> &b = fn.builder();
  std::string text = fn.target().major == 11 ? "s_waitcnt_depctr 0xfff\n\t" : "";
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
  Value *value = fn.source(0);
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

static Value *narrowToHalf(FunctionLowering &fn, Value *value, Rounding rounding) {
  IRBuilder<> &b = fn.builder();
  FloatMode mode{rounding, /*flushesF32=*/false};
  if (rounding == Rounding::NearestEven) // a denormal f32 is 0 in half anyway
    return b.CreateFPTrunc(value, b.getHalfTy());
  return inMode(fn, mode, "v_cvt_f16_f32 $0, $1", b.getHalfTy(), value);
}

// Every rounding in the same direction to a coarser format is the direct one, so directed
// conversions go in steps: 64-bit integers to f64 to f32 to f16.
static Value *integerToFloatDirected(FunctionLowering &fn, Value *value, bool fromSigned,
                                     ptx::Type to, Rounding rounding) {
  IRBuilder<> &b = fn.builder();
  unsigned bits = value->getType()->getIntegerBitWidth();
  FloatMode mode{rounding, fn.flushesF32Denormals()};
  Type *f32 = b.getFloatTy(), *f64 = b.getDoubleTy();
  auto convert = [&](Value *integer, bool hasSign, Type *type) {
    return hasSign ? b.CreateSIToFP(integer, type) : b.CreateUIToFP(integer, type);
  };
  if (bits < 32 || (bits == 32 && to == ptx::Type::F64)) {
    // Exact in f32, or in f64.
    Value *exact = convert(value, fromSigned, to == ptx::Type::F64 ? f64 : f32);
    return to == ptx::Type::F16 ? narrowToHalf(fn, exact, rounding) : exact;
  }
  Value *result;
  if (bits == 32) {
    result =
        inMode(fn, mode, fromSigned ? "v_cvt_f32_i32 $0, $1" : "v_cvt_f32_u32 $0, $1", f32, value);
  } else {
    // Both halves are exact in f64, their sum rounds once.
    Value *high = b.CreateTrunc(b.CreateLShr(value, 32), b.getInt32Ty());
    Value *low = b.CreateTrunc(value, b.getInt32Ty());
    Value *scaled = b.CreateFMul(convert(high, fromSigned, f64), ConstantFP::get(f64, 0x1p32));
    result = inMode(fn, mode, "v_add_f64 $0, $1, $2", f64, {scaled, convert(low, false, f64)});
    if (to == ptx::Type::F64)
      return result;
    result = roundToF32(fn, result, rounding, /*flushes=*/false);
  }
  return to == ptx::Type::F16 ? narrowToHalf(fn, result, rounding) : result;
}

static Value *integerToFloat(FunctionLowering &fn, const ptx::Instruction &inst, ptx::Type to,
                             ptx::Type from) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  Rounding rounding = roundingOf(*inst.spelling);
  if (rounding != Rounding::NearestEven)
    return integerToFloatDirected(fn, value, isSigned(from), to, rounding);
  return isSigned(from) ? b.CreateSIToFP(value, fn.typeOf(to))
                        : b.CreateUIToFP(value, fn.typeOf(to));
}

// .ftz concerns f32 only: half denormals, source or result, are kept, and a denormal f32 that is
// converted to half is not flushed either.
static Expected<Value *> floatToFloat(FunctionLowering &fn, const ptx::Instruction &inst,
                                      ptx::Type to, ptx::Type from) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  Value *value = fn.source(0);
  bool flushes = spelling.has(ptx::Mod::Ftz);
  Rounding rounding = roundingOf(spelling);
  if (from == ptx::Type::F32 && to != ptx::Type::F16 && flushes)
    value = flushDenormal(fn, value);
  if (spelling.first(ptx::ModCategory::IntegerRounding) != ptx::Mod::None) {
    if (to != from)
      return fn.malformed(inst, "integer rounding needs source and result of the same type");
    return roundToIntegral(fn, spelling, value);
  }
  if (ptx::sizeInBits(to) > ptx::sizeInBits(from))
    return b.CreateFPExt(value, fn.typeOf(to));
  if (to == from)
    return value;
  if (to == ptx::Type::F32)
    return roundToF32(fn, value, rounding, flushes);
  if (from == ptx::Type::F32)
    return narrowToHalf(fn, value, rounding);
  if (rounding == Rounding::NearestEven)
    return b.CreateFPTrunc(value, b.getHalfTy());
  return narrowToHalf(fn, roundToF32(fn, value, rounding, /*flushes=*/false), rounding);
}

// cvt{.irnd|.rnd}{.ftz}{.sat}.dtype.atype d, a   PTX ISA:
// data-movement-and-conversion-instructions-cvt
// .sat clamps to the range of an integer result and to [0, 1] for a float one. Results narrower
// than their register are extended by dispatch.
Expected<Value *> lowerCvt(FunctionLowering &fn, const ptx::Instruction &inst) {
  ptx::Type to = inst.spelling->type(0), from = inst.spelling->type(1);
  auto isInteger = [](ptx::Type type) {
    ptx::TypeClass typeClass = ptx::classOf(type);
    return typeClass == ptx::TypeClass::Signed || typeClass == ptx::TypeClass::Unsigned;
  };
  auto isFloat = [](ptx::Type type) {
    return type == ptx::Type::F16 || type == ptx::Type::F32 || type == ptx::Type::F64;
  };
  if ((!isInteger(to) && !isFloat(to)) || (!isInteger(from) && !isFloat(from)))
    return fn.unsupported(inst, "conversion " + inst.spelling->text);
  if (isInteger(to))
    return isInteger(from) ? integerToInteger(fn, inst, to, from)
                           : floatToInteger(fn, inst, to, from);
  if (isInteger(from))
    return finish(fn, inst, integerToFloat(fn, inst, to, from));
  Expected<Value *> result = floatToFloat(fn, inst, to, from);
  // A move keeps NaN bits: cvt.f32.f32 without .ftz.
  bool isMove = to == from && !inst.spelling->has(ptx::Mod::Ftz) &&
                !inst.spelling->has(ptx::Mod::Sat) &&
                inst.spelling->first(ptx::ModCategory::IntegerRounding) == ptx::Mod::None;
  if (!result || isMove)
    return result;
  return finish(fn, inst, *result);
}

} // namespace rubia::lowering
