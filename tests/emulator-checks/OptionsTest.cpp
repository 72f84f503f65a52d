// SPDX-License-Identifier: Apache-2.0
// The words of RUBIA_EMULATOR_CHECK.
#include "emulator/Emulator.h"
#include "settings/Settings.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorCheck, emulatorSeed;
} // namespace rubia::settings::Id

namespace rubia::emulator::test {

static Expected<Checks> parseChecks(StringRef words, StringRef seed = "") {
  namespace Id = settings::Id;
  return checksOf(settings::Settings().set(Id::emulatorCheck, words).set(Id::emulatorSeed, seed));
}

static std::string errorOf(StringRef words, StringRef seed = "") {
  Expected<Checks> checks = parseChecks(words, seed);
  return checks ? "" : toString(checks.takeError());
}

TEST(EmulatorCheckOptions, TakeSeveralWords) {
  const Checks checks = cantFail(parseChecks("memory, races,barriers", "0x12"));
  EXPECT_TRUE(checks.memory);
  EXPECT_TRUE(checks.races);
  EXPECT_TRUE(checks.barriers);
  EXPECT_FALSE(checks.uninitialised);
  EXPECT_FALSE(checks.order);
  EXPECT_EQ(checks.seed, 0x12u);
}

TEST(EmulatorCheckOptions, AllIsEverythingButOrder) {
  const Checks checks = cantFail(parseChecks("all"));
  EXPECT_TRUE(checks.memory && checks.races && checks.barriers && checks.uninitialised);
  EXPECT_FALSE(checks.order);
}

TEST(EmulatorCheckOptions, NothingIsOnByItself) {
  const Checks checks = cantFail(parseChecks(""));
  EXPECT_FALSE(checks.memory || checks.races || checks.barriers || checks.uninitialised ||
               checks.order);
}

TEST(EmulatorCheckOptions, OrderExcludesTheOthers) {
  EXPECT_EQ(errorOf("order"), "");
  EXPECT_NE(errorOf("order,races").find("cannot be combined"), std::string::npos);
  EXPECT_NE(errorOf("all,order").find("cannot be combined"), std::string::npos);
}

TEST(EmulatorCheckOptions, UnknownWordsAndSeedsAreErrors) {
  EXPECT_NE(errorOf("race").find("RUBIA_EMULATOR_CHECK is 'race', expected"), std::string::npos);
  EXPECT_NE(errorOf("races", "x").find("RUBIA_EMULATOR_SEED is 'x', expected a number"),
            std::string::npos);
}

} // namespace rubia::emulator::test
