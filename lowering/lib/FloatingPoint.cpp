// PTX ISA: floating-point-instructions, without division and approximations. Plain operations are
// LLVM's, never contracted; others run in their own mode (DirectedRounding.cpp).
#include "lowering/lib/FloatingPoint.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace rubia::lowering {

namespace {
// An operation as LLVM has it and as the VALU has it, by the number of bits.
struct Arithmetic {
  Instruction::BinaryOps opcode; // BinaryOpsEnd: llvm.fma
  const char *f32;
  const char *f64;
};

constexpr Arithmetic kAdd = {Instruction::FAdd, "v_add_f32 $0, $1, $2", "v_add_f64 $0, $1, $2"};
constexpr Arithmetic kSub = {Instruction::FSub, "v_sub_f32 $0, $1, $2", "v_add_f64 $0, $1, -$2"};
constexpr Arithmetic kMul = {Instruction::FMul, "v_mul_f32 $0, $1, $2", "v_mul_f64 $0, $1, $2"};
constexpr Arithmetic kFma = {Instruction::BinaryOpsEnd, "v_fma_f32 $0, $1, $2, $3",
                             "v_fma_f64 $0, $1, $2, $3"};
} // namespace

static Expected<Value *> lowerArithmetic(FunctionLowering &fn, const ptx::Instruction &inst,
                                         const Arithmetic &op) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 3> sources = {fn.source(0), fn.source(1)};
  bool isFma = op.opcode == Instruction::BinaryOpsEnd;
  if (isFma)
    sources.push_back(fn.source(2));
  Type *type = sources[0]->getType();
  if (!type->isFloatTy() && !type->isDoubleTy())
    return fn.unsupported(inst, "floating-point type of " + inst.spelling->text);

  FloatMode mode{roundingOf(*inst.spelling),
                 type->isFloatTy() ? inst.spelling->has(ptx::Mod::Ftz) : fn.flushesF32Denormals()};
  Value *result;
  if (!isPlain(fn, mode))
    result = inMode(fn, mode, type->isFloatTy() ? op.f32 : op.f64, type, sources);
  else if (isFma)
    result = b.CreateIntrinsic(Intrinsic::fma, type, sources);
  else
    result = b.CreateBinOp(op.opcode, sources[0], sources[1]);
  return finish(fn, inst, result);
}

// add{.rnd}{.ftz}{.sat}.f32 d, a, b   PTX ISA: floating-point-instructions-add
Expected<Value *> lowerFAdd(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, kAdd);
}

// sub{.rnd}{.ftz}{.sat}.f32 d, a, b   PTX ISA: floating-point-instructions-sub
Expected<Value *> lowerFSub(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, kSub);
}

// mul{.rnd}{.ftz}{.sat}.f32 d, a, b   PTX ISA: floating-point-instructions-mul
Expected<Value *> lowerFMul(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, kMul);
}

// fma.rnd{.ftz}{.sat}.f32 d, a, b, c   PTX ISA: floating-point-instructions-fma
Expected<Value *> lowerFFma(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, kFma);
}

// mad{.rnd}{.ftz}{.sat}.f32 d, a, b, c   PTX ISA: floating-point-instructions-mad
// The same as fma on sm_20 and later, also where .rnd is left out.
Expected<Value *> lowerFMad(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, kFma);
}

// abs and neg change the sign bit only; .ftz flushes the operand.
static Value *lowerSign(FunctionLowering &fn, const ptx::Instruction &inst, bool negate) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  value = negate ? b.CreateFNeg(value) : b.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  if (inst.spelling->has(ptx::Mod::Ftz))
    value = flushDenormal(fn, value);
  return finish(fn, inst, value);
}

// abs{.ftz}.f32 d, a   PTX ISA: floating-point-instructions-abs
Expected<Value *> lowerFAbs(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerSign(fn, inst, /*negate=*/false);
}

// neg{.ftz}.f32 d, a   PTX ISA: floating-point-instructions-neg
Expected<Value *> lowerFNeg(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerSign(fn, inst, /*negate=*/true);
}

