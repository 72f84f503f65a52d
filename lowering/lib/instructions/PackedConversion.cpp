// SPDX-License-Identifier: Apache-2.0
// cvt of two or four numbers at a time, and cvt.pack.
// PTX ISA: data-movement-and-conversion-instructions-cvt, -cvt-pack.
//
// Each element becomes the bits of its result in an i32, then all are put together; the first
// operand, or the upper part of a packed one, is the highest. What is known about the random bits
// of .rs and about scales stands in docs/numerics.md.
#include "lowering/lib/frame/LoweringFunctions.h"
#include "lowering/lib/instructions/IntegerArithmetic.h"
#include "lowering/lib/instructions/NarrowFloat.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Any, Canonical;
} // namespace rubia::settings::NanMode
namespace rubia::targets::Fact {
extern const GenerationFact convertsBfloat;
} // namespace rubia::targets::Fact
namespace rubia::ptx::Mod {
extern const Modifier Relu, Rn, Rs, Satfinite, ScaledN2Ue8m0;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

LoweringFunction lowerCvt; // Conversion.cpp

namespace {

// A type of several elements.
struct Packed {
  unsigned count = 1;                   // of elements
  unsigned step = 0;                    // bits from one to the next
  const NarrowFormat *format = nullptr; // null: ue8m0, s2f6, or not packed
};

Packed packedType(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16x2:
    return {2, 16, &kF16};
  case ptx::Type::BF16x2:
    return {2, 16, &kBf16};
  case ptx::Type::E4M3x2:
    return {2, 8, &kE4m3};
  case ptx::Type::E5M2x2:
    return {2, 8, &kE5m2};
  case ptx::Type::E2M3x2:
    return {2, 8, &kE2m3};
  case ptx::Type::E3M2x2:
    return {2, 8, &kE3m2};
  case ptx::Type::E2M1x2:
    return {2, 4, &kE2m1};
  case ptx::Type::E4M3x4:
    return {4, 8, &kE4m3};
  case ptx::Type::E5M2x4:
    return {4, 8, &kE5m2};
  case ptx::Type::E2M3x4:
    return {4, 8, &kE2m3};
  case ptx::Type::E3M2x4:
    return {4, 8, &kE3m2};
  case ptx::Type::E2M1x4:
    return {4, 4, &kE2m1};
  case ptx::Type::UE8M0x2:
  case ptx::Type::S2F6x2:
    return {2, 8, nullptr};
  default:
    return {};
  }
}

} // namespace

// ---------- Elements

// The elements of a packed integer, the highest first, each an i32.
static SmallVector<Value *, 4> split(IRBuilder<> &b, Value *packed, unsigned count, unsigned step) {
  SmallVector<Value *, 4> elements;
  Value *bits = b.CreateZExt(packed, b.getInt32Ty());
  for (unsigned i = count; i-- > 0;)
    elements.push_back(b.CreateAnd(b.CreateLShr(bits, i * step), b.getInt32((1u << step) - 1)));
  return elements;
}

// Halves as a vector, for which targets have an instruction that packs.
static Value *join(IRBuilder<> &b, ArrayRef<Value *> elements, unsigned step) {
  if (step == 16) {
    Value *pair = PoisonValue::get(FixedVectorType::get(b.getInt16Ty(), 2));
    for (uint64_t i : {0, 1})
      pair = b.CreateInsertElement(pair, b.CreateTrunc(elements[1 - i], b.getInt16Ty()), i);
    return b.CreateBitCast(pair, b.getInt32Ty());
  }
  Value *packed = elements[0];
  for (Value *element : elements.drop_front())
    packed = b.CreateOr(b.CreateShl(packed, step), element);
  return b.CreateTrunc(packed, b.getIntNTy(unsigned(elements.size()) * step));
}

// The values to convert, as f32.
static SmallVector<Value *, 4> floatSources(FunctionLowering &fn, unsigned count, ptx::Type type) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 4> values;
  if (type == ptx::Type::F32) {
    for (unsigned i = 0; i < count; ++i)
      values.push_back(count == 4 ? fn.read(fn.sourceOperand(0).elements()[i], type)
                                  : fn.source(i, type));
    return values;
  }
  for (Value *code : split(b, b.CreateBitCast(fn.source(0, type), b.getInt32Ty()), 2, 16)) {
    if (type == ptx::Type::BF16x2)
      values.push_back(b.CreateBitCast(b.CreateShl(code, 16), b.getFloatTy()));
    else
      values.push_back(b.CreateFPExt(
          b.CreateBitCast(b.CreateTrunc(code, b.getInt16Ty()), b.getHalfTy()), b.getFloatTy()));
  }
  return values;
}

