// SPDX-License-Identifier: Apache-2.0
// Kernels of the kinds that programs have, each `NAME(out, in, n)`, for CTAs of 256 threads.
// compare.py compiles them to PTX and natively, launches both on the same input, and compares what
// is executed. They use nothing that needs a device library, and leave out what both sides round
// differently.
#include "Native.h"

#define KERNEL(name, type)                                                                         \
  extern "C" __global__ void __launch_bounds__(256) name(type *out, const type *in, int n)
#define INDEX int(blockIdx.x * blockDim.x + threadIdx.x)

typedef unsigned u32;
typedef unsigned long long u64;
struct alignas(16) Four {
  float x, y, z, w;
};

// ---------- Memory in order

KERNEL(saxpy, float) {
  int i = INDEX;
  if (i < n)
    out[i] = 2.5f * in[i] + in[n - 1 - i];
}

KERNEL(grid_stride_sum, float) {
  float sum = 0;
  for (int i = INDEX; i < n; i += blockDim.x * gridDim.x)
    sum += in[i];
  out[INDEX] = sum;
}

KERNEL(stencil_1d, float) {
  int i = INDEX;
  if (i >= 4 && i < n - 4) {
    float sum = 0;
    for (int k = -4; k <= 4; ++k)
      sum += in[i + k] * (0.1f + 0.01f * k);
    out[i] = sum;
  }
}

KERNEL(stencil_2d, float) {
  const int width = 64, x = INDEX % width, y = INDEX / width, height = n / width;
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
    out[y * width + x] = 0.2f * (in[y * width + x] + in[y * width + x - 1] + in[y * width + x + 1] +
                                 in[(y - 1) * width + x] + in[(y + 1) * width + x]);
}

KERNEL(stencil_3d, float) {
  const int w = 16, x = INDEX % w, y = INDEX / w % w, z = INDEX / (w * w), depth = n / (w * w);
  if (x < 1 || x >= w - 1 || y < 1 || y >= w - 1 || z < 1 || z >= depth - 1)
    return;
  float sum = 0;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        sum += in[((z + dz) * w + y + dy) * w + x + dx];
  out[INDEX] = sum / 27;
}

KERNEL(gray, u32) {
  int i = INDEX;
  if (i < n) {
    u32 c = in[i], r = c & 255, g = c >> 8 & 255, b = c >> 16 & 255;
    u32 y = (77 * r + 150 * g + 29 * b) >> 8;
    out[i] = y | y << 8 | y << 16 | (c & 0xff000000);
  }
}

KERNEL(vectors, float) {
  int i = INDEX * 4;
  if (i + 3 < n) {
    Four a = *(const Four *)(in + i);
    a.x = a.x * a.y, a.z = a.z + a.w, a.y = a.y - a.x, a.w = a.w * 0.5f;
    *(Four *)(out + i) = a;
  }
}

KERNEL(columns, float) {
  const int columns = 64;
  int column = INDEX;
  if (column >= columns)
    return;
  float best = -1e30f;
  int where = 0;
  for (int row = 0; row < n / columns; ++row)
    if (float value = in[row * columns + column]; value > best)
      best = value, where = row;
  out[column] = best + where;
}

// ---------- Memory in any order

KERNEL(gather, u32) {
  int i = INDEX;
  if (i < n)
    out[i] = in[in[i] % u32(n)];
}

KERNEL(scatter_add, u32) {
  int i = INDEX;
  if (i < n)
    atomicAdd(&out[in[i] & 255], in[i] >> 8 & 15);
}

KERNEL(pointer_chase, u32) {
  u32 at = INDEX;
  for (int k = 0; k < 16; ++k)
    at = in[at % u32(n)];
  out[INDEX] = at;
}

KERNEL(binary_search, u32) {
  u32 wanted = in[INDEX % n], low = 0, high = n;
  while (low < high) {
    u32 middle = (low + high) / 2;
    if (middle * 1000u < wanted % (1000u * n))
      low = middle + 1;
    else
      high = middle;
  }
  out[INDEX] = low;
}

KERNEL(sparse_rows, float) {
  int row = INDEX;
  if (row >= n)
    return;
  float sum = 0;
  int count = row * 7 % 13;
  for (int k = 0; k < count; ++k)
    sum += in[(row * 31 + k * 17) % n] * in[(row + k) % n];
  out[row] = sum;
}

