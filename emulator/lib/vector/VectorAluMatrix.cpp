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

constexpr unsigned kWide = kWmmaSize;
using R = Run<kWide>;

template <MatrixFormat kA, MatrixFormat kB, bool kSparse>
void loadInputs(WaveOperands &w, MatrixProduct<float> &product) {
  const MatrixShape &shape = product.shape;
  const unsigned lanes = product.copies ? product.shape.blocks * kWmmaSize : w.laneCount();
  constexpr unsigned bits = bitsOf(kA);
  auto reading = [&](unsigned source, MatrixFormat format) {
    const uint32_t modifiers = w.modifiers(source);
    const bool isInteger = format == Iu8 || format == Iu4; // whose neg bits are something else
    return InputReading{.format = format,
                        .isSigned = bool(modifiers & kNegLow),
                        .negateEven = !isInteger && modifiers & kNegLow,
                        .negateOdd = !isInteger && modifiers & kNegHigh};
  };
  auto layout = [&](bool sparse) {
    return w.matrix().packedHalves
               ? packedInput(lanes, shape.depth, bits, kSparse ? 128 : 64, sparse)
               : repeatedInput(lanes, shape.depth);
  };
  const InputLayout layoutA = layout(kSparse), layoutB = layout(false);
  if constexpr (kSparse)
    product.loadSparseA<kA, kWide>(w, layoutA, reading(0, kA),
                                   w.matrix().indexKey * layoutA.perLane);
  else
    product.loadA<kA, kWide>(w, layoutA, reading(0, kA),
                             [&](unsigned block, unsigned row, unsigned group) {
                               return layoutA.lane(block, row, group);
                             });
  product.loadB<kB, kWide>(w, layoutB, reading(1, kB),
                           [&](unsigned block, unsigned column, unsigned group) {
                             return layoutB.lane(block, column, group);
                           });
}

/// C's registers: those of source 2, or of the destination where source 2 has indices.
template <bool kSparse> VectorRegisters addendRegisters(const WaveOperands &w) {
  return kSparse ? resultRegisters(w) : sourceRegisters(w, 2);
}
/// What C's neg bits do to its elements.
struct AddendSigns {
  uint32_t kept, flipped;
  AddendSigns(const WaveOperands &w, bool isSparse) {
    const uint32_t modifiers = isSparse ? 0 : w.modifiers(2);
    kept = modifiers & kNegHigh ? 0x7fffffffu : 0xffffffffu;
    flipped = modifiers & kNegLow ? 0x80000000u : 0u;
  }
  R::Float operator()(R::Word bits) const {
    return std::bit_cast<R::Float>((bits & kept) ^ flipped);
  }
};

/// Elements of C or D in a lane.
unsigned itemsOf(const WaveOperands &w) { return kWmmaSize * kWmmaSize / w.laneCount(); }

/// D = C and the products: `load(lane, item)` gives kWide elements of C, `store(lane, item, sums)`
/// takes those of D. `kUnit`: the last place of D's type, in units of f32's.
template <unsigned kTerms, bool kSparse, unsigned kUnit = 1, class Load, class Store>
void addProducts(WaveOperands &w, MatrixProduct<float> &product, bool perturbs, Load load,
                 Store store) {
  const unsigned lanes = w.laneCount(), items = itemsOf(w);
  auto add = [&](auto placeOf) {
    if (!kSparse && !perturbs)
      return product.addInOrderTo<kWide, kTerms, kWmmaSize>(lanes, items, placeOf, load, store);
    product.forOutput<kWide>(lanes, items, placeOf, [&](unsigned lane, unsigned item, float *sums) {
      storeRun(sums, load(lane, item));
    });
    if (perturbs)
      product.addPerturbed<kWide, kUnit>();
    else
      product.addInOrder<kWide>();
    product.forOutput<kWide>(lanes, items, placeOf,
                             [&](unsigned lane, unsigned item, const float *sums) {
                               store(lane, item, loadRun<R::Float>(sums));
                             });
  };
  if (w.matrix().packedHalves)
    add([&](unsigned lane, unsigned item) { return packedOutput(lanes, lane, item); });
  else
    add([&](unsigned lane, unsigned item) { return repeatedOutput(lanes, lane, item); });
}

