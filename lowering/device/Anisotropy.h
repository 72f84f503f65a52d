// SPDX-License-Identifier: Apache-2.0
// Samples along the longer axis of an ellipse, as an H100 takes them.
//
// The width of a sample is the shorter axis, or what the largest ratio of the axes allows, whose
// logarithm is cut to 16ths. At a level of detail it is at least a texel. As many samples as widths
// fit into the longer axis lie a width apart. Their weights are 1024ths; the outer two have what is
// left.
#pragma once

#include "lowering/device/Gradients.h"

namespace {

struct Ellipse {
  int32_t width; // the level of detail: the logarithm of the shorter axis, in 256ths
  int32_t ratio; // of the axes: its logarithm, in 256ths
  int32_t x, y;  // the direction of the longer one: 64 is 1

  INLINE Ellipse(Record *record, Numbers a, Numbers b) {
    const LongerAxis<2> axis(a, b);
    const int32_t longer = logarithmOf(axis.length);
    const float area = __builtin_fabsf(sumOf(productOf(a.x, b.y), -productOf(a.y, b.x)));
    const int32_t shorter = logarithmOf(area) - longer,
                  least = longer - (logarithmOf(float(record->maxAnisotropy)) & ~15);
    width = shorter < least ? least : shorter > longer ? longer : shorter;
    ratio = longer - (width > 0 ? width : 0);
    direct(axis.vector);
  }

private:
  /// The larger component counts in eighths of its power of two, the smaller one in as many, and is
  /// 0 below a quarter. Both are the middle of their steps.
  INLINE void direct(Numbers vector) {
    const float sizeX = __builtin_fabsf(vector.x), sizeY = __builtin_fabsf(vector.y),
                high = larger(sizeX, sizeY), low = smaller(sizeX, sizeY);
    const uint32_t bits = asBits(high), quarters = uint32_t(low * 32 / asFloat(bits & 0x7f800000));
    const float major = float(17 + 2 * (bits >> 20 & 7)), minor = float(1 + 2 * (quarters >> 2)),
                length = __builtin_sqrtf(major * major + minor * minor);
    int32_t along = 64, across = 0;
    if (quarters) {
      along = floorOf(major * 64 / length + 0.5f);
      across = floorOf(minor * 64 / length + 0.5f);
    }
    x = sizeY > sizeX ? across : along;
    y = sizeY > sizeX ? along : across;
    x = vector.x < 0 ? -x : x;
    y = vector.y < 0 ? -y : y;
  }
};

/// The samples at one level of detail.
class SampleRow {
  int32_t x, y;   // the direction, times the distance of samples
  uint32_t inner; // the weight of all but the outer samples
  uint32_t half;  // the weights of one side
  uint32_t sides; // how many samples a side has
  uint32_t shift; // from weights to 1024ths
  bool isPair;

public:
  /// `wider`: by how much a sample is wider than a texel of the level, in 256ths of the logarithm.
  INLINE SampleRow(const Ellipse &ellipse, int32_t ratio, int32_t wider)
      : x(ellipse.x), y(ellipse.y), inner(256), half(256), sides(1), shift(2), isPair(false) {
    const int32_t spread =
        wider > 0 ? floorOf(__builtin_fmaf(exponential(float(wider) * (1.0f / 256)), 64.0f, 0.25f))
                  : 64;
    if (ratio <= 0) {
      sides = 0;
      return;
    }
    const int32_t octave = ratio >> 8, rest = ratio & 255;
    const auto part =
        uint32_t(floorOf(__builtin_fmaf(exponential(float(-rest) * (1.0f / 256)), 256.0f, 0.5f)));
    isPair = octave == 0;
    shift = octave > 1 ? 0 : 1;
    half = octave > 1 ? 512 : 256;
    inner = octave > 2 ? part >> (octave - 2) : part;
    if (isPair) { // they lie nearer, in steps of 128ths
      x = (int32_t(256 - part) * x + 64) >> 7;
      y = (int32_t(256 - part) * y + 64) >> 7;
      inner = 256;
    }
    x = (x * spread) >> 6;
    y = (y * spread) >> 6;
    while (sides * inner < half)
      ++sides;
  }

  /// Calls `sample(offset in 256ths of texels, weight, shift from weights to 1024ths)`. `share`:
  /// what the level of detail has, of 256; the weights of all samples together are rounded.
  template <class Sample> INLINE void forEach(uint32_t share, Sample sample) const {
    if (sides == 0) {
      sample(Integers{}, share, shift);
      return;
    }
    uint32_t sum = 0, before = 0;
    NO_UNROLL for (int32_t at = -int32_t(sides); at < int32_t(sides); ++at) {
      const auto fromMiddle = uint32_t(at < 0 ? -1 - at : at);
      sum += fromMiddle + 1 == sides ? half - inner * fromMiddle : inner;
      const uint32_t so = (sum * share + 128) >> 8;
      const int32_t place = isPair ? (at < 0 ? -2 : 2) : 4 * at + 2;
      sample(Integers{x * place, y * place, 0, 0}, so - before, shift);
      before = so;
    }
  }
};

} // namespace
