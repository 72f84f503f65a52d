// SPDX-License-Identifier: Apache-2.0
// Texture references, of the runtime API and of the driver API. HIP: "Texture Management".
#include "emulator/hip/TextureReferences.h"
#include <algorithm>
#include <cstring>

// The functions are HIP's; HIP 5.2's header declares some only.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

using namespace rubia::emulator::hip;

namespace {

hipResourceDesc linearMemory(const void *pointer, const hipChannelFormatDesc &desc, size_t bytes) {
  hipResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<void *>(pointer);
  resource.res.linear.desc = desc;
  resource.res.linear.sizeInBytes = bytes;
  return resource;
}
hipResourceDesc pitchedMemory(const void *pointer, const hipChannelFormatDesc &desc, size_t width,
                              size_t height, size_t pitch) {
  hipResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = const_cast<void *>(pointer);
  resource.res.pitch2D.desc = desc;
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  return resource;
}
hipResourceDesc ofArray(hipArray_const_t array) {
  hipResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = const_cast<hipArray_t>(array);
  return resource;
}
hipResourceDesc ofMipmap(hipMipmappedArray_const_t array) {
  hipResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = hipResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = const_cast<hipMipmappedArray_t>(array);
  return resource;
}

/// `offset`: what is bound begins where the memory does.
hipError_t bind(const char *function, size_t *offset, const textureReference *reference,
                const hipResourceDesc &resource) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  if (offset)
    *offset = 0;
  return result(bindReference(reference, resource));
}

/// Calls `set` with the reference, and binds again what is bound.
template <class Set>
hipError_t change(const char *function, textureReference *reference, const Set &set) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  if (!isReference(reference))
    return result(hipErrorInvalidValue);
  if (hipError_t error = set(*reference))
    return result(error);
  return result(refreshReference(reference));
}

/// Calls `give` with the reference.
template <class Give>
hipError_t ask(const char *function, const textureReference *reference, const void *place,
               const Give &give) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  if (!place || !isReference(reference))
    return result(hipErrorInvalidValue);
  return result(give(*reference));
}

bool isFilter(hipTextureFilterMode mode) { return unsigned(mode) <= hipFilterModeLinear; }

} // namespace

// ---------- The runtime API

