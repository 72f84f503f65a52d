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
