// SPDX-License-Identifier: Apache-2.0
// PTX ISA: simd-video-instructions: two halves or four bytes at once.
//
// The elements that the selectors name are gathered by v_perm_b32 into two registers. An operation
// computes with *lanes*, vectors of integers that hold its exact results: two of 32 bits for
// halves, four of 16 for bytes, which LLVM makes packed instructions (v_pk_add_u16) of. Halves are
// their own lanes where the result needs no more bits.
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "lowering/lib/instructions/Video.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Add, Sat;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {
struct Shape {
  unsigned elements; // 2 or 4
  unsigned width() const { return 32 / elements; }
  // As digits of four bits: the elements of a, and those of b, whose numbers follow a's.
  unsigned first() const { return elements == 2 ? 0x10 : 0x3210; }
  unsigned second() const { return elements == 2 ? 0x32 : 0x7654; }
};

// Whether a, b and the destination are signed.
struct Signs {
  bool a, b, d;
};
} // namespace

// The elements that source n names (`identity`, if it names none) of the pair {b, a}, in order.
static Value *gather(FunctionLowering &fn, unsigned n, Shape shape, unsigned identity) {
  IRBuilder<> &b = fn.builder();
  const ptx::Operand &operand = fn.sourceOperand(n);
  unsigned digits = operand.selector == 0xff ? identity : unsigned(operand.offset);
  Value *low = fn.source(0, ptx::Type::B32), *high = fn.source(1, ptx::Type::B32);
  if (digits == shape.first())
    return low;
  if (digits == shape.second())
    return high;
  unsigned bytes = 4 / shape.elements;
  uint32_t selector = 0; // of v_perm_b32: a byte for each byte
  for (unsigned byte = 0; byte < 4; ++byte) {
    unsigned digit = digits >> (4 * (byte / bytes)) & 15;
    selector |= (digit * bytes + byte % bytes) << (8 * byte);
  }
  return b.CreateIntrinsic(Intrinsic::amdgcn_perm, {}, {high, low, b.getInt32(selector)});
}

// All ones in the elements that the destination names.
static uint32_t maskOf(const ptx::Operand &destination, Shape shape) {
  if (destination.selector == 0xff)
    return ~0u;
  uint32_t mask = 0;
  for (unsigned i = 0; i < (destination.selector & 7u); ++i) {
    unsigned digit = unsigned(destination.offset) >> (4 * i) & 15;
    mask |= (~0u >> (32 - shape.width())) << (digit * shape.width());
  }
  return mask;
}

// The numbers in the elements of a word, as lanes. Those of bytes are in the order 0, 2, 1, 3:
// both even ones in one register, both odd ones in another.
static Value *lanesOf(FunctionLowering &fn, Value *word, Shape shape, bool isSigned) {
  IRBuilder<> &b = fn.builder();
  Value *halves = b.CreateBitCast(word, FixedVectorType::get(b.getInt16Ty(), 2));
  if (shape.elements == 2) {
    Type *wide = FixedVectorType::get(b.getInt32Ty(), 2);
    return isSigned ? b.CreateSExt(halves, wide) : b.CreateZExt(halves, wide);
  }
  Instruction::BinaryOps shiftRight = isSigned ? Instruction::AShr : Instruction::LShr;
  Value *eight = ConstantInt::get(halves->getType(), 8);
  Value *even = b.CreateBinOp(shiftRight, b.CreateShl(halves, eight), eight);
  Value *odd = b.CreateBinOp(shiftRight, halves, eight);
  return b.CreateShuffleVector(even, odd, {0, 1, 2, 3});
}

// The low bits of the lanes as a word.
static Value *wordOf(FunctionLowering &fn, Value *lanes, Shape shape) {
  IRBuilder<> &b = fn.builder();
  Type *word = b.getInt32Ty();
  if (shape.elements == 2)
    return b.CreateBitCast(b.CreateTrunc(lanes, FixedVectorType::get(b.getInt16Ty(), 2)), word);
  Value *even = b.CreateBitCast(b.CreateShuffleVector(lanes, {0, 1}), word);
  Value *odd = b.CreateBitCast(b.CreateShuffleVector(lanes, {2, 3}), word);
  return b.CreateIntrinsic(Intrinsic::amdgcn_perm, {}, {odd, even, b.getInt32(0x06020400)});
}

