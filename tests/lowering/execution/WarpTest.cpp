// shfl, vote and activemask against models written from the manual.
#include "tests/lowering/execution/Execution.h"

using namespace rubia::lowering::test;

namespace {

enum class Mode { Up, Down, Bfly, Idx };

// PTX ISA: data-movement-and-conversion-instructions-shfl-sync, its pseudocode.
std::pair<uint32_t, bool> sourceLane(Mode mode, int lane, uint32_t b, uint32_t c) {
  int bval = b & 31, cval = c & 31, segmask = c >> 8 & 31;
  int maxLane = (lane & segmask) | (cval & ~segmask), minLane = lane & segmask;
  int j = 0;
  bool valid = false;
  switch (mode) {
  case Mode::Up:
    j = lane - bval;
    valid = j >= maxLane;
    break;
  case Mode::Down:
    j = lane + bval;
    valid = j <= maxLane;
    break;
  case Mode::Bfly:
    j = lane ^ bval;
    valid = j <= maxLane;
    break;
  case Mode::Idx:
    j = minLane | (bval & ~segmask);
    valid = j <= maxLane;
    break;
  }
  return {valid ? j : lane, valid};
}

void checkShfl(Mode mode, const char *name, uint32_t b, uint32_t c, bool constant) {
  std::string operands = constant ? std::to_string(b) + ", " + std::to_string(c) : "%r3, %r4";
  std::string ptx = executable(
      "mov.u32 %r3, " + std::to_string(b) + "; mov.u32 %r4, " + std::to_string(c) + ";" +
      (constant ? ""
                : "ld.global.u32 %r3, [%buf+256];"
                  "ld.global.u32 %r4, [%buf+260];") +
      "ld.global.u32 %r0, [%mine]; shfl.sync." + name + ".b32 %r1|%p0, %r0, " + operands +
      ", -1; selp.u32 %r2, 1000, 0, %p0; add.u32 %r1, %r1, %r2;"
      "st.global.u32 [%mine], %r1; ret;");
  std::vector<uint32_t> words = counting(66);
  words[64] = b;
  words[65] = c;
  Form form;
  form.block = {64, 1, 1};
  for (int waveForm : {0, 1, 2}) {
    form.halfFilled = waveForm == 1;
    form.packed = waveForm == 2;
    std::vector<uint32_t> result = run(ptx, words, form).words;
    ASSERT_EQ(result.size(), words.size());
    for (int thread = 0; thread < 64; ++thread) {
      auto [lane, valid] = sourceLane(mode, thread % 32, b, c);
      EXPECT_EQ(result[thread], thread / 32 * 32 + lane + (valid ? 1000 : 0))
          << name << " b " << b << " c " << c << " thread " << thread;
    }
  }
}

} // namespace

TEST(WarpExecution, Shfl) {
  struct Variant {
    Mode mode;
    const char *name;
    uint32_t full;
  };
  for (Variant variant : {Variant{Mode::Up, "up", 0}, Variant{Mode::Down, "down", 31},
                          Variant{Mode::Bfly, "bfly", 31}, Variant{Mode::Idx, "idx", 31}}) {
    for (uint32_t b : {1u, 5u, 16u})
      checkShfl(variant.mode, variant.name, b, variant.full, /*constant=*/true);
    // Segments of 8 lanes, a clamp inside, and bits beyond those that count.
    for (uint32_t c : {0x1807u, 0x181fu, 0x1800u, 12u})
      for (uint32_t b : {3u, 36u})
        checkShfl(variant.mode, variant.name, b, c, /*constant=*/false);
  }
}

TEST(WarpExecution, VoteCountsMembersOnly) {
  // Threads 0 to 2 vote true; the mask has 2 to 4.
  std::string ptx = executable(R"(
    setp.lt.u32 %p0, %tid, 3;
    vote.sync.ballot.b32 %r0, %p0, 28;
    vote.sync.any.pred %p1, %p0, 28;
    vote.sync.all.pred %p2, %p0, 28;
    vote.sync.all.pred %p3, %p0, 7;
    vote.sync.uni.pred %p4, %p0, 28;
    vote.sync.uni.pred %p5, %p0, 24;
    vote.sync.any.pred %p6, !%p0, 7;
    selp.u32 %r1, 100, 0, %p1; add.u32 %r0, %r0, %r1;
    selp.u32 %r1, 200, 0, %p2; add.u32 %r0, %r0, %r1;
    selp.u32 %r1, 400, 0, %p3; add.u32 %r0, %r0, %r1;
    selp.u32 %r1, 800, 0, %p4; add.u32 %r0, %r0, %r1;
    selp.u32 %r1, 1600, 0, %p5; add.u32 %r0, %r0, %r1;
    selp.u32 %r1, 3200, 0, %p6; add.u32 %r0, %r0, %r1;
    st.global.u32 [%mine], %r0;)");
  EXPECT_EQ(runAll(ptx, counting(32)), std::vector<uint32_t>(32, 4 + 100 + 400 + 1600));
}

TEST(WarpExecution, ActivemaskIsWhoIsHere) {
  std::string ptx = executable(R"(
    mov.u32 %r0, 0;
    and.b32 %r1, %tid, 1;
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra even;
    activemask.b32 %r0;
  even:
    st.global.u32 [%mine], %r0;)");
  std::vector<uint32_t> expected(32);
  for (unsigned i = 1; i < 32; i += 2)
    expected[i] = 0xaaaaaaaa;
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(WarpExecution, PartialWarp) {
  std::string ptx = executable("activemask.b32 %r0; st.global.u32 [%mine], %r0;");
  Form form;
  form.block = {40, 1, 1};
  std::vector<uint32_t> expected(40, ~0u);
  for (unsigned i = 32; i < 40; ++i)
    expected[i] = 0xff;
  EXPECT_EQ(runAll(ptx, counting(40), form), expected);
}

TEST(WarpExecution, LaneMasks) {
  std::string ptx = executable(R"(
    mov.u32 %r0, %lanemask_eq;
    mov.u32 %r1, %lanemask_lt;
    mov.u32 %r2, %lanemask_le;
    mov.u32 %r3, %lanemask_gt;
    mov.u32 %r4, %lanemask_ge;
    or.b32 %r5, %r0, %r1;
    xor.b32 %r5, %r5, %r2;
    or.b32 %r6, %r0, %r3;
    xor.b32 %r6, %r6, %r4;
    or.b32 %r5, %r5, %r6;
    xor.b32 %r6, %r2, %r3;
    not.b32 %r6, %r6;
    or.b32 %r5, %r5, %r6;
    setp.ne.u32 %p0, %r5, 0;
    @%p0 mov.u32 %r0, 12345;
    st.global.u32 [%mine], %r0;)");
  Form form;
  form.block = {64, 1, 1};
  std::vector<uint32_t> expected(64);
  for (unsigned i = 0; i < 64; ++i)
    expected[i] = 1u << i % 32;
  EXPECT_EQ(runAll(ptx, counting(64), form), expected);
}