// .rs: the random bits of the element with this index, 0 the first.
static Value *randomBits(IRBuilder<> &b, const Packed &to, unsigned index, Value *random) {
  auto part = [&](unsigned shift, unsigned bits) {
    return b.CreateAnd(b.CreateLShr(random, shift), b.getInt32((1u << bits) - 1));
  };
  bool upper = index < to.count / 2;
  if (to.count == 2)
    return part(upper ? 16 : 0, to.format == &kF16 ? 13 : 16);
  Value *field = part(upper ? 16 : 0, 16);
  if (to.step == 4)
    field = b.CreateOr(b.CreateShl(part(upper ? 24 : 16, 8), 8), part(upper ? 8 : 0, 8));
  if (index % 2 != 0)
    return field;
  return b.CreateLShr(b.CreateUnaryIntrinsic(Intrinsic::bitreverse, field), 16);
}

// ---------- f16x2

// Both directions of rounding are one instruction: v_cvt_f16_f32 an element, v_cvt_pkrtz_f16_f32
// for two. A denormal f32 is 0 in half anyway.
static SmallVector<Value *, 4> toHalves(FunctionLowering &fn, ArrayRef<Value *> values,
                                        const NarrowRule &rule) {
  IRBuilder<> &b = fn.builder();
  SmallVector<Value *, 4> sources(values), codes;
  if (rule.relu)
    for (Value *&source : sources)
      source = reluF32(fn, source);
  if (rule.rounding == Rounding::Zero) {
    Value *pair = b.CreateIntrinsic(Intrinsic::amdgcn_cvt_pkrtz, {}, {sources[1], sources[0]});
    codes = split(b, b.CreateBitCast(pair, b.getInt32Ty()), 2, 16);
  } else {
    for (Value *source : sources)
      codes.push_back(b.CreateZExt(
          b.CreateBitCast(b.CreateFPTrunc(source, b.getHalfTy()), b.getInt16Ty()), b.getInt32Ty()));
  }
  for (auto [code, source] : zip(codes, sources)) {
    if (rule.satfinite)
      code = infinityToLargest(b, kF16, code);
    if (fn.options().code.is(settings::NanMode::Canonical))
      code = b.CreateSelect(b.CreateFCmpUNO(source, source), b.getInt32(kF16.nan), code);
  }
  return codes;
}

// cvt.rn{.relu}.f16x2.(e4m3x2|...). The hardware's e4m3 goes by way of f32; all are exact in half.
static Value *toHalvesFromNarrow(FunctionLowering &fn, const NarrowFormat &format, unsigned step,
                                 bool relu) {
  IRBuilder<> &b = fn.builder();
  Value *packed = b.CreateZExt(fn.source(0), b.getInt32Ty());
  bool keepsNan = fn.options().code.is(settings::NanMode::Any);
  if (&format == &kE4m3 && fn.target().row->float8 == targets::Float8::Ocp && keepsNan && !relu) {
    Value *pair = b.CreateIntrinsic(Intrinsic::amdgcn_cvt_pk_f32_fp8, {}, {packed, b.getFalse()});
    return b.CreateIntrinsic(
        Intrinsic::amdgcn_cvt_pkrtz, {},
        {b.CreateExtractElement(pair, uint64_t(0)), b.CreateExtractElement(pair, uint64_t(1))});
  }
  uint32_t mask = (1u << step) - 1;
  Value *spread = b.CreateAnd(b.CreateOr(packed, b.CreateShl(packed, 16 - step)),
                              b.getInt32(mask | mask << 16));
  Type *halves = FixedVectorType::get(b.getInt16Ty(), 2);
  return b.CreateBitCast(decodeToHalves(fn, format, b.CreateBitCast(spread, halves), relu),
                         b.getInt32Ty());
}

// ---------- bf16x2 and 8 bits where the hardware has them

// Two bf16, an i32, to nearest even: one instruction, whose denormals follow MODE.
static Value *toBfloatsByHardware(FunctionLowering &fn, Value *high, Value *low) {
  IRBuilder<> &b = fn.builder();
  Value *pair = PoisonValue::get(FixedVectorType::get(b.getFloatTy(), 2));
  pair = b.CreateInsertElement(pair, low, uint64_t(0));
  pair = b.CreateInsertElement(pair, high, uint64_t(1));
  return b.CreateBitCast(b.CreateFPTrunc(pair, FixedVectorType::get(b.getBFloatTy(), 2)),
                         b.getInt32Ty());
}

