// SPDX-License-Identifier: Apache-2.0
// PTX ISA: floating-point-instructions, without division and approximations, and
// mixed-precision-floating-point-instructions. Plain operations are LLVM's, never contracted by it
// (Contraction.h says what is fused here); others run in their own mode (DirectedRounding.cpp).
// Those of f16 and bf16 are in HalfPrecision.cpp.
#include "lowering/lib/frame/FloatingPoint.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace rubia::settings::FlushMode {
extern const Word Native;
} // namespace rubia::settings::FlushMode
namespace rubia::targets::Fact {
extern const GenerationFact hasNumberMinMax;
} // namespace rubia::targets::Fact
namespace rubia::ptx::Mod {
extern const Modifier Abs, Finite, Ftz, Infinite, NaN, Normal, Notanumber, Number, XorsignAbs;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

// An operation as the VALU has it, by Arithmetic.
struct Assembly {
  const char *f32, *f64;
};
static constexpr Assembly kAssembly[] = {
    {"v_add_f32 $0, $1, $2", "v_add_f64 $0, $1, $2"},
    {"v_sub_f32 $0, $1, $2", "v_add_f64 $0, $1, -$2"},
    {"v_mul_f32 $0, $1, $2", "v_mul_f64 $0, $1, $2"},
    {"v_fma_f32 $0, $1, $2, $3", "v_fma_f64 $0, $1, $2, $3"},
};

Value *plainArithmetic(IRBuilder<> &b, Arithmetic op, ArrayRef<Value *> sources) {
  switch (op) {
  case Arithmetic::Add:
    return b.CreateFAdd(sources[0], sources[1]);
  case Arithmetic::Sub:
    return b.CreateFSub(sources[0], sources[1]);
  case Arithmetic::Mul:
    return b.CreateFMul(sources[0], sources[1]);
  case Arithmetic::Fma:
    break;
  }
  return b.CreateIntrinsic(Intrinsic::fma, {sources[0]->getType()}, sources);
}

// LLVM replaces x * 1 by x whatever the denormal mode is, and neither its builder nor its fma of
// constants looks at the mode. llvm.canonicalize flushes what such a replacement left; that of an
// operation which stayed costs nothing.
static Value *flushingPlainArithmetic(FunctionLowering &fn, Arithmetic op,
                                      ArrayRef<Value *> sources) {
  SmallVector<Value *, 3> operands(sources);
  for (Value *&operand : operands)
    if (isa<Constant>(operand))
      operand = flushDenormal(fn, operand);
  return flushDenormal(fn, plainArithmetic(fn.builder(), op, operands));
}

// AMD's units may flush what is denormal when rounded to a denormal's bits.
static Value *flushedByHardware(FunctionLowering &fn, FloatMode mode, Arithmetic op,
                                ArrayRef<Value *> sources) {
  IRBuilder<> &b = fn.builder();
  if (isPlain(fn, mode))
    return mode.flushesF32 && sources[0]->getType()->getScalarType()->isFloatTy()
               ? flushingPlainArithmetic(fn, op, sources)
               : plainArithmetic(b, op, sources);
  const Assembly &assembly = kAssembly[size_t(op)];
  return elementwise(b, sources, [&](ArrayRef<Value *> elements) {
    Type *type = elements[0]->getType();
    return inMode(fn, mode, type->isDoubleTy() ? assembly.f64 : assembly.f32, type, elements);
  });
}

// NVIDIA flushes what is below 2^-126 when rounded to 24 bits with unbounded exponent; measured on
// an H100. `result` may be 2^-126 instead, the hardware's choice. The same operation on sources
// that are 2^64 times larger says which: there the exponent is as good as unbounded. A scaled
// source overflows only where the result is not 2^-126, or is the addend, and to infinity, so that
// what comes of it is not below the bound. Sums need none of this: those below 2^-126 are exact.
static Value *flushedAsNvidia(FunctionLowering &fn, FloatMode mode, Arithmetic op,
                              ArrayRef<Value *> sources, Value *result) {
  IRBuilder<> &b = fn.builder();
  Type *type = result->getType();
  auto scaled = [&](Value *source) {
    return flushedByHardware(fn, {Rounding::NearestEven, /*flushesF32=*/true}, Arithmetic::Mul,
                             {source, ConstantFP::get(type, 0x1p64)});
  };
  SmallVector<Value *, 3> larger{scaled(sources[0]), sources[1]};
  if (op == Arithmetic::Fma)
    larger.push_back(scaled(sources[2]));
  Value *size = b.CreateUnaryIntrinsic(Intrinsic::fabs, flushedByHardware(fn, mode, op, larger));
  Value *isTiny = b.CreateFCmpOLT(size, ConstantFP::get(type, 0x1p-126 * 0x1p64));
  Value *zero = b.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(type, 0.0), result);
  return b.CreateSelect(isTiny, zero, result);
}

