// SPDX-License-Identifier: Apache-2.0
// From a place to the texels around it, and to their blend. What no manual fixes (how coordinates
// and levels are rounded, that blends are rounded once) is in docs/hardware-assumptions.md.
#pragma once

#include "emulator/lib/memory/ImageResource.h"
#include <algorithm>
#include <cmath>

namespace rubia::emulator {

/// A texel with its share of a blend.
struct ImageTap {
  uint64_t address; // 0: the border
  double weight;
};
struct ImageTaps {
  ImageTap at[32]; // two levels of eight, of which those in corners of cubes are three; the first
                   // `count` are there
  unsigned count = 0;
  void add(uint64_t address, double weight) {
    if (weight != 0)
      at[count++] = {address, weight};
  }
};

/// Levels of detail of a sample: the nearer ones to level 0 first.
struct ImageLevels {
  unsigned first = 0;
  double fraction = 0; // of the next level
  bool isMagnified = true;
};

/// A number in units of 1/256, to the nearest.
inline int64_t inFractions(double value) {
  constexpr double kMost = 0x1p40; // beyond it all are outside alike
  const double scaled = (value < -kMost ? -kMost : value > kMost ? kMost : value) * 256 + 0.5;
  const auto cut = int64_t(scaled);
  return cut - (double(cut) > scaled);
}

/// The texel of a point filter, which may be outside.
inline int64_t pointOf(double texels, bool truncates) {
  constexpr double kMost = 0x1p40;
  return truncates ? int64_t(std::floor(std::clamp(texels, -kMost, kMost)))
                   : inFractions(texels) >> 8;
}
/// Brings an index inside. False: it is the border.
bool clampIndex(ImageClamp clamp, int64_t &index, int64_t count);

class Sampling {
public:
  Sampling(const ImageResource &image, const ImageSampler &sampler, const ImageOperation &op)
      : image(image), sampler(sampler), op(op) {}

  /// Whether all details give the same: there is one level, and one filter.
  bool ignoresDetail() const {
    return image.levels() == 1 && sampler.fields.magFilter == sampler.fields.minFilter;
  }
  /// `detail`: the level of detail before bias and bounds.
  ImageLevels levels(const ImageAddress &address, double detail) const;
  /// The level of detail that gradients ask for.
  double detailOf(const ImageAddress &address) const;
  ImageTaps taps(const ImageAddress &address, const ImageLevels &levels) const;
  /// The four texels around a place: upper left, upper right, lower left, lower right.
  void square(const ImageAddress &address, unsigned level, uint64_t (&addresses)[4]) const;
  Texel border() const;

private:
  struct Axis {
    int64_t lower = 0;
    unsigned weight = 0; // of the next texel, of 256
  };
  Axis axisOf(const ImageAddress &address, unsigned i, unsigned level, bool isLinear) const;
  uint32_t sliceOf(const ImageAddress &address) const;
  bool wrap(int64_t &index, unsigned i, unsigned level) const;
  uint64_t addressOf(unsigned level, const int64_t (&index)[3], uint32_t slice) const;
  void addLevel(ImageTaps &taps, const ImageAddress &address, unsigned level, double share,
                bool isLinear, bool isLinearDepth) const;
  void addFace(ImageTaps &taps, unsigned level, const Axis (&axes)[3], uint32_t slice,
               double share) const;

  const ImageResource &image;
  const ImageSampler &sampler;
  const ImageOperation &op;
};

} // namespace rubia::emulator
