// SPDX-License-Identifier: Apache-2.0
// Prints, for every STEPth row of Functions.h, a digest of its results at many inputs, and some of
// the results themselves: `CudaMath INPUTS SAMPLES STEP [FILE]`. Inputs are made from a fixed seed.
// Rows that may be wrong by some units in the last place are written to FILE: a line with name,
// kind, bound and count, then for each input three operands and the result, 64 bits each.
#include "Functions.h"
#include "Recorded.h"
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <curand_kernel.h>
#include <thrust/complex.h>

typedef unsigned __int128 Wide;

__device__ Wide wide(uint64_t high, uint64_t low) { return Wide(high) << 64 | low; }
__device__ Wide quotient128(uint64_t x, uint64_t y, uint64_t z) {
  return wide(x, y) / (wide(z & 1 ? z : 0, y ^ x) | 1);
}
__device__ Wide remainder128(uint64_t x, uint64_t y, uint64_t z) {
  return wide(x, y) % (wide(z & 1 ? z : 0, y ^ x) | 1);
}

__device__ double frexpOf(double x) {
  int exponent = 0;
  double fraction = frexp(x, &exponent);
  return fraction + exponent;
}
__device__ double modfOf(double x) {
  double whole = 0;
  return modf(x, &whole) - whole;
}
__device__ double remquoOf(double x, double y) {
  int quotient = 0;
  double rest = remquo(x, y, &quotient);
  return rest * 8 + (quotient & 7);
}
__device__ cuDoubleComplex complexProduct(double x, double y, double z) {
  return cuCmul(make_cuDoubleComplex(x, y), make_cuDoubleComplex(z, x));
}
__device__ cuDoubleComplex complexQuotient(double x, double y, double z) {
  return cuCdiv(make_cuDoubleComplex(x, y), make_cuDoubleComplex(z, y));
}
__device__ cuFloatComplex complexProductF(float x, float y, float z) {
  return cuCmulf(make_cuFloatComplex(x, y), make_cuFloatComplex(z, x));
}
__device__ cuFloatComplex complexQuotientF(float x, float y, float z) {
  return cuCdivf(make_cuFloatComplex(x, y), make_cuFloatComplex(z, y));
}
__device__ thrust::complex<float> thrustProduct(float x, float y, float z) {
  return thrust::complex<float>(x, y) * thrust::complex<float>(z, x);
}
__device__ thrust::complex<float> thrustQuotient(float x, float y, float z) {
  return thrust::complex<float>(x, y) / thrust::complex<float>(z, y);
}

template <class State> __device__ uint64_t draw(uint64_t seed) {
  State state;
  curand_init(seed >> 32, seed & 0xff, seed >> 8 & 0xff, &state);
  uint64_t mixed = 0;
  for (int i = 0; i < 4; ++i)
    mixed = mixed * 0x9e3779b97f4a7c15u + curand(&state);
  return mixed;
}
template <class State> __device__ uint64_t drawUniform(uint64_t seed) {
  State state;
  curand_init(seed >> 32, seed & 0xff, 0, &state);
  float first = curand_uniform(&state);
  double second = curand_uniform_double(&state);
  return uint64_t(__float_as_uint(first)) * 0x9e3779b97f4a7c15u + __double_as_longlong(second);
}
__device__ uint64_t drawPoisson(uint64_t seed) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, 0, 0, &state);
  return curand_poisson(&state, 3.5);
}
__device__ uint64_t drawSkipped(uint64_t seed) {
  curandState state;
  curand_init(seed, 1, 0, &state);
  skipahead(seed % 1000, &state);
  return curand(&state);
}

// Results as bits; NaNs are one.
__device__ uint64_t bitsOf(double value) {
  return isnan(value) ? 0x7ff8000000000000u : __double_as_longlong(value);
}
__device__ uint64_t bitsOf(float value) {
  return isnan(value) ? 0x7fc00000u : __float_as_uint(value);
}
__device__ uint64_t bitsOf(int value) { return uint64_t(int64_t(value)); }
__device__ uint64_t bitsOf(unsigned value) { return value; }
__device__ uint64_t bitsOf(unsigned char value) { return value; }
__device__ uint64_t bitsOf(__half value) {
  return __hisnan(value) ? 0x7e00 : __half_as_ushort(value);
}

