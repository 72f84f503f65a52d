// SPDX-License-Identifier: Apache-2.0
// What HIP's samples do in kernels beyond loads and stores: lanes that talk, groups of them, calls
// through pointers and virtual functions, recursion, objects made on the device, halves,
// mathematical functions, assembly.
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %programs/language | FileCheck %s
// RUN: env RUBIA_ARCH=gfx90a %hiplib %programs/language | FileCheck %s
#include "Inputs/check.h"
#include <cmath>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>

namespace groups = cooperative_groups;

__global__ void lanes(int *out) {
  const int i = threadIdx.x, lane = i % warpSize;
  int *mine = out + i * 8;
  mine[0] = __shfl(i, 3);
  mine[1] = __shfl_up(i, 2);
  mine[2] = __shfl_xor(i, 9);
  mine[3] = __shfl(i, 1, 8);
  mine[4] = int(__shfl_xor(double(i) * 1.5, 1) * 2);
  mine[5] = int(__popcll(__ballot(lane % 3 == 0)));
  mine[6] = __any(i == 5) * 2 + __all(i >= 0);
  auto tile = groups::tiled_partition<16>(groups::this_thread_block());
  int sum = i;
  for (int step = 8; step; step /= 2)
    sum += tile.shfl_down(sum, step);
  mine[7] = tile.shfl(sum, 0);
  if (i % 4 == 1) {
    groups::coalesced_group active = groups::coalesced_threads();
    mine[7] = int(active.thread_rank() * 1000 + active.size());
  }
}

static void expectLanes(int *out, int wave) {
  lanes<<<1, 128>>>(out);
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 128; ++i) {
    const int lane = i % wave, base = i - lane, *got = out + i * 8;
    EXPECT(got[0] == base + 3);
    EXPECT(got[1] == (lane >= 2 ? i - 2 : i));
    EXPECT(got[2] == base + (lane ^ 9));
    EXPECT(got[3] == i / 8 * 8 + 1);
    EXPECT(got[4] == (i ^ 1) * 3);
    EXPECT(got[5] == (wave + 2) / 3);
    EXPECT(got[6] == (base == 0 ? 3 : 1));
    EXPECT(got[7] == (i % 4 == 1 ? lane / 4 * 1000 + wave / 4 : i / 16 * 256 + 120));
  }
}

using Binary = int (*)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ __attribute__((noinline)) int multiply(int a, int b) { return a * b; }
__device__ Binary table[] = {add, multiply};
__device__ __attribute__((noinline)) unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ Square(float side) : side(side) {}
  __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float radius;
  __device__ Circle(float radius) : radius(radius) {}
  __device__ float area() const override { return 3 * radius * radius; }
};
__global__ void make(Shape **shapes) {
  const float size = threadIdx.x;
  shapes[threadIdx.x] = threadIdx.x % 2 ? static_cast<Shape *>(new Square(size)) : new Circle(size);
}
__global__ void calls(Shape **shapes, int *out, Binary passed) {
  const int i = threadIdx.x;
  out[i] = table[i % 2](i, 7);
  out[64 + i] = passed(i, 3);
  out[128 + i] = int(fibonacci(i % 10));
  out[192 + i] = int(shapes[i]->area());
  delete shapes[i];
}

static void expectCalls(int *out) {
  Shape **shapes;
  Binary passed;
  CHECK(hipMalloc(&shapes, 64 * sizeof(Shape *)));
  CHECK(hipMemcpyFromSymbol(&passed, HIP_SYMBOL(table), sizeof(passed), sizeof(passed)));
  make<<<1, 64>>>(shapes);
  calls<<<1, 64>>>(shapes, out, passed);
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 64; ++i) {
    EXPECT(out[i] == (i % 2 ? i * 7 : i + 7) && out[64 + i] == i * 3);
    EXPECT(out[192 + i] == (i % 2 ? 1 : 3) * i * i);
  }
  EXPECT(out[128 + 9] == 34 && out[128 + 57] == 13);
}

__global__ void numbers(float *out, float scale) {
  const int i = threadIdx.x;
  const float x = float(i) * scale;
  const __half h = __float2half(x);
  out[i] = __half2float(__hadd(__hmul(h, __float2half(2.0f)), __float2half(1.0f)));
  out[64 + i] = __half2float(hrcp(__hadd(h, __float2half(1.0f))));
  out[128 + i] = sinf(x) + expf(x) + powf(x, 1.5f) + erff(x);
  float root;
  asm volatile("v_sqrt_f32 %0, %1" : "=v"(root) : "v"(x));
  out[192 + i] = root;
}

static void expectNumbers(float *out) {
  numbers<<<1, 64>>>(out, 0.125f);
  CHECK(hipDeviceSynchronize());
  auto isNear = [](float got, float wanted, float part) {
    return std::abs(got - wanted) <= part * std::abs(wanted);
  };
  for (int i = 0; i < 64; ++i) {
    const float x = float(i) / 8;
    EXPECT(out[i] == x * 2 + 1);
    EXPECT(isNear(out[64 + i], 1 / (x + 1), 1e-3f));
    EXPECT(isNear(out[128 + i], sinf(x) + expf(x) + powf(x, 1.5f) + erff(x), 1e-6f));
    EXPECT(isNear(out[192 + i], sqrtf(x), 1e-6f));
  }
}

int main() {
  int *out, wave;
  CHECK(hipDeviceGetAttribute(&wave, hipDeviceAttributeWarpSize, 0));
  CHECK(hipMallocManaged(&out, 128 * 8 * sizeof(int)));
  expectLanes(out, wave);
  expectCalls(out);
  expectNumbers(reinterpret_cast<float *>(out));
  // CHECK: PASS
  printf("PASS\n");
}
