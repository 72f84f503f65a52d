// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: which there are, and what a kernel can read through them. The driver tells
// most of it when it is asked, but not which objects there are, nor the size of linear memory that
// a reference has.
#pragma once

#include "diff/forward/CapsuleWriter.h"
#include "diff/forward/Containers.h"
#include "diff/forward/Driver.h"

namespace rubia::forward {

/// CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR.
struct ArrayDescriptor {
  size_t width, height;
  int format;
  unsigned channels;
};
struct Array3DDescriptor {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
static_assert(sizeof(ArrayDescriptor) == 24 && sizeof(Array3DDescriptor) == 40);

/// CUDA_RESOURCE_DESC, of which the bytes are recorded as they are.
struct Resource {
  int type;
  union {
    Handle array; // or mipmapped array
    DevicePointer address;
    uint8_t bytes[128];
  };
  unsigned flags;
};
inline constexpr int kArrayResource = 0, kMipmappedResource = 1, kLinearResource = 2,
                     kPitchedResource = 3;
struct Sampler { // CUDA_TEXTURE_DESC
  int addressModes[3], filter;
  unsigned flags, maxAnisotropy;
  int mipmapFilter;
  float levelBias, minLevel, maxLevel, border[4];
  int reserved[12];
};
struct View { // CUDA_RESOURCE_VIEW_DESC
  uint8_t bytes[112];
};
static_assert(sizeof(Resource) == 144 && sizeof(Sampler) == 104);

struct RecordedTexture {
  uint64_t handle;  // of an object; 0: a reference
  const char *name; // of a reference
  bool isSurface;
  Resource resource;
  Sampler sampler;
  View view; // zeros: none
  int array; // in RecordedArrays; -1: it is linear memory
};

struct RecordedArray {
  Handle handle; // of a mipmapped array if it has levels
  Array3DDescriptor descriptor;
  unsigned levels; // 0: an array
  uint64_t bytes;  // of all levels, rows side by side
  Digest before, after;
};

class Textures {
public:
  // What hooks see.
  void created(uint64_t handle, bool isSurface);
  void destroyed(uint64_t handle, bool isSurface);
  void referenceFound(Handle module, const char *name, Handle reference, bool isSurface);
  void bound(Handle reference, const Resource *linear); // null: to an array
  void unloaded(Handle module);
  bool any() const { return !objects.empty() || !references.empty(); }

  /// All objects, and the references of a module, of the current context; and their arrays. Null,
  /// or why they cannot be recorded.
  const char *list(Handle module, Array<RecordedTexture> &textures,
                   Array<RecordedArray> &arrays) const;

private:
  struct Object {
    uint64_t handle;
    bool isSurface;
  };
  struct Reference {
    Handle module;
    const char *name; // never freed
    Handle reference;
    bool isSurface, isLinear;
    Resource linear;
  };
  /// False: it is not to be recorded, or cannot be, for a `problem`.
  static bool describe(const Object &object, RecordedTexture &texture, const char *&problem);
  static bool describe(const Reference &reference, RecordedTexture &texture, const char *&problem);
  Array<Object> objects;
  Array<Reference> references;
};

/// The contents of all levels, `array.bytes` bytes. False: the driver refuses.
bool readArray(const RecordedArray &array, uint8_t *to);

} // namespace rubia::forward
