// SPDX-License-Identifier: Apache-2.0
// PTX ISA: integer-arithmetic-instructions. PTX defines every result; LLVM does not: no operation
// here carries nsw, nuw or exact, and divisors are made harmless before they are used.
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Hi, Relu, Sat, Shiftamt, Wide;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

bool isSigned(ptx::Type type) { return ptx::classOf(type) == ptx::TypeClass::Signed; }

static bool isSigned(const ptx::Instruction &inst) { return isSigned(inst.spelling->type()); }

static Value *extend(IRBuilder<> &b, Value *value, Type *type, bool isSigned) {
  return isSigned ? b.CreateSExt(value, type) : b.CreateZExt(value, type);
}

static Value *wideProduct(IRBuilder<> &b, Value *x, Value *y, bool isSigned) {
  Type *wide = b.getIntNTy(x->getType()->getIntegerBitWidth() * 2);
  return b.CreateMul(extend(b, x, wide, isSigned), extend(b, y, wide, isSigned));
}

Value *highProduct(IRBuilder<> &b, Value *x, Value *y, bool isSigned) {
  Value *wide = wideProduct(b, x, y, isSigned);
  return b.CreateTrunc(b.CreateLShr(wide, x->getType()->getIntegerBitWidth()), x->getType());
}

Value *shiftLeft(IRBuilder<> &b, Value *value, Value *amount) {
  Type *type = value->getType();
  unsigned bits = type->getIntegerBitWidth();
  Value *masked = b.CreateZExtOrTrunc(b.CreateAnd(amount, b.getInt32(bits - 1)), type);
  return b.CreateSelect(b.CreateICmpULT(amount, b.getInt32(bits)), b.CreateShl(value, masked),
                        Constant::getNullValue(type));
}

Value *shiftRight(IRBuilder<> &b, Value *value, Value *amount, bool isSigned) {
  Type *type = value->getType();
  unsigned bits = type->getIntegerBitWidth();
  if (isSigned) {
    Value *clamped = b.CreateBinaryIntrinsic(Intrinsic::umin, amount, b.getInt32(bits - 1));
    return b.CreateAShr(value, b.CreateZExtOrTrunc(clamped, type));
  }
  Value *masked = b.CreateZExtOrTrunc(b.CreateAnd(amount, b.getInt32(bits - 1)), type);
  return b.CreateSelect(b.CreateICmpULT(amount, b.getInt32(bits)), b.CreateLShr(value, masked),
                        Constant::getNullValue(type));
}

// add.type d, a, b; add.sat.s32   PTX ISA: integer-arithmetic-instructions-add
Expected<Value *> lowerIAdd(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  if (inst.spelling->has(ptx::Mod::Sat))
    return b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, fn.source(0), fn.source(1));
  return b.CreateAdd(fn.source(0), fn.source(1));
}

// sub.type d, a, b; sub.sat.s32   PTX ISA: integer-arithmetic-instructions-sub
Expected<Value *> lowerISub(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  if (inst.spelling->has(ptx::Mod::Sat))
    return b.CreateBinaryIntrinsic(Intrinsic::ssub_sat, fn.source(0), fn.source(1));
  return b.CreateSub(fn.source(0), fn.source(1));
}

// mul.lo, .hi or .wide of the first two sources.
static Value *product(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *x = fn.source(0), *y = fn.source(1);
  if (inst.spelling->has(ptx::Mod::Wide))
    return wideProduct(b, x, y, isSigned(inst));
  if (inst.spelling->has(ptx::Mod::Hi))
    return highProduct(b, x, y, isSigned(inst));
  return b.CreateMul(x, y);
}

// mul.(lo|hi|wide).type d, a, b   PTX ISA: integer-arithmetic-instructions-mul
Expected<Value *> lowerIMul(FunctionLowering &fn, const ptx::Instruction &inst) {
  return product(fn, inst);
}

static Value *accumulate(FunctionLowering &fn, const ptx::Instruction &inst, Value *product) {
  IRBuilder<> &b = fn.builder();
  if (inst.spelling->has(ptx::Mod::Sat))
    return b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, product, fn.source(2));
  return b.CreateAdd(product, fn.source(2));
}

