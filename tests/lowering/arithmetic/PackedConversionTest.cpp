// SPDX-License-Identifier: Apache-2.0
// PTX ISA: data-movement-and-conversion-instructions-cvt, -cvt-pack: bf16, tf32, and two and four
// numbers at a time, against the reference evaluator, which gives what an H100 does where that has
// the instruction (docs/numerics.md).
#include "reference/Reference.h"
#include "tests/lowering/arithmetic/Harness.h"
#include "llvm/ADT/StringExtras.h"
#include <bit>
#include <cmath>

using namespace rubia;
using namespace rubia::lowering::test;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

namespace {

const Compilation kCanonical{"gfx1100", 3, settings::NanMode::Canonical};
// f32 edges lie in words, so that operands come from all edges of floats and are not one kind's.
const std::vector<Kind> kOne = {Kind::F32}, kTwo = {Kind::F32, Kind::F32},
                        kThree = {Kind::F32, Kind::F32, Kind::I32};

// Evaluates `mnemonic` on the tuples of operands. `body` computes d from a, b, c and e, by way of
// registers b0, b1 (bytes), h0, h1 and w, and `inputs` gives the operands of the instruction.
using Inputs = std::function<reference::ReferenceInputs(const uint64_t *)>;
void checkConversion(const std::string &mnemonic, const std::string &body, Kind result,
                     const std::vector<Kind> &sources, const Inputs &inputs,
                     const Compilation &setup = kCanonical, std::vector<Operands> tuples = {}) {
  SCOPED_TRACE(mnemonic + " for " + setup.arch);
  auto reference = reference::referenceFor(mnemonic);
  ASSERT_TRUE(bool(reference)) << toString(reference.takeError());
  std::string text = kernelText(
      "  .reg .b8 b0, b1;\n  .reg .b16 h0, h1;\n  .reg .b32 w;\n" + body + ";", result, sources);
  const std::string kHeader = ".version 9.3\n.target sm_100\n";
  ASSERT_EQ(text.find(kHeader), 0u);
  text = ".version 9.3\n.target sm_100a\n" + text.substr(kHeader.size());
  expectDefinedEverywhere(lowerToIr(text, setup));
  if (tuples.empty()) {
    std::vector<Operands> all = operandsFor(sources);
    for (size_t i = 0; i < all.size(); i += all.size() > 4096 ? 5 : 1)
      tuples.push_back(all[i]); // the reference is slow
  }
  std::vector<uint64_t> results = execute(compileToCode(text, setup), result, sources, tuples);
  ASSERT_EQ(results.size(), tuples.size());
  uint64_t mask = bitsOf(result) == 64 ? ~0ull : (1ull << bitsOf(result)) - 1;
  unsigned failures = 0;
  for (size_t i = 0; i < tuples.size() && failures < 4; ++i) {
    uint64_t expected = (*reference)(inputs(tuples[i].values)).bits & mask;
    failures += results[i] != expected;
    EXPECT_EQ(results[i], expected)
        << llvm::utohexstr(tuples[i].values[0]) << ", " << llvm::utohexstr(tuples[i].values[1])
        << ", " << llvm::utohexstr(tuples[i].values[2]);
  }
}

reference::ReferenceInputs asGiven(const uint64_t *values) {
  return {{values[0], values[1], values[2], values[3], 0}};
}
reference::ReferenceInputs lowHalf(const uint64_t *values) { return {{values[0] & 0xffff}}; }

// A 16-bit result, or source, by way of h0; without the last semicolon.
std::string narrowResult(const std::string &instruction) {
  return instruction + ";\n  cvt.u32.u16 d, h0";
}
std::string narrowSource(const std::string &instruction) {
  return "  cvt.u16.u32 h0, a;\n  " + instruction;
}

const char *const kRelu[] = {"", ".relu"};

} // namespace

TEST(PackedConversion, HalvesOfTwoFloats) {
  for (const char *type : {"f16x2", "bf16x2"})
    for (const char *rounding : {".rn", ".rz"})
      for (const char *modifiers : {"", ".relu", ".satfinite", ".relu.satfinite"}) {
        std::string mnemonic = std::string("cvt") + rounding + modifiers + "." + type + ".f32";
        checkConversion(mnemonic, mnemonic + " d, a, b", Kind::I32, kTwo, asGiven);
      }
}

