// SPDX-License-Identifier: Apache-2.0
// Instruction families as the compiler uses them, end to end: operand decoding and modifiers count
// as much as the operation.
#include "tests/emulator/Fixture.h"
#include <bit>
#include <cmath>
#include <random>

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace {

constexpr uint32_t kCount = 256;

class Instructions : public EmulatorTest {
protected:
  /// Compiles a kernel "k" with `body`, in which i is the thread.
  void build(const std::string &parameters, const std::string &body,
             const std::string &options = "-O3") {
    load(compile("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL EXTENSION "
                 "cl_khr_fp16 : enable\n"
                 "kernel void k(" +
                     parameters + ") { uint i = __builtin_amdgcn_workitem_id_x();\n" + body + "\n}",
                 "gfx1100", options + " -c"));
    ASSERT_TRUE(code);
  }
  template <class T> T *random(uint32_t count = kCount) {
    T *data = allocate<T>(count);
    uint8_t *bytes = reinterpret_cast<uint8_t *>(data);
    for (size_t i = 0; i < count * sizeof(T); ++i)
      bytes[i] = uint8_t(engine());
    return data;
  }
  std::mt19937 engine{7};
};

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}
bool same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

TEST_F(Instructions, SingleDivisionAndSquareRootAreCorrectlyRounded) {
  build("global float *a, global float *b, global float *q, global float *r",
        "q[i] = a[i] / b[i]; r[i] = __builtin_sqrtf(a[i]);",
        "-O3 -cl-fp32-correctly-rounded-divide-sqrt");
  float *a = random<float>(), *b = random<float>(), *q = allocate<float>(kCount),
        *r = allocate<float>(kCount);
  expectRun("k", {1}, {kCount}, Arguments().add(a).add(b).add(q).add(r));
  for (uint32_t i = 0; i < kCount; ++i) {
    EXPECT_PRED2([](float x, float y) { return same(x, y); }, q[i], a[i] / b[i])
        << a[i] << " / " << b[i];
    EXPECT_PRED2([](float x, float y) { return same(x, y); }, r[i], std::sqrt(a[i])) << a[i];
  }
}

TEST_F(Instructions, DoubleDivisionAndSquareRootAreCorrectlyRounded) {
  build("global double *a, global double *b, global double *q, global double *r",
        "q[i] = a[i] / b[i]; r[i] = __builtin_sqrt(a[i]);");
  double *a = random<double>(), *b = random<double>(), *q = allocate<double>(kCount),
         *r = allocate<double>(kCount);
  expectRun("k", {1}, {kCount}, Arguments().add(a).add(b).add(q).add(r));
  for (uint32_t i = 0; i < kCount; ++i) {
    EXPECT_PRED2([](double x, double y) { return same(x, y); }, q[i], a[i] / b[i])
        << a[i] << " / " << b[i];
    EXPECT_PRED2([](double x, double y) { return same(x, y); }, r[i], std::sqrt(a[i])) << a[i];
  }
}

TEST_F(Instructions, WideIntegers) {
  build("global long *a, global long *b, global ulong *u, global long *out",
        "long x = a[i], y = b[i]; ulong v = u[i];"
        "out[i * 6] = x * y; out[i * 6 + 1] = x / (y | 1); out[i * 6 + 2] = (long)(v % ((ulong)y | "
        "1));"
        "out[i * 6 + 3] = x >> (y & 63); out[i * 6 + 4] = (x < y ? x : y) + (long)(v > (ulong)y);"
        "out[i * 6 + 5] = __builtin_popcountl(v) + (v << 9 | v >> 55);");
  int64_t *a = random<int64_t>(), *b = random<int64_t>(), *out = allocate<int64_t>(kCount * 6);
  uint64_t *u = random<uint64_t>();
  expectRun("k", {1}, {kCount}, Arguments().add(a).add(b).add(u).add(out));
  for (uint32_t i = 0; i < kCount; ++i) {
    const int64_t x = a[i], y = b[i];
    const uint64_t v = u[i];
    EXPECT_EQ(out[i * 6], int64_t(uint64_t(x) * uint64_t(y)));
    EXPECT_EQ(out[i * 6 + 1], x / (y | 1));
    EXPECT_EQ(out[i * 6 + 2], int64_t(v % (uint64_t(y) | 1)));
    EXPECT_EQ(out[i * 6 + 3], x >> (y & 63));
    EXPECT_EQ(out[i * 6 + 4], std::min(x, y) + (v > uint64_t(y)));
    EXPECT_EQ(out[i * 6 + 5], int64_t(std::popcount(v) + std::rotl(v, 9)));
  }
}