// c plus the lanes of the mask.
static Value *sumOf(FunctionLowering &fn, Value *lanes, uint32_t mask, Shape shape) {
  IRBuilder<> &b = fn.builder();
  if (mask != ~0u) // all ones or 0 in each lane
    lanes = b.CreateAnd(lanes, lanesOf(fn, b.getInt32(mask), shape, /*isSigned=*/true));
  if (shape.elements == 4) // a sum of two has 11 bits at most
    lanes = b.CreateAdd(b.CreateShuffleVector(lanes, {0, 1}), b.CreateShuffleVector(lanes, {2, 3}));
  Value *sum = fn.source(2);
  for (uint64_t i : {0, 1})
    sum = b.CreateAdd(sum, b.CreateSExt(b.CreateExtractElement(lanes, i), b.getInt32Ty()));
  return sum;
}

// c with the elements of the mask replaced.
static Value *merge(FunctionLowering &fn, Value *word, uint32_t mask) {
  IRBuilder<> &b = fn.builder();
  if (mask == ~0u)
    return word;
  return b.CreateOr(b.CreateAnd(word, mask), b.CreateAnd(fn.source(2), ~mask));
}

static Constant *splat(Value *like, int64_t value) {
  return ConstantInt::getSigned(like->getType(), value);
}

// `operation` on the lanes of x and y, then .sat or .add.
static Value *onLanes(FunctionLowering &fn, const ptx::Instruction &inst, Value *x, Value *y,
                      Shape shape, Signs signs, function_ref<Value *(Value *, Value *)> operation) {
  IRBuilder<> &b = fn.builder();
  Value *result = operation(lanesOf(fn, x, shape, signs.a), lanesOf(fn, y, shape, signs.b));
  uint32_t mask = maskOf(inst.operands[0], shape);
  if (inst.spelling->has(ptx::Mod::Add))
    return sumOf(fn, result, mask, shape);
  if (inst.spelling->has(ptx::Mod::Sat)) {
    int64_t most = (int64_t(1) << (shape.width() - signs.d)) - 1;
    result = videoMax(b, result, splat(result, signs.d ? -most - 1 : 0));
    result = videoMin(b, result, splat(result, most));
  }
  return merge(fn, wordOf(fn, result, shape), mask);
}

// The same operation on halves as they are, where that gives the same bits; null if not.
static Value *onHalves(FunctionLowering &fn, const ptx::Instruction &inst, Value *xWord,
                       Value *yWord, VideoOperation operation, Signs signs) {
  IRBuilder<> &b = fn.builder();
  Type *halves = FixedVectorType::get(b.getInt16Ty(), 2);
  Value *x = b.CreateBitCast(xWord, halves), *y = b.CreateBitCast(yWord, halves);
  bool saturates = inst.spelling->has(ptx::Mod::Sat);
  bool alike = signs.a == signs.b && (!saturates || signs.a == signs.d);
  bool isSigned = signs.a;
  auto binary = [&](Intrinsic::ID signedId, Intrinsic::ID unsignedId) {
    return b.CreateBinaryIntrinsic(isSigned ? signedId : unsignedId, x, y);
  };
  if (!saturates && (operation == videoAdd || operation == videoSub))
    return operation(b, x, y);
  if (!alike)
    return nullptr;
  if (operation == videoAdd)
    return binary(Intrinsic::sadd_sat, Intrinsic::uadd_sat);
  if (operation == videoSub)
    return binary(Intrinsic::ssub_sat, Intrinsic::usub_sat);
  if (operation == videoMin)
    return binary(Intrinsic::smin, Intrinsic::umin);
  if (operation == videoMax)
    return binary(Intrinsic::smax, Intrinsic::umax);
  if (operation == videoAbsdiff && !(saturates && isSigned))
    return b.CreateSub(binary(Intrinsic::smax, Intrinsic::umax),
                       binary(Intrinsic::smin, Intrinsic::umin));
  return nullptr;
}

// vabsdiff2 and vabsdiff4 with .add on operands of the same sign are v_sad_u16 and v_sad_u8. What
// the mask leaves out is made 0 in both; signed numbers are moved to unsigned ones.
static Value *sumOfDifferences(FunctionLowering &fn, Value *x, Value *y, uint32_t mask, Shape shape,
                               bool isSigned) {
  IRBuilder<> &b = fn.builder();
  uint32_t signBits = shape.elements == 2 ? 0x80008000 : 0x80808080;
  auto prepare = [&](Value *word) {
    if (isSigned)
      word = b.CreateXor(word, signBits);
    return mask == ~0u ? word : b.CreateAnd(word, mask);
  };
  return b.CreateIntrinsic(shape.elements == 2 ? Intrinsic::amdgcn_sad_u16
                                               : Intrinsic::amdgcn_sad_u8,
                           {}, {prepare(x), prepare(y), fn.source(2)});
}

