// SPDX-License-Identifier: Apache-2.0
#include "diff/Fusion.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace rubia::capsule;

namespace {

std::string kernelOf(StringRef body) {
  return (".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
          "  .reg .f32 %f<9>; .reg .f64 %d<4>; .reg .b32 %r<4>; .reg .pred %p<2>;\n" +
          body + "  ret;\n}\n")
      .str();
}

std::vector<uint8_t> sumsOf(StringRef body) {
  return cantFail(FusiblePtx::open(kernelOf(body), "k")).sums().vec();
}

using Sums = std::vector<uint8_t>;

TEST(Fusion, FindsTheOperandsThatMayBeProducts) {
  const char *product = "mul.f32 %f3, %f1, %f2;\n";
  const auto with = [&](StringRef rest) { return sumsOf((product + rest).str()); };
  EXPECT_EQ(with("add.f32 %f4, %f3, %f1;\n"), Sums{1});
  EXPECT_EQ(with("sub.f32 %f4, %f1, %f3;\n"), Sums{2});
  EXPECT_EQ(with("mul.f32 %f5, %f1, 0f40000000;\n add.f32 %f4, %f3, %f5;\n"), Sums{3});
  EXPECT_EQ(with("neg.f32 %f5, %f3; mov.f32 %f6, %f5;\n add.f32 %f4, %f1, %f6;\n"), Sums{2});
  EXPECT_EQ(with("mul.rn.f32 %f5, 0f3f800000, %f3;\n add.f32 %f4, %f1, %f5;\n"), Sums{2});
}

// PTX ISA: with a rounding, neither is ever fused.
TEST(Fusion, LeavesWhatHasARoundingAlone) {
  EXPECT_EQ(sumsOf("mul.rn.f32 %f3, %f1, %f2;\n add.f32 %f4, %f3, %f1;\n"), Sums{});
  EXPECT_EQ(sumsOf("mul.f32 %f3, %f1, %f2;\n add.rn.f32 %f4, %f3, %f1;\n"), Sums{});
  EXPECT_EQ(sumsOf("mul.ftz.f32 %f3, %f1, %f2;\n add.f32 %f4, %f3, %f1;\n"), Sums{});
  EXPECT_EQ(sumsOf("mul.sat.f32 %f3, %f1, %f2;\n add.f32 %f4, %f3, %f1;\n"), Sums{});
}

TEST(Fusion, WritesAFusedOperationBehindTheSum) {
  const FusiblePtx ptx = cantFail(FusiblePtx::open(
      kernelOf("mul.ftz.f32 %f3, %f1, %f2;\n sub.ftz.sat.f32 %f4, %f3, %f1;\n"), "k"));
  const std::string text = cantFail(ptx.fused({1}));
  EXPECT_NE(text.find("@%rubia_q fma.rn.ftz.sat.f32 %f4, %rubia_t0, %rubia_t1, %rubia_t2;"),
            std::string::npos)
      << text;
  EXPECT_EQ(cantFail(ptx.fused({0})).find("rubia"), std::string::npos);
}

// Of three sums the first and the last are fused by someone else.
TEST(Fusion, FindsTheNearestChoices) {
  const FusiblePtx ptx = cantFail(FusiblePtx::open(
      kernelOf("mul.f32 %f3, %f1, %f2;\n add.f32 %f4, %f3, %f1;\n add.f32 %f5, %f3, %f2;\n"
               "add.f32 %f6, %f3, %f4;\n"),
      "k"));
  const auto apart = [](StringRef text) -> Expected<uint64_t> {
    const auto isFused = [&](StringRef result) {
      return text.contains(("fma.rn.f32 " + result).str());
    };
    return uint64_t(!isFused("%f4")) + isFused("%f5") + !isFused("%f6");
  };
  const NearestFusion found = cantFail(nearestFusion(ptx, 2, 100, apart));
  EXPECT_EQ(found.choices, (Sums{1, 0, 1}));
  EXPECT_EQ(found.apart, 0u);
  EXPECT_EQ(found.fused(), 2u);
  EXPECT_EQ(cantFail(nearestFusion(ptx, 2, 1, apart)).runs, 1u);
}

} // namespace
