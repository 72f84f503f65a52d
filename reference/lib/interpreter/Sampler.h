// SPDX-License-Identifier: Apache-2.0
// What an H100 reads from a texture: docs/textures.md, "The sampler".
#pragma once

#include "reference/Interpreter.h"
#include "reference/lib/interpreter/Gradients.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace rubia::reference::interpreter {

/// The meaning of a channel's bits.
struct TexelFormat {
  unsigned bytes = 0; // of a channel
  bool isSigned = false;
  enum class Meaning : uint8_t { Integer, Normalized, Half, Float } meaning = Meaning::Integer;

  bool isSignedInteger() const { return isSigned && meaning == Meaning::Integer; }
  /// Of a CUarray_format; no bytes: not known.
  static TexelFormat of(int format);
};

using Texel = std::array<uint32_t, 4>; // words as registers get them

/// A place between texels.
struct SamplePlace {
  unsigned dimensions = 2;
  bool isCube = false;
  std::array<float, 3> at = {};
  uint32_t layer = 0;
  std::array<int, 3> offsets = {};               // of texels
  std::array<int, 2> steps = {};                 // the same, in 256ths
  std::optional<float> level;                    // tex.level
  std::optional<std::array<float, 6>> gradients; // tex.grad: by x of all dimensions, then by y
};

class Sampler {
public:
  explicit Sampler(const TextureObject &texture, const Movement &movement = {});
  /// Why the texture cannot be read; empty: it can be.
  std::string whyNot(bool isCube) const;
  Texel sample(const SamplePlace &place) const;
  /// tld4: one channel of the four texels around the place.
  Texel gather(const SamplePlace &place, unsigned channel) const;
  /// By integers; 0 outside. `isRow`: by tex.1d, which is for memory.
  Texel fetch(uint32_t layer, std::array<int64_t, 3> at, bool isRow) const;
  /// Width, height and depth as txq and suq tell them.
  std::array<uint32_t, 3> sizes(bool ofSurface) const;
  /// The same of a level of detail, as txq.level tells them; 0 if there is no such level.
  std::array<uint32_t, 3> sizesAtLevel(uint32_t level) const;

  /// A level's sizes and its texels.
  struct Grid {
    std::array<int64_t, 3> sizes = {1, 1, 1};
    uint8_t *bytes = nullptr;
    uint64_t rowBytes = 0, sliceBytes = 0;
  };
  Grid gridOf(unsigned level) const;
  unsigned texelBytes() const { return format.bytes * texels.channels; }

private:
  struct Axis {
    int64_t index = 0;   // of the lower texel
    unsigned weight = 0; // of the upper one, of 256
  };
  struct Tap {
    const uint8_t *texel = nullptr; // null: the border
    unsigned weight = 0;
    bool counts = false; // the place lies between it and others, whatever the weight
  };
  using Taps = llvm::SmallVector<Tap, 16>;
  struct Detail {
    unsigned level = 0, fraction = 0; // of 256, of the next level
  };
  Detail detailOf(const SamplePlace &place) const;
  /// Of a level of detail in 256ths, to which the sampler's bias is yet to be added.
  Detail detailAt(int64_t steps, bool isAsked) const;
  int64_t risen(int64_t steps) const;
  int64_t bias() const; // of levels, in 256ths
  /// Texels of the first level in a dimension, of which a view of levels may have no whole number.
  double sizeForGradients(unsigned dimension) const;
  Ellipse ellipseOf(const SamplePlace &place) const;
  /// The same of a cube map's. `isOnFace`: no gradient leaves the face; others have no anisotropy.
  Ellipse cubeEllipseOf(const SamplePlace &place, bool &isOnFace) const;
  Texel sampleEllipse(const SamplePlace &place, const Ellipse &ellipse) const;
  /// The largest ratio of the axes of ellipses.
  unsigned anisotropy() const;
  bool isAnisotropic() const { return anisotropy() > 1; }
  Axis axisOf(double coordinate, int64_t size, int mode, int offset, int step, bool isLinear) const;
  static void dropWhereClamped(Axis &axis, int64_t size, int mode);
  int modeOf(unsigned dimension) const;
  /// The texel of an index after the address mode; -1: the border.
  static int64_t addressed(int64_t index, int64_t size, int mode);
  void addTaps(const SamplePlace &place, unsigned level, unsigned weight, bool isLinear,
               Taps &taps) const;
  void addCubeTaps(const SamplePlace &place, const Grid &grid, unsigned weight, bool isLinear,
                   Taps &taps) const;
  const uint8_t *texelAt(const Grid &grid, std::array<int64_t, 3> at) const;
  /// The layers that there are, and that queries tell.
  int64_t layers() const;
  int64_t toldLayers() const;
  /// The first slice of a layer, or of the last one before it that there is.
  int64_t sliceOf(uint32_t layer) const;
  Texel read(const uint8_t *texel) const;
  /// `isCoarse`: it is known up to a step of the weights (docs/textures.md).
  Texel blend(llvm::ArrayRef<Tap> taps, bool isCoarse, unsigned unit = 256) const;
  struct Blend {
    double sum = -0.0, magnitude = 0; // the latter of all numbers without their signs
  };
  Blend blendNumbers(llvm::ArrayRef<Tap> taps, unsigned channel, unsigned unit) const;
  /// Whether texels are what a filter gives, which knows one NaN and rounds.
  bool blends(unsigned dimensions) const;
  /// A result within its bound. `magnitude`: that of the weighted texels.
  uint32_t movedWord(uint32_t word, double magnitude, bool isCoarse) const;
  /// Whether a channel has sRGB's curve. Alpha has none, and of two channels the second has none.
  bool isCurved(unsigned channel) const {
    return isStandardRgb && channel < (texels.channels == 2 ? 1 : 3);
  }
  float blendCurved(llvm::ArrayRef<Tap> taps, unsigned channel, unsigned unit) const;
  void setBorder();
  double numberOf(uint64_t bits) const;
  uint64_t bitsAt(const uint8_t *texel, unsigned channel) const;
  uint64_t borderBits(unsigned channel) const;
  int64_t normalizedBorder(double colour) const;

  const Texels &texels;
  const SamplerState &state;
  const Movement movement;
  TexelFormat format;
  bool isNormalizedCoordinates, isStandardRgb;
  std::vector<uint8_t> border; // a texel
};

} // namespace rubia::reference::interpreter
