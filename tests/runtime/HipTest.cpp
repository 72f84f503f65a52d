// SPDX-License-Identifier: Apache-2.0
// Which functions a library must have to be HIP.
#include "runtime/device/Hip.h"
#include <gtest/gtest.h>

using namespace rubia::runtime;

namespace rubia::settings::Id {
extern const Setting hipLibrary;
} // namespace rubia::settings::Id

TEST(Hip, ALibraryWithoutAFunctionIsRefusedByItsName) {
  rubia::settings::Settings settings;
  settings.set(rubia::settings::Id::hipLibrary, "libm.so.6");
  llvm::Expected<const Hip *> hip = Hip::open(settings);
  ASSERT_FALSE(bool(hip));
  EXPECT_EQ(llvm::toString(hip.takeError()), "libm.so.6 has no hipInit");
}

TEST(Hip, WithoutALibraryNothingIsThere) {
  const Hip hip;
  EXPECT_FALSE(hip.has<hipFree>());
  EXPECT_FALSE(hip.has<hipModuleLaunchCooperativeKernel>());
}
