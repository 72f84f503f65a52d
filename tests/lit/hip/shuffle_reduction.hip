// SPDX-License-Identifier: Apache-2.0
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %each-version %programs/shuffle_reduction | FileCheck %s
// RUN: env RUBIA_ARCH=gfx90a %hiplib %each-version %programs/shuffle_reduction | FileCheck %s
#include "Inputs/check.h"
#include <vector>

__global__ void sum(const int *in, int *out, int n) {
  __shared__ int partial[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n ? in[i] : 0;
  for (int offset = warpSize / 2; offset; offset /= 2)
    value += __shfl_down(value, offset);
  if (threadIdx.x % warpSize == 0)
    partial[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x < warpSize) {
    value = threadIdx.x < blockDim.x / warpSize ? partial[threadIdx.x] : 0;
    for (int offset = warpSize / 2; offset; offset /= 2)
      value += __shfl_down(value, offset);
    if (threadIdx.x == 0)
      atomicAdd(out, value);
  }
}

int main() {
  const int n = 10007;
  std::vector<int> in(n);
  int expected = 0;
  for (int i = 0; i < n; ++i)
    expected += in[i] = i * 7 % 1001 - 500;
  int *dIn, *dOut, got = 0;
  CHECK(hipMalloc(&dIn, n * sizeof(int)));
  CHECK(hipMallocManaged(&dOut, sizeof(int)));
  CHECK(hipMemset(dOut, 0, sizeof(int)));
  CHECK(hipMemcpy(dIn, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
  int grid, block;
  CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, sum, 0, 0));
  EXPECT(block > 0 && grid > 0);
  sum<<<(n + 255) / 256, 256>>>(dIn, dOut, n);
  CHECK(hipDeviceSynchronize());
  EXPECT(*dOut == expected); // managed
  CHECK(hipMemcpy(&got, dOut, sizeof(int), hipMemcpyDefault));
  EXPECT(got == expected);
  hipPointerAttribute_t attributes;
  CHECK(hipPointerGetAttributes(&attributes, dOut));
  EXPECT(attributes.isManaged && attributes.device == 0);
  // CHECK: PASS
  printf("PASS\n");
}
