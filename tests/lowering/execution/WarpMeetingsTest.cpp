// SPDX-License-Identifier: Apache-2.0
// Threads of a warp that meet at instructions on several ways of a branch, as compilers make them
// of one loop that asks for the lane's number in each round. The results are those that an H200
// gives (driver 580.159.04).
#include "lowering/lib/analysis/WarpMeetings.h"
#include "tests/lowering/execution/Execution.h"

using namespace rubia::lowering::test;
using rubia::lowering::kMostOnWays;

namespace {

Form twoWarps() {
  Form form;
  form.block = {64, 1, 1};
  return form;
}

// %r1 is the lane, %r2 what it gives; %r3 what it gets, which is stored. `ways` may divide the
// warp.
std::string kernel(const std::string &ways) {
  return executable("and.b32 %r1, %tid, 31; mad.lo.u32 %r2, %tid, 3, 100; mov.u32 %r3, 0;" + ways +
                    "st.global.u32 [%mine], %r3;");
}

uint32_t given(uint32_t thread) { return thread * 3 + 100; }

template <typename Expect> void check(const std::string &ways, Expect expect) {
  SCOPED_TRACE(ways);
  std::vector<uint32_t> expected;
  for (uint32_t thread = 0; thread < 64; ++thread)
    expected.push_back(expect(thread));
  EXPECT_EQ(runOnAllTargets(kernel(ways), std::vector<uint32_t>(64), twoWarps()), expected);
}

// The lanes below 9 take the second way.
std::string twoWays(const std::string &first, const std::string &second) {
  return "setp.lt.u32 %p0, %r1, 9; @%p0 bra A;" + first + "bra B; A:" + second + "B:";
}

// Sums of the warp, in five rounds; `more` is what one of the loops has beside that.
std::string sums(const std::string &label, const std::string &value, const std::string &more) {
  std::string code = label + ": mad.lo.u32 " + value + ", %r5, 7, %r2;";
  for (const char *distance : {"16", "8", "4", "2", "1"})
    code += "shfl.sync.bfly.b32 %r6, " + value + ", " + distance + ", 31, -1; add.u32 " + value +
            ", " + value + ", %r6;";
  return code + "add.u32 %r3, %r3, " + value + ";" + more +
         "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 5; @%p1 bra " + label + ";";
}

uint32_t sumOfWarp(uint32_t thread) {
  uint32_t sum = 0;
  for (uint32_t lane = 0; lane < 32; ++lane)
    sum += given((thread & 32) + lane);
  return sum;
}

} // namespace

TEST(WarpMeetings, OnTwoWays) {
  check(twoWays("shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;",
                "add.u32 %r4, %r2, 1000; shfl.sync.bfly.b32 %r3, %r4, 16, 31, -1;"),
        [](uint32_t t) { return given(t ^ 16) + ((t ^ 16) % 32 < 9 ? 1000 : 0); });
  check(twoWays("setp.ne.u32 %p1, %r1, 30; vote.sync.ballot.b32 %r3, %p1, -1;",
                "setp.ne.u32 %p2, %r1, 3; vote.sync.ballot.b32 %r3, %p2, -1; xor.b32 %r3, %r3, 1;"),
        [](uint32_t t) { return ~(1u << 30 | 1u << 3) ^ (t % 32 < 9); });
  check(twoWays("and.b32 %r4, %r1, 3; match.any.sync.b32 %r3, %r4, -1;",
                "and.b32 %r5, %r1, 3; match.any.sync.b32 %r3, %r5, -1;"),
        [](uint32_t t) { return 0x11111111u << t % 4; });
  check(twoWays("redux.sync.add.u32 %r3, %r2, -1;",
                "add.u32 %r4, %r2, 1; redux.sync.add.u32 %r3, %r4, -1; add.u32 %r3, %r3, 5;"),
        [](uint32_t t) { return sumOfWarp(t) + 9 + (t % 32 < 9 ? 5 : 0); });
}

// Other constants, a register with one, a predicate beside the result, and a guard.
TEST(WarpMeetings, OtherOperands) {
  check(twoWays("shfl.sync.idx.b32 %r3, %r2, 3, 31, -1;",
                "mov.u32 %r4, 20; shfl.sync.idx.b32 %r3, %r1, %r4, 31, -1;"),
        [](uint32_t t) { return t % 32 < 9 ? given((t & 32) + 20) : 3; });
  check(twoWays("shfl.sync.down.b32 %r3, %r2, 16, 31, -1;",
                "mov.u32 %r4, 31; shfl.sync.down.b32 %r3|%p1, %r2, 30, %r4, -1;"
                "@!%p1 add.u32 %r3, %r3, 7;"),
        [](uint32_t t) {
          const uint32_t lane = t % 32, from = lane + (lane < 9 ? 30 : 16);
          return given((t & 32) + (from < 32 ? from : lane)) + (lane < 9 && from > 31 ? 7 : 0);
        });
  check("setp.lt.u32 %p1, %r1, 100;" + twoWays("@%p1 redux.sync.add.u32 %r3, %r1, -1;",
                                               "@!%p1 bra B; redux.sync.add.u32 %r3, 5, -1;"),
        [](uint32_t) { return 496u - 36 + 45; });
}