// mad.(lo|hi|wide).type d, a, b, c; mad.hi.sat.s32   PTX ISA: integer-arithmetic-instructions-mad
Expected<Value *> lowerIMad(FunctionLowering &fn, const ptx::Instruction &inst) {
  return accumulate(fn, inst, product(fn, inst));
}

// The low 24 bits of both, sign-extended for .s32; .lo is bits 31:0 of the 48-bit product, .hi bits
// 47:16.
static Value *product24(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  bool hasSign = isSigned(inst);
  auto low24 = [&](Value *value) {
    return hasSign ? b.CreateAShr(b.CreateShl(value, 8), 8) : b.CreateAnd(value, 0xffffff);
  };
  Value *x = low24(fn.source(0)), *y = low24(fn.source(1));
  if (!inst.spelling->has(ptx::Mod::Hi))
    return b.CreateMul(x, y);
  return b.CreateTrunc(b.CreateLShr(wideProduct(b, x, y, hasSign), 16), b.getInt32Ty());
}

// mul24.(lo|hi).(u32|s32) d, a, b   PTX ISA: integer-arithmetic-instructions-mul24
Expected<Value *> lowerIMul24(FunctionLowering &fn, const ptx::Instruction &inst) {
  return product24(fn, inst);
}

// mad24.(lo|hi).(u32|s32) d, a, b, c; mad24.hi.sat.s32   PTX ISA:
// integer-arithmetic-instructions-mad24
Expected<Value *> lowerIMad24(FunctionLowering &fn, const ptx::Instruction &inst) {
  return accumulate(fn, inst, product24(fn, inst));
}

// sad.type d, a, b, c   PTX ISA: integer-arithmetic-instructions-sad
// c + |a - b|, the difference of the two as numbers of the type. Signed numbers are moved to
// unsigned ones, so that both give v_sad_u32, which LLVM finds in this form only.
Expected<Value *> lowerISad(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *x = fn.source(0), *y = fn.source(1);
  if (isSigned(inst)) {
    unsigned bits = x->getType()->getIntegerBitWidth();
    Constant *signBit = ConstantInt::get(x->getType(), APInt::getSignMask(bits));
    x = b.CreateXor(x, signBit);
    y = b.CreateXor(y, signBit);
  }
  Value *difference = b.CreateSelect(b.CreateICmpUGT(x, y), b.CreateSub(x, y), b.CreateSub(y, x));
  return b.CreateAdd(fn.source(2), difference);
}

// a/0 and a%0 are all ones, INT_MIN / -1 is INT_MIN and INT_MIN % -1 is 0. LLVM may assume that
// neither happens, so it sees a divisor of 1 instead, and -1 is a negation. Frozen, so that the
// test and the division agree on an undefined register.
static Value *guardedDivision(FunctionLowering &fn, const ptx::Instruction &inst, bool remainder) {
  IRBuilder<> &b = fn.builder();
  bool hasSign = isSigned(inst);
  Value *dividend = b.CreateFreeze(fn.source(0)), *divisor = b.CreateFreeze(fn.source(1));
  Type *type = dividend->getType();
  Constant *allOnes = Constant::getAllOnesValue(type);
  Value *isZero = b.CreateICmpEQ(divisor, Constant::getNullValue(type));
  Value *isMinusOne = b.CreateICmpEQ(divisor, allOnes);
  Value *replaced = hasSign ? b.CreateOr(isZero, isMinusOne) : isZero;
  Value *safe = b.CreateSelect(replaced, ConstantInt::get(type, 1), divisor);
  Value *result;
  if (remainder) {
    result = hasSign ? b.CreateSRem(dividend, safe) : b.CreateURem(dividend, safe);
  } else {
    result = hasSign ? b.CreateSDiv(dividend, safe) : b.CreateUDiv(dividend, safe);
    if (hasSign)
      result = b.CreateSelect(isMinusOne, b.CreateNeg(dividend), result);
  }
  return b.CreateSelect(isZero, allOnes, result);
}

