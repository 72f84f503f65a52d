// SPDX-License-Identifier: Apache-2.0
// Slices through a volume at any angle: a texture of three dimensions with a linear filter, whose
// coordinates are normalised and repeat. Where a slice meets texels exactly, it must have them.

#include "Textures.h"

constexpr int kWidth = 24, kHeight = 20, kDepth = 12, kSlice = 64;

struct Plane {
  float origin[3], across[3], down[3]; // normalised coordinates
};

__global__ void slice(cudaTextureObject_t volume, Plane plane, float *output) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float at[3];
  for (int i = 0; i < 3; ++i)
    at[i] = plane.origin[i] + x * plane.across[i] + y * plane.down[i];
  output[y * kSlice + x] = tex3D<float>(volume, at[0], at[1], at[2]);
}

// Exact weights, where a GPU's are of 256.
static float sampled(const std::vector<float> &volume, const float (&at)[3]) {
  const int sizes[] = {kWidth, kHeight, kDepth};
  int first[3];
  double weight[3];
  for (int i = 0; i < 3; ++i) {
    const double texel = double(at[i]) * sizes[i] - 0.5;
    first[i] = int(std::floor(texel));
    weight[i] = texel - first[i];
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double part = 1;
    int place[3];
    for (int i = 0; i < 3; ++i) {
      const int upper = corner >> i & 1;
      part *= upper ? weight[i] : 1 - weight[i];
      place[i] = ((first[i] + upper) % sizes[i] + sizes[i]) % sizes[i];
    }
    sum += part * volume[(place[2] * kHeight + place[1]) * kWidth + place[0]];
  }
  return float(sum);
}

int main() {
  std::vector<float> volume(kWidth * kHeight * kDepth);
  for (size_t i = 0; i < volume.size(); ++i)
    volume[i] = uniform(i);
  const cudaArray_t array = arrayOf(volume, kWidth, kHeight, kDepth);
  const cudaTextureObject_t texture =
      textureOf(array, sampler(cudaAddressModeWrap, cudaFilterModeLinear, true));

  const Plane planes[] = {
      {{0.5f / kWidth, 0.5f / kHeight, 3.5f / kDepth},
       {1.0f / kWidth, 0, 0},
       {0, 1.0f / kHeight, 0}}, // texels
      {{0.1f, 0.2f, 0.9f}, {0.013f, 0.004f, -0.017f}, {-0.006f, 0.021f, 0.003f}},
      {{-0.7f, 0.4f, 0.05f}, {0.031f, 0, 0.002f}, {0.011f, -0.023f, 0.019f}},
  };
  float *output = nullptr;
  CHECK(cudaMalloc(&output, kSlice * kSlice * sizeof(float)));
  for (const Plane &plane : planes) {
    slice<<<dim3(kSlice / 16, kSlice / 8), dim3(16, 8)>>>(texture, plane, output);
    checkLaunch("slice");
    std::vector<float> expected(kSlice * kSlice);
    for (int y = 0; y < kSlice; ++y)
      for (int x = 0; x < kSlice; ++x) {
        float at[3];
        for (int i = 0; i < 3; ++i)
          at[i] = plane.origin[i] + x * plane.across[i] + y * plane.down[i];
        expected[y * kSlice + x] = sampled(volume, at);
      }
    expectNear("slice", download(output, expected.size()), expected, 3.0 / 256);
  }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(output));
  return pass("volume_texture");
}
