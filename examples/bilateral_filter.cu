// SPDX-License-Identifier: Apache-2.0
// A bilateral filter of an image of 8-bit pixels on pitched memory, read as numbers of [0, 1]; the
// result goes to a surface, which the second pass reads as a texture.

#include "Textures.h"

constexpr int kWidth = 93, kHeight = 61, kRadius = 3;
constexpr float kSpace = 2.0f, kRange = 0.15f;

__host__ __device__ inline float weightOf(int dx, int dy, float difference) {
  const float distance = float(dx * dx + dy * dy) / (2 * kSpace * kSpace);
  return expf(-distance - difference * difference / (2 * kRange * kRange));
}

__global__ void bilateral(cudaTextureObject_t image, cudaSurfaceObject_t output) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kWidth || y >= kHeight)
    return;
  const float center = tex2D<float>(image, x + 0.5f, y + 0.5f);
  float sum = 0, weights = 0;
  for (int dy = -kRadius; dy <= kRadius; ++dy)
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      const float pixel = tex2D<float>(image, x + dx + 0.5f, y + dy + 0.5f); // clamped
      const float weight = weightOf(dx, dy, pixel - center);
      sum += weight * pixel;
      weights += weight;
    }
  surf2Dwrite(sum / weights, output, x * int(sizeof(float)), y);
}

static std::vector<float> bilateralOnHost(const std::vector<float> &image) {
  auto at = [&](int x, int y) {
    x = x < 0 ? 0 : x >= kWidth ? kWidth - 1 : x;
    y = y < 0 ? 0 : y >= kHeight ? kHeight - 1 : y;
    return image[y * kWidth + x];
  };
  std::vector<float> output(image.size());
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      float sum = 0, weights = 0;
      for (int dy = -kRadius; dy <= kRadius; ++dy)
        for (int dx = -kRadius; dx <= kRadius; ++dx) {
          const float pixel = at(x + dx, y + dy), weight = weightOf(dx, dy, pixel - at(x, y));
          sum += weight * pixel;
          weights += weight;
        }
      output[y * kWidth + x] = sum / weights;
    }
  return output;
}

int main() {
  std::vector<unsigned char> image(kWidth * kHeight);
  std::vector<float> numbers(image.size());
  for (int i = 0; i < kWidth * kHeight; ++i) { // a disc on a slope, with noise
    const int x = i % kWidth - kWidth / 2, y = i / kWidth - kHeight / 2;
    const float value = (x * x + y * y < 400 ? 150 : 60) + 0.5f * x + 30 * uniform(i);
    image[i] = static_cast<unsigned char>(value < 0 ? 0 : value > 255 ? 255 : value);
    numbers[i] = image[i] / 255.0f;
  }

  unsigned char *device = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&device, &pitch, kWidth, kHeight));
  CHECK(cudaMemcpy2D(device, pitch, image.data(), kWidth, kWidth, kHeight, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = device;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
  resource.res.pitch2D.width = kWidth;
  resource.res.pitch2D.height = kHeight;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc description = sampler(cudaAddressModeClamp, cudaFilterModePoint, false);
  description.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t bytes = 0;
  CHECK(cudaCreateTextureObject(&bytes, &resource, &description, nullptr));

  cudaArray_t arrays[2];
  cudaSurfaceObject_t surfaces[2];
  const std::vector<float> zeros(numbers.size());
  for (int i = 0; i < 2; ++i) {
    arrays[i] = arrayOf(zeros, kWidth, kHeight, 0, cudaArraySurfaceLoadStore);
    cudaResourceDesc of = {};
    of.resType = cudaResourceTypeArray;
    of.res.array.array = arrays[i];
    CHECK(cudaCreateSurfaceObject(&surfaces[i], &of));
  }
  const cudaTextureObject_t between =
      textureOf(arrays[0], sampler(cudaAddressModeClamp, cudaFilterModePoint, false));

  const dim3 block(16, 8), grid((kWidth + 15) / 16, (kHeight + 7) / 8);
  std::vector<float> expected = numbers, found(numbers.size());
  for (int round = 0; round < 2; ++round) {
    bilateral<<<grid, block>>>(round ? between : bytes, surfaces[round]);
    checkLaunch("bilateral");
    CHECK(cudaMemcpy2DFromArray(found.data(), kWidth * sizeof(float), arrays[round], 0, 0,
                                kWidth * sizeof(float), kHeight, cudaMemcpyDeviceToHost));
    expected = bilateralOnHost(expected);
    expectNear("filtered", found, expected, 2e-5);
  }
  CHECK(cudaDestroyTextureObject(bytes));
  CHECK(cudaDestroyTextureObject(between));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaDestroySurfaceObject(surfaces[i]));
    CHECK(cudaFreeArray(arrays[i]));
  }
  CHECK(cudaFree(device));
  return pass("bilateral_filter");
}
