// The steps of IEEE division: V_DIV_SCALE_*, V_DIV_FMAS_*, V_DIV_FIXUP_*.
//
// The denominator d and the numerator n are scaled so that no intermediate of Newton's iteration
// over- or underflows; DIV_FMAS undoes the scaling and DIV_FIXUP puts the special cases in. Where
// the RDNA3 ISA's pseudocode cannot be what hardware does, since division by LLVM's sequence would
// then be wrong, the reading that makes it right is assumed and marked.
#include "emulator/lib/HostFloat.h"
#include "emulator/lib/VectorAluFloat.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

/// What differs between the widths: the power of two of a scaling, and thresholds on exponents.
template <class T> struct Scaling;
template <> struct Scaling<float> {
  static constexpr float kUp = 0x1p64f, kDown = 0x1p-64f;
  static constexpr int kNearOverflow = 96, kTinyNumerator = 23, kUnderflow = -150;
  static constexpr float kSmallestNormal = 0x1p-126f, kLargeReciprocal = 0x1p126f;
  using Wide = double;
};
template <> struct Scaling<double> {
  static constexpr double kUp = 0x1p128, kDown = 0x1p-128;
  static constexpr int kNearOverflow = 768, kTinyNumerator = 53, kUnderflow = -1075;
  static constexpr double kSmallestNormal = 0x1p-1022, kLargeReciprocal = 0x1p1022;
  using Wide = long double; // for its range
};

template <class T> int exponentField(T value) {
  return int(magnitudeOf(value) >> Format<T>::kFraction);
}

/// `value` is the numerator or the denominator, whichever is to be scaled; the mask result says
/// that DIV_FMAS has to undo a scaling of only one of them.
template <class T> Carry<T> scaleForDivision(T value, T denominator, T numerator) {
  using S = Scaling<T>;
  using Wide = typename S::Wide;
  T up = value * S::kUp, down = value * S::kDown;
  bool isDenominator = bitsOf(value) == bitsOf(denominator);
  bool isNumerator = bitsOf(value) == bitsOf(numerator);
  if (isZero(numerator) || isZero(denominator))
    return {fromBits<T>(BitsOf<T>(kInfinity<T> | kQuietBit<T>)), false};
  if (exponentField(numerator) - exponentField(denominator) >= S::kNearOverflow)
    return {isDenominator ? up : value, true};
  if (exponentField(denominator) == 0)
    return {up, false};
  Wide quotient = Wide(numerator) / Wide(denominator);
  bool tinyQuotient = (quotient < 0 ? -quotient : quotient) < Wide(S::kSmallestNormal);
  // Assumed: "1 / d is denormal" is meant in the operand's format.
  bool tinyReciprocal = fromBits<T>(magnitudeOf(denominator)) > S::kLargeReciprocal;
  // Assumed: d is scaled down; the pseudocode scales it up, to infinity.
  if (tinyReciprocal && tinyQuotient)
    return {isDenominator ? down : value, true};
  if (tinyReciprocal)
    return {down, false};
  if (tinyQuotient)
    return {isNumerator ? up : value, true};
  return {exponentField(numerator) <= S::kTinyNumerator ? up : value, false};
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
template <class T> T fmaUnscaled(T a, T b, T c, bool scaled) {
  using S = Scaling<T>;
  if (!scaled)
    return std::fma(a, b, c);
  bool quotientIsLarge = exponentField(c) >= Format<T>::kBias;
  if (quotientIsLarge)
    return std::fma(a, b, c) * S::kUp;
  return T(fmaToOdd(a, b, c) * S::kDown);
}

/// The special cases of n / d, `quotient` elsewhere.
template <class T> T fixedUp(T quotient, T denominator, T numerator) {
  constexpr BitsOf<T> kIndefinite = BitsOf<T>(kSignBit<T> | kInfinity<T> | kQuietBit<T>);
  BitsOf<T> sign = (bitsOf(denominator) ^ bitsOf(numerator)) & kSignBit<T>;
  auto withSign = [sign](T value) { return fromBits<T>(BitsOf<T>(magnitudeOf(value) | sign)); };
  if (isNan(numerator))
    return quiet(numerator);
  if (isNan(denominator))
    return quiet(denominator);
  if ((isZero(denominator) && isZero(numerator)) ||
      (isInfinite(denominator) && isInfinite(numerator)))
    return fromBits<T>(kIndefinite);
  if (isZero(denominator) || isInfinite(numerator))
    return withSign(fromBits<T>(kInfinity<T>));
  if (isInfinite(denominator) || isZero(numerator))
    return withSign(fromBits<T>(BitsOf<T>(0)));
  if constexpr (!std::is_same_v<T, Half>) {
    // Products that over- and underflow, so that the rounding mode has its say.
    if (exponentField(numerator) - exponentField(denominator) < Scaling<T>::kUnderflow) {
      T tiny = withSign(Scaling<T>::kSmallestNormal);
      return tiny * Scaling<T>::kSmallestNormal;
    }
    // Assumed: the quotient's exponent is tested; the pseudocode tests the denominator's, which
    // cannot be 255 here.
    if (magnitudeOf(quotient) >= kInfinity<T>) {
      T huge = withSign(Scaling<T>::kLargeReciprocal);
      return huge * Scaling<T>::kLargeReciprocal;
    }
  }
  return withSign(quotient);
}

constexpr Semantics kRows[] = {
    {"V_DIV_SCALE_F32",
     lanewise<[](float a, float d, float n) { return scaleForDivision(a, d, n); }>},
    {"V_DIV_SCALE_F64",
     lanewise<[](double a, double d, double n) { return scaleForDivision(a, d, n); }>},
    {"V_DIV_FMAS_F32",
     lanewise<[](float a, float b, float c, bool scaled) { return fmaUnscaled(a, b, c, scaled); }>},
    {"V_DIV_FMAS_F64", lanewise<[](double a, double b, double c, bool scaled) {
       return fmaUnscaled(a, b, c, scaled);
     }>},
    {"V_DIV_FIXUP_F32", lanewise<[](float q, float d, float n) { return fixedUp(q, d, n); }>},
    {"V_DIV_FIXUP_F64", lanewise<[](double q, double d, double n) { return fixedUp(q, d, n); }>},
    {"V_DIV_FIXUP_F16", lanewise<[](Half q, Half d, Half n) { return fixedUp(q, d, n); }>,
     kKeepsHigh | kExactInfinity},
};

} // namespace

extern const SemanticsTable kVectorAluDivision;
const SemanticsTable kVectorAluDivision = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
