// SPDX-License-Identifier: Apache-2.0
// Whole kernels, compiled by clang for gfx1100, against the same computation on the host.
#include "emulator/lib/machine/HostFloat.h"
#include "tests/emulator/Fixture.h"
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <numeric>

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace {

const char *const kPrelude = R"(
#define GID_X (__builtin_amdgcn_workgroup_id_x() * BLOCK + __builtin_amdgcn_workitem_id_x())
#define TID_X __builtin_amdgcn_workitem_id_x()
#define BARRIER() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
)";

class Kernels : public EmulatorTest {
protected:
  void build(const std::string &source, const std::string &options = "-O3 -DBLOCK=256") {
    load(compile(kPrelude + source, "gfx1100", options));
  }
};

TEST_F(Kernels, SaxpyEqualsHost) {
  build(R"(
kernel void saxpy(global float *y, global const float *x, float a, uint n) {
  uint i = GID_X;
  if (i < n) y[i] = __builtin_fmaf(a, x[i], y[i]);
})");
  ASSERT_TRUE(code);
  constexpr uint32_t n = 100'003; // a partial workgroup and a partial wave at the end
  float *x = allocate<float>(n), *y = allocate<float>(n);
  std::vector<float> expected(n);
  for (uint32_t i = 0; i < n; ++i) {
    x[i] = float(i) * 0.25f - 1000;
    y[i] = float(i % 97) / 7;
    expected[i] = std::fma(1.5f, x[i], y[i]);
  }
  expectRun("saxpy", {(n + 255) / 256}, {256}, Arguments().add(y).add(x).add(1.5f).add(n));
  for (uint32_t i = 0; i < n; ++i)
    ASSERT_EQ(y[i], expected[i]) << i;
}

TEST_F(Kernels, DoNotRoundAsTheProgramThatLaunchesDoes) {
  build("kernel void add(global float *y) { y[GID_X] += 0x1p-30f; }");
  ASSERT_TRUE(code);
  float *y = allocate<float>(256);
  std::fill_n(y, 256, 1.0f);
  {
    const HostRounding rounding(HostRounding::Up);
    expectRun("add", {1}, {256}, Arguments().add(y)); // one workgroup is run by this thread
  }
  EXPECT_EQ(std::count(y, y + 256, 1.0f), 256);
}

// As Fortran's -ffpe-trap has it; long double is computed by another unit than double.
TEST_F(Kernels, DoNotTrapAsTheProgramThatLaunchesDoes) {
  build("kernel void rsq(global double *y) { y[GID_X] = __builtin_amdgcn_rsq(y[GID_X]); }");
  ASSERT_TRUE(code);
  double *y = allocate<double>(256);
  for (unsigned i = 0; i < 256; ++i)
    y[i] = double(i) - 1;
  feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(FE_ALL_EXCEPT);
  const int trapped = fegetexcept();
  expectRun("rsq", {1}, {256}, Arguments().add(y));
  EXPECT_EQ(fegetexcept(), trapped);
  EXPECT_EQ(fetestexcept(FE_ALL_EXCEPT), 0);
  fedisableexcept(FE_ALL_EXCEPT);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], std::numeric_limits<double>::infinity());
  EXPECT_NEAR(y[5], 0.5, 1e-6);
}

TEST_F(Kernels, ReductionThroughLdsWithBarriers) {
  build(R"(
kernel void reduce(global uint *out, global const uint *in) {
  local uint part[BLOCK];
  uint t = TID_X;
  part[t] = in[GID_X];
  BARRIER();
  for (uint s = BLOCK / 2; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    BARRIER();
  }
  if (t == 0) out[__builtin_amdgcn_workgroup_id_x()] = part[0];
})");
  ASSERT_TRUE(code);
  constexpr uint32_t groups = 37;
  uint32_t *in = allocate<uint32_t>(groups * 256), *out = allocate<uint32_t>(groups);
  for (uint32_t i = 0; i < groups * 256; ++i)
    in[i] = i * 2654435761u >> 12;
  expectRun("reduce", {groups}, {256}, Arguments().add(out).add(in));
  for (uint32_t g = 0; g < groups; ++g)
    EXPECT_EQ(out[g], std::accumulate(in + g * 256, in + (g + 1) * 256, 0u));
}

