// SPDX-License-Identifier: Apache-2.0
// Which targets are accepted, and what the error of a misspelt one says.
#include "codegen/Codegen.h"
#include "tests/Targets.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace llvm;
using namespace rubia::codegen;

namespace {

std::string errorOf(StringRef arch) { return toString(validateArch(arch)); }

TEST(TargetId, AcceptsEveryRow) {
  for (const char *name : rubia::test::allTargets())
    EXPECT_EQ(errorOf(name), "");
}

TEST(TargetId, NamesTheGenericOfAProcessorWithoutARow) {
  EXPECT_EQ(errorOf("gfx1036"), "'gfx1036' is not in Rubia's table of targets; the generic target "
                                "nearest to it is gfx10-3-generic");
  EXPECT_EQ(errorOf("gfx1250"), "'gfx1250' is not in Rubia's table of targets; the generic target "
                                "nearest to it is gfx12-generic");
  EXPECT_EQ(errorOf("gfx803"), "'gfx803' is not in Rubia's table of targets");
}

TEST(TargetId, AcceptsFeatureSwitchesInAnyOrder) {
  EXPECT_EQ(errorOf("gfx90a:sramecc+:xnack-"), "");
  EXPECT_EQ(errorOf("gfx90a:xnack-:sramecc+"), "");
  EXPECT_EQ(errorOf("gfx942:xnack+"), "");
}

TEST(TargetId, SuggestsTheNearest) {
  EXPECT_EQ(errorOf("gfx110"), "unknown target 'gfx110', did you mean 'gfx1100'?");
  EXPECT_EQ(errorOf("GFX1030"), "unknown target 'GFX1030', did you mean 'gfx1030'?");
  EXPECT_EQ(errorOf("gfx11_generic"),
            "unknown target 'gfx11_generic', did you mean 'gfx11-generic'?");
  EXPECT_EQ(errorOf("gfx90a:xnak+"),
            "target 'gfx90a' has no feature 'xnak', did you mean 'xnack'?");
}

TEST(TargetId, NamesTheListWhereNoneIsNear) {
  EXPECT_EQ(errorOf("sm_90"), "unknown target 'sm_90'; `rubia help targets` lists them");
  EXPECT_EQ(errorOf(""), "unknown target ''; `rubia help targets` lists them");
}

TEST(TargetId, RejectsBadFeatures) {
  EXPECT_EQ(errorOf("gfx1100:xnack+"), "target 'gfx1100' has no feature 'xnack'");
  EXPECT_EQ(errorOf("gfx90a:xnack"), "target feature 'xnack' of 'gfx90a:xnack' must end in + or -");
  EXPECT_EQ(errorOf("gfx90a:"), "target feature '' of 'gfx90a:' must end in + or -");
  EXPECT_EQ(errorOf("gfx90a:xnack+:xnack-"),
            "target feature 'xnack' of 'gfx90a:xnack+:xnack-' is given twice");
}

} // namespace