TEST(PackedConversion, ScalarsOfModifiedHalves) {
  for (const char *rounding : {".rn", ".rz"})
    for (const char *modifiers : {".relu", ".satfinite", ".relu.satfinite"}) {
      std::string mnemonic = std::string("cvt") + rounding + modifiers + ".f16.f32";
      checkConversion(mnemonic, narrowResult(mnemonic + " h0, a"), Kind::I32, kOne, asGiven);
    }
}

TEST(PackedConversion, ToBfloat) {
  for (const char *modifiers : {".rn", ".rz", ".rm", ".rp", ".rn.ftz", ".rz.ftz", ".rm.ftz",
                                ".rp.ftz", ".rn.relu", ".rz.satfinite", ".rn.relu.satfinite"}) {
    std::string mnemonic = std::string("cvt") + modifiers + ".bf16.f32";
    checkConversion(mnemonic, narrowResult(mnemonic + " h0, a"), Kind::I32, kOne, asGiven);
  }
  for (const char *rounding : {".rn", ".rz", ".rm", ".rp"}) {
    const std::pair<const char *, Kind> kSources[] = {{"f64", Kind::F64},
                                                      {"u32", Kind::I32},
                                                      {"s32", Kind::I32},
                                                      {"u64", Kind::I64},
                                                      {"s64", Kind::I64}};
    for (auto [type, kind] : kSources) {
      std::string mnemonic = std::string("cvt") + rounding + ".bf16." + type;
      checkConversion(mnemonic, narrowResult(mnemonic + " h0, a"), Kind::I32, {kind}, asGiven);
    }
    for (const char *type : {"f16", "u16", "s16"}) {
      std::string mnemonic = std::string("cvt") + rounding + ".bf16." + type;
      checkConversion(mnemonic, narrowSource(narrowResult(mnemonic + " h0, h0")), Kind::I32,
                      {Kind::I32}, lowHalf);
    }
  }
}

// 64-bit integers of which a bit far below decides between two neighbours.
TEST(PackedConversion, IntegersRoundOnceToBfloat) {
  for (const char *type : {"u64", "s64", "u32", "s32"}) {
    // The bits of a are a number close to a midpoint: 9 leading bits and what follows at the end.
    std::string mnemonic = std::string("cvt.rn.bf16.") + type;
    bool isLong = type[1] == '6';
    Kind kind = isLong ? Kind::I64 : Kind::I32;
    std::string width = isLong ? "64" : "32", shift = isLong ? "54" : "22";
    std::string body = "  .reg .b" + width + " x, y;\n  and.b" + width + " x, a, 0x3ff;\n  shl.b" +
                       width + " x, x, " + shift + ";\n  shr.u" + width + " y, a, 10;\n  and.b" +
                       width + " y, y, 3;\n  add.s" + width + " x, x, y;\n  sub.s" + width +
                       " x, x, 1;\n" + narrowResult("  " + mnemonic + " h0, x");
    checkConversion(mnemonic, body, Kind::I32, {kind}, [=](const uint64_t *values) {
      uint64_t x = ((values[0] & 0x3ff) << (isLong ? 54 : 22)) + (values[0] >> 10 & 3) - 1;
      return reference::ReferenceInputs{{isLong ? x : x & 0xffffffff}};
    });
  }
}

TEST(PackedConversion, FromBfloat) {
  const std::pair<const char *, Kind> kResults[] = {{"f32", Kind::F32}, {"f64", Kind::F64},
                                                    {"u32", Kind::I32}, {"s32", Kind::I32},
                                                    {"u64", Kind::I64}, {"s64", Kind::I64}};
  for (auto [type, kind] : kResults) {
    bool isFloat = type[0] == 'f';
    for (const char *rounding : {"", ".ftz", ".rpi", ".rmi", ".rni", ".rzi"}) {
      bool isInteger = *rounding && rounding[3] == 'i';
      if (isInteger == isFloat || (!strcmp(rounding, ".ftz") && kind != Kind::F32) ||
          (!isFloat && !*rounding))
        continue;
      std::string mnemonic = std::string("cvt") + rounding + "." + type + ".bf16";
      checkConversion(mnemonic, narrowSource(mnemonic + " d, h0"), kind, {Kind::I32}, lowHalf);
    }
  }
  for (const char *mnemonic : {"cvt.f16.bf16", "cvt.rz.f16.bf16", "cvt.rp.f16.bf16",
                               "cvt.rpi.bf16.bf16", "cvt.rni.bf16.bf16", "cvt.bf16.bf16"})
    checkConversion(mnemonic, narrowSource(narrowResult(mnemonic + std::string(" h0, h0"))),
                    Kind::I32, {Kind::I32}, lowHalf);
}

