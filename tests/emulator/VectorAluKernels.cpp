// SPDX-License-Identifier: Apache-2.0
// Arithmetic in whole kernels: the same C expressions compiled for the processors, with LLVM's
// expansions of division, square roots, conversions and 64-bit integers, and for the host.
#include "tests/emulator/Fixture.h"
#include "tests/emulator/VectorAluAssembly.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <random>

namespace rubia::emulator::test {

// clang-format off
/// Each line is {name, type of result, type of sources, expression of a, b, c}. Both sides have the
/// types i32, u32, i64, u64, i16, u16, f16, f32, f64 and the functions of RUBIA_PACKED. Not compared: the sign of a zero minimum or maximum
/// and what they make of signaling NaNs, which C leaves open.
#define RUBIA_EXPRESSIONS(X)                                                                      \
  X(add32, u32, u32, a + b * c)                                                                   \
  X(divide32, u32, u32, a / (b | 1))                                                              \
  X(remainder32, u32, u32, a % (b | 1))                                                           \
  X(divideSigned32, i32, i32, a / ((b & 0xffff) + 1))                                             \
  X(remainderSigned32, i32, i32, a % ((b & 0xffff) + 1))                                          \
  X(shift32, u32, u32, (a << (b & 31)) ^ (a >> (c & 31)))                                         \
  X(shiftSigned32, i32, i32, a >> (b & 31))                                                       \
  X(rotate32, u32, u32, (a << (b & 31)) | (a >> (-b & 31)))                                       \
  X(logic32, u32, u32, (a & b) | (~a & c))                                                        \
  X(majority32, u32, u32, (a & b) ^ (b & c) ^ (a & c))                                            \
  X(extract32, u32, u32, (a >> 5) & 0x7f)                                                         \
  X(extractSigned32, i32, i32, (a << 9) >> 20)                                                    \
  X(minimum32, i32, i32, a < b ? (a < c ? a : c) : (b < c ? b : c))                               \
  X(median32, u32, u32, a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b))        \
  X(leading32, u32, u32, a ? __builtin_clz(a) : 32)                                               \
  X(trailing32, u32, u32, a ? __builtin_ctz(a) : 32)                                              \
  X(population32, u32, u32, __builtin_popcount(a) + b)                                            \
  X(reverse32, u32, u32, __builtin_bitreverse32(a))                                               \
  X(swap32, u32, u32, __builtin_bswap32(a))                                                       \
  X(high32, u32, u32, (u32)(((u64)a * b) >> 32))                                                  \
  X(highSigned32, i32, i32, (i32)(((i64)a * b) >> 32))                                            \
  X(bytes32, u32, u32, ((a & 0xff) << 24) | (b & 0xff0000) | (c & 0xff00) | (a >> 24))            \
  X(product24, u32, u32, (a & 0xffffff) * (b & 0xffffff) + c)                                     \
  X(add64, u64, u64, a + b - c)                                                                   \
  X(multiply64, u64, u64, a * b + c)                                                              \
  X(divide64, u64, u64, a / (b | 1))                                                              \
  X(remainder64, i64, i64, a % ((b >> 20) | 1))                                                   \
  X(shift64, u64, u64, (a << (b & 63)) ^ (a >> (c & 63)))                                         \
  X(shiftSigned64, i64, i64, a >> (b & 63))                                                       \
  X(compare64, i64, i64, a < b ? c : a)                                                           \
  X(leading64, u64, u64, a ? __builtin_clzl(a) : 64)                                             \
  X(population64, u64, u64, __builtin_popcountl(a))                                              \
  X(widening, u64, u32, (u64)a * b + c)                                                           \
  X(wideningSigned, i64, i32, (i64)a * b + c)                                                     \
  X(add16, u16, u16, a + (u32)b * c)                                                                 \
  X(shift16, u16, u16, (u16)(a << (b & 15)) ^ (u16)(a >> (c & 15)))                               \
  X(shiftSigned16, i16, i16, a >> (b & 15))                                                       \
  X(minimum16, i16, i16, a < b ? a : b)                                                           \
  X(divide16, u16, u16, a / (b | 1))                                                              \
  X(sumSingle, f32, f32, a + b)                                                                   \
  X(mixSingle, f32, f32, a * b - c)                                                               \
  X(fusedSingle, f32, f32, __builtin_fmaf(a, b, c))                                               \
  X(quotientSingle, f32, f32, a / b)                                                              \
  X(rootSingle, f32, f32, __builtin_sqrtf(a))                                                     \
  X(roundSingle, f32, f32, __builtin_floorf(a) + __builtin_ceilf(b) + __builtin_truncf(c))        \
  X(nearestSingle, f32, f32, __builtin_rintf(a))                                                  \
  X(selectSingle, f32, f32, a < b ? c : a >= c ? b : a)                                           \
  X(minimumSingle, f32, f32, __builtin_fminf(a, b) + 0.0f)                                              \
  X(maximumSingle, f32, f32, __builtin_fmaxf(a, __builtin_fmaxf(b, c)) + 0.0f)                        \
  X(scaleSingle, f32, f32, __builtin_ldexpf(a, 37))                                               \
  X(signSingle, f32, f32, __builtin_copysignf(__builtin_fabsf(a), -b))                            \
  X(sumDouble, f64, f64, a + b)                                                                   \
  X(mixDouble, f64, f64, a * b - c)                                                               \
  X(fusedDouble, f64, f64, __builtin_fma(a, b, c))                                                \
  X(quotientDouble, f64, f64, a / b)                                                              \
  X(rootDouble, f64, f64, __builtin_sqrt(a))                                                      \
  X(roundDouble, f64, f64, __builtin_floor(a) + __builtin_ceil(b) + __builtin_rint(c))            \
  X(minimumDouble, f64, f64, __builtin_fmin(a, __builtin_fmax(b, c)) + 0.0)                          \
  X(sumHalf, f16, f16, a + b)                                                                     \
  X(mixHalf, f16, f16, a * b)                                                                     \
  X(quotientHalf, f16, f16, a / b)                                                                \
  X(selectHalf, f16, f16, a < b ? c : a)                                                          \
  X(singleFromInt, f32, i32, (f32)a)                                                              \
  X(singleFromUnsigned, f32, u32, (f32)a)                                                         \
  X(singleFromByte, f32, u32, (f32)((a >> 16) & 0xff))                                            \
  X(singleFromLong, f32, i64, (f32)a)                                                             \
  X(singleFromDouble, f32, f64, (f32)a)                                                           \
  X(singleFromHalf, f32, f16, (f32)a)                                                             \
  X(doubleFromLong, f64, i64, (f64)a)                                                             \
  X(doubleFromUnsigned, f64, u32, (f64)a)                                                         \
  X(doubleFromSingle, f64, f32, (f64)a)                                                           \
  X(halfFromSingle, f16, f32, (f16)a)                                                             \
  X(halfFromShort, f16, i16, (f16)a)                                                              \
  X(mixedPrecision, f32, f16, (f32)a * (f32)b + (f32)c)                                           \
  X(intFromSingle, i32, f32, a > -2e9f && a < 2e9f ? (i32)a : 7)                                  \
  X(unsignedFromSingle, u32, f32, a >= 0 && a < 4e9f ? (u32)a : 7)                                \
  X(intFromDouble, i32, f64, a > -2e9 && a < 2e9 ? (i32)a : 7)                                    \
  X(longFromDouble, i64, f64, a > -9e18 && a < 9e18 ? (i64)a : 7)                                   X(classSingle, u32, f32, (a != a) + 2 * (a == b) + 4 * (__builtin_isinf(a) != 0))              \
  X(packedSum, u32, u32, ofHalves(smallHalves(a) + smallHalves(b)))                              \
  X(packedMix, u32, u32, ofHalves(times(smallHalves(a), smallHalves(b)) - smallHalves(c)))             \
  X(packedCrossed, u32, u32, ofHalves(times(smallHalves(a), smallHalves(b).yx) - smallHalves(c).xx))   \
  X(packedNegated, u32, u32, ofHalves(-smallHalves(a).yy + times(-smallHalves(b).xy, smallHalves(c)))) \
  X(packedConstant, u32, u32, ofHalves(times(smallHalves(a), (f16)2) + (f16)0.5))                      \
  X(packedShorts, u32, u32, ofShorts(shorts(a) + shorts(b) * shorts(c)))                         \
  X(packedShortsCrossed, u32, u32, ofShorts(shorts(a).yx - shorts(b).yy))                        \
  X(packedShortsShifted, u32, u32, ofShorts((shorts(a) << (shorts(b) & (u16)15)) ^ (shorts(a) >> (shorts(c) & (u16)15)))) \
  X(packedShortsConstant, u32, u32, ofShorts(shorts(a) * (u16)3 + (u16)7))                       \
  X(packedShortsSigned, u32, u32, ofSigned(signedShorts(a) >> (signedShorts(b) & (i16)15)))      \
  X(halvesApart, u32, u32, ofHalves(smallHalves(a)) ^ (u32)(u16)(i16)(smallHalves(b).y * (f16)3))     \
  X(mixedLow, f32, u32, (f32)smallHalves(a).y * (f32)smallHalves(b).x - (f32)smallHalves(c).y)

