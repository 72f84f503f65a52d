// SPDX-License-Identifier: Apache-2.0
// More kernels like those of kernels.cu: whole algorithms, functions of the device library, and
// exchange within a warp. Those that talk within a warp ask for 32 lanes, which AMD's wave64
// processors answer with parts of a wave.
#include "Native.h"

#define KERNEL(name, type)                                                                         \
  extern "C" __global__ void __launch_bounds__(256) name(type *out, const type *in, int n)
#define INDEX int(blockIdx.x * blockDim.x + threadIdx.x)

typedef unsigned u32;
typedef unsigned long long u64;

// ---------- Option pricing and random numbers

template <class T> __device__ __forceinline__ T normal(T x) {
  return T(0.5) * erfc(x * T(-0.70710678118654752));
}

KERNEL(option_f32, float) {
  float spot = 50 + 50 * in[INDEX % n], strike = 50 + 50 * in[(INDEX + 1) % n];
  float years = 0.25f + in[(INDEX + 2) % n], rate = 0.02f, sigma = 0.3f, root = sqrtf(years);
  float d1 = (logf(spot / strike) + (rate + 0.5f * sigma * sigma) * years) / (sigma * root);
  float d2 = d1 - sigma * root;
  out[INDEX] = spot * normal(d1) - strike * expf(-rate * years) * normal(d2);
}

KERNEL(option_f64, double) {
  double spot = 50 + 50 * in[INDEX % n], strike = 50 + 50 * in[(INDEX + 1) % n];
  double years = 0.25 + in[(INDEX + 2) % n], rate = 0.02, sigma = 0.3, root = sqrt(years);
  double d1 = (log(spot / strike) + (rate + 0.5 * sigma * sigma) * years) / (sigma * root);
  double d2 = d1 - sigma * root;
  out[INDEX] = spot * normal(d1) - strike * exp(-rate * years) * normal(d2);
}

// A lattice of prices that is folded from its leaves, in registers.
KERNEL(binomial_tree, float) {
  float spot = 50 + 50 * in[INDEX % n], value[16];
  for (int i = 0; i < 16; ++i)
    value[i] = fmaxf(spot * (0.7f + 0.04f * i) - 60, 0.0f);
  for (int step = 15; step > 0; --step)
    for (int i = 0; i < step; ++i)
      value[i] = 0.99f * (0.45f * value[i] + 0.55f * value[i + 1]);
  out[INDEX] = value[0];
}

__device__ __forceinline__ u32 next(u32 &state) {
  state = state * 747796405u + 2891336453u;
  u32 word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
  return word >> 22 ^ word;
}

KERNEL(monte_carlo_pi, u32) {
  u32 state = in[INDEX % n], inside = 0;
  for (int k = 0; k < 32; ++k) {
    float x = next(state) * 2.3283064e-10f, y = next(state) * 2.3283064e-10f;
    inside += x * x + y * y < 1;
  }
  out[INDEX] = inside;
}

// Products of counters with a key: random numbers without state.
KERNEL(counter_random, u32) {
  u32 c0 = INDEX, c1 = 7, c2 = 11, c3 = 13, k0 = in[INDEX % n], k1 = 0x1234567;
  for (int round = 0; round < 10; ++round) {
    u32 h0 = __umulhi(c0, 0xD2511F53u), l0 = c0 * 0xD2511F53u;
    u32 h1 = __umulhi(c2, 0xCD9E8D57u), l1 = c2 * 0xCD9E8D57u;
    c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  out[INDEX] = c0 ^ c1 ^ c2 ^ c3;
}

KERNEL(box_muller, float) {
  float u = fmaxf(in[INDEX % n], 1e-6f), v = in[(INDEX + 1) % n];
  float radius = sqrtf(-2 * logf(u));
  out[INDEX] = radius * (cosf(6.2831853f * v) + sinf(6.2831853f * v));
}

// ---------- Layers of networks

KERNEL(softmax_rows, float) {
  __shared__ float part[256];
  int t = threadIdx.x;
  float x = in[INDEX % n];
  part[t] = x;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step)
      part[t] = fmaxf(part[t], part[t + step]);
    __syncthreads();
  }
  float most = part[0];
  __syncthreads();
  float e = expf(x - most);
  part[t] = e;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    __syncthreads();
  }
  out[INDEX] = e / part[0];
}