TEST_F(Instructions, PackedShorts) {
  build(
      "global short2 *a, global short2 *b, global ushort2 *c",
      "short2 x = a[i], y = b[i]; a[i] = (x + y) << (short2)(1, 2); b[i] = x * y - (x > y ? x : y);"
      "c[i] = (c[i] >> (ushort2)(3, 4)).yx + (ushort2)(7, 7);");
  int16_t *a = random<int16_t>(2 * kCount), *b = random<int16_t>(2 * kCount);
  uint16_t *c = random<uint16_t>(2 * kCount);
  std::vector<int16_t> a0(a, a + 2 * kCount), b0(b, b + 2 * kCount);
  std::vector<uint16_t> c0(c, c + 2 * kCount);
  expectRun("k", {1}, {kCount}, Arguments().add(a).add(b).add(c));
  for (uint32_t i = 0; i < 2 * kCount; ++i) {
    const int shift = i % 2 ? 2 : 1;
    EXPECT_EQ(a[i], int16_t(uint16_t(a0[i] + b0[i]) << shift)) << i;
    EXPECT_EQ(b[i], int16_t(a0[i] * b0[i] - std::max(a0[i], b0[i]))) << i;
    EXPECT_EQ(c[i], uint16_t((c0[i ^ 1] >> ((i ^ 1) % 2 ? 4 : 3)) + 7)) << i;
  }
}

TEST_F(Instructions, Halves) {
  build("global half *a, global half *b, global half *out, global half2 *p",
        "half x = a[i], y = b[i]; out[i * 4] = x + y; out[i * 4 + 1] = x * y; out[i * 4 + 2] = "
        "-__builtin_fabsf16(x) - y;"
        "out[i * 4 + 3] = x < y ? x : y; p[i] = p[i].yx * p[i] + (half2)(1.0h, 2.0h);",
        "-O3 -ffp-contract=off");
  auto *a = allocate<_Float16>(kCount), *b = allocate<_Float16>(kCount),
       *out = allocate<_Float16>(kCount * 4), *p = allocate<_Float16>(kCount * 2);
  for (uint32_t i = 0; i < kCount; ++i) {
    a[i] = _Float16(float(int(i) - 100) * 0.37f);
    b[i] = _Float16(float(i * 7 % 50) * -1.1f);
    p[2 * i] = _Float16(float(i) * 0.3f);
    p[2 * i + 1] = _Float16(float(i % 9) * -0.7f);
  }
  std::vector<_Float16> p0(p, p + 2 * kCount);
  expectRun("k", {1}, {kCount}, Arguments().add(a).add(b).add(out).add(p));
  auto bits = [](_Float16 value) { return std::bit_cast<uint16_t>(value); };
  for (uint32_t i = 0; i < kCount; ++i) {
    const float x = float(a[i]), y = float(b[i]);
    EXPECT_EQ(bits(out[i * 4]), bits(_Float16(x + y))) << i;
    EXPECT_EQ(bits(out[i * 4 + 1]), bits(_Float16(x * y))) << i;
    EXPECT_EQ(bits(out[i * 4 + 2]), bits(_Float16(-std::fabs(x) - y))) << i;
    EXPECT_EQ(bits(out[i * 4 + 3]), bits(_Float16(x < y ? x : y))) << i;
    for (unsigned k = 0; k < 2; ++k) {
      _Float16 product = _Float16(float(p0[2 * i + 1 - k]) * float(p0[2 * i + k]));
      EXPECT_EQ(bits(p[2 * i + k]), bits(_Float16(float(product) + float(k + 1)))) << i << " " << k;
    }
  }
}