#define DOUBLE_ROW(NAME, EXPRESSION, ULP)                                                          \
  __global__ void NAME(const uint64_t *in, uint64_t *out, unsigned n) {                            \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
    if (i >= n)                                                                                    \
      return;                                                                                      \
    [[maybe_unused]] double x = __longlong_as_double(in[3 * i]),                                   \
                            y = __longlong_as_double(in[3 * i + 1]),                               \
                            z = __longlong_as_double(in[3 * i + 2]);                               \
    out[i] = bitsOf(EXPRESSION);                                                                   \
  }
#define FLOAT_ROW(NAME, EXPRESSION, ULP)                                                           \
  __global__ void NAME(const uint64_t *in, uint64_t *out, unsigned n) {                            \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
    if (i >= n)                                                                                    \
      return;                                                                                      \
    [[maybe_unused]] float x = __uint_as_float(in[3 * i]), y = __uint_as_float(in[3 * i + 1]),     \
                           z = __uint_as_float(in[3 * i + 2]);                                     \
    out[i] = bitsOf(EXPRESSION);                                                                   \
  }
#define HALF_ROW(NAME, EXPRESSION, ULP)                                                            \
  __global__ void NAME(const uint64_t *in, uint64_t *out, unsigned n) {                            \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
    if (i >= n)                                                                                    \
      return;                                                                                      \
    [[maybe_unused]] __half x = __ushort_as_half(in[3 * i]), y = __ushort_as_half(in[3 * i + 1]),  \
                            z = __ushort_as_half(in[3 * i + 2]);                                   \
    out[i] = bitsOf(EXPRESSION);                                                                   \
  }
#define INTEGER_ROW(NAME, EXPRESSION)                                                              \
  __global__ void NAME(const uint64_t *in, uint64_t *out, unsigned n) {                            \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
    if (i >= n)                                                                                    \
      return;                                                                                      \
    [[maybe_unused]] uint64_t x = in[3 * i], y = in[3 * i + 1], z = in[3 * i + 2];                 \
    out[i] = uint64_t(EXPRESSION);                                                                 \
  }
DOUBLE_FUNCTIONS(DOUBLE_ROW)
FLOAT_FUNCTIONS(FLOAT_ROW)
HALF_FUNCTIONS(HALF_ROW)
INTEGER_FUNCTIONS(INTEGER_ROW)

#define DOUBLE_NAME(NAME, EXPRESSION, ULP) {#NAME, 'd', ULP, NAME},
#define FLOAT_NAME(NAME, EXPRESSION, ULP) {#NAME, 'f', ULP, NAME},
#define HALF_NAME(NAME, EXPRESSION, ULP) {#NAME, 'h', ULP, NAME},
#define INTEGER_NAME(NAME, EXPRESSION) {#NAME, 'i', 0, NAME},
static const Row kRows[] = {DOUBLE_FUNCTIONS(DOUBLE_NAME) FLOAT_FUNCTIONS(FLOAT_NAME)
                                HALF_FUNCTIONS(HALF_NAME) INTEGER_FUNCTIONS(INTEGER_NAME)};

static double unit() { return double(next() >> 11) * 0x1p-53; }

static double number() {
  switch (next() % 6) {
  case 0:
    return (unit() - 0.5) * 8;
  case 1:
    return (unit() - 0.5) * 200;
  case 2:
    return (next() & 1 ? 1 : -1) * exp2((unit() - 0.5) * 80);
  case 3:
    return unit();
  case 4:
    return double(int64_t(next() % 41) - 20) / 2;
  }
  return (next() & 1 ? 1 : -1) * exp2((unit() - 0.5) * 600);
}

static uint64_t inputOf(char kind) {
  const bool isRandom = next() % 8 == 0;
  uint64_t bits = next();
  if (kind == 'i') {
    const unsigned shift = next() % 64;
    return isRandom ? uint64_t(-int64_t(next() % 3)) : bits >> shift;
  }
  double value = number();
  if (kind == 'd') {
    if (!isRandom)
      memcpy(&bits, &value, 8);
    return bits;
  }
  if (kind == 'h')
    return bits & 0xffff;
  float single = float(value);
  uint32_t word = uint32_t(bits);
  if (!isRandom)
    memcpy(&word, &single, 4);
  return word;
}

int main(int count, char **arguments) {
  return record(count, arguments, kRows, [](std::vector<uint64_t> &in, char kind) {
    for (uint64_t &value : in)
      value = inputOf(kind);
  });
}
