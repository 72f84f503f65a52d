// SPDX-License-Identifier: Apache-2.0
// The sparse matrix instructions of CDNA (V_SMFMAC_*): of four neighbours in a row of A two are
// stored, source 2 says which, C is the destination.
//
// CDNA3 and CDNA4 ISA "Sparse Matrices". A lane's register of indices holds as many sets as fit;
// ABID chooses one if CBSZ is 0, else it is the first. Assumed: if both indices of a pair are
// equal, both products are added.
#include "emulator/lib/vector/VectorAluMatrix.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

using enum MatrixFormat;

template <class T, class S>
void multiplySparse(WaveOperands &w, const MatrixShape &shape, S (*addend)(uint32_t),
                    uint32_t (*result)(const FloatMode &, S)) {
  const MatrixControl &control = w.matrix();
  const InputLayout layout =
      mfmaInput(shape.rows, shape.depth, shape.blocks, bitsOf(shape.a)); // of B too
  const unsigned bitsPerSet = layout.perLane, sets = 32 / bitsPerSet;
  const unsigned set = control.cbsz == 0 ? control.abid % sets : 0;
  MatrixProduct<T, S> product(shape, true);
  product.loadSparseA(w, layout, {.format = shape.a, .fnuz = control.fnuz}, set * bitsPerSet);
  product.loadB(w, layout, {.format = shape.b, .fnuz = control.fnuz},
                [&](unsigned block, unsigned column, unsigned group) {
                  return layout.lane(block, column, group);
                });
  const unsigned items = shape.rows * shape.columns / 64;
  auto placeOf = [&](unsigned lane, unsigned item) {
    return mfmaOutput(shape.rows, shape.columns, false, lane, item);
  };
  product.forOutput(64, items, placeOf, [&](unsigned lane, unsigned item, S &sum) {
    sum = addend(w.result(lane, item));
  });
  product.multiply(w.reversesSums());
  product.forOutput(64, items, placeOf, [&](unsigned lane, unsigned item, S &sum) {
    w.setResult(lane, result(w.mode(), sum), item);
  });
}

float floatAddend(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t floatResult(const FloatMode &mode, float value) {
  return std::bit_cast<uint32_t>(clampedOverflow(mode, value));
}
int64_t integerAddend(uint32_t bits) { return int32_t(bits); }
uint32_t integerResult(const FloatMode &mode, int64_t value) {
  return uint32_t(narrowed<int32_t>(value, Saturate{mode.fp16Overflow}));
}

template <MatrixShape kShape> void multiply(WaveOperands &w) {
  if constexpr (kShape.sum == I8)
    multiplySparse<int32_t, int64_t>(w, kShape, integerAddend, integerResult);
  else
    multiplySparse<float, float>(w, kShape, floatAddend, floatResult);
}
template <unsigned kSize, unsigned kDepth, MatrixFormat kA, MatrixFormat kB = kA>
constexpr Operation smfmac =
    wavewise<multiply<MatrixShape{kSize, kSize, kDepth, 1, kA, kB, kA == I8 ? I8 : F32}>>;

constexpr Semantics kRows[] = {
    {"V_SMFMAC_F32_16X16X32_F16", smfmac<16, 32, F16>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X16_F16", smfmac<32, 16, F16>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X64_F16", smfmac<16, 64, F16>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X32_F16", smfmac<32, 32, F16>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X32_BF16", smfmac<16, 32, Bf16>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X16_BF16", smfmac<32, 16, Bf16>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X64_BF16", smfmac<16, 64, Bf16>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X32_BF16", smfmac<32, 32, Bf16>, kUnorderedSum},

    {"V_SMFMAC_I32_16X16X64_I8", smfmac<16, 64, I8>},
    {"V_SMFMAC_I32_32X32X32_I8", smfmac<32, 32, I8>},
    {"V_SMFMAC_I32_16X16X128_I8", smfmac<16, 128, I8>},
    {"V_SMFMAC_I32_32X32X64_I8", smfmac<32, 64, I8>},

    {"V_SMFMAC_F32_16X16X64_FP8_FP8", smfmac<16, 64, Fp8, Fp8>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X64_FP8_BF8", smfmac<16, 64, Fp8, Bf8>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X64_BF8_FP8", smfmac<16, 64, Bf8, Fp8>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X64_BF8_BF8", smfmac<16, 64, Bf8, Bf8>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X32_FP8_FP8", smfmac<32, 32, Fp8, Fp8>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X32_FP8_BF8", smfmac<32, 32, Fp8, Bf8>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X32_BF8_FP8", smfmac<32, 32, Bf8, Fp8>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X32_BF8_BF8", smfmac<32, 32, Bf8, Bf8>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X128_FP8_FP8", smfmac<16, 128, Fp8, Fp8>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X128_FP8_BF8", smfmac<16, 128, Fp8, Bf8>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X128_BF8_FP8", smfmac<16, 128, Bf8, Fp8>, kUnorderedSum},
    {"V_SMFMAC_F32_16X16X128_BF8_BF8", smfmac<16, 128, Bf8, Bf8>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X64_FP8_FP8", smfmac<32, 64, Fp8, Fp8>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X64_FP8_BF8", smfmac<32, 64, Fp8, Bf8>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X64_BF8_FP8", smfmac<32, 64, Bf8, Fp8>, kUnorderedSum},
    {"V_SMFMAC_F32_32X32X64_BF8_BF8", smfmac<32, 64, Bf8, Bf8>, kUnorderedSum},
};

} // namespace

extern const SemanticsTable kVectorAluMatrixSparse;
const SemanticsTable kVectorAluMatrixSparse = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