/// Pairs of 16-bit numbers in 32 bits. smallHalves() are below 2, so that results are numbers;
/// times() makes the host round the product too.
#define RUBIA_PACKED(X)                                                                            \
  X(typedef f16 f16x2 __attribute__((ext_vector_type(2)));)                                        \
  X(typedef u16 u16x2 __attribute__((ext_vector_type(2)));)                                        \
  X(typedef i16 i16x2 __attribute__((ext_vector_type(2)));)                                        \
  X(static f16x2 smallHalves(u32 x) { union { u32 u; f16x2 v; } w; w.u = x & 0xbfffbfff; return w.v; }) \
  X(static f16x2 times(f16x2 a, f16x2 b) { return a * b; })                                        \
  X(static u32 ofHalves(f16x2 x) { union { u32 u; f16x2 v; } w; w.v = x; return w.u; })            \
  X(static u16x2 shorts(u32 x) { union { u32 u; u16x2 v; } w; w.u = x; return w.v; })              \
  X(static u32 ofShorts(u16x2 x) { union { u32 u; u16x2 v; } w; w.v = x; return w.u; })            \
  X(static i16x2 signedShorts(u32 x) { union { u32 u; i16x2 v; } w; w.u = x; return w.v; })        \
  X(static u32 ofSigned(i16x2 x) { union { u32 u; i16x2 v; } w; w.v = x; return w.u; })
