// SPDX-License-Identifier: Apache-2.0
// Cube maps: faces of directions, filters that go across edges, and gradients.
#include "reference/lib/interpreter/Reciprocal.h"
#include "reference/lib/interpreter/Sampler.h"
#include "reference/lib/interpreter/SamplerWeights.h"
#include <algorithm>
#include <cmath>

namespace rubia::reference::interpreter {

namespace {

// The axis that a face stands on, and where its own coordinates point to.
struct Face {
  int major, sign; // of x, y, z
  int s, sSign, t, tSign;
};
constexpr Face kFaces[] = {{0, 1, 2, -1, 1, -1}, {0, -1, 2, 1, 1, -1}, {1, 1, 0, 1, 2, 1},
                           {1, -1, 0, 1, 2, -1}, {2, 1, 0, 1, 1, -1},  {2, -1, 0, -1, 1, -1}};

// A direction by the reciprocal of its largest part.
std::array<float, 3> directionOf(const std::array<float, 3> &at) {
  const float scale = approximateReciprocal(
      std::fmax(std::fmax(std::fabs(at[0]), std::fabs(at[1])), std::fabs(at[2])));
  return {at[0] * scale, at[1] * scale, at[2] * scale};
}

// A part of a direction on a face; one that is no number, or a denormal, leads to its middle.
float partOf(const std::array<float, 3> &direction, int axis, int sign) {
  const float part = direction[size_t(axis)];
  return float(sign) * (std::fabs(part) >= 0x1p-126f ? part : 0.0f); // no -0
}

// A part that is no number counts for less than none.
template <typename T> unsigned faceOf(const std::array<T, 3> &direction) {
  const auto magnitude = [&](int axis) -> T {
    const T value = direction[size_t(axis)];
    return value != value ? -1 : value < 0 ? -value : value;
  };
  const int major = magnitude(2) >= magnitude(0) && magnitude(2) >= magnitude(1) ? 2
                    : magnitude(1) >= magnitude(0)                               ? 1
                                                                                 : 0;
  return unsigned(2 * major) + (direction[size_t(major)] < 0);
}

struct FaceTexel {
  unsigned face;
  int64_t x, y;
};

// The texel beyond one edge of a face. Coordinates on the cube are odd numbers of 1 / size.
FaceTexel beyond(unsigned number, int64_t x, int64_t y, int64_t size) {
  const Face &face = kFaces[number];
  std::array<int64_t, 3> at;
  const auto out = [&](int64_t index) { return std::max(-index, index + 1 - size); };
  const int64_t steps = std::min(std::max(out(x), out(y)), size);
  at[size_t(face.major)] = face.sign * (size + 1 - 2 * steps); // folded down by as many
  at[size_t(face.s)] = face.sSign * (2 * x + 1 - size);
  at[size_t(face.t)] = face.tSign * (2 * y + 1 - size);
  const unsigned other = faceOf(std::array<int64_t, 3>{
      face.major == 0 ? 0 : at[0], face.major == 1 ? 0 : at[1], face.major == 2 ? 0 : at[2]});
  const Face &next = kFaces[other];
  const auto index = [&](int axis, int sign) {
    return std::clamp<int64_t>((sign * at[size_t(axis)] + size - 1) / 2, 0, size - 1);
  };
  return {other, index(next.s, next.sSign), index(next.t, next.tSign)};
}

} // namespace

void Sampler::addCubeTaps(const SamplePlace &place, const Grid &grid, unsigned weight,
                          bool isLinear, Taps &taps) const {
  const std::array<float, 3> direction = directionOf(place.at);
  const unsigned number = faceOf(direction);
  const Face &face = kFaces[number];
  // Of [0, 1]. Sums with 1 are cut as coordinates are.
  const auto on = [&](int axis, int sign) {
    constexpr int kHalf = kFractionBits - 1;
    const double steps = std::floor(std::ldexp(partOf(direction, axis, sign), kHalf));
    return std::ldexp(std::clamp(steps, -0x1p21, 0x1p21) + (1 << kHalf), -kFractionBits);
  };
  const int64_t size = grid.sizes[0], slice = sliceOf(place.layer);
  Sampler inFace(*this);
  inFace.isNormalizedCoordinates = true;
  const bool isSeamless = isLinear && state.flags & kSeamless;
  const auto modeAt = [&](unsigned dimension) {
    if (state.flags & kSeamless)
      return isLinear ? kBorder : kClamp; // taps of a filter are looked at one by one
    return Mode(state.addressModes[dimension] & 3);
  };
  const Mode modes[] = {modeAt(0), modeAt(1)};
  Axis x = inFace.axisOf(on(face.s, face.sSign), size, modes[0], 0, place.steps[0], isLinear),
       y = inFace.axisOf(on(face.t, face.tSign), size, modes[1], 0, place.steps[1], isLinear);
  const auto texel = [&](const FaceTexel &at) {
    return texelAt(grid, {at.x, at.y, slice + at.face});
  };
  const auto inFaceAt = [&](int64_t u, int64_t v) {
    return texel({number, addressed(u, size, modes[0]), addressed(v, size, modes[1])});
  };
  if (!isLinear) {
    taps.push_back({inFaceAt(x.index, y.index), weight});
    return;
  }
  const auto isOut = [&](int64_t index) { return index < 0 || index >= size; };
  const auto isAtEdge = [&](const Axis &axis) {
    return isOut(axis.index) || isOut(axis.index + 1);
  };
  if (isSeamless && isAtEdge(x) && isAtEdge(y)) // beyond two edges are the texels that meet there
    for (Axis *axis : {&x, &y}) {
      if (axis->index < -1)
        *axis = {-1, 0};
      else if (axis->index >= size)
        *axis = {size - 1, kOne};
    }
  const unsigned right = share(weight, x.weight), left = weight - right,
                 upperRight = share(right, y.weight), lowerLeft = share(left, kOne - y.weight);
  unsigned weights[4] = {lowerLeft, right - upperRight, left - lowerLeft, upperRight};
  bool counts[4]; // the place lies between the tap and others
  for (unsigned i = 0; i < 4; ++i)
    counts[i] = x.weight != (i & 1 ? 0 : kOne) && y.weight != (i >> 1 ? 0 : kOne);
  for (unsigned i = 0; i < 4 && isSeamless; ++i)
    if (isOut(x.index + (i & 1)) && isOut(y.index + (i >> 1))) { // three texels meet in a corner
      const unsigned third = (weights[i] * 2 + 3) / 6;
      weights[i ^ 1] += third;
      weights[i ^ 2] += third;
      weights[i ^ 3] += weights[i] - 2 * third;
      weights[i] = 0;
      counts[i] = false;
    }
  for (unsigned i = 0; i < 4; ++i) {
    const int64_t u = x.index + (i & 1), v = y.index + (i >> 1);
    if (!weights[i] && !counts[i])
      taps.emplace_back();
    else if (isSeamless && (isOut(u) || isOut(v)))
      taps.push_back({texel(beyond(number, u, v, size)), weights[i], counts[i]});
    else
      taps.push_back({inFaceAt(u, v), weights[i], counts[i]});
  }
}

// Gradients are those of places on the face. Where one leaves it, it goes on in the plane of the
// face, and only the two gradients themselves count.
Ellipse Sampler::cubeEllipseOf(const SamplePlace &place, bool &isOnFace) const {
  const std::array<float, 3> from = directionOf(place.at);
  const unsigned number = faceOf(from);
  const Face &face = kFaces[number];
  const double half = sizeForGradients(0) / 2;
  isOnFace = true;
  Gradient gradients[2] = {};
  for (unsigned i = 0; i < 2; ++i) {
    std::array<float, 3> to;
    for (unsigned k = 0; k < 3; ++k)
      to[k] = place.at[k] + (*place.gradients)[3 * i + k];
    to = directionOf(to);
    const unsigned other = faceOf(to);
    const auto move = [&](int axis, int sign) -> double {
      const float start = partOf(from, axis, sign), end = partOf(to, axis, sign);
      if (kFaces[other].major != axis)
        return gradientInTexels(end - start, half);
      const float height = partOf(to, face.major, face.sign);
      const bool isDown = std::signbit(end);
      const double way = gradientSum(gradientInTexels(1 - (isDown ? -start : start), half),
                                     gradientInTexels(1 - height, half));
      return isDown ? -way : way;
    };
    isOnFace &= other == number;
    const bool isOpposite = (other ^ number) == 1; // it lies a whole face away
    gradients[i] = {move(face.s, face.sSign), move(face.t, face.tSign),
                    isOpposite ? gradientInTexels(2, half) : 0};
  }
  return {gradients[0], gradients[1], isOnFace};
}

} // namespace rubia::reference::interpreter
