// SPDX-License-Identifier: Apache-2.0
// The records that texture and surface handles are the addresses of (lowering/Texture.h): how they
// are made of descriptors, and where they lie.
#pragma once

#include "runtime/cuda/texture/Arrays.h"

namespace rubia::runtime::cuda {

inline constexpr unsigned kKnownTextureFlags = kReadAsInteger | kNormalizedCoordinates |
                                               kStandardRgb | kDisableTrilinearOptimization |
                                               kSeamlessCubemap;
inline constexpr size_t kMaxLinearTexels = size_t(1) << 27;

/// What an object is made of, checked. `view` may be null.
Result makeTextureRecord(Context &context, const ResourceDescriptor &resource,
                         const TextureDescriptor &texture, const ViewDescriptor *view,
                         abi::Texture &record);
Result makeSurfaceRecord(const ResourceDescriptor &resource, abi::Texture &record);

/// Copies to the device's memory, apart from all streams.
Result writeDevice(Context &context, void *to, const void *from, size_t bytes);

/// The address of kTextureTables in device memory of the context.
Result textureTables(Context &context, uint64_t &address);

/// A record in device memory of the context, with these contents.
Result allocateRecord(Context &context, const abi::Texture &contents, uint64_t &address);
void freeRecord(Context &context, uint64_t address);

void releasePool(Context &context);

/// Texture and surface objects and references of a context.
void releaseObjects(Context &context);
/// The references of a module: by name, and all of one that is unloaded.
Result textureReferenceOf(Module *module, const char *name, TextureReference **out);
Result surfaceReferenceOf(Module *module, const char *name, SurfaceReference **out);
void releaseReferences(Module &module);

} // namespace rubia::runtime::cuda