TEST(WarpMeetings, MasksOfAPart) {
  // Each half has a mask of its own on both ways; the register is the same.
  check("setp.lt.u32 %p3, %r1, 16; selp.u32 %r9, 0xffff, 0xffff0000, %p3;" +
            twoWays("shfl.sync.bfly.b32 %r3, %r2, 8, 31, %r9;",
                    "add.u32 %r4, %r2, 1000; shfl.sync.bfly.b32 %r3, %r4, 8, 31, %r9;"),
        [](uint32_t t) { return given(t ^ 8) + ((t ^ 8) % 32 < 9 ? 1000 : 0); });
  // These do not meet: each way has a mask of its own lanes.
  check("setp.lt.u32 %p3, %r1, 16; @%p3 bra A; redux.sync.add.u32 %r3, %r1, 0xffff0000; bra B;"
        "A: redux.sync.add.u32 %r3, %r1, 0xffff; B:",
        [](uint32_t t) { return t % 32 < 16 ? 120u : 376u; });
}

TEST(WarpMeetings, OnThreeWays) {
  const std::string sum = "redux.sync.add.u32 %r3, %r4, -1;";
  check("setp.lt.u32 %p0, %r1, 4; setp.lt.u32 %p1, %r1, 20; @%p0 bra A; @%p1 bra C;"
        "add.u32 %r4, %r2, 1;" +
            sum + "bra B; A: add.u32 %r4, %r2, 100;" + sum + "bra B; C: add.u32 %r4, %r2, 10;" +
            sum + "B:",
        [](uint32_t t) { return sumOfWarp(t) + 12 + 400 + 160; });
}

// Threads that leave the loop come together behind it, though some may end within. Else a part of a
// warp would wait at the shuffle behind the loop, and the barrier in the loop be passed in parts.
TEST(WarpMeetings, NotBehindALoopInWhichThreadsEnd) {
  check("ld.global.u32 %r5, [%mine]; add.u32 %r5, %r5, 3; mov.u32 %r6, 0;"
        "AGAIN: setp.ge.u32 %p0, %r1, 16; @%p0 bra ELSE;"
        "shfl.sync.bfly.b32 %r2, %r2, 1, 31, 0xffff;"
        "ELSE: setp.ge.u32 %p1, %r5, 1; bar.red.popc.u32 %r7, 0, %p1; add.u32 %r3, %r3, %r7;"
        "setp.eq.u32 %p2, %r5, 77; @%p2 exit;"
        "add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, %r5; @%p3 bra AGAIN;"
        "@%p0 bra DONE; shfl.sync.bfly.b32 %r2, %r2, 1, 31, 0xffff;"
        "DONE: add.u32 %r3, %r3, %r2;",
        [](uint32_t thread) { return 3 * 64 + given(thread); });
}

TEST(WarpMeetings, BarriersOfTheWarp) {
  const std::string exchange =
      "st.shared.u32 [%r7], %r4; bar.warp.sync -1; ld.shared.u32 %r3, [%r8];";
  const std::string ptx = executable(
      "and.b32 %r1, %tid, 31; mad.lo.u32 %r2, %tid, 3, 100; mov.u32 %r9, s; shl.b32 %r7, %tid, 2;"
      "xor.b32 %r8, %r7, 64; add.u32 %r7, %r7, %r9; add.u32 %r8, %r8, %r9;" +
          twoWays("mov.u32 %r4, %r2;" + exchange, "add.u32 %r4, %r2, 1000;" + exchange) +
          "st.global.u32 [%mine], %r3;",
      ".shared .align 4 .b8 s[256];");
  std::vector<uint32_t> expected;
  for (uint32_t t = 0; t < 64; ++t)
    expected.push_back(given(t ^ 16) + ((t ^ 16) % 32 < 9 ? 1000 : 0));
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64), twoWarps()), expected);
}

