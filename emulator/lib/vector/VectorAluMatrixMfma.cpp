// SPDX-License-Identifier: Apache-2.0
// The dense matrix instructions of CDNA (V_MFMA_*).
//
// EXEC plays no part, rounding is to nearest even whatever MODE says (CDNA4 ISA 7.1.5). Denormals:
// those of F32 sources obey MODE, everything else keeps them (CDNA4 ISA 7.4; assumed for gfx942),
// except that gfx90a flushes F16 and BF16 sources and the results made from them (MIOpen, "MI200
// matrix fused multiply-add behavior specifics"; assumed: the sign stays, and C is flushed too).
// Assumed: XF32 keeps denormals.
#include "emulator/lib/vector/VectorAluMatrix.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

using enum MatrixFormat;

/// CBSZ: each group of 2^CBSZ blocks takes its block ABID of A. CDNA3 and CDNA4 ISA
/// "Broadcasting values" read otherwise where there are more blocks than that: there groups of 64 /
/// 2^CBSZ lanes repeat. We follow AMD's matrix instruction calculator and "AMD matrix cores" of AMD
/// lab notes; instructions that broadcast to all blocks are the same in both.
unsigned broadcastBlock(const MatrixControl &control, unsigned block) {
  return (block & ~((1u << control.cbsz) - 1)) + control.abid;
}

/// BLGP (CDNA4 ISA 7.1.6.3).
unsigned permutedLane(unsigned blgp, unsigned lane) {
  switch (blgp) {
  case 0:
    return lane;
  case 1:
    return lane % 32;
  case 2:
    return lane % 32 + 32;
  case 3:
    return (lane + 16) % 64;
  default:
    return lane % 16 + (blgp - 4) * 16;
  }
}

MatrixFormat selectedFormat(unsigned code) {
  constexpr MatrixFormat kFormats[] = {Fp8, Bf8, Fp6, Bf6, Fp4};
  return kFormats[code < 5 ? code : 0]; // the decoder refuses others
}

/// Calls `visit(lane, item, sum)` for all of C or D.
template <class T, class S, class Visit> void forOutput(MatrixProduct<T, S> &product, Visit visit) {
  const MatrixShape &shape = product.shape;
  const unsigned items = shape.blocks * shape.rows * shape.columns / 64;
  auto placeOf = [&](unsigned lane, unsigned item) {
    return mfmaOutput(shape.rows, shape.columns, shape.sum == F64, lane, item);
  };
  product.forOutput(64, items, placeOf, visit);
}

/// C's item in a lane; a constant is the same in all.
uint32_t addendWord(const WaveOperands &w, unsigned lane, unsigned dword) {
  return w.source(2, lane, w.sourceIsVector(2) ? dword : 0);
}

template <class T, class S>
void loadInputs(WaveOperands &w, MatrixProduct<T, S> &product, const InputReading &a,
                const InputReading &b) {
  const MatrixShape &shape = product.shape;
  const MatrixControl &control = w.matrix();
  const bool permutes = shape.sum != F64 && shape.a != Selected;
  const InputLayout layoutA = mfmaInput(shape.rows, shape.depth, shape.blocks, bitsOf(a.format));
  const InputLayout layoutB = mfmaInput(shape.columns, shape.depth, shape.blocks, bitsOf(b.format));
  product.loadA(w, layoutA, a, [&](unsigned block, unsigned row, unsigned group) {
    return layoutA.lane(permutes ? broadcastBlock(control, block) : block, row, group);
  });
  product.loadB(w, layoutB, b, [&](unsigned block, unsigned column, unsigned group) {
    return permutedLane(permutes ? control.blgp : 0, layoutB.lane(block, column, group));
  });
}

