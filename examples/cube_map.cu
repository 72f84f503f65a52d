// SPDX-License-Identifier: Apache-2.0
// Reflections of a sky on a ball: a cube map with levels of detail, whose filter goes across the
// edges of faces. The sky is smooth, so that what is sampled can be computed.

#include "Textures.h"

constexpr int kSide = 32, kLevels = 4, kImage = 96;

__host__ __device__ inline float sky(float x, float y, float z) {
  return 0.5f + 0.3f * y + 0.15f * x * z; // of a direction of length 1
}

// What a pixel of the ball's image looks at; false: past the ball.
__host__ __device__ inline bool reflected(int column, int row, float (&at)[3]) {
  const float x = (column + 0.5f) / (kImage / 2) - 1, y = (row + 0.5f) / (kImage / 2) - 1;
  const float rest = 1 - x * x - y * y;
  if (rest <= 0)
    return false;
  const float normal[] = {x, y, sqrtf(rest)};
  for (int i = 0; i < 3; ++i) // of the view along -z
    at[i] = 2 * normal[2] * normal[i] - (i == 2);
  return true;
}

__global__ void draw(cudaTextureObject_t map, float detail, float *image) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x,
            row = blockIdx.y * blockDim.y + threadIdx.y;
  float at[3];
  image[row * kImage + column] =
      reflected(column, row, at) ? texCubemapLod<float>(map, at[0], at[1], at[2], detail) : -1;
}

// The direction of a place on a face, s and t of [-1, 1].
static float skyOnFace(int face, float s, float t) {
  const float sign = face & 1 ? -1.0f : 1.0f;
  float x, y, z;
  if (face < 2)
    x = sign, y = -t, z = -sign * s;
  else if (face < 4)
    x = s, y = sign, z = sign * t;
  else
    x = sign * s, y = -t, z = sign;
  const float length = std::sqrt(x * x + y * y + z * z);
  return sky(x / length, y / length, z / length);
}

int main() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t map = nullptr;
  CHECK(cudaMallocMipmappedArray(&map, &format, make_cudaExtent(kSide, kSide, 6), kLevels,
                                 cudaArrayCubemap));
  for (int level = 0; level < kLevels; ++level) {
    const int side = kSide >> level;
    std::vector<float> texels(side * side * 6);
    for (int i = 0; i < side * side * 6; ++i)
      texels[i] = level + skyOnFace(i / (side * side), (2 * (i % side) + 1.0f) / side - 1,
                                    (2 * (i / side % side) + 1.0f) / side - 1);
    cudaArray_t array = nullptr;
    CHECK(cudaGetMipmappedArrayLevel(&array, map, level));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels.data(), side * sizeof(float), side, side);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(side, side, 6);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = map;
  cudaTextureDesc description = sampler(cudaAddressModeClamp, cudaFilterModeLinear, true);
  description.mipmapFilterMode = cudaFilterModeLinear;
  description.maxMipmapLevelClamp = kLevels - 1;
  description.seamlessCubemap = 1;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));

  float *image = nullptr;
  CHECK(cudaMalloc(&image, kImage * kImage * sizeof(float)));
  for (float detail : {0.0f, 0.5f, 2.25f}) { // each level is brighter by 1
    draw<<<dim3(kImage / 16, kImage / 8), dim3(16, 8)>>>(texture, detail, image);
    checkLaunch("draw");
    std::vector<float> expected(kImage * kImage);
    for (int i = 0; i < kImage * kImage; ++i) {
      float at[3];
      expected[i] = reflected(i % kImage, i / kImage, at) ? detail + sky(at[0], at[1], at[2]) : -1;
    }
    // Coarse levels bend between their texels.
    expectNear("image", download(image, expected.size()), expected, 0.004 + 0.008 * detail);
  }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeMipmappedArray(map));
  CHECK(cudaFree(image));
  return pass("cube_map");
}
