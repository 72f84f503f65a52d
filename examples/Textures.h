// SPDX-License-Identifier: Apache-2.0
// Arrays and texture objects, as the examples of textures need them.

#pragma once

#include "Check.h"

/// A texture descriptor: what most programs say.
inline cudaTextureDesc sampler(cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                               bool normalized) {
  cudaTextureDesc description = {};
  for (cudaTextureAddressMode &dimension : description.addressMode)
    dimension = mode;
  description.filterMode = filter;
  description.readMode = cudaReadModeElementType;
  description.normalizedCoords = normalized;
  return description;
}

inline cudaTextureObject_t textureOf(cudaArray_t array, const cudaTextureDesc &description) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

/// An array with these texels; `depth` may be 0, or the number of layers or faces.
template <typename T>
cudaArray_t arrayOf(const std::vector<T> &texels, size_t width, size_t height, size_t depth = 0,
                    unsigned flags = 0) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  cudaArray_t array = nullptr;
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<T *>(texels.data()), width * sizeof(T), width,
                                    height ? height : 1);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, height ? height : 1, depth ? depth : 1);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  return array;
}
