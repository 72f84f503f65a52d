// SPDX-License-Identifier: Apache-2.0
// The transcendental instructions on single numbers, correctly rounded: the public documents bound
// their error (1 ulp for most f32 ones) but do not say what the hardware's bits are.
//
// Results are computed in double; where that leaves the rounding to the result type undecided they
// are computed again in long double. Only the last rounding follows MXCSR; all denormals of the
// argument type are seen. The rows round to nearest even (assumed: hardware does not apply MODE).
#pragma once

#include <cstdint>

namespace rubia::emulator {

/// 2^x, below 2^-126 with the precision of a denormal.
float exp2Rounded(float x);
float log2Rounded(float x);
/// 1 / sqrt(x).
float reciprocalSqrtRounded(float x);
double reciprocalSqrtRounded(double x);
/// sin and cos of x turns (2 pi x). Out of [-256, 256] sin is 0 and cos is 1, as the GCN3 ISA says;
/// assumed for later generations. sin(-0) is -0, other zeros are positive (assumed).
float sinTurnsRounded(float x);
float cosTurnsRounded(float x);

/// To about 52 bits, for results of f16.
double exp2OfHalf(double x);
double log2OfHalf(double x);
double sinTurnsOfHalf(double x);
double cosTurnsOfHalf(double x);

/// Bits [position, position + 53) of the binary fraction of 2/pi, as an integer. The hardware's
/// constant has 1201 bits; zeros follow.
uint64_t twoOverPiBits(unsigned position);

} // namespace rubia::emulator
