// SPDX-License-Identifier: Apache-2.0
// The dense matrix instructions of CDNA (V_MFMA_*).
//
// EXEC plays no part, rounding is to nearest even whatever MODE says (CDNA4 ISA 7.1.5). Denormals:
// those of F32 sources obey MODE, everything else keeps them (CDNA4 ISA 7.4; assumed for gfx942),
// except that gfx90a flushes F16 and BF16 sources, C and each step of the sums made from them
// (MMA-Sim, which MatrixSums.h cites; MIOpen, "MI200 matrix fused multiply-add behavior
// specifics").
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

template <MatrixShape kShape> constexpr unsigned kRun = kShape.columns < 16 ? kShape.columns : 16;

template <MatrixShape kShape>
constexpr unsigned kItems = kShape.blocks * kShape.rows * kShape.columns / 64;
template <MatrixShape kShape> constexpr OutputPlace placeOf(unsigned lane, unsigned item) {
  return mfmaOutput(kShape.rows, kShape.columns, kShape.sum == F64, lane, item);
}

/// Calls `visit(lane, item, sums)` for all of C or D.
template <MatrixShape kShape, class T, class Visit>
void forOutput(MatrixProduct<T> &product, Visit visit) {
  product.template forOutput<kRun<kShape>>(64, kItems<kShape>, placeOf<kShape>, visit);
}

template <MatrixShape kShape, MatrixFormat kA, class T>
void loadA(WaveOperands &w, MatrixProduct<T> &product, const InputReading &reading) {
  const MatrixControl &control = w.matrix();
  constexpr bool kPermutes = kShape.sum != F64 && kShape.a != Selected;
  constexpr InputLayout kLayout = mfmaInput(kShape.rows, kShape.depth, kShape.blocks, bitsOf(kA));
  product.template loadA<kA, kRun<kShape>>(
      w, kLayout, reading, [&](unsigned block, unsigned row, unsigned group) {
        return kLayout.lane(kPermutes ? broadcastBlock(control, block) : block, row, group);
      });
}
template <MatrixShape kShape, MatrixFormat kB, class T>
void loadB(WaveOperands &w, MatrixProduct<T> &product, const InputReading &reading) {
  const unsigned blgp = kShape.sum != F64 && kShape.a != Selected ? w.matrix().blgp : 0;
  constexpr InputLayout kLayout =
      mfmaInput(kShape.columns, kShape.depth, kShape.blocks, bitsOf(kB));
  product.template loadB<kB, kRun<kShape>>(
      w, kLayout, reading, [&](unsigned block, unsigned column, unsigned group) {
        return permutedLane(blgp, kLayout.lane(block, column, group));
      });
}

template <MatrixShape kShape> void multiplyToFloat(WaveOperands &w) {
  constexpr unsigned kWide = kRun<kShape>;
  using R = Run<kWide>;
  const MatrixControl &control = w.matrix();
  const bool flush16 = control.flush16 && (kShape.a == F16 || kShape.a == Bf16);
  auto reading = [&](MatrixFormat format) {
    return InputReading{.format = format,
                        .fnuz = control.fnuz,
                        .flush = format == F32 ? w.mode().flushSource32 : flush16};
  };
  MatrixProduct<float> product(kShape, false);
  const InputReading a = reading(kShape.a), b = reading(kShape.b);
  loadA<kShape, kShape.a>(w, product, a);
  loadB<kShape, kShape.b>(w, product, b);
  const VectorRegisters d = resultRegisters(w);
  const Addends c(sourceRegisters(w, 2), d, 64, kItems<kShape>);
  auto load = [&](unsigned lane, unsigned item) {
    const auto values =
        std::bit_cast<typename R::Float>(addendRun<kWide>(w, c.registers, lane, item));
    return flush16 ? flushedRun<kWide>(values, 0x1p-126f) : values;
  };
  auto store = [&](unsigned lane, unsigned item, R::Float sums) {
    storeRun(d.lanes(lane, item), sums);
  };
  const ProductSum unit = productSum(w);
  constexpr unsigned kInLane =
      mfmaInput(kShape.rows, kShape.depth, kShape.blocks, bitsOf(kShape.a)).perLane;
  const bool isPerturbed = unit == ProductSum::InOrder && w.reversesSums();
  if (!isPerturbed && isInOrder<kShape.a>(unit, kInLane))
    return product.template addInOrderTo<kWide, kShape.depth, kShape.rows>(
        64, kItems<kShape>, placeOf<kShape>, load, store);
  forOutput<kShape>(product, [&](unsigned lane, unsigned item, float *sums) {
    storeRun(sums, load(lane, item));
  });
  if (isPerturbed)
    product.template addPerturbed<kWide>();
  else
    product.template addAsUnit<kShape.a, kWide>(unit, flush16, kInLane, a, b);
  forOutput<kShape>(product, [&](unsigned lane, unsigned item, const float *sums) {
    store(lane, item, loadRun<typename R::Float>(sums));
  });
}