void multiplyToFloat(WaveOperands &w, const MatrixShape &shape) {
  const MatrixControl &control = w.matrix();
  const bool flush16 = control.flush16 && (shape.a == F16 || shape.a == Bf16);
  auto reading = [&](MatrixFormat format) {
    return InputReading{.format = format,
                        .fnuz = control.fnuz,
                        .flush = format == F32 ? w.mode().flushSource32 : flush16};
  };
  MatrixProduct<float, float> product(shape, false);
  loadInputs(w, product, reading(shape.a), reading(shape.b));
  auto result = [&](float value) { return flush16 ? flushedBelow(value, 0x1p-126f) : value; };
  forOutput(product, [&](unsigned lane, unsigned item, float &sum) {
    sum = result(std::bit_cast<float>(addendWord(w, lane, item)));
  });
  product.multiply(w.reversesSums());
  forOutput(product, [&](unsigned lane, unsigned item, float &sum) {
    w.setResult(lane, std::bit_cast<uint32_t>(result(sum)), item);
  });
}

/// BLGP negates A, B and C (CDNA4 ISA 7.1.6.4).
void multiplyToDouble(WaveOperands &w, const MatrixShape &shape) {
  const unsigned negate = w.matrix().blgp;
  auto reading = [](bool negated) {
    return InputReading{.format = F64, .negateEven = negated, .negateOdd = negated};
  };
  MatrixProduct<double, double> product(shape, false);
  loadInputs(w, product, reading(negate & 1), reading(negate & 2));
  forOutput(product, [&](unsigned lane, unsigned item, double &sum) {
    const unsigned first = w.sourceIsVector(2) ? item * 2 : 0;
    const double c = std::bit_cast<double>(uint64_t(w.source(2, lane, first + 1)) << 32 |
                                           w.source(2, lane, first));
    sum = negate & 4 ? -c : c;
  });
  product.multiply(w.reversesSums());
  forOutput(product, [&](unsigned lane, unsigned item, double &sum) {
    const uint64_t bits = std::bit_cast<uint64_t>(sum);
    w.setResult(lane, uint32_t(bits), item * 2);
    w.setResult(lane, uint32_t(bits >> 32), item * 2 + 1);
  });
}

void multiplyToInteger(WaveOperands &w, const MatrixShape &shape) {
  MatrixProduct<int32_t, int64_t> product(shape, false);
  loadInputs(w, product, {.format = I8}, {.format = I8});
  forOutput(product, [&](unsigned lane, unsigned item, int64_t &sum) {
    sum = int32_t(addendWord(w, lane, item));
  });
  product.multiply(w.reversesSums());
  forOutput(product, [&](unsigned lane, unsigned item, int64_t &sum) {
    w.setResult(lane, uint32_t(sum), item);
  });
}

/// F8F6F4. Each 32 of the depth have a scale per row of A and per column of B: byte 0 and 1 of
/// source 3, in the lane that the line has in an operand of 64 lines (CDNA4 ISA 7.2.1); without
/// source 3 the scale is 1. Assumed: the sum is rounded to f32 once, from 53 bits.
void multiplySelected(WaveOperands &w, const MatrixShape &shape) {
  MatrixProduct<double, double> product(shape, false);
  loadInputs(w, product, {.format = selectedFormat(w.matrix().cbsz)},
             {.format = selectedFormat(w.matrix().blgp)});
  if (w.sourceCount() > 3) {
    constexpr unsigned kBlock = 32;
    auto scale = [&](unsigned line, unsigned depth, unsigned shift) {
      return decodeScale(w.source(3, line + shape.rows * (depth / kBlock)) >> shift);
    };
    for (unsigned line = 0; line < shape.rows; ++line)
      for (unsigned depth = 0; depth < shape.depth; ++depth) {
        product.a[line * shape.depth + depth] *= scale(line, depth, 0);
        product.b[depth * shape.columns + line] *= scale(line, depth, 8);
      }
  }
  forOutput(product, [&](unsigned lane, unsigned item, double &sum) {
    sum = std::bit_cast<float>(addendWord(w, lane, item));
  });
  product.multiply(w.reversesSums());
  forOutput(product, [&](unsigned lane, unsigned item, double &sum) {
    const float value = clampedOverflow(w.mode(), float(sum));
    w.setResult(lane, std::bit_cast<uint32_t>(value), item);
  });
}

