// SPDX-License-Identifier: Apache-2.0
// Products of factors of 4, 6 and 8 bits, with scales. PTX ISA: warp-level-block-scaling.
//
// A row of A and a column of B have a scale for each 16, 32 or all of their elements. So the sum is
// one of products of 8-bit factors (Mma.h), one for each block, each times the two scales of its
// element of D. All factors are numbers of e4m3 or e5m2, and all scales are numbers of f32. A
// sparse sum is one of sparse products likewise: blocks are those of the columns that A stands for.
//
// Which GPUs have it: those of compute capability 12.0. How they round sums has not been measured;
// sums without rounding are theirs.
#include "lowering/lib/matrices/ScaledMma.h"
#include "lowering/lib/frame/FloatingPoint.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/LaneExchange.h"
#include "lowering/lib/matrices/Mma.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

constexpr uint32_t kBytes = 0x01010101; // times a byte: in each of four

// Where a factor of 4 or 6 bits stands in its byte, and the e4m3 of its denormal numbers.
struct Format {
  unsigned below;               // bits of padding
  unsigned mantissa, magnitude; // bits
  unsigned exponent;            // of e4m3, less its own: both biases
  uint32_t low, high;           // e4m3 by mantissa, a byte each
};
constexpr Format kE2M1 = {2, 1, 3, 6, 0x00003000, 0}; // 0, 1/2
constexpr Format kE2M3 = {0, 3, 5, 6, 0x2c282000, 0x36343230};
constexpr Format kE3M2 = {0, 2, 5, 4, 0x24201800, 0};

// Four factors as e4m3. `signs`: where each byte's sign is.
Value *asE4M3(IRBuilder<> &b, Value *word, const Format &format, unsigned below) {
  const unsigned sign = below + format.magnitude;
  const uint32_t ofMantissa = (1u << format.mantissa) - 1;
  Value *magnitudes =
      b.CreateAnd(b.CreateLShr(word, below), ((1u << format.magnitude) - 1) * kBytes);
  // Denormal numbers are few: a table of eight bytes.
  Value *denormal = b.CreateIntrinsic(b.getInt32Ty(), Intrinsic::amdgcn_perm,
                                      {b.getInt32(format.high), b.getInt32(format.low),
                                       b.CreateAnd(magnitudes, ofMantissa * kBytes)});
  Value *normal = b.CreateAdd(b.CreateShl(magnitudes, 3 - format.mantissa),
                              b.getInt32((format.exponent << 3) * kBytes));
  // All of a byte's bits where its exponent is not zero: adding carries into the highest.
  Value *exponents =
      b.CreateAnd(magnitudes, (((1u << format.magnitude) - 1) & ~ofMantissa) * kBytes);
  Value *carries = b.CreateAdd(exponents, b.getInt32((0x80 - (1u << format.mantissa)) * kBytes));
  Value *isNormal = b.CreateMul(b.CreateAnd(b.CreateLShr(carries, 7), kBytes), b.getInt32(0xff));
  Value *values =
      b.CreateOr(b.CreateAnd(normal, isNormal), b.CreateAnd(denormal, b.CreateNot(isNormal)));
  Value *signs = b.CreateAnd(b.CreateShl(word, 7 - sign), 0x80 * kBytes);
  return b.CreateOr(values, signs);
}

// Four factors in bytes, as `type` with a byte for each says.
Value *inBytes(IRBuilder<> &b, Value *word, ptx::Type type) {
  switch (type) {
  case ptx::Type::E2M1:
    return asE4M3(b, word, kE2M1, kE2M1.below);
  case ptx::Type::E2M3:
    return asE4M3(b, word, kE2M3, kE2M3.below);
  case ptx::Type::E3M2:
    return asE4M3(b, word, kE3M2, kE3M2.below);
  default:
    return word;
  }
}
ptx::Type byteType(ptx::Type type) {
  return type == ptx::Type::E5M2 ? ptx::Type::E5M2 : ptx::Type::E4M3;
}

// The product of 8-bit factors that a form consists of.
MmaForm formOfBytes(MmaForm form) {
  form.k = form.isSparse ? 64 : 32;
  form.a = byteType(form.a), form.b = byteType(form.b);
  form.dataKind = ptx::Mod::None;
  form.scale = ptx::Type::None;
  form.scalesPerRow = 0;
  return form;
}

void widenInBytes(IRBuilder<> &b, const MmaForm &form, MmaOperands &operands) {
  for (Value *&word : operands.a)
    word = inBytes(b, word, form.a);
  for (Value *&word : operands.b)
    word = inBytes(b, word, form.b);
}

