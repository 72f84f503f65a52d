// SPDX-License-Identifier: Apache-2.0
// Which launches are over when a stream is. Streams are numbers here, and the module is none.
#include "runtime/cuda/PendingLaunches.h"
#include <gtest/gtest.h>

using namespace rubia::runtime::cuda;

namespace {

void *const kStream = reinterpret_cast<void *>(16);

struct Pending : PendingLaunches {
  void launch(const AwaitedStream &stream) { add(nullptr, stream); }
  bool isPending() const { return !modules().empty(); }
};

TEST(PendingLaunches, AreOverWithTheirStream) {
  Pending pending;
  pending.launch({kStream});
  const uint64_t before = pending.last();
  pending.launch({kStream});
  pending.endStream(kStream, before);
  EXPECT_TRUE(pending.isPending());
  pending.endStream(kStream, pending.last());
  EXPECT_FALSE(pending.isPending());
}

// The second launch is a thread's, for a stream that was destroyed meanwhile: another one has the
// number, and says nothing of it.
TEST(PendingLaunches, OfAStreamThatIsGoneAreTheDevices) {
  Pending pending;
  const AwaitedStream awaited = pending.awaited(kStream);
  pending.launch(awaited);
  pending.detach(kStream);
  pending.endStream(kStream, pending.last());
  EXPECT_TRUE(pending.isPending());
  pending.endDevice(pending.last());
  EXPECT_FALSE(pending.isPending());
  pending.launch(awaited);
  pending.endStream(kStream, pending.last());
  EXPECT_TRUE(pending.isPending());
  pending.endDevice(pending.last());
  EXPECT_FALSE(pending.isPending());
  // The stream that has the number now.
  for (const AwaitedStream &stream : {pending.awaited(kStream), AwaitedStream{kStream}}) {
    pending.launch(stream);
    pending.endStream(kStream, pending.last());
    EXPECT_FALSE(pending.isPending());
  }
}

} // namespace
