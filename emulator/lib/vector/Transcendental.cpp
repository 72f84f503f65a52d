// SPDX-License-Identifier: Apache-2.0
// Correct rounding by Ziv's strategy: libm's double functions are within one ulp of 2^-53, so the
// float result is certain unless both ends of a 2^-50 interval round differently. Then x87's 64
// bits decide; the hardest float arguments of these functions need fewer.
#include "emulator/lib/vector/Transcendental.h"
#include "emulator/lib/machine/HostFloat.h"

#include <cmath>
#include <numbers>

namespace rubia::emulator {
namespace {

/// `approximate` is within one ulp of 2^-53, `exact()` of 2^-64. Rounded as the caller's mode says;
/// where 2^-50 leaves two floats, one of which is then that close, to the nearest.
template <class Exact> float rounded(double approximate, Exact exact) {
  constexpr double kMargin = 0x1p-50;
  float low = float(approximate * (1 - kMargin)), high = float(approximate * (1 + kMargin));
  if (low == high || !(approximate - approximate == 0)) // decided, infinite or NaN
    return float(approximate);
  return float(exact());
}

/// A function of libm, with the default environment around the call.
template <class T, class Function> [[gnu::noinline]] T called(Function function, T x) {
  DefaultFloatEnvironment environment;
  return function(x);
}

template <class T> [[gnu::noinline]] T reciprocalSqrt(T x) { return 1 / std::sqrt(x); }

/// sin(2 pi x) for |x| <= 2^20, and cos with a quarter turn more.
template <class T> T sinTurns(T x, int quarters) {
  T turn = x - std::rint(x);         // exact
  T quarter = std::rint(turn * 4);   // -2 .. 2
  T rest = turn - quarter * T(0.25); // exact, within an eighth
  T angle = rest * (2 * std::numbers::pi_v<T>);
  switch ((int(quarter) + quarters) & 3) {
  case 0:
    return std::sin(angle);
  case 1:
    return std::cos(angle);
  case 2:
    return 0 - std::sin(angle);
  default:
    return 0 - std::cos(angle);
  }
}

template <class T> [[gnu::noinline]] T sinOf(T x) { return sinTurns(x, 0); }
template <class T> [[gnu::noinline]] T cosOf(T x) { return sinTurns(x, 1); }

[[gnu::noinline]] double sinTurnsToDouble(double x, int quarters) {
  if (std::isfinite(x) && std::fabs(x) > 256)
    return quarters ? 1 : 0;
  return std::isfinite(x) ? sinTurns(x, quarters) : x - x;
}

} // namespace

float exp2Rounded(float x) {
  return rounded(called<double>([](double y) { return std::exp2(y); }, x), [&] {
    return called<long double>([](long double y) { return std::exp2(y); }, x);
  });
}

float log2Rounded(float x) {
  return rounded(called<double>([](double y) { return std::log2(y); }, x), [&] {
    return called<long double>([](long double y) { return std::log2(y); }, x);
  });
}

float reciprocalSqrtRounded(float x) {
  return rounded(called<double>(reciprocalSqrt<double>, x),
                 [&] { return called<long double>(reciprocalSqrt<long double>, x); });
}

double reciprocalSqrtRounded(double x) {
  return double(called<long double>(reciprocalSqrt<long double>, x));
}

float sinTurnsRounded(float x) {
  if (x == 0)
    return x;
  if (!std::isfinite(x))
    return x - x;
  if (std::fabs(x) > 256)
    return 0;
  return rounded(called<double>(sinOf<double>, x),
                 [&] { return called<long double>(sinOf<long double>, x); });
}

float cosTurnsRounded(float x) {
  if (!std::isfinite(x))
    return x - x;
  if (std::fabs(x) > 256)
    return 1;
  return rounded(called<double>(cosOf<double>, x),
                 [&] { return called<long double>(cosOf<long double>, x); });
}

double exp2OfHalf(double x) {
  DefaultFloatEnvironment environment;
  return std::exp2(x);
}

double log2OfHalf(double x) {
  DefaultFloatEnvironment environment;
  return std::log2(x);
}

double sinTurnsOfHalf(double x) {
  if (x == 0)
    return x;
  DefaultFloatEnvironment environment;
  return sinTurnsToDouble(x, 0);
}

double cosTurnsOfHalf(double x) {
  DefaultFloatEnvironment environment;
  return sinTurnsToDouble(x, 1);
}

uint64_t twoOverPiBits(unsigned position) {
  // 2/pi = 0.101000101111100110000011...b, the first bit first, cut after 1201 bits. A test derives
  // it from Machin's formula.
  static constexpr uint64_t kTwoOverPi[] = {
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
      0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
      0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
      0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
      0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0x0000000000000000};
  constexpr unsigned kWords = sizeof(kTwoOverPi) / sizeof(kTwoOverPi[0]);
  auto word = [](unsigned index) { return index < kWords ? kTwoOverPi[index] : 0; };
  unsigned index = position / 64, shift = position % 64;
  uint64_t bits = word(index) << shift;
  if (shift)
    bits |= word(index + 1) >> (64 - shift);
  return bits >> 11;
}

} // namespace rubia::emulator
