// Matrix instructions of RDNA3 (WMMA): D = A * B + C with matrices of 16 by 16 spread over a wave.
//
// Lane m holds row m of A and lane n column n of B, both repeated in every 16 lanes. Of C and D
// lane l holds column l mod 16; its register r holds row r * (lanes / 16) + l / 16 (RDNA3 ISA
// "WMMA"). A lane uses the copies of A and B in its own 16 lanes, so that a missing repetition
// shows (assumed). Assumed: float sums are added in order of k, every step rounded to f32; integers
// are exact and saturated once.
#include "emulator/lib/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

// Modifier immediates (Semantics.h, WaveOperands::modifiers).
constexpr uint32_t kNegLow = 1, kNegHigh = 2, kOpSel = 4;

constexpr unsigned kSize = 16;

/// Element k of the row or column that `lane` holds in source `i`.
template <class T> float element16(WaveOperands &w, unsigned i, unsigned lane, unsigned k) {
  uint32_t word = w.source(i, lane, k / 2);
  float value = std::bit_cast<T>(uint16_t(k & 1 ? word >> 16 : word));
  return w.modifiers(i) & (k & 1 ? kNegHigh : kNegLow) ? -value : value;
}
template <unsigned kBits>
int32_t elementInteger(WaveOperands &w, unsigned i, unsigned lane, unsigned k) {
  constexpr unsigned kPerRegister = 32 / kBits, kUnused = 32 - kBits;
  uint32_t top = w.source(i, lane, k / kPerRegister) << (kUnused - k % kPerRegister * kBits);
  return w.modifiers(i) & kNegLow ? int32_t(top) >> kUnused : int32_t(top >> kUnused);
}

/// C's register `r` in a lane; a constant is the same in all.
uint32_t addend(WaveOperands &w, unsigned lane, unsigned r) {
  return w.source(2, lane, w.sourceIsVector(2) ? r : 0);
}
float signedAddend(WaveOperands &w, float value) {
  value = w.modifiers(2) & kNegHigh ? __builtin_fabsf(value) : value;
  return w.modifiers(2) & kNegLow ? -value : value;
}

/// Calls `compute(lane, r, row, column)` for all elements of D, with `row` and `column` as the
/// lanes that hold them; the results are written afterwards, since D may overlap the sources.
template <class Compute> void forElements(WaveOperands &w, Compute compute) {
  const unsigned groups = w.laneCount() / kSize, registers = kSize / groups;
  uint32_t results[kSize / 2][64];
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    for (unsigned r = 0; r < registers; ++r) {
      unsigned copies = lane / kSize * kSize;
      results[r][lane] = compute(lane, r, copies + r * groups + lane / kSize, lane);
    }
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    for (unsigned r = 0; r < registers; ++r)
      w.setResult(lane, results[r][lane], r);
}

template <class T> float dot(WaveOperands &w, unsigned row, unsigned column, float sum) {
  for (unsigned k = 0; k < kSize; ++k)
    sum += element16<T>(w, 0, row, k) * element16<T>(w, 1, column, k);
  return sum;
}

template <class T> void multiplyToFloat(WaveOperands &w) {
  forElements(w, [&](unsigned lane, unsigned r, unsigned row, unsigned column) {
    float c = signedAddend(w, std::bit_cast<float>(addend(w, lane, r)));
    return std::bit_cast<uint32_t>(dot<T>(w, row, column, c));
  });
}

/// C and D are in the low halves of their registers, or in the high ones by op_sel; D's other
/// halves keep their contents.
template <class T> void multiplyToHalf(WaveOperands &w) {
  const unsigned shift = w.modifiers(2) & kOpSel ? 16 : 0;
  forElements(w, [&](unsigned lane, unsigned r, unsigned row, unsigned column) {
    uint32_t word = addend(w, lane, r) >> (w.sourceIsVector(2) ? shift : 0);
    float c = signedAddend(w, std::bit_cast<T>(uint16_t(word)));
    uint32_t result = std::bit_cast<uint16_t>(T(dot<T>(w, row, column, c)));
    return (w.result(lane, r) & ~(0xffffu << shift)) | result << shift;
  });
}

template <unsigned kBits> void multiplyToInteger(WaveOperands &w) {
  forElements(w, [&](unsigned lane, unsigned r, unsigned row, unsigned column) {
    int64_t sum = int32_t(addend(w, lane, r));
    for (unsigned k = 0; k < kSize; ++k)
      sum += int64_t(elementInteger<kBits>(w, 0, row, k)) * elementInteger<kBits>(w, 1, column, k);
    return uint32_t(narrowed<int32_t>(sum, Saturate{w.clamp()}));
  });
}

constexpr Semantics kRows[] = {
    {"V_WMMA_F32_16X16X16_F16", wavewise<multiplyToFloat<Half>>},
    {"V_WMMA_F32_16X16X16_BF16", wavewise<multiplyToFloat<Bfloat>>},
    {"V_WMMA_F16_16X16X16_F16", wavewise<multiplyToHalf<Half>>},
    {"V_WMMA_BF16_16X16X16_BF16", wavewise<multiplyToHalf<Bfloat>>},
    {"V_WMMA_I32_16X16X16_IU8", wavewise<multiplyToInteger<8>>},
    {"V_WMMA_I32_16X16X16_IU4", wavewise<multiplyToInteger<4>>},
};

} // namespace

extern const SemanticsTable kVectorAluMatrix;
const SemanticsTable kVectorAluMatrix = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
