// SPDX-License-Identifier: Apache-2.0
// Optical flow by Lucas and Kanade's method, coarse to fine: images are layers of an array with
// levels, warped by a linear filter between texels. The second image is the first one moved, so the
// flow is known.

#include "Textures.h"

constexpr int kSide = 24, kLevels = 3, kRounds = 3, kWindow = 3;
constexpr float kMoveX = 2.6f, kMoveY = -1.7f;

__host__ __device__ inline float pattern(float x, float y) {
  return sinf(0.35f * x + 0.1f * y) + sinf(0.31f * y - 0.07f * x) + 0.5f * sinf(0.2f * (x + y));
}

// One round at one level: where the flow is off, by the image's slopes in a window.
__global__ void improve(cudaTextureObject_t images, int level, const float2 *coarse, float2 *flow) {
  const int side = kSide >> level, x = blockIdx.x * blockDim.x + threadIdx.x,
            y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= side || y >= side)
    return;
  float2 moved = flow[y * side + x];
  if (coarse) {
    const float2 from = coarse[y / 2 * (side / 2) + x / 2];
    moved = make_float2(2 * from.x, 2 * from.y);
  }
  const float unit = 1.0f / side;
  auto at = [&](int layer, float column, float row) {
    return tex2DLayeredLod<float>(images, (column + 0.5f) * unit, (row + 0.5f) * unit, layer,
                                  float(level));
  };
  float xx = 0.001f, xy = 0, yy = 0.001f, xt = 0, yt = 0;
  for (int dy = -kWindow; dy <= kWindow; ++dy)
    for (int dx = -kWindow; dx <= kWindow; ++dx) {
      const float column = float(x + dx), row = float(y + dy);
      const float slopeX = 0.5f * (at(0, column + 1, row) - at(0, column - 1, row)),
                  slopeY = 0.5f * (at(0, column, row + 1) - at(0, column, row - 1)),
                  change = at(1, column + moved.x, row + moved.y) - at(0, column, row);
      xx += slopeX * slopeX;
      xy += slopeX * slopeY;
      yy += slopeY * slopeY;
      xt += slopeX * change;
      yt += slopeY * change;
    }
  const float determinant = xx * yy - xy * xy;
  moved.x -= (yy * xt - xy * yt) / determinant;
  moved.y -= (xx * yt - xy * xt) / determinant;
  flow[y * side + x] = moved;
}

int main() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t pyramid = nullptr;
  CHECK(cudaMallocMipmappedArray(&pyramid, &format, make_cudaExtent(kSide, kSide, 2), kLevels,
                                 cudaArrayLayered));
  std::vector<float> images(kSide * kSide * 2);
  for (int i = 0; i < kSide * kSide; ++i) {
    const float x = float(i % kSide), y = float(i / kSide);
    images[i] = pattern(x, y);
    images[kSide * kSide + i] = pattern(x - kMoveX, y - kMoveY);
  }
  for (int level = 0; level < kLevels; ++level) {
    const int side = kSide >> level;
    cudaArray_t array = nullptr;
    CHECK(cudaGetMipmappedArrayLevel(&array, pyramid, level));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(images.data(), side * sizeof(float), side, side);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(side, side, 2);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    std::vector<float> half(images.size() / 4); // the mean of four
    for (size_t i = 0; i < half.size(); ++i) {
      const size_t row = i / (side / 2), from = 2 * row * side + 2 * (i % (side / 2));
      half[i] =
          0.25f * (images[from] + images[from + 1] + images[from + side] + images[from + side + 1]);
    }
    images = half;
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = pyramid;
  cudaTextureDesc description = sampler(cudaAddressModeMirror, cudaFilterModeLinear, true);
  description.maxMipmapLevelClamp = kLevels - 1;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));

  float2 *flow[kLevels];
  for (int level = kLevels - 1; level >= 0; --level) {
    const int side = kSide >> level;
    CHECK(cudaMalloc(&flow[level], side * side * sizeof(float2)));
    CHECK(cudaMemset(flow[level], 0, side * side * sizeof(float2)));
    for (int round = 0; round < kRounds; ++round) {
      const float2 *coarse = round == 0 && level + 1 < kLevels ? flow[level + 1] : nullptr;
      improve<<<dim3((side + 15) / 16, (side + 7) / 8), dim3(16, 8)>>>(texture, level, coarse,
                                                                       flow[level]);
      checkLaunch("improve");
    }
  }
  std::vector<float> found, expected;
  const std::vector<float2> moved = download(flow[0], kSide * kSide);
  for (int y = 8; y < kSide - 8; ++y)
    for (int x = 8; x < kSide - 8; ++x) {
      found.insert(found.end(), {moved[y * kSide + x].x, moved[y * kSide + x].y});
      expected.insert(expected.end(), {kMoveX, kMoveY});
    }
  expectNear("flow", found, expected, 0.05);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeMipmappedArray(pyramid));
  for (float2 *level : flow)
    CHECK(cudaFree(level));
  return pass("optical_flow");
}
