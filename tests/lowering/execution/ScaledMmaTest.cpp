// SPDX-License-Identifier: Apache-2.0
// mma with factors of 4, 6 and 8 bits, with and without scales of blocks, on every target against
// what the manual says. All sums are exact, in any order.
#include "lowering/lib/analysis/MmaForm.h"
#include "ptx-frontend/Parser.h"
#include "tests/lowering/execution/Execution.h"
#include <bit>
#include <cmath>
#include <random>

using namespace rubia::lowering;
using namespace rubia::lowering::test;
namespace ptx = rubia::ptx;

namespace {

// Words: A, B, C, scales and metadata, then D in C's place.
constexpr unsigned kThreads = 64, kPerThread = 16;
constexpr unsigned kA = 0, kB = 4, kC = 8, kScaleA = 12, kScaleB = 13, kMetadata = 14;

struct Case {
  std::string name; // behind `row.col.`; its types
  unsigned k = 32;
  unsigned byteA = 0, threadA = 0, byteB = 0, threadB = 0; // selectors
  bool isSparse = false;
};

std::string kernelOf(const Case &test) {
  std::string body = "mad.wide.u32 %rd1, %tid, 64, %buf;";
  for (unsigned i = 0; i < kPerThread; i += 4) {
    body += "ld.global.v4.b32 {";
    for (unsigned j = i; j < i + 4; ++j)
      body += (j > i ? ", %w" : "%w") + std::to_string(j);
    body += "}, [%rd1+" + std::to_string(4 * i) + "];";
  }
  const auto selectors = [](unsigned byte, unsigned thread) {
    return ", {" + std::to_string(byte) + ", " + std::to_string(thread) + "}";
  };
  const bool isHalf = test.name.find("f16") != std::string::npos;
  const std::string sums = isHalf ? "{%w8, %w9}" : "{%w8, %w9, %w10, %w11}";
  body += (test.isSparse ? "mma.sp::ordered_metadata" : "mma") +
          std::string(".sync.aligned.m16n8k") + std::to_string(test.k) + ".row.col." + test.name +
          " " + sums + ", {%w0, %w1, %w2, %w3}, " +
          (test.isSparse ? "{%w4, %w5, %w6, %w7}, " : "{%w4, %w5}, ") + sums +
          (test.isSparse ? ", %w14, 0" : "");
  if (test.name.find("block_scale") != std::string::npos)
    body += ", %w12" + selectors(test.byteA, test.threadA) + ", %w13" +
            selectors(test.byteB, test.threadB);
  body += ";";
  for (unsigned i = kC; i < kC + 4; ++i)
    body += "st.global.b32 [%rd1+" + std::to_string(4 * i) + "], %w" + std::to_string(i) + ";";
  std::string text = executable(body + "ret;");
  for (auto [from, to] : {std::pair{"sm_80", "sm_120a"}, std::pair{".version 8.0", ".version 9.1"}})
    text.replace(text.find(from), strlen(from), to);
  const std::string at = ".reg .b64 %buf";
  const char *sumType = isHalf ? ".reg .b32 " : ".reg .f32 ";
  return text.insert(text.find(at), std::string(".reg .b32 %w<8>, %w12, %w13, %w14, %w15;\n") +
                                        sumType + "%w8, %w9, %w10, %w11;\n");
}

MmaForm formOf(const std::string &text) {
  ptx::ParseResult parsed = ptx::parse("test.ptx", text);
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    ADD_FAILURE() << diagnostic.message;
  for (const ptx::Instruction &inst : parsed.module.functions.front()->body)
    if (auto form = MmaForm::of(inst))
      return *form;
  ADD_FAILURE() << "no product";
  return {};
}

// A number with a sign, so many bits of exponent and of mantissa.
double decode(unsigned bits, unsigned exponentBits, unsigned mantissaBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const unsigned mantissa = bits & ((1u << mantissaBits) - 1);
  const int exponent = int(bits >> mantissaBits & ((1u << exponentBits) - 1));
  const double magnitude = std::ldexp(exponent ? mantissa + (1 << mantissaBits) : mantissa,
                                      (exponent ? exponent : 1) - bias - int(mantissaBits));
  return bits >> (exponentBits + mantissaBits) & 1 ? -magnitude : magnitude;
}
double valueOf(ptx::Type type, unsigned bits, bool inByte) {
  switch (type) {
  case ptx::Type::E2M1:
    return decode(inByte ? bits >> 2 : bits, 2, 1);
  case ptx::Type::E2M3:
    return decode(bits, 2, 3);
  case ptx::Type::E3M2:
    return decode(bits, 3, 2);
  case ptx::Type::E4M3:
    return decode(bits, 4, 3);
  default:
    return decode(bits, 5, 2);
  }
}

// Types of 4 and 6 bits with all of their numbers, others around 1.
unsigned randomFactor(std::mt19937 &random, ptx::Type type, bool inByte) {
  const unsigned sign = random() % 2;
  switch (type) {
  case ptx::Type::E2M1:
    return (random() % 16) << (inByte ? 2 : 0);
  case ptx::Type::E2M3:
  case ptx::Type::E3M2:
    return random() % 64;
  case ptx::Type::E4M3:
    return sign << 7 | (6 + random() % 3) << 3 | random() % 8;
  default:
    return sign << 7 | (14 + random() % 3) << 2 | random() % 4;
  }
}

std::vector<uint32_t> operandsOf(const MmaForm &form) {
  std::mt19937 random(17);
  std::vector<uint32_t> words(kThreads * kPerThread);
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    uint32_t *const mine = &words[thread * kPerThread];
    for (auto [matrix, first] : {std::pair{MmaMatrix::A, kA}, std::pair{MmaMatrix::B, kB}})
      for (unsigned reg = 0; reg < form.registers(matrix); ++reg)
        for (unsigned at = 0; at < 32; at += form.elementBits(matrix))
          mine[first + reg] |=
              randomFactor(random, form.typeOf(matrix), form.elementBits(matrix) == 8) << at;
    for (unsigned i = 0; i < 4; ++i) // halves: 1, 2, 3
      mine[kC + i] = form.c == ptx::Type::F16
                         ? 0x3c004000
                         : std::bit_cast<uint32_t>(float(int(random() % 64) - 32));
    for (unsigned scale : {kScaleA, kScaleB})
      for (unsigned at = 0; at < 32; at += 8)
        mine[scale] |= (form.scale == ptx::Type::UE8M0 ? 126 + random() % 3
                                                       : (6 + random() % 2) << 3 | random() % 8)
                       << at;
    for (unsigned at = 0; at < 32; at += 4) { // two of four places, in order
      constexpr unsigned kPairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
      mine[kMetadata] |= kPairs[random() % 6] << at;
    }
  }
  return words;
}

