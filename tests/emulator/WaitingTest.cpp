// SPDX-License-Identifier: Apache-2.0
// Workgroups that wait for each other, how many are resident, and what is said when nobody gets on.
#include "tests/Targets.h"
#include "tests/emulator/Fixture.h"
#include "gmock/gmock.h"
#include <mutex>

using namespace rubia::emulator;
using namespace rubia::emulator::test;
using testing::HasSubstr;

namespace {

// Each workgroup says that it is there and waits until `all` are.
constexpr const char *kMeeting = R"(
#line 100 "/src/meeting.cl"
static void wait(volatile global uint *here, uint all) {
  while (__scoped_atomic_load_n(here, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) < all)
    ;
}
kernel void meet(volatile global uint *here, uint all) {
  if (__builtin_amdgcn_workitem_id_x() == 0) {
    __scoped_atomic_fetch_add(here, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    wait(here, all);
  }
  __builtin_amdgcn_s_barrier();
}
// All threads poll, between barriers.
kernel void poll(volatile global uint *here, uint all) {
  if (__builtin_amdgcn_workitem_id_x() == 0)
    __scoped_atomic_fetch_add(here, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
  uint seen;
  do {
    seen = __scoped_atomic_load_n(here, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
    __builtin_amdgcn_s_barrier();
  } while (seen < all);
}
// HIP's grid.sync(), where the processor counts the workgroups itself.
#if defined(GWS)
kernel void synchronise(volatile global uint *here, uint all) {
  if (__builtin_amdgcn_workitem_id_x() == 0)
    __scoped_atomic_fetch_add(here, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
  for (int round = 1; round < 4; ++round) {
    if (__builtin_amdgcn_workitem_id_x() == 0)
      __builtin_amdgcn_ds_gws_barrier(all - 1, 0);
    __builtin_amdgcn_s_barrier();
    if (__scoped_atomic_load_n(here, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) < all * round)
      __builtin_trap();
    if (__builtin_amdgcn_workitem_id_x() == 0)
      __scoped_atomic_fetch_add(here, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
  }
}
#endif
kernel void registers(global uint *out) { out[__builtin_amdgcn_workitem_id_x()] = 1; }
)";

class Waiting : public EmulatorTest {
protected:
  void build(const std::string &target, const std::string &more = "") {
    load(compile(kMeeting, target, "-O2 -g " + more));
  }
  // The message of the fault, or nothing.
  std::string meet(uint32_t groups, uint64_t residentLimit, bool cooperative,
                   const char *kernel = "meet") {
    uint32_t *here = allocate<uint32_t>(1);
    *here = 0;
    Arguments arguments = Arguments().add(here).add(groups);
    Launch request;
    request.kernel = code->kernel(kernel);
    request.grid = {groups};
    request.block = {64};
    request.kernarg = arguments.bytes;
    request.hostThreads = hostThreads;
    request.cooperative = cooperative;
    request.residentLimit = residentLimit;
    request.stallSeconds = 0.3;
    request.warnSeconds = 0.05;
    std::mutex mutex;
    request.warn = [&](const std::string &text) {
      std::lock_guard<std::mutex> lock(mutex);
      warnings.push_back(text);
    };
    request.longSeconds = longSeconds;
    request.profile = profile;
    request.tellProgress = [&](const LaunchProgress &told) {
      std::lock_guard<std::mutex> lock(mutex);
      progress.push_back(told);
    };
    auto result = run(request, memory);
    instructions = result ? result->instructions : 0;
    return result ? "" : llvm::toString(result.takeError());
  }
  std::vector<std::string> warnings;
  std::vector<LaunchProgress> progress;
  unsigned hostThreads = 2;
  double longSeconds = 10;
  bool profile = false;
  uint64_t instructions = 0; // executed by the last launch
};

TEST_F(Waiting, AllWorkgroupsOfAGridMeet) {
  for (const char *target : {"gfx1100", "gfx942"}) {
    build(target);
    ASSERT_TRUE(code) << target;
    EXPECT_EQ(meet(40, 0, /*cooperative=*/true), "") << target;
    EXPECT_EQ(meet(5, 0, /*cooperative=*/false), "") << target;
    EXPECT_EQ(meet(5, 5, /*cooperative=*/false), "") << target;
    EXPECT_EQ(meet(5, 0, /*cooperative=*/true, "poll"), "") << target;
  }
}

// On one host thread each of these workgroups waits for one that has yet to run.
TEST_F(Waiting, PollingWorkgroupsGiveWayAtOnce) {
  hostThreads = 1;
  for (const char *target : rubia::test::testTargets())
    for (bool cooperative : {true, false}) {
      build(target);
      ASSERT_TRUE(code) << target;
      EXPECT_EQ(meet(40, 0, cooperative), "") << target;
      EXPECT_GT(instructions, 400u) << target;
      EXPECT_LT(instructions, 6'000u) << target;
    }
}

TEST_F(Waiting, TheProcessorsWaveSyncLetsNobodyThroughEarly) {
  for (const char *target : {"gfx1030", "gfx90a", "gfx942"}) {
    build(target, "-DGWS");
    ASSERT_TRUE(code) << target;
    EXPECT_EQ(meet(40, 0, /*cooperative=*/true, "synchronise"), "") << target;
    EXPECT_EQ(meet(1, 0, /*cooperative=*/true, "synchronise"), "") << target;
    EXPECT_THAT(meet(4, 0, /*cooperative=*/false, "synchronise"), HasSubstr("s_gws_barrier"))
        << target;
  }
  build("gfx1030", "-DGWS");
  EXPECT_THAT(meet(5, 4, /*cooperative=*/true, "synchronise"), HasSubstr("no progress"));
}

TEST_F(Waiting, MoreThanAreResidentNeverMeetAndAreNamed) {
  build("gfx1100");
  ASSERT_TRUE(code);
  std::string message = meet(5, 4, /*cooperative=*/true);
  EXPECT_THAT(message, HasSubstr("kernel meet: no progress"));
  EXPECT_THAT(message, HasSubstr("workgroup ("));
  EXPECT_THAT(message, HasSubstr("waiting at a barrier at pc 0x"));
  // The loop, with the kernel that it has been inlined into.
  EXPECT_THAT(message, HasSubstr("/src/meeting.cl:101 in wait, inlined at /src/meeting.cl:107"));
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0], HasSubstr("kernel meet: for 0 seconds no workgroup has started"));
}

TEST_F(Waiting, ALaunchThatTakesLongTellsItsProgressOnce) {
  build("gfx1100");
  ASSERT_TRUE(code);
  longSeconds = 0.1;
  for (bool observed : {false, true}) {
    profile = observed;
    progress.clear();
    meet(5, 4, /*cooperative=*/true); // until it is stopped for want of progress
    ASSERT_EQ(progress.size(), 1u) << observed;
    EXPECT_EQ(progress[0].ended, 0u);
    EXPECT_EQ(progress[0].workgroups, 5u);
    EXPECT_GE(progress[0].seconds, 0.1);
  }
  progress.clear();
  EXPECT_EQ(meet(5, 5, /*cooperative=*/true), "");
  EXPECT_TRUE(progress.empty());
  longSeconds = 0; // of five workgroups that all end, the first
  EXPECT_EQ(meet(5, 5, /*cooperative=*/true), "");
  EXPECT_EQ(progress.size(), 1u);
}

TEST_F(Waiting, ResidencyIsBoundByWavesRegistersAndLds) {
  build("gfx1100");
  ASSERT_TRUE(code);
  Kernel small = *code->kernel("registers");
  small.maxWorkgroupSize = 1024;
  EXPECT_EQ(residentWorkgroups(small, 32, 0), 64u);    // one wave each, 16 a SIMD
  EXPECT_EQ(residentWorkgroups(small, 64, 0), 32u);    // two waves each
  EXPECT_EQ(residentWorkgroups(small, 1024, 0), 2u);   // 32 waves each
  EXPECT_EQ(residentWorkgroups(small, 64, 65536), 2u); // 128 KB of LDS
  EXPECT_EQ(residentWorkgroups(small, 1025, 0), 0u);
  Kernel large = small;
  large.ldsBytes = 40000;
  EXPECT_EQ(residentWorkgroups(large, 32, 100), 3u);
  large.ldsBytes = 0;
  large.resource1 |= 31; // 256 registers: 264 of 1,536
  EXPECT_EQ(residentWorkgroups(large, 32, 0), 20u);

  build("gfx942");
  ASSERT_TRUE(code);
  Kernel wave64 = *code->kernel("registers");
  wave64.maxWorkgroupSize = 1024;
  EXPECT_EQ(residentWorkgroups(wave64, 64, 0), 32u); // 8 a SIMD
  EXPECT_EQ(residentWorkgroups(wave64, 128, 0), 16u);
  EXPECT_EQ(residentWorkgroups(wave64, 1024, 0), 2u);
  EXPECT_EQ(residentWorkgroups(wave64, 64, 65536), 1u);
}

} // namespace
