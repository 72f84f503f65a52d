// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/KernelNames.h"
#include <gtest/gtest.h>

using namespace rubia::tools;

static const std::vector<std::string> kNames = {
    "_Z5scalePff",               // scale(float*, float)
    "_ZN2ns4sortIfEEvPT_",       // void ns::sort<float>(float*)
    "_ZN2ns4sortIiEEvPT_",       // void ns::sort<int>(int*)
    "_ZN12_GLOBAL__N_14fillEPi", // (anonymous namespace)::fill(int*)
    "plain",
    "plainer"};

static std::string found(llvm::StringRef wanted) {
  llvm::Expected<std::string> name = findKernel(wanted, kNames);
  return name ? *name : llvm::toString(name.takeError());
}

TEST(KernelNames, AreFoundByWhatTheyStandFor) {
  EXPECT_EQ(found("_Z5scalePff"), "_Z5scalePff");
  EXPECT_EQ(found("scale(float*, float)"), "_Z5scalePff");
  EXPECT_EQ(found("scale"), "_Z5scalePff");
  EXPECT_EQ(found("ns::sort<int>"), "_ZN2ns4sortIiEEvPT_");
  EXPECT_EQ(found("(anonymous namespace)::fill"), "_ZN12_GLOBAL__N_14fillEPi");
}

TEST(KernelNames, AreFoundByTheirBeginningIfItIsTheirsAlone) {
  EXPECT_EQ(found("sca"), "_Z5scalePff");
  EXPECT_EQ(found("ns::sort<i"), "_ZN2ns4sortIiEEvPT_");
  EXPECT_EQ(found("plain"), "plain");
  EXPECT_EQ(found("plaine"), "plainer");
  EXPECT_EQ(found("nothing"), "");
  EXPECT_EQ(found(""), "");
}

TEST(KernelNames, ThatMayBeSeveralAreListed) {
  EXPECT_EQ(found("ns::sort"), "'ns::sort' may be any of:\n"
                               "  _ZN2ns4sortIfEEvPT_  void ns::sort<float>(float*)\n"
                               "  _ZN2ns4sortIiEEvPT_  void ns::sort<int>(int*)");
}
