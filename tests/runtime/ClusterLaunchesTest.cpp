// SPDX-License-Identifier: Apache-2.0
// Launches with clusters wait for the one before, whatever HIP says of the event that stands for
// it. HIP is a list of calls here.
#include "runtime/device/ClusterLaunches.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace rubia::runtime;

namespace {

std::vector<std::string> calls;
int recordFails = 0;

std::string name(const void *stream) { return std::to_string(reinterpret_cast<uintptr_t>(stream)); }

struct ClusterLaunches : testing::Test {
  Hip hip;
  ClusterLaunches() {
    calls.clear();
    recordFails = 0;
    hip.slot<hipGetDevice>() = [](int *device) { return *device = 77, 0; };
    hip.slot<hipEventCreateWithFlags>() = [](void **event, unsigned) {
      *event = &calls;
      return 0;
    };
    hip.slot<hipStreamWaitEvent>() = [](void *stream, void *, unsigned) {
      calls.push_back("wait " + name(stream));
      return 0;
    };
    hip.slot<hipEventRecord>() = [](void *, void *stream) {
      calls.push_back("record " + name(stream));
      return recordFails;
    };
    hip.slot<hipStreamSynchronize>() = [](void *stream) {
      calls.push_back("synchronize " + name(stream));
      return 0;
    };
    hip.hipGetErrorString = [](int) { return "no more memory"; };
  }
  ~ClusterLaunches() override { forgetClusterLaunches(77); }
  int launch(uintptr_t stream, int error = 0) {
    return launchInTurn(hip, reinterpret_cast<void *>(stream), [&] {
      calls.push_back("launch");
      return error;
    });
  }
};

using Calls = std::vector<std::string>;

} // namespace

TEST_F(ClusterLaunches, WaitForTheOneBefore) {
  EXPECT_EQ(launch(1), 0);
  EXPECT_EQ(launch(2), 0);
  EXPECT_EQ(calls, (Calls{"launch", "record 1", "wait 2", "launch", "record 2"}));
}

TEST_F(ClusterLaunches, ThatFailAreNotWaitedFor) {
  EXPECT_EQ(launch(1, 5), 5);
  EXPECT_EQ(calls, Calls{"launch"});
}

// The launch has begun: it is no failure, and is over before another one may begin.
TEST_F(ClusterLaunches, WithoutAnEventAreWaitedForAtOnce) {
  recordFails = 2;
  EXPECT_EQ(launch(1), 0);
  EXPECT_EQ(calls, (Calls{"launch", "record 1", "synchronize 1"}));
}