TEST_F(Kernels, DivergentLoopCountsCollatzSteps) {
  build(R"(
kernel void collatz(global uint *out) {
  uint i = GID_X, n = i + 1, steps = 0;
  while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++steps; }
  out[i] = steps;
})");
  ASSERT_TRUE(code);
  uint32_t *out = allocate<uint32_t>(1024);
  expectRun("collatz", {4}, {256}, Arguments().add(out));
  for (uint32_t i = 0; i < 1024; ++i) {
    uint32_t n = i + 1, steps = 0;
    for (; n != 1; ++steps)
      n = n & 1 ? 3 * n + 1 : n / 2;
    ASSERT_EQ(out[i], steps) << i;
  }
}

TEST_F(Kernels, AtomicsAcrossWorkgroups) {
  build(R"(
kernel void atomics(global uint *counters, global float *sum, global ulong *wide) {
  uint i = GID_X;
  __opencl_atomic_fetch_add((global atomic_uint *)&counters[i % 7], 1u, memory_order_relaxed, memory_scope_device);
  __opencl_atomic_fetch_max((global atomic_uint *)&counters[7], i, memory_order_relaxed, memory_scope_device);
  __opencl_atomic_fetch_add((global atomic_float *)sum, 1.0f, memory_order_relaxed, memory_scope_device);
  __opencl_atomic_fetch_add((global atomic_ulong *)wide, 0x100000001ul, memory_order_relaxed, memory_scope_device);
})");
  ASSERT_TRUE(code);
  uint32_t *counters = allocate<uint32_t>(8);
  float *sum = allocate<float>(1);
  uint64_t *wide = allocate<uint64_t>(1);
  std::fill(counters, counters + 8, 0);
  *sum = 0;
  *wide = 0;
  expectRun("atomics", {64}, {256}, Arguments().add(counters).add(sum).add(wide));
  for (uint32_t i = 0; i < 7; ++i)
    EXPECT_EQ(counters[i], (64 * 256 + 6 - i) / 7);
  EXPECT_EQ(counters[7], 64u * 256 - 1);
  EXPECT_EQ(*sum, 64.0f * 256);
  EXPECT_EQ(*wide, 64 * 256 * 0x100000001ull);
}

TEST_F(Kernels, ScratchArraysKeepLanesApart) {
  build(R"(
kernel void scratch(global uint *out, global const uint *index) {
  uint i = GID_X;
  volatile uint a[32];
  for (uint k = 0; k < 32; ++k) a[k] = i * 100 + k;
  out[i] = a[index[i] & 31];
})");
  ASSERT_TRUE(code);
  uint32_t *out = allocate<uint32_t>(512), *index = allocate<uint32_t>(512);
  for (uint32_t i = 0; i < 512; ++i)
    index[i] = i * 7;
  expectRun("scratch", {2}, {256}, Arguments().add(out).add(index));
  for (uint32_t i = 0; i < 512; ++i)
    ASSERT_EQ(out[i], i * 100 + (i * 7 & 31)) << i;
}

TEST_F(Kernels, RecursiveFunctionCalls) {
  build(R"(
__attribute__((noinline)) uint fib(uint n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
kernel void calls(global uint *out) { uint i = GID_X; out[i] = fib(i % 12); })",
        "-O1 -DBLOCK=64");
  ASSERT_TRUE(code);
  uint32_t *out = allocate<uint32_t>(64);
  expectRun("calls", {1}, {64}, Arguments().add(out));
  const uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (uint32_t i = 0; i < 64; ++i)
    ASSERT_EQ(out[i], fib[i % 12]) << i;
}

