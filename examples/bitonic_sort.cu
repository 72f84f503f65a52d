// SPDX-License-Identifier: Apache-2.0
// Sorts keys with their values by compare-and-exchange steps: far steps in global memory, near ones
// in shared memory.

#include "Check.h"
#include <algorithm>

constexpr int kCount = 8192, kBlock = 512;

__device__ void exchange(unsigned long long &a, unsigned long long &b, bool ascending) {
  if ((a > b) == ascending) {
    unsigned long long other = a;
    a = b;
    b = other;
  }
}

__global__ void exchangeFar(unsigned long long *data, int size, int distance) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, partner = i ^ distance;
  if (partner > i)
    exchange(data[i], data[partner], (i & size) == 0);
}

// All steps of `size` whose distance is below the block's size.
__global__ void exchangeNear(unsigned long long *data, int size, int distance) {
  __shared__ unsigned long long block[kBlock];
  int i = blockIdx.x * kBlock + threadIdx.x;
  block[threadIdx.x] = data[i];
  __syncthreads();
  for (; distance > 0; distance /= 2) {
    int partner = threadIdx.x ^ distance;
    if (partner > int(threadIdx.x))
      exchange(block[threadIdx.x], block[partner], (i & size) == 0);
    __syncthreads();
  }
  data[i] = block[threadIdx.x];
}

int main() {
  std::vector<unsigned long long> data(kCount);
  for (int i = 0; i < kCount; ++i) // the key above, the value below; some keys are equal
    data[i] = (uint64_t(mix(i) % 5000) << 32) | i;
  unsigned long long *device = upload(data);
  for (int size = 2; size <= kCount; size *= 2) {
    int distance = size / 2;
    for (; distance >= kBlock; distance /= 2)
      exchangeFar<<<kCount / kBlock, kBlock>>>(device, size, distance);
    exchangeNear<<<kCount / kBlock, kBlock>>>(device, size, distance);
  }
  checkLaunch("sort");
  std::sort(data.begin(), data.end());
  expectEqual("sorted", download(device, kCount), data);
  CHECK(cudaFree(device));
  return pass("bitonic_sort");
}
