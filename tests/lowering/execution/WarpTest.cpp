// SPDX-License-Identifier: Apache-2.0
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

// Instructions with 64 bits have no form that reads a word of another lane (docs/errata.md).
TEST(WarpExecution, WordsOfOtherLanesBeside64Bits) {
  std::string ptx = executable(R"(
    .reg .b32 %s<6>;
    .reg .b64 %w<4>;
    .reg .f64 %d<3>;
    .reg .f32 %f;
    ld.global.u32 %r0, [%mine];
    cvt.u64.u32 %w0, %r0;
    shfl.sync.bfly.b32 %s0, %r0, 1, 31, -1;
    cvt.rn.f64.s32 %d0, %s0;
    shfl.sync.bfly.b32 %s1, %r0, 2, 31, -1;
    cvt.rn.f64.u32 %d1, %s1;
    cvt.rn.f32.u32 %f, %r0;
    mov.b32 %r1, %f;
    shfl.sync.bfly.b32 %s2, %r1, 3, 31, -1;
    mov.b32 %f, %s2;
    cvt.f64.f32 %d2, %f;
    shfl.sync.bfly.b32 %s3, %r0, 4, 31, -1;
    mad.wide.u32 %w1, %s3, %r0, %w0;
    shfl.sync.bfly.b32 %s4, %r0, 5, 31, -1;
    mul.wide.s32 %w2, %s4, %r0;
    shfl.sync.bfly.b32 %s5, %r0, 6, 31, -1;
    shl.b64 %w3, %w0, %s5;
    add.rn.f64 %d0, %d0, %d1;
    add.rn.f64 %d0, %d0, %d2;
    cvt.rzi.u32.f64 %r1, %d0;
    add.u64 %w1, %w1, %w2;
    xor.b64 %w1, %w1, %w3;
    mov.b64 {%r2, %r3}, %w1;
    xor.b32 %r2, %r2, %r3;
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%mine], %r1;)");
  std::vector<uint32_t> expected;
  for (uint64_t i = 0; i < 32; ++i) {
    uint64_t bits = ((i ^ 4) * i + i + (i ^ 5) * i) ^ (i << (i ^ 6));
    expected.push_back(uint32_t((i ^ 1) + (i ^ 2) + (i ^ 3) + (bits ^ bits >> 32)));
  }
  for (const char *arch : {"gfx1030", "gfx1100", "gfx1201"}) {
    Form form;
    form.arch = arch;
    EXPECT_EQ(run(ptx, counting(32), form).words, expected) << arch;
  }
}

