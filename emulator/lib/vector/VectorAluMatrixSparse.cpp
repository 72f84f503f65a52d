// SPDX-License-Identifier: Apache-2.0
// The sparse matrix instructions of CDNA (V_SMFMAC_*): of four neighbours in a row of A two are
// stored, source 2 says which, C is the destination.
//
// CDNA3 and CDNA4 ISA "Sparse Matrices". A lane's register of indices holds as many sets as fit;
// ABID chooses one if CBSZ is 0, else it is the first. Assumed: if both indices of a pair are
// equal, both products are added; gfx942 adds the stored products as those of a dense matrix.
#include "emulator/lib/vector/VectorAluMatrix.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

using enum MatrixFormat;

template <MatrixShape kShape> void multiply(WaveOperands &w) {
  constexpr unsigned kWide = 16;
  using R = Run<kWide>;
  const MatrixControl &control = w.matrix();
  constexpr InputLayout kLayout =
      mfmaInput(kShape.rows, kShape.depth, kShape.blocks, bitsOf(kShape.a)); // of B too
  constexpr unsigned kBitsPerSet = kLayout.perLane, kSets = 32 / kBitsPerSet;
  const unsigned set = control.cbsz == 0 ? control.abid % kSets : 0;
  const InputReading a = {.format = kShape.a, .fnuz = control.fnuz};
  const InputReading b = {.format = kShape.b, .fnuz = control.fnuz};
  MatrixProduct<float> product(kShape, true);
  product.template loadSparseA<kShape.a, kWide>(w, kLayout, a, set * kBitsPerSet);
  product.template loadB<kShape.b, kWide>(w, kLayout, b,
                                          [&](unsigned block, unsigned column, unsigned group) {
                                            return kLayout.lane(block, column, group);
                                          });
  constexpr unsigned kItems = kShape.rows * kShape.columns / 64;
  const VectorRegisters d = resultRegisters(w);
  auto forOutput = [&](auto visit) {
    product.template forOutput<kWide>(
        64, kItems,
        [](unsigned lane, unsigned item) {
          return mfmaOutput(kShape.rows, kShape.columns, false, lane, item);
        },
        visit);
  };
  if constexpr (kShape.sum == I8) {
    product.clearSums();
    product.template addInOrder<kWide>();
    forOutput([&](unsigned lane, unsigned item, const float *sums) {
      uint32_t *words = d.lanes(lane, item);
      const Saturate saturate{w.mode().fp16Overflow};
      for (unsigned i = 0; i < kWide; ++i)
        words[i] =
            uint32_t(narrowed<int32_t>(int64_t(int32_t(words[i])) + int32_t(sums[i]), saturate));
    });
  } else {
    forOutput([&](unsigned lane, unsigned item, float *sums) {
      storeRun(sums, loadRun<R::Float>(d.lanes(lane, item)));
    });
    if (w.reversesSums())
      product.template addPerturbed<kWide>();
    else
      product.template addAsUnit<kShape.a, kWide>(productSum(w), false, kLayout.perLane, a, b);
    forOutput([&](unsigned lane, unsigned item, const float *sums) {
      for (unsigned i = 0; i < kWide; ++i)
        d.lanes(lane, item)[i] = std::bit_cast<uint32_t>(clampedOverflow(w.mode(), sums[i]));
    });
  }
}
template <unsigned kSize, unsigned kDepth, MatrixFormat kA, MatrixFormat kB = kA>
constexpr MatrixFunction smfmac = {
    multiply<MatrixShape{kSize, kSize, kDepth, 1, kA, kB, kA == I8 ? I8 : F32}>};

constexpr MatrixRow kRows[] = {
    {"V_SMFMAC_F32_16X16X32_F16", smfmac<16, 32, F16>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X16_F16", smfmac<32, 16, F16>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X64_F16", smfmac<16, 64, F16>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X32_F16", smfmac<32, 32, F16>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X32_BF16", smfmac<16, 32, Bf16>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X16_BF16", smfmac<32, 16, Bf16>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X64_BF16", smfmac<16, 64, Bf16>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X32_BF16", smfmac<32, 32, Bf16>, Exactness::UnorderedSum},

    {"V_SMFMAC_I32_16X16X64_I8", smfmac<16, 64, I8>},
    {"V_SMFMAC_I32_32X32X32_I8", smfmac<32, 32, I8>},
    {"V_SMFMAC_I32_16X16X128_I8", smfmac<16, 128, I8>},
    {"V_SMFMAC_I32_32X32X64_I8", smfmac<32, 64, I8>},

    {"V_SMFMAC_F32_16X16X64_FP8_FP8", smfmac<16, 64, Fp8, Fp8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X64_FP8_BF8", smfmac<16, 64, Fp8, Bf8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X64_BF8_FP8", smfmac<16, 64, Bf8, Fp8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X64_BF8_BF8", smfmac<16, 64, Bf8, Bf8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X32_FP8_FP8", smfmac<32, 32, Fp8, Fp8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X32_FP8_BF8", smfmac<32, 32, Fp8, Bf8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X32_BF8_FP8", smfmac<32, 32, Bf8, Fp8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X32_BF8_BF8", smfmac<32, 32, Bf8, Bf8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X128_FP8_FP8", smfmac<16, 128, Fp8, Fp8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X128_FP8_BF8", smfmac<16, 128, Fp8, Bf8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X128_BF8_FP8", smfmac<16, 128, Bf8, Fp8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_16X16X128_BF8_BF8", smfmac<16, 128, Bf8, Bf8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X64_FP8_FP8", smfmac<32, 64, Fp8, Fp8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X64_FP8_BF8", smfmac<32, 64, Fp8, Bf8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X64_BF8_FP8", smfmac<32, 64, Bf8, Fp8>, Exactness::UnorderedSum},
    {"V_SMFMAC_F32_32X32X64_BF8_BF8", smfmac<32, 64, Bf8, Bf8>, Exactness::UnorderedSum},
};

} // namespace

extern const MatrixTable kMatrixSparseRows;
const MatrixTable kMatrixSparseRows = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