Value *arithmeticInMode(FunctionLowering &fn, FloatMode mode, Arithmetic op,
                        ArrayRef<Value *> sources) {
  Value *result = flushedByHardware(fn, mode, op, sources);
  const bool rounds = op == Arithmetic::Mul || op == Arithmetic::Fma;
  if (!rounds || !mode.flushesF32 || !result->getType()->getScalarType()->isFloatTy() ||
      fn.options().code.is(settings::FlushMode::Native))
    return result;
  return flushedAsNvidia(fn, mode, op, sources, result);
}

// An operation on f32, pairs of f32 or f64, in the mode that the instruction asks for.
static Value *singleOrDouble(FunctionLowering &fn, const ptx::Instruction &inst, Arithmetic op,
                             ArrayRef<Value *> sources) {
  bool flushes = sources[0]->getType()->isDoubleTy() ? fn.flushesF32Denormals()
                                                     : inst.spelling->has(ptx::Mod::Ftz);
  return arithmeticInMode(fn, {roundingOf(*inst.spelling), flushes}, op, sources);
}

// A sum or difference that is fused with a product. Measured on NVIDIA's hardware: the NaN of the
// product's second factor comes first, then that of its first, then the addend's, all with their
// own signs.
static Expected<Value *> lowerFusedSum(FunctionLowering &fn, const ptx::Instruction &inst,
                                       const Contraction::Fused &fused, Arithmetic op,
                                       ArrayRef<Value *> sources) {
  IRBuilder<> &b = fn.builder();
  auto [first, second] = fn.factorsOf(fused.product);
  Value *factor = first, *addend = sources[1 - fused.operand];
  const SmallVector<Value *, 3> nanSources{second, first, addend};
  const bool subtracts = op == Arithmetic::Sub, isSubtrahend = subtracts && fused.operand == 1;
  if (fused.negated != isSubtrahend)
    factor = b.CreateFNeg(factor);
  if (subtracts && !isSubtrahend)
    addend = b.CreateFNeg(addend);
  Value *operands[] = {factor, second, addend};
  Value *result = addend->getType()->getScalarSizeInBits() == 16
                      ? halfArithmetic(fn, inst, Arithmetic::Fma, operands)
                      : singleOrDouble(fn, inst, Arithmetic::Fma, operands);
  return finish(fn, inst, result, nanSources);
}

