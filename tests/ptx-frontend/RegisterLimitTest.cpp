// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/RegisterLimit.h"
#include "ptx-frontend/Parser.h"
#include <gtest/gtest.h>

namespace rubia::ptx {
namespace {

const std::string kText = R"(.version 8.0
.target sm_80
.address_size 64
.func helper() { ret; }
.visible .entry plain(.param .u64 p) // { no body yet
{ ret; }
.visible .entry own() .maxnreg 64 { ret; }
.visible .entry busy() .maxntid 128 .minnctapersm 4 { ret; }
.visible .entry unsized() .minnctapersm 4 { ret; }
.visible .entry sized() .maxntid 128 { ret; }
.entry declared();
)";

unsigned limitOf(const ParseResult &parsed, const char *kernel) {
  return parsed.module.function(kernel)->attributes.maxRegisters;
}

// Which kernels keep their own: ptxas 13.0 says of each which value it takes.
TEST(RegisterLimit, IsOfKernelsThatSayNothingThemselves) {
  const ParseResult parsed = parse("", limitRegisters(kText, 40));
  ASSERT_TRUE(parsed.usable);
  EXPECT_FALSE(parsed.hasErrors());
  EXPECT_EQ(limitOf(parsed, "plain"), 40u);
  EXPECT_EQ(limitOf(parsed, "own"), 64u);
  EXPECT_EQ(limitOf(parsed, "busy"), 0u);
  EXPECT_EQ(limitOf(parsed, "unsized"), 40u);
  EXPECT_EQ(limitOf(parsed, "sized"), 40u);
  EXPECT_EQ(limitOf(parsed, "declared"), 0u);
  EXPECT_EQ(limitOf(parsed, "helper"), 0u);
}

TEST(RegisterLimit, KeepsTheLines) {
  const std::string limited = limitRegisters(kText, 40);
  EXPECT_EQ(std::count(limited.begin(), limited.end(), '\n'),
            std::count(kText.begin(), kText.end(), '\n'));
  EXPECT_NE(limited.find("// { no body yet\n.maxnreg 40 { ret; }"), std::string::npos) << limited;
}

TEST(RegisterLimit, IsIgnoredBeyondWhatThereIs) {
  EXPECT_EQ(limitRegisters(kText, 0), kText);
  EXPECT_EQ(limitRegisters(kText, 256), kText);
  EXPECT_EQ(limitRegisters("no PTX", 40), "no PTX");
}

TEST(RegisterLimit, IsReadFromOptionsOfContainers) {
  EXPECT_EQ(registerLimitOf(" -maxrregcount=32 "), 32u);
  EXPECT_EQ(registerLimitOf("-O3 --maxrregcount 0x20 -v"), 32u);
  EXPECT_EQ(registerLimitOf("-maxrregcount=32 -maxrregcount=64"), 64u);
  EXPECT_EQ(registerLimitOf("-O3"), 0u);
  EXPECT_EQ(registerLimitOf("-maxrregcount"), 0u);
  EXPECT_EQ(registerLimitOf("maxrregcount=32"), 0u);
}

TEST(RegisterLimit, OfNoneIsAnError) {
  const ParseResult parsed = parse("", ".version 8.0\n.target sm_80\n.address_size 64\n"
                                       ".entry k() .maxnreg 0 { ret; }\n");
  ASSERT_TRUE(parsed.hasErrors());
  EXPECT_EQ(parsed.diagnostics.front().line, 4u);
}

} // namespace
} // namespace rubia::ptx