/// BLGP negates A, B and C (CDNA4 ISA 7.1.6.4).
template <MatrixShape kShape> void multiplyToDouble(WaveOperands &w) {
  constexpr unsigned kWide = kRun<kShape>;
  const unsigned negate = w.matrix().blgp;
  auto reading = [](bool negated) {
    return InputReading{.format = F64, .negateEven = negated, .negateOdd = negated};
  };
  MatrixProduct<double> product(kShape, false);
  loadA<kShape, F64>(w, product, reading(negate & 1));
  loadB<kShape, F64>(w, product, reading(negate & 2));
  forOutput<kShape>(product, [&](unsigned lane, unsigned item, double *sums) {
    for (unsigned i = 0; i < kWide; ++i) {
      const unsigned first = w.sourceIsVector(2) ? item * 2 : 0;
      const double c = std::bit_cast<double>(uint64_t(w.source(2, lane + i, first + 1)) << 32 |
                                             w.source(2, lane + i, first));
      sums[i] = negate & 4 ? -c : c;
    }
  });
  if (productSum(w) == ProductSum::InOrder && w.reversesSums())
    product.template addReversed<kWide>();
  else
    product.template addInOrder<kWide>();
  forOutput<kShape>(product, [&](unsigned lane, unsigned item, const double *sums) {
    for (unsigned i = 0; i < kWide; ++i) {
      const uint64_t bits = std::bit_cast<uint64_t>(sums[i]);
      w.setResult(lane + i, uint32_t(bits), item * 2);
      w.setResult(lane + i, uint32_t(bits >> 32), item * 2 + 1);
    }
  });
}

template <MatrixShape kShape> void multiplyToInteger(WaveOperands &w) {
  constexpr unsigned kWide = kRun<kShape>;
  using R = Run<kWide>;
  MatrixProduct<float> product(kShape, false);
  loadA<kShape, I8>(w, product, {.format = I8});
  loadB<kShape, I8>(w, product, {.format = I8});
  const VectorRegisters d = resultRegisters(w);
  const Addends c(sourceRegisters(w, 2), d, 64, kItems<kShape>);
  auto zeros = [](unsigned, unsigned) { return typename R::Float{}; };
  auto store = [&](unsigned lane, unsigned item, R::Float sums) {
    const auto sum = __builtin_convertvector(sums, typename R::Int);
    const auto word = std::bit_cast<typename R::Word>(sum);
    storeRun(d.lanes(lane, item), addendRun<kWide>(w, c.registers, lane, item) + word);
  };
  product.template addInOrderTo<kWide, kShape.depth, kShape.rows>(64, kItems<kShape>,
                                                                  placeOf<kShape>, zeros, store);
}