HIP_EXPORT hipError_t hipBindTexture(size_t *offset, const textureReference *reference,
                                     const void *pointer, const hipChannelFormatDesc *desc,
                                     size_t bytes) {
  if (!desc)
    return result(hipErrorInvalidValue);
  return bind(__func__, offset, reference, linearMemory(pointer, *desc, bytes));
}
HIP_EXPORT hipError_t hipBindTexture2D(size_t *offset, const textureReference *reference,
                                       const void *pointer, const hipChannelFormatDesc *desc,
                                       size_t width, size_t height, size_t pitch) {
  if (!desc)
    return result(hipErrorInvalidValue);
  return bind(__func__, offset, reference, pitchedMemory(pointer, *desc, width, height, pitch));
}
HIP_EXPORT hipError_t hipBindTextureToArray(const textureReference *reference,
                                            hipArray_const_t array, const hipChannelFormatDesc *) {
  return bind(__func__, nullptr, reference, ofArray(array));
}
HIP_EXPORT hipError_t hipBindTextureToMipmappedArray(const textureReference *reference,
                                                     hipMipmappedArray_const_t array,
                                                     const hipChannelFormatDesc *) {
  return bind(__func__, nullptr, reference, ofMipmap(array));
}
HIP_EXPORT hipError_t hipUnbindTexture(const textureReference *reference) {
  if (hipError_t error = imagesUsable(__func__))
    return result(error);
  return result(unbindReference(reference));
}
HIP_EXPORT hipError_t hipGetTextureReference(const textureReference **out, const void *symbol) {
  if (hipError_t error = imagesUsable(__func__))
    return result(error);
  if (!out || !isRegisteredReference(symbol))
    return result(hipErrorInvalidValue);
  *out = static_cast<const textureReference *>(symbol);
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipGetTextureAlignmentOffset(size_t *offset,
                                                   const textureReference *reference) {
  return ask(__func__, reference, offset, [&](const textureReference &) {
    if (!boundTo(reference))
      return hipErrorInvalidValue;
    *offset = 0;
    return hipSuccess;
  });
}

// ---------- The driver API: what is bound

HIP_EXPORT hipError_t hipModuleGetTexRef(textureReference **out, hipModule_t module,
                                         const char *name) {
  if (hipError_t error = imagesUsable(__func__))
    return result(error);
  if (!out)
    return result(hipErrorInvalidValue);
  hipDeviceptr_t place;
  size_t bytes;
  if (hipError_t error = hipModuleGetGlobal(&place, &bytes, module, name))
    return error;
  if (bytes != sizeof(textureReference))
    return result(hipErrorNotFound);
  *out = moduleReference(module, place);
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipTexRefSetAddress(size_t *offset, textureReference *reference,
                                          hipDeviceptr_t pointer, size_t bytes) {
  if (!isReference(reference))
    return result(hipErrorInvalidValue);
  const TexelType type = TexelType::of(reference->format, unsigned(reference->numChannels));
  return bind(__func__, offset, reference, linearMemory(pointer, type.description(), bytes));
}
HIP_EXPORT hipError_t hipTexRefSetAddress2D(textureReference *reference,
                                            const HIP_ARRAY_DESCRIPTOR *descriptor,
                                            hipDeviceptr_t pointer, size_t pitch) {
  if (!descriptor)
    return result(hipErrorInvalidValue);
  const TexelType type = TexelType::of(descriptor->Format, descriptor->NumChannels);
  return bind(
      __func__, nullptr, reference,
      pitchedMemory(pointer, type.description(), descriptor->Width, descriptor->Height, pitch));
}
HIP_EXPORT hipError_t hipTexRefSetArray(textureReference *reference, hipArray_const_t array,
                                        unsigned flags) {
  if (flags != HIP_TRSA_OVERRIDE_FORMAT)
    return result(hipErrorInvalidValue);
  return bind(__func__, nullptr, reference, ofArray(array));
}
HIP_EXPORT hipError_t hipTexRefSetMipmappedArray(textureReference *reference,
                                                 hipMipmappedArray *array, unsigned flags) {
  if (flags != HIP_TRSA_OVERRIDE_FORMAT)
    return result(hipErrorInvalidValue);
  return bind(__func__, nullptr, reference, ofMipmap(array));
}
HIP_EXPORT hipError_t hipTexRefGetAddress(hipDeviceptr_t *out, const textureReference *reference) {
  return ask(__func__, reference, out, [&](const textureReference &) {
    const auto bound = boundTo(reference);
    if (bound && bound->resource.resType == hipResourceTypeLinear)
      *out = bound->resource.res.linear.devPtr;
    else if (bound && bound->resource.resType == hipResourceTypePitch2D)
      *out = bound->resource.res.pitch2D.devPtr;
    else
      return hipErrorInvalidValue;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefGetArray(hipArray_t *out, const textureReference *reference) {
  return ask(__func__, reference, out, [&](const textureReference &) {
    const auto bound = boundTo(reference);
    if (!bound || bound->resource.resType != hipResourceTypeArray)
      return hipErrorInvalidValue;
    *out = bound->resource.res.array.array;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefGetMipMappedArray(hipMipmappedArray_t *out,
                                                 const textureReference *reference) {
  return ask(__func__, reference, out, [&](const textureReference &) {
    const auto bound = boundTo(reference);
    if (!bound || bound->resource.resType != hipResourceTypeMipmappedArray)
      return hipErrorInvalidValue;
    *out = bound->resource.res.mipmap.mipmap;
    return hipSuccess;
  });
}

// ---------- The driver API: how it is read

HIP_EXPORT hipError_t hipTexRefSetFormat(textureReference *reference, hipArray_Format format,
                                         int channels) {
  return change(__func__, reference, [&](textureReference &r) {
    const TexelType type = TexelType::of(format, unsigned(channels));
    if (!type.bits)
      return hipErrorInvalidValue;
    r.format = format;
    r.numChannels = channels;
    r.channelDesc = type.description();
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefGetFormat(hipArray_Format *format, int *channels,
                                         const textureReference *reference) {
  return ask(__func__, reference, format, [&](const textureReference &r) {
    if (!channels)
      return hipErrorInvalidValue;
    *format = r.format;
    *channels = r.numChannels;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefSetFlags(textureReference *reference, unsigned flags) {
  constexpr unsigned kKnown =
      HIP_TRSF_READ_AS_INTEGER | HIP_TRSF_NORMALIZED_COORDINATES | HIP_TRSF_SRGB;
  return change(__func__, reference, [&](textureReference &r) {
    if (flags & ~kKnown)
      return hipErrorInvalidValue;
    r.readMode =
        flags & HIP_TRSF_READ_AS_INTEGER ? hipReadModeElementType : hipReadModeNormalizedFloat;
    r.normalized = flags & HIP_TRSF_NORMALIZED_COORDINATES ? 1 : 0;
    r.sRGB = flags & HIP_TRSF_SRGB ? 1 : 0;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefGetFlags(unsigned *flags, const textureReference *reference) {
  return ask(__func__, reference, flags, [&](const textureReference &r) {
    *flags = (r.readMode == hipReadModeElementType ? HIP_TRSF_READ_AS_INTEGER : 0u) |
             (r.normalized ? HIP_TRSF_NORMALIZED_COORDINATES : 0u) | (r.sRGB ? HIP_TRSF_SRGB : 0u);
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefSetAddressMode(textureReference *reference, int dimension,
                                              hipTextureAddressMode mode) {
  return change(__func__, reference, [&](textureReference &r) {
    if (dimension < 0 || dimension > 2 || unsigned(mode) > hipAddressModeBorder)
      return hipErrorInvalidValue;
    r.addressMode[dimension] = mode;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefGetAddressMode(hipTextureAddressMode *mode,
                                              const textureReference *reference, int dimension) {
  return ask(__func__, reference, mode, [&](const textureReference &r) {
    if (dimension < 0 || dimension > 2)
      return hipErrorInvalidValue;
    *mode = r.addressMode[dimension];
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefSetFilterMode(textureReference *reference,
                                             hipTextureFilterMode mode) {
  return change(__func__, reference, [&](textureReference &r) {
    r.filterMode = isFilter(mode) ? mode : r.filterMode;
    return isFilter(mode) ? hipSuccess : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipTexRefGetFilterMode(hipTextureFilterMode *mode,
                                             const textureReference *reference) {
  return ask(__func__, reference, mode, [&](const textureReference &r) {
    *mode = r.filterMode;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefSetMipmapFilterMode(textureReference *reference,
                                                   hipTextureFilterMode mode) {
  return change(__func__, reference, [&](textureReference &r) {
    r.mipmapFilterMode = isFilter(mode) ? mode : r.mipmapFilterMode;
    return isFilter(mode) ? hipSuccess : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipTexRefGetMipmapFilterMode(hipTextureFilterMode *mode,
                                                   const textureReference *reference) {
  return ask(__func__, reference, mode, [&](const textureReference &r) {
    *mode = r.mipmapFilterMode;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefSetMipmapLevelBias(textureReference *reference, float bias) {
  return change(__func__, reference, [&](textureReference &r) {
    r.mipmapLevelBias = bias;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefGetMipmapLevelBias(float *bias, const textureReference *reference) {
  return ask(__func__, reference, bias, [&](const textureReference &r) {
    *bias = r.mipmapLevelBias;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefSetMipmapLevelClamp(textureReference *reference, float least,
                                                   float most) {
  return change(__func__, reference, [&](textureReference &r) {
    r.minMipmapLevelClamp = least;
    r.maxMipmapLevelClamp = most;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefGetMipmapLevelClamp(float *least, float *most,
                                                   const textureReference *reference) {
  return ask(__func__, reference, least, [&](const textureReference &r) {
    if (!most)
      return hipErrorInvalidValue;
    *least = r.minMipmapLevelClamp;
    *most = r.maxMipmapLevelClamp;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefSetMaxAnisotropy(textureReference *reference, unsigned ratio) {
  return change(__func__, reference, [&](textureReference &r) {
    r.maxAnisotropy = ratio;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefGetMaxAnisotropy(int *ratio, const textureReference *reference) {
  return ask(__func__, reference, ratio, [&](const textureReference &r) {
    *ratio = int(r.maxAnisotropy);
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipTexRefSetBorderColor(textureReference *reference, float *color) {
  return ask(__func__, reference, color, [&](const textureReference &) {
    float four[4];
    std::copy(color, color + 4, four);
    return setBorder(reference, four);
  });
}
HIP_EXPORT hipError_t hipTexRefGetBorderColor(float *color, const textureReference *reference) {
  return ask(__func__, reference, color, [&](const textureReference &) {
    float four[4];
    const hipError_t error = getBorder(reference, four);
    if (!error)
      std::copy(std::begin(four), std::end(four), color);
    return error;
  });
}
