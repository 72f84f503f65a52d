// SPDX-License-Identifier: Apache-2.0
// PTX ISA: integer-arithmetic-instructions, those on bit fields and on the positions of bits: bfe,
// bfi, szext, bmsk, fns.
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Lo, Wrap;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// Position or length of a bit field. NVIDIA's hardware masks those of 32-bit operations to 8 bits
// and takes those of 64-bit ones as they are.
static Value *fieldOperand(FunctionLowering &fn, unsigned n, unsigned bits) {
  Value *operand = fn.source(n, ptx::Type::U32);
  return bits == 32 ? fn.builder().CreateAnd(operand, 0xff) : operand;
}

// `length` ones, all of them from the width on.
static Value *lowOnes(IRBuilder<> &b, Type *type, Value *length) {
  return b.CreateNot(shiftLeft(b, Constant::getAllOnesValue(type), length));
}

// bfe of 32 bits with v_bfe_u32 and v_bfe_i32, which take 5 bits of position and length.
static Value *extractWord(IRBuilder<> &b, Value *value, Value *position, Value *length,
                          bool hasSign) {
  Value *from, *thirtyOne = b.getInt32(31);
  if (hasSign) {
    from = b.CreateBinaryIntrinsic(Intrinsic::umin, position, thirtyOne);
  } else {
    from = b.CreateAnd(position, thirtyOne);
    value = b.CreateSelect(b.CreateICmpULE(position, thirtyOne), value, b.getInt32(0));
  }
  Value *field = b.CreateIntrinsic(hasSign ? Intrinsic::amdgcn_sbfe : Intrinsic::amdgcn_ubfe,
                                   {b.getInt32Ty()}, {value, from, length});
  Value *rest = hasSign ? b.CreateAShr(value, from) : b.CreateLShr(value, from);
  return b.CreateSelect(b.CreateICmpULE(length, thirtyOne), field, rest);
}

// bfe.type d, a, b, c   PTX ISA: integer-arithmetic-instructions-bfe
// Bits b to b+c-1. Beyond the top bit of a field that is signed there is the sign of the field, or
// of a if the field ends above it; a field of no bits is 0.
Expected<Value *> lowerBfe(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  Type *type = value->getType();
  unsigned bits = type->getIntegerBitWidth();
  bool hasSign = isSigned(inst.spelling->type());
  Value *position = fieldOperand(fn, 1, bits), *length = fieldOperand(fn, 2, bits);
  if (bits == 32)
    return extractWord(b, value, position, length, hasSign);
  Value *shifted = shiftRight(b, value, position, hasSign);
  if (!hasSign)
    return b.CreateAnd(shifted, lowOnes(b, type, length));
  Value *unused = b.CreateSub(b.getInt32(bits),
                              b.CreateBinaryIntrinsic(Intrinsic::umin, length, b.getInt32(bits)));
  return shiftRight(b, shiftLeft(b, shifted, unused), unused, /*isSigned=*/true);
}

// bfi.(b32|b64) f, a, b, c, d   PTX ISA: integer-arithmetic-instructions-bfi
// The low d bits of a take the place of bits c to c+d-1 of b.
Expected<Value *> lowerBfi(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  Value *field = fn.source(0), *base = fn.source(1);
  unsigned bits = field->getType()->getIntegerBitWidth();
  Value *position = fieldOperand(fn, 2, bits), *length = fieldOperand(fn, 3, bits);
  Value *mask = shiftLeft(b, lowOnes(b, field->getType(), length), position);
  return b.CreateOr(b.CreateAnd(shiftLeft(b, field, position), mask),
                    b.CreateAnd(base, b.CreateNot(mask)));
}

// The low half of a product without carries. Of each factor every fourth bit is taken: the sums of
// a multiplication then have room for 15 in front of the next bit that counts, and only the topmost
// comes to 16, which leaves the number.
static Value *carrylessProduct(IRBuilder<> &b, Value *x, Value *y) {
  constexpr uint64_t kEachFourth = 0x1111111111111111;
  auto each = [&](Value *value, unsigned from) { return b.CreateAnd(value, kEachFourth << from); };
  Value *ofX[4], *ofY[4], *result = b.getInt64(0);
  for (unsigned i = 0; i < 4; ++i) {
    ofX[i] = each(x, i);
    ofY[i] = each(y, i);
  }
  for (unsigned bits = 0; bits < 4; ++bits) {
    Value *sum = b.getInt64(0);
    for (unsigned i = 0; i < 4; ++i)
      sum = b.CreateXor(sum, b.CreateMul(ofX[i], ofY[(bits - i) % 4]));
    result = b.CreateOr(result, each(sum, bits));
  }
  return result;
}