double scaleAt(const MmaForm &form, uint32_t word, unsigned byte) {
  const unsigned bits = word >> (8 * byte) & 0xff;
  return form.scale == ptx::Type::UE8M0 ? std::ldexp(1, int(bits) - 127) : decode(bits, 4, 3);
}

std::vector<uint32_t> expectedOf(const Case &test, const MmaForm &form,
                                 const std::vector<uint32_t> &words) {
  std::vector<uint32_t> after = words;
  for (unsigned warp = 0; warp < kThreads / 32; ++warp) {
    const uint32_t *const lanes = &words[warp * 32 * kPerThread];
    const auto factor = [&](MmaMatrix matrix, unsigned first, unsigned row, unsigned column) {
      const FragmentPlace at = form.fragmentOf(matrix, {row, column, 0});
      const unsigned bits = form.elementBits(matrix);
      const uint32_t word = lanes[at.lane * kPerThread + first + at.reg];
      return valueOf(form.typeOf(matrix), word >> (bits * at.element) & ((1u << bits) - 1),
                     bits == 8);
    };
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned column = 0; column < 8; ++column) {
        double sum = 0;
        for (unsigned stored = 0; stored < form.columns(MmaMatrix::A); ++stored) {
          unsigned k = stored;
          if (form.isSparse) {
            const MetadataPlace at = form.metadataOf(row, stored);
            k = at.base + at.scale * (lanes[at.lane * kPerThread + kMetadata] >> at.shift & 3);
          }
          double product =
              factor(MmaMatrix::A, kA, row, stored) * factor(MmaMatrix::B, kB, k, column);
          if (form.scalesPerRow) {
            const unsigned block = k / (form.k / form.scalesPerRow);
            const unsigned laneA = row % 8 * 4 + 2 * test.threadA + row / 8;
            const unsigned laneB = column * 4 + test.threadB;
            product *= scaleAt(form, lanes[laneA * kPerThread + kScaleA], test.byteA + block) *
                       scaleAt(form, lanes[laneB * kPerThread + kScaleB], test.byteB + block);
          }
          sum += product;
        }
        const FragmentPlace at = form.fragmentOf(MmaMatrix::D, {row, column, 0});
        uint32_t &d = after[(warp * 32 + at.lane) * kPerThread + kC + at.reg];
        if (form.d == ptx::Type::F32) {
          d = std::bit_cast<uint32_t>(float(sum + double(std::bit_cast<float>(d))));
          continue;
        }
        const _Float16 half = std::bit_cast<_Float16>(uint16_t(d >> (16 * at.element)));
        const auto result = std::bit_cast<uint16_t>(_Float16(sum + double(half)));
        d = (d & ~(0xffffu << (16 * at.element))) | uint32_t(result) << (16 * at.element);
      }
  }
  return after;
}