KERNEL(layer_norm, float) {
  __shared__ float sums[256], squares[256];
  int t = threadIdx.x;
  float x = in[INDEX % n];
  sums[t] = x, squares[t] = x * x;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step)
      sums[t] += sums[t + step], squares[t] += squares[t + step];
    __syncthreads();
  }
  float mean = sums[0] / 256, variance = squares[0] / 256 - mean * mean;
  out[INDEX] = (x - mean) / sqrtf(variance + 1e-5f) * in[t] + in[(t + 1) % n];
}

KERNEL(gelu, float) {
  float x = in[INDEX % n] * 4 - 2;
  out[INDEX] = 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

KERNEL(sigmoid, float) {
  float x = in[INDEX % n] * 8 - 4;
  out[INDEX] = 1 / (1 + expf(-x));
}

KERNEL(convolution_5x5, float) {
  const int width = 64;
  int x = INDEX % width, y = INDEX / width;
  if (x < 2 || x >= width - 2 || y < 2 || y >= n / width - 2)
    return;
  float sum = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx)
      sum += in[(y + dy) * width + x + dx] * in[(dy + 2) * 5 + dx + 2];
  out[INDEX] = sum;
}

KERNEL(pool_2x2, float) {
  const int width = 32;
  int x = INDEX % width, y = INDEX / width;
  if (y >= n / width / 4)
    return;
  const float *at = in + 2 * y * 2 * width + 2 * x;
  out[INDEX] = fmaxf(fmaxf(at[0], at[1]), fmaxf(at[2 * width], at[2 * width + 1]));
}

// ---------- Images and text

KERNEL(sobel, u32) {
  const int width = 64;
  int x = INDEX % width, y = INDEX / width;
  if (x < 1 || x >= width - 1 || y < 1 || y >= n / width - 1)
    return;
  auto at = [&](int dx, int dy) { return int(in[(y + dy) * width + x + dx] & 255); };
  int gx = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
  int gy = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
  int sum = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
  out[INDEX] = sum > 255 ? 255 : sum;
}

KERNEL(bilateral, float) {
  const int width = 64;
  int x = INDEX % width, y = INDEX / width;
  if (x < 1 || x >= width - 1 || y < 1 || y >= n / width - 1)
    return;
  float middle = in[INDEX], sum = 0, weights = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      float v = in[INDEX + dy * width + dx], d = v - middle;
      float weight = expf(-0.5f * (dx * dx + dy * dy) - 8 * d * d);
      sum += weight * v, weights += weight;
    }
  out[INDEX] = sum / weights;
}

KERNEL(string_search, u32) {
  const unsigned char *text = (const unsigned char *)in;
  const unsigned char wanted[5] = {17, 3, 200, 41, 5};
  u32 found = 0;
  for (int k = 0; k < 16; ++k) {
    int at = (INDEX * 16 + k) % (4 * n - 8), same = 0;
    while (same < 5 && text[at + same] % 4 == wanted[same] % 4)
      ++same;
    found += same == 5 ? 100 : same;
  }
  out[INDEX] = found;
}

KERNEL(yuv_to_rgb, u32) {
  u32 packed = in[INDEX % n];
  int y = (packed & 255) - 16, u = (packed >> 8 & 255) - 128, v = (packed >> 16 & 255) - 128;
  auto clamp = [](int value) { return u32(value < 0 ? 0 : value > 255 ? 255 : value); };
  u32 r = clamp((298 * y + 409 * v + 128) >> 8), b = clamp((298 * y + 516 * u + 128) >> 8);
  u32 g = clamp((298 * y - 100 * u - 208 * v + 128) >> 8);
  out[INDEX] = r | g << 8 | b << 16;
}

