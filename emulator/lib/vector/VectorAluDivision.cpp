// SPDX-License-Identifier: Apache-2.0
// The steps of IEEE division: V_DIV_SCALE_*, V_DIV_FMAS_*, V_DIV_FIXUP_*.
//
// The denominator d and the numerator n are scaled so that no intermediate of Newton's iteration
// over- or underflows; DIV_FMAS undoes the scaling and DIV_FIXUP puts the special cases in. Where
// the RDNA3 ISA's pseudocode cannot be what hardware does, since division by LLVM's sequence would
// then be wrong, the reading that makes it right is assumed and marked.
//
// Of RDNA3 results of the hardware are known: DIV_SCALE sets the mask for zeros and for numerators
// that it calls tiny, and DIV_FMAS scales up above the exponent 127 (1023) only. What is
// known agrees with a right division where a tiny numerator alone is scaled, which it is here where
// DIV_FMAS then scales back down; elsewhere both are scaled, and the mask must stay clear.
#include "emulator/lib/machine/HostFloat.h"
#include "emulator/lib/machine/Lanewise.h"
#include "emulator/lib/vector/VectorAluFloat.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

/// What differs between the widths: the power of two of a scaling, and thresholds on exponents.
template <class T> struct Scaling;
template <> struct Scaling<float> {
  static constexpr float kUp = 0x1p64f, kDown = 0x1p-64f;
  static constexpr int kNearOverflow = 96, kTinyNumerator = 23, kUnderflow = -150;
  static constexpr int kFarBelow = -66; // 2^64 times such a quotient is below 1
  static constexpr float kSmallestNormal = 0x1p-126f, kLargeReciprocal = 0x1p126f;
};
template <> struct Scaling<double> {
  static constexpr double kUp = 0x1p128, kDown = 0x1p-128;
  static constexpr int kNearOverflow = 768, kTinyNumerator = 53, kUnderflow = -1075;
  static constexpr int kFarBelow = -130;
  static constexpr double kSmallestNormal = 0x1p-1022, kLargeReciprocal = 0x1p1022;
};

template <class T> int exponentField(T value) {
  return int(magnitudeOf(value) >> Format<T>::kFraction);
}

/// Whether the quotient's magnitude is below the smallest normal number, for a denominator that is
/// not denormal. Exponent and fraction read as one integer are in the order of the numbers, so that
/// the difference of two of them tells, without a division, whether the quotient is below a power
/// of two.
template <class T> bool hasTinyQuotient(T numerator, T denominator) {
  using Integer = std::make_signed_t<BitsOf<T>>;
  constexpr int kUp = Format<T>::kFraction + 2;
  constexpr T kNormalising =
      std::bit_cast<T>(BitsOf<T>(Format<T>::kBias + kUp) << Format<T>::kFraction);
  constexpr Integer kLimit = Integer(1 - Format<T>::kBias) * (Integer(1) << Format<T>::kFraction);
  constexpr Integer kNormalised = Integer(kUp) << Format<T>::kFraction;
  const bool denormal = exponentField(numerator) == 0;
  const T normal = denormal ? numerator * kNormalising : numerator;
  const Integer n = Integer(magnitudeOf(normal)) - (denormal ? kNormalised : 0);
  const Integer d = Integer(magnitudeOf(denominator));
  const bool isFinite = exponentField(numerator) <= 2 * Format<T>::kBias;
  return isInfinite(denominator) ? isFinite : !isNan(denominator) && n < d + kLimit;
}

