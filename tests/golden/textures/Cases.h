// SPDX-License-Identifier: Apache-2.0
// What textures are asked in the recordings: combinations of geometry, format, filter, address mode
// and coordinates. All of it follows from the number of a case, so that a recording holds results
// only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rubia::golden {

enum class Shape { Linear, Pitched, D1, D2, D3, Layered1, Layered2, Cube, LayeredCube };
enum class Ask { Float, Integer, Level, Gradient, Gather, Query };
const char *nameOf(Shape shape);

/// What a texture object sees of its array. Its sizes are those of the array, or of its first
/// level.
struct View {
  bool isThere = false, hasSizesOfLevel = false;
  int format = 0; // 0: the array's
  unsigned channels = 1;
  unsigned firstLevel = 0, lastLevel = 0, firstLayer = 0, lastLayer = 0;
};

struct TextureCase {
  std::string name; // for people; unique
  Shape shape = Shape::D2;
  Ask ask = Ask::Float;
  int format = 0x20;
  unsigned channels = 1;
  unsigned width = 13, height = 0, depth = 0, levels = 0;
  int filter = 0, addressX = 1, addressY = 1, addressZ = 1, mipmapFilter = 0;
  unsigned flags = 0, maxAnisotropy = 0;
  float border[4] = {0.25f, -1.5f, 0.75f, 3};
  float levelBias = 0, minLevel = 0, maxLevel = 0;
  unsigned component = 0; // of a gather
  unsigned scale = 1;     // gradients: texels of the larger one
  unsigned offsets = 0;   // which offsets of texels the instruction has: an index, 0 for none
  bool isWide = false;    // texels have all exponents and digits, and no coordinate is special
  bool hasEdges =
      false; // coordinates next to edges of texels, denormal and large ones; NaN as a gradient
  bool hasInfinities = false; // among the texels
  View view;
  int statusHere = 0; // what Rubia answers instead of an H100, which reads behind the array
};

/// In the order of the recordings, of which there are six.
const std::vector<TextureCase> &textureCases(unsigned recording);

inline constexpr unsigned kTextureCoordinates = 4096;

/// The texels of a level as the copy to the array takes them: slices of rows without gaps.
std::vector<uint8_t> texelsOf(const TextureCase &c, unsigned level);
unsigned texelBytes(const TextureCase &c);

/// Four words for each thread: layer and coordinates in the order of the instruction.
std::vector<uint32_t> coordinatesOf(const TextureCase &c);
/// Which threads ask for a layer that a view promises and its array has not. What these get is
/// nobody's texel.
std::vector<bool> asksBehindLayers(const TextureCase &c);
/// Eight words for each thread: the level of detail, two gradients, or the level of a query.
std::vector<uint32_t> detailsOf(const TextureCase &c);

/// The text of the module with all kernels, and the name of a case's: k(out, texture, coordinates,
/// details).
std::string textureKernels();
std::string kernelOf(const TextureCase &c);

} // namespace rubia::golden
