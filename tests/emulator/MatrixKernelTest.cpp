// SPDX-License-Identifier: Apache-2.0
// Matrix products that clang compiles from builtins, end to end: operands in whatever registers the
// compiler chooses, accumulators kept over a loop and stored.
#include "tests/emulator/Fixture.h"
#include "tests/emulator/Targets.h"
#include <cmath>
#include <random>

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace {

class MatrixKernels : public EmulatorTest {
protected:
  template <class T> T *random(uint32_t count, int low, int high) {
    T *data = allocate<T>(count);
    for (uint32_t i = 0; i < count; ++i)
      data[i] = T(low + int(engine() % unsigned(high - low + 1)));
    return data;
  }
  std::mt19937 engine{3};
};

/// Row-major product of [rows][depth] and [depth][columns].
template <class T, class S>
void expectProduct(const T *a, const T *b, const S *d, uint32_t rows, uint32_t columns,
                   uint32_t depth) {
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t j = 0; j < columns; ++j) {
      S sum = 0;
      for (uint32_t k = 0; k < depth; ++k)
        sum += S(a[i * depth + k]) * S(b[k * columns + j]);
      ASSERT_EQ(d[i * columns + j], sum) << i << " " << j;
    }
}

TEST_F(MatrixKernels, HalvesOnCdna) {
  constexpr uint32_t kDepth = 64;
  const std::string source = R"(
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    typedef half half4_ __attribute__((ext_vector_type(4)));
    typedef float float16_ __attribute__((ext_vector_type(16)));
    kernel void k(global half *a, global half *b, global float *d) {
      uint lane = __builtin_amdgcn_workitem_id_x(), line = lane % 32, group = lane / 32;
      float16_ sum = 0;
      for (uint k = 0; k < 64; k += 8) {
        half4_ x, y;
        for (uint e = 0; e < 4; ++e) {
          x[e] = a[line * 64 + k + group * 4 + e];
          y[e] = b[(k + group * 4 + e) * 32 + line];
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
      }
      for (uint r = 0; r < 16; ++r)
        d[(r % 4 + 8 * (r / 4) + 4 * group) * 32 + line] = sum[r];
    })";
  for (const char *cpu : withUnifiedAccumulators())
    for (const char *options : {"-O0", "-O3"}) {
      SCOPED_TRACE(std::string(cpu) + " " + options);
      load(compile(source, cpu, options + std::string(" -c")));
      ASSERT_TRUE(code);
      auto *a = random<_Float16>(32 * kDepth, -8, 8), *b = random<_Float16>(kDepth * 32, -8, 8);
      float *d = allocate<float>(32 * 32);
      expectRun("k", {1}, {64}, Arguments().add(a).add(b).add(d));
      expectProduct(a, b, d, 32, 32, kDepth);
    }
}

TEST_F(MatrixKernels, DoublesOnCdna) {
  const std::string source = R"(
    #pragma OPENCL EXTENSION cl_khr_fp64 : enable
    typedef double double4_ __attribute__((ext_vector_type(4)));
    kernel void k(global double *a, global double *b, global double *d) {
      uint lane = __builtin_amdgcn_workitem_id_x(), line = lane % 16, group = lane / 16;
      double4_ sum = 0;
      for (uint k = 0; k < 16; k += 4)
        sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[line * 16 + k + group],
                                                   b[(k + group) * 16 + line], sum, 0, 0, 0);
      for (uint r = 0; r < 4; ++r)
        d[(4 * r + group) * 16 + line] = sum[r];
    })";
  for (const char *cpu : withUnifiedAccumulators()) {
    SCOPED_TRACE(cpu);
    load(compile(source, cpu));
    ASSERT_TRUE(code);
    auto *a = random<double>(256, -99, 99), *b = random<double>(256, -99, 99);
    double *d = allocate<double>(256);
    expectRun("k", {1}, {64}, Arguments().add(a).add(b).add(d));
    expectProduct(a, b, d, 16, 16, 16);
  }
}

// FP4 with scales: 32 numbers in 16 bytes have one exponent.
TEST_F(MatrixKernels, ScaledNibblesOnCdna4) {
  const std::string source = R"(
    typedef int int8_ __attribute__((ext_vector_type(8)));
    typedef float float4_ __attribute__((ext_vector_type(4)));
    kernel void k(global int4 *a, global int4 *b, global uchar *sa, global uchar *sb,
                  global float *d) {
      uint lane = __builtin_amdgcn_workitem_id_x(), line = lane % 16, group = lane / 16;
      int8_ x = 0, y = 0;
      x.s0123 = a[line * 4 + group];
      y.s0123 = b[line * 4 + group];
      float4_ sum = 0;
      sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
          x, y, sum, 4, 4, 2, sa[line * 4 + group] << 16, 1, sb[line * 4 + group] << 8);
      for (uint r = 0; r < 4; ++r)
        d[(4 * group + r) * 16 + line] = sum[r];
    })";
  static constexpr float kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  load(compile(source, "gfx950"));
  ASSERT_TRUE(code);
  auto *a = random<uint8_t>(16 * 64, 0, 255), *b = random<uint8_t>(16 * 64, 0, 255);
  auto *sa = random<uint8_t>(64, 125, 130), *sb = random<uint8_t>(64, 125, 130);
  float *d = allocate<float>(256);
  expectRun("k", {1}, {64}, Arguments().add(a).add(b).add(sa).add(sb).add(d));
  auto value = [&](const uint8_t *data, const uint8_t *scales, uint32_t line, uint32_t k) {
    unsigned nibble = data[line * 64 + k / 2] >> k % 2 * 4 & 15;
    float magnitude = kValues[nibble & 7];
    return std::ldexp(nibble & 8 ? -magnitude : magnitude, scales[line * 4 + k / 32] - 127);
  };
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t j = 0; j < 16; ++j) {
      float sum = 0;
      for (uint32_t k = 0; k < 128; ++k)
        sum += value(a, sa, i, k) * value(b, sb, j, k);
      ASSERT_EQ(d[i * 16 + j], sum) << i << " " << j;
    }
}

