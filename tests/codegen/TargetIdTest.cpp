// Which targets are accepted, and what the error of a misspelt one says.
#include "codegen/Codegen.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace llvm;
using namespace rubia::codegen;

namespace {

std::string errorOf(StringRef arch) { return toString(validateArch(arch)); }

TEST(TargetId, AcceptsEveryKnownArch) {
  for (const std::string &arch : knownArchs())
    EXPECT_EQ(errorOf(arch), "");
  for (const char *arch :
       {"gfx803", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx11-generic"})
    EXPECT_TRUE(is_contained(knownArchs(), arch)) << arch;
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

TEST(TargetId, SuggestsNothingForSomethingElse) {
  EXPECT_EQ(errorOf("sm_90"), "unknown target 'sm_90'");
  EXPECT_EQ(errorOf(""), "unknown target ''");
  EXPECT_EQ(errorOf("gfx601"), "unknown target 'gfx601', did you mean 'gfx701'?"); // no HSA ABI
}

TEST(TargetId, RejectsBadFeatures) {
  EXPECT_EQ(errorOf("gfx1100:xnack+"), "target 'gfx1100' has no feature 'xnack'");
  EXPECT_EQ(errorOf("gfx90a:xnack"), "target feature 'xnack' of 'gfx90a:xnack' must end in + or -");
  EXPECT_EQ(errorOf("gfx90a:"), "target feature '' of 'gfx90a:' must end in + or -");
  EXPECT_EQ(errorOf("gfx90a:xnack+:xnack-"),
            "target feature 'xnack' of 'gfx90a:xnack+:xnack-' is given twice");
}

TEST(TargetId, KnowsTheWaveSize) {
  EXPECT_TRUE(isWave32("gfx1100"));
  EXPECT_TRUE(isWave32("gfx1030"));
  EXPECT_TRUE(isWave32("gfx12-generic"));
  EXPECT_FALSE(isWave32("gfx90a:xnack+"));
  EXPECT_FALSE(isWave32("gfx942"));
}

} // namespace
