// SPDX-License-Identifier: Apache-2.0
// Exclusive prefix sum in three launches: blocks, the sums of blocks, and the sums added back. The
// size of the shared memory is given at launch.

#include "Check.h"

constexpr int kBlock = 256;

// Doubling distances between two buffers (Hillis and Steele); `totals` may be null.
__global__ void scanBlocks(const unsigned *input, unsigned *output, unsigned *totals, int n) {
  extern __shared__ unsigned buffer[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned value = i < n ? input[i] : 0, *from = buffer, *to = buffer + blockDim.x;
  from[threadIdx.x] = value;
  __syncthreads();
  for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
    unsigned sum = from[threadIdx.x];
    if (threadIdx.x >= distance)
      sum += from[threadIdx.x - distance];
    to[threadIdx.x] = sum;
    __syncthreads();
    unsigned *other = from;
    from = to;
    to = other;
  }
  if (i < n)
    output[i] = from[threadIdx.x] - value;
  if (totals && threadIdx.x == blockDim.x - 1)
    totals[blockIdx.x] = from[threadIdx.x];
}

__global__ void addOffsets(unsigned *output, const unsigned *offsets, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    output[i] += offsets[blockIdx.x];
}

int main() {
  const int n = 60001, blocks = (n + kBlock - 1) / kBlock;
  static_assert(blocks <= kBlock, "one block scans the sums of all blocks");
  std::vector<unsigned> input(n), expected(n);
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) {
    input[i] = mix(i) % 1000;
    expected[i] = sum;
    sum += input[i];
  }
  unsigned *device = upload(input), *output, *totals;
  CHECK(cudaMalloc(&output, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&totals, blocks * sizeof(unsigned)));
  size_t shared = 2 * kBlock * sizeof(unsigned);
  scanBlocks<<<blocks, kBlock, shared>>>(device, output, totals, n);
  scanBlocks<<<1, kBlock, shared>>>(totals, totals, nullptr, blocks);
  addOffsets<<<blocks, kBlock>>>(output, totals, n);
  checkLaunch("scan");
  expectEqual("prefix sum", download(output, n), expected);
  CHECK(cudaFree(device));
  CHECK(cudaFree(output));
  CHECK(cudaFree(totals));
  return pass("scan");
}