// ---------- Matrices and graphs

KERNEL(lu_in_place, float) {
  float m[6][6];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      m[i][j] = in[(INDEX + 6 * i + j) % n] + (i == j ? 6 : 0);
  float product = 1;
  for (int k = 0; k < 6; ++k) {
    float inverse = 1 / m[k][k];
    product *= m[k][k];
    for (int i = k + 1; i < 6; ++i) {
      float factor = m[i][k] * inverse;
      for (int j = k + 1; j < 6; ++j)
        m[i][j] -= factor * m[k][j];
    }
  }
  out[INDEX] = product;
}

KERNEL(floyd_warshall, u32) {
  __shared__ u32 d[16][16];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  d[y][x] = in[INDEX % n] & 1023;
  __syncthreads();
  for (int k = 0; k < 16; ++k) {
    u32 over = d[y][k] + d[k][x], now = d[y][x];
    __syncthreads();
    d[y][x] = over < now ? over : now;
    __syncthreads();
  }
  out[INDEX] = d[y][x];
}

// One level of a search in breadth: who is reached marks its neighbours.
KERNEL(breadth_first, u32) {
  int v = INDEX;
  if (v >= n || in[v] % 3)
    return;
  u32 degree = in[v] >> 8 & 7;
  for (u32 e = 0; e < degree; ++e) {
    u32 to = (v * 33u + e * 977u + (in[v] >> 16)) % u32(n);
    if (in[to] % 3)
      atomicMax(&out[to], u32(v) + 1);
  }
}

KERNEL(sparse_csr, double) {
  int row = INDEX;
  if (row >= n)
    return;
  int from = row * 5 % (n - 16), to = from + (row & 15);
  double sum = 0;
  for (int k = from; k < to; ++k)
    sum += in[k] * in[(k * 7 + row) & (n - 1)];
  out[row] = sum;
}

KERNEL(tridiagonal, double) {
  double c[8], d[8];
  c[0] = in[INDEX % n] / 4, d[0] = in[(INDEX + 1) % n] / 4;
  for (int i = 1; i < 8; ++i) {
    double a = in[(INDEX + i) % n], m = 1 / (4 - a * c[i - 1]);
    c[i] = a * m, d[i] = (in[(INDEX + 2 * i) % n] - a * d[i - 1]) * m;
  }
  for (int i = 6; i >= 0; --i)
    d[i] -= c[i] * d[i + 1];
  out[INDEX] = d[0];
}

// ---------- Local and constant memory

__constant__ u32 kRounds[16] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174};

KERNEL(rounds_of_a_hash, u32) {
  u32 w[64], a = 1, b = 2, e = in[INDEX % n];
  for (int i = 0; i < 16; ++i)
    w[i] = in[(INDEX + i) % n];
#pragma unroll 4
  for (int i = 16; i < 64; ++i)
    w[i] = w[i - 16] + (w[i - 15] >> 3 ^ w[i - 15] << 14) + w[i - 7] + (w[i - 2] >> 10 ^ w[i - 2]);
#pragma unroll 4
  for (int i = 0; i < 64; ++i) {
    u32 t = e + (a & b) + kRounds[i & 15] + w[i];
    a = b, b = e ^ t, e = t << 7 | t >> 25;
  }
  out[INDEX] = a ^ b ^ e;
}

KERNEL(fft_16_local, double) {
  double re[16], im[16];
  const double c[8] = {1, 0.92387953251128674,  0.70710678118654752,  0.38268343236508977,
                       0, -0.38268343236508977, -0.70710678118654752, -0.92387953251128674};
  const double s[8] = {0,  -0.38268343236508977, -0.70710678118654752, -0.92387953251128674,
                       -1, -0.92387953251128674, -0.70710678118654752, -0.38268343236508977};
  for (int i = 0; i < 16; ++i)
    re[i] = in[(INDEX * 16 + i) % n], im[i] = 0;
  for (int half = 1; half < 16; half *= 2)
    for (int k = 0; k < 8; ++k) {
      int j = k % half, i = k / half * 2 * half + j, twiddle = j * (8 / half);
      double r = re[i + half] * c[twiddle] - im[i + half] * s[twiddle];
      double q = re[i + half] * s[twiddle] + im[i + half] * c[twiddle];
      re[i + half] = re[i] - r, im[i + half] = im[i] - q;
      re[i] += r, im[i] += q;
    }
  double sum = 0;
  for (int i = 0; i < 16; ++i)
    sum += re[i] * (i + 1) + im[i];
  out[INDEX] = sum;
}