// The scales of one matrix: a register, of which a byte counts in some of the lanes.
struct Scales {
  Value *data, *byte, *thread;
};

class ScaledProduct {
public:
  ScaledProduct(FunctionLowering &fn, const MmaForm &form, const MmaOperands &operands,
                const Scales &ofA, const Scales &ofB)
      : fn(fn), b(fn.builder()), form(form), operands(operands), ofA(ofA), ofB(ofB),
        lane(fn.launch().laneIndex()) {}

  MmaFragment multiply(const ptx::Instruction &inst) {
    pullScales();
    SmallVector<Value *, 4> sums;
    for (Value *bits : operands.c)
      sums.push_back(b.CreateBitCast(bits, b.getFloatTy()));
    for (unsigned block = 0; block < form.scalesPerRow; ++block) {
      const MmaFragment products = productOf(block);
      for (unsigned reg = 0; reg < sums.size(); ++reg)
        sums[reg] = scaled(b.CreateBitCast(products[reg], b.getFloatTy()),
                           byteOf(rows[reg / 2], ofA, block), byteOf(columns[reg % 2], ofB, block),
                           sums[reg]);
    }
    MmaFragment results;
    for (Value *sum : sums)
      results.push_back(b.CreateBitCast(finish(fn, inst, sum), b.getInt32Ty()));
    return results;
  }

private:
  // D's registers have two rows, g and g + 8, and two columns, 2 t and 2 t + 1. The scales of rows
  // are in the first or last two lanes of each four, as the selector says; those of a column in
  // one lane of the four with the column's number.
  void pullScales() {
    Value *t = b.CreateAnd(lane, 3), *quad = b.CreateAnd(lane, 0x1c);
    for (unsigned i = 0; i < 2; ++i) {
      Value *ofRow = b.CreateAdd(b.CreateOr(quad, b.CreateShl(ofA.thread, 1)), b.getInt32(i));
      rows[i] = pullFromLane(fn, ofA.data, ofRow);
      Value *column = b.CreateAdd(b.CreateShl(t, 1), b.getInt32(i));
      columns[i] = pullFromLane(fn, ofB.data, b.CreateOr(b.CreateShl(column, 2), ofB.thread));
    }
  }
  Value *byteOf(Value *word, const Scales &scales, unsigned block) {
    Value *shift = b.CreateShl(b.CreateAdd(scales.byte, b.getInt32(block)), 3);
    return b.CreateAnd(b.CreateLShr(word, b.CreateAnd(shift, 31)), 0xff);
  }

  MmaFragment productOf(unsigned block) {
    MmaOperands bytes;
    bytes.c.assign(operands.c.size(), b.getInt32(0));
    if (form.elementBits(MmaMatrix::A) == 8) {
      bytes.a = operands.a, bytes.b = operands.b;
      widenInBytes(b, form, bytes);
      bytes.metadata = operands.metadata;
    } else {
      // A register has eight factors of a row, and all of these of a matrix are half of the depth.
      // The order of factors has no say, as long as it is that of both matrices.
      const unsigned half = block * 2 / form.scalesPerRow;
      const unsigned registersOfB = operands.b.size() / 2;
      for (unsigned odd = 0; odd < 2; ++odd) {
        for (unsigned row = 0; row < 2; ++row)
          bytes.a.push_back(ofBlock(nibbles(operands.a[2 * half + row], odd), block));
        for (unsigned i = 0; i < registersOfB; ++i)
          bytes.b.push_back(nibbles(operands.b[registersOfB * half + i], odd));
      }
      if (form.isSparse)
        bytes.metadata = metadataOf(half);
    }
    return multiplySomehow(fn, formOfBytes(form), bytes);
  }
  // A pair of factors has one place, so those at even and those at odd places of pairs are sparse
  // alike. A half of the depth is in two lanes of each four: first those of rows 0 to 7.
  Value *metadataOf(unsigned half) {
    return permuteQuads(fn, operands.metadata, {2 * half, 2 * half + 1, 2 * half, 2 * half + 1});
  }
  Value *nibbles(Value *word, unsigned odd) { return asE4M3(b, word, kE2M1, 4 * odd); }
  // Of four blocks two stand in one register, in the first and the last two lanes of each four.
  Value *ofBlock(Value *word, unsigned block) {
    if (form.scalesPerRow != 4)
      return word;
    Value *isIn = b.CreateICmpEQ(b.CreateAnd(lane, 2), b.getInt32(block % 2 * 2));
    return b.CreateSelect(isIn, word, b.getInt32(0));
  }