TEST(WarpMeetings, InTwoLoops) {
  const std::string ways = "mov.u32 %r5, 0; setp.eq.u32 %p0, %r1, 0; @%p0 bra A;" +
                           sums("C", "%r10", "") + "bra B;" +
                           sums("A", "%r11", "add.u32 %r3, %r3, 1000;") + "B:";
  auto expect = [](uint32_t t) { return 5 * sumOfWarp(t) + 10 * 32 * 7 + (t % 32 ? 0 : 5000); };
  check(ways, expect);
  std::vector<uint32_t> expected;
  for (uint32_t thread = 0; thread < 64; ++thread)
    expected.push_back(expect(thread));
  EXPECT_EQ(runAll(kernel(ways), std::vector<uint32_t>(64), twoWarps()), expected);
}

// Each way has a loop within a loop, and the inner ones meet too.
TEST(WarpMeetings, InLoopsWithinLoops) {
  auto nested = [](const std::string &name, const std::string &more) {
    return name + ": mov.u32 %r5, 0;" + sums(name + "I", "%r10", more) +
           "shfl.sync.down.b32 %r6, %r3, 1, 31, -1; add.u32 %r3, %r3, %r6;"
           "add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 3; @%p2 bra " +
           name + ";";
  };
  check("mov.u32 %r7, 0; setp.lt.u32 %p0, %r1, 5; @%p0 bra A;" + nested("C", "") + "bra B;" +
            nested("A", "add.u32 %r3, %r3, 3;") + "B:",
        [](uint32_t t) {
          std::vector<uint32_t> value(32, 0);
          for (int outer = 0; outer < 3; ++outer) {
            for (uint32_t lane = 0; lane < 32; ++lane)
              value[lane] += 5 * sumOfWarp(t) + 10 * 32 * 7 + (lane < 5 ? 15 : 0);
            for (uint32_t lane = 0; lane < 32; ++lane)
              value[lane] += value[std::min(lane + 1, 31u)];
          }
          return value[t % 32];
        });
}

// A thread that has ended is waited for by nobody.
TEST(WarpMeetings, OneWayEnds) {
  check(twoWays("shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1; redux.sync.add.u32 %r4, %r1, -1;"
                "mad.lo.u32 %r3, %r4, 1000, %r3;",
                "shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1; st.global.u32 [%mine], %r3; exit;"),
        [](uint32_t t) { return given(t ^ 16) + (t % 32 < 9 ? 0 : (496 - 36) * 1000); });
}

namespace {

// Two ways of a branch that are too long for one place, each with a sum of the warp. The first has
// the threads below the number in the buffer's last word.
std::string longWays() {
  std::string first, second;
  for (uint32_t i = 0; i < kMostOnWays / 2; ++i) {
    first += "mad.lo.u32 %r4, %r4, 3, 1;";
    second += "mad.lo.u32 %r4, %r4, 5, 1;";
  }
  return executable("mov.u32 %r4, %tid; mov.u32 %r3, 0; ld.global.u32 %r9, [%buf+256];"
                    "setp.lt.u32 %p0, %tid, %r9; @%p0 bra A;" +
                    second + "redux.sync.add.u32 %r3, %r4, -1; bra B; A:" + first +
                    "redux.sync.add.u32 %r3, %r4, -1; add.u32 %r3, %r3, 1; B:"
                    "st.global.u32 [%mine], %r3;");
}

std::vector<uint32_t> buffer(uint32_t first) {
  std::vector<uint32_t> words(65);
  words.back() = first;
  return words;
}

} // namespace

TEST(WarpMeetings, LongWaysOfWholeWarps) {
  std::vector<uint32_t> expected = buffer(32);
  for (uint32_t thread = 0; thread < 64; ++thread) {
    uint32_t value = thread;
    for (uint32_t i = 0; i < kMostOnWays / 2; ++i)
      value = value * (thread < 32 ? 3 : 5) + 1;
    for (uint32_t other = thread & 32; other < (thread & 32) + 32; ++other)
      expected[other] += value + (thread == other && thread < 32);
  }
  EXPECT_EQ(runOnAllTargets(longWays(), buffer(32), twoWarps()), expected);
}

// The threads would have to meet.
TEST(WarpMeetings, LongWaysOfADividedWarpEndTheKernel) {
  for (const char *arch : kTargets)
    for (const bool packed : {false, true}) {
      if (packed && !isWave64(arch))
        continue;
      Form form = twoWarps();
      form.arch = arch;
      form.packed = packed;
      form.halfFilled = isWave64(arch) && !packed;
      form.expectTrap = true;
      Outcome outcome = run(longWays(), buffer(40), form);
      EXPECT_EQ(outcome.trap.reason, uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling))
          << arch;
    }
}
