// SPDX-License-Identifier: Apache-2.0
// Waits of streams, where HIP fails.
#include "tests/cuda/Client.h"
#include <chrono>
#include <thread>

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

} // namespace
} // namespace rubia::runtime::cuda