  // sum + product * a * b
  Value *scaled(Value *product, Value *a, Value *ofB, Value *sum) {
    if (form.scale == ptx::Type::UE8M0) { // powers of two, 127 more; 255 is NaN
      Value *power = b.CreateSub(b.CreateAdd(a, ofB), b.getInt32(254));
      Value *value =
          b.CreateIntrinsic(Intrinsic::ldexp, {b.getFloatTy(), b.getInt32Ty()}, {product, power});
      Value *isNan =
          b.CreateOr(b.CreateICmpEQ(a, b.getInt32(255)), b.CreateICmpEQ(ofB, b.getInt32(255)));
      value = b.CreateSelect(isNan, ConstantFP::getNaN(b.getFloatTy()), value);
      return b.CreateFAdd(sum, value);
    }
    Value *scale = b.CreateFMul(ofE4M3(a), ofE4M3(ofB));
    return b.CreateIntrinsic(Intrinsic::fma, {b.getFloatTy()}, {product, scale, sum});
  }
  // Without its sign.
  Value *ofE4M3(Value *byte) {
    Value *magnitude = b.CreateAnd(byte, 0x7f);
    Value *normal = b.CreateBitCast(
        b.CreateAdd(b.CreateShl(magnitude, 20), b.getInt32((127 - 7) << 23)), b.getFloatTy());
    Value *denormal = b.CreateFMul(b.CreateUIToFP(magnitude, b.getFloatTy()),
                                   ConstantFP::get(b.getFloatTy(), 0x1p-9));
    Value *value = b.CreateSelect(b.CreateICmpULT(magnitude, b.getInt32(8)), denormal, normal);
    return b.CreateSelect(b.CreateICmpEQ(magnitude, b.getInt32(0x7f)),
                          ConstantFP::getNaN(b.getFloatTy()), value);
  }

  FunctionLowering &fn;
  IRBuilder<> &b;
  const MmaForm &form;
  const MmaOperands &operands;
  const Scales ofA, ofB;
  Value *lane;
  std::array<Value *, 2> rows{}, columns{}; // the registers with the scales of D's
};

} // namespace

void widenFactors(FunctionLowering &fn, MmaForm &form, MmaOperands &operands) {
  widenInBytes(fn.builder(), form, operands);
  form = formOfBytes(form);
}

static Expected<Value *> lowerBlockScale(FunctionLowering &fn, const ptx::Instruction &inst) {
  const std::optional<MmaForm> form = MmaForm::of(inst);
  if (!form)
    return fn.malformed(inst, "a shape is needed");
  MmaOperands operands;
  operands.a = readFragment(fn, *form, MmaMatrix::A, inst.operands[1]);
  operands.b = readFragment(fn, *form, MmaMatrix::B, inst.operands[2]);
  operands.c = readFragment(fn, *form, MmaMatrix::C, inst.operands[3]);
  if (form->isSparse)
    operands.metadata = fn.read(inst.operands[4], ptx::Type::B32);
  auto scales = [&](unsigned first) {
    SmallVector<Value *, 2> selectors;
    for (const ptx::Operand &selector : fn.elementsOf(inst.operands[first + 1], 2))
      selectors.push_back(
          fn.builder().CreateZExt(fn.read(selector, ptx::Type::U16), fn.builder().getInt32Ty()));
    return Scales{fn.read(inst.operands[first], ptx::Type::B32), selectors[0], selectors[1]};
  };
  const unsigned first = form->isSparse ? 6 : 4;
  writeFragment(
      fn, *form, MmaMatrix::D, inst.operands[0],
      ScaledProduct(fn, *form, operands, scales(first), scales(first + 2)).multiply(inst));
  return nullptr;
}

// mma.sync.aligned.shape.row.col.kind.block_scale{.scale_vec_size}.f32.atype.btype.f32.stype
//   d, a, b, c, scale-a-data, {byte-id-a, thread-id-a}, scale-b-data, {byte-id-b, thread-id-b}
Expected<Value *> lowerMmaBlockScale(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerBlockScale(fn, inst);
}

// mma.sp::ordered_metadata...   d, a, b, c, e, f, scale-a-data, ...
Expected<Value *> lowerMmaSpBlockScale(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerBlockScale(fn, inst);
}

} // namespace rubia::lowering
