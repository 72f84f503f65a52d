// SPDX-License-Identifier: Apache-2.0
// PTX ISA: scalar-video-instructions, simd-video-instructions: every operation with selectors,
// saturation and secondary operations, against the reference evaluator, which gives what an H100
// does (docs/numerics.md).
#include "reference/Reference.h"
#include "tests/lowering/arithmetic/Harness.h"
#include "llvm/ADT/StringExtras.h"

using namespace rubia;
using namespace rubia::lowering::test;

static const std::vector<Kind> kThreeWords = {Kind::I32, Kind::I32, Kind::I32};

// The reference computes with unbounded integers, so a sample must do.
static std::vector<Operands> sampleTuples() {
  std::vector<Operands> all = operandsFor(kThreeWords), sample;
  for (size_t i = 0; i < all.size(); i += 7)
    sample.push_back(all[i]);
  return sample;
}

// Selectors are of d, a and b.
static void checkVideo(const std::string &mnemonic, const std::vector<std::string> &selectors) {
  static const std::vector<Operands> kTuples = sampleTuples();
  auto reference = reference::referenceFor(mnemonic, selectors);
  ASSERT_TRUE(bool(reference)) << toString(reference.takeError());
  auto operand = [&](const char *name, unsigned n) {
    return std::string(name) + (selectors[n].empty() ? "" : "." + selectors[n]);
  };
  check({mnemonic + " " + operand("d", 0) + ", " + operand("a", 1) + ", " + operand("b", 2) + ", c",
         Kind::I32, kThreeWords,
         [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
           reference::ReferenceInputs inputs;
           inputs.source = {a, b, c};
           return (*reference)(inputs).bits & 0xffffffff;
         }},
        kTuples);
}

// Types of d, a and b by the bits of `signs`.
static std::string types(unsigned signs) {
  std::string text;
  for (unsigned bit : {4u, 2u, 1u})
    text += signs & bit ? ".s32" : ".u32";
  return text;
}

TEST(Video, ReplacesPartsAndSaturates) {
  const std::vector<std::string> kSelectors[] = {
      {"b0", "", ""}, {"b3", "h1", "b2"}, {"h0", "b1", "h0"}, {"h1", "", "h1"}, {"b2", "b3", ""}};
  unsigned n = 0; // signs and selectors in turn
  for (const char *operation : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"})
    for (unsigned signs = 0; signs < 8; ++signs, ++n)
      checkVideo(operation + types(signs) + (n % 3 ? ".sat" : ""), kSelectors[n % 5]);
}

TEST(Video, SecondaryOperations) {
  const std::vector<std::string> kSelectors[] = {
      {"", "", ""}, {"", "h1", "b2"}, {"", "b1", ""}, {"", "", "h0"}};
  unsigned n = 0;
  for (const char *operation : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"})
    for (unsigned signs = 0; signs < 8; ++signs)
      for (const char *secondary : {".add", ".min", ".max"}) {
        checkVideo(operation + types(signs) + (n % 2 ? ".sat" : "") + secondary, kSelectors[n % 4]);
        ++n;
      }
}

TEST(Video, Shifts) {
  const std::vector<std::string> kParts[] = {{"b1", "", "b0"}, {"h1", "h0", ""}, {"h0", "b3", ""}};
  unsigned n = 0;
  for (const char *operation : {"vshl", "vshr"})
    for (unsigned signs : {0u, 2u, 4u, 6u})
      for (const char *mode : {".clamp", ".wrap"})
        for (const char *saturation : {"", ".sat"}) {
          std::string mnemonic = operation + types(signs) + saturation + mode;
          if ((n / 3 + signs) % 2)
            checkVideo(mnemonic, kParts[n % 3]);
          else
            checkVideo(mnemonic + (n % 4 ? ".min" : ".max"), {"", n % 8 ? "" : "h1", "b0"});
          ++n;
        }
}

TEST(Video, Set) {
  unsigned n = 0;
  for (const char *comparison : {".eq", ".ne", ".lt", ".le", ".gt", ".ge"})
    for (unsigned signs = 0; signs < 4; ++signs, n += 3) {
      std::string mnemonic = "vset" + types(signs).substr(4) + comparison;
      if (n % 4 == 0)
        checkVideo(mnemonic, {signs % 2 ? "b1" : "h0", "h1", signs % 3 ? "b0" : ""});
      else
        checkVideo(mnemonic + (n % 2 ? ".min" : ".max"), {"", "b3", n % 3 ? "h0" : ""});
    }
}

TEST(Video, MultiplyAdd) {
  unsigned n = 0;
  for (unsigned signs = 0; signs < 8; ++signs)
    for (const char *saturation : {"", ".sat"})
      for (const char *scale : {"", ".shr7", ".shr15"}) {
        checkVideo("vmad" + types(signs) + (n % 2 ? ".po" : "") + saturation + scale,
                   {"", n % 3 ? "" : "b1", n % 4 ? "" : "h0"});
        ++n;
      }
}

// A negated operand makes the result signed, so that .sat clamps to .s32.
TEST(Video, NegatedMultiplyAdd) {
  struct Case {
    const char *operands;
    int product, addend;
  };
  for (const Case &test : {Case{"d, -a.h0, b.b1, c", -1, 1}, Case{"d, a.h0, -b.b1, c", -1, 1},
                           Case{"d, a.h0, b.b1, -c", 1, -1}})
    check({std::string("vmad.u32.u32.u32.sat.shr7 ") + test.operands, Kind::I32, kThreeWords,
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             int64_t product = int64_t((a & 0xffff) * (b >> 8 & 0xff));
             int64_t sum = (test.product * product + test.addend * int64_t(int32_t(c))) >> 7;
             return uint32_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
           }});
}

TEST(SimdVideo, Elements) {
  struct Shape {
    const char *digit;
    std::vector<std::string> selectors[4];
  };
  const Shape kShapes[] = {
      {"2", {{"", "", ""}, {"h1", "h20", "h13"}, {"h0", "", "h01"}, {"h10", "h33", "h10"}}},
      {"4",
       {{"", "", ""},
        {"b310", "b7162", "b0123"},
        {"b2", "b4444", ""},
        {"b3210", "b2703", "b3210"}}}};
  unsigned n = 0;
  for (const Shape &shape : kShapes)
    for (const char *operation : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"})
      for (unsigned signs = 0; signs < 8; ++signs, ++n) {
        const char *then = std::array{"", ".sat", ".add"}[(n + signs / 3) % 3];
        checkVideo(operation + std::string(shape.digit) + types(signs) + then,
                   shape.selectors[n % 4]);
      }
}

TEST(SimdVideo, Set) {
  unsigned n = 0;
  for (const char *comparison : {".eq", ".ne", ".lt", ".le", ".gt", ".ge"})
    for (unsigned signs = 0; signs < 4; ++signs, ++n) {
      std::string rest = types(signs).substr(4) + comparison + (n % 2 ? ".add" : "");
      if ((n + signs / 2) % 2)
        checkVideo("vset2" + rest, {n % 3 ? "" : "h1", "", n % 4 ? "" : "h01"});
      else
        checkVideo("vset4" + rest, {n % 3 ? "b20" : "", "b7162", ""});
    }
}
