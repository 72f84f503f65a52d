// SPDX-License-Identifier: Apache-2.0
// What is kept of written device memory, against a byte for each byte.
#include "emulator/lib/memory/WrittenBytes.h"
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace rubia::emulator::test {
namespace {

constexpr uint64_t kBase = 0x10010, kBytes = 20000; // pages begin and end within

uint64_t expected(const std::vector<bool> &written, uint64_t offset, unsigned bytes) {
  uint64_t mask = 0;
  for (unsigned i = 0; i < bytes && offset + i < written.size(); ++i)
    mask |= uint64_t(!written[offset + i]) << i;
  return mask;
}

TEST(WrittenBytes, DoesWhatABitForEachByteDoes) {
  std::mt19937 random(3);
  WrittenBytes bytes;
  bytes.follow(kBase, kBytes);
  std::vector<bool> written(kBytes);
  for (unsigned step = 0; step < 3000; ++step) {
    const uint64_t at = random() % kBytes;
    const uint64_t count = 1 + random() % std::min<uint64_t>(kBytes - at, step % 3 ? 16 : 9000);
    if (random() % 2) {
      bytes.mark(kBase + at, count);
      std::fill_n(written.begin() + ptrdiff_t(at), count, true);
    } else {
      const uint64_t to = random() % (kBytes - count + 1);
      bytes.copy(kBase + to, kBase + at, count);
      const std::vector<bool> old = written;
      std::copy_n(old.begin() + ptrdiff_t(at), count, written.begin() + ptrdiff_t(to));
    }
    const uint64_t look = random() % kBytes;
    ASSERT_EQ(bytes.unwritten(kBase + look, 64), expected(written, look, 64)) << step;
    if (step % 500 == 499) { // all of it again
      bytes.follow(kBase, kBytes);
      written.assign(kBytes, false);
    }
  }
}

TEST(WrittenBytes, CountWhatNobodyFollowsAsWritten) {
  WrittenBytes bytes;
  EXPECT_EQ(bytes.unwritten(kBase, 8), 0u);
  bytes.follow(kBase, 64);
  EXPECT_EQ(bytes.unwritten(kBase + 56, 16), 0xffu); // eight lie behind it
  EXPECT_EQ(bytes.unwritten(kBase - 1, 8), 0u);      // by its first byte
  bytes.copy(kBase, 0x500000, 64);
  EXPECT_EQ(bytes.unwritten(kBase, 64), 0u);
  bytes.forget(kBase);
  bytes.mark(kBase, 64);
  EXPECT_EQ(bytes.unwritten(kBase, 64), 0u);
}

} // namespace
} // namespace rubia::emulator::test
