// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: what a kernel gets is the address of words that AMD's device library
// reads, a resource, three words about it, and a sampler (ockl's image functions; HIP's header has
// the sizes).
#pragma once

#include "emulator/hip/DeviceMemory.h"
#include "emulator/hip/Images.h"

namespace rubia::emulator::hip {

struct TextureObject {
  hipResourceDesc resource;
  hipTextureDesc texture;
  hipResourceViewDesc view;
  bool hasView = false;
  DeviceMemory words;
};

/// Kernels that were launched have ended when this returns.
void awaitKernels();

hipError_t createTexture(hipTextureObject_t *out, const hipResourceDesc *resource,
                         const hipTextureDesc *texture, const hipResourceViewDesc *view);
hipError_t destroyTexture(hipTextureObject_t handle);
/// What an object was made of; null if there is no such object.
std::shared_ptr<const TextureObject> textureOf(hipTextureObject_t handle);

/// Whether texels are integers of 8 or 16 bits, which can be read as numbers of [0, 1] or [-1, 1].
bool mayNormalize(const hipResourceDesc &resource);

hipError_t createSurface(hipSurfaceObject_t *out, const hipResourceDesc *resource);
hipError_t destroySurface(hipSurfaceObject_t handle);

} // namespace rubia::emulator::hip
