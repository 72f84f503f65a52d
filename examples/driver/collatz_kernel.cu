// SPDX-License-Identifier: Apache-2.0
// The kernels of collatz_driver: steps of n -> n/2 or 3n+1 until 1, their histogram and the longest
// chain.

__device__ unsigned histogram[32];     // chains by length / 16
__constant__ unsigned stepLimit = 100; // the program sets it
__device__ unsigned long long longest; // length << 32 | start, of the longest chain

__device__ unsigned chainLength(unsigned long long n) {
  unsigned steps = 0;
  while (n != 1 && steps < stepLimit) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}

extern "C" __global__ void collatz(unsigned first, unsigned count, unsigned short *lengths) {
  __shared__ unsigned own[32];
  if (threadIdx.x < 32)
    own[threadIdx.x] = 0;
  __syncthreads();
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    unsigned length = chainLength(first + i);
    lengths[i] = length;
    atomicAdd(&own[min(length / 16, 31u)], 1u);
    atomicMax(&longest, (unsigned long long)length << 32 | (first + i));
  }
  __syncthreads();
  if (threadIdx.x < 32 && own[threadIdx.x])
    atomicAdd(&histogram[threadIdx.x], own[threadIdx.x]);
}