template <MatrixShape kShape> void multiply(WaveOperands &w) {
  static_assert(kShape.blocks * kShape.rows * kShape.columns <= kMaxElements &&
                kShape.blocks * kShape.rows * kShape.depth <= kMaxElements);
  if constexpr (kShape.a == Selected)
    multiplySelected(w, kShape);
  else if constexpr (kShape.sum == F64)
    multiplyToDouble(w, kShape);
  else if constexpr (kShape.sum == I8)
    multiplyToInteger(w, kShape);
  else
    multiplyToFloat(w, kShape);
}

/// Square results, of 32-bit elements unless the sources are F64, which are never broadcast.
template <unsigned kSize, unsigned kDepth, unsigned kBlocks, MatrixFormat kA, MatrixFormat kB = kA>
constexpr Operation mfma = {
    nullptr,
    multiply<MatrixShape{kSize, kSize, kDepth, kBlocks, kA, kB, kA == F64 || kA == I8 ? kA : F32}>,
    {},
    kA == F64 ? 1 : kBlocks};

/// The bytes of two scale operands that op_sel and op_sel_hi choose, as multiplySelected reads
/// them. The decoder puts this before a scaled instruction, with a register of its own as result.
void loadScales(WaveOperands &w) {
  constexpr uint32_t kOpSel = 4, kOpSelHigh = 8;
  auto byte = [&](unsigned source, unsigned lane) {
    const uint32_t word = w.source(source, lane);
    if (!w.sourceIsVector(source)) // the exponent of a float constant
      return word >> 23 & 0xff;
    const uint32_t modifiers = w.modifiers(source);
    return word >> ((modifiers & kOpSel ? 8 : 0) + (modifiers & kOpSelHigh ? 16 : 0)) & 0xff;
  };
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    w.setResult(lane, byte(0, lane) | byte(1, lane) << 8);
}

