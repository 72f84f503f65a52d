// SPDX-License-Identifier: Apache-2.0
// 256 bins of bytes: with global atomics only, and with a private histogram of each block in shared
// memory.

#include "Check.h"

constexpr int kBins = 256;

__global__ void countGlobal(const uint8_t *input, int n, unsigned *bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[input[i]], 1u);
}

__global__ void countShared(const uint8_t *input, int n, unsigned *bins) {
  __shared__ unsigned own[kBins];
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x)
    own[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[input[i]], 1u);
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x)
    if (own[bin])
      atomicAdd(&bins[bin], own[bin]);
}

int main() {
  const int n = 100000;
  std::vector<uint8_t> input(n);
  std::vector<unsigned> expected(kBins);
  for (int i = 0; i < n; ++i) {
    // Uneven on purpose: half of all bytes fall into 16 bins, so that lanes collide.
    uint32_t random = mix(i);
    input[i] = random & 0x100 ? random & 0xf : random >> 24;
    ++expected[input[i]];
  }
  uint8_t *device = upload(input);
  unsigned *bins;
  CHECK(cudaMalloc(&bins, kBins * sizeof(unsigned)));

  CHECK(cudaMemset(bins, 0, kBins * sizeof(unsigned)));
  countGlobal<<<16, 128>>>(device, n, bins);
  checkLaunch("countGlobal");
  expectEqual("global histogram", download(bins, kBins), expected);

  CHECK(cudaMemsetAsync(bins, 0, kBins * sizeof(unsigned)));
  countShared<<<16, 192>>>(device, n, bins);
  checkLaunch("countShared");
  expectEqual("shared histogram", download(bins, kBins), expected);
  CHECK(cudaFree(device));
  CHECK(cudaFree(bins));
  return pass("histogram");
}