// Mixed precision (add.f32.f16 and so on): the narrow operands are f32 numbers too.
// PTX ISA: mixed-precision-floating-point-instructions
static Expected<Value *> lowerArithmetic(FunctionLowering &fn, const ptx::Instruction &inst,
                                         Arithmetic op) {
  IRBuilder<> &b = fn.builder();
  Type *type = fn.typeOf(fn.destinationType());
  SmallVector<Value *, 3> sources;
  for (unsigned n = 0; n < (op == Arithmetic::Fma ? 3u : 2u); ++n) {
    Value *source = fn.source(n);
    // Which decides how an fma of bf16 is rounded (HalfPrecision.cpp).
    if (std::optional<uint64_t> known = fn.knownConstant(n);
        known && source->getType()->getScalarType()->isBFloatTy()) {
      const unsigned bits = unsigned(source->getType()->getPrimitiveSizeInBits().getFixedValue());
      source = b.CreateBitCast(b.getIntN(bits, *known), source->getType());
    }
    bool isNarrow = source->getType()->getScalarSizeInBits() < type->getScalarSizeInBits();
    sources.push_back(isNarrow ? b.CreateFPExt(source, type) : source);
  }
  if (op == Arithmetic::Mul)
    fn.keepFactors(sources[0], sources[1]);
  if (const Contraction::Fused *fused = fn.fusedProduct())
    return lowerFusedSum(fn, inst, *fused, op, sources);
  Value *result = type->getScalarSizeInBits() == 16 ? halfArithmetic(fn, inst, op, sources)
                                                    : singleOrDouble(fn, inst, op, sources);
  // Measured on NVIDIA's hardware: b's NaN comes before a's, and c's between them.
  SmallVector<Value *, 3> nanSources(drop_begin(sources));
  nanSources.push_back(sources[0]);
  return finish(fn, inst, result, nanSources);
}

// add{.rnd}{.ftz}{.sat}.type d, a, b   PTX ISA: floating-point-instructions-add,
// half-precision-floating-point-instructions-add, mixed-precision-floating-point-instructions-add
Expected<Value *> lowerFAdd(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, Arithmetic::Add);
}

// sub{.rnd}{.ftz}{.sat}.type d, a, b   PTX ISA: floating-point-instructions-sub,
// half-precision-floating-point-instructions-sub, mixed-precision-floating-point-instructions-sub
Expected<Value *> lowerFSub(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, Arithmetic::Sub);
}

// mul{.rnd}{.ftz}{.sat}.type d, a, b   PTX ISA: floating-point-instructions-mul,
// half-precision-floating-point-instructions-mul
Expected<Value *> lowerFMul(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, Arithmetic::Mul);
}

// fma.rnd{.ftz}{.sat}.type d, a, b, c; fma.rn{.oob}{.relu}.(f16|bf16|...) d, a, b, c
// PTX ISA: floating-point-instructions-fma, half-precision-floating-point-instructions-fma,
// mixed-precision-floating-point-instructions-fma
Expected<Value *> lowerFFma(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, Arithmetic::Fma);
}

// mad{.rnd}{.ftz}{.sat}.f32 d, a, b, c   PTX ISA: floating-point-instructions-mad
// The same as fma on sm_20 and later, also where .rnd is left out.
Expected<Value *> lowerFMad(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerArithmetic(fn, inst, Arithmetic::Fma);
}

// abs and neg change the sign bit only; .ftz flushes the operand. The sign of an f64 NaN stays.
static Value *lowerSign(FunctionLowering &fn, const ptx::Instruction &inst, bool negate) {
  IRBuilder<> &b = fn.builder();
  Value *source = fn.source(0);
  Value *value = negate ? b.CreateFNeg(source) : b.CreateUnaryIntrinsic(Intrinsic::fabs, source);
  if (inst.spelling->has(ptx::Mod::Ftz))
    value = flushDenormal(fn, value);
  return finish(fn, inst, value, source);
}

// abs{.ftz}.type d, a   PTX ISA: floating-point-instructions-abs,
// half-precision-floating-point-instructions-abs
Expected<Value *> lowerFAbs(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerSign(fn, inst, /*negate=*/false);
}

// neg{.ftz}.type d, a   PTX ISA: floating-point-instructions-neg,
// half-precision-floating-point-instructions-neg
Expected<Value *> lowerFNeg(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerSign(fn, inst, /*negate=*/true);
}