/// `value` is the numerator or the denominator, whichever is to be scaled; the mask result says
/// that DIV_FMAS has to undo a scaling of only one of them. Without branches, so that all lanes are
/// computed at once: the conditions that come first choose last.
template <class T, bool kRdna3 = false>
Carry<T> scaleForDivision(T value, T denominator, T numerator) {
  using S = Scaling<T>;
  const T up = value * S::kUp, down = value * S::kDown;
  const bool isDenominator = bitsOf(value) == bitsOf(denominator);
  const bool isNumerator = bitsOf(value) == bitsOf(numerator);
  const bool tinyQuotient = hasTinyQuotient(numerator, denominator);
  // Assumed: "1 / d is denormal" is meant in the operand's format.
  const bool tinyReciprocal = fromBits<T>(magnitudeOf(denominator)) > S::kLargeReciprocal;
  const bool isDenormal = exponentField(denominator) == 0;
  const bool nearOverflow =
      exponentField(numerator) - exponentField(denominator) >= S::kNearOverflow;
  const bool hasZero = isZero(numerator) || isZero(denominator);
  const bool tinyNumerator = exponentField(numerator) <= S::kTinyNumerator;
  const bool alone = kRdna3 && tinyNumerator &&
                     exponentField(numerator) - exponentField(denominator) < S::kFarBelow;
  T result = tinyNumerator && (!alone || isNumerator) ? up : value;
  result = tinyQuotient ? (isNumerator ? up : value) : result;
  // Assumed: d is scaled down; the pseudocode scales it up, to infinity.
  result = tinyReciprocal ? (tinyQuotient && !isDenominator ? value : down) : result;
  result = isDenormal ? up : result;
  result = nearOverflow ? (isDenominator ? up : value) : result;
  result = hasZero ? fromBits<T>(BitsOf<T>(kInfinity<T> | kQuietBit<T>)) : result;
  const bool one = nearOverflow || (!isDenormal && (tinyQuotient || (alone && !tinyReciprocal)));
  return {result, hasZero ? kRdna3 : one};
}

/// a * b + c with an odd last bit wherever it is not exact, so that rounding it once more to less
/// precision gives what rounding the exact sum would.
double fmaToOdd(float a, float b, float c) {
  double product = double(a) * double(b), addend = c;
  double sum = product + addend;
  double part = sum - product;
  double error = (product - (sum - part)) + (addend - part);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  bool adjust = error != 0 && !isNan(error) && !(bits & 1);
  bool awayFromZero = (error < 0) == (sum < 0);
  return std::bit_cast<double>(adjust ? (awayFromZero ? bits + 1 : bits - 1) : bits);
}
Quad fmaToOdd(double a, double b, double c) {
  Quad product = Quad(a) * b, addend = c;
  Quad sum = product + addend;
  Quad part = sum - product;
  Quad error = (product - (sum - part)) + (addend - part);
  auto bits = std::bit_cast<unsigned __int128>(sum);
  bool adjust = error == error && error != 0 && !(bits & 1);
  bool awayFromZero = (error < 0) == (sum < 0);
  return std::bit_cast<Quad>(adjust ? (awayFromZero ? bits + 1 : bits - 1) : bits);
}

/// Assumed: DIV_SCALE's powers are undone, in the direction that the quotient's size tells, and the
/// result is rounded once. (The pseudocode multiplies by 2^32 or 2^64.)
template <class T, bool kRdna3> T fmaUnscaled(T a, T b, T c, bool scaled) {
  using S = Scaling<T>;
  if (!scaled)
    return std::fma(a, b, c);
  bool quotientIsLarge = exponentField(c) >= Format<T>::kBias + (kRdna3 ? 1 : 0);
  if (quotientIsLarge)
    return std::fma(a, b, c) * S::kUp;
  return T(fmaToOdd(a, b, c) * S::kDown);
}

/// Divisions that were not scaled are most; the lanes of the others follow one by one.
template <class T, bool kRdna3>
void fmaUnscaledLanes(uint32_t *result, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                      LaneState &state) {
  using detail::loadLane, detail::storeLane;
  alignas(64) uint32_t values[sizeof(T) / 4 * kBlockLanes];
#pragma clang loop vectorize(assume_safety) vectorize_width(kLaneWidth) unroll(disable)
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    storeLane(values, lane,
              std::fma(loadLane<T>(a, lane), loadLane<T>(b, lane), loadLane<T>(c, lane)));
  for (uint32_t scaled = state.carryIn & state.active; scaled; scaled &= scaled - 1) {
    const unsigned lane = unsigned(std::countr_zero(scaled));
    storeLane(values, lane,
              fmaUnscaled<T, kRdna3>(loadLane<T>(a, lane), loadLane<T>(b, lane),
                                     loadLane<T>(c, lane), true));
  }
  std::memcpy(result, values, sizeof(values));
}

