// SPDX-License-Identifier: Apache-2.0
// Kernels of the kinds that programs have: nvcc -ptx -O3 -arch=compute_80 makes kernels.ptx of
// them. No library functions, so that the text is ours throughout.
//   nvcc -ptx -O3 -arch=compute_80 kernels.cu -o - | grep -v '^//' > kernels.ptx

extern "C" __global__ void bench_axpy(float a, const float *x, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}

extern "C" __global__ void bench_matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    as[threadIdx.y][threadIdx.x] = a[row * n + tile + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k)
      sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void bench_matmul8(const float4 *a, const float4 *b, float4 *c, int n) {
  float4 acc[8][2] = {};
  for (int k = threadIdx.x; k < n; k += 32) {
    float4 x[2] = {a[2 * k], a[2 * k + 1]}, y[2] = {b[2 * k], b[2 * k + 1]};
    const float *xs = &x[0].x;
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        acc[i][j].x += xs[i] * y[j].x;
        acc[i][j].y += xs[i] * y[j].y;
        acc[i][j].z += xs[i] * y[j].z;
        acc[i][j].w += xs[i] * y[j].w;
      }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 2; ++j)
      c[(threadIdx.x * 8 + i) * 2 + j] = acc[i][j];
}

extern "C" __global__ void bench_reduce(const float *in, float *out, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += in[i];
  for (int offset = 16; offset; offset >>= 1)
    sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int offset = 16; offset; offset >>= 1)
      sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x == 0)
      atomicAdd(out, sum);
  }
}

extern "C" __global__ void bench_scan(int *data, int n) {
  extern __shared__ int buffer[];
  int i = threadIdx.x, offset = 1;
  buffer[2 * i] = data[2 * i];
  buffer[2 * i + 1] = data[2 * i + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (i < d)
      buffer[offset * (2 * i + 2) - 1] += buffer[offset * (2 * i + 1) - 1];
    offset *= 2;
  }
  if (i == 0)
    buffer[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (i < d) {
      int a = offset * (2 * i + 1) - 1, b = offset * (2 * i + 2) - 1, t = buffer[a];
      buffer[a] = buffer[b];
      buffer[b] += t;
    }
  }
  __syncthreads();
  data[2 * i] = buffer[2 * i];
  data[2 * i + 1] = buffer[2 * i + 1];
}

extern "C" __global__ void bench_histogram(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    atomicAdd(&bins[in[i]], 1);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void bench_mandelbrot(int *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  float cr = x * 3.f / width - 2, ci = y * 2.f / height - 1, zr = 0, zi = 0;
  int steps = 0;
  for (; steps < 256 && zr * zr + zi * zi < 4; ++steps) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
  }
  out[y * width + x] = steps;
}

extern "C" __global__ void bench_bitonic(int *values, int j, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, partner = i ^ j;
  if (partner > i) {
    bool up = (i & k) == 0;
    int a = values[i], b = values[partner];
    if (up == (a > b)) {
      values[i] = b;
      values[partner] = a;
    }
  }
}

extern "C" __global__ void bench_nbody(const double4 *bodies, double3 *forces, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double4 self = bodies[i];
  double3 force = {0, 0, 0};
  for (int j = 0; j < n; ++j) {
    double dx = bodies[j].x - self.x, dy = bodies[j].y - self.y, dz = bodies[j].z - self.z;
    double r2 = dx * dx + dy * dy + dz * dz + 1e-9, s = bodies[j].w / (r2 * r2);
    force.x += dx * s;
    force.y += dy * s;
    force.z += dz * s;
  }
  forces[i] = force;
}

__device__ unsigned rotate(unsigned x, int n) { return x << n | x >> (32 - n); }

// The compression function of a hash with 64 unrolled rounds: long straight code.
extern "C" __global__ void bench_hash(const unsigned *message, unsigned *digest, unsigned seed) {
  unsigned a = seed, b = ~seed, c = seed * 3, d = seed ^ 0x9e3779b9u, w[16];
  for (int i = 0; i < 16; ++i)
    w[i] = message[threadIdx.x * 16 + i];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    unsigned f = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
    unsigned t = a + f + w[(i * 5 + i / 16) % 16] + 0x5a827999u * (i + 1);
    a = d;
    d = c;
    c = b;
    b += rotate(t, 5 + i % 4 * 5);
  }
  digest[threadIdx.x * 4] = a;
  digest[threadIdx.x * 4 + 1] = b + __popc(c);
  digest[threadIdx.x * 4 + 2] = c + __clz(d);
  digest[threadIdx.x * 4 + 3] = d + __brev(a);
}

struct Parameters {
  int kind;
  double scale;
  unsigned char table[12];
  float weights[4];
};

extern "C" __global__ void bench_switch(Parameters p, float *data, unsigned long long *counters) {
  int local[16], i = threadIdx.x;
  for (int k = 0; k < 16; ++k)
    local[k] = p.table[k % 12] * i;
  float x = data[i];
  switch (p.kind) {
  case 0: x = x * p.weights[0] + p.weights[1]; break;
  case 1: x = x < 0 ? -x : x; break;
  case 2: x = local[int(x) & 15]; break;
  case 3: x = float(x * p.scale); break;
  case 4: x = p.weights[i & 3]; break;
  case 5: x = __int_as_float(__float_as_int(x) ^ 0x80000000); break;
  default: x = 0;
  }
  data[i] = x;
  unsigned active = __ballot_sync(~0u, x > 0);
  if (__any_sync(~0u, x == 0) && i == 0)
    atomicMax(counters, (unsigned long long)active * 1000003 % 9973);
  __threadfence();
}
