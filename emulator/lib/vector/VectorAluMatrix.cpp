// SPDX-License-Identifier: Apache-2.0
// Matrix instructions of RDNA3 and RDNA4: WMMA, and SWMMAC with a sparse A, whose C is the
// destination. The results are 16 by 16.
//
// RDNA3 ISA 7.9 "WMMA", RDNA4 ISA "WMMA" and "SWMMAC". EXEC and MODE play no part (assumed as to
// denormals, which are kept). RDNA3 has a 16-bit C and D in the low halves of its registers, or in
// the high ones by op_sel, and keeps D's other halves; RDNA4 packs two into a register. Assumed: a
// 16-bit result is summed in f32 and rounded once.
#include "emulator/lib/vector/VectorAluMatrix.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

using enum MatrixFormat;

// Modifier immediates (Semantics.h, WaveOperands::modifiers).
constexpr uint32_t kNegLow = 1, kNegHigh = 2, kOpSel = 4;

/// Calls `visit(lane, item, sum)` for all of C or D.
template <class T, class S, class Visit>
void forOutput(const WaveOperands &w, MatrixProduct<T, S> &product, Visit visit) {
  const unsigned lanes = w.laneCount(), items = kWmmaSize * kWmmaSize / lanes;
  auto placeOf = [&](unsigned lane, unsigned item) {
    return w.matrix().packedHalves ? packedOutput(lanes, lane, item)
                                   : repeatedOutput(lanes, lane, item);
  };
  product.forOutput(lanes, items, placeOf, visit);
}

template <class T, class S, bool kSparse>
void loadInputs(WaveOperands &w, MatrixProduct<T, S> &product) {
  const MatrixShape &shape = product.shape;
  const unsigned lanes = w.laneCount(), bits = bitsOf(shape.a);
  auto reading = [&](unsigned source, MatrixFormat format) {
    const uint32_t modifiers = w.modifiers(source);
    return InputReading{.format = format,
                        .isSigned = bool(modifiers & kNegLow),
                        .negateEven = bool(modifiers & kNegLow),
                        .negateOdd = bool(modifiers & kNegHigh)};
  };
  auto layout = [&](bool sparse) {
    return w.matrix().packedHalves
               ? packedInput(lanes, shape.depth, bits, kSparse ? 128 : 64, sparse)
               : repeatedInput(lanes, shape.depth);
  };
  const InputLayout layoutA = layout(kSparse), layoutB = layout(false);
  if constexpr (kSparse)
    product.loadSparseA(w, layoutA, reading(0, shape.a), w.matrix().indexKey * layoutA.perLane);
  else
    product.loadA(w, layoutA, reading(0, shape.a),
                  [&](unsigned block, unsigned row, unsigned group) {
                    return layoutA.lane(block, row, group);
                  });
  product.loadB(w, layoutB, reading(1, shape.b),
                [&](unsigned block, unsigned column, unsigned group) {
                  return layoutB.lane(block, column, group);
                });
}

/// C's register: that of source 2, or of the destination where source 2 has indices.
template <bool kSparse> uint32_t addendWord(const WaveOperands &w, unsigned lane, unsigned r) {
  return kSparse ? w.result(lane, r) : w.source(2, lane, w.sourceIsVector(2) ? r : 0);
}
template <bool kSparse> float modifiedAddend(const WaveOperands &w, float value) {
  value = !kSparse && w.modifiers(2) & kNegHigh ? __builtin_fabsf(value) : value;
  return !kSparse && w.modifiers(2) & kNegLow ? -value : value;
}

template <bool kSparse> void multiplyToFloat(WaveOperands &w, const MatrixShape &shape) {
  MatrixProduct<float, float> product(shape, kSparse);
  loadInputs<float, float, kSparse>(w, product);
  forOutput(w, product, [&](unsigned lane, unsigned item, float &sum) {
    const float c = std::bit_cast<float>(addendWord<kSparse>(w, lane, item));
    sum = modifiedAddend<kSparse>(w, c);
  });
  product.multiply(w.reversesSums());
  forOutput(w, product, [&](unsigned lane, unsigned item, float &sum) {
    w.setResult(lane, std::bit_cast<uint32_t>(sum), item);
  });
}

/// T is the 16-bit type of C and D.
template <class T, bool kSparse> void multiplyToHalf(WaveOperands &w, const MatrixShape &shape) {
  const bool packed = w.matrix().packedHalves;
  auto at = [&](unsigned item) -> std::pair<unsigned, unsigned> { // register, first bit
    if (packed)
      return {item / 2, item % 2 * 16};
    return {item, w.modifiers(2) & kOpSel ? 16 : 0};
  };
  MatrixProduct<float, float> product(shape, kSparse);
  loadInputs<float, float, kSparse>(w, product);
  forOutput(w, product, [&](unsigned lane, unsigned item, float &sum) {
    const auto [r, shift] = at(item);
    const bool constant = !kSparse && !w.sourceIsVector(2);
    const uint32_t word = addendWord<kSparse>(w, lane, r) >> (constant ? 0 : shift);
    sum = modifiedAddend<kSparse>(w, std::bit_cast<T>(uint16_t(word)));
  });
  product.multiply(w.reversesSums());
  forOutput(w, product, [&](unsigned lane, unsigned item, float &sum) {
    const auto [r, shift] = at(item);
    const uint32_t bits = std::bit_cast<uint16_t>(T(sum));
    w.setResult(lane, (w.result(lane, r) & ~(0xffffu << shift)) | bits << shift, r);
  });
}