// A value that all lanes have, moved between them, in a subtraction with a carry.
TEST(WarpExecution, AWordOfAllLanesIsTheMinuend) {
  std::string ptx = executable(R"(
    ld.param.u32 %r0, [n];
    shfl.sync.bfly.b32 %r1, %r0, 4, 31, -1;
    cvt.u64.u32 %rd0, %r1;
    ld.global.u32 %r2, [%mine];
    cvt.u64.u32 %rd1, %r2;
    shl.b64 %rd1, %rd1, 31;
    sub.u64 %rd2, %rd0, %rd1;
    mov.b64 {%r3, %r4}, %rd2;
    xor.b32 %r3, %r3, %r4;
    st.global.u32 [%mine], %r3;)");
  std::vector<uint32_t> expected;
  for (uint64_t i = 0; i < 32; ++i) {
    const uint64_t difference = 32 - (i << 31);
    expected.push_back(uint32_t(difference ^ difference >> 32));
  }
  for (const char *arch : {"gfx1030", "gfx1100", "gfx1201"}) {
    Form form;
    form.arch = arch;
    EXPECT_EQ(run(ptx, counting(32), form).words, expected) << arch;
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

namespace {

struct Pattern {
  const char *name;
  Mode mode;
  uint32_t b, c;
};

// Operands that need no address, where the target has a pattern for them.
std::vector<Pattern> constantPatterns() {
  std::vector<Pattern> patterns;
  for (uint32_t b = 0; b < 32; ++b)
    patterns.push_back({"bfly", Mode::Bfly, b, 31});
  for (uint32_t b : {1u, 2u, 4u, 7u, 8u, 15u, 16u, 17u, 31u})
    for (uint32_t c : {0u, 0x1000u, 0x1800u}) {
      patterns.push_back({"up", Mode::Up, b, c});
      patterns.push_back({"down", Mode::Down, b, c + 31});
    }
  for (uint32_t b : {0u, 3u, 18u, 31u})
    for (uint32_t c : {31u, 0x101fu, 0x181fu, 0x1c1fu, 20u})
      patterns.push_back({"idx", Mode::Idx, b, c});
  patterns.push_back({"bfly", Mode::Bfly, 5, 0x1807});
  return patterns;
}

} // namespace

// In whole warps and where lanes are elsewhere: no value may travel through one of those.
TEST(WarpExecution, ConstantShuffles) {
  constexpr uint32_t kMembers[] = {~0u, 0xffffff7f, 0x6b3d95e7, ~0u}; // by warp
  constexpr unsigned kThreads = 128;
  const std::vector<Pattern> patterns = constantPatterns();
  // Words: each thread's members; from kThreads * (n + 1) on what pattern n gives each thread,
  // before the launch 1 where that is defined.
  std::vector<uint32_t> words(kThreads * (patterns.size() + 1)), expected;
  for (unsigned thread = 0; thread < kThreads; ++thread)
    words[thread] = kMembers[thread / 32];
  expected = words;
  std::string body = "ld.global.u32 %r0, [%mine]; and.b32 %r1, %tid, 31; shr.u32 %r1, %r0, %r1;"
                     "and.b32 %r1, %r1, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra out;"
                     "mad.lo.u32 %r1, %tid, 77, 5;";
  for (size_t n = 0; n < patterns.size(); ++n) {
    const Pattern &pattern = patterns[n];
    const std::string place = "[%mine+" + std::to_string(4 * kThreads * (n + 1)) + "]";
    body += std::string("shfl.sync.") + pattern.name + ".b32 %r2|%p1, %r1, " +
            std::to_string(pattern.b) + ", " + std::to_string(pattern.c) +
            ", %r0; selp.u32 %r3, 100000, 0, %p1; add.u32 %r2, %r2, %r3; ld.global.u32 %r3, " +
            place + "; setp.ne.u32 %p2, %r3, 0; @%p2 st.global.u32 " + place + ", %r2;";
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      const auto [source, isValid] = sourceLane(pattern.mode, thread % 32, pattern.b, pattern.c);
      const uint32_t members = kMembers[thread / 32], place = kThreads * (n + 1) + thread;
      if (members >> thread % 32 & members >> source & 1) {
        words[place] = 1;
        expected[place] = (thread / 32 * 32 + source) * 77 + 5 + (isValid ? 100000 : 0);
      }
    }
  }
  Form form;
  form.block = {kThreads, 1, 1};
  const std::vector<uint32_t> result = runOnAllTargets(executable(body + "out:"), words, form);
  ASSERT_EQ(result.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(result[i], expected[i])
        << patterns[i / kThreads - 1].name << ' ' << patterns[i / kThreads - 1].b << ", "
        << patterns[i / kThreads - 1].c << " thread " << i % kThreads;
}

namespace {

// The threads of two warps that take part: 5 to 30 of the first, 0 to 11 of the second, the even
// ones with one mask and the odd ones with another.
constexpr uint32_t kParts[2] = {0x7fffffe0, 0x00000fff};
uint32_t groupOf(unsigned thread) {
  return kParts[thread / 32] & (thread % 2 ? 0xaaaaaaaa : 0x55555555);
}
bool takesPart(unsigned thread) { return kParts[thread / 32] >> thread % 32 & 1; }

// %r1: the thread's mask, %r0: its word, %r10: its lane; the others wait behind `out`.
const char kInGroups[] = R"(
    ld.global.u32 %r0, [%mine];
    and.b32 %r10, %tid, 31;
    setp.lt.u32 %p0, %tid, 32;
    selp.b32 %r1, 0x7fffffe0, 0x00000fff, %p0;
    shr.u32 %r2, %r1, %r10;
    and.b32 %r2, %r2, 1;
    and.b32 %r3, %tid, 1;
    setp.ne.u32 %p1, %r3, 0;
    selp.b32 %r3, 0xaaaaaaaa, 0x55555555, %p1;
    and.b32 %r1, %r1, %r3;
    setp.eq.u32 %p0, %r2, 0;
    @%p0 bra out;
)";

std::vector<uint32_t> groupWords(uint32_t (*word)(unsigned)) {
  std::vector<uint32_t> words(64);
  for (unsigned i = 0; i < 64; ++i)
    words[i] = word(i);
  return words;
}

// Runs an instruction sequence that leaves its result in %r9, and checks it against a model that is
// given the group and gives the result of one thread.
template <typename Model>
void checkGroups(const std::string &instructions, const std::vector<uint32_t> &words, Model model) {
  std::string ptx =
      executable(std::string(kInGroups) + instructions + "st.global.u32 [%mine], %r9; out:");
  ptx.replace(ptx.find("sm_80"), 5, "sm_90");
  Form form;
  form.block = {64, 1, 1};
  std::vector<uint32_t> result = runOnAllTargets(ptx, words, form);
  ASSERT_EQ(result.size(), 64u);
  for (unsigned thread = 0; thread < 64; ++thread) {
    uint32_t expected = words[thread];
    if (takesPart(thread)) {
      std::vector<unsigned> members;
      for (unsigned lane = 0; lane < 32; ++lane)
        if (groupOf(thread) >> lane & 1)
          members.push_back(thread / 32 * 32 + lane);
      expected = model(thread, members);
    }
    EXPECT_EQ(result[thread], expected) << instructions << " thread " << thread;
  }
}

} // namespace

TEST(WarpExecution, MatchAndElectInGroups) {
  // A few values, in both warps, in the high and the low word of 64 bits.
  std::vector<uint32_t> words = groupWords([](unsigned i) { return i * 7 % 5 * 0x10001; });
  auto same = [&](unsigned thread, const std::vector<unsigned> &members) {
    uint32_t mask = 0;
    for (unsigned member : members)
      mask |= uint32_t(words[member] == words[thread]) << member % 32;
    return mask;
  };
  checkGroups("match.any.sync.b32 %r9, %r0, %r1;", words, same);
  checkGroups("mov.b64 %rd0, {%r0, 5}; match.any.sync.b64 %r9, %rd0, %r1;", words, same);
  checkGroups("mov.b64 %rd0, {5, %r0}; match.any.sync.b64 %r9, %rd0, %r1;", words, same);
  // All are the same among the odd lanes of the first warp only.
  std::vector<uint32_t> odd = groupWords([](unsigned i) { return i < 32 && i % 2 ? 9u : i; });
  checkGroups("match.all.sync.b32 %r9|%p2, %r0, %r1; @%p2 add.u32 %r9, %r9, 1;", odd,
              [&](unsigned thread, const std::vector<unsigned> &) {
                return thread < 32 && thread % 2 ? groupOf(thread) + 1 : 0;
              });
  checkGroups("mov.b64 %rd0, {7, %r0}; match.all.sync.b64 %r9|%p2, %rd0, %r1;", odd,
              [&](unsigned thread, const std::vector<unsigned> &) {
                return thread < 32 && thread % 2 ? groupOf(thread) : 0;
              });
  checkGroups("elect.sync %r9|%p2, %r1; @%p2 add.u32 %r9, %r9, 100;", words,
              [](unsigned thread, const std::vector<unsigned> &members) {
                return members[0] % 32 + (members[0] == thread ? 100 : 0);
              });
}

TEST(WarpExecution, ReduxInGroups) {
  std::vector<uint32_t> words =
      groupWords([](unsigned i) { return uint32_t(i * 0x9e3779b9u) ^ (i << 3); });
  auto fold = [&](auto combine) {
    return [&words, combine](unsigned, const std::vector<unsigned> &members) {
      uint32_t value = words[members[0]];
      for (unsigned member : members)
        if (member != members[0])
          value = combine(value, words[member]);
      return value;
    };
  };
  checkGroups("redux.sync.add.s32 %r9, %r0, %r1;", words,
              fold([](uint32_t a, uint32_t b) { return a + b; }));
  checkGroups("redux.sync.min.s32 %r9, %r0, %r1;", words,
              fold([](uint32_t a, uint32_t b) { return int32_t(a) < int32_t(b) ? a : b; }));
  checkGroups("redux.sync.max.u32 %r9, %r0, %r1;", words,
              fold([](uint32_t a, uint32_t b) { return std::max(a, b); }));
  checkGroups("redux.sync.xor.b32 %r9, %r0, %r1;", words,
              fold([](uint32_t a, uint32_t b) { return a ^ b; }));
}

// All threads of one constant mask; what the loop over masks is compared with.
TEST(WarpExecution, ReduxOfAFullWarp) {
  std::string body = "ld.global.u32 %r0, [%mine]; mov.u32 %r1, -1; mov.u32 %r9, 0;"
                     "ld.global.u32 %r2, [%buf+256];"; // the mask, not known
  for (const char *operation :
       {"add.u32", "min.u32", "min.s32", "max.s32", "max.u32", "and.b32", "or.b32", "xor.b32"}) {
    std::string redux = std::string("redux.sync.") + operation;
    body += redux + " %r3, %r0, %r1;" + redux + " %r4, %r0, %r2;" +
            "setp.ne.u32 %p0, %r3, %r4; @%p0 add.u32 %r9, %r9, 1;";
  }
  body += "redux.sync.add.u32 %r3, %r0, -1; shl.b32 %r9, %r9, 16; add.u32 %r9, %r9, %r3;"
          "st.global.u32 [%mine], %r9;";
  std::vector<uint32_t> words = counting(64), expected(64, 496);
  for (unsigned i = 32; i < 64; ++i)
    expected[i] = 496 + 32 * 32;
  words.push_back(~0u);
  expected.push_back(~0u);
  Form form;
  form.block = {64, 1, 1};
  EXPECT_EQ(runOnAllTargets(executable(body), words, form), expected);
}

TEST(WarpExecution, ReduxOfFloats) {
  constexpr uint32_t kNan = 0x7fffffff, kOne = 0x3f800000, kMinusTwo = 0xc0000000;
  // Warp 0: 1, -2, NaN, -0, 0; warp 1: NaN only.
  std::vector<uint32_t> words(64, kOne);
  words[3] = kMinusTwo;
  words[9] = 0xff812345;
  words[11] = 0x80000000;
  words[12] = 0;
  for (unsigned i = 32; i < 64; ++i)
    words[i] = 0x7fc00001;
  auto check = [&](const std::string &operation, uint32_t first, uint32_t second) {
    std::string ptx = executable("ld.global.u32 %r0, [%mine]; mov.b32 %f0, %r0;"
                                 "redux.sync." +
                                 operation +
                                 ".f32 %f1, %f0, -1;"
                                 "mov.b32 %r1, %f1; st.global.u32 [%mine], %r1;");
    ptx.replace(ptx.find(".version 8.0\n.target sm_80"), 26, ".version 8.6\n.target sm_100a");
    std::vector<uint32_t> expected(64, first);
    std::fill(expected.begin() + 32, expected.end(), second);
    Form form;
    form.block = {64, 1, 1};
    EXPECT_EQ(runAll(ptx, words, form), expected) << operation;
  };
  check("min", kMinusTwo, kNan);
  check("max", kOne, kNan);
  check("min.abs", 0, kNan);
  check("max.abs", 0x40000000, kNan);
  check("min.NaN", kNan, kNan);
  check("max.abs.NaN", kNan, kNan);
}
