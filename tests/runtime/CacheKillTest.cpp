// SPDX-License-Identifier: Apache-2.0
// Writers that are killed at any moment: what is read is always whole, and nothing stays behind.
// RUBIA_TEST_KILLS is how often; CacheKill.Long of ctest (label long) kills 10,000 times.
#include "runtime/cache/CacheDirectory.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>
#include <random>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

constexpr int kKeys = 64, kWriters = 16;

std::string keyOf(int i) { return "key " + std::to_string(i); }

// What an entry says follows from its key and from a generation, which is its first byte.
std::vector<uint8_t> payloadOf(int key, uint8_t generation) {
  std::mt19937 random(key * 256 + generation);
  std::vector<uint8_t> bytes(1 + random() % 20'000);
  for (uint8_t &byte : bytes)
    byte = random();
  bytes[0] = generation;
  return bytes;
}

[[noreturn]] void writeForEver(const std::string &folder, unsigned seed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CacheDirectory cache(folder, 500'000); // evicts all the time
  std::mt19937 random(seed);
  for (;;) {
    int key = random() % kKeys;
    CompileLock lock(cache, keyOf(key), 10);
    cache.write(keyOf(key), payloadOf(key, random()));
  }
}

// Of this thread: how long others keep it from running is not its own time.
std::chrono::nanoseconds processorTime() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

TEST(CacheKill, EveryReadIsWholeAndNothingStaysBehind) {
  const char *wish = getenv("RUBIA_TEST_KILLS");
  const int kills = wish ? atoi(wish) : 100;
  SmallString<128> folder;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-kill", folder));
  const std::string root = folder.str().str();
  std::mt19937 random(1);
  std::vector<pid_t> writers;
  auto start = [&] {
    unsigned seed = random();
    pid_t pid = fork();
    if (pid == 0)
      writeForEver(root, seed);
    return pid;
  };
  for (int i = 0; i < kWriters; ++i)
    writers.push_back(start());
  int hits = 0, bad = 0;
  std::chrono::nanoseconds slowest{};
  for (int i = 0; i < kills; ++i) {
    usleep(random() % 3000);
    pid_t &victim = writers[random() % kWriters];
    kill(victim, SIGKILL);
    ASSERT_EQ(waitpid(victim, nullptr, 0), victim);
    // The next start: open the directory, look for something.
    const std::chrono::nanoseconds before = processorTime();
    CacheDirectory cache(root, 500'000);
    int key = random() % kKeys;
    CacheDirectory::Lookup lookup = cache.find(keyOf(key));
    slowest = std::max(slowest, processorTime() - before);
    if (lookup.entry) {
      ++hits;
      bad += lookup.entry->payload != payloadOf(key, lookup.entry->payload.at(0));
    } else {
      bad += lookup.miss != CacheDirectory::Miss::Absent;
    }
    victim = start();
  }
  for (pid_t writer : writers) {
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
  }
  CacheDirectory cache(root);
  cache.sweep();
  std::error_code error;
  EXPECT_EQ(sys::fs::directory_iterator(root + "/rubia-temporaries", error),
            sys::fs::directory_iterator());
  for (const CacheDirectory::File &file : cache.files()) {
    Expected<CacheEntry> entry = CacheDirectory::readFile(file.path);
    if (!entry)
      ADD_FAILURE() << file.path << " " << toString(entry.takeError());
  }
  EXPECT_EQ(bad, 0);
  EXPECT_GT(hits, 0);
  RecordProperty("hits", hits);
  auto ms = std::chrono::duration_cast<std::chrono::microseconds>(slowest).count() / 1000.0;
  printf("%d kills, %d hits, %d bad reads, slowest start %.2f ms\n", kills, hits, bad, ms);
  EXPECT_LT(ms, 50) << "with " << kWriters << " writers beside";
  (void)sys::fs::remove_directories(root);
}

} // namespace