TEST(PackedConversion, Tf32) {
  for (const char *modifiers : {".rna", ".rna.satfinite", ".rn", ".rz", ".rn.relu", ".rz.satfinite",
                                ".rn.satfinite.relu"}) {
    std::string mnemonic = std::string("cvt") + modifiers + ".tf32.f32";
    checkConversion(mnemonic, mnemonic + " d, a", Kind::I32, kOne, asGiven);
  }
}

TEST(PackedConversion, EightAndSixBits) {
  for (const char *type : {"e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2"})
    for (const char *relu : kRelu) {
      std::string to = std::string("cvt.rn.satfinite") + relu + "." + type;
      checkConversion(to + ".f32", narrowResult(to + ".f32 h0, a, b"), Kind::I32, kTwo, asGiven);
      checkConversion(to + ".f16x2", narrowResult(to + ".f16x2 h0, a"), Kind::I32, {Kind::F16x2},
                      asGiven);
      checkConversion(to + ".bf16x2", narrowResult(to + ".bf16x2 h0, a"), Kind::I32, {Kind::BF16x2},
                      asGiven);
      std::string from = std::string("cvt.rn") + relu + ".f16x2." + type;
      checkConversion(from, narrowSource(from + " d, h0"), Kind::I32, {Kind::I32}, lowHalf);
    }
}

// All numbers of small formats, what lies in the middle between two, and their neighbours.
TEST(PackedConversion, RoundsEveryMidpoint) {
  struct Format {
    const char *name, *four;
    int fraction, minExponent, maxExponent;
  };
  const Format kFormats[] = {{"e4m3x2", "e4m3x4", 3, -6, 8},
                             {"e5m2x2", "e5m2x4", 2, -14, 15},
                             {"e2m3x2", "e2m3x4", 3, 0, 2},
                             {"e3m2x2", "e3m2x4", 2, -2, 4},
                             {"e2m1x2", "e2m1x4", 1, 0, 2}};
  for (const Format &format : kFormats) {
    std::vector<Operands> tuples;
    // Eighths of units in the last place, one step of them an exponent.
    for (int exponent = format.minExponent; exponent <= format.maxExponent + 1; ++exponent) {
      int units = 16 << format.fraction;
      for (int eighths = exponent == format.minExponent ? 0 : units / 2; eighths < units;
           ++eighths) {
        float value = std::ldexp(float(eighths), exponent - format.fraction - 3);
        for (int step : {-1, 0, 1}) {
          uint64_t bits = std::bit_cast<uint32_t>(value) + uint32_t(value == 0 ? 0 : step);
          tuples.push_back({{bits, bits ^ 0x80000000, bits ^ 0x80000000, bits}});
        }
      }
    }
    bool isNibble = format.minExponent == 0 && format.fraction == 1;
    std::string two = std::string("cvt.rn.satfinite.") + format.name + ".f32";
    checkConversion(
        two, isNibble ? two + " b0, a, b;\n  cvt.u32.u8 d, b0" : narrowResult(two + " h0, a, b"),
        Kind::I32, kTwo, asGiven, kCanonical, tuples);
    std::string four = std::string("cvt.rs.satfinite.") + format.four + ".f32";
    checkConversion(
        four,
        "mov.b32 w, 0x7fff8001;\n  " +
            (isNibble ? narrowResult(four + " h0, {a, b, c, e}, w") : four + " d, {a, b, c, e}, w"),
        Kind::I32, {Kind::F32, Kind::F32, Kind::F32, Kind::F32},
        [](const uint64_t *values) {
          return reference::ReferenceInputs{
              {values[0], values[1], values[2], values[3], 0x7fff8001}};
        },
        kCanonical, tuples);
  }
}

TEST(PackedConversion, FourBits) {
  for (const char *relu : kRelu) {
    std::string to = std::string("cvt.rn.satfinite") + relu + ".e2m1x2";
    checkConversion(to + ".f32", to + ".f32 b0, a, b;\n  cvt.u32.u8 d, b0", Kind::I32, kTwo,
                    asGiven);
    checkConversion(to + ".f16x2", to + ".f16x2 b0, a;\n  cvt.u32.u8 d, b0", Kind::I32,
                    {Kind::F16x2}, asGiven);
    std::string from = std::string("cvt.rn") + relu + ".f16x2.e2m1x2";
    checkConversion(
        from, "cvt.u8.u32 b0, a;\n  " + from + " d, b0", Kind::I32, {Kind::I32},
        [](const uint64_t *values) { return reference::ReferenceInputs{{values[0] & 0xff}}; });
  }
}