// Signed numbers are divided by their magnitudes, which needs no test for -1: INT_MIN / -1 is 2^31,
// which is INT_MIN. codegen/lib/Divisions.h divides unsigned ones. Those of 16 bits LLVM divides.
static Value *divide(FunctionLowering &fn, const ptx::Instruction &inst, bool remainder) {
  IRBuilder<> &b = fn.builder();
  if (!isSigned(inst) || ptx::sizeInBits(inst.spelling->type()) < 32 || fn.knownConstant(1))
    return guardedDivision(fn, inst, remainder);
  Value *dividend = b.CreateFreeze(fn.source(0)), *divisor = b.CreateFreeze(fn.source(1));
  Type *type = dividend->getType();
  auto magnitude = [&](Value *value) {
    return b.CreateBinaryIntrinsic(Intrinsic::abs, value, /*poison on INT_MIN=*/b.getFalse());
  };
  Value *safe =
      b.CreateBinaryIntrinsic(Intrinsic::umax, magnitude(divisor), ConstantInt::get(type, 1));
  Value *result =
      remainder ? b.CreateURem(magnitude(dividend), safe) : b.CreateUDiv(magnitude(dividend), safe);
  Value *sign = b.CreateAShr(remainder ? dividend : b.CreateXor(dividend, divisor),
                             type->getIntegerBitWidth() - 1);
  result = b.CreateSub(b.CreateXor(result, sign), sign);
  return b.CreateSelect(b.CreateIsNull(divisor), Constant::getAllOnesValue(type), result);
}

// div.type d, a, b   PTX ISA: integer-arithmetic-instructions-div
Expected<Value *> lowerIDiv(FunctionLowering &fn, const ptx::Instruction &inst) {
  return divide(fn, inst, /*remainder=*/false);
}

// rem.type d, a, b   PTX ISA: integer-arithmetic-instructions-rem
Expected<Value *> lowerIRem(FunctionLowering &fn, const ptx::Instruction &inst) {
  return divide(fn, inst, /*remainder=*/true);
}

// abs.(s16|s32|s64) d, a   PTX ISA: integer-arithmetic-instructions-abs
// abs(INT_MIN) is INT_MIN.
Expected<Value *> lowerIAbs(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  return b.CreateBinaryIntrinsic(Intrinsic::abs, fn.source(0), /*poison on INT_MIN=*/b.getFalse());
}

// neg.(s16|s32|s64) d, a   PTX ISA: integer-arithmetic-instructions-neg
Expected<Value *> lowerINeg(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().CreateNeg(fn.source(0));
}

// .relu makes negative results 0.
static Value *lesserOrGreater(FunctionLowering &fn, const ptx::Instruction &inst,
                              Intrinsic::ID signedId, Intrinsic::ID unsignedId) {
  IRBuilder<> &b = fn.builder();
  Value *result =
      b.CreateBinaryIntrinsic(isSigned(inst) ? signedId : unsignedId, fn.source(0), fn.source(1));
  if (!inst.spelling->has(ptx::Mod::Relu))
    return result;
  return b.CreateBinaryIntrinsic(Intrinsic::smax, result,
                                 Constant::getNullValue(result->getType()));
}

// min{.relu}.type d, a, b   PTX ISA: integer-arithmetic-instructions-min
Expected<Value *> lowerIMin(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lesserOrGreater(fn, inst, Intrinsic::smin, Intrinsic::umin);
}

// max{.relu}.type d, a, b   PTX ISA: integer-arithmetic-instructions-max
Expected<Value *> lowerIMax(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lesserOrGreater(fn, inst, Intrinsic::smax, Intrinsic::umax);
}

// popc.(b32|b64) d, a   PTX ISA: integer-arithmetic-instructions-popc
Expected<Value *> lowerPopc(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  return b.CreateZExtOrTrunc(b.CreateUnaryIntrinsic(Intrinsic::ctpop, fn.source(0)),
                             b.getInt32Ty());
}

// The number of leading zeros as an i32, the width for 0.
static Value *leadingZeros(IRBuilder<> &b, Value *value) {
  return b.CreateZExtOrTrunc(
      b.CreateBinaryIntrinsic(Intrinsic::ctlz, value, /*zero is poison=*/b.getFalse()),
      b.getInt32Ty());
}

// clz.(b32|b64) d, a   PTX ISA: integer-arithmetic-instructions-clz
Expected<Value *> lowerClz(FunctionLowering &fn, const ptx::Instruction &) {
  return leadingZeros(fn.builder(), fn.source(0));
}

