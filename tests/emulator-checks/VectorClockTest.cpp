// SPDX-License-Identifier: Apache-2.0
// Vector clocks against maps, and what they share.
#include "emulator/lib/machine/VectorClock.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace rubia::emulator::test {
namespace {

using Model = std::map<uint32_t, uint32_t>;

TEST(VectorClock, DoesWhatAMapDoes) {
  std::mt19937 random(7);
  std::vector<VectorClock> clocks(6);
  std::vector<Model> models(6);
  for (unsigned step = 0; step < 4000; ++step) {
    const size_t a = random() % 6, b = random() % 6;
    switch (random() % 8) {
    case 0:
      clocks[a].join(clocks[b]);
      for (const auto &[thread, clock] : Model(models[b]))
        models[a][thread] = std::max(models[a][thread], clock);
      break;
    case 1:
      clocks[a] = clocks[b];
      models[a] = models[b];
      break;
    default:
      const uint32_t thread = uint32_t(random()) >> (random() % 32), clock = 1 + random() % 100;
      clocks[a].raise(thread, clock);
      models[a][thread] = std::max(models[a][thread], clock);
    }
    for (const auto &[thread, clock] : models[a])
      ASSERT_EQ(clocks[a].of(thread), clock);
    const uint32_t other = uint32_t(random());
    ASSERT_EQ(clocks[a].of(other), models[a].contains(other) ? models[a][other] : 0);
  }
}

TEST(VectorClock, KeepsWhatItHadWhenACopyGoesOn) {
  VectorClock clock;
  EXPECT_TRUE(clock.empty());
  clock.raise(3, 5);
  VectorClock later = clock;
  later.raise(3, 9);
  later.raise(0xffffffff, 1);
  EXPECT_EQ(clock.of(3), 5u);
  EXPECT_EQ(clock.of(0xffffffff), 0u);
  EXPECT_EQ(later.of(3), 9u);
  EXPECT_EQ(later.of(0xffffffff), 1u);
}

/// So waves that leave a barrier have one clock together.
TEST(VectorClock, IsSharedByThoseWhoJoinItsPast) {
  VectorClock first, second, barrier;
  first.raise(1, 4);
  second.raise(20, 6);
  barrier.join(first);
  barrier.join(second);
  first.join(barrier);
  second.join(barrier);
  EXPECT_TRUE(first.isSharedWith(barrier));
  EXPECT_TRUE(second.isSharedWith(barrier));
}

} // namespace
} // namespace rubia::emulator::test
