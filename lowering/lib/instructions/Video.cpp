// SPDX-License-Identifier: Apache-2.0
// PTX ISA: scalar-video-instructions. Where the manual's pseudocode and NVIDIA's hardware differ,
// this is what the hardware does (docs/numerics.md, "Video instructions").
//
// All of them are one chain: parts of two registers as exact numbers, an operation, .sat, and then
// a secondary operation or the replacement of a part of c. It is built on 64-bit integers, which
// hold every number on the way; LLVM narrows what it can.
#include "lowering/lib/instructions/Video.h"
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Add, Eq, Ge, Gt, Le, Lt, Max, Min, Ne, Po, Sat, Shr15, Shr7, Wrap;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

Value *videoAdd(IRBuilder<> &b, Value *x, Value *y) { return b.CreateAdd(x, y); }
Value *videoSub(IRBuilder<> &b, Value *x, Value *y) { return b.CreateSub(x, y); }
Value *videoMin(IRBuilder<> &b, Value *x, Value *y) {
  return b.CreateBinaryIntrinsic(Intrinsic::smin, x, y);
}
Value *videoMax(IRBuilder<> &b, Value *x, Value *y) {
  return b.CreateBinaryIntrinsic(Intrinsic::smax, x, y);
}
Value *videoAbsdiff(IRBuilder<> &b, Value *x, Value *y) {
  return b.CreateSub(videoMax(b, x, y), videoMin(b, x, y));
}

VideoComparison videoComparison(const ptx::Instruction &inst) {
  constexpr VideoComparison kComparisons[] = {
      {ptx::Mod::Ne, false, false, false}, {ptx::Mod::Eq, false, false, true},
      {ptx::Mod::Lt, true, false, false},  {ptx::Mod::Ge, true, false, true},
      {ptx::Mod::Gt, true, true, false},   {ptx::Mod::Le, true, true, true},
  };
  return *find_if(kComparisons,
                  [&](const VideoComparison &row) { return inst.spelling->has(row.mod); });
}

namespace {
// The bits of a register that an operand names: .b0 to .b3, .h0, .h1, or all of them.
struct Part {
  unsigned first = 0, width = 32;

  explicit Part(const ptx::Operand &operand) {
    if (operand.selector == 0xff)
      return;
    width = operand.selector & 8 ? 16 : 8;
    first = unsigned(operand.offset) * width;
  }
  bool isWhole() const { return width == 32; }
};

// What a video instruction has computed before .sat and the secondary operation: a signed i64.
// `exactly`: secondary .min and .max compare all of it, not just its low 32 bits.
struct Result {
  Value *value;
  bool exactly;
};
} // namespace

// The part of source n as an i64.
static Value *partOf(FunctionLowering &fn, unsigned n, bool isSigned) {
  IRBuilder<> &b = fn.builder();
  Part part(fn.sourceOperand(n));
  Value *bits = fn.source(n, ptx::Type::B32);
  if (!part.isWhole())
    bits = b.CreateTrunc(b.CreateLShr(bits, part.first), fn.intType(part.width));
  return isSigned ? b.CreateSExt(bits, b.getInt64Ty()) : b.CreateZExt(bits, b.getInt64Ty());
}

static Value *clamp(IRBuilder<> &b, Value *value, int64_t least, int64_t most) {
  return videoMin(b, videoMax(b, value, b.getInt64(uint64_t(least))), b.getInt64(uint64_t(most)));
}

static Value *clampTo32(IRBuilder<> &b, Value *value, bool isSigned) {
  return isSigned ? clamp(b, value, INT32_MIN, INT32_MAX) : clamp(b, value, 0, UINT32_MAX);
}

// The low 32 bits of `value`; where the destination names a part of itself, that part of them and
// the rest of c. Hardware puts bits 31:16 into .h1, which are where they belong already.
static Value *merge(FunctionLowering &fn, const ptx::Instruction &inst, Value *value) {
  IRBuilder<> &b = fn.builder();
  Value *bits = b.CreateTrunc(value, b.getInt32Ty());
  Part into(inst.operands[0]);
  if (into.isWhole())
    return bits;
  uint32_t mask = ((1u << into.width) - 1) << into.first;
  if (into.width == 8)
    bits = b.CreateShl(bits, into.first);
  return b.CreateOr(b.CreateAnd(bits, mask), b.CreateAnd(fn.source(2), ~mask));
}