// Two e4m3 or e5m2, an i16, to nearest even, of numbers that are not beyond the range. NaN stays
// NaN.
static Value *toFp8ByHardware(FunctionLowering &fn, const NarrowFormat &format, Value *high,
                              Value *low, bool relu) {
  IRBuilder<> &b = fn.builder();
  bool isE4m3 = &format == &kE4m3;
  Type *f32 = b.getFloatTy();
  auto clamped = [&](Value *value) {
    Constant *limit = ConstantFP::get(f32, isE4m3 ? 448 : 57344);
    if (relu)
      value = reluF32(fn, value);
    value = b.CreateBinaryIntrinsic(Intrinsic::minimum, value, limit);
    return b.CreateBinaryIntrinsic(Intrinsic::maximum, value, b.CreateFNeg(limit));
  };
  Value *pair = b.CreateIntrinsic(isE4m3 ? Intrinsic::amdgcn_cvt_pk_fp8_f32
                                         : Intrinsic::amdgcn_cvt_pk_bf8_f32,
                                  {}, {clamped(low), clamped(high), b.getInt32(0), b.getFalse()});
  return b.CreateTrunc(pair, b.getInt16Ty());
}

// The whole of an instruction that the hardware has with the same results, or null. NaN bits are
// its own.
static Value *convertByHardware(FunctionLowering &fn, const ptx::Instruction &inst,
                                const Packed &to, ArrayRef<Value *> values) {
  const ptx::Spelling &spelling = *inst.spelling;
  bool relu = spelling.has(ptx::Mod::Relu);
  if (fn.options().code.is(settings::NanMode::Canonical) || !spelling.has(ptx::Mod::Rn))
    return nullptr;
  if (to.format == &kBf16 && targets::Fact::convertsBfloat(*fn.target().row) &&
      !fn.flushesF32Denormals() && !relu && !spelling.has(ptx::Mod::Satfinite))
    return toBfloatsByHardware(fn, values[0], values[1]);
  if ((to.format == &kE4m3 || to.format == &kE5m2) &&
      fn.target().row->float8 == targets::Float8::Ocp)
    return toFp8ByHardware(fn, *to.format, values[0], values[1], relu);
  return nullptr;
}

// ---------- ue8m0: the exponent of a power of two; ff is NaN, and there is no sign

static Value *toScale(IRBuilder<> &b, Value *value, bool up, bool satfinite) {
  Value *magnitude = b.CreateAnd(b.CreateBitCast(value, b.getInt32Ty()), b.getInt32(0x7fffffff));
  Value *isNan = b.CreateICmpUGT(magnitude, b.getInt32(0x7f800000));
  Value *code = b.CreateLShr(magnitude, 23);
  if (up) {
    // The next power, unless it is one; 2^-127, code 0, is a denormal.
    Value *isDenormal = b.CreateICmpEQ(code, b.getInt32(0));
    Value *slack = b.CreateSelect(isDenormal, b.getInt32(0x3fffff), b.getInt32(0x7fffff));
    code = b.CreateLShr(b.CreateAdd(magnitude, slack), 23);
  }
  if (satfinite)
    code = b.CreateBinaryIntrinsic(Intrinsic::umin, code, b.getInt32(0xfe));
  return b.CreateSelect(isNan, b.getInt32(0xff), code);
}

// bf16 bits.
static Value *fromScale(IRBuilder<> &b, Value *code) {
  Value *power = b.CreateSelect(b.CreateICmpEQ(code, b.getInt32(0)), b.getInt32(0x40),
                                b.CreateShl(code, kBf16.fraction));
  return b.CreateSelect(b.CreateICmpEQ(code, b.getInt32(0xff)), b.getInt32(kBf16.nan), power);
}

// ---------- s2f6: a signed byte of 64ths

static constexpr int kFixedFraction = 6;

// The number divided by its scale (ue8m0, an i32, or null for 1), to the nearest 64th; NaN becomes
// the largest.
static Value *toFixed(FunctionLowering &fn, Value *value, Value *scale, bool relu) {
  IRBuilder<> &b = fn.builder();
  if (relu)
    value = reluF32(fn, value);
  Value *exponent = b.getInt32(kFixedFraction);
  if (scale)
    exponent = b.CreateSub(b.getInt32(127 + kFixedFraction), scale);
  Value *scaled =
      b.CreateIntrinsic(Intrinsic::ldexp, {b.getFloatTy(), b.getInt32Ty()}, {value, exponent});
  Value *integral = b.CreateUnaryIntrinsic(Intrinsic::roundeven, scaled);
  Value *code = b.CreateIntrinsic(Intrinsic::fptosi_sat, {b.getInt8Ty(), b.getFloatTy()}, integral);
  Value *isNan = b.CreateFCmpUNO(value, value);
  if (scale)
    isNan = b.CreateOr(isNan, b.CreateICmpEQ(scale, b.getInt32(0xff)));
  return b.CreateZExt(b.CreateSelect(isNan, b.getInt8(0x7f), code), b.getInt32Ty());
}

