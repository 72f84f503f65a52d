// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: device memory in a layout of ours (lowering/Texture.h: TexelGrid), which copies and
// the sampler know.
#pragma once

#include "lowering/Abi.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/texture/Descriptors.h"
#include <map>
#include <optional>

namespace rubia::runtime::cuda {

/// What a texel of an array's format is.
struct FormatFacts {
  unsigned channelShift, channels;      // log2 of a channel's bytes
  bool isSigned, isFloat, isNormalized; // isNormalized: never read as an integer
  unsigned texelShift() const { return channelShift + (channels == 4 ? 2 : channels - 1); }
};
/// Nullopt: there is no such format, or none that we have.
std::optional<FormatFacts> factsOf(int format, unsigned channels);

/// An array, or a level of a mipmapped one, which has no memory of its own.
struct Array {
  Context *context;
  Array3DDescriptor descriptor; // as the program gave it
  abi::TexelGrid grid;
  size_t bytes;
  unsigned texelShift;

  size_t rowBytes() const { return size_t(grid.width) << texelShift; }
  bool isLayered() const { return descriptor.flags & (kArrayLayered | kArrayCubemap); }
};

struct MipmappedArray {
  Context *context;
  Array3DDescriptor descriptor;
  char *memory;
  size_t bytes;
  std::vector<std::shared_ptr<Array>> levels; // which have handles of their own
  void *table = nullptr;                      // abi::TexelGrid of each level, in device memory
  /// The same of the layers that a view has: its first one, and their number.
  std::map<std::pair<uint32_t, uint32_t>, void *> tablesOfLayers;
};

/// The address of a table of the levels, in which there are some slices only.
Result levelsOfSlices(MipmappedArray &array, uint32_t first, uint32_t count, uint64_t &address);

bool isLive(Array *array);
bool isLive(MipmappedArray *array);

/// Ends all that belongs to a context: arrays, textures, surfaces and their records.
Context *contextOf(Array *array); // null: not live
void releaseTextures(Context &context);

} // namespace rubia::runtime::cuda