// clmad.(lo|hi).u64 d, a, b, c   PTX ISA: integer-arithmetic-instructions-clmad
// Half of the product of a and b without carries, and c is added without any.
Expected<Value *> lowerClmad(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *x = fn.source(0), *y = fn.source(1), *product;
  if (inst.spelling->has(ptx::Mod::Lo)) {
    product = carrylessProduct(b, x, y);
  } else { // the same from the other end: of 127 bits, the 63 above the low half
    auto reversed = [&](Value *value) {
      return b.CreateUnaryIntrinsic(Intrinsic::bitreverse, value);
    };
    product = b.CreateLShr(reversed(carrylessProduct(b, reversed(x), reversed(y))), 1);
  }
  return b.CreateXor(product, fn.source(2));
}

// szext.(clamp|wrap).(u32|s32) d, a, b   PTX ISA: integer-arithmetic-instructions-szext
// a as a number of b bits; 0 if there are none. v_bfe_i32 and v_bfe_u32 take b as .wrap does.
Expected<Value *> lowerSzext(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0), *width = fn.source(1);
  bool hasSign = isSigned(inst.spelling->type());
  Value *field = b.CreateIntrinsic(hasSign ? Intrinsic::amdgcn_sbfe : Intrinsic::amdgcn_ubfe,
                                   {b.getInt32Ty()}, {value, b.getInt32(0), width});
  if (inst.spelling->has(ptx::Mod::Wrap))
    return field;
  return b.CreateSelect(b.CreateICmpULT(width, b.getInt32(32)), field, value);
}

// bmsk.(clamp|wrap).b32 d, a, b   PTX ISA: integer-arithmetic-instructions-bmsk
// b ones from bit a on.
Expected<Value *> lowerBmsk(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *position = fn.source(0), *width = fn.source(1);
  if (inst.spelling->has(ptx::Mod::Wrap)) {
    position = b.CreateAnd(position, 31);
    width = b.CreateAnd(width, 31);
  }
  return shiftLeft(b, lowOnes(b, b.getInt32Ty(), width), position);
}

// The position of the rank-th set bit (1: the lowest), and whether there is one: each step counts
// the bits in the lower half of what is left.
static std::pair<Value *, Value *> bitOfRank(IRBuilder<> &b, Value *bits, Value *rank) {
  auto count = [&](Value *value) { return b.CreateUnaryIntrinsic(Intrinsic::ctpop, value); };
  Value *exists = b.CreateICmpULE(rank, count(bits)), *position = b.getInt32(0);
  for (unsigned width = 16; width > 0; width /= 2) {
    Value *rest = b.CreateLShr(bits, b.CreateAnd(position, 31));
    Value *lower = count(b.CreateAnd(rest, (1u << width) - 1));
    Value *isAbove = b.CreateICmpUGT(rank, lower);
    rank = b.CreateSelect(isAbove, b.CreateSub(rank, lower), rank);
    position = b.CreateSelect(isAbove, b.CreateOr(position, b.getInt32(width)), position);
  }
  return {position, exists};
}

// fns.b32 d, mask, base, offset   PTX ISA: integer-arithmetic-instructions-fns
// The offset-th set bit of the mask from the base on: upwards if offset is positive, downwards if
// it is negative, the base itself if it is 0; -1 if there is none. An offset of -2^31 gives 0.
Expected<Value *> lowerFns(FunctionLowering &fn, const ptx::Instruction &) {
  IRBuilder<> &b = fn.builder();
  Value *mask = fn.source(0), *base = fn.source(1), *offset = fn.source(2);
  Value *zero = b.getInt32(0);
  Value *fromBase = shiftLeft(b, b.getInt32(~0u), base); // none if base is beyond the mask
  Value *onlyBase = shiftLeft(b, b.getInt32(1), base);
  Value *upToBase = b.CreateOr(b.CreateSub(onlyBase, b.getInt32(1)), onlyBase);
  upToBase = b.CreateSelect(b.CreateICmpULT(base, b.getInt32(32)), upToBase, zero);

  Value *isDown = b.CreateICmpSLT(offset, zero), *isZero = b.CreateICmpEQ(offset, zero);
  Value *upwards = b.CreateAnd(mask, b.CreateSelect(isZero, onlyBase, fromBase));
  Value *downwards = b.CreateUnaryIntrinsic(Intrinsic::bitreverse, b.CreateAnd(mask, upToBase));
  Value *rank = b.CreateBinaryIntrinsic(Intrinsic::abs, offset, b.getFalse());
  rank = b.CreateSelect(isZero, b.getInt32(1), rank);
  auto [position, exists] = bitOfRank(b, b.CreateSelect(isDown, downwards, upwards), rank);
  position = b.CreateSelect(isDown, b.CreateSub(b.getInt32(31), position), position);
  Value *result = b.CreateSelect(exists, position, b.getInt32(~0u));
  return b.CreateSelect(b.CreateICmpEQ(offset, b.getInt32(1u << 31)), zero, result);
}

} // namespace rubia::lowering