// One NaN gives the other operand, with .NaN it gives NaN; -0 is less than +0. Flushing keeps the
// order, so .ftz flushes the result only. .xorsign.abs takes the signs from both operands, whatever
// they are.
static Value *lowerMinMax(FunctionLowering &fn, const ptx::Instruction &inst,
                          Intrinsic::ID ignoringNan, Intrinsic::ID keepingNan) {
  IRBuilder<> &b = fn.builder();
  Value *x = fn.source(0), *y = fn.source(1);
  bool xorsign = inst.spelling->has(ptx::Mod::XorsignAbs);
  Value *sign = nullptr;
  unsigned bits = x->getType()->getPrimitiveSizeInBits();
  Type *integer = fn.intType(bits);
  if (xorsign) {
    sign = b.CreateXor(b.CreateBitCast(x, integer), b.CreateBitCast(y, integer));
    x = b.CreateUnaryIntrinsic(Intrinsic::fabs, x);
    y = b.CreateUnaryIntrinsic(Intrinsic::fabs, y);
  }
  Value *result =
      b.CreateBinaryIntrinsic(inst.spelling->has(ptx::Mod::NaN) ? keepingNan : ignoringNan, x, y);
  if (inst.spelling->has(ptx::Mod::Ftz))
    result = flushDenormal(fn, result);
  if (xorsign)
    result = b.CreateBinaryIntrinsic(Intrinsic::copysign, result,
                                     b.CreateBitCast(sign, result->getType()));
  return finish(fn, inst, result);
}

// min{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b   PTX ISA: floating-point-instructions-min
Expected<Value *> lowerFMin(FunctionLowering &fn, const ptx::Instruction &inst) {
  if (fn.hasSource(2)) // {, c} of PTX 8.8
    return fn.unsupported(inst, "unsupported: three operands");
  return lowerMinMax(fn, inst, Intrinsic::minimumnum, Intrinsic::minimum);
}

// max{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b   PTX ISA: floating-point-instructions-max
Expected<Value *> lowerFMax(FunctionLowering &fn, const ptx::Instruction &inst) {
  if (fn.hasSource(2)) // {, c} of PTX 8.8
    return fn.unsupported(inst, "unsupported: three operands");
  return lowerMinMax(fn, inst, Intrinsic::maximumnum, Intrinsic::maximum);
}

// copysign.(f32|f64) d, a, b   PTX ISA: floating-point-instructions-copysign
// The sign is that of a, the rest that of b.
Expected<Value *> lowerCopysign(FunctionLowering &fn, const ptx::Instruction &) {
  return fn.builder().CreateBinaryIntrinsic(Intrinsic::copysign, fn.source(1), fn.source(0));
}

// testp.op.(f32|f64) p, a   PTX ISA: floating-point-instructions-testp
// Zero counts as normal. By integers, so that the denormal mode has no say.
Expected<Value *> lowerTestp(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  Value *value = fn.source(0);
  unsigned bits = value->getType()->getPrimitiveSizeInBits();
  APFloat infinity = APFloat::getInf(value->getType()->getFltSemantics());
  APFloat normal = APFloat::getSmallestNormalized(value->getType()->getFltSemantics());
  Value *infinite = fn.constant(bits, infinity.bitcastToAPInt().getZExtValue());
  uint64_t smallestNormal = normal.bitcastToAPInt().getZExtValue();
  Value *magnitude = b.CreateAnd(b.CreateBitCast(value, fn.intType(bits)),
                                 fn.constant(bits, ~0ull >> (65 - bits)));
  Value *finite = b.CreateICmpULT(magnitude, infinite);
  // 1 to smallestNormal - 1
  Value *subnormal = b.CreateICmpULT(b.CreateSub(magnitude, fn.constant(bits, 1)),
                                     fn.constant(bits, smallestNormal - 1));
  const ptx::Spelling &spelling = *inst.spelling;
  if (spelling.has(ptx::Mod::Finite))
    return finite;
  if (spelling.has(ptx::Mod::Infinite))
    return b.CreateICmpEQ(magnitude, infinite);
  if (spelling.has(ptx::Mod::Number))
    return b.CreateICmpULE(magnitude, infinite);
  if (spelling.has(ptx::Mod::Notanumber))
    return b.CreateICmpUGT(magnitude, infinite);
  if (spelling.has(ptx::Mod::Normal))
    return b.CreateAnd(finite, b.CreateNot(subnormal));
  return subnormal;
}

} // namespace rubia::lowering