// ---------- Shared memory

KERNEL(reduce, float) {
  __shared__ float part[256];
  int t = threadIdx.x, i = INDEX;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = part[0];
}

KERNEL(scan, u32) {
  __shared__ u32 part[2][256];
  int t = threadIdx.x, from = 0;
  part[0][t] = INDEX < n ? in[INDEX] : 0;
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    part[1 - from][t] = part[from][t] + (t >= step ? part[from][t - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[INDEX] = part[from][t];
}

KERNEL(transpose, float) {
  __shared__ float tile[16][17];
  int x = threadIdx.x % 16, y = threadIdx.x / 16, base = blockIdx.x * 256;
  tile[y][x] = in[base + y * 16 + x];
  __syncthreads();
  out[base + y * 16 + x] = tile[x][y];
}

KERNEL(matmul_tile, float) {
  const int size = 64;
  __shared__ float a[16][16], b[16][16];
  int x = threadIdx.x % 16, y = threadIdx.x / 16, tiles = size / 16;
  int row = blockIdx.x / tiles % tiles * 16 + y, column = blockIdx.x % tiles * 16 + x;
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    a[y][x] = in[row * size + tile * 16 + x];
    b[y][x] = in[(tile * 16 + y) * size + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += a[y][k] * b[k][x];
    __syncthreads();
  }
  out[row * size + column] = sum;
}

KERNEL(matmul_registers, float) {
  const int size = 64;
  __shared__ float a[8][64], b[8][64];
  int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 4;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < size; k0 += 8) {
    for (int i = t; i < 512; i += 256) {
      a[i / 64][i % 64] = in[i % 64 * size + k0 + i / 64];
      b[i / 64][i % 64] = in[(k0 + i / 64) * size + i % 64];
    }
    __syncthreads();
    for (int k = 0; k < 8; ++k)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          sum[i][j] += a[k][y + i] * b[k][x + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      out[(y + i) * size + x + j] = sum[i][j];
}

KERNEL(histogram, u32) {
  __shared__ u32 bins[64];
  int t = threadIdx.x;
  if (t < 64)
    bins[t] = 0;
  __syncthreads();
  for (int i = INDEX; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&bins[in[i] & 63], 1u);
  __syncthreads();
  if (t < 64)
    atomicAdd(&out[t], bins[t]);
}

KERNEL(bitonic_sort, u32) {
  __shared__ u32 keys[256];
  u32 t = threadIdx.x;
  keys[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (u32 size = 2; size <= 256; size *= 2)
    for (u32 step = size / 2; step > 0; step /= 2) {
      u32 other = t ^ step;
      if (other > t) {
        u32 a = keys[t], b = keys[other];
        if ((a > b) == ((t & size) == 0))
          keys[t] = b, keys[other] = a;
      }
      __syncthreads();
    }
  out[blockIdx.x * 256 + t] = keys[t];
}

KERNEL(life, u32) {
  __shared__ u32 cells[18][18];
  int t = threadIdx.x, base = blockIdx.x * 256;
  for (int i = t; i < 18 * 18; i += 256)
    cells[i / 18][i % 18] = in[(base + i) % n] & 1;
  __syncthreads();
  int x = t % 16 + 1, y = t / 16 + 1;
  u32 around = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      around += cells[y + dy][x + dx];
  around -= cells[y][x];
  out[base + t] = around == 3 || (around == 2 && cells[y][x]);
}

// ---------- Integers

KERNEL(xorshift, u32) {
  u32 x = in[INDEX % n] | 1;
  for (int k = 0; k < 64; ++k)
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
  out[INDEX] = x;
}

KERNEL(murmur, u32) {
  u32 h = 0x9747b28c;
  for (int k = 0; k < 16; ++k) {
    u32 v = in[(INDEX + k) % n] * 0xcc9e2d51u;
    v = (v << 15 | v >> 17) * 0x1b873593u;
    h ^= v;
    h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
  }
  h ^= h >> 16, h *= 0x85ebca6bu, h ^= h >> 13, h *= 0xc2b2ae35u, h ^= h >> 16;
  out[INDEX] = h;
}

KERNEL(crc, u32) {
  u32 crc = ~0u, word = in[INDEX % n];
  for (int bit = 0; bit < 32; ++bit) {
    crc = (crc ^ word) & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    word >>= 1;
  }
  out[INDEX] = ~crc;
}

KERNEL(schedule_hash, u32) {
  u32 w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = in[(INDEX + i) % n];
  for (int i = 16; i < 64; ++i) {
    u32 a = w[i - 15], b = w[i - 2];
    a = (a >> 7 | a << 25) ^ (a >> 18 | a << 14) ^ a >> 3;
    b = (b >> 17 | b << 15) ^ (b >> 19 | b << 13) ^ b >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  u32 hash = 0;
  for (int i = 0; i < 64; ++i)
    hash = (hash << 5 | hash >> 27) ^ w[(i * 7 + (hash & 3)) & 63];
  out[INDEX] = hash;
}

KERNEL(collatz, u32) {
  u32 x = in[INDEX % n] % 10000 + 1, steps = 0;
  while (x != 1 && steps < 300)
    x = x % 2 ? 3 * x + 1 : x / 2, ++steps;
  out[INDEX] = steps;
}

KERNEL(gcd, u32) {
  u32 a = in[INDEX % n] | 1, b = in[(INDEX + 1) % n] | 1;
  while (b) {
    u32 rest = a % b;
    a = b, b = rest;
  }
  out[INDEX] = a;
}

KERNEL(gcd_wide, u64) { // two thirds of the steps have numbers of more than 32 bits
  u64 a = in[INDEX % n] | 1, b = in[(INDEX + 1) % n] | 1;
  while (b) {
    u64 rest = a % b;
    a = b, b = rest;
  }
  out[INDEX] = a;
}

KERNEL(index_wide, u64) { // an index of four dimensions: 64 bits, of which few are used
  u64 size = n, width = size / 64, height = size / 32, depth = size / 128;
  u64 index = u64(INDEX) * in[0] % (width * height * depth * 31);
  u64 x = index % width, y = index / width % height, z = index / width / height % depth;
  out[INDEX] = x + 3 * y + 5 * z + 7 * (index / width / height / depth);
}

KERNEL(mulmod, u64) {
  u64 modulus = 0xffffffff00000001ull, x = in[INDEX % n], sum = 1;
  for (int k = 0; k < 8; ++k) {
    u64 low = sum * x, high = __umul64hi(sum, x);
    u64 reduced = low - (high >> 32) + (high & 0xffffffff) * 0xffffffffull;
    sum = reduced >= modulus ? reduced - modulus : reduced;
    x = x * 6364136223846793005ull + 1442695040888963407ull;
  }
  out[INDEX] = sum;
}

KERNEL(wide_sum, u64) {
  u64 low = 0, high = 0;
  for (int k = 0; k < 16; ++k) {
    u64 add = in[(INDEX + k) % n];
    low += add;
    high += low < add;
    high ^= high << 7;
  }
  out[INDEX] = low ^ high;
}

KERNEL(bits, u32) {
  u32 x = in[INDEX % n], sum = 0;
  for (int k = 0; k < 16; ++k) {
    sum += __popc(x) * 3 + __clz(int(x)) + (__brev(x) & 15);
    x = x * 1664525 + 1013904223;
  }
  out[INDEX] = sum;
}

KERNEL(divide_by_constants, u32) {
  u32 x = in[INDEX % n], sum = 0;
  for (int k = 0; k < 8; ++k) {
    sum += x / 7 + x % 10 + x / 1000 + x % 641;
    x += 0x9e3779b9;
  }
  out[INDEX] = sum;
}

KERNEL(digits, u32) {
  u32 x = in[INDEX % n], packed = 0;
  do {
    packed = packed * 16 + x % 10;
    x /= 10;
  } while (x);
  out[INDEX] = packed;
}

KERNEL(dot_bytes, u32) {
  int sum = 0;
  for (int k = 0; k < 8; ++k) {
    u32 a = in[(INDEX + k) % n], b = in[(INDEX + 3 * k) % n];
    for (int byte = 0; byte < 4; ++byte)
      sum += int((signed char)(a >> 8 * byte)) * int((signed char)(b >> 8 * byte));
  }
  out[INDEX] = sum;
}

// ---------- Control flow and local arrays

KERNEL(interpreter, u32) {
  u32 a = in[INDEX % n], b = 1, program = in[(INDEX * 5) % n];
  for (int k = 0; k < 16; ++k) {
    switch (program >> (2 * k) & 3) {
    case 0:
      a += b;
      break;
    case 1:
      b ^= a << 3;
      break;
    case 2:
      a = a * 17 + 3;
      break;
    default:
      if (a & 1)
        b += 7;
      else
        a -= b;
    }
  }
  out[INDEX] = a ^ b;
}

KERNEL(comparisons, float) {
  float x = in[INDEX % n], y = in[(INDEX + 1) % n], best = x;
  for (int k = 0; k < 8; ++k) {
    if (x < y && best > x)
      best = x;
    else if (x > 2 * y || (best < y && x != 0))
      best = y;
    else if (x == y)
      best += 1;
    x = y, y = in[(INDEX + k) % n];
  }
  out[INDEX] = best;
}

KERNEL(median, u32) {
  u32 v[9];
  for (int i = 0; i < 9; ++i)
    v[i] = in[(INDEX + i) % n];
  for (int i = 1; i < 9; ++i)
    for (int j = i; j > 0; --j)
      if (v[j] < v[j - 1]) {
        u32 t = v[j];
        v[j] = v[j - 1], v[j - 1] = t;
      }
  out[INDEX] = v[4];
}

KERNEL(insertion_sort, u32) {
  u32 v[16];
  int count = 8 + (INDEX & 7);
  for (int i = 0; i < count; ++i) {
    u32 key = in[(INDEX + i) % n];
    int j = i;
    for (; j > 0 && v[j - 1] > key; --j)
      v[j] = v[j - 1];
    v[j] = key;
  }
  out[INDEX] = v[count / 2];
}

KERNEL(edit_distance, u32) {
  unsigned char row[17];
  u32 a = in[INDEX % n], b = in[(INDEX + 7) % n];
  for (int i = 0; i <= 16; ++i)
    row[i] = i;
  for (int i = 0; i < 16; ++i) {
    int diagonal = row[0];
    row[0] = i + 1;
    for (int j = 0; j < 16; ++j) {
      int cost = diagonal + ((a >> 2 * i & 3) != (b >> 2 * j & 3));
      diagonal = row[j + 1];
      cost = cost < diagonal + 1 ? cost : diagonal + 1;
      row[j + 1] = cost < row[j] + 1 ? cost : row[j] + 1;
    }
  }
  out[INDEX] = row[16];
}

KERNEL(explicit_stack, u32) {
  u32 stack[24], sum = 0;
  int depth = 0;
  stack[depth++] = in[INDEX % n] & 1023;
  while (depth > 0) {
    u32 node = stack[--depth];
    sum = sum * 31 + node;
    if (node > 64 && depth < 20) {
      stack[depth++] = node / 3;
      stack[depth++] = node / 5;
    }
  }
  out[INDEX] = sum;
}

__device__ __attribute__((noinline)) u32 mixed(u32 a, u32 b) {
  for (int k = 0; k < 4; ++k)
    a = (a ^ b) * 0x01000193, b = b << 3 | b >> 29;
  return a + b;
}
KERNEL(calls, u32) {
  u32 x = in[INDEX % n];
  for (int k = 0; k < 4; ++k)
    x = mixed(x, k) ^ mixed(k, x);
  out[INDEX] = x;
}

// ---------- Floating point

KERNEL(mandelbrot, float) {
  float cx = -2 + (INDEX % 64) * 0.046875f, cy = -1.25f + (INDEX / 64) * 0.0390625f, x = 0, y = 0;
  int k = 0;
  for (; k < 64 && x * x + y * y < 4; ++k) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
  }
  out[INDEX] = k;
}

KERNEL(nbody, float) {
  int i = INDEX % (n / 4);
  float x = in[4 * i], y = in[4 * i + 1], z = in[4 * i + 2], ax = 0, ay = 0, az = 0;
  for (int j = 0; j < 64; ++j) {
    float dx = in[4 * j] - x, dy = in[4 * j + 1] - y, dz = in[4 * j + 2] - z;
    float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    float s = in[4 * j + 3] * inverse * inverse * inverse;
    ax += dx * s, ay += dy * s, az += dz * s;
  }
  out[INDEX] = ax + ay + az;
}

KERNEL(horner, float) {
  float x = in[INDEX % n], sum = 1;
  for (int k = 0; k < 32; ++k)
    sum = sum * x + 1.0f / (k + 1);
  out[INDEX] = sum;
}

KERNEL(spheres, float) {
  float ox = in[INDEX % n], oy = in[(INDEX + 1) % n], dx = 0.6f, dz = 0.8f, nearest = 1e30f;
  for (int k = 0; k < 16; ++k) {
    float cx = k - ox, cy = 0.5f * k - oy, cz = 10.0f + k;
    float along = cx * dx + cz * dz, d2 = cx * cx + cy * cy + cz * cz - along * along;
    if (d2 > 4 || along < 0)
      continue;
    float t = along - sqrtf(4 - d2);
    if (t > 0 && t < nearest)
      nearest = t;
  }
  out[INDEX] = nearest;
}

KERNEL(inverse_3x3, float) {
  float m[9];
  for (int i = 0; i < 9; ++i)
    m[i] = in[(INDEX * 9 + i) % n] + (i % 4 == 0 ? 3 : 0);
  float c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8],
        c2 = m[3] * m[7] - m[4] * m[6];
  float d = 1 / (m[0] * c0 + m[1] * c1 + m[2] * c2);
  out[INDEX] = (c0 + c1 + c2 + m[2] * m[7] - m[1] * m[8]) * d;
}

KERNEL(interpolate, float) {
  float at = fabsf(in[INDEX % n]) * 10, whole = floorf(at), part = at - whole;
  int i = int(whole) % (n - 1);
  out[INDEX] = fminf(fmaxf(in[i] * (1 - part) + in[i + 1] * part, -1.0f), 1.0f);
}

KERNEL(softplus_table, float) {
  __shared__ float table[64];
  if (threadIdx.x < 64)
    table[threadIdx.x] = in[threadIdx.x] * 0.5f + threadIdx.x;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 16; ++k) {
    float x = in[(INDEX + k) % n];
    int slot = int(fabsf(x) * 16) & 63;
    sum += table[slot] + x * table[(slot + 1) & 63];
  }
  out[INDEX] = sum;
}

KERNEL(newton, double) {
  double x = in[INDEX % n], root = 1;
  x = fabs(x) + 1;
  for (int k = 0; k < 6; ++k)
    root = 0.5 * (root + x / root);
  out[INDEX] = root;
}

KERNEL(dot_double, double) {
  double sum = 0, carry = 0;
  for (int k = 0; k < 32; ++k) {
    double y = in[(INDEX + k) % n] * in[(INDEX * 3 + k) % n] - carry, t = sum + y;
    carry = (t - sum) - y;
    sum = t;
  }
  out[INDEX] = sum;
}

KERNEL(fft_8, double) {
  double re[8], im[8];
  for (int i = 0; i < 8; ++i)
    re[i] = in[(INDEX * 8 + i) % n], im[i] = 0;
  for (int size = 1; size < 8; size *= 2)
    for (int i = 0; i < 8; i += 2 * size)
      for (int j = 0; j < size; ++j) {
        double c = j == 0 ? 1 : 0.70710678118654752, s = j == 0 ? 0 : -0.70710678118654752;
        double r = re[i + j + size] * c - im[i + j + size] * s;
        double q = re[i + j + size] * s + im[i + j + size] * c;
        re[i + j + size] = re[i + j] - r, im[i + j + size] = im[i + j] - q;
        re[i + j] += r, im[i + j] += q;
      }
  double sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += re[i] * (i + 1) + im[i];
  out[INDEX] = sum;
}

KERNEL(jacobi_double, double) {
  const int width = 64;
  int x = INDEX % width, y = INDEX / width;
  if (x > 0 && x < width - 1 && y > 0 && y < n / width - 1)
    out[INDEX] = 0.25 * (in[INDEX - 1] + in[INDEX + 1] + in[INDEX - width] + in[INDEX + width]);
}