// clang-format on

namespace {
using i32 = int32_t;
using u32 = uint32_t;
using i64 = int64_t;
using u64 = uint64_t;
using i16 = int16_t;
using u16 = uint16_t;
using f16 = _Float16;
using f32 = float;
using f64 = double;

#define RUBIA_SAME(...) __VA_ARGS__
#define RUBIA_TEXT(...) #__VA_ARGS__ "\n"
RUBIA_PACKED(RUBIA_SAME)

const char *const kTypes = R"(
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef int i32; typedef uint u32; typedef long i64; typedef ulong u64;
typedef short i16; typedef ushort u16; typedef half f16; typedef float f32; typedef double f64;
#define INDEX (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())
)"
#define RUBIA_KERNEL(name, result, source, ...)                                                    \
  "kernel void " #name "(global " #result " *out, global const " #source                           \
  " *as, global const " #source " *bs, global const " #source " *cs) {\n"                          \
  "  u32 index = INDEX; " #source " a = as[index], b = bs[index], c = cs[index];\n"                \
  "  (void)b; (void)c; out[index] = " #__VA_ARGS__ ";\n}\n"
#define RUBIA_LISTED_KERNEL(...) RUBIA_KERNEL(__VA_ARGS__),
    RUBIA_PACKED(RUBIA_TEXT);

