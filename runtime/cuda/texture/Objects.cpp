// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects. A handle is the address of a record in device memory.
#include "runtime/cuda/texture/Records.h"

namespace rubia::runtime::cuda {

namespace {

struct Object {
  Context *context;
  bool isSurface;
  ResourceDescriptor resource;
  TextureDescriptor texture;
  std::optional<ViewDescriptor> view;
};

// By handle. Leaked: programs destroy objects in their exit handlers.
std::mutex &mutex = *new std::mutex;
std::map<ObjectHandle, Object> &objects = *new std::map<ObjectHandle, Object>;

Result add(Context &context, ObjectHandle *out, const abi::Texture &record, Object object) {
  uint64_t address = 0;
  if (Result result = allocateRecord(context, record, address))
    return result;
  std::lock_guard<std::mutex> lock(mutex);
  objects[address] = object;
  *out = address;
  return kSuccess;
}

Result destroy(Context &context, ObjectHandle handle, bool isSurface) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = objects.find(handle);
    if (found == objects.end() || found->second.isSurface != isSurface ||
        found->second.context != &context)
      return kSuccess; // as an H100 answers
    objects.erase(found);
  }
  freeRecord(context, handle);
  return kSuccess;
}

// Calls `put` with the object of a handle.
template <class Put> Result get(ObjectHandle handle, bool isSurface, const void *out, Put put) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = objects.find(handle);
  if (found == objects.end() || found->second.isSurface != isSurface)
    return kInvalidValue;
  return out ? put(found->second) : kInvalidValue;
}

} // namespace

void releaseObjects(Context &context) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::erase_if(objects, [&](const auto &entry) { return entry.second.context == &context; });
  }
  releasePool(context);
}

} // namespace rubia::runtime::cuda

using namespace rubia;
using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuTexObjectCreate(ObjectHandle *out, const ResourceDescriptor *resource,
                         const TextureDescriptor *texture, const ViewDescriptor *view) {
  return callIn(RUBIA_CALL(out, resource, texture, view), [&](Context &context) -> Result {
    if (!out || !resource || !texture)
      return kInvalidValue;
    abi::Texture record;
    if (Result result = makeTextureRecord(context, *resource, *texture, view, record))
      return result;
    return add(context, out, record,
               {&context, false, *resource, *texture, view ? std::optional(*view) : std::nullopt});
  });
}

Result cuTexObjectDestroy(ObjectHandle handle) {
  return callToRelease(RUBIA_CALL(handle),
                       [&](Context &context) { return destroy(context, handle, false); });
}

Result cuTexObjectGetResourceDesc(ResourceDescriptor *out, ObjectHandle handle) {
  return callIn(RUBIA_CALL(out, handle), [&](Context &) {
    return get(handle, false, out,
               [&](const Object &object) { return *out = object.resource, kSuccess; });
  });
}

Result cuTexObjectGetTextureDesc(TextureDescriptor *out, ObjectHandle handle) {
  return callIn(RUBIA_CALL(out, handle), [&](Context &) {
    return get(handle, false, out,
               [&](const Object &object) { return *out = object.texture, kSuccess; });
  });
}

Result cuTexObjectGetResourceViewDesc(ViewDescriptor *out, ObjectHandle handle) {
  return callIn(RUBIA_CALL(out, handle), [&](Context &) {
    return get(handle, false, out, [&](const Object &object) {
      return *out = object.view.value_or(ViewDescriptor{}), kSuccess;
    });
  });
}

Result cuSurfObjectCreate(ObjectHandle *out, const ResourceDescriptor *resource) {
  return callIn(RUBIA_CALL(out, resource), [&](Context &context) -> Result {
    if (!out || !resource)
      return kInvalidValue;
    abi::Texture record;
    if (Result result = makeSurfaceRecord(*resource, record))
      return result;
    return add(context, out, record, {&context, true, *resource, {}, std::nullopt});
  });
}

Result cuSurfObjectDestroy(ObjectHandle handle) {
  return callToRelease(RUBIA_CALL(handle),
                       [&](Context &context) { return destroy(context, handle, true); });
}

Result cuSurfObjectGetResourceDesc(ResourceDescriptor *out, ObjectHandle handle) {
  return callIn(RUBIA_CALL(out, handle), [&](Context &) {
    return get(handle, true, out,
               [&](const Object &object) { return *out = object.resource, kSuccess; });
  });
}

} // extern "C"
