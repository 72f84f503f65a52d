// SPDX-License-Identifier: Apache-2.0
// From a place to the texels around it, and to their blend. What no manual fixes (how coordinates
// and levels are rounded, that blends are rounded once) is in docs/hardware-assumptions.md.
#pragma once

#include "emulator/lib/memory/ImageResource.h"

namespace rubia::emulator {

/// A texel with its share of a blend.
struct ImageTap {
  uint64_t address = 0; // 0: the border
  double weight = 0;
};
struct ImageTaps {
  ImageTap at[32]; // two levels of eight, of which those in corners of cubes are three
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

class Sampling {
public:
  Sampling(const ImageResource &image, const ImageSampler &sampler, const ImageOperation &op)
      : image(image), sampler(sampler), op(op) {}

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