enum class Part { Even, Odd, All };

/// Whether the next expression, counted from 0, belongs to a part.
bool isIn(Part part, unsigned number) { return part == Part::All || number % 2 == unsigned(part); }

std::string source(Part part) {
  static const char *const kKernels[] = {RUBIA_EXPRESSIONS(RUBIA_LISTED_KERNEL)};
  std::string text = kTypes;
  for (unsigned i = 0; i < std::size(kKernels); ++i)
    if (isIn(part, i))
      text += kKernels[i];
  return text;
}

template <class T> T randomValue(std::mt19937_64 &random) {
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  uint64_t bits = random();
  switch (random() % 4) {
  case 0: { // an edge
    constexpr double kValues[] = {0,         -0.0,    1,        -1,       0.5,
                                  3,         1e-5,    65504,    1e4,      INFINITY,
                                  -INFINITY, 0x1p-24, 0x1p-126, 0x1p-149, 0x1p-1040};
    if constexpr (std::is_integral_v<T>)
      return T(bits & 1 ? uint64_t(1) << (random() % 64) : random() % 5 - 2);
    else
      return T(kValues[bits % (sizeof(kValues) / sizeof(kValues[0]))]);
  }
  case 1: // a number of moderate size
    return T(double(int64_t(bits)) * 0x1p-45);
  default:
    T value = std::bit_cast<T>(Bits(bits));
    return value != value ? T(NAN) : value;
  }
}
template <> uint32_t randomValue(std::mt19937_64 &random) {
  return uint32_t(random()) >> random() % 32;
}
template <> uint64_t randomValue(std::mt19937_64 &random) { return random() >> random() % 64; }
template <> uint16_t randomValue(std::mt19937_64 &random) { return uint16_t(random()); }
template <> int32_t randomValue(std::mt19937_64 &random) {
  return int32_t(random()) >> random() % 32;
}
template <> int64_t randomValue(std::mt19937_64 &random) {
  return int64_t(random()) >> random() % 64;
}
template <> int16_t randomValue(std::mt19937_64 &random) { return int16_t(random()); }

class VectorAluKernels : public EmulatorTest {
protected:
  static constexpr unsigned kCount = 2048;

  template <class R, class S, class F> void compare(const char *name, F expected) {
    S *sources[3];
    std::mt19937_64 random(11);
    for (S *&source : sources) {
      source = allocate<S>(kCount);
      for (unsigned i = 0; i < kCount; ++i)
        source[i] = randomValue<S>(random);
    }
    R *out = allocate<R>(kCount);
    expectRun(name, {kCount / 64}, {64},
              Arguments().add(out).add(sources[0]).add(sources[1]).add(sources[2]));
    unsigned wrong = 0;
    for (unsigned i = 0; i < kCount && wrong < 3; ++i) {
      R want = expected(sources[0][i], sources[1][i], sources[2][i]);
      if (std::memcmp(&want, &out[i], sizeof(R)) == 0 || (want != want && out[i] != out[i]))
        continue;
      ++wrong;
      ADD_FAILURE() << std::hexfloat << name << "(" << double(sources[0][i]) << ", "
                    << double(sources[1][i]) << ", " << double(sources[2][i]) << ") is "
                    << double(out[i]) << " instead of " << double(want);
    }
  }

  void compareAll(Part part) {
    unsigned number = 0;
#define RUBIA_COMPARE(name, result, source, ...)                                                   \
  if (isIn(part, number++))                                                                        \
    compare<result, source>(                                                                       \
        #name,                                                                                     \
        []([[maybe_unused]] source a, [[maybe_unused]] source b,                                   \
           [[maybe_unused]] source c) -> result { return result(__VA_ARGS__); });
    RUBIA_EXPRESSIONS(RUBIA_COMPARE)
  }
};
} // namespace