// Where the hardware converts; it has NaN bits of its own, so no NaN comes in: a and b lose the top
// bit of the exponent.
TEST(PackedConversion, EightBitsByHardware) {
  for (const char *arch : {"gfx950", "gfx1201"})
    for (const char *type : {"e4m3x2", "e5m2x2"})
      for (const char *relu : kRelu) {
        std::string to = std::string("cvt.rn.satfinite") + relu + "." + type + ".f32";
        checkConversion(to,
                        "  and.b32 a, a, 0xbfffffff;\n  and.b32 b, b, 0xcfffffff;\n  " +
                            narrowResult(to + " h0, a, b"),
                        Kind::I32, kTwo,
                        [](const uint64_t *values) {
                          return reference::ReferenceInputs{
                              {values[0] & 0xbfffffff, values[1] & 0xcfffffff}};
                        },
                        {arch});
        std::string from = std::string("cvt.rn") + relu + ".f16x2." + type;
        checkConversion(
            from, "  and.b32 a, a, 0xfbfb;\n" + narrowSource(from + " d, h0"), Kind::I32,
            {Kind::I32},
            [](const uint64_t *values) { return reference::ReferenceInputs{{values[0] & 0xfbfb}}; },
            {arch});
      }
  checkConversion("cvt.rn.bf16x2.f32",
                  "  and.b32 a, a, 0xbfffffff;\n  and.b32 b, b, 0xbfffffff;\n"
                  "  add.f32 e, e, e;\n  cvt.rn.bf16x2.f32 d, a, b",
                  Kind::I32, {Kind::F32, Kind::F32, Kind::F32, Kind::F32},
                  [](const uint64_t *values) {
                    return reference::ReferenceInputs{
                        {values[0] & 0xbfffffff, values[1] & 0xbfffffff}};
                  },
                  {"gfx950"});
}

TEST(PackedConversion, StochasticRounding) {
  for (const char *modifiers : {"", ".relu", ".satfinite", ".relu.satfinite"})
    for (const char *type : {"f16x2", "bf16x2"}) {
      std::string mnemonic = std::string("cvt.rs") + modifiers + "." + type + ".f32";
      checkConversion(mnemonic, mnemonic + " d, a, b, c", Kind::I32, kThree, asGiven);
    }
  auto fourAndBits = [](const uint64_t *values) {
    uint64_t random = (values[0] * 0x9e3779b1 + values[1]) & 0xffffffff;
    return reference::ReferenceInputs{{values[0], values[1], values[2], values[3], random}};
  };
  const std::string kRandom = "  mad.lo.u32 w, a, 0x9e3779b1, b;\n  ";
  const std::vector<Kind> kFour = {Kind::F32, Kind::F32, Kind::F32, Kind::F32};
  for (const char *relu : kRelu) {
    for (const char *type : {"e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"}) {
      std::string mnemonic = std::string("cvt.rs") + relu + ".satfinite." + type + ".f32";
      checkConversion(mnemonic, kRandom + mnemonic + " d, {a, b, c, e}, w", Kind::I32, kFour,
                      fourAndBits);
    }
    std::string mnemonic = std::string("cvt.rs") + relu + ".satfinite.e2m1x4.f32";
    checkConversion(mnemonic, kRandom + narrowResult(mnemonic + " h0, {a, b, c, e}, w"), Kind::I32,
                    kFour, fourAndBits);
  }
}

TEST(PackedConversion, Scales) {
  for (const char *modifiers : {".rz", ".rp", ".rz.satfinite", ".rp.satfinite"}) {
    std::string mnemonic = std::string("cvt") + modifiers + ".ue8m0x2";
    checkConversion(mnemonic + ".f32", narrowResult(mnemonic + ".f32 h0, a, b"), Kind::I32, kTwo,
                    asGiven);
    checkConversion(mnemonic + ".bf16x2", narrowResult(mnemonic + ".bf16x2 h0, a"), Kind::I32,
                    {Kind::BF16x2}, asGiven);
  }
  checkConversion("cvt.rn.bf16x2.ue8m0x2", narrowSource("cvt.rn.bf16x2.ue8m0x2 d, h0"), Kind::I32,
                  {Kind::I32}, lowHalf);
}