// .add, .min or .max of the result and c, or c's part replaced.
// An unsigned destination takes a negative result for larger than every c.
static Value *finish(FunctionLowering &fn, const ptx::Instruction &inst, Result result,
                     bool isSigned) {
  IRBuilder<> &b = fn.builder();
  bool isMin = inst.spelling->has(ptx::Mod::Min);
  if (inst.spelling->has(ptx::Mod::Add))
    return b.CreateAdd(b.CreateTrunc(result.value, b.getInt32Ty()), fn.source(2));
  if (!isMin && !inst.spelling->has(ptx::Mod::Max))
    return merge(fn, inst, result.value);
  Value *value = result.value, *c = fn.source(2);
  if (!result.exactly)
    value = b.CreateSExt(b.CreateTrunc(value, b.getInt32Ty()), b.getInt64Ty());
  c = isSigned ? b.CreateSExt(c, b.getInt64Ty()) : b.CreateZExt(c, b.getInt64Ty());
  Intrinsic::ID choose = isSigned ? (isMin ? Intrinsic::smin : Intrinsic::smax)
                                  : (isMin ? Intrinsic::umin : Intrinsic::umax);
  return b.CreateTrunc(b.CreateBinaryIntrinsic(choose, value, c), b.getInt32Ty());
}

// .sat of what is not a shift. A whole .s32 clamps, as the manual says; a whole .u32 only replaces
// negative numbers by 0; a byte or half takes its largest number for all that are out of range,
// negative ones included.
static Value *saturate(FunctionLowering &fn, const ptx::Instruction &inst, Value *value,
                       bool isSigned) {
  IRBuilder<> &b = fn.builder();
  Part into(inst.operands[0]);
  if (!into.isWhole()) {
    uint64_t most = (uint64_t(1) << (into.width - isSigned)) - 1;
    return b.CreateBinaryIntrinsic(Intrinsic::umin, value, b.getInt64(most));
  }
  return isSigned ? clampTo32(b, value, true) : videoMax(b, value, b.getInt64(0));
}

// v<op>.dtype.atype.btype{.sat} d{.dsel}, a{.asel}, b{.bsel}{, c}; ....op2 d, a{.asel}, b{.bsel}, c
// PTX ISA: scalar-video-instructions-vadd-vsub-vabsdiff-vmin-vmax
static Value *twoOperands(FunctionLowering &fn, const ptx::Instruction &inst,
                          VideoOperation operation) {
  bool isSignedD = isSigned(inst.spelling->type(0));
  bool isSignedA = isSigned(inst.spelling->type(1)), isSignedB = isSigned(inst.spelling->type(2));
  Value *value = operation(fn.builder(), partOf(fn, 0, isSignedA), partOf(fn, 1, isSignedB));
  if (inst.spelling->has(ptx::Mod::Sat))
    value = saturate(fn, inst, value, isSignedD);
  // Where the types alone say that nothing is negative, hardware compares all bits.
  bool neverNegative = operation == videoAbsdiff ||
                       (operation == videoMax && !(isSignedA && isSignedB)) ||
                       (operation == videoMin && !isSignedA && !isSignedB);
  return finish(fn, inst, {value, neverNegative}, isSignedD);
}

Expected<Value *> lowerVadd(FunctionLowering &fn, const ptx::Instruction &inst) {
  return twoOperands(fn, inst, videoAdd);
}
Expected<Value *> lowerVsub(FunctionLowering &fn, const ptx::Instruction &inst) {
  return twoOperands(fn, inst, videoSub);
}
Expected<Value *> lowerVabsdiff(FunctionLowering &fn, const ptx::Instruction &inst) {
  return twoOperands(fn, inst, videoAbsdiff);
}
Expected<Value *> lowerVmin(FunctionLowering &fn, const ptx::Instruction &inst) {
  return twoOperands(fn, inst, videoMin);
}
Expected<Value *> lowerVmax(FunctionLowering &fn, const ptx::Instruction &inst) {
  return twoOperands(fn, inst, videoMax);
}