TEST_F(Instructions, ConversionsSaturate) {
  build("global float *f, global int *s, global uint *u, global double *d, global long *l, global "
        "uchar *c",
        "float x = f[i]; s[i] = __builtin_elementwise_min(2147483520.0f, "
        "__builtin_elementwise_max(-2147483648.0f, x));"
        "u[i] = (uint)__builtin_fabsf(x); d[i] = (double)x * 3; l[i] = (long)(x * 1e6f); c[i] = "
        "(uchar)(s[i] & 255);"
        "f[i] = (float)s[i] + (float)c[i] + (float)l[i] + (float)d[i];",
        "-O3 -ffp-contract=off");
  float *f = allocate<float>(kCount);
  for (uint32_t i = 0; i < kCount; ++i)
    f[i] = (float(i) - 120) * 1234.56f;
  std::vector<float> f0(f, f + kCount);
  auto *s = allocate<int32_t>(kCount);
  auto *u = allocate<uint32_t>(kCount);
  auto *d = allocate<double>(kCount);
  auto *l = allocate<int64_t>(kCount);
  auto *c = allocate<uint8_t>(kCount);
  expectRun("k", {1}, {kCount}, Arguments().add(f).add(s).add(u).add(d).add(l).add(c));
  for (uint32_t i = 0; i < kCount; ++i) {
    const float x = f0[i];
    EXPECT_EQ(s[i], int32_t(x));
    EXPECT_EQ(u[i], uint32_t(std::fabs(x)));
    EXPECT_EQ(d[i], double(x) * 3);
    EXPECT_EQ(l[i], int64_t(x * 1e6f));
    EXPECT_EQ(c[i], uint8_t(s[i] & 255));
    EXPECT_EQ(f[i], ((float(s[i]) + float(c[i])) + float(l[i])) + float(d[i]));
  }
}

TEST_F(Instructions, LanesOfAWave) {
  build("global uint *a, global uint *out",
        "uint x = a[i], l = __builtin_amdgcn_mbcnt_lo(~0u, 0u);"
        "out[i * 8] = __builtin_amdgcn_ds_bpermute((int)((l ^ 5) * 4), (int)x);"
        "out[i * 8 + 1] = __builtin_amdgcn_ds_permute((int)((l + 3) * 4), (int)x);"
        "out[i * 8 + 2] = __builtin_amdgcn_ds_swizzle((int)x, 0x041f);"
        "out[i * 8 + 3] = __builtin_amdgcn_readlane((int)x, 9);"
        "out[i * 8 + 4] = __builtin_amdgcn_permlanex16(x, x, 0x76543210, 0xfedcba98, false, false);"
        "out[i * 8 + 5] = __builtin_amdgcn_update_dpp(1000, (int)x, 0x111, 0xf, 0xf, false);"
        "out[i * 8 + 6] = __builtin_amdgcn_mov_dpp8(x, 0xfac688);"
        "out[i * 8 + 7] = __builtin_amdgcn_ballot_w32(x & 1);");
  uint32_t *a = random<uint32_t>(64), *out = allocate<uint32_t>(64 * 8);
  expectRun("k", {1}, {64}, Arguments().add(a).add(out));
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t wave = i & ~31u, l = i & 31;
    uint32_t ballot = 0;
    for (uint32_t k = 0; k < 32; ++k)
      ballot |= (a[wave + k] & 1) << k;
    EXPECT_EQ(out[i * 8], a[wave + (l ^ 5)]);
    EXPECT_EQ(out[i * 8 + 1], a[wave + ((l - 3) & 31)]);
    EXPECT_EQ(out[i * 8 + 2], a[wave + (l ^ 1)]);
    EXPECT_EQ(out[i * 8 + 3], a[wave + 9]);
    EXPECT_EQ(out[i * 8 + 4], a[wave + (l ^ 16)]);
    EXPECT_EQ(out[i * 8 + 5], (l & 15) == 0 ? 1000 : a[i - 1]) << i;
    EXPECT_EQ(out[i * 8 + 6], a[(i & ~7u) + (0xfac688 >> 3 * (i & 7) & 7)]);
    EXPECT_EQ(out[i * 8 + 7], ballot);
  }
}

