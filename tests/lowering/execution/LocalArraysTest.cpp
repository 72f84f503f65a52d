// SPDX-License-Identifier: Apache-2.0
// Local arrays by addresses that are computed, compared, stored and mixed: with the middle end,
// which reaches an array from its object where that is certain, and without.
#include "tests/lowering/execution/Execution.h"

using namespace rubia::lowering::test;

namespace {

/// The words that 32 threads give: the function of the thread's index.
std::vector<uint32_t> words(uint32_t (*function)(uint32_t)) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 32; ++i)
    all.push_back(function(i));
  return all;
}

std::vector<uint32_t> resultOf(const std::string &body) {
  return runAll(executable(body), std::vector<uint32_t>(32), Form());
}

// Eight words 10, 20, ... of array l, by a pointer that is compared with the end.
constexpr const char *kFill = R"(
    .local .align 16 .b8 l[32];
    mov.u64 %rd0, l; add.u64 %rd1, %rd0, 32; mov.u64 %rd2, %rd0; mov.u32 %r0, 10;
  fill:
    st.local.u32 [%rd2], %r0;
    add.u64 %rd2, %rd2, 4; add.u32 %r0, %r0, 10;
    setp.ne.u64 %p0, %rd2, %rd1;
    @%p0 bra fill;
    and.b32 %r1, %tid, 7;
    mul.wide.u32 %rd3, %r1, 4;
)";

} // namespace

TEST(LocalArrays, AddressesThatAreComparedWithTheEnd) {
  EXPECT_EQ(resultOf(std::string(kFill) + R"(
    add.u64 %rd4, %rd0, %rd3; ld.local.u32 %r2, [%rd4];
    sub.u64 %rd5, %rd1, %rd3; ld.local.u32 %r3, [%rd5+-4]; mad.lo.u32 %r2, %r3, 1000, %r2;
    st.global.u32 [%mine], %r2;)"),
            words([](uint32_t i) { return (i % 8 + 1) * 10 + (8 - i % 8) * 10000; }));
}

TEST(LocalArrays, GenericAddressesOfOne) {
  EXPECT_EQ(resultOf(std::string(kFill) + R"(
    cvta.local.u64 %rd4, %rd0; add.u64 %rd4, %rd4, %rd3;
    ld.u32 %r2, [%rd4]; add.u32 %r2, %r2, 1; st.u32 [%rd4], %r2;
    cvta.to.local.u64 %rd5, %rd4; ld.local.u32 %r3, [%rd5];
    st.global.u32 [%mine], %r3;)"),
            words([](uint32_t i) { return (i % 8 + 1) * 10 + 1; }));
}

TEST(LocalArrays, VectorsAndPartsOfWords) {
  EXPECT_EQ(resultOf(std::string(kFill) + R"(
    and.b32 %r4, %tid, 1; mul.wide.u32 %rd4, %r4, 16; add.u64 %rd4, %rd0, %rd4;
    ld.local.v4.u32 {%r5, %r6, %r7, %r8}, [%rd4];
    add.u32 %r5, %r5, %r8;
    cvt.u64.u32 %rd5, %r1; add.u64 %rd5, %rd5, %rd0; st.local.u8 [%rd5+8], 255;
    ld.local.u32 %r6, [%rd0+8]; popc.b32 %r6, %r6; mad.lo.u32 %r5, %r6, 1000, %r5;
    st.global.u32 [%mine], %r5;)"),
            words([](uint32_t i) {
              const uint32_t bits = i % 8 == 0 ? 8 : i % 8 < 4 ? 12 : 4;
              return (i % 2 ? 50u + 80u : 10u + 40u) + bits * 1000;
            }));
}

// The address goes through memory, so any number may be another one of it.
TEST(LocalArrays, AnAddressThatIsStored) {
  EXPECT_EQ(resultOf(std::string(kFill) + R"(
    .local .align 8 .b8 place[8];
    add.u64 %rd4, %rd0, %rd3; st.local.u64 [place], %rd4;
    ld.local.u64 %rd5, [place]; st.local.u32 [%rd5], 7;
    ld.local.u32 %r2, [%rd0+4];
    st.global.u32 [%mine], %r2;)"),
            words([](uint32_t i) { return i % 8 == 1 ? 7u : 20u; }));
}

// From one array into another by the difference of their addresses.
TEST(LocalArrays, AnIndexThatLeadsIntoAnother) {
  EXPECT_EQ(resultOf(std::string(kFill) + R"(
    .local .align 4 .b8 m[32];
    mov.u64 %rd4, m; sub.u64 %rd5, %rd4, %rd0; st.local.u32 [%rd4+12], 5;
    add.u64 %rd6, %rd0, %rd5; add.u64 %rd6, %rd6, %rd3; st.local.u32 [%rd6], 9;
    ld.local.u32 %r2, [%rd4+12]; ld.local.u32 %r3, [%rd0+12]; add.u32 %r2, %r2, %r3;
    st.global.u32 [%mine], %r2;)"),
            words([](uint32_t i) { return (i % 8 == 3 ? 9u : 5u) + 40; }));
}

TEST(LocalArrays, OneOfTwoArrays) {
  EXPECT_EQ(resultOf(std::string(kFill) + R"(
    .local .align 4 .b8 m[32];
    mov.u64 %rd4, m; setp.lt.u32 %p1, %tid, 16; selp.b64 %rd5, %rd0, %rd4, %p1;
    st.local.u32 [%rd4+8], 3; st.local.u32 [%rd5+8], 4;
    ld.local.u32 %r2, [%rd0+8]; ld.local.u32 %r3, [%rd4+8]; mad.lo.u32 %r2, %r2, 100, %r3;
    st.global.u32 [%mine], %r2;)"),
            words([](uint32_t i) { return i < 16 ? 403u : 3004u; }));
}

TEST(LocalArrays, BitsOfAnAddress) {
  EXPECT_EQ(resultOf(std::string(kFill) + R"(
    and.b64 %rd3, %rd3, 12; or.b64 %rd4, %rd0, %rd3; xor.b64 %rd4, %rd4, 8;
    ld.local.u32 %r2, [%rd4];
    st.global.u32 [%mine], %r2;)"),
            words([](uint32_t i) { return ((i % 4 ^ 2) + 1) * 10; }));
}
