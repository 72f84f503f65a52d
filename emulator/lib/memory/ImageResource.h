// SPDX-License-Identifier: Apache-2.0
// An image and a sampler as image instructions use them, or why they cannot.
#pragma once

#include "emulator/lib/memory/ImageDescriptor.h"
#include "emulator/lib/memory/ImageFormat.h"
#include "emulator/lib/memory/ImageOperation.h"
#include "emulator/lib/memory/ImageProblem.h"

namespace rubia::emulator {

struct ImageResource {
  ImageFormat format;
  ImageLayout layout;
  ImageType type = ImageType::TwoDimensions;
  uint64_t base = 0;
  uint32_t depth = 1; // of three dimensions, at level 0
  uint32_t firstLayer = 0, layers = 1;
  unsigned baseLevel = 0, lastLevel = 0;
  float minLod = 0;
  uint32_t select[4] = {};
  ImageProblem problem = ImageProblem::None;

  static ImageResource read(const Wave &w, const ImageOperation &op);

  unsigned levels() const { return lastLevel - baseLevel + 1; }
  /// Of a level that counts from the first one of the view.
  uint32_t extent(unsigned i, unsigned level) const {
    const uint32_t whole = i == 0 ? layout.width : i == 1 ? layout.height : depth;
    return ImageLayout::extentAt(whole, baseLevel + level);
  }
  /// `slice`: of a layer, or a depth.
  uint64_t address(unsigned level, uint32_t x, uint32_t y, uint32_t slice) const {
    const unsigned whole = baseLevel + level;
    return base + (firstLayer + slice) * layout.sliceBytes() + layout.levelOffset(whole) +
           y * layout.rowBytes(whole) + uint64_t(x) * layout.texelBytes;
  }
};

struct ImageSampler {
  SamplerDescriptor fields;
  float minLod = 0, maxLod = 0, lodBias = 0;
  bool isUnnormalized = false;
  ImageProblem problem = ImageProblem::None;

  static ImageSampler read(const Wave &w, const ImageOperation &op, const ImageResource &image);
};

/// The address of the texel with integer coordinates; 0 outside.
uint64_t texelAt(const ImageResource &image, const ImageOperation &op, const ImageAddress &address);

/// Whether lane `lane` may access a texel. Raises a fault if not.
inline bool checkTexel(Wave &w, const MicroOp &op, unsigned lane, uint64_t address, unsigned bytes,
                       bool isWrite) {
  LaneAddresses addresses;
  const unsigned inBlock = lane % kBlockLanes;
  addresses.at[inBlock] = address;
  return checkGlobal(w, op, lane / kBlockLanes, 1u << inBlock, addresses, bytes, isWrite);
}

/// Raises a fault that says what is wrong with a resource or a sampler.
inline bool checkImage(Wave &w, const MicroOp &op, ImageProblem problem) {
  if (problem == ImageProblem::None) [[likely]]
    return true;
  raise(w, op, FaultKind::ImageResource, 0, uint64_t(problem));
  return false;
}

} // namespace rubia::emulator