template <class T, bool kRdna3 = false> constexpr Operation makeFmaUnscaled() {
  Operation operation =
      lanewise<[](T a, T b, T c, bool scaled) { return fmaUnscaled<T, kRdna3>(a, b, c, scaled); }>;
  operation.kernel = fmaUnscaledLanes<T, kRdna3>;
  return operation;
}

/// The special cases of n / d, `quotient` elsewhere. Without branches: the conditions that come
/// first choose last.
template <class T> T fixedUp(T quotient, T denominator, T numerator) {
  constexpr BitsOf<T> kIndefinite = BitsOf<T>(kSignBit<T> | kInfinity<T> | kQuietBit<T>);
  const BitsOf<T> sign = (bitsOf(denominator) ^ bitsOf(numerator)) & kSignBit<T>;
  auto withSign = [sign](T value) { return fromBits<T>(BitsOf<T>(magnitudeOf(value) | sign)); };
  T result = withSign(quotient);
  if constexpr (!std::is_same_v<T, Half>) {
    // Products that over- and underflow, so that the rounding mode has its say.
    const T huge = withSign(Scaling<T>::kLargeReciprocal) * Scaling<T>::kLargeReciprocal;
    const T tiny = withSign(Scaling<T>::kSmallestNormal) * Scaling<T>::kSmallestNormal;
    // Assumed: the quotient's exponent is tested; the pseudocode tests the denominator's, which
    // cannot be 255 here.
    result = magnitudeOf(quotient) >= kInfinity<T> ? huge : result;
    const int difference = exponentField(numerator) - exponentField(denominator);
    result = difference < Scaling<T>::kUnderflow ? tiny : result;
  }
  result =
      isInfinite(denominator) || isZero(numerator) ? withSign(fromBits<T>(BitsOf<T>(0))) : result;
  result =
      isZero(denominator) || isInfinite(numerator) ? withSign(fromBits<T>(kInfinity<T>)) : result;
  const bool bothZero = isZero(denominator) && isZero(numerator);
  const bool bothInfinite = isInfinite(denominator) && isInfinite(numerator);
  result = bothZero || bothInfinite ? fromBits<T>(kIndefinite) : result;
  result = isNan(denominator) ? quiet(denominator) : result;
  return isNan(numerator) ? quiet(numerator) : result;
}

constexpr Semantics kRows[] = {
    {"V_DIV_SCALE_F32",
     lanewise<[](float a, float d, float n) { return scaleForDivision(a, d, n); }>},
    {"V_DIV_SCALE_F64",
     lanewise<[](double a, double d, double n) { return scaleForDivision(a, d, n); }>},
    {"V_DIV_SCALE_F32_RDNA3",
     lanewise<[](float a, float d, float n) { return scaleForDivision<float, true>(a, d, n); }>},
    {"V_DIV_SCALE_F64_RDNA3", lanewise<[](double a, double d, double n) {
       return scaleForDivision<double, true>(a, d, n);
     }>},
    {"V_DIV_FMAS_F32_RDNA3", makeFmaUnscaled<float, true>()},
    {"V_DIV_FMAS_F64_RDNA3", makeFmaUnscaled<double, true>()},
    {"V_DIV_FMAS_F32", makeFmaUnscaled<float>()},
    {"V_DIV_FMAS_F64", makeFmaUnscaled<double>()},
    {"V_DIV_FIXUP_F32", lanewise<[](float q, float d, float n) { return fixedUp(q, d, n); }>},
    {"V_DIV_FIXUP_F64", lanewise<[](double q, double d, double n) { return fixedUp(q, d, n); }>},
    {"V_DIV_FIXUP_F16", lanewise<[](Half q, Half d, Half n) { return fixedUp(q, d, n); }>,
     kKeepsHigh | kExactInfinity},
};

} // namespace

extern const SemanticsTable kVectorAluDivision;
const SemanticsTable kVectorAluDivision = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