// bfind{.shiftamt}.type d, a   PTX ISA: integer-arithmetic-instructions-bfind
// The highest bit that differs from the sign; -1 (also with .shiftamt) if there is none.
Expected<Value *> lowerBfind(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  unsigned bits = value->getType()->getIntegerBitWidth();
  if (isSigned(inst))
    value = b.CreateXor(value, b.CreateAShr(value, bits - 1));
  Value *zeros = leadingZeros(b, value);
  if (!inst.spelling->has(ptx::Mod::Shiftamt))
    return b.CreateSub(b.getInt32(bits - 1), zeros);
  return b.CreateSelect(b.CreateICmpEQ(zeros, b.getInt32(bits)), b.getInt32(~0u), zeros);
}

// brev.(b32|b64) d, a   PTX ISA: integer-arithmetic-instructions-brev
Expected<Value *> lowerBrev(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().CreateUnaryIntrinsic(Intrinsic::bitreverse, fn.source(0));
}

// Element n of a word that is made of elements of `bits`, extended to 32 bits.
static Value *elementOf(IRBuilder<> &b, Value *word, unsigned n, unsigned bits, bool hasSign) {
  Value *top = b.CreateShl(word, 32 - bits * (n + 1));
  return hasSign ? b.CreateAShr(top, 32 - bits) : b.CreateLShr(top, 32 - bits);
}

// dp4a.atype.btype d, a, b, c   PTX ISA: integer-arithmetic-instructions-dp4a
// c plus four products of bytes, wrapping.
Expected<Value *> lowerDp4a(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *x = fn.source(0), *y = fn.source(1), *sum = fn.source(2);
  bool xSigned = isSigned(inst.spelling->type(0)), ySigned = isSigned(inst.spelling->type(1));
  const Target &target = fn.target();
  if (xSigned == ySigned && (xSigned ? target.hasSignedDot4 : target.hasUnsignedDot4))
    return b.CreateIntrinsic(xSigned ? Intrinsic::amdgcn_sdot4 : Intrinsic::amdgcn_udot4, {},
                             {x, y, sum, /*clamp=*/b.getFalse()});
  if (target.hasMixedSignDot4)
    return b.CreateIntrinsic(
        Intrinsic::amdgcn_sudot4, {},
        {b.getInt1(xSigned), x, b.getInt1(ySigned), y, sum, /*clamp=*/b.getFalse()});
  if (target.hasSignedDot4 && xSigned != ySigned) {
    // A byte u is the signed byte u ^ 0x80 plus 64 plus 64.
    Value *numbers = xSigned ? x : y, *bytes = b.CreateXor(xSigned ? y : x, 0x80808080u);
    Value *sixtyFours = b.getInt32(0x40404040);
    for (Value *factor : {sixtyFours, sixtyFours, bytes})
      sum = b.CreateIntrinsic(Intrinsic::amdgcn_sdot4, {},
                              {numbers, factor, sum, /*clamp=*/b.getFalse()});
    return sum;
  }
  for (unsigned n = 0; n < 4; ++n)
    sum = b.CreateAdd(sum,
                      b.CreateMul(elementOf(b, x, n, 8, xSigned), elementOf(b, y, n, 8, ySigned)));
  return sum;
}

// dp2a.(lo|hi).atype.btype d, a, b, c   PTX ISA: integer-arithmetic-instructions-dp2a
// c plus two products: of the halves of a with bytes 0 and 1 of b (.lo), or 2 and 3 (.hi).
Expected<Value *> lowerDp2a(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *x = fn.source(0), *y = fn.source(1), *sum = fn.source(2);
  bool xSigned = isSigned(inst.spelling->type(0)), ySigned = isSigned(inst.spelling->type(1));
  unsigned first = inst.spelling->has(ptx::Mod::Hi) ? 2 : 0;
  for (unsigned n = 0; n < 2; ++n)
    sum = b.CreateAdd(
        sum, b.CreateMul(elementOf(b, x, n, 16, xSigned), elementOf(b, y, first + n, 8, ySigned)));
  return sum;
}

} // namespace rubia::lowering