/// 16 rows with two of four halves stored, times a dense matrix, both already spread over lanes: a
/// lane has `perLane` of the depth of 32, a line's first half in every second group of eight.
struct SparseHalves {
  uint32_t perLane = 0;
  _Float16 *a = nullptr, *b = nullptr;
  int *indices = nullptr;
  float *d = nullptr;
  float full[16][32] = {}, dense[32][16];

  uint32_t lane(uint32_t line, uint32_t k) const {
    return line + 16 * (perLane == 8 ? k / 8 : k / 8 % 2);
  }
  uint32_t item(uint32_t k) const { return perLane == 8 ? k % 8 : k % 8 + 8 * (k / 16); }

  void fill(std::mt19937 &random) {
    auto number = [&] { return float(int(random() % 17) - 8); };
    for (uint32_t line = 0; line < 16; ++line)
      for (uint32_t k = 0; k < 32; ++k) {
        b[lane(line, k) * perLane + item(k)] = _Float16(dense[k][line] = number());
        if (k % 4 != 0)
          continue;
        uint32_t first = random() % 3, second = first + 1 + random() % (3 - first);
        uint32_t stored = item(k) / 2;
        for (uint32_t position : {first, second}) {
          full[line][k + position] = number();
          a[lane(line, k) * perLane / 2 + stored] = _Float16(full[line][k + position]);
          indices[lane(line, k)] |= int(position << 2 * stored++);
        }
      }
  }
  float product(uint32_t row, uint32_t column) const {
    float sum = 0;
    for (uint32_t k = 0; k < 32; ++k)
      sum += full[row][k] * dense[k][column];
    return sum;
  }
};

TEST_F(MatrixKernels, SparseHalves) {
  const std::string preamble = R"(
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    typedef half half4_ __attribute__((ext_vector_type(4)));
    typedef half half8_ __attribute__((ext_vector_type(8)));
    typedef half half16_ __attribute__((ext_vector_type(16)));
    typedef float float4_ __attribute__((ext_vector_type(4)));
    typedef float float8_ __attribute__((ext_vector_type(8)));
    )";
  const std::string cdna = preamble + R"(
    kernel void k(global half4_ *a, global half8_ *b, global int *indices, global float *d) {
      uint lane = __builtin_amdgcn_workitem_id_x();
      float4_ sum = __builtin_amdgcn_smfmac_f32_16x16x32_f16(a[lane], b[lane], (float4_)(0),
                                                             indices[lane] << 16, 0, 2);
      for (uint r = 0; r < 4; ++r)
        d[(lane / 16 * 4 + r) * 16 + lane % 16] = sum[r];
    })";
  const std::string rdna = preamble + R"(
    kernel void k(global half8_ *a, global half16_ *b, global int *indices, global float *d) {
      uint lane = __builtin_amdgcn_workitem_id_x();
      float8_ sum = __builtin_amdgcn_swmmac_f32_16x16x32_f16_w32(a[lane], b[lane], (float8_)(0),
                                                                 (short)indices[lane]);
      for (uint r = 0; r < 8; ++r)
        d[(lane / 16 * 8 + r) * 16 + lane % 16] = sum[r];
    })";
  for (const char *cpu : {"gfx942", "gfx950", "gfx1201"}) {
    SCOPED_TRACE(cpu);
    const uint32_t lanes = rubia::test::rowOf(cpu).waveSize();
    load(compile(lanes == 32 ? rdna : cdna, cpu));
    ASSERT_TRUE(code);
    SparseHalves m;
    m.perLane = 512 / lanes;
    m.a = random<_Float16>(256, 0, 0);
    m.b = random<_Float16>(512, 0, 0);
    m.indices = random<int>(lanes, 0, 0);
    m.d = allocate<float>(256);
    m.fill(engine);
    expectRun("k", {1}, {lanes}, Arguments().add(m.a).add(m.b).add(m.indices).add(m.d));
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t j = 0; j < 16; ++j)
        ASSERT_EQ(m.d[i * 16 + j], m.product(i, j)) << i << " " << j;
  }
}

// A and B may share any order along the depth; this one is the simplest.
TEST_F(MatrixKernels, HalvesOnRdna4) {
  const std::string source = R"(
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    typedef half half8_ __attribute__((ext_vector_type(8)));
    typedef float float8_ __attribute__((ext_vector_type(8)));
    kernel void k(global half *a, global half *b, global float *d) {
      uint lane = __builtin_amdgcn_workitem_id_x(), line = lane % 16, group = lane / 16;
      half8_ x, y;
      for (uint e = 0; e < 8; ++e) {
        x[e] = a[line * 16 + group * 8 + e];
        y[e] = b[(group * 8 + e) * 16 + line];
      }
      float8_ sum = 0;
      sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, sum);
      for (uint r = 0; r < 8; ++r)
        d[(group * 8 + r) * 16 + line] = sum[r];
    })";
  load(compile(source, "gfx1201"));
  ASSERT_TRUE(code);
  auto *a = random<_Float16>(256, -8, 8), *b = random<_Float16>(256, -8, 8);
  float *d = allocate<float>(256);
  expectRun("k", {1}, {32}, Arguments().add(a).add(b).add(d));
  expectProduct(a, b, d, 16, 16, 16);
}

} // namespace