constexpr Semantics kRows[] = {
    {"V_MFMA_F32_32X32X1F32", mfma<32, 1, 2, F32>, kUnorderedSum},
    {"V_MFMA_F32_16X16X1F32", mfma<16, 1, 4, F32>, kUnorderedSum},
    {"V_MFMA_F32_4X4X1F32", mfma<4, 1, 16, F32>, kUnorderedSum},
    {"V_MFMA_F32_32X32X2F32", mfma<32, 2, 1, F32>, kUnorderedSum},
    {"V_MFMA_F32_16X16X4F32", mfma<16, 4, 1, F32>, kUnorderedSum},

    {"V_MFMA_F32_32X32X4XF32", mfma<32, 4, 1, Xf32>, kUnorderedSum},
    {"V_MFMA_F32_16X16X8XF32", mfma<16, 8, 1, Xf32>, kUnorderedSum},

    {"V_MFMA_F32_32X32X4F16", mfma<32, 4, 2, F16>, kUnorderedSum},
    {"V_MFMA_F32_16X16X4F16", mfma<16, 4, 4, F16>, kUnorderedSum},
    {"V_MFMA_F32_4X4X4F16", mfma<4, 4, 16, F16>, kUnorderedSum},
    {"V_MFMA_F32_32X32X8F16", mfma<32, 8, 1, F16>, kUnorderedSum},
    {"V_MFMA_F32_16X16X16F16", mfma<16, 16, 1, F16>, kUnorderedSum},
    {"V_MFMA_F32_32X32X16_F16", mfma<32, 16, 1, F16>, kUnorderedSum},
    {"V_MFMA_F32_16X16X32_F16", mfma<16, 32, 1, F16>, kUnorderedSum},

    {"V_MFMA_F32_32X32X2BF16", mfma<32, 2, 2, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_16X16X2BF16", mfma<16, 2, 4, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_4X4X2BF16", mfma<4, 2, 16, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_32X32X4BF16", mfma<32, 4, 1, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_16X16X8BF16", mfma<16, 8, 1, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_32X32X4BF16_1K", mfma<32, 4, 2, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_16X16X4BF16_1K", mfma<16, 4, 4, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_4X4X4BF16_1K", mfma<4, 4, 16, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_32X32X8BF16_1K", mfma<32, 8, 1, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_16X16X16BF16_1K", mfma<16, 16, 1, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_32X32X16_BF16", mfma<32, 16, 1, Bf16>, kUnorderedSum},
    {"V_MFMA_F32_16X16X32_BF16", mfma<16, 32, 1, Bf16>, kUnorderedSum},

    {"V_MFMA_F32_32X32X16_FP8_FP8", mfma<32, 16, 1, Fp8>, kUnorderedSum},
    {"V_MFMA_F32_32X32X16_FP8_BF8", mfma<32, 16, 1, Fp8, Bf8>, kUnorderedSum},
    {"V_MFMA_F32_32X32X16_BF8_FP8", mfma<32, 16, 1, Bf8, Fp8>, kUnorderedSum},
    {"V_MFMA_F32_32X32X16_BF8_BF8", mfma<32, 16, 1, Bf8>, kUnorderedSum},
    {"V_MFMA_F32_16X16X32_FP8_FP8", mfma<16, 32, 1, Fp8>, kUnorderedSum},
    {"V_MFMA_F32_16X16X32_FP8_BF8", mfma<16, 32, 1, Fp8, Bf8>, kUnorderedSum},
    {"V_MFMA_F32_16X16X32_BF8_FP8", mfma<16, 32, 1, Bf8, Fp8>, kUnorderedSum},
    {"V_MFMA_F32_16X16X32_BF8_BF8", mfma<16, 32, 1, Bf8>, kUnorderedSum},
    {"V_MFMA_F32_32X32X64_F8F6F4", mfma<32, 64, 1, Selected>, kUnorderedSum},
    {"V_MFMA_F32_16X16X128_F8F6F4", mfma<16, 128, 1, Selected>, kUnorderedSum},
    {"V_MFMA_SCALE_F32_32X32X64_F8F6F4", mfma<32, 64, 1, Selected>, kUnorderedSum},
    {"V_MFMA_SCALE_F32_16X16X128_F8F6F4", mfma<16, 128, 1, Selected>, kUnorderedSum},
    {"V_MFMA_LD_SCALE_B32", wavewise<loadScales>},

    {"V_MFMA_I32_32X32X4I8", mfma<32, 4, 2, I8>},
    {"V_MFMA_I32_16X16X4I8", mfma<16, 4, 4, I8>},
    {"V_MFMA_I32_4X4X4I8", mfma<4, 4, 16, I8>},
    {"V_MFMA_I32_32X32X8I8", mfma<32, 8, 1, I8>},
    {"V_MFMA_I32_16X16X16I8", mfma<16, 16, 1, I8>},
    {"V_MFMA_I32_32X32X16I8", mfma<32, 16, 1, I8>},
    {"V_MFMA_I32_16X16X32I8", mfma<16, 32, 1, I8>},
    {"V_MFMA_I32_32X32X32_I8", mfma<32, 32, 1, I8>},
    {"V_MFMA_I32_16X16X64_I8", mfma<16, 64, 1, I8>},

    {"V_MFMA_F64_16X16X4F64", mfma<16, 4, 1, F64>, kUnorderedSum},
    {"V_MFMA_F64_4X4X4F64", mfma<4, 4, 4, F64>, kUnorderedSum},

};

} // namespace

extern const SemanticsTable kVectorAluMatrixMfma;
const SemanticsTable kVectorAluMatrixMfma = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
