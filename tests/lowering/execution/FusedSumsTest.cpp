// SPDX-License-Identifier: Apache-2.0
// Which of a sum's terms is fused, where one of them is an approximate quotient: NVIDIA's compiler
// takes it for a product with the reciprocal (an H200, 2026-11-30). The divisor is 2, so that every
// quotient is exact.
#include "tests/lowering/execution/Execution.h"
#include <bit>
#include <cmath>

using namespace rubia::lowering::test;

namespace {

// a * b + e and a * b + c / 2 are 0 where the product is rounded.
constexpr float kA = 0x1.000002p0f, kB = 0x1.000006p0f, kC = -0x1.000008p1f, kE = -0x1.000008p0f;

// What the body leaves in %f5, with a to c and e in %f0 to %f3 and 2 in %f4.
float valueOf(const std::string &body) {
  const std::string ptx = executable(R"(
    ld.global.f32 %f0, [%buf]; ld.global.f32 %f1, [%buf+4]; ld.global.f32 %f2, [%buf+8];
    ld.global.f32 %f3, [%buf+12]; ld.global.f32 %f4, [%buf+16]; )" +
                                     body + " st.global.f32 [%buf+20], %f5;");
  std::vector<uint32_t> words;
  for (float value : {kA, kB, kC, kE, 2.0f, 0.0f})
    words.push_back(std::bit_cast<uint32_t>(value));
  Form form;
  form.block = {1, 1, 1};
  return std::bit_cast<float>(run(ptx, words, form).words[5]);
}

} // namespace

TEST(FusedSums, AQuotientTakesTheProductsPlace) {
  const float product = kA * kB, quotient = kC / 2;
  const float unfused = product + quotient, fused = std::fma(kA, kB, quotient);
  ASSERT_NE(unfused, fused);
  for (const std::string division : {"div.approx.f32", "div.full.f32"}) {
    const std::string terms = "mul.f32 %f6, %f0, %f1; " + division + " %f7, %f2, %f4; ";
    // Of two with one use each, the first operand is fused.
    EXPECT_EQ(valueOf(terms + "add.f32 %f5, %f6, %f7;"), fused) << division;
    EXPECT_EQ(valueOf(terms + "add.f32 %f5, %f7, %f6;"), unfused) << division;
    // Else the one with fewer uses. A product that is not is needed for all of its uses.
    EXPECT_EQ(valueOf(terms + "add.f32 %f5, %f6, %f7; add.f32 %f8, %f6, %f3;"
                              "st.global.f32 [%buf], %f8;"),
              unfused)
        << division;
    EXPECT_EQ(valueOf(terms + "add.f32 %f5, %f7, %f6; add.f32 %f8, %f7, %f3;"
                              "st.global.f32 [%buf], %f8;"),
              fused)
        << division;
  }
}

TEST(FusedSums, AProductBesideAQuotientIsNotFusedElsewhere) {
  const float product = kA * kB, other = product + kE;
  ASSERT_NE(other, std::fma(kA, kB, kE));
  EXPECT_EQ(valueOf("mul.f32 %f6, %f0, %f1; div.approx.f32 %f7, %f2, %f4;"
                    "add.f32 %f5, %f6, %f3; add.f32 %f8, %f6, %f7; st.global.f32 [%buf], %f8;"),
            other);
}

// Divisions with rounding are no products.
TEST(FusedSums, ARoundedQuotientIsNoProduct) {
  EXPECT_EQ(valueOf("div.rn.f32 %f7, %f2, %f4; mul.f32 %f6, %f0, %f1; add.f32 %f5, %f7, %f6;"),
            std::fma(kA, kB, kC / 2));
}