TEST_F(Instructions, BytesShortsAndVectorsInGlobalAndLocalMemory) {
  build("global uchar *a, global short *b, global uchar4 *c, global float4 *f",
        "local uchar l[256]; local short s[256]; local float4 v[256];"
        "l[i] = a[i] + 1; s[i] = b[i] * 3; v[i] = f[i] * 2.0f; c[i] = c[i].wzyx + (uchar4)(1, 2, "
        "3, 4);"
        "__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\"); __builtin_amdgcn_s_barrier();"
        "__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");"
        "a[i] = l[255 - i]; b[i] = s[255 - i]; f[i] = v[255 - i];");
  auto *a = random<uint8_t>(), *c = random<uint8_t>(4 * kCount);
  auto *b = random<int16_t>();
  auto *f = allocate<float>(4 * kCount);
  for (uint32_t i = 0; i < 4 * kCount; ++i)
    f[i] = float(i);
  std::vector<uint8_t> a0(a, a + kCount), c0(c, c + 4 * kCount);
  std::vector<int16_t> b0(b, b + kCount);
  expectRun("k", {1}, {kCount}, Arguments().add(a).add(b).add(c).add(f));
  for (uint32_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(a[i], uint8_t(a0[255 - i] + 1));
    EXPECT_EQ(b[i], int16_t(b0[255 - i] * 3));
    for (uint32_t k = 0; k < 4; ++k) {
      EXPECT_EQ(f[4 * i + k], float(4 * (255 - i) + k) * 2);
      EXPECT_EQ(c[4 * i + k], uint8_t(c0[4 * i + 3 - k] + k + 1));
    }
  }
}

TEST_F(Instructions, FlatPointersToAllSpaces) {
  build("global int *out, global int *g",
        "local int l[256]; int p[8]; l[i] = (int)i; for (int n = 0; n < 8; ++n) p[n] = n * (int)i;"
        "volatile int *q = i % 3 == 0 ? (volatile int *)&l[i] : i % 3 == 1 ? (volatile int *)&p[i "
        "& 7] : (volatile int *)&g[i];"
        "*q += 3; out[i] = *q + p[3] + l[i];");
  int32_t *out = allocate<int32_t>(kCount), *g = random<int32_t>();
  std::vector<int32_t> g0(g, g + kCount);
  expectRun("k", {1}, {kCount}, Arguments().add(out).add(g));
  for (int32_t i = 0; i < int32_t(kCount); ++i) {
    int32_t l = i, p[8];
    for (int n = 0; n < 8; ++n)
      p[n] = n * i;
    int32_t &q = i % 3 == 0 ? l : i % 3 == 1 ? p[i & 7] : g0[size_t(i)];
    q = int32_t(uint32_t(q) + 3);
    EXPECT_EQ(out[i], int32_t(uint32_t(q) + uint32_t(p[3]) + uint32_t(l))) << i;
  }
}

TEST_F(Instructions, AtomicsReturnOldValues) {
  build(
      "global uint *a, global ulong *u, global float *f, global uint *out",
      "local uint l[4]; if (i < 4) l[i] = 0; __builtin_amdgcn_s_barrier(); uint e = 5; ulong w = 5;"
      "out[i * 5] = __opencl_atomic_fetch_add((global atomic_uint *)a, 1u, memory_order_acq_rel, "
      "memory_scope_device);"
      "out[i * 5 + 1] = __opencl_atomic_compare_exchange_strong((global atomic_uint *)(a + 1), &e, "
      "7u, memory_order_relaxed,"
      " memory_order_relaxed, memory_scope_device);"
      "out[i * 5 + 2] = __opencl_atomic_compare_exchange_strong((global atomic_ulong *)u, &w, 7ul, "
      "memory_order_relaxed,"
      " memory_order_relaxed, memory_scope_device);"
      "out[i * 5 + 3] = __opencl_atomic_fetch_add((local atomic_uint *)l, 2u, "
      "memory_order_relaxed, memory_scope_work_group);"
      "e = 0; out[i * 5 + 4] = __opencl_atomic_compare_exchange_strong((local atomic_uint *)(l + "
      "1), &e, 9u,"
      " memory_order_relaxed, memory_order_relaxed, memory_scope_work_group);"
      "__opencl_atomic_fetch_min((global atomic_int *)(a + 2), -(int)i, memory_order_seq_cst, "
      "memory_scope_device);"
      "__opencl_atomic_fetch_max((global atomic_float *)f, (float)i, memory_order_relaxed, "
      "memory_scope_device);");
  uint32_t *a = allocate<uint32_t>(4), *out = allocate<uint32_t>(kCount * 5);
  uint64_t *u = allocate<uint64_t>(1);
  float *f = allocate<float>(1);
  a[0] = 100, a[1] = 5, a[2] = 0, *u = 5, *f = -1;
  expectRun("k", {1}, {kCount}, Arguments().add(a).add(u).add(f).add(out));
  std::vector<int> seen(kCount), winners(5);
  for (uint32_t i = 0; i < kCount; ++i) {
    ASSERT_LT(out[i * 5] - 100, kCount);
    ++seen[out[i * 5] - 100];
    ++seen[out[i * 5 + 3] / 2];
    for (unsigned k : {1, 2, 4})
      winners[k] += int(out[i * 5 + k]);
  }
  EXPECT_EQ(seen, std::vector<int>(kCount, 2));
  EXPECT_EQ(winners, (std::vector<int>{0, 1, 1, 0, 1}));
  EXPECT_EQ(a[0], 100 + kCount);
  EXPECT_EQ(a[1], 7u);
  EXPECT_EQ(*u, 7u);
  EXPECT_EQ(int32_t(a[2]), -255);
  EXPECT_EQ(*f, 255.0f);
}

