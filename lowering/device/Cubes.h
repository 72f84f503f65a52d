// SPDX-License-Identifier: Apache-2.0
// Cube maps: faces of directions, and filters that go across the edges of faces.
#pragma once

#include "lowering/device/Gradients.h"

namespace {

/// The face that a direction meets, and where: s and t of [-most, most].
template <class T> struct OnFace {
  uint32_t face;
  T s, t, most;
};
/// How much a part of a direction counts: one that is no number less than none.
INLINE float magnitude(float value) { return value == value ? __builtin_fabsf(value) : -1; }
INLINE int32_t magnitude(int32_t value) { return value < 0 ? -value : value; }
/// Where a direction meets the plane of a face.
template <class T> INLINE OnFace<T> onFace(uint32_t face, T x, T y, T z) {
  const bool isNegative = face & 1;
  if (face >= 4)
    return {face, isNegative ? -x : x, -y, isNegative ? -z : z};
  if (face >= 2)
    return {face, x, isNegative ? -z : z, isNegative ? -y : y};
  return {face, isNegative ? z : -z, -y, isNegative ? -x : x};
}
/// The face of z goes before that of y, that of y before that of x.
template <class T> INLINE uint32_t faceOf(T x, T y, T z) {
  const T ax = magnitude(x), ay = magnitude(y), az = magnitude(z);
  return az >= ax && az >= ay ? 4 + (z < 0) : ay >= ax ? 2 + (y < 0) : 0 + (x < 0);
}

/// An H100's rcp.approx.ftz of a number without a sign, bit for bit. docs/textures.md has the rule.
INLINE float reciprocalOf(Record *record, float number) {
  if (!(number >= 0x1p-126f))
    return number == number ? __builtin_inff() : number;
  if (number > 0x1p126f)
    return 0;
  const uint32_t bits = asBits(number), x = bits & 0xffff, high = x >> 8;
  const GLOBAL ReciprocalPart &part = tablesOf(record)->reciprocals[bits >> 16 & 127];
  uint32_t square =
      high * high >> 1; // of x, in units of 2^17: products of single bits below count for nothing
  UNROLL for (unsigned i = 1; i < 8; ++i) square += x >> i & 1 ? x >> (16 - i) : 0;
  const uint64_t sum =
      (uint64_t(part.c0) << 14) - 2 * uint64_t(part.c1) * x + 2 * uint64_t(part.c2) * square + 4046;
  return float(uint32_t(sum >> 16)) * 0x1p-24f * asFloat((254 - (bits >> 23)) << 23);
}

/// A direction, by the reciprocal of its largest part: that one is about 1. A part that is no
/// number is 0, which leads to the middle of a face.
struct Direction {
  float x, y, z;
  uint32_t face;

  INLINE Direction(Record *record, float dx, float dy, float dz) {
    const float most = __builtin_fmaxf(__builtin_fmaxf(__builtin_fabsf(dx), __builtin_fabsf(dy)),
                                       __builtin_fabsf(dz));
    const float scale = reciprocalOf(record, most);
    x = dx * scale;
    y = dy * scale;
    z = dz * scale;
    face = faceOf(x, y, z);
    auto number = [](float part)
                      INLINE_LAMBDA { return part == part ? flushed(part) + 0 : 0; }; // no -0
    x = number(x);
    y = number(y);
    z = number(z);
  }
  INLINE OnFace<float> onFace() const { return ::onFace(face, x, y, z); }
};

/// Coordinates of a place on a face, of [0, 1]: sums with 1 are cut as coordinates are.
INLINE Numbers placeOnFace(const OnFace<float> &on) {
  auto place = [](float part) INLINE_LAMBDA {
    const float near = __builtin_fmaxf(__builtin_fminf(part, 2), -2);
    constexpr int32_t kHalf = 1 << (kFraction - 1);
    return float(floorOf(near * float(kHalf)) + kHalf) * (0.5f / kHalf);
  };
  return {place(on.s), place(on.t), 0, 0};
}

/// How far the place on a face moves with a direction, in texels: `half` are half a face. Where it
/// leaves the face, the next one lies beside it in one plane; both ways to the edge have ten bits.
struct CubeGradient {
  Numbers vector;
  bool leavesFace;

