// SPDX-License-Identifier: Apache-2.0
// What passes preserve that leave the control flow alone is what LLVM says.
#include "codegen/lib/speed/PreservedPasses.h"
#include "llvm/InitializePasses.h"
#include "llvm/Pass.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include <gtest/gtest.h>
#include <set>

using namespace llvm;
using namespace rubia::codegen;

namespace {

std::set<const void *> preserved() {
  AnalysisUsage usage;
  usage.setPreservesCFG();
  const auto &found = usage.getPreservedSet();
  return std::set<const void *>(found.begin(), found.end());
}

std::set<const void *> enumerated() {
  const PassesEnumerated all;
  return preserved();
}

TEST(PreservedPasses, AreThoseOfTheRegistry) {
  PassRegistry &registry = *PassRegistry::getPassRegistry();
  initializeDominatorTreeWrapperPassPass(registry);
  const unsigned before = passesTold();
  const auto first = preserved();
  EXPECT_GT(passesTold(), before) << "LLVM has a function of its own";
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, enumerated());

  static char id, other;
  static const PassInfo ofControlFlow("a test's", "of-control-flow", &id, nullptr, true, true);
  static const PassInfo ofMore("a test's", "of-more", &other, nullptr, false, true);
  registry.registerPass(ofControlFlow);
  registry.registerPass(ofMore);
  EXPECT_EQ(preserved().size(), first.size() + 1);
  EXPECT_EQ(preserved().count(&id), 1u);
  EXPECT_EQ(preserved(), enumerated());
}

} // namespace