KERNEL(fft_shared, float) {
  __shared__ float re[256], im[256];
  int t = threadIdx.x;
  re[t] = in[INDEX % n], im[t] = 0;
  __syncthreads();
  for (int half = 1; half < 256; half *= 2) {
    int j = t % half, i = t / half * 2 * half + j;
    if (t < 128) {
      float c, s;
      sincosf(-3.14159265f * j / half, &s, &c);
      float r = re[i + half] * c - im[i + half] * s, q = re[i + half] * s + im[i + half] * c;
      re[i + half] = re[i] - r, im[i + half] = im[i] - q;
      re[i] += r, im[i] += q;
    }
    __syncthreads();
  }
  out[INDEX] = re[t] + im[t];
}

KERNEL(radix_digits, u32) {
  __shared__ u32 counts[16], starts[16], sorted[256];
  int t = threadIdx.x;
  u32 key = in[INDEX % n];
  for (int shift = 0; shift < 8; shift += 4) {
    if (t < 16)
      counts[t] = 0;
    __syncthreads();
    atomicAdd(&counts[key >> shift & 15], 1u);
    __syncthreads();
    if (t == 0) {
      u32 sum = 0;
      for (int i = 0; i < 16; ++i)
        starts[i] = sum, sum += counts[i];
    }
    __syncthreads();
    u32 before = 0;
    sorted[t] = key;
    __syncthreads();
    for (int i = 0; i < t; ++i)
      before += (sorted[i] >> shift & 15) == (key >> shift & 15);
    __syncthreads();
    sorted[starts[key >> shift & 15] + before] = key;
    __syncthreads();
    key = sorted[t];
    __syncthreads();
  }
  out[INDEX] = key;
}

KERNEL(heap_sort, u32) {
  u32 v[12];
  for (int i = 0; i < 12; ++i)
    v[i] = in[(INDEX + i) % n];
  for (int end = 12, start = 6; end > 1;) {
    u32 value;
    if (start > 0)
      value = v[--start];
    else
      value = v[--end], v[end] = v[0];
    int hole = start;
    for (int child; (child = 2 * hole + 1) < end; hole = child) {
      if (child + 1 < end && v[child + 1] > v[child])
        ++child;
      if (v[child] <= value)
        break;
      v[hole] = v[child];
    }
    v[hole] = value;
  }
  out[INDEX] = v[3] + v[8];
}

// ---------- Functions of the device library

KERNEL(powers, float) {
  float x = 0.5f + in[INDEX % n], y = in[(INDEX + 1) % n] * 3;
  out[INDEX] = powf(x, y) + exp2f(y) + log2f(x);
}

KERNEL(angles, double) {
  double x = in[INDEX % n] * 20 - 10;
  out[INDEX] = sin(x) + cos(0.5 * x) + atan(x);
}

KERNEL(roots, float) {
  float x = in[INDEX % n] + 0.1f, sum = 0;
  for (int k = 0; k < 4; ++k)
    sum += rsqrtf(x + k) + cbrtf(x * k + 1) / (x + k);
  out[INDEX] = sum;
}

KERNEL(lennard_jones, double) {
  double x = in[INDEX % n] * 4, sum = 0;
  for (int k = 0; k < 16; ++k) {
    double d = x - in[(INDEX + k + 1) % n] * 4, r2 = 1 / (d * d + 0.5), r6 = r2 * r2 * r2;
    sum += 4 * (r6 * r6 - r6);
  }
  out[INDEX] = sum;
}