template <bool kSparse> void multiplyToInteger(WaveOperands &w, const MatrixShape &shape) {
  MatrixProduct<int32_t, int64_t> product(shape, kSparse);
  loadInputs<int32_t, int64_t, kSparse>(w, product);
  forOutput(w, product, [&](unsigned lane, unsigned item, int64_t &sum) {
    sum = int32_t(addendWord<kSparse>(w, lane, item));
  });
  product.multiply(w.reversesSums());
  forOutput(w, product, [&](unsigned lane, unsigned item, int64_t &sum) {
    w.setResult(lane, uint32_t(narrowed<int32_t>(sum, Saturate{w.clamp()})), item);
  });
}

template <unsigned kDepth, MatrixFormat kA, MatrixFormat kB, MatrixFormat kSum, bool kSparse>
void multiply(WaveOperands &w) {
  const unsigned copies = w.matrix().packedHalves ? 1 : w.laneCount() / kWmmaSize;
  const MatrixShape shape = {kWmmaSize, kWmmaSize, kDepth, copies, kA, kB, kSum};
  if constexpr (kSum == F16)
    multiplyToHalf<Half, kSparse>(w, shape);
  else if constexpr (kSum == Bf16)
    multiplyToHalf<Bfloat, kSparse>(w, shape);
  else if constexpr (kSum == I8)
    multiplyToInteger<kSparse>(w, shape);
  else
    multiplyToFloat<kSparse>(w, shape);
}
template <MatrixFormat kSum, unsigned kDepth, MatrixFormat kA, MatrixFormat kB = kA>
constexpr Operation wmma = wavewise<multiply<kDepth, kA, kB, kSum, false>>;
template <MatrixFormat kSum, unsigned kDepth, MatrixFormat kA, MatrixFormat kB = kA>
constexpr Operation swmmac = wavewise<multiply<kDepth, kA, kB, kSum, true>>;

constexpr Semantics kRows[] = {
    {"V_WMMA_F32_16X16X16_F16", wmma<F32, 16, F16>, kUnorderedSum},
    {"V_WMMA_F32_16X16X16_BF16", wmma<F32, 16, Bf16>, kUnorderedSum},
    {"V_WMMA_F16_16X16X16_F16", wmma<F16, 16, F16>, kUnorderedSum},
    {"V_WMMA_BF16_16X16X16_BF16", wmma<Bf16, 16, Bf16>, kUnorderedSum},
    {"V_WMMA_F32_16X16X16_FP8_FP8", wmma<F32, 16, Fp8, Fp8>, kUnorderedSum},
    {"V_WMMA_F32_16X16X16_FP8_BF8", wmma<F32, 16, Fp8, Bf8>, kUnorderedSum},
    {"V_WMMA_F32_16X16X16_BF8_FP8", wmma<F32, 16, Bf8, Fp8>, kUnorderedSum},
    {"V_WMMA_F32_16X16X16_BF8_BF8", wmma<F32, 16, Bf8, Bf8>, kUnorderedSum},
    {"V_WMMA_I32_16X16X16_IU8", wmma<I8, 16, Iu8>},
    {"V_WMMA_I32_16X16X16_IU4", wmma<I8, 16, Iu4>},
    {"V_WMMA_I32_16X16X32_IU4", wmma<I8, 32, Iu4>},

    {"V_SWMMAC_F32_16X16X32_F16", swmmac<F32, 32, F16>, kUnorderedSum},
    {"V_SWMMAC_F32_16X16X32_BF16", swmmac<F32, 32, Bf16>, kUnorderedSum},
    {"V_SWMMAC_F16_16X16X32_F16", swmmac<F16, 32, F16>, kUnorderedSum},
    {"V_SWMMAC_BF16_16X16X32_BF16", swmmac<Bf16, 32, Bf16>, kUnorderedSum},
    {"V_SWMMAC_F32_16X16X32_FP8_FP8", swmmac<F32, 32, Fp8, Fp8>, kUnorderedSum},
    {"V_SWMMAC_F32_16X16X32_FP8_BF8", swmmac<F32, 32, Fp8, Bf8>, kUnorderedSum},
    {"V_SWMMAC_F32_16X16X32_BF8_FP8", swmmac<F32, 32, Bf8, Fp8>, kUnorderedSum},
    {"V_SWMMAC_F32_16X16X32_BF8_BF8", swmmac<F32, 32, Bf8, Bf8>, kUnorderedSum},
    {"V_SWMMAC_I32_16X16X32_IU8", swmmac<I8, 32, Iu8>},
    {"V_SWMMAC_I32_16X16X32_IU4", swmmac<I8, 32, Iu4>},
    {"V_SWMMAC_I32_16X16X64_IU4", swmmac<I8, 64, Iu4>},
};

} // namespace

extern const SemanticsTable kVectorAluMatrix;
const SemanticsTable kVectorAluMatrix = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
