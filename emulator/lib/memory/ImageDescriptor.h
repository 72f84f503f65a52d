// SPDX-License-Identifier: Apache-2.0
// What a kernel finds an image by: eight words of a resource (T#) and four of a sampler (S#), whose
// fields lie elsewhere in each generation (RDNA2, RDNA3, RDNA4 ISA "Image Resource Definition" and
// "Image Sampler"). HIP's functions write them, and image instructions read them.
#pragma once

#include <cstdint>

namespace rubia::emulator {

enum class ImageType : uint8_t {
  OneDimension = 8,
  TwoDimensions,
  ThreeDimensions,
  Cube, // faces, or faces of layers
  OneDimensionLayers,
  TwoDimensionLayers,
};

/// The fields as the hardware has them: sizes less one, an address in units of 256 bytes.
struct ImageDescriptor {
  static constexpr unsigned kWords = 8;

  uint64_t address = 0;
  uint32_t format = 0;
  uint32_t width = 0, height = 0;
  uint32_t depth = 0; // of three dimensions; else the last layer, or the pitch in texels
  uint32_t firstLayer = 0;
  uint32_t select[4] = {4, 5, 6, 7}; // what a component is: 0, 1, or 4 + channel
  uint32_t baseLevel = 0, lastLevel = 0, maxLevel = 0;
  uint32_t minLod = 0; // in units of 1/256
  uint32_t tiling = 0; // 0: rows
  uint32_t isCompressed = 0;
  uint32_t type = uint32_t(ImageType::TwoDimensions);

  static ImageDescriptor read(const uint32_t *words, unsigned isa);
  void write(uint32_t *words, unsigned isa) const;
};

enum class ImageClamp : uint8_t {
  Wrap,
  Mirror,
  Edge,
  MirrorOnceEdge,
  HalfBorder,
  MirrorOnceHalfBorder,
  Border,
  MirrorOnceBorder,
};
enum class ImageFilter : uint8_t { Point, Linear, AnisotropicPoint, AnisotropicLinear };
enum class LevelFilter : uint8_t { None, Point, Linear, AnisotropicPoint };
enum class ImageBorder : uint8_t { TransparentBlack, OpaqueBlack, OpaqueWhite, FromTable };

struct SamplerDescriptor {
  static constexpr unsigned kWords = 4;

  uint32_t clamp[3] = {};
  uint32_t anisotropy = 0; // log2 of the largest ratio
  uint32_t isUnnormalized = 0;
  uint32_t forcesLinear = 0; // FORCE_DEGAMMA
  uint32_t truncates = 0;    // TRUNC_COORD
  uint32_t separatesFaces = 0;
  uint32_t filterMode = 0; // 0: blends; else the least or the greatest of the texels
  uint32_t skipsLinear = 0;
  uint32_t minLod = 0, maxLod = 0; // in units of 1/256
  uint32_t lodBias = 0;            // the same, signed, of 14 bits
  uint32_t magFilter = 0, minFilter = 0, levelFilter = 0;
  uint32_t depthFilter = 0; // of z: as the others, a point, linear
  uint32_t border = 0;

  static SamplerDescriptor read(const uint32_t *words, unsigned isa);
  void write(uint32_t *words, unsigned isa) const;
};

/// Where the texels of an image without tiles lie. A slice (a layer, a face, a depth) has all
/// levels, the smallest first; rows begin at multiples of 256 bytes. No manual says so: images are
/// made by the emulator's own HIP functions.
struct ImageLayout {
  uint32_t texelBytes = 0;
  uint32_t width = 0, height = 0; // of level 0
  unsigned levels = 1;
  uint64_t pitch = 0; // bytes from row to row of level 0; 0: as above

  static uint32_t extentAt(uint32_t extent, unsigned level) {
    return extent >> level ? extent >> level : 1;
  }
  uint64_t rowBytes(unsigned level) const {
    const uint64_t bytes = uint64_t(extentAt(width, level)) * texelBytes;
    return pitch && level == 0 ? pitch : (bytes + 255) / 256 * 256;
  }
  uint64_t levelBytes(unsigned level) const { return rowBytes(level) * extentAt(height, level); }
  uint64_t levelOffset(unsigned level) const {
    uint64_t offset = 0;
    for (unsigned smaller = levels; --smaller > level;)
      offset += levelBytes(smaller);
    return offset;
  }
  uint64_t sliceBytes() const { return levelOffset(0) + levelBytes(0); }
};

} // namespace rubia::emulator
