// SPDX-License-Identifier: Apache-2.0
// What an H100 makes of the gradients of a texture: docs/textures.md, "Gradients".
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rubia::reference::interpreter {

using Gradient = std::array<double, 3>; // of texels, each of ten bits

/// The gradient of a dimension in texels, of ten bits.
double gradientInTexels(double gradient, double size);
/// Of two gradients in texels, of ten bits.
double gradientSum(double x, double y);

/// Samples of one level of detail along the longer axis of an ellipse.
struct EllipseSample {
  std::array<int, 2> steps; // from the middle, in 256ths of texels
  unsigned weight;          // of `unit`: of all samples
};
struct EllipseSamples {
  std::vector<EllipseSample> samples;
  unsigned unit = 256;
};

/// What two gradients span.
class Ellipse {
public:
  /// Without `hasDiagonals` its longer axis is one of both.
  Ellipse(const Gradient &a, const Gradient &b, bool hasDiagonals);
  /// The logarithm of the longer axis, in 256ths.
  int64_t longer() const { return major; }
  /// The same of the shorter one, which a largest ratio of the axes allows.
  int64_t width(unsigned largestRatio) const;
  /// Of a level of detail that has `share` of 256. `narrower` and `wider`: than a sample at the
  /// level of detail its own are, in 256ths of the logarithm.
  EllipseSamples samples(unsigned largestRatio, unsigned share, unsigned narrower,
                         unsigned wider) const;

private:
  Gradient along;
  int64_t major, minor;
};

} // namespace rubia::reference::interpreter
