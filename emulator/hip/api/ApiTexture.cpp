// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects, of the runtime API and in the form of the driver API. HIP: "Texture
// Management".
#include "emulator/hip/TextureObjects.h"
#include <algorithm>
#include <cstring>

// The functions are HIP's; HIP 5.2's header declares some only.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

using namespace rubia::emulator::hip;

namespace {

hipError_t create(const char *function, hipTextureObject_t *out, const hipResourceDesc *resource,
                  const hipTextureDesc *texture, const hipResourceViewDesc *view) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  return result(createTexture(out, resource, texture, view));
}

/// Calls `give` with the object, if there is one and a place for what is asked.
template <class Give>
hipError_t ask(const char *function, hipTextureObject_t handle, const void *place,
               const Give &give) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  const auto object = textureOf(handle);
  if (!object || !place)
    return result(hipErrorInvalidValue);
  return result(give(*object));
}

hipError_t runtimeForm(const HIP_RESOURCE_DESC &from, hipResourceDesc &to) {
  memset(&to, 0, sizeof(to));
  to.resType = hipResourceType(from.resType);
  switch (from.resType) {
  case HIP_RESOURCE_TYPE_ARRAY:
    to.res.array.array = from.res.array.hArray;
    return hipSuccess;
  case HIP_RESOURCE_TYPE_MIPMAPPED_ARRAY:
    to.res.mipmap.mipmap = from.res.mipmap.hMipmappedArray;
    return hipSuccess;
  case HIP_RESOURCE_TYPE_LINEAR: {
    const auto &linear = from.res.linear;
    to.res.linear.devPtr = linear.devPtr;
    to.res.linear.desc = TexelType::of(linear.format, linear.numChannels).description();
    to.res.linear.sizeInBytes = linear.sizeInBytes;
    return hipSuccess;
  }
  case HIP_RESOURCE_TYPE_PITCH2D: {
    const auto &pitched = from.res.pitch2D;
    to.res.pitch2D.devPtr = pitched.devPtr;
    to.res.pitch2D.desc = TexelType::of(pitched.format, pitched.numChannels).description();
    to.res.pitch2D.width = pitched.width;
    to.res.pitch2D.height = pitched.height;
    to.res.pitch2D.pitchInBytes = pitched.pitchInBytes;
    return hipSuccess;
  }
  }
  return hipErrorInvalidValue;
}

void driverForm(const hipResourceDesc &from, HIP_RESOURCE_DESC &to) {
  memset(&to, 0, sizeof(to));
  to.resType = HIPresourcetype(from.resType);
  switch (from.resType) {
  case hipResourceTypeArray:
    to.res.array.hArray = from.res.array.array;
    break;
  case hipResourceTypeMipmappedArray:
    to.res.mipmap.hMipmappedArray = from.res.mipmap.mipmap;
    break;
  case hipResourceTypeLinear: {
    const TexelType type = TexelType::of(from.res.linear.desc);
    to.res.linear.devPtr = from.res.linear.devPtr;
    to.res.linear.format = type.format();
    to.res.linear.numChannels = type.channels;
    to.res.linear.sizeInBytes = from.res.linear.sizeInBytes;
    break;
  }
  case hipResourceTypePitch2D: {
    const TexelType type = TexelType::of(from.res.pitch2D.desc);
    to.res.pitch2D.devPtr = from.res.pitch2D.devPtr;
    to.res.pitch2D.format = type.format();
    to.res.pitch2D.numChannels = type.channels;
    to.res.pitch2D.width = from.res.pitch2D.width;
    to.res.pitch2D.height = from.res.pitch2D.height;
    to.res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
    break;
  }
  }
}