  /// `to`: a direction, and where the gradient leads from there.
  INLINE CubeGradient(const OnFace<float> &on, const Direction &to, float half) {
    const uint32_t next = to.face;
    leavesFace = next != on.face;
    auto texels = [&](float way)
                      INLINE_LAMBDA { return productOf(cutGradient(way), cutGradient(half)); };
    // The end of the gradient, seen from the face where it begins.
    const OnFace<float> end = onFace(on.face, to.x, to.y, to.z);
    const float s = on.s, t = on.t;
    if (!leavesFace) {
      vector = {texels(end.s - s), texels(end.t - t), 0, 0};
      return;
    }
    if (next / 2 == on.face / 2) { // the opposite one lies a whole face away
      vector = {texels(end.s - s), texels(end.t - t), texels(2), 0};
      return;
    }
    const bool isAlongS = next / 2 == (on.face < 2 ? 2 : 0);
    const float height = end.most; // above the middle of the next face
    auto across = [&](float from, float direction) INLINE_LAMBDA {
      const bool isDown = __builtin_signbit(direction); // of a zero too
      const float way = sumOf(texels(1 - (isDown ? -from : from)), texels(1 - height));
      return isDown ? -way : way;
    };
    const float alongS = isAlongS ? across(s, end.s) : texels(end.s - s),
                alongT = isAlongS ? texels(end.t - t) : across(t, end.t);
    vector = {alongS, alongT, 0, 0};
  }
};

/// A texel of a face and its neighbours.
struct CubeTexel {
  uint32_t face;
  int32_t x, y;
};
/// The texel that a face has at (x, y), of which one may be outside by one: then it is the texel of
/// the next face that meets the edge there.
INLINE CubeTexel acrossEdge(uint32_t face, int32_t x, int32_t y, int32_t last) {
  // In halves of texels from the middle of a face: texels lie at odd or even distances up to
  // `last`, edges at size.
  const int32_t size = last + 1;
  int32_t s = 2 * x - last, t = 2 * y - last, most = size;
  if (s > last || s < -last) {
    most = 2 * size - magnitude(s);
    s = s < 0 ? -size : size;
  } else if (t > last || t < -last) {
    most = 2 * size - magnitude(t);
    t = t < 0 ? -size : size;
  } else {
    return {face, x, y};
  }
  const bool isNegative = face & 1;
  const int32_t along = isNegative ? -most : most;
  const auto meet = [](int32_t x, int32_t y, int32_t z)
                        INLINE_LAMBDA { return onFace(faceOf(x, y, z), x, y, z); };
  const OnFace<int32_t> on = face < 2   ? meet(along, -t, isNegative ? s : -s)
                             : face < 4 ? meet(s, along, isNegative ? -t : t)
                                        : meet(isNegative ? -s : s, -t, along);
  return {on.face, (on.s + last) >> 1, (on.t + last) >> 1};
}

/// The texels around a place on a face. Where three faces meet, there are three: of the fourth's
/// weight the two that lie beside it have a third each, and the opposite one the rest. A place that
/// is beyond two edges is brought back to the texels that meet there.
struct SeamFootprint {
  static constexpr unsigned kTaps = 4;
  uint64_t addresses[4];
  uint32_t weights[4];
  uint32_t counted = 0; // a bit for each tap: the place lies between it and others

  /// `cube`: the slice of face 0.
  INLINE SeamFootprint(unsigned shift, const Grid &grid, Numbers at, uint64_t cube, uint32_t face,
                       uint32_t part, Integers steps = Integers{}) {
    constexpr uint32_t kMode = kNormalizedCoordinates;
    const int32_t last = grid.last[0];
    Taps taps[3] = {};
    int32_t first[2];
    UNROLL for (unsigned i = 0; i < 2; ++i) {
      const int32_t fixed = pairOf(grid, kMode, at[i], AddressMode::Clamp, i, steps[i]);
      taps[i].weight = uint32_t(fixed) & 255;
      first[i] = fixed >> 8;
    }
    const auto isAtEdge = [&](int32_t at) INLINE_LAMBDA { return uint32_t(at) >= uint32_t(last); };
    if (isAtEdge(first[0]) && isAtEdge(first[1])) {
      UNROLL for (unsigned i = 0; i < 2; ++i) {
        if (first[i] < -1)
          taps[i].weight = 0;
        else if (first[i] > last)
          taps[i].weight = 256;
        first[i] = clampTo(first[i] + 1, last + 1) - 1;
      }
    }
    weigh<2>(taps, part, weights);
    uint32_t corner = 4;
    UNROLL for (unsigned tap = 0; tap < 4; ++tap) {
      const bool isBetween =
          taps[0].weight != (tap & 1 ? 0 : 256) && taps[1].weight != (tap >> 1 ? 0 : 256);
      counted |= uint32_t(isBetween) << tap;
      const int32_t x = first[0] + int32_t(tap & 1), y = first[1] + int32_t(tap >> 1);
      if (uint32_t(x) > uint32_t(last) && uint32_t(y) > uint32_t(last))
        corner = tap;
      const CubeTexel texel = acrossEdge(face, clampTo(x + last + 1, 3 * last + 2) - last - 1,
                                         clampTo(y + last + 1, 3 * last + 2) - last - 1, last);
      addresses[tap] = cube + texel.face * grid.slicePitch +
                       columnOffset(grid, uint32_t(clampTo(texel.x, last)) << shift) +
                       uint32_t(clampTo(texel.y, last)) * grid.rowPitch;
    }
    if (corner == 4)
      return;
    counted &= ~(1u << corner);
    const uint32_t missing = chosen(weights, corner), third = (2 * missing + 3) / 6;
    UNROLL for (unsigned tap = 0; tap < 4; ++tap) {
      const uint32_t apart = tap ^ corner;
      weights[tap] = apart == 0   ? 0
                     : apart == 3 ? weights[tap] + missing - 2 * third
                                  : weights[tap] + third;
    }
  }
  INLINE uint64_t address(unsigned tap) const { return chosen(addresses, tap); }
  INLINE bool isOutside(unsigned) const { return false; }
  INLINE uint32_t weight(unsigned tap) const { return chosen(weights, tap); }
  INLINE bool counts(unsigned tap) const { return counted >> tap & 1 || weight(tap) != 0; }
  INLINE uint32_t borderWeight() const { return 0; }
};

} // namespace