// bf16 bits; exact but for -2 * 2^127, which is beyond the range.
static Value *fromFixed(FunctionLowering &fn, Value *code, Value *scale, const NarrowRule &rule) {
  IRBuilder<> &b = fn.builder();
  Value *number = b.CreateSIToFP(b.CreateTrunc(code, b.getInt8Ty()), b.getFloatTy());
  Value *exponent = b.getInt32(uint32_t(-kFixedFraction));
  if (scale)
    exponent = b.CreateSub(scale, b.getInt32(127 + kFixedFraction));
  Value *value =
      b.CreateIntrinsic(Intrinsic::ldexp, {b.getFloatTy(), b.getInt32Ty()}, {number, exponent});
  Value *result = encodeNarrow(fn, kBf16, value, rule);
  if (!scale)
    return result;
  return b.CreateSelect(b.CreateICmpEQ(scale, b.getInt32(0xff)), b.getInt32(kBf16.nan), result);
}

// ---------- Dispatch

static Value *convertPacked(FunctionLowering &fn, const ptx::Instruction &inst, ptx::Type toType,
                            ptx::Type fromType) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  Packed to = packedType(toType);
  NarrowRule rule;
  rule.rounding = roundingOf(spelling);
  rule.relu = spelling.has(ptx::Mod::Relu);
  rule.satfinite = spelling.has(ptx::Mod::Satfinite);
  bool isStochastic = spelling.has(ptx::Mod::Rs);
  // Random bits and scales come last.
  unsigned last = fromType == ptx::Type::F32 && to.count == 2 ? 2 : 1;
  Value *random = isStochastic ? fn.source(last) : nullptr;
  SmallVector<Value *, 4> scales = {nullptr, nullptr};
  if (spelling.has(ptx::Mod::ScaledN2Ue8m0))
    scales = split(b, fn.source(last), 2, 8);

  SmallVector<Value *, 4> codes;
  if (fromType == ptx::Type::UE8M0x2 || fromType == ptx::Type::S2F6x2) {
    for (auto [index, code] : enumerate(split(b, fn.source(0), 2, 8)))
      codes.push_back(fromType == ptx::Type::UE8M0x2 ? fromScale(b, code)
                                                     : fromFixed(fn, code, scales[index], rule));
    return join(b, codes, to.step);
  }
  SmallVector<Value *, 4> values = floatSources(fn, to.count, fromType);
  if (Value *result = convertByHardware(fn, inst, to, values))
    return result;
  if (to.format == &kF16 && !isStochastic)
    return join(b, toHalves(fn, values, rule), to.step);
  for (auto [index, value] : enumerate(values)) {
    if (toType == ptx::Type::UE8M0x2) {
      codes.push_back(toScale(b, value, rule.rounding == Rounding::Up, rule.satfinite));
    } else if (toType == ptx::Type::S2F6x2) {
      codes.push_back(toFixed(fn, value, scales[index], rule.relu));
    } else {
      if (isStochastic) {
        rule.random = randomBits(b, to, unsigned(index), random);
        rule.randomBits = to.format == &kF16 ? 13 : 16;
      }
      codes.push_back(encodeNarrow(fn, *to.format, value, rule));
    }
  }
  return join(b, codes, to.step);
}

// cvt.rnd{.relu}{.satfinite}.(f16x2|...).f32 d, a, b   PTX ISA:
// data-movement-and-conversion-instructions-cvt
// Forms with one number are those of lowerCvt.
Expected<Value *> lowerCvtNarrow(FunctionLowering &fn, const ptx::Instruction &inst) {
  ptx::Type to = inst.spelling->type(0), from = inst.spelling->type(1);
  Packed packed = packedType(to);
  if (packed.count == 1)
    return lowerCvt(fn, inst);
  const NarrowFormat *narrow = packedType(from).format;
  if (narrow && narrow->bits <= 8)
    return toHalvesFromNarrow(fn, *narrow, packedType(from).step,
                              inst.spelling->has(ptx::Mod::Relu));
  return convertPacked(fn, inst, to, from);
}

// cvt.pack.sat.(u8|...).s32{.b32} d, a, b{, c}   PTX ISA:
// data-movement-and-conversion-instructions-cvt-pack
// a and b are clamped, a above b; what is left above them is the low part of c.
Expected<Value *> lowerCvtPack(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  ptx::Type to = inst.spelling->type(0);
  unsigned bits = ptx::sizeInBits(to);
  Value *mask = b.getInt32((1u << bits) - 1);
  auto converted = [&](unsigned n) {
    return b.CreateAnd(saturateInteger(b, fn.source(n), /*fromSigned=*/true, bits, isSigned(to)),
                       mask);
  };
  Value *pair = b.CreateOr(b.CreateShl(converted(0), bits), converted(1));
  if (!fn.hasSource(2))
    return pair;
  return b.CreateOr(b.CreateShl(fn.source(2), 2 * bits), pair);
}

} // namespace rubia::lowering
