// SPDX-License-Identifier: Apache-2.0
#include "KernelText.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace rubia::golden;

namespace {

std::vector<KernelCase> expanded(llvm::StringRef text) {
  auto kernels = expandKernels("some/warp.kernels", text);
  EXPECT_TRUE(bool(kernels));
  return kernels ? std::move(*kernels) : std::vector<KernelCase>();
}

std::string errorOf(llvm::StringRef text) {
  auto kernels = expandKernels("warp.kernels", text);
  return kernels ? "" : llvm::toString(kernels.takeError());
}

bool has(const KernelCase &kernel, llvm::StringRef text) {
  return llvm::StringRef(kernel.text).contains(text);
}

TEST(GoldenKernelText, RowsOfAllTablesMultiply) {
  auto kernels = expanded("comment\n"
                          "//! kernel op.${op}.${n}\n"
                          "//! each op, text: add add.u32~r1,~r2,~r3; none -\n"
                          "//! each n: 1; 20\n"
                          "//! out b 8\n"
                          "//! body\n"
                          "  [${text}] [${2*n+3-n}]\n");
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(kernels[1].name, "op.add.20");
  EXPECT_EQ(kernels[1].entry, "op_add_20");
  EXPECT_EQ(kernels[1].topic, "warp");
  EXPECT_TRUE(has(kernels[1], "  [add.u32 r1, r2, r3] [23]\n"));
  EXPECT_TRUE(has(kernels[2], "  [] [4]\n"));
}

TEST(GoldenKernelText, SlotsAreAlignedAndMakeTheResults) {
  auto kernels = expanded("//! kernel k\n"
                          "//! launch grid=2,3 block=4,5,2 shared=64 cooperative\n"
                          "//! body\n"
                          "//! do k: 1; 2\n"
                          "  <${slot1}> <${slot*4}>\n"
                          "//! end\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_TRUE(has(kernels[0], "<0> <4>\n  <8> <12>"));
  ASSERT_EQ(kernels[0].parameters.size(), 1u);
  EXPECT_TRUE(kernels[0].parameters[0].isResult);
  EXPECT_EQ(kernels[0].parameters[0].bytes.size(), 16u * 6 * 40);
  EXPECT_EQ(kernels[0].sharedBytes, 64u);
  EXPECT_TRUE(kernels[0].cooperative);
}

TEST(GoldenKernelText, BuffersHoldWhatTheirRuleSays) {
  auto kernels = expanded("//! kernel k\n"
                          "//! in a 12 index\n"
                          "//! param .u16 h = ones 2\n"
                          "//! out b 3 zero\n"
                          "//! per-thread 4 random\n"
                          "//! body\n");
  ASSERT_EQ(kernels[0].parameters.size(), 4u);
  EXPECT_EQ(kernels[0].parameters[0].bytes,
            std::vector<uint8_t>({0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_FALSE(kernels[0].parameters[1].isBuffer);
  EXPECT_EQ(kernels[0].parameters[1].bytes, std::vector<uint8_t>({0xff, 0xff}));
  EXPECT_EQ(kernels[0].parameters[2].bytes, std::vector<uint8_t>(3));
  EXPECT_EQ(kernels[0].parameters[3].bytes.size(), 128u);
  EXPECT_TRUE(has(kernels[0], "  .param .u64 a_param,\n  .param .u16 h,\n"));
}

TEST(GoldenKernelText, DigestsTellKernelsApart) {
  auto of = [&](llvm::StringRef body) {
    return expanded(("//! kernel k\n" + body).str()).front().digest();
  };
  uint64_t one = of("//! out b 4\n//! body\n ret;\n");
  EXPECT_EQ(one, of("//! out b 4\n//! body\n ret;\n"));
  EXPECT_NE(one, of("//! out b 4\n//! body\n  ret;\n"));
  EXPECT_NE(one, of("//! out b 4 zero\n//! body\n ret;\n"));
  EXPECT_NE(one, of("//! launch block=64\n//! out b 4\n//! body\n ret;\n"));
}

TEST(GoldenKernelText, ErrorsNameTheLine) {
  EXPECT_EQ(errorOf("//! kernel k\n//! each a, b: 1\n"),
            "warp.kernels:2: rows and names differ in number");
  EXPECT_EQ(errorOf("//! kernel k\n//! body\n ${x}\n"), "warp.kernels:3: unknown: ${x}");
  EXPECT_EQ(errorOf("//! kernel k\n//! body\n//! do k: 1\n"), "warp.kernels:3: no end of this do");
  EXPECT_EQ(errorOf("//! kernel k\n//! in a 4 nothing\n"), "warp.kernels:2: unknown rule: nothing");
  EXPECT_EQ(errorOf("//! kernel k\n//! body\n"), "warp.kernels:1: a kernel without results");
}

TEST(GoldenKernelText, OnlyTheNanRuleForgivesOtherBits) {
  KernelCase kernel;
  std::vector<uint8_t> canonical = {1, 0xff, 0xff, 0x7f}, payload = {1, 0, 0xc0, 0xff},
                       infinity = {0, 0, 0x80, 0x7f};
  EXPECT_TRUE(kernel.isRight(payload, payload));
  EXPECT_FALSE(kernel.isRight(payload, canonical));
  kernel.nanType = "f32";
  EXPECT_TRUE(kernel.isRight(payload, canonical));
  EXPECT_FALSE(kernel.isRight(infinity, canonical));
  EXPECT_FALSE(kernel.isRight({1, 0xff, 0xff, 0x7f, 0}, canonical));
}

} // namespace
