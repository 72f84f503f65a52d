// SPDX-License-Identifier: Apache-2.0
// Threads that leave others of their warp, who wait until they have said so, by blocks that several
// branches share.
#include "tests/lowering/execution/Waits.h"

using namespace rubia::lowering::test;

namespace {

const std::string kBar = ".shared .align 8 .b64 bar[2];\n";

std::string initialise(uint32_t threads) {
  const std::string count = std::to_string(threads);
  return "mov.u32 %r0, bar; setp.ne.u32 %p0, %tid, 0; @%p0 bra READY;"
         "mbarrier.init.shared.b64 [%r0], " +
         count + "; mbarrier.init.shared.b64 [%r0+8], " + count +
         ";\nREADY: bar.sync 0; rem.u32 %r1, %tid, 4;\n";
}

// The early exit of CUDA's guide: in round i those with tid % 4 == i leave. `drop`: what leads to
// where they do. `next`: what follows the wait.
std::string rounds(uint32_t count, const std::string &drop, const std::string &next = "",
                   const std::string &wait = "test_wait.shared.b64 %p2, [%r0], %rd1;") {
  std::string text;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    text += "setp.eq.u32 %p1, %r1, " + n + ";" + drop +
            "mbarrier.arrive.shared.b64 %rd1, [%r0];\nW" + n + ": mbarrier." + wait +
            " @!%p2 bra W" + n + ";\n" + next + "mov.u32 %r5, " + std::to_string(i + 1) +
            "; st.global.u32 [%mine], %r5;\n";
  }
  return text;
}

const std::string kDrop = "bra END;\nDROP: mbarrier.arrive_drop.shared.b64 _, [%r0];\nEND:";

std::vector<uint32_t> moduloFour(uint32_t threads) {
  std::vector<uint32_t> result(threads);
  for (uint32_t t = 0; t < threads; ++t)
    result[t] = t % 4;
  return result;
}

void expectRounds(const std::string &body, uint32_t threads = 64, const std::string &before = "") {
  EXPECT_EQ(runOnAllTargets(executable(initialise(threads) + body, kBar + before),
                            std::vector<uint32_t>(threads, 0), ofThreads(threads)),
            moduloFour(threads));
}

} // namespace

TEST(EarlyExits, ByOneBlockOfAllRounds) {
  expectRounds(rounds(4, "@%p1 bra DROP;") + kDrop);
  expectRounds(rounds(4, "@%p1 bra DROP;", "", "test_wait.shared.b64 %p2, [%r0], %rd1;") +
               "ret;\nDROP: mbarrier.arrive_drop.shared.b64 %rd2, [%r0]; ret;");
}

TEST(EarlyExits, ByABlockOfEachRound) {
  std::string text;
  for (const char *n : {"0", "1", "2", "3"})
    text += std::string("setp.eq.u32 %p1, %r1, ") + n + "; @!%p1 bra G" + n +
            "; mbarrier.arrive_drop.shared.b64 _, [%r0]; ret;\nG" + n +
            ": mbarrier.arrive.shared.b64 %rd1, [%r0];\nW" + n +
            ": mbarrier.test_wait.shared.b64 %p2, [%r0], %rd1; @!%p2 bra W" + n +
            "; add.u32 %r5, %r5, 1; st.global.u32 [%mine], %r5;\n";
  expectRounds("mov.u32 %r5, 0;" + text);
}

TEST(EarlyExits, OfALoop) {
  const std::string loop = R"(
    mov.u32 %r5, 0;
  NEXT: setp.eq.u32 %p1, %r1, %r5; @%p1 bra DROP; and.b32 %r6, %r5, 1;
    mbarrier.arrive.shared.b64 %rd1, [%r0];
  W: mbarrier.test_wait.parity.shared.b64 %p2, [%r0], %r6; @!%p2 bra W;
    add.u32 %r5, %r5, 1; st.global.u32 [%mine], %r5;
    setp.lt.u32 %p1, %r5, 4; @%p1 bra NEXT;)";
  expectRounds(loop + kDrop);
  expectRounds(loop + "ret;\nDROP: mbarrier.arrive_drop.shared.b64 _, [%r0]; ret;");
}

TEST(EarlyExits, OfSeveralBarriers) {
  const std::string other = "mbarrier.arrive.shared.b64 %rd1, [%r0+8];\n";
  std::string text = rounds(4, "@%p1 bra DROP;");
  for (const char *n : {"0", "1", "2", "3"}) {
    const std::string wait = std::string("@!%p2 bra W") + n + ";\n";
    text.insert(text.find(wait) + wait.size(),
                other + "V" + n +
                    ": mbarrier.test_wait.shared.b64 %p2, [%r0+8], %rd1; @!%p2 bra V" + n + ";\n");
  }
  expectRounds(text + "bra END;\nDROP: mbarrier.arrive_drop.shared.b64 _, [%r0+8];"
                      "mbarrier.arrive_drop.shared.b64 _, [%r0];\nEND:");
}

// Whatever is for those that are there is not done in turns: they are left for it.
TEST(EarlyExits, BetweenWhatTheOthersDoTogether) {
  expectRounds(rounds(4, "@%p1 bra DROP;", "activemask.b32 %r2;") + kDrop);
  expectRounds(rounds(4, "@%p1 bra DROP;", "activemask.b32 %r2; bar.warp.sync %r2;") + kDrop);
}

TEST(EarlyExits, InAFunction) {
  const std::string function = ".func leave() { .reg .b32 %r; mov.u32 %r, bar;"
                               "mbarrier.arrive_drop.shared.b64 _, [%r]; ret; }\n";
  expectRounds(rounds(4, "@%p1 bra DROP;") + "bra END;\nDROP: call leave;\nEND:", 64, function);
  expectRounds(rounds(1, "@%p1 bra DROP;") + "bra.uni REST;\nDROP: call leave; bra END;\nREST:" +
                   "mov.u32 %r5, %r1; st.global.u32 [%mine], %r5;\nEND:",
               64, function);
}