// v<op>2, v<op>4.dtype.atype.btype{.sat|.add} d{.mask}, a{.asel}, b{.bsel}, c
// PTX ISA: simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2
// .add accumulates the exact results of the elements of the mask.
static Value *onElements(FunctionLowering &fn, const ptx::Instruction &inst, unsigned elements,
                         VideoOperation operation) {
  IRBuilder<> &b = fn.builder();
  Shape shape{elements};
  Signs signs{isSigned(inst.spelling->type(1)), isSigned(inst.spelling->type(2)),
              isSigned(inst.spelling->type(0))};
  Value *x = gather(fn, 0, shape, shape.first()), *y = gather(fn, 1, shape, shape.second());
  uint32_t mask = maskOf(inst.operands[0], shape);
  if (inst.spelling->has(ptx::Mod::Add)) {
    if (operation == videoAbsdiff && signs.a == signs.b)
      return sumOfDifferences(fn, x, y, mask, shape, signs.a);
  } else if (elements == 2) {
    if (Value *result = onHalves(fn, inst, x, y, operation, signs))
      return merge(fn, b.CreateBitCast(result, b.getInt32Ty()), mask);
  }
  return onLanes(fn, inst, x, y, shape, signs,
                 [&](Value *p, Value *q) { return operation(b, p, q); });
}

// The average, rounded up if the sum is not negative, else toward zero or up: (s + (s >= 0)) >> 1.
static Value *average(IRBuilder<> &b, Value *x, Value *y) {
  Value *sum = b.CreateAdd(x, y);
  Value *notNegative = b.CreateZExt(b.CreateICmpSGE(sum, splat(sum, 0)), sum->getType());
  return b.CreateAShr(b.CreateAdd(sum, notNegative), splat(sum, 1));
}

// vset2, vset4.atype.btype.cmp{.add} d{.mask}, a{.asel}, b{.bsel}, c
// PTX ISA: simd-video-instructions-vset2, -vset4
// Lanes have a bit to spare: x < y is the sign of x - y.
static Value *setElements(FunctionLowering &fn, const ptx::Instruction &inst, unsigned elements) {
  IRBuilder<> &b = fn.builder();
  Shape shape{elements};
  Signs signs{isSigned(inst.spelling->type(0)), isSigned(inst.spelling->type(1)), false};
  Value *x = gather(fn, 0, shape, shape.first()), *y = gather(fn, 1, shape, shape.second());
  return onLanes(fn, inst, x, y, shape, signs, [&](Value *p, Value *q) {
    VideoComparison comparison = videoComparison(inst);
    if (comparison.exchanged)
      std::swap(p, q);
    Value *one = splat(p, 1);
    Value *holds = comparison.isOrdered
                       ? b.CreateLShr(b.CreateSub(p, q), p->getType()->getScalarSizeInBits() - 1)
                       : b.CreateBinaryIntrinsic(Intrinsic::umin, b.CreateXor(p, q), one);
    return comparison.negated ? b.CreateXor(holds, one) : holds;
  });
}

Expected<Value *> lowerVadd2(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 2, videoAdd);
}
Expected<Value *> lowerVsub2(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 2, videoSub);
}
Expected<Value *> lowerVavrg2(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 2, average);
}
Expected<Value *> lowerVabsdiff2(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 2, videoAbsdiff);
}
Expected<Value *> lowerVmin2(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 2, videoMin);
}
Expected<Value *> lowerVmax2(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 2, videoMax);
}
Expected<Value *> lowerVset2(FunctionLowering &fn, const ptx::Instruction &inst) {
  return setElements(fn, inst, 2);
}
Expected<Value *> lowerVadd4(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 4, videoAdd);
}
Expected<Value *> lowerVsub4(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 4, videoSub);
}
Expected<Value *> lowerVavrg4(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 4, average);
}
Expected<Value *> lowerVabsdiff4(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 4, videoAbsdiff);
}
Expected<Value *> lowerVmin4(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 4, videoMin);
}
Expected<Value *> lowerVmax4(FunctionLowering &fn, const ptx::Instruction &inst) {
  return onElements(fn, inst, 4, videoMax);
}
Expected<Value *> lowerVset4(FunctionLowering &fn, const ptx::Instruction &inst) {
  return setElements(fn, inst, 4);
}

} // namespace rubia::lowering