namespace {
// A minimum or maximum: where a NaN gives the other operand, where it gives NaN, and as the VALU
// has the first of f32 under its two names.
struct Extreme {
  Intrinsic::ID ignoringNan, keepingNan;
  const char *f32, *numberF32;
};
constexpr Extreme kMin = {Intrinsic::minimumnum, Intrinsic::minimum, "v_min_f32 $0, $1, $2",
                          "v_min_num_f32 $0, $1, $2"};
constexpr Extreme kMax = {Intrinsic::maximumnum, Intrinsic::maximum, "v_max_f32 $0, $1, $2",
                          "v_max_num_f32 $0, $1, $2"};
} // namespace

static Value *extremeOf(FunctionLowering &fn, const Extreme &extreme, bool keepsNan,
                        bool keepsDenormals, Value *x, Value *y) {
  IRBuilder<> &b = fn.builder();
  if (!keepsDenormals || !fn.flushesF32Denormals())
    return b.CreateBinaryIntrinsic(keepsNan ? extreme.keepingNan : extreme.ignoringNan, x, y);
  return elementwise(b, {x, y}, [&](ArrayRef<Value *> elements) {
    Type *type = elements[0]->getType();
    Value *result =
        inMode(fn, {Rounding::NearestEven, /*flushesF32=*/false},
               targets::Fact::hasNumberMinMax(*fn.target().row) ? extreme.numberF32 : extreme.f32,
               type, elements);
    if (!keepsNan)
      return result;
    return b.CreateSelect(b.CreateFCmpUNO(elements[0], elements[1]), ConstantFP::getNaN(type),
                          result);
  });
}

Value *minOrMax(FunctionLowering &fn, bool maximum, Value *x, Value *y) {
  IRBuilder<> &b = fn.builder();
  bool isBf16 = x->getType()->getScalarType()->isBFloatTy();
  Value *result = extremeOf(fn, maximum ? kMax : kMin, /*keepsNan=*/false, isBf16, widenBf16(b, x),
                            widenBf16(b, y));
  return narrowExactBf16(b, result, x->getType());
}

// One NaN gives the other operand, with .NaN it gives NaN; -0 is less than +0. Flushing keeps the
// order, so .ftz flushes the result only. .xorsign.abs takes the signs from both operands, whatever
// they are. bf16 is compared as f32.
static Value *lowerMinMax(FunctionLowering &fn, const ptx::Instruction &inst,
                          const Extreme &extreme) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  bool xorsign = spelling.has(ptx::Mod::XorsignAbs);
  SmallVector<Value *, 3> sources;
  Value *result = nullptr;
  for (unsigned n = 0; fn.hasSource(n); ++n) {
    sources.push_back(fn.source(n));
    bool isBf16 = sources[n]->getType()->getScalarType()->isBFloatTy();
    Value *value = widenBf16(b, sources[n]);
    if (xorsign || spelling.has(ptx::Mod::Abs))
      value = b.CreateUnaryIntrinsic(Intrinsic::fabs, value);
    result =
        result ? extremeOf(fn, extreme, spelling.has(ptx::Mod::NaN), isBf16, result, value) : value;
  }
  result = narrowExactBf16(b, result, sources[0]->getType());
  if (spelling.has(ptx::Mod::Ftz))
    result = flushDenormal(fn, result);
  if (xorsign)
    result = withSign(b, result, b.CreateXor(toBits(b, sources[0]), toBits(b, sources[1])));
  return finish(fn, inst, result, {sources[1], sources[0]});
}

// min{.ftz}{.NaN}{.xorsign.abs}.type d, a, b; min{.ftz}{.NaN}{.abs}.f32 d, a, b, c
// PTX ISA: floating-point-instructions-min, half-precision-floating-point-instructions-min
Expected<Value *> lowerFMin(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerMinMax(fn, inst, kMin);
}

// max{.ftz}{.NaN}{.xorsign.abs}.type d, a, b; max{.ftz}{.NaN}{.abs}.f32 d, a, b, c
// PTX ISA: floating-point-instructions-max, half-precision-floating-point-instructions-max
Expected<Value *> lowerFMax(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerMinMax(fn, inst, kMax);
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
