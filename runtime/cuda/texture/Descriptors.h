// SPDX-License-Identifier: Apache-2.0
// Arrays, textures and surfaces as they cross the boundary of the driver API, laid out as CUDA's
// ABI has them.
#pragma once

#include "runtime/cuda/Types.h"

namespace rubia::runtime::cuda {

struct Array;                  // CUarray
struct MipmappedArray;         // CUmipmappedArray
struct TextureReference;       // CUtexref
struct SurfaceReference;       // CUsurfref
using ObjectHandle = uint64_t; // CUtexObject, CUsurfObject

enum ArrayFormat : int { // CUarray_format
  kFormatU8 = 1,
  kFormatU16 = 2,
  kFormatU32 = 3,
  kFormatS8 = 8,
  kFormatS16 = 9,
  kFormatS32 = 10,
  kFormatHalf = 0x10,
  kFormatFloat = 0x20,
  kFormatUnorm8x1 = 0xc0, // the first of twelve: u8, u16, s8, s16 of 1, 2 and 4 channels
};

enum ArrayFlag : unsigned { // CUDA_ARRAY3D_*
  kArrayLayered = 1,
  kArraySurface = 2,
  kArrayCubemap = 4,
  kArrayGather = 8,
  kArrayDepth = 0x10,
  kArrayColorAttachment = 0x20,
  kArraySparse = 0x40,
  kArrayDeferredMapping = 0x80,
  kArrayVideo = 0x100, // for the video engines; nothing else changes
};

struct ArrayDescriptor { // CUDA_ARRAY_DESCRIPTOR
  size_t width, height;
  int format;
  unsigned channels;
};
struct Array3DDescriptor { // CUDA_ARRAY3D_DESCRIPTOR
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
static_assert(sizeof(ArrayDescriptor) == 24 && sizeof(Array3DDescriptor) == 40);

struct ArrayMemoryRequirements { // CUDA_ARRAY_MEMORY_REQUIREMENTS
  size_t size, alignment;
  unsigned reserved[4];
};

enum ResourceType : int { kResourceArray, kResourceMipmapped, kResourceLinear, kResourcePitched };

struct ResourceDescriptor { // CUDA_RESOURCE_DESC
  int type;
  union {
    Array *array;
    MipmappedArray *mipmapped;
    struct {
      void *address;
      int format;
      unsigned channels;
      size_t bytes;
    } linear;
    struct {
      void *address;
      int format;
      unsigned channels;
      size_t width, height, pitch;
    } pitched;
    int reserved[32];
  };
  unsigned flags;
};
static_assert(sizeof(ResourceDescriptor) == 144);

enum TextureFlag : unsigned { // CU_TRSF_*
  kReadAsInteger = 1,
  kNormalizedCoordinates = 2,
  kStandardRgb = 0x10,
  kDisableTrilinearOptimization = 0x20,
  kSeamlessCubemap = 0x40,
};
inline constexpr unsigned kOverrideFormat = 1; // CU_TRSA_OVERRIDE_FORMAT

struct TextureDescriptor { // CUDA_TEXTURE_DESC
  int addressMode[3];
  int filter;
  unsigned flags, maxAnisotropy;
  int mipmapFilter;
  float levelBias, minLevel, maxLevel;
  float border[4];
  int reserved[12];
};
static_assert(sizeof(TextureDescriptor) == 104);

struct ViewDescriptor { // CUDA_RESOURCE_VIEW_DESC
  int format;
  size_t width, height, depth;
  unsigned firstLevel, lastLevel, firstLayer, lastLayer;
  unsigned reserved[16];
};
static_assert(sizeof(ViewDescriptor) == 112);

} // namespace rubia::runtime::cuda