TEST(PackedConversion, FixedPoint) {
  auto scaled = [](unsigned last) {
    return [last](const uint64_t *values) {
      reference::ReferenceInputs inputs = asGiven(values);
      inputs.source[last] &= 0xffff;
      return inputs;
    };
  };
  const std::string kScale = ".scaled::n2::ue8m0";
  for (const char *relu : kRelu) {
    std::string to = std::string("cvt.rn.satfinite") + relu;
    std::string plain = to + ".s2f6x2", withScale = to + kScale + ".s2f6x2";
    checkConversion(plain + ".f32", narrowResult(plain + ".f32 h0, a, b"), Kind::I32, kTwo,
                    asGiven);
    checkConversion(withScale + ".f32",
                    "  cvt.u16.u32 h1, c;\n  " + narrowResult(withScale + ".f32 h0, a, b, h1"),
                    Kind::I32, kThree, scaled(2));
    checkConversion(withScale + ".bf16x2",
                    "  cvt.u16.u32 h1, b;\n  " + narrowResult(withScale + ".bf16x2 h0, a, h1"),
                    Kind::I32, {Kind::BF16x2, Kind::I32}, scaled(1));
    for (const char *satfinite : {"", ".satfinite"}) {
      std::string from = std::string("cvt.rn") + satfinite + relu;
      std::string back = from + ".bf16x2.s2f6x2", backScaled = from + kScale + ".bf16x2.s2f6x2";
      checkConversion(back, narrowSource(back + " d, h0"), Kind::I32, {Kind::I32}, lowHalf);
      checkConversion(backScaled,
                      "  cvt.u16.u32 h1, b;\n" + narrowSource(backScaled + " d, h0, h1"), Kind::I32,
                      {Kind::I32, Kind::I32}, [](const uint64_t *values) {
                        return reference::ReferenceInputs{{values[0] & 0xffff, values[1] & 0xffff}};
                      });
    }
  }
}

// A kernel has one denormal mode, which these have to do without.
TEST(PackedConversion, DenormalsInTheOtherMode) {
  const std::string kKeeps = "  add.f32 w, a, a;\n  ", kFlushes = "  add.ftz.f32 w, a, a;\n  ";
  for (const char *mnemonic : {"cvt.rn.ftz.bf16.f32", "cvt.rp.ftz.bf16.f32"})
    checkConversion(mnemonic, kKeeps + narrowResult(mnemonic + std::string(" h0, a")), Kind::I32,
                    kOne, asGiven);
  checkConversion("cvt.ftz.f32.bf16", kKeeps + narrowSource("cvt.ftz.f32.bf16 d, h0"), Kind::F32,
                  {Kind::I32}, lowHalf);
  for (const char *mnemonic : {"cvt.rn.bf16.f32", "cvt.rp.bf16.f32", "cvt.rz.relu.bf16.f32"})
    checkConversion(mnemonic, kFlushes + narrowResult(mnemonic + std::string(" h0, a")), Kind::I32,
                    kOne, asGiven);
  checkConversion("cvt.rn.bf16x2.f32", kFlushes + "cvt.rn.bf16x2.f32 d, a, b", Kind::I32, kTwo,
                  asGiven, {"gfx950", 3, settings::NanMode::Canonical});
  checkConversion("cvt.rn.satfinite.e4m3x2.f32",
                  kFlushes + narrowResult("cvt.rn.satfinite.e4m3x2.f32 h0, a, b"), Kind::I32, kTwo,
                  asGiven);
}

TEST(PackedConversion, Pack) {
  for (const char *type : {"u16", "s16"}) {
    std::string mnemonic = std::string("cvt.pack.sat.") + type + ".s32";
    checkConversion(mnemonic, mnemonic + " d, a, b", Kind::I32, {Kind::I32, Kind::I32}, asGiven);
  }
  for (const char *type : {"u8", "s8", "u4", "s4", "u2", "s2"}) {
    std::string mnemonic = std::string("cvt.pack.sat.") + type + ".s32.b32";
    checkConversion(mnemonic, mnemonic + " d, a, b, c", Kind::I32,
                    {Kind::I32, Kind::I32, Kind::I32}, asGiven);
  }
}
