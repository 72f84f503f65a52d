// SPDX-License-Identifier: Apache-2.0
// A 2D filter whose weights are a __constant__ array, on a pitched image; a __device__ variable
// counts the border pixels, and a second filter is picked with a template.

#include "Check.h"

constexpr int kRadius = 2, kSide = 2 * kRadius + 1, kWidth = 125, kHeight = 70;

__constant__ float weights[kSide * kSide];
__constant__ int offset = 3; // initialised in the image, changed below
__device__ unsigned borderPixels;

template <bool kAbsolute>
__global__ void convolve(const float *image, size_t pitch, float *output) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kWidth || y >= kHeight)
    return;
  float sum = float(offset);
  bool border = false;
  for (int dy = -kRadius; dy <= kRadius; ++dy)
    for (int dx = -kRadius; dx <= kRadius; ++dx) {
      int column = x + dx, row = y + dy;
      if (column < 0 || column >= kWidth || row < 0 || row >= kHeight) {
        border = true;
        continue;
      }
      const float *line =
          reinterpret_cast<const float *>(reinterpret_cast<const char *>(image) + row * pitch);
      sum = fmaf(weights[(dy + kRadius) * kSide + dx + kRadius], line[column], sum);
    }
  output[y * kWidth + x] = kAbsolute ? fabsf(sum) : sum;
  if (border)
    atomicAdd(&borderPixels, 1u);
}

static std::vector<float> convolveOnHost(const std::vector<float> &image,
                                         const std::vector<float> &filter, int start,
                                         bool absolute) {
  std::vector<float> output(image.size());
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      float sum = float(start);
      for (int dy = -kRadius; dy <= kRadius; ++dy)
        for (int dx = -kRadius; dx <= kRadius; ++dx) {
          int column = x + dx, row = y + dy;
          if (column >= 0 && column < kWidth && row >= 0 && row < kHeight)
            sum = fmaf(filter[(dy + kRadius) * kSide + dx + kRadius], image[row * kWidth + column],
                       sum);
        }
      output[y * kWidth + x] = absolute ? std::fabs(sum) : sum;
    }
  return output;
}

int main() {
  std::vector<float> image(kWidth * kHeight), filter(kSide * kSide);
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = uniform(i) * 16 - 8;
  for (size_t i = 0; i < filter.size(); ++i)
    filter[i] = uniform(i + 77777) - 0.5f;

  float *device, *output;
  size_t pitch;
  CHECK(cudaMallocPitch(&device, &pitch, kWidth * sizeof(float), kHeight));
  CHECK(cudaMemcpy2D(device, pitch, image.data(), kWidth * sizeof(float), kWidth * sizeof(float),
                     kHeight, cudaMemcpyHostToDevice));
  CHECK(cudaMalloc(&output, image.size() * sizeof(float)));
  CHECK(cudaMemcpyToSymbol(weights, filter.data(), filter.size() * sizeof(float)));
  size_t size = 0;
  CHECK(cudaGetSymbolSize(&size, weights));
  if (size != filter.size() * sizeof(float))
    fail("size of the weights", 0, filter.size() * sizeof(float), size);

  dim3 block(16, 8), grid((kWidth + 15) / 16, (kHeight + 7) / 8);
  convolve<false><<<grid, block>>>(device, pitch, output);
  checkLaunch("convolve<false>");
  expectEqual("filtered", download(output, image.size()), convolveOnHost(image, filter, 3, false));

  unsigned border = 0;
  CHECK(cudaMemcpyFromSymbol(&border, borderPixels, sizeof(border)));
  unsigned expected = kWidth * kHeight - (kWidth - 2 * kRadius) * (kHeight - 2 * kRadius);
  if (border != expected)
    fail("border pixels", 0, expected, border);

  // Single weights and the offset change between launches.
  filter[12] = -4;
  int start = -1;
  CHECK(cudaMemcpyToSymbol(weights, &filter[12], sizeof(float), 12 * sizeof(float)));
  CHECK(cudaMemcpyToSymbol(offset, &start, sizeof(start)));
  convolve<true><<<grid, block>>>(device, pitch, output);
  checkLaunch("convolve<true>");
  expectEqual("filtered", download(output, image.size()), convolveOnHost(image, filter, -1, true));
  CHECK(cudaFree(device));
  CHECK(cudaFree(output));
  return pass("convolution_constant");
}