TEST_F(VectorAluKernels, ExpressionsEqualTheHost) {
  std::vector<std::pair<const char *, const char *>> settings = {
      {"gfx1100", "-O0"}, {"gfx90a", "-O0"}, {"gfx1100", "-O3 -mwavefrontsize64"}};
  for (const char *cpu : kProcessors)
    settings.push_back({cpu, "-O3"});
  // A half of them in each by default, in turns.
  const bool all = std::getenv("RUBIA_TEST_LONG");
  for (unsigned i = 0; i < settings.size(); ++i) {
    const auto [cpu, level] = settings[i];
    const Part part = all ? Part::All : Part(i % 2);
    SCOPED_TRACE(std::string(cpu) + " " + level);
    load(compile(source(part), cpu,
                 std::string(level) +
                     " -c -ffp-contract=off -cl-fp32-correctly-rounded-divide-sqrt -w"));
    ASSERT_TRUE(code);
    compareAll(part);
  }
}

// LLVM's expansions of division and square root are right whatever the last bits of the hardware's
// reciprocals and roots are.
TEST_F(VectorAluKernels, ExpressionsDoNotRestOnExactReciprocals) {
  setenv("RUBIA_EMULATOR_TRANS", "worst", 1);
  load(compile(source(Part::All), "gfx1100",
               "-O3 -c -ffp-contract=off -cl-fp32-correctly-rounded-divide-sqrt -w"));
  unsetenv("RUBIA_EMULATOR_TRANS");
  ASSERT_TRUE(code);
  compareAll(Part::All);
}

TEST_F(VectorAluKernels, UnknownKindsOfTranscendentalsAreErrors) {
  setenv("RUBIA_EMULATOR_TRANS", "wrost", 1);
  auto loaded = CodeObject::load(assemble("s_endpgm\n"), memory);
  unsetenv("RUBIA_EMULATOR_TRANS");
  ASSERT_FALSE(bool(loaded));
  EXPECT_EQ(toString(loaded.takeError()),
            "RUBIA_EMULATOR_TRANS is 'wrost', expected exact or worst (did you mean worst?)");
}

TEST_F(VectorAluKernels, UnknownInstructionSetsOfTheHostAreErrors) {
  setenv("RUBIA_EMULATOR_ISA", "avx3", 1);
  auto loaded = CodeObject::load(assemble("s_endpgm\n"), memory);
  unsetenv("RUBIA_EMULATOR_ISA");
  ASSERT_FALSE(bool(loaded));
  EXPECT_EQ(toString(loaded.takeError()),
            "RUBIA_EMULATOR_ISA is 'avx3', expected baseline, avx2 or avx512 (did you mean avx2?)");
}

// Where MODE flushes f32 denormals, LLVM turns that off around the steps of a division.
TEST_F(VectorAluKernels, DivisionUnderFlushedDenormals) {
  auto flushed = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  constexpr unsigned kCases = 2048;
  float *a = allocate<float>(kCases), *b = allocate<float>(kCases), *out = allocate<float>(kCases);
  std::mt19937_64 random(12);
  for (unsigned i = 0; i < kCases; ++i) {
    a[i] = randomValue<float>(random);
    b[i] = randomValue<float>(random);
  }
  for (const char *cpu : {"gfx1100", "gfx90a"}) { // S_DENORM_MODE, S_SETREG_B32
    SCOPED_TRACE(cpu);
    load(compile(kTypes + std::string(RUBIA_KERNEL(quotientSingle, f32, f32, a / b)), cpu,
                 "-O3 -c -ffp-contract=off -cl-fp32-correctly-rounded-divide-sqrt "
                 "-cl-denorms-are-zero -w"));
    ASSERT_TRUE(code);
    expectRun("quotientSingle", {kCases / 64}, {64}, Arguments().add(out).add(a).add(b).add(b));
    for (unsigned i = 0; i < kCases; ++i) {
      float want = flushed(flushed(a[i]) / flushed(b[i]));
      if (want != want)
        EXPECT_TRUE(out[i] != out[i]);
      else
        EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(want))
            << std::hexfloat << a[i] << " / " << b[i] << " is " << out[i];
    }
  }
}

} // namespace rubia::emulator::test
