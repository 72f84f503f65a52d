// SPDX-License-Identifier: Apache-2.0
// HIP's arrays: images whose rows lie as the emulated hardware finds them (ImageLayout), so that a
// copy of one is a copy of pitched memory. HIP: "Texture Management".
#pragma once

#include "emulator/hip/Api.h"
#include "emulator/hip/Operation.h"
#include "emulator/lib/memory/ImageDescriptor.h"
#include "emulator/lib/memory/ImageFormat.h"

namespace rubia::targets::Fact {
extern const GenerationFact hasImages;
} // namespace rubia::targets::Fact

namespace rubia::emulator::hip {

/// Texels in a dimension, and layers or depths: what descriptors of every generation hold.
constexpr size_t kMostTexels = 16384, kMostSlices = 8192;
/// Of linear memory.
constexpr size_t kMostLinearTexels = size_t(1) << 28;

/// Texels as a program describes them.
struct TexelType {
  hipChannelFormatKind kind = hipChannelFormatKindNone;
  unsigned bits = 0, channels = 0;

  /// No bits if the description is none that an image can have.
  static TexelType of(const hipChannelFormatDesc &desc);
  static TexelType of(hipArray_Format format, unsigned channels);
  hipChannelFormatDesc description() const;
  hipArray_Format format() const;
  unsigned bytes() const { return bits / 8 * channels; }
  friend bool operator==(const TexelType &, const TexelType &) = default;
};

/// Sizes in texels, as HIP counts them: 0 for dimensions that there are not; layers and faces are
/// the depth.
struct ImageShape {
  size_t width = 0, height = 0, depth = 0;
  unsigned flags = 0; // hipArrayLayered, hipArrayCubemap, ..

  bool isLayered() const { return flags & hipArrayLayered; }
  bool isCube() const { return flags & hipArrayCubemap; }
  ImageType type() const;
  /// Layers, faces or depths.
  uint32_t slices() const { return depth ? uint32_t(depth) : 1; }
};

struct ImageMipmap;

/// A hipArray_t. Programs of HIP 5 see the first fields.
struct ImageArray : hipArray {
  ImageShape shape;
  TexelType texel;
  ImageLayout layout; // of all levels
  uint64_t base = 0;  // of all levels
  unsigned level = 0;
  const ImageMipmap *owner = nullptr; // whose level it is

  /// Where a texel lies, x in bytes.
  char *at(size_t x, size_t y, size_t z) const;
  size_t rowPitch() const { return layout.rowBytes(level); }
  size_t slicePitch() const { return layout.sliceBytes(); }
  size_t rowBytes() const { return shape.width * texel.bytes(); }
  size_t rows() const { return shape.height ? shape.height : 1; }
  /// Whether a box, x and width in bytes, is inside.
  bool contains(size_t x, size_t y, size_t z, size_t width, size_t height, size_t depth) const;
};

/// A hipMipmappedArray_t.
struct ImageMipmap : hipMipmappedArray {
  std::vector<std::shared_ptr<ImageArray>> levels;
};

/// CDNA 2 and later have no image hardware; that of GCN 5 and CDNA 1 is not emulated.
inline bool hasImages(const targets::Target &target) {
  return targets::Fact::hasImages(target) && target.isa >= 10;
}
/// hipErrorNotSupported where the current device has none.
hipError_t imagesUsable(const char *function);

hipError_t makeArray(hipArray_t *out, const ImageShape &shape, const TexelType &texel);
hipError_t makeMipmap(hipMipmappedArray_t *out, const ImageShape &shape, const TexelType &texel,
                      unsigned levels);
hipError_t freeArray(hipArray_t handle);
hipError_t freeMipmap(hipMipmappedArray_t handle);

/// What a handle stands for; null if it is none. It outlives the handle, the memory does not.
std::shared_ptr<const ImageArray> arrayOf(hipArray_const_t handle);
std::shared_ptr<const ImageMipmap> mipmapOf(hipMipmappedArray_const_t handle);

} // namespace rubia::emulator::hip
