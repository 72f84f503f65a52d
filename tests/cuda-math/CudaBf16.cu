// SPDX-License-Identifier: Apache-2.0
// The functions of cuda_bf16.h, as nvcc compiles them for one target, over inputs made from a fixed
// seed: the first 65,536 have each bf16 as x once. Arguments and output as CudaMath's; check.py
// compares.
#include "Bf16Functions.h"
#include "Recorded.h"
#include <cuda_bf16.h>

template <class T> __device__ T incremented(T value) {
  ++value;
  return value++ + value;
}
template <class T> __device__ T decremented(T value) {
  --value;
  return value-- + value;
}

// Results as bits; NaNs are one.
__device__ uint64_t bitsOf(__nv_bfloat16 value) {
  return __hisnan(value) ? 0x7fc0 : __bfloat16_as_ushort(value);
}
__device__ uint64_t bitsOf(__nv_bfloat162 value) {
  return bitsOf(__low2bfloat16(value)) | bitsOf(__high2bfloat16(value)) << 16;
}
__device__ uint64_t bitsOf(float value) {
  return isnan(value) ? 0x7fc00000u : __float_as_uint(value);
}

// What atomicAdd returns, and what it leaves.
template <class T> __device__ uint64_t added(uint64_t *cell, T first, T second) {
  *(T *)cell = first;
  const uint64_t old = bitsOf(atomicAdd((T *)cell, second));
  return old | bitsOf(__ldcv((T *)cell)) << 32;
}

// 0 and its neighbours, and ties, are as frequent as all other low halves of a float.
__device__ float widened(__nv_bfloat16 high, uint64_t noise) {
  constexpr unsigned kLows[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  const unsigned low = noise % 12 < 6 ? kLows[noise % 12] : unsigned(noise >> 16) & 0xffff;
  return __uint_as_float(unsigned(__bfloat16_as_ushort(high)) << 16 | low);
}
__device__ double widened(float high, uint64_t noise) {
  const double value = high;
  return noise & 1 ? __longlong_as_double(__double_as_longlong(value) ^ (noise >> 40)) : value;
}
__device__ __nv_bfloat162 pairOf(uint64_t bits) {
  return __halves2bfloat162(__ushort_as_bfloat16(bits), __ushort_as_bfloat16(bits >> 16));
}

#define ROW(NAME, RESULT)                                                                          \
  __global__ void NAME(const uint64_t *in, uint64_t *out, unsigned count) {                        \
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                      \
    if (i >= count)                                                                                \
      return;                                                                                      \
    const uint64_t first = in[3 * i], second = in[3 * i + 1], third = in[3 * i + 2];               \
    [[maybe_unused]] const __nv_bfloat162 p = pairOf(first), q = pairOf(second),                   \
                                          r = pairOf(third);                                       \
    [[maybe_unused]] const __nv_bfloat16 x = p.x, y = q.x, z = r.x;                                \
    [[maybe_unused]] const float f = widened(y, third >> 32);                                      \
    [[maybe_unused]] const double d = widened(f, second);                                          \
    [[maybe_unused]] const int64_t n = int64_t(second) >> (third >> 58);                           \
    out[i] = RESULT;                                                                               \
  }
#define BITS_ROW(NAME, EXPRESSION, ULP) ROW(NAME, bitsOf(EXPRESSION))
#define INTEGER_ROW(NAME, EXPRESSION) ROW(NAME, uint64_t(EXPRESSION))
BF16_FUNCTIONS(BITS_ROW)
PAIR_FUNCTIONS(BITS_ROW)
BF16_INTEGER_FUNCTIONS(INTEGER_ROW)

#define BF16_NAME(NAME, EXPRESSION, ULP) {#NAME, 'b', ULP, NAME},
#define PAIR_NAME(NAME, EXPRESSION, ULP) {#NAME, 'p', ULP, NAME},
#define INTEGER_NAME(NAME, EXPRESSION) {#NAME, 'i', 0, NAME},
static const Row kRows[] = {BF16_FUNCTIONS(BF16_NAME) PAIR_FUNCTIONS(PAIR_NAME)
                                BF16_INTEGER_FUNCTIONS(INTEGER_NAME)};

// A number near others that are made, or any; in the high half of the word, noise.
static uint64_t pairOfNumbers() {
  uint64_t bits = next();
  for (int half = 0; half < 2; ++half)
    if (next() % 4) {
      const uint64_t near = (next() & 0x8000) | (0x3f80 + next() % 2048 - 1024);
      bits = (bits & ~(uint64_t(0xffff) << 16 * half)) | near << 16 * half;
    }
  return bits;
}

int main(int count, char **arguments) {
  return record(count, arguments, kRows, [](std::vector<uint64_t> &in, char) {
    for (uint64_t &value : in)
      value = pairOfNumbers();
    for (size_t i = 0; i < in.size() / 3;
         ++i) // an odd factor: all 65,536 in an order without order
      in[3 * i] = (in[3 * i] & ~uint64_t(0xffff)) | (i * 40503 & 0xffff);
  });
}
