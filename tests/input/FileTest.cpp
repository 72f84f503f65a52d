// SPDX-License-Identifier: Apache-2.0
#include "input/File.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace rubia::input;

namespace {
class InputFile : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-input", folder)); }
  // LLVM's function leaves FIFOs.
  void TearDown() override { std::filesystem::remove_all(folder.str().str()); }
  std::string path(StringRef name) { return (folder + "/" + name).str(); }
  std::string write(StringRef name, StringRef text) {
    std::error_code error;
    raw_fd_ostream(path(name), error) << text;
    EXPECT_FALSE(error);
    return path(name);
  }
  // The text, or the error behind the path.
  static std::string read(const std::string &path, uint64_t most,
                          Accept accept = Accept::RegularFiles) {
    auto buffer = readFile(path, most, accept);
    if (buffer)
      return (*buffer)->getBuffer().str();
    std::string text = toString(buffer.takeError());
    EXPECT_TRUE(StringRef(text).starts_with(path + ": ")) << text;
    return text.substr(std::min(text.size(), path.size() + 2));
  }

  SmallString<128> folder;
};
} // namespace

TEST_F(InputFile, IsReadUpToItsBound) {
  const std::string file = write("a", "12345");
  EXPECT_EQ(read(file, 5), "12345");
  EXPECT_EQ(read(file, 4), "5 bytes, more than the limit of 4");
  EXPECT_EQ(read(write("empty", ""), 0), "");
  EXPECT_EQ(read(path("none"), 5), "No such file or directory");
  EXPECT_EQ(read(folder.str().str(), 5), "Is a directory");
}

TEST_F(InputFile, GivesTheParts) {
  File file = cantFail(File::open(write("a", "12345")));
  EXPECT_EQ(cantFail(file.read(1, 3, 3))->getBuffer(), "234");
  EXPECT_EQ(toString(file.read(3, 3, 9).takeError()),
            path("a") + ": it ends before the 3 bytes at 3");
}

TEST_F(InputFile, ThatBecomesShorterIsAnError) {
  const std::string name = write("a", std::string(100000, 'x'));
  File file = cantFail(File::open(name));
  ASSERT_EQ(truncate(name.c_str(), 10), 0);
  EXPECT_EQ(toString(file.readAll(1 << 20).takeError()),
            name + ": it became shorter while it was read");
}

TEST_F(InputFile, ThatNeverBeginsOrEndsIsNotOpened) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read(path("fifo"), 5), "not a regular file");
  EXPECT_EQ(read("/dev/zero", 5), "not a regular file");
  EXPECT_EQ(read("/dev/zero", 5, Accept::PipesToo), "neither a regular file nor a pipe");
}

TEST_F(InputFile, MayBeAPipeForCommands) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  for (auto [text, wait] :
       {std::pair("123", false), {"12345", true}, {"", true}, {"123456", true}}) {
    std::thread writer([&, text = StringRef(text), wait = wait] {
      int fd = open(path("fifo").c_str(), O_WRONLY);
      if (wait)
        usleep(50000);
      EXPECT_EQ(::write(fd, text.data(), text.size()), ssize_t(text.size()));
      close(fd);
    });
    EXPECT_EQ(read(path("fifo"), 5, Accept::PipesToo),
              strlen(text) <= 5 ? text : "more than the limit of 5 bytes");
    writer.join();
  }
}
