// SPDX-License-Identifier: Apache-2.0
// What makes, binds and ends textures and surfaces.
#include "diff/forward/Hooks.h"
#include "diff/forward/Recorder.h"

using namespace rubia::forward;

namespace {

/// As a resource has them: address, format, channels, then `sizes`.
Resource linearResource(int type, DevicePointer address, int format, unsigned channels,
                        const size_t *sizes, unsigned count) {
  Resource resource;
  memset(static_cast<void *>(&resource), 0, sizeof(resource));
  resource.type = type;
  memcpy(resource.bytes, &address, 8);
  memcpy(resource.bytes + 8, &format, 4);
  memcpy(resource.bytes + 12, &channels, 4);
  memcpy(resource.bytes + 16, sizes, count * sizeof(size_t));
  return resource;
}

void boundPitched(Handle reference, const ArrayDescriptor &descriptor, DevicePointer address,
                  size_t pitch) {
  const size_t sizes[] = {descriptor.width, descriptor.height, pitch};
  const Resource resource =
      linearResource(kPitchedResource, address, descriptor.format, descriptor.channels, sizes, 3);
  Locked()->textures.bound(reference, &resource);
}

} // namespace

extern "C" {

int hook_cuTexObjectCreate(uint64_t *object, const void *resource, const void *sampler,
                           const void *view) {
  const int result = DRIVER(cuTexObjectCreate, uint64_t *, const void *, const void *,
                            const void *)(object, resource, sampler, view);
  if (!result)
    Locked()->textures.created(*object, false);
  return result;
}
int hook_cuTexObjectDestroy(uint64_t object) {
  Locked()->textures.destroyed(object, false); // before another thread gets the handle
  return DRIVER(cuTexObjectDestroy, uint64_t)(object);
}
int hook_cuSurfObjectCreate(uint64_t *object, const void *resource) {
  const int result = DRIVER(cuSurfObjectCreate, uint64_t *, const void *)(object, resource);
  if (!result)
    Locked()->textures.created(*object, true);
  return result;
}
int hook_cuSurfObjectDestroy(uint64_t object) {
  Locked()->textures.destroyed(object, true);
  return DRIVER(cuSurfObjectDestroy, uint64_t)(object);
}

int hook_cuModuleGetTexRef(Handle *reference, Handle module, const char *name) {
  const int result =
      DRIVER(cuModuleGetTexRef, Handle *, Handle, const char *)(reference, module, name);
  if (!result)
    Locked()->textures.referenceFound(module, name, *reference, false);
  return result;
}
int hook_cuModuleGetSurfRef(Handle *reference, Handle module, const char *name) {
  const int result =
      DRIVER(cuModuleGetSurfRef, Handle *, Handle, const char *)(reference, module, name);
  if (!result)
    Locked()->textures.referenceFound(module, name, *reference, true);
  return result;
}
int hook_cuTexRefSetArray(Handle reference, Handle array, unsigned flags) {
  const int result = DRIVER(cuTexRefSetArray, Handle, Handle, unsigned)(reference, array, flags);
  if (!result)
    Locked()->textures.bound(reference, nullptr);
  return result;
}
int hook_cuTexRefSetMipmappedArray(Handle reference, Handle array, unsigned flags) {
  const int result =
      DRIVER(cuTexRefSetMipmappedArray, Handle, Handle, unsigned)(reference, array, flags);
  if (!result)
    Locked()->textures.bound(reference, nullptr);
  return result;
}
int hook_cuTexRefSetAddress_v2(size_t *offset, Handle reference, DevicePointer address,
                               size_t bytes) {
  const int result = DRIVER(cuTexRefSetAddress_v2, size_t *, Handle, DevicePointer,
                            size_t)(offset, reference, address, bytes);
  int format = 0, channels = 0;
  if (!result && !DRIVER(cuTexRefGetFormat, int *, int *, Handle)(&format, &channels, reference)) {
    const Resource resource =
        linearResource(kLinearResource, address, format, unsigned(channels), &bytes, 1);
    Locked()->textures.bound(reference, &resource);
  }
  return result;
}
int hook_cuTexRefSetAddress2D_v3(Handle reference, const ArrayDescriptor *descriptor,
                                 DevicePointer address, size_t pitch) {
  const int result = DRIVER(cuTexRefSetAddress2D_v3, Handle, const ArrayDescriptor *, DevicePointer,
                            size_t)(reference, descriptor, address, pitch);
  if (!result)
    boundPitched(reference, *descriptor, address, pitch);
  return result;
}
int hook_cuTexRefSetAddress2D_v2(Handle reference, const ArrayDescriptor *descriptor,
                                 DevicePointer address, size_t pitch) {
  const int result = DRIVER(cuTexRefSetAddress2D_v2, Handle, const ArrayDescriptor *, DevicePointer,
                            size_t)(reference, descriptor, address, pitch);
  if (!result)
    boundPitched(reference, *descriptor, address, pitch);
  return result;
}

} // extern "C"