TEST_F(Kernels, IdsInThreeDimensions) {
  build(R"(
kernel void ids(global uint *out) {
  uint bx = __builtin_amdgcn_workgroup_size_x(), by = __builtin_amdgcn_workgroup_size_y(), bz = __builtin_amdgcn_workgroup_size_z();
  uint x = __builtin_amdgcn_workgroup_id_x() * bx + __builtin_amdgcn_workitem_id_x();
  uint y = __builtin_amdgcn_workgroup_id_y() * by + __builtin_amdgcn_workitem_id_y();
  uint z = __builtin_amdgcn_workgroup_id_z() * bz + __builtin_amdgcn_workitem_id_z();
  uint nx = __builtin_amdgcn_grid_size_x(), ny = __builtin_amdgcn_grid_size_y();
  out[(z * ny + y) * nx + x] = x | y << 10 | z << 20;
})");
  ASSERT_TRUE(code);
  const Dim3 grid{3, 4, 5}, block{5, 3, 2};
  uint32_t *out = allocate<uint32_t>(15 * 12 * 10);
  std::fill(out, out + 15 * 12 * 10, ~0u);
  expectRun("ids", grid, block, Arguments().add(out));
  for (uint32_t z = 0; z < 10; ++z)
    for (uint32_t y = 0; y < 12; ++y)
      for (uint32_t x = 0; x < 15; ++x)
        ASSERT_EQ(out[(z * 12 + y) * 15 + x], x | y << 10 | z << 20);
}

TEST_F(Kernels, TiledMatrixProductWithDynamicLds) {
  build(R"(
#define T 16
kernel void matmul(global float *c, global const float *a, global const float *b, uint n) {
  local float ta[T][T], tb[T][T];
  uint tx = __builtin_amdgcn_workitem_id_x(), ty = __builtin_amdgcn_workitem_id_y();
  uint row = __builtin_amdgcn_workgroup_id_y() * T + ty, col = __builtin_amdgcn_workgroup_id_x() * T + tx;
  float sum = 0;
  for (uint k = 0; k < n; k += T) {
    ta[ty][tx] = a[row * n + k + tx];
    tb[ty][tx] = b[(k + ty) * n + col];
    BARRIER();
    for (uint i = 0; i < T; ++i) sum = __builtin_fmaf(ta[ty][i], tb[i][tx], sum);
    BARRIER();
  }
  c[row * n + col] = sum;
})");
  ASSERT_TRUE(code);
  constexpr uint32_t n = 64;
  float *a = allocate<float>(n * n), *b = allocate<float>(n * n), *c = allocate<float>(n * n);
  for (uint32_t i = 0; i < n * n; ++i) {
    a[i] = float(i % 13) - 6;
    b[i] = float(i % 7) * 0.5f;
  }
  expectRun("matmul", {n / 16, n / 16}, {16, 16}, Arguments().add(c).add(a).add(b).add(n));
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      float sum = 0;
      for (uint32_t k = 0; k < n; ++k)
        sum = std::fma(a[i * n + k], b[k * n + j], sum);
      ASSERT_EQ(c[i * n + j], sum);
    }
}

TEST_F(Kernels, WorkgroupsThatWaitForLaterOnesMakeProgress) {
  build(R"(
kernel void handshake(global uint *flags) {
  uint g = __builtin_amdgcn_workgroup_id_x();
  if (TID_X == 0) {
    __opencl_atomic_store((global atomic_uint *)&flags[g], 1u, memory_order_release, memory_scope_device);
    for (uint i = 0; i < 8; ++i)
      while (__opencl_atomic_load((global atomic_uint *)&flags[i], memory_order_acquire, memory_scope_device) == 0)
        __builtin_amdgcn_s_sleep(1);
    flags[8 + g] = 1;
  }
})");
  ASSERT_TRUE(code);
  uint32_t *flags = allocate<uint32_t>(16);
  std::fill(flags, flags + 16, 0);
  expectRun("handshake", {8}, {64}, Arguments().add(flags));
  for (uint32_t i = 8; i < 16; ++i)
    EXPECT_EQ(flags[i], 1u);
}

} // namespace
