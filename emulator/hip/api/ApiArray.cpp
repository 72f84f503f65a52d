// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays, of the runtime API and of the driver API. HIP: "Texture Management",
// "Memory Management".
#include "emulator/hip/Images.h"

// The functions are HIP's; HIP 5.2's header declares some only.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

using namespace rubia::emulator::hip;

namespace {

template <class Make> hipError_t whereUsable(const char *function, const Make &make) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  return result(make());
}

ImageShape shapeOf(const HIP_ARRAY3D_DESCRIPTOR &descriptor) {
  return {descriptor.Width, descriptor.Height, descriptor.Depth, descriptor.Flags};
}
TexelType typeOf(const HIP_ARRAY3D_DESCRIPTOR &descriptor) {
  return TexelType::of(descriptor.Format, descriptor.NumChannels);
}

hipError_t levelOf(hipArray_t *out, hipMipmappedArray_const_t handle, unsigned level) {
  const auto mipmap = mipmapOf(handle);
  if (!out || !mipmap || level >= mipmap->levels.size())
    return hipErrorInvalidValue;
  *out = mipmap->levels[level].get();
  return hipSuccess;
}

HIP_ARRAY3D_DESCRIPTOR descriptorOf(const ImageArray &array) {
  return {array.shape.width,    array.shape.height,   array.shape.depth,
          array.texel.format(), array.texel.channels, array.shape.flags};
}

} // namespace

HIP_EXPORT hipError_t hipMallocArray(hipArray_t *array, const hipChannelFormatDesc *desc,
                                     size_t width, size_t height, unsigned flags) {
  return whereUsable(__func__, [&] {
    return desc ? makeArray(array, {width, height, 0, flags}, TexelType::of(*desc))
                : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipMalloc3DArray(hipArray_t *array, const hipChannelFormatDesc *desc,
                                       hipExtent extent, unsigned flags) {
  return whereUsable(__func__, [&] {
    return desc ? makeArray(array, {extent.width, extent.height, extent.depth, flags},
                            TexelType::of(*desc))
                : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipArrayCreate(hipArray_t *array, const HIP_ARRAY_DESCRIPTOR *descriptor) {
  return whereUsable(__func__, [&] {
    return descriptor ? makeArray(array, {descriptor->Width, descriptor->Height},
                                  TexelType::of(descriptor->Format, descriptor->NumChannels))
                      : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipArray3DCreate(hipArray_t *array,
                                       const HIP_ARRAY3D_DESCRIPTOR *descriptor) {
  return whereUsable(__func__, [&] {
    return descriptor ? makeArray(array, shapeOf(*descriptor), typeOf(*descriptor))
                      : hipErrorInvalidValue;
  });
}

HIP_EXPORT hipError_t hipFreeArray(hipArray_t array) {
  return whereUsable(__func__, [&] { return freeArray(array); });
}
HIP_EXPORT hipError_t hipArrayDestroy(hipArray_t array) {
  return whereUsable(__func__, [&] { return array ? freeArray(array) : hipErrorInvalidValue; });
}

HIP_EXPORT hipError_t hipMallocMipmappedArray(hipMipmappedArray_t *array,
                                              const hipChannelFormatDesc *desc, hipExtent extent,
                                              unsigned levels, unsigned flags) {
  return whereUsable(__func__, [&] {
    return desc ? makeMipmap(array, {extent.width, extent.height, extent.depth, flags},
                             TexelType::of(*desc), levels)
                : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t *array,
                                              HIP_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels) {
  return whereUsable(__func__, [&] {
    return descriptor ? makeMipmap(array, shapeOf(*descriptor), typeOf(*descriptor), levels)
                      : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipFreeMipmappedArray(hipMipmappedArray_t array) {
  return whereUsable(__func__, [&] { return freeMipmap(array); });
}
HIP_EXPORT hipError_t hipMipmappedArrayDestroy(hipMipmappedArray_t array) {
  return whereUsable(__func__, [&] { return array ? freeMipmap(array) : hipErrorInvalidValue; });
}
HIP_EXPORT hipError_t hipGetMipmappedArrayLevel(hipArray_t *level, hipMipmappedArray_const_t array,
                                                unsigned number) {
  return whereUsable(__func__, [&] { return levelOf(level, array, number); });
}
HIP_EXPORT hipError_t hipMipmappedArrayGetLevel(hipArray_t *level, hipMipmappedArray_t array,
                                                unsigned number) {
  return whereUsable(__func__, [&] { return levelOf(level, array, number); });
}

// ---------- Questions

HIP_EXPORT hipError_t hipGetChannelDesc(hipChannelFormatDesc *desc, hipArray_const_t handle) {
  return whereUsable(__func__, [&] {
    const auto array = arrayOf(handle);
    if (!desc || !array)
      return hipErrorInvalidValue;
    *desc = array->texel.description();
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipArrayGetInfo(hipChannelFormatDesc *desc, hipExtent *extent,
                                      unsigned *flags, hipArray_t handle) {
  return whereUsable(__func__, [&] {
    const auto array = arrayOf(handle);
    if (!array)
      return hipErrorInvalidValue;
    if (desc)
      *desc = array->texel.description();
    if (extent)
      *extent = {array->shape.width, array->shape.height, array->shape.depth};
    if (flags)
      *flags = array->shape.flags;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR *descriptor, hipArray_t handle) {
  return whereUsable(__func__, [&] {
    const auto array = arrayOf(handle);
    if (!descriptor || !array)
      return hipErrorInvalidValue;
    const HIP_ARRAY3D_DESCRIPTOR whole = descriptorOf(*array);
    *descriptor = {whole.Width, whole.Height, whole.Format, whole.NumChannels};
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR *descriptor,
                                              hipArray_t handle) {
  return whereUsable(__func__, [&] {
    const auto array = arrayOf(handle);
    if (!descriptor || !array)
      return hipErrorInvalidValue;
    *descriptor = descriptorOf(*array);
    return hipSuccess;
  });
}