template <MatrixShape kShape, MatrixFormat... kFormats>
void loadSelected(WaveOperands &w, MatrixProduct<double> &product) {
  const MatrixFormat a = selectedFormat(w.matrix().cbsz), b = selectedFormat(w.matrix().blgp);
  ((a == kFormats ? loadA<kShape, kFormats>(w, product, {.format = a}) : void()), ...);
  ((b == kFormats ? loadB<kShape, kFormats>(w, product, {.format = b}) : void()), ...);
}

/// F8F6F4. Each 32 of the depth have a scale per row of A and per column of B: byte 0 and 1 of
/// source 3, in the lane that the line has in an operand of 64 lines (CDNA4 ISA 7.2.1); without
/// source 3 the scale is 1. Assumed: the sum is rounded to f32 once, from 53 bits.
template <MatrixShape kShape> void multiplySelected(WaveOperands &w) {
  constexpr unsigned kWide = kRun<kShape>;
  using R = Run<kWide>;
  MatrixProduct<double> product(kShape, false);
  loadSelected<kShape, Fp8, Bf8, Fp6, Bf6, Fp4>(w, product);
  if (w.sourceCount() > 3) {
    constexpr unsigned kBlock = 32;
    auto scale = [&](unsigned line, unsigned depth, unsigned shift) {
      return decodeScale(w.source(3, line + kShape.rows * (depth / kBlock)) >> shift);
    };
    for (unsigned depth = 0; depth < kShape.depth; depth += kBlock)
      for (unsigned line = 0; line < kShape.rows; ++line) {
        const float ofA = scale(line, depth, 0), ofB = scale(line, depth, 8);
        for (unsigned k = depth; k < depth + kBlock; ++k) {
          product.a[k * kShape.rows + line] *= ofA;
          product.b[k * kShape.columns + line] *= ofB;
        }
      }
  }
  const VectorRegisters c = sourceRegisters(w, 2), d = resultRegisters(w);
  forOutput<kShape>(product, [&](unsigned lane, unsigned item, double *sums) {
    const auto values = std::bit_cast<typename R::Float>(addendRun<kWide>(w, c, lane, item));
    storeRun(sums, __builtin_convertvector(values, typename R::Double));
  });
  if (w.reversesSums())
    product.template addPerturbedBlocks<kWide>();
  else
    product.template addInOrder<kWide>();
  forOutput<kShape>(product, [&](unsigned lane, unsigned item, const double *sums) {
    for (unsigned i = 0; i < kWide; ++i) {
      const float value = clampedOverflow(w.mode(), float(sums[i]));
      d.lanes(lane, item)[i] = std::bit_cast<uint32_t>(value);
    }
  });
}

template <MatrixShape kShape> void multiply(WaveOperands &w) {
  static_assert(kShape.blocks * kShape.rows * kShape.columns <= kMaxElements &&
                kShape.blocks * kShape.rows * kShape.depth <= kMaxElements);
  if constexpr (kShape.a == Selected)
    multiplySelected<kShape>(w);
  else if constexpr (kShape.sum == F64)
    multiplyToDouble<kShape>(w);
  else if constexpr (kShape.sum == I8)
    multiplyToInteger<kShape>(w);
  else
    multiplyToFloat<kShape>(w);
}

