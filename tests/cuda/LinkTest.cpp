// SPDX-License-Identifier: Apache-2.0
// cuLink*: what is added in other forms than PTX text, and what programs give that does not live as
// long as the state. tests/driver-sequences/Linking.cpp has the rest, as an H100 does it.
#include "tests/cuda/LaunchFixture.h"
#include <gtest/gtest.h>

namespace rubia::runtime::cuda {
namespace {

enum Input : int { kCubin, kPtxText, kFatbin, kObject, kLibrary };

std::string unit(const std::string &body) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n" + body;
}

const std::string kMain = unit(R"(.extern .func (.reg .u32 r) value();
.visible .entry main(.param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  call (%r1), value, ();
  st.global.u32 [%d1], %r1;
  ret;
}
)");
std::string giving(int value, const std::string &callee = "") {
  return unit(callee + ".visible .func (.reg .u32 r) value()\n{\n mov.u32 r, " +
              std::to_string(value) + ";\n ret;\n}\n");
}

std::string asText(const std::vector<uint64_t> &words) {
  return {reinterpret_cast<const char *>(words.data()), words.size() * 8};
}

/// An archive, as far as anybody looks: members begin at even places.
std::string archive(const std::vector<std::string> &members) {
  std::string text = "!<arch>\n";
  for (const std::string &member : members)
    text += std::string(58, ' ') + "`\n" + "\x7f" + "ELF, in which lies" + "\n" + member;
  return text;
}

class LinkTest : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    // The array is the program's again when the state is there.
    int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
    ASSERT_EQ(cu("cuLinkCreate_v2", 2u, options, static_cast<void **>(values), &state), kSuccess);
    options[0] = options[1] = kJitWallTime;
  }

  Result add(Input type, const std::string &bytes, const char *name = "input") {
    return cu("cuLinkAddData_v2", state, int(type), const_cast<char *>(bytes.data()), bytes.size(),
              name, 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr));
  }
  Result complete() { return cu("cuLinkComplete", state, &image, &size); }

  /// What `main` of the finished image stores.
  int result() {
    Module *module = nullptr;
    Function *function = nullptr;
    EXPECT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(image)), kSuccess);
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, "main"), kSuccess);
    void *out = nullptr;
    EXPECT_EQ(cu("cuMemAlloc_v2", &out, size_t(4)), kSuccess);
    void *parameters[] = {&out};
    EXPECT_EQ(launch(function, 1, 1, 0, parameters), kSuccess);
    return fetch(out, 1)[0];
  }

  char log[4096] = "";
  void *values[2] = {log, reinterpret_cast<void *>(sizeof(log))};
  void *state = nullptr, *image = nullptr;
  size_t size = 0;
};

// The last bytes of a container are NULs.
TEST_F(LinkTest, FatbinsAreLinked) {
  EXPECT_EQ(add(kFatbin, asText(container(kMain, 1, 80))), kSuccess) << log;
  EXPECT_EQ(add(kObject, asText(container(giving(5), 1, 80))), kSuccess) << log;
  ASSERT_EQ(complete(), kSuccess) << log;
  EXPECT_EQ(result(), 5);
}

TEST_F(LinkTest, OfAnArchiveOnlyWhatIsNeededIsLinked) {
  // Two definitions of `main`, and one symbol that nobody defines: none of it is needed.
  const std::string library =
      archive({asText(container(kMain, 1, 80)),
               asText(container(giving(6, ".extern .func next();\n.visible .func through()\n{\n "
                                          "call next, ();\n ret;\n}\n"),
                                1, 80)),
               asText(container(unit(".visible .func next()\n{\n ret;\n}\n"), 1, 80)),
               asText(container(unit(".extern .func nowhere();\n.visible .func other()\n{\n call "
                                     "nowhere, ();\n ret;\n}\n"),
                                1, 80))});
  EXPECT_EQ(add(kLibrary, library), kSuccess) << log;
  EXPECT_EQ(add(kPtxText, kMain), kSuccess) << log;
  ASSERT_EQ(complete(), kSuccess) << log;
  EXPECT_EQ(result(), 6);
}

TEST_F(LinkTest, OfAnObjectFileAllIsLinked) {
  const std::string object = archive({asText(container(kMain, 1, 80))});
  EXPECT_EQ(add(kPtxText, kMain), kSuccess) << log;
  EXPECT_EQ(add(kObject, object), kInvalidSource);
  EXPECT_TRUE(strstr(log, "multiple definition of 'main'")) << log;
}

TEST_F(LinkTest, TheLogNamesWhatNobodyDefines) {
  EXPECT_EQ(add(kPtxText, kMain), kSuccess) << log;
  EXPECT_EQ(complete(), kInvalidSource);
  EXPECT_TRUE(strstr(log, "value")) << log;
  EXPECT_EQ(image, nullptr);
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), strlen(log));
}

TEST_F(LinkTest, WhatIsRefusedIsMissedInTheEnd) {
  EXPECT_EQ(add(kPtxText, giving(1) + kMain.substr(kMain.find(".visible"))), kSuccess) << log;
  EXPECT_EQ(add(kFatbin, asText(container("\x7f"
                                          "ELF",
                                          2, 90))),
            kNoBinaryForGpu);
  EXPECT_TRUE(strstr(log, "SASS")) << log;
  EXPECT_EQ(complete(), kNoBinaryForGpu);
  EXPECT_EQ(image, nullptr);
}

TEST_F(LinkTest, FilesOfTheHostHaveNothingToLink) {
  EXPECT_EQ(add(kObject, archive({"no code for a GPU"})), kSuccess) << log;
  EXPECT_EQ(add(kLibrary, "neither an object nor an archive"), kInvalidImage);
}

} // namespace
} // namespace rubia::runtime::cuda
