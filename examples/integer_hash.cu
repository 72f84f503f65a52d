// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of every width: multiplication high and wide, division, shifts, rotation, bit
// counts and reversals, byte permutation. A wrong bit anywhere changes the hash.

#include "Check.h"

__host__ __device__ inline uint32_t rotate(uint32_t x, unsigned by) {
#ifdef __CUDA_ARCH__
  return __funnelshift_l(x, x, by);
#else
  return by % 32 ? x << (by % 32) | x >> (32 - by % 32) : x;
#endif
}

__host__ __device__ inline unsigned bitsSet(uint64_t x) {
#ifdef __CUDA_ARCH__
  return __popcll(x);
#else
  return __builtin_popcountll(x);
#endif
}

__host__ __device__ inline unsigned leadingZeros(uint32_t x) {
#ifdef __CUDA_ARCH__
  return __clz(x);
#else
  return x ? __builtin_clz(x) : 32;
#endif
}

__host__ __device__ inline uint32_t reversed(uint32_t x) {
#ifdef __CUDA_ARCH__
  return __brev(x);
#else
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i)
    result |= (x >> i & 1) << (31 - i);
  return result;
#endif
}

__host__ __device__ inline uint32_t bytesSwapped(uint32_t x) {
#ifdef __CUDA_ARCH__
  return __byte_perm(x, 0, 0x0123);
#else
  return __builtin_bswap32(x);
#endif
}

__host__ __device__ inline uint64_t high(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  return uint64_t((unsigned __int128)a * b >> 64);
#endif
}

__host__ __device__ inline uint64_t hash(uint32_t index) {
  uint64_t state = 0x9e3779b97f4a7c15ull * (index + 1);
  for (int round = 0; round < 8; ++round) {
    uint32_t low = uint32_t(state), top = uint32_t(state >> 32);
    state ^= high(state, 0xd6e8feb86659fd93ull);
    state += uint64_t(low) * top;
    state ^= uint64_t(rotate(low, top & 63)) << 16;
    state += uint64_t(int64_t(int32_t(low)) * int32_t(top)) >> 7;
    state ^= uint64_t(int64_t(state) >> (top & 31));
    state += state / (low % 1000 + 1) + state % (uint64_t(top) * 3 + 7);
    state ^= uint64_t(int64_t(state) / (int32_t(low & 0xffff) - 0x8000 | 1));
    state += uint64_t(reversed(low)) * bitsSet(state) + leadingZeros(top >> (low & 31));
    state ^= uint64_t(bytesSwapped(uint32_t(state >> 13))) << 21;
    state += uint64_t(int64_t(int8_t(low)) * int16_t(top)) + uint8_t(top) * uint16_t(low >> 9);
  }
  return state;
}

__global__ void hashAll(uint64_t *output, unsigned long long *combined, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  output[i] = hash(i);
  atomicXor(combined, static_cast<unsigned long long>(output[i]));
}

int main() {
  const int n = 20000;
  std::vector<uint64_t> expected(n);
  unsigned long long all = 0;
  for (int i = 0; i < n; ++i) {
    expected[i] = hash(i);
    all ^= expected[i];
  }
  uint64_t *output;
  unsigned long long *combined;
  CHECK(cudaMalloc(&output, n * sizeof(uint64_t)));
  CHECK(cudaMalloc(&combined, sizeof(*combined)));
  CHECK(cudaMemset(combined, 0, sizeof(*combined)));
  hashAll<<<(n + 127) / 128, 128>>>(output, combined, n);
  checkLaunch("hashAll");
  expectEqual("hash", download(output, n), expected);
  if (download(combined, 1)[0] != all)
    fail("hash of all", 0, double(all), double(download(combined, 1)[0]));
  CHECK(cudaFree(output));
  CHECK(cudaFree(combined));
  return pass("integer_hash");
}