TEST_F(Instructions, ConstantTablesAndFunctionPointers) {
  load(compile("constant int table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};\n"
               "__attribute__((visibility(\"default\"))) global int variable = 5;\n"
               "kernel void k(global int *out) { uint i = __builtin_amdgcn_workitem_id_x(); out[i] "
               "= table[i & 15] * variable; }"));
  ASSERT_TRUE(code);
  std::optional<Symbol> variable = code->symbol("variable");
  ASSERT_TRUE(variable);
  EXPECT_EQ(variable->size, 4u);
  *reinterpret_cast<int32_t *>(variable->address) = 11;
  int32_t *out = allocate<int32_t>(64);
  expectRun("k", {1}, {64}, Arguments().add(out));
  const int table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], table[i & 15] * 11);
}

TEST_F(Instructions, BuffersClampTheirRange) {
  build("global uint *a, global uint *out",
        "__amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(a, 0, 40 * 4, 0x31014000);"
        "out[i] = __builtin_amdgcn_raw_buffer_load_b32(r, (int)i * 4, 0, 0);"
        "__builtin_amdgcn_raw_buffer_store_b32(i, r, (int)i * 4, 8, 0);");
  uint32_t *a = random<uint32_t>(64), *out = allocate<uint32_t>(64);
  std::vector<uint32_t> a0(a, a + 64);
  expectRun("k", {1}, {32}, Arguments().add(a).add(out));
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], a0[i]);
  expectRun("k", {1}, {64}, Arguments().add(a).add(out));
  for (uint32_t i = 40; i < 64; ++i)
    EXPECT_EQ(out[i], 0u);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(a[i], i >= 2 && i < 40 ? i - 2 : a0[i]);
}

TEST_F(Instructions, RoundingModeTakesEffect) {
  build("global float *a, global float *out",
        "__builtin_amdgcn_s_setreg(0x1801 | 0, 0); volatile float x = a[0], y = a[1];"
        "__builtin_amdgcn_s_setreg((1 << 11) | 1, 1); float up = x + y; out[0] = up;"
        "__builtin_amdgcn_s_setreg((1 << 11) | 1, 2); float down = x + y; out[1] = down;"
        "__builtin_amdgcn_s_setreg((1 << 11) | 1, 0);",
        "-O0");
  float *a = allocate<float>(2), *out = allocate<float>(2);
  a[0] = 1.0f, a[1] = 0x1p-40f;
  expectRun("k", {1}, {32}, Arguments().add(a).add(out));
  EXPECT_EQ(out[0], std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(out[1], 1.0f);
}

TEST_F(Instructions, DenormalsFollowTheKernelsMode) {
  const char *body = "a[i] = a[i] * 0.5f;";
  float *a = allocate<float>(32);
  build("global float *a", body, "-O3");
  std::fill(a, a + 32, 0x1p-130f);
  expectRun("k", {1}, {32}, Arguments().add(a));
  EXPECT_EQ(a[5], 0x1p-131f);
  build("global float *a", body, "-O3 -cl-denorms-are-zero");
  std::fill(a, a + 32, -0x1p-130f);
  expectRun("k", {1}, {32}, Arguments().add(a));
  EXPECT_EQ(std::bit_cast<uint32_t>(a[5]), 0x80000000u);
}

} // namespace