/// In this form integers of 8 and 16 bits are read as numbers unless a flag says otherwise.
hipTextureDesc runtimeForm(const HIP_TEXTURE_DESC &from, bool mayNormalize) {
  hipTextureDesc to = {};
  for (unsigned i = 0; i < 3; ++i)
    to.addressMode[i] = hipTextureAddressMode(from.addressMode[i]);
  to.filterMode = hipTextureFilterMode(from.filterMode);
  to.readMode = from.flags & HIP_TRSF_READ_AS_INTEGER || !mayNormalize ? hipReadModeElementType
                                                                       : hipReadModeNormalizedFloat;
  to.sRGB = from.flags & HIP_TRSF_SRGB ? 1 : 0;
  to.normalizedCoords = from.flags & HIP_TRSF_NORMALIZED_COORDINATES ? 1 : 0;
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = hipTextureFilterMode(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  return to;
}

HIP_TEXTURE_DESC driverForm(const hipTextureDesc &from) {
  HIP_TEXTURE_DESC to = {};
  for (unsigned i = 0; i < 3; ++i)
    to.addressMode[i] = HIPaddress_mode(from.addressMode[i]);
  to.filterMode = HIPfilter_mode(from.filterMode);
  to.flags = (from.readMode == hipReadModeElementType ? HIP_TRSF_READ_AS_INTEGER : 0u) |
             (from.normalizedCoords ? HIP_TRSF_NORMALIZED_COORDINATES : 0u) |
             (from.sRGB ? HIP_TRSF_SRGB : 0u);
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = HIPfilter_mode(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  return to;
}

} // namespace

HIP_EXPORT hipError_t hipCreateTextureObject(hipTextureObject_t *out,
                                             const hipResourceDesc *resource,
                                             const hipTextureDesc *texture,
                                             const hipResourceViewDesc *view) {
  return create(__func__, out, resource, texture, view);
}
HIP_EXPORT hipError_t hipTexObjectCreate(hipTextureObject_t *out, const HIP_RESOURCE_DESC *resource,
                                         const HIP_TEXTURE_DESC *texture,
                                         const HIP_RESOURCE_VIEW_DESC *view) {
  if (!resource || !texture || resource->flags)
    return result(hipErrorInvalidValue);
  hipResourceDesc converted;
  if (hipError_t error = runtimeForm(*resource, converted))
    return result(error);
  const hipTextureDesc sampler = runtimeForm(*texture, mayNormalize(converted));
  hipResourceViewDesc viewed = {};
  if (view)
    viewed = {hipResourceViewFormat(view->format),
              view->width,
              view->height,
              view->depth,
              view->firstMipmapLevel,
              view->lastMipmapLevel,
              view->firstLayer,
              view->lastLayer};
  return create(__func__, out, &converted, &sampler, view ? &viewed : nullptr);
}

HIP_EXPORT hipError_t hipDestroyTextureObject(hipTextureObject_t handle) {
  if (hipError_t error = imagesUsable(__func__))
    return result(error);
  return result(destroyTexture(handle));
}
HIP_EXPORT hipError_t hipTexObjectDestroy(hipTextureObject_t handle) {
  if (hipError_t error = imagesUsable(__func__))
    return result(error);
  return result(destroyTexture(handle));
}

HIP_EXPORT hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc *out,
                                                      hipTextureObject_t handle) {
  return ask(__func__, handle, out, [&](const TextureObject &object) {
    *out = object.resource;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc *out,
                                                     hipTextureObject_t handle) {
  return ask(__func__, handle, out, [&](const TextureObject &object) {
    *out = object.texture;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipGetTextureObjectResourceViewDesc(hipResourceViewDesc *out,
                                                          hipTextureObject_t handle) {
  return ask(__func__, handle, out, [&](const TextureObject &object) {
    *out = object.view;
    return object.hasView ? hipSuccess : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipTexObjectGetResourceDesc(HIP_RESOURCE_DESC *out,
                                                  hipTextureObject_t handle) {
  return ask(__func__, handle, out, [&](const TextureObject &object) {
    driverForm(object.resource, *out);
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexObjectGetTextureDesc(HIP_TEXTURE_DESC *out, hipTextureObject_t handle) {
  return ask(__func__, handle, out, [&](const TextureObject &object) {
    *out = driverForm(object.texture);
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexObjectGetResourceViewDesc(HIP_RESOURCE_VIEW_DESC *out,
                                                      hipTextureObject_t handle) {
  return ask(__func__, handle, out, [&](const TextureObject &object) {
    const hipResourceViewDesc &view = object.view;
    *out = {HIPresourceViewFormat(view.format),
            view.width,
            view.height,
            view.depth,
            view.firstMipmapLevel,
            view.lastMipmapLevel,
            view.firstLayer,
            view.lastLayer,
            {}};
    return object.hasView ? hipSuccess : hipErrorInvalidValue;
  });
}

HIP_EXPORT hipError_t hipDeviceGetTexture1DLinearMaxWidth(size_t *width,
                                                          const hipChannelFormatDesc *desc,
                                                          int device) {
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  if (hipError_t error = imagesUsable(__func__))
    return result(error);
  if (!width || !desc || !TexelType::of(*desc).bits)
    return result(hipErrorInvalidValue);
  *width = kMostLinearTexels;
  return result(hipSuccess);
}

// In HIP's header these two are C++.
#pragma GCC visibility push(default)
hipError_t hipCreateSurfaceObject(hipSurfaceObject_t *out, const hipResourceDesc *resource) {
  if (hipError_t error = imagesUsable(__func__))
    return result(error);
  return result(createSurface(out, resource));
}
hipError_t hipDestroySurfaceObject(hipSurfaceObject_t handle) {
  if (hipError_t error = imagesUsable(__func__))
    return result(error);
  return result(destroySurface(handle));
}
#pragma GCC visibility pop