template <unsigned kTerms, bool kSparse>
void multiplyToFloat(WaveOperands &w, MatrixProduct<float> &product) {
  const VectorRegisters d = resultRegisters(w);
  const Addends c(addendRegisters<kSparse>(w), d, w.laneCount(), itemsOf(w));
  const AddendSigns signs(w, kSparse);
  addProducts<kTerms, kSparse>(
      w, product, w.reversesSums(),
      [&](unsigned lane, unsigned item) {
        return signs(addendRun<kWide>(w, c.registers, lane, item));
      },
      [&](unsigned lane, unsigned item, R::Float sums) { storeRun(d.lanes(lane, item), sums); });
}

/// T is the 16-bit type of C and D.
template <class T, unsigned kTerms, bool kSparse>
void multiplyToHalf(WaveOperands &w, MatrixProduct<float> &product) {
  const bool packed = w.matrix().packedHalves;
  const VectorRegisters d = resultRegisters(w);
  const Addends c(addendRegisters<kSparse>(w), d, w.laneCount(),
                  packed ? itemsOf(w) / 2 : itemsOf(w));
  const AddendSigns signs(w, kSparse);
  auto at = [&](unsigned item) -> std::pair<unsigned, unsigned> { // register, first bit
    if (packed)
      return {item / 2, item % 2 * 16};
    return {item, w.modifiers(2) & kOpSel ? 16 : 0};
  };
  addProducts<kTerms, kSparse, std::is_same_v<T, Half> ? 1u << 13 : 1u << 16>(
      w, product, w.reversesSums(),
      [&](unsigned lane, unsigned item) {
        const auto [r, shift] = at(item);
        const bool isVector = c.registers.first;
        const R::Word words = addendRun<kWide>(w, c.registers, lane, r) >> (isVector ? shift : 0);
        R::Float values;
        for (unsigned i = 0; i < kWide; ++i)
          values[i] = std::bit_cast<T>(uint16_t(words[i]));
        return signs(std::bit_cast<R::Word>(values));
      },
      [&](unsigned lane, unsigned item, R::Float sums) {
        const auto [r, shift] = at(item);
        uint32_t *words = d.lanes(lane, r);
        for (unsigned i = 0; i < kWide; ++i) {
          const uint32_t bits = std::bit_cast<uint16_t>(T(sums[i]));
          words[i] = (words[i] & ~(0xffffu << shift)) | bits << shift;
        }
      });
}

template <unsigned kTerms, bool kSparse>
void multiplyToInteger(WaveOperands &w, MatrixProduct<float> &product) {
  const VectorRegisters d = resultRegisters(w);
  const Addends c(addendRegisters<kSparse>(w), d, w.laneCount(), itemsOf(w));
  const Saturate saturate{w.clamp()};
  addProducts<kTerms, kSparse>(
      w, product, false, [](unsigned, unsigned) { return R::Float{}; },
      [&](unsigned lane, unsigned item, R::Float sums) {
        const R::Word addends = addendRun<kWide>(w, c.registers, lane, item);
        uint32_t *words = d.lanes(lane, item);
        for (unsigned i = 0; i < kWide; ++i)
          words[i] = uint32_t(
              narrowed<int32_t>(int64_t(int32_t(addends[i])) + int32_t(sums[i]), saturate));
      });
}

/// Whether all copies of A and B are the same, as they should be.
bool areRepeated(const WaveOperands &w, unsigned words) {
  const unsigned lanes = w.laneCount();
  R::Word different = {};
  for (unsigned source : {0u, 1u}) {
    const VectorRegisters registers = sourceRegisters(w, source);
    for (unsigned r = 0; r < words; ++r)
      for (unsigned lane = kWmmaSize; lane < lanes; lane += kWmmaSize)
        different |=
            loadRun<R::Word>(registers.lanes(0, r)) ^ loadRun<R::Word>(registers.lanes(lane, r));
  }
  return __builtin_reduce_or(different) == 0;
}

