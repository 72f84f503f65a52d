// SPDX-License-Identifier: Apache-2.0
// The file that a fault leaves, and the end of the process that may follow.
#include "tests/cuda/Peer.h"
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rubia::runtime::cuda {
namespace {

enum Setting { kOnException = 1, kTriggerHost, kLightweight, kUserTrigger, kFile, kPipe, kFlags };

Result setAll(int setting, const void *value, size_t size) {
  return cu("cuCoredumpSetAttributeGlobal", setting, const_cast<void *>(value), &size);
}
Result set(int setting, bool value) {
  size_t size = 1;
  return cu("cuCoredumpSetAttribute", setting, static_cast<void *>(&value), &size);
}
bool get(int setting) {
  bool value = false;
  size_t size = 1;
  DONE(cu("cuCoredumpGetAttribute", setting, static_cast<void *>(&value), &size));
  return value;
}
std::string pathFor(const char *name) {
  return (std::filesystem::temp_directory_path() / name).string() + std::to_string(getpid());
}
std::string textOf(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
Result runWild() {
  const std::vector<uint64_t> image = container(kPtx, 1, 80);
  const Wrapper wrapper{.data = image.data()};
  DONE(launch(kernel(load(&wrapper), "wild"), 1, 1, 0, nullptr));
  return cu("cuCtxSynchronize");
}

TEST(Coredump, NamesTheFault) {
  const std::string path = pathFor("rubia-core-%p-");
  const bool yes = true, no = false;
  DONE(setAll(kOnException, &yes, 1)); // also before cuInit
  DONE(setAll(kTriggerHost, &no, 1));
  DONE(setAll(kFile, path.c_str(), path.size() + 1));
  makeContext();
  EXPECT_EQ(runWild(), kIllegalAddress);
  const std::string expected = (std::filesystem::temp_directory_path() / "rubia-core-").string() +
                               std::to_string(getpid()) + "-" + std::to_string(getpid());
  const std::string text = textOf(expected);
  EXPECT_NE(text.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(getpid())), std::string::npos) << text;
  std::filesystem::remove(expected);
}

TEST(Coredump, EndsTheProcessByDefault) {
  const std::string path = pathFor("rubia-core-of-a-peer-");
  Peer peer([&](Channel) {
    makeContext();
    DONE(set(kOnException, true));
    size_t size = path.size() + 1;
    DONE(cu("cuCoredumpSetAttribute", int(kFile),
            static_cast<void *>(const_cast<char *>(path.c_str())), &size));
    (void)runWild();
  });
  const int status = peer.end();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  EXPECT_FALSE(textOf(path).empty());
  std::filesystem::remove(path);
}

// None is written unless it is asked for; settings are the context's own.
TEST(Coredump, IsOffAndOfAContext) {
  makeContext();
  EXPECT_FALSE(get(kOnException));
  EXPECT_TRUE(get(kTriggerHost));
  EXPECT_EQ(set(kLightweight, true), kSuccess);
  EXPECT_TRUE(get(kLightweight));
  int flags = 7;
  size_t size = sizeof(flags);
  EXPECT_EQ(cu("cuCoredumpSetAttribute", int(kFlags), static_cast<void *>(&flags), &size),
            kSuccess);
  EXPECT_FALSE(get(kLightweight));
  EXPECT_EQ(set(kUserTrigger, true), kInvalidValue);
  const bool yes = true;
  EXPECT_EQ(setAll(kUserTrigger, &yes, 1), kNotSupported);
  EXPECT_EQ(setAll(kPipe, "pipe", 5), kNotSupported);
  bool value = true;
  size = 1;
  EXPECT_EQ(
      cu("cuCoredumpGetAttributeGlobal", int(kLightweight), static_cast<void *>(&value), &size),
      kSuccess);
  EXPECT_FALSE(value);
  EXPECT_EQ(runWild(), kIllegalAddress); // and goes on
}

} // namespace
} // namespace rubia::runtime::cuda