void check(const Case &test) {
  SCOPED_TRACE(test.name);
  const std::string text = kernelOf(test);
  const MmaForm form = formOf(text);
  const std::vector<uint32_t> words = operandsOf(form);
  Form how;
  how.block = {kThreads, 1, 1};
  EXPECT_EQ(runOnAllTargets(text, words, how), expectedOf(test, form, words));
}

const std::string kMxf8 = "kind::mxf8f6f4.block_scale.", kMxf4 = "kind::mxf4.block_scale.",
                  kNvf4 = "kind::mxf4nvf4.block_scale.";

} // namespace

TEST(ScaledMma, FactorsOfAllSizes) {
  check({"kind::f8f6f4.f32.e2m1.e4m3.f32"});
  check({"kind::f8f6f4.f32.e3m2.e2m3.f32"});
  check({"kind::f8f6f4.f16.e2m1.e2m1.f16"});
}

TEST(ScaledMma, AScaleForEachRow) {
  check({kMxf8 + "f32.e4m3.e2m1.f32.ue8m0", 32, 0, 0, 0, 0});
  check({kMxf8 + "scale_vec::1X.f32.e2m3.e3m2.f32.ue8m0", 32, 1, 1, 2, 3});
  check({kMxf8 + "f32.e3m2.e5m2.f32.ue8m0", 32, 3, 0, 1, 2});
  check({kMxf8 + "f32.e2m1.e2m3.f32.ue8m0", 32, 2, 1, 3, 1});
}

TEST(ScaledMma, TwoScalesForEachRow) {
  check({kMxf4 + "f32.e2m1.e2m1.f32.ue8m0", 64, 0, 0, 0, 0});
  check({kMxf4 + "scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", 64, 2, 1, 0, 3});
  check({kNvf4 + "scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", 64, 0, 1, 2, 2});
}

TEST(ScaledMma, FourScalesForEachRow) {
  check({kNvf4 + "scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 64, 0, 0, 0, 1});
  check({kNvf4 + "scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0", 64, 0, 1, 0, 3});
}

TEST(ScaledMma, SparseFactorsOfAllSizes) {
  check({"kind::f8f6f4.f32.e2m1.e5m2.f32", 64, 0, 0, 0, 0, true});
  check({"kind::f8f6f4.f16.e3m2.e2m3.f16", 64, 0, 0, 0, 0, true});
}

TEST(ScaledMma, SparseWithScales) {
  check({kMxf8 + "scale_vec::1X.f32.e2m3.e3m2.f32.ue8m0", 64, 1, 1, 2, 3, true});
  check({kMxf4 + "f32.e2m1.e2m1.f32.ue8m0", 128, 2, 1, 0, 3, true});
  check({kNvf4 + "scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 128, 0, 1, 0, 1, true});
}

TEST(ScaledMma, ScalesThatAreNoNumbers) {
  for (const auto &[name, k, nan] :
       {std::tuple{kMxf8 + "f32.e4m3.e4m3.f32.ue8m0", 32u, 0xffffffffu},
        std::tuple{kNvf4 + "scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 64u, 0x7f7f7f7fu}}) {
    const std::string text = kernelOf({name, k});
    std::vector<uint32_t> words = operandsOf(formOf(text));
    words[4 * kPerThread * 3 + kScaleA] = nan; // of row 3
    Form how;
    how.block = {kThreads, 1, 1};
    const std::vector<uint32_t> after = run(text, words, how).words;
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < 4; ++reg)
        EXPECT_EQ(std::isnan(std::bit_cast<float>(after[lane * kPerThread + kC + reg])),
                  lane / 4 == 3 && reg < 2)
            << name << " " << lane << " " << reg;
  }
}