/// Square results, of 32-bit elements unless the sources are F64, which are never broadcast.
template <unsigned kSize, unsigned kDepth, unsigned kBlocks, MatrixFormat kA, MatrixFormat kB = kA>
constexpr MatrixFunction mfma = {
    multiply<MatrixShape{kSize, kSize, kDepth, kBlocks, kA, kB, kA == F64 || kA == I8 ? kA : F32}>,
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

constexpr MatrixRow kRows[] = {
    {"V_MFMA_F32_32X32X1F32", mfma<32, 1, 2, F32>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X1F32", mfma<16, 1, 4, F32>, Exactness::UnorderedSum},
    {"V_MFMA_F32_4X4X1F32", mfma<4, 1, 16, F32>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X2F32", mfma<32, 2, 1, F32>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X4F32", mfma<16, 4, 1, F32>, Exactness::UnorderedSum},

    {"V_MFMA_F32_32X32X4XF32", mfma<32, 4, 1, Xf32>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X8XF32", mfma<16, 8, 1, Xf32>, Exactness::UnorderedSum},

    {"V_MFMA_F32_32X32X4F16", mfma<32, 4, 2, F16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X4F16", mfma<16, 4, 4, F16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_4X4X4F16", mfma<4, 4, 16, F16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X8F16", mfma<32, 8, 1, F16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X16F16", mfma<16, 16, 1, F16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X16_F16", mfma<32, 16, 1, F16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X32_F16", mfma<16, 32, 1, F16>, Exactness::UnorderedSum},

    {"V_MFMA_F32_32X32X2BF16", mfma<32, 2, 2, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X2BF16", mfma<16, 2, 4, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_4X4X2BF16", mfma<4, 2, 16, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X4BF16", mfma<32, 4, 1, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X8BF16", mfma<16, 8, 1, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X4BF16_1K", mfma<32, 4, 2, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X4BF16_1K", mfma<16, 4, 4, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_4X4X4BF16_1K", mfma<4, 4, 16, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X8BF16_1K", mfma<32, 8, 1, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X16BF16_1K", mfma<16, 16, 1, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X16_BF16", mfma<32, 16, 1, Bf16>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X32_BF16", mfma<16, 32, 1, Bf16>, Exactness::UnorderedSum},

    {"V_MFMA_F32_32X32X16_FP8_FP8", mfma<32, 16, 1, Fp8>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X16_FP8_BF8", mfma<32, 16, 1, Fp8, Bf8>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X16_BF8_FP8", mfma<32, 16, 1, Bf8, Fp8>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X16_BF8_BF8", mfma<32, 16, 1, Bf8>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X32_FP8_FP8", mfma<16, 32, 1, Fp8>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X32_FP8_BF8", mfma<16, 32, 1, Fp8, Bf8>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X32_BF8_FP8", mfma<16, 32, 1, Bf8, Fp8>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X32_BF8_BF8", mfma<16, 32, 1, Bf8>, Exactness::UnorderedSum},
    {"V_MFMA_F32_32X32X64_F8F6F4", mfma<32, 64, 1, Selected>, Exactness::UnorderedSum},
    {"V_MFMA_F32_16X16X128_F8F6F4", mfma<16, 128, 1, Selected>, Exactness::UnorderedSum},
    {"V_MFMA_SCALE_F32_32X32X64_F8F6F4", mfma<32, 64, 1, Selected>, Exactness::UnorderedSum},
    {"V_MFMA_SCALE_F32_16X16X128_F8F6F4", mfma<16, 128, 1, Selected>, Exactness::UnorderedSum},
    {"V_MFMA_LD_SCALE_B32", {loadScales}},

    {"V_MFMA_I32_32X32X4I8", mfma<32, 4, 2, I8>},
    {"V_MFMA_I32_16X16X4I8", mfma<16, 4, 4, I8>},
    {"V_MFMA_I32_4X4X4I8", mfma<4, 4, 16, I8>},
    {"V_MFMA_I32_32X32X8I8", mfma<32, 8, 1, I8>},
    {"V_MFMA_I32_16X16X16I8", mfma<16, 16, 1, I8>},
    {"V_MFMA_I32_32X32X16I8", mfma<32, 16, 1, I8>},
    {"V_MFMA_I32_16X16X32I8", mfma<16, 32, 1, I8>},
    {"V_MFMA_I32_32X32X32_I8", mfma<32, 32, 1, I8>},
    {"V_MFMA_I32_16X16X64_I8", mfma<16, 64, 1, I8>},

    {"V_MFMA_F64_16X16X4F64", mfma<16, 4, 1, F64>, Exactness::UnorderedSum},
    {"V_MFMA_F64_4X4X4F64", mfma<4, 4, 4, F64>, Exactness::UnorderedSum},

};

} // namespace

extern const MatrixTable kMatrixMfmaRows;
const MatrixTable kMatrixMfmaRows = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