template <unsigned kDepth, MatrixFormat kA, MatrixFormat kB, MatrixFormat kSum, bool kSparse>
void multiply(WaveOperands &w) {
  const bool copies = !w.matrix().packedHalves;
  const unsigned blocks =
      !copies || areRepeated(w, kDepth * bitsOf(kA) / 32) ? 1 : w.laneCount() / kWmmaSize;
  MatrixProduct<float> product({kWmmaSize, kWmmaSize, kDepth, blocks, kA, kB, kSum}, kSparse);
  product.copies = copies;
  loadInputs<kA, kB, kSparse>(w, product);
  constexpr unsigned kTerms = kSparse ? kDepth / 2 : kDepth;
  if constexpr (kSum == F16)
    multiplyToHalf<Half, kTerms, kSparse>(w, product);
  else if constexpr (kSum == Bf16)
    multiplyToHalf<Bfloat, kTerms, kSparse>(w, product);
  else if constexpr (kSum == I8)
    multiplyToInteger<kTerms, kSparse>(w, product);
  else
    multiplyToFloat<kTerms, kSparse>(w, product);
}
template <MatrixFormat kSum, unsigned kDepth, MatrixFormat kA, MatrixFormat kB = kA>
constexpr MatrixFunction wmma = {multiply<kDepth, kA, kB, kSum, false>};
template <MatrixFormat kSum, unsigned kDepth, MatrixFormat kA, MatrixFormat kB = kA>
constexpr MatrixFunction swmmac = {multiply<kDepth, kA, kB, kSum, true>};

constexpr MatrixRow kRows[] = {
    {"V_WMMA_F32_16X16X16_F16", wmma<F32, 16, F16>, Exactness::UnorderedSum},
    {"V_WMMA_F32_16X16X16_BF16", wmma<F32, 16, Bf16>, Exactness::UnorderedSum},
    {"V_WMMA_F16_16X16X16_F16", wmma<F16, 16, F16>, Exactness::UnorderedSum},
    {"V_WMMA_BF16_16X16X16_BF16", wmma<Bf16, 16, Bf16>, Exactness::UnorderedSum},
    {"V_WMMA_F32_16X16X16_FP8_FP8", wmma<F32, 16, Fp8, Fp8>, Exactness::UnorderedSum},
    {"V_WMMA_F32_16X16X16_FP8_BF8", wmma<F32, 16, Fp8, Bf8>, Exactness::UnorderedSum},
    {"V_WMMA_F32_16X16X16_BF8_FP8", wmma<F32, 16, Bf8, Fp8>, Exactness::UnorderedSum},
    {"V_WMMA_F32_16X16X16_BF8_BF8", wmma<F32, 16, Bf8, Bf8>, Exactness::UnorderedSum},
    {"V_WMMA_I32_16X16X16_IU8", wmma<I8, 16, Iu8>},
    {"V_WMMA_I32_16X16X16_IU4", wmma<I8, 16, Iu4>},
    {"V_WMMA_I32_16X16X32_IU4", wmma<I8, 32, Iu4>},

    {"V_SWMMAC_F32_16X16X32_F16", swmmac<F32, 32, F16>, Exactness::UnorderedSum},
    {"V_SWMMAC_F32_16X16X32_BF16", swmmac<F32, 32, Bf16>, Exactness::UnorderedSum},
    {"V_SWMMAC_F16_16X16X32_F16", swmmac<F16, 32, F16>, Exactness::UnorderedSum},
    {"V_SWMMAC_BF16_16X16X32_BF16", swmmac<Bf16, 32, Bf16>, Exactness::UnorderedSum},
    {"V_SWMMAC_F32_16X16X32_FP8_FP8", swmmac<F32, 32, Fp8, Fp8>, Exactness::UnorderedSum},
    {"V_SWMMAC_F32_16X16X32_FP8_BF8", swmmac<F32, 32, Fp8, Bf8>, Exactness::UnorderedSum},
    {"V_SWMMAC_F32_16X16X32_BF8_FP8", swmmac<F32, 32, Bf8, Fp8>, Exactness::UnorderedSum},
    {"V_SWMMAC_F32_16X16X32_BF8_BF8", swmmac<F32, 32, Bf8, Bf8>, Exactness::UnorderedSum},
    {"V_SWMMAC_I32_16X16X32_IU8", swmmac<I8, 32, Iu8>},
    {"V_SWMMAC_I32_16X16X32_IU4", swmmac<I8, 32, Iu4>},
    {"V_SWMMAC_I32_16X16X64_IU4", swmmac<I8, 64, Iu4>},
};

} // namespace

extern const MatrixTable kMatrixRows;
const MatrixTable kMatrixRows = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
