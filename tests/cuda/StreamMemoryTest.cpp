// SPDX-License-Identifier: Apache-2.0
// Waits of streams, where HIP fails.
#include "tests/cuda/Client.h"
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace rubia::runtime::cuda {
namespace {

// The stream may not go on as if the word were there.
TEST_F(InContext, WaitThatCannotLookIsTheContextsError) {
  void *word = allocate(64);
  Stream *stream = nullptr;
  ASSERT_EQ(cu("cuStreamCreate", &stream, 1u), kSuccess);
  ASSERT_EQ(cu("cuMemsetD32_v2", word, 0u, size_t(16)), kSuccess);
  fakeHip<void(int)>("fakeHipFailNext")(kOutOfMemory); // no fault of the device
  EXPECT_EQ(cu("cuStreamWaitValue32_v2", stream, word, 1u, 0u), kSuccess);
  Result result = kSuccess;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (result == kSuccess && std::chrono::steady_clock::now() < end) {
    size_t free = 0, total = 0; // which does not synchronise
    result = cu("cuMemGetInfo_v2", &free, &total);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(result, kOutOfMemory);
}

// Each stream that comes to a gate has a word; those of streams that are no more are taken again.
TEST_F(InContext, WordsOfGatesAreTakenAgain) {
  void *word = allocate(64);
  ASSERT_EQ(cu("cuMemsetD32_v2", word, 1u, size_t(16)), kSuccess);
  auto *live = fakeHip<int()>("fakeHipAllocations");
  const int before = live();
  constexpr int kStreams = 2000, kWordsOfAPage = 512;
  std::vector<Stream *> streams(kStreams / 10);
  std::vector<std::unique_ptr<char>> between; // so that no stream has an earlier one's address
  for (int round = 0; round < 10; ++round) {
    for (Stream *&stream : streams) {
      ASSERT_EQ(cu("cuStreamCreate", &stream, 1u), kSuccess);
      ASSERT_EQ(cu("cuStreamWaitValue32_v2", stream, word, 1u, 0u), kSuccess);
    }
    while (!fakeHip<bool()>("fakeHipWaitsAreMet")()) // the gates open
      std::this_thread::yield();
    for (Stream *stream : streams)
      ASSERT_EQ(cu("cuStreamDestroy_v2", stream), kSuccess);
    for (int i = 0; i < kStreams; ++i)
      between.push_back(std::make_unique<char>());
  }
  EXPECT_LT(live() - before, kStreams / kWordsOfAPage);
}

} // namespace
} // namespace rubia::runtime::cuda
