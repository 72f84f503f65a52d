// SPDX-License-Identifier: Apache-2.0
// Threads that are kept between launches, and memory.
#include "emulator/lib/machine/HostThreads.h"
#include "emulator/lib/machine/HostFloat.h"
#include "emulator/lib/memory/PooledMemory.h"
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rubia::emulator::test {
namespace {

/// One launch: everybody takes pieces until there are none left. Returns what was done.
unsigned doneBy(unsigned threads, unsigned pieces) {
  std::atomic<unsigned> next{0}, done{0}, inside{0};
  HostThreads::instance().run(threads, [&](unsigned index) {
    EXPECT_LT(index, threads);
    ++inside;
    while (next.fetch_add(1) < pieces)
      ++done;
    --inside;
  });
  EXPECT_EQ(inside, 0u) << "a call goes on after run()";
  return done;
}

TEST(HostThreads, LaunchesThatFollowEachOtherAreDoneWhole) {
  for (unsigned i = 0; i < 500; ++i)
    EXPECT_EQ(doneBy(1 + i % 5, i), i);
}

TEST(HostThreads, LaunchesAtOneTimeAreDoneWhole) {
  std::vector<std::thread> launches;
  for (unsigned i = 0; i < 4; ++i)
    launches.emplace_back([] {
      for (unsigned k = 0; k < 100; ++k)
        EXPECT_EQ(doneBy(3, 1000), 1000u);
    });
  for (std::thread &launch : launches)
    launch.join();
}

TEST(HostThreads, OthersComeToHelp) {
  std::atomic<unsigned> met{0};
  HostThreads::instance().run(3, [&](unsigned) { // all wait for all
    ++met;
    while (met < 3)
      std::this_thread::yield();
  });
  EXPECT_EQ(met, 3u);
}

TEST(HostThreads, OthersRoundAsEverWhoeverAsksForThem) {
  const HostRounding rounding(HostRounding::Up);
  std::atomic<unsigned> met{0};
  HostThreads::instance().run(12, [&](unsigned index) { // more than any test before
    if (index != 0)
      EXPECT_EQ(hostFloatControl() & kRoundingControl, kDefaultFloatControl & kRoundingControl);
    ++met;
    while (met < 12)
      std::this_thread::yield();
  });
}

TEST(HostThreads, OthersTakeNoSignals) {
  sigset_t before;
  std::atomic<unsigned> met{0}, open{0};
  HostThreads::instance().run(16, [&](unsigned index) { // more than any test before
    sigset_t own;
    pthread_sigmask(SIG_BLOCK, nullptr, &own);
    if (index != 0)
      open += !sigismember(&own, SIGUSR1) || sigismember(&own, SIGSEGV);
    ++met;
    while (met < 16)
      std::this_thread::yield();
  });
  EXPECT_EQ(open, 0u);
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  EXPECT_FALSE(sigismember(&before, SIGUSR1)) << "who asks has its own as they were";
}

TEST(HostThreads, ForkedChildHasItsOwn) {
  EXPECT_EQ(doneBy(2, 100), 100u);
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(doneBy(2, 100) == 100 ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PooledMemory, IsGivenOutAgainInTheSameSizeOnly) {
  constexpr size_t kSize = 123 * 4096;
  const uint8_t *first = nullptr;
  {
    PooledMemory memory(kSize);
    first = memory.get();
    EXPECT_EQ(uint64_t(first) % 4096, 0u);
  }
  PooledMemory smaller(kSize - 4096);
  EXPECT_NE(smaller.get(), first);
  PooledMemory same(kSize), another(kSize);
  EXPECT_EQ(same.get(), first);
  EXPECT_NE(another.get(), first);
}

} // namespace
} // namespace rubia::emulator::test