// Some leave by one branch, some by another one, to the block that they share.
TEST(EarlyExits, FlagsOfOneBlockOfTwoBranches) {
  const std::string wait = "W: ld.volatile.global.u32 %r0, [%buf]; setp.eq.u32 %p5, %r0, 0;"
                           "@%p5 bra W; st.volatile.global.u32 [%buf+8], 5;",
                    answer = "ANSWER: st.volatile.global.u32 [%buf], 1;",
                    branches = "setp.gt.u32 %p0, %tid, 20; @%p0 bra ANSWER;"
                               "setp.lt.u32 %p1, %tid, 5; @!%p1 bra ANSWER;";
  const std::vector<uint32_t> expected = {1, 0, 5};
  for (const std::string &body :
       {branches + wait + "bra END;" + answer + "\nEND:",
        branches + wait + "ret;" + answer + "ret;",
        branches + "bra WAIT;\n" + answer + "bra END;\nWAIT:" + wait + "\nEND:"})
    EXPECT_EQ(runOnAllTargets(executable(body), {0, 0, 0}, ofThreads(32)), expected) << body;
}

// Who waits has done something with those that were there before, as cuda::barrier arrives for
// sm_75: that does not mean that others have come there too.
TEST(EarlyExits, OthersOfThoseThatDoSomethingTogetherBefore) {
  const std::string count = R"(
    activemask.b32 %r2; mov.u32 %r3, 7; match.any.sync.b32 %r4, %r3, %r2; and.b32 %r4, %r4, %r2;
    bar.warp.sync %r4;
    W: ld.volatile.global.u32 %r0, [%buf]; setp.lt.u32 %p5, %r0, 16; @%p5 bra W;
    red.global.add.u32 [%buf+4], 1;)",
                    leave = "LEAVE: red.global.add.u32 [%buf], 1;",
                    half = "setp.lt.u32 %p0, %tid, 16; @%p0 bra LEAVE;",
                    quarters = "setp.lt.u32 %p0, %tid, 8; @%p0 bra LEAVE;"
                               "setp.ge.u32 %p0, %tid, 24; @%p0 bra LEAVE;";
  for (const std::string &branches : {half, quarters}) {
    EXPECT_EQ(runOnAllTargets(executable(branches + count + "bra END;\n" + leave + "\nEND:"),
                              {0, 0}, ofThreads(32)),
              (std::vector<uint32_t>{16, 16}));
    EXPECT_EQ(runOnAllTargets(executable(branches + count + "ret;\n" + leave + "ret;"), {0, 0},
                              ofThreads(32)),
              (std::vector<uint32_t>{16, 16}));
  }
}

// A ring of two places, whose producers and consumers are threads of one warp.
TEST(EarlyExits, ProducersAndConsumersOfOneWarp) {
  for (uint32_t producers : {1u, 16u, 40u}) {
    const std::string count = std::to_string(producers);
    std::string ptx = executable(
        R"(
      mov.u32 %r0, bar; setp.ne.u32 %p0, %tid, 0; @%p0 bra READY;
      mov.u32 %r8, %ntid.x; sub.u32 %r8, %r8, )" +
            count + "; mbarrier.init.shared.b64 [%r0], " + count +
            "; mbarrier.init.shared.b64 [%r0+8], " + count + R"(;
      mbarrier.init.shared.b64 [%r0+16], %r8; mbarrier.init.shared.b64 [%r0+24], %r8;
    READY: bar.sync 0; mov.u32 %r1, 0; mov.u32 %r7, 0; setp.lt.u32 %p1, %tid, )" +
            count + R"(; @!%p1 bra CONSUME;
    PRODUCE: and.b32 %r2, %r1, 1; mad.lo.u32 %r3, %r2, 8, %r0; shr.u32 %r4, %r1, 1;
      not.b32 %r4, %r4; and.b32 %r4, %r4, 1;
    EMPTY: mbarrier.test_wait.parity.shared.b64 %p2, [%r3+16], %r4; @!%p2 bra EMPTY;
      mad.lo.u32 %r5, %r2, 4, %r0; mad.lo.u32 %r6, %r1, 3, 7; setp.ne.u32 %p3, %tid, 0;
      @!%p3 st.shared.u32 [%r5+32], %r6; mbarrier.arrive.shared.b64 %rd1, [%r3];
      add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 6; @%p2 bra PRODUCE; bra END;
    CONSUME: and.b32 %r2, %r1, 1; mad.lo.u32 %r3, %r2, 8, %r0; shr.u32 %r4, %r1, 1;
      and.b32 %r4, %r4, 1;
    FULL: mbarrier.test_wait.parity.shared.b64 %p2, [%r3], %r4; @!%p2 bra FULL;
      mad.lo.u32 %r5, %r2, 4, %r0; ld.shared.u32 %r6, [%r5+32]; mad.lo.u32 %r7, %r7, 3, %r6;
      mbarrier.arrive.shared.b64 %rd1, [%r3+16];
      add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 6; @%p2 bra CONSUME;
    END: st.global.u32 [%mine], %r7;)",
        ".shared .align 8 .b64 bar[5];\n");
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 6; ++i)
      sum = sum * 3 + i * 3 + 7;
    std::vector<uint32_t> expected(64, sum);
    std::fill_n(expected.begin(), producers, 0);
    EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64, 7), ofThreads(64)), expected)
        << producers;
  }
}
