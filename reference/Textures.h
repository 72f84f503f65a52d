// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces as the interpreter takes them. Numbers mean what CUDA's driver API says.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>
#include <string>

namespace rubia::reference {

/// Texels of an array or of memory, which the caller owns: all levels, one behind the other; of a
/// level slices of rows, of which texels lie side by side.
struct Texels {
  llvm::MutableArrayRef<uint8_t> bytes;
  uint64_t width = 0, height = 0, depth = 0; // of level 0; 0: fewer dimensions. Layers are depth
  int format = 0;                            // CUarray_format
  unsigned channels = 1;
  unsigned levels = 1, firstLevel = 0; // that are seen
  unsigned levelsOfArray = 0; // 0: it is not mipmapped; several: coordinates are normalised
  unsigned firstLayer = 0, layers = 0; // of a view; of cube maps the first one counts faces; 0: all
  bool isLayered = false, isCube = false;
  bool isLinear = false; // memory of one dimension
  uint64_t pitch = 0;    // bytes from row to row; 0: rows lie side by side
};

/// CUDA_TEXTURE_DESC.
struct SamplerState {
  int addressModes[3] = {1, 1, 1};
  bool isLinear = false, hasLinearLevels = false;
  unsigned flags = 0, maxAnisotropy = 0; // CU_TRSF_*
  float levelBias = 0, minLevel = 0, maxLevel = 0;
  float border[4] = {};
};

struct TextureObject {
  uint64_t handle = 0; // of an object
  std::string name;    // of a reference of the module, which has no handle
  bool isSurface = false;
  Texels texels;
  SamplerState sampler;
};

} // namespace rubia::reference
