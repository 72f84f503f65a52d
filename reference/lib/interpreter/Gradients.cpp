// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/interpreter/Gradients.h"
#include <algorithm>
#include <cmath>

namespace rubia::reference::interpreter {
namespace {

// A number as hardware holds it: digits of [512, 1024) and a power of two; or no digits.
struct Number {
  unsigned digits = 0;
  int power = 0;
  bool isNegative = false;

  explicit Number(double value) : isNegative(std::signbit(value)) {
    if (value == 0 || !std::isfinite(value))
      return;
    power = std::ilogb(value) - 9;
    digits = unsigned(std::ldexp(std::fabs(value), -power));
  }
  double value(double scaledDigits) const {
    return std::copysign(std::ldexp(scaledDigits, power), isNegative ? -1.0 : 1.0);
  }
};

double inTenBits(double value) {
  if (!std::isfinite(value))
    return value;
  const Number number(value);
  return number.value(number.digits);
}

double elevenSixteenths(double value) {
  const Number number(value);
  return inTenBits(number.value(double((number.digits * 11 + 4) / 8) / 2));
}

// Bits of the product of digits below the sixth are those of partial products that are left out.
double product(double x, double y) {
  const Number a(x), b(y);
  unsigned sum = 0;
  for (unsigned i = 0; i < 10; ++i)
    for (unsigned j = 0; j < 10; ++j)
      if (i + j >= 6 && a.digits >> i & 1 && b.digits >> j & 1)
        sum += 1u << (i + j);
  if (!sum)
    return 0;
  const double size = std::ldexp(double(sum + 448), a.power + b.power);
  return inTenBits(a.isNegative == b.isNegative ? size : -size);
}

double sum(double x, double y) {
  const double larger = std::max(std::fabs(x), std::fabs(y));
  if (larger == 0 || !std::isfinite(larger))
    return x + y;
  const int last = std::ilogb(larger) - 10; // the eleventh bit
  const auto cut = [&](double value) { return std::trunc(std::ldexp(value, -last)); };
  return inTenBits(std::ldexp(cut(x) + cut(y), last));
}
Gradient sum(const Gradient &a, const Gradient &b, double sign) {
  return {sum(a[0], sign * b[0]), sum(a[1], sign * b[1]), sum(a[2], sign * b[2])};
}

double length(Gradient vector, bool isDiagonal) {
  for (double &part : vector) // beyond what is finite there are no numbers
    part = std::isnan(part) ? INFINITY : std::fabs(part);
  std::sort(vector.begin(), vector.end());
  if (std::isinf(vector[2]))
    return INFINITY;
  const Number middle(vector[1]);
  if (isDiagonal) {
    const Number least(vector[0]);
    return elevenSixteenths(vector[2]) +
           inTenBits(middle.value(double((middle.digits * 121 + 32) / 64) / 8)) +
           inTenBits(least.value(double((least.digits * 11 + 4) / 8) / 8));
  }
  return vector[2] + inTenBits(middle.value(double((middle.digits * 11 + 4) / 8) / 4)) +
         vector[0] / 4;
}

// In 256ths.
int64_t logarithm(double value) {
  if (value == 0)
    return -(int64_t(1) << 20);
  if (!std::isfinite(value))
    return int64_t(1) << 20;
  const int exponent = std::ilogb(value);
  const double first = std::floor(std::ldexp(value, 8 - exponent)); // nine bits
  const double fraction = first == 256 ? 0 : 256 * std::log2((first + 0.5) / 256);
  return 256 * int64_t(exponent) + std::min(int64_t(fraction + 0.4695), int64_t(255));
}

// The direction of a vector, in 64ths of its length.
std::array<int, 2> directionOf(const Gradient &vector) {
  const double x = std::fabs(vector[0]), y = std::fabs(vector[1]), larger = std::max(x, y);
  if (larger == 0 || !std::isfinite(larger))
    return {64, 0};
  const int eighth = std::ilogb(larger) - 3;
  const double high = std::floor(std::ldexp(larger, -eighth)) + 0.5,
               low = std::ldexp(std::min(x, y), -eighth), step = std::floor(low) + 0.5;
  std::array<int, 2> result = {64, 0};
  if (low >= 0.25) {
    const double length = std::sqrt(high * high + step * step);
    result = {int(std::round(64 * high / length)), int(std::round(64 * step / length))};
  }
  if (y > x)
    std::swap(result[0], result[1]);
  for (unsigned i = 0; i < 2; ++i)
    if (vector[i] < 0)
      result[i] = -result[i];
  return result;
}

} // namespace

double gradientSum(double x, double y) { return sum(x, y); }
double gradientInTexels(double gradient, double size) {
  return std::isfinite(gradient) ? product(inTenBits(gradient), inTenBits(size)) : gradient;
}

// Lengths are compared by ten bits. Of axes that are as long a goes before the sum, that before b,
// that before the difference.
Ellipse::Ellipse(const Gradient &a, const Gradient &b, bool hasDiagonals) : along(a) {
  const double ofA = length(a, false), ofB = length(b, false);
  const auto compared = [](double one) { return std::isfinite(one) ? inTenBits(one) : one; };
  double longest = compared(ofA);
  const auto take = [&](const Gradient &vector, double itsLength) {
    if (compared(itsLength) <= longest)
      return;
    longest = compared(itsLength);
    along = vector;
  };
  const auto takeDiagonal = [&](const Gradient &diagonal) {
    take({elevenSixteenths(diagonal[0]), elevenSixteenths(diagonal[1]),
          elevenSixteenths(diagonal[2])},
         length(diagonal, true));
  };
  if (hasDiagonals)
    takeDiagonal(sum(a, b, 1));
  take(b, ofB);
  if (hasDiagonals)
    takeDiagonal(ofA > ofB ? sum(a, b, -1) : sum(b, a, -1));
  major = logarithm(longest);
  minor = logarithm(std::fabs(sum(product(a[0], b[1]), -product(a[1], b[0])))) - major;
}

int64_t Ellipse::width(unsigned largestRatio) const {
  const auto sixteenths = int64_t(16 * std::log2(largestRatio)); // cut
  return std::min(std::max(minor, major - 16 * sixteenths), major);
}

EllipseSamples Ellipse::samples(unsigned largestRatio, unsigned share, unsigned narrower,
                                unsigned wider) const {
  const int64_t ratio = major - std::max<int64_t>(width(largestRatio), 0) - narrower;
  EllipseSamples result;
  if (ratio <= 0) {
    result.samples.push_back({{0, 0}, share});
    return result;
  }
  const auto octave = unsigned(ratio / 256);
  const double part = std::round(256 * std::exp2(-double(ratio % 256) / 256));
  const double spread = wider ? std::floor(64 * std::exp2(wider / 256.0) + 0.25) / 64 : 1;
  std::vector<unsigned> side; // weights from the middle
  std::array<double, 2> step; // between samples, in 256ths of texels
  const std::array<int, 2> direction = directionOf(along);
  if (octave == 0) { // a pair
    result.unit = 512;
    side = {256};
    for (unsigned i = 0; i < 2; ++i)
      step[i] = 4 * std::floor(std::floor((256 - part) * direction[i] / 128 + 0.5) * spread);
  } else {
    result.unit = octave == 1 ? 512 : 1024;
    const auto weight = unsigned(std::ldexp(part, -int(std::max(octave, 2u) - 2)));
    for (unsigned rest = result.unit / 2; rest; rest -= side.back())
      side.push_back(std::min(rest, weight));
    for (unsigned i = 0; i < 2; ++i)
      step[i] = 4 * std::floor(direction[i] * spread);
  }
  unsigned before = 0, sum = 0; // what levels have of weights is rounded in all
  const auto add = [&](double at, unsigned weight) {
    sum += weight;
    const unsigned now = (sum * share + 128) / 256;
    result.samples.push_back({{int(at * step[0]), int(at * step[1])}, now - before});
    before = now;
  };
  for (size_t i = side.size(); i-- > 0;)
    add(-(double(i) + 0.5), side[i]);
  for (size_t i = 0; i < side.size(); ++i)
    add(double(i) + 0.5, side[i]);
  return result;
}

} // namespace rubia::reference::interpreter