// vset.atype.btype.cmp d{.dsel}, a{.asel}, b{.bsel}{, c}   PTX ISA: scalar-video-instructions-vset
// The sign of c is that of a's type.
Expected<Value *> lowerVset(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  bool isSignedA = isSigned(inst.spelling->type(0)), isSignedB = isSigned(inst.spelling->type(1));
  VideoComparison comparison = videoComparison(inst);
  Value *x = partOf(fn, 0, isSignedA), *y = partOf(fn, 1, isSignedB);
  if (comparison.exchanged)
    std::swap(x, y);
  Value *holds = comparison.isOrdered ? b.CreateICmpSLT(x, y) : b.CreateICmpNE(x, y);
  if (comparison.negated)
    holds = b.CreateNot(holds);
  return finish(fn, inst, {b.CreateZExt(holds, b.getInt64Ty()), /*exactly=*/true}, isSignedA);
}

// vshl, vshr.dtype.atype.u32{.sat}.(clamp|wrap) d{.dsel}, a{.asel}, b{.bsel}{, c}
// PTX ISA: scalar-video-instructions-vshl-vshr
// .sat clamps the low 34 bits of the shifted number to 32 bits, whatever part is replaced.
static Value *shift(FunctionLowering &fn, const ptx::Instruction &inst, Instruction::BinaryOps op) {
  IRBuilder<> &b = fn.builder();
  bool isSignedD = isSigned(inst.spelling->type(0)), isSignedA = isSigned(inst.spelling->type(1));
  Value *amount = partOf(fn, 1, false);
  amount = inst.spelling->has(ptx::Mod::Wrap)
               ? b.CreateAnd(amount, 31)
               : b.CreateBinaryIntrinsic(Intrinsic::umin, amount, b.getInt64(32));
  Value *value = b.CreateBinOp(op, partOf(fn, 0, isSignedA), amount);
  bool saturates = inst.spelling->has(ptx::Mod::Sat);
  if (saturates)
    value = clampTo32(b, b.CreateAShr(b.CreateShl(value, 30), 30), isSignedD);
  return finish(fn, inst, {value, !saturates}, isSignedD);
}

Expected<Value *> lowerVshl(FunctionLowering &fn, const ptx::Instruction &inst) {
  return shift(fn, inst, Instruction::Shl);
}
Expected<Value *> lowerVshr(FunctionLowering &fn, const ptx::Instruction &inst) {
  return shift(fn, inst, Instruction::AShr);
}

// vmad.dtype.atype.btype{.sat}{.scale} d, {-}a{.asel}, {-}b{.bsel}, {-}c; vmad....po
// PTX ISA: scalar-video-instructions-vmad
// Whole registers and c are signed whatever their types, and dtype has no effect. .sat clamps to
// .u32 if both types are unsigned and nothing is negated, else to .s32; a negative sum that is
// scaled then counts as a large one.
Expected<Value *> lowerVmad(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  bool isSignedResult = false;
  auto operand = [&](unsigned n, bool hasSign) {
    isSignedResult |= hasSign || fn.sourceOperand(n).negated;
    Value *value = partOf(fn, n, hasSign || Part(fn.sourceOperand(n)).isWhole());
    return fn.sourceOperand(n).negated ? b.CreateNeg(value) : value;
  };
  Value *x = operand(0, isSigned(inst.spelling->type(1)));
  Value *y = operand(1, isSigned(inst.spelling->type(2)));
  Value *sum = b.CreateAdd(b.CreateMul(x, y), operand(2, false));
  if (inst.spelling->has(ptx::Mod::Po))
    sum = b.CreateAdd(sum, b.getInt64(1));
  unsigned scale = inst.spelling->has(ptx::Mod::Shr7)    ? 7
                   : inst.spelling->has(ptx::Mod::Shr15) ? 15
                                                         : 0;
  if (scale)
    sum = isSignedResult ? b.CreateAShr(sum, scale) : b.CreateLShr(sum, scale);
  if (inst.spelling->has(ptx::Mod::Sat))
    sum = clampTo32(b, sum, isSignedResult);
  return b.CreateTrunc(sum, b.getInt32Ty());
}

} // namespace rubia::lowering
