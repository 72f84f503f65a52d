// SPDX-License-Identifier: Apache-2.0
// What we write from within a program ends it by no signal and by no error, and goes to our own
// files alone.
#include "input/Writing.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::input;

namespace {
class InputWriting : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-writing", folder)); }
  void TearDown() override { (void)sys::fs::remove_directories(folder); }
  std::string path(StringRef name) { return (folder + "/" + name).str(); }
  static std::string contents(const std::string &path) {
    auto buffer = MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "(none)";
  }
  // The status of a process that does this, as a shell tells it.
  static int statusOf(const std::function<int()> &body) {
    const pid_t pid = fork();
    if (pid == 0)
      exit(body()); // with what is done at the end of a program
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // A pipe that nobody reads.
  static int brokenPipe() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    close(ends[0]);
    return ends[1];
  }
  SmallString<128> folder;
};
} // namespace

TEST_F(InputWriting, MessagesThatNobodyReadsEndNoProgram) {
  EXPECT_EQ(statusOf([] {
              dup2(brokenPipe(), STDERR_FILENO);
              tell("nobody reads this\n");
              return 7;
            }),
            7);
  EXPECT_EQ(statusOf([] {
              close(STDERR_FILENO);
              tell("there is no stderr\n");
              return 7;
            }),
            7);
  EXPECT_EQ(statusOf([] {
              dup2(open("/dev/full", O_WRONLY), STDERR_FILENO);
              tell("its disk is full\n");
              return 7;
            }),
            7);
}

TEST_F(InputWriting, AFileAtItsLimitEndsNoProgram) {
  const std::string file = path("a");
  EXPECT_EQ(statusOf([&] {
              rlimit limit{4, 4};
              setrlimit(RLIMIT_FSIZE, &limit);
              std::error_code error;
              auto kept = KeptFile::append(file, error);
              *kept << "123456";
              return kept->takeError() == std::errc::file_too_large && !kept->takeError() ? 7 : 1;
            }),
            7);
  EXPECT_EQ(contents(file), "1234");
}

// The program may have such a signal pending itself.
TEST_F(InputWriting, SignalsOfTheProgramStayPending) {
  EXPECT_EQ(statusOf([] {
              sigset_t pipe, pending;
              sigemptyset(&pipe);
              sigaddset(&pipe, SIGPIPE);
              pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
              const int broken = brokenPipe();
              if (writeAll(broken, "x") || errno != EPIPE)
                return 1;
              sigpending(&pending);
              if (sigismember(&pending, SIGPIPE))
                return 2;
              raise(SIGPIPE);
              (void)writeAll(broken, "x");
              sigpending(&pending);
              return sigismember(&pending, SIGPIPE) ? 7 : 3;
            }),
            7);
}

TEST_F(InputWriting, KeptFilesHaveNoNumberOfAStandardStream) {
  const std::string file = path("a");
  EXPECT_EQ(statusOf([&] {
              close(STDIN_FILENO);
              close(STDOUT_FILENO);
              std::error_code error;
              auto kept = KeptFile::append(file, error);
              if (!kept || write(STDOUT_FILENO, "printed", 7) >= 0)
                return 1;
              *kept << "kept";
              return kept->takeError() ? 2 : 7;
            }),
            7);
  EXPECT_EQ(contents(file), "kept");
}

TEST_F(InputWriting, WhatTheProgramHasClosedIsLeftAlone) {
  const std::string ours = path("ours"), theirs = path("theirs");
  EXPECT_EQ(statusOf([&] {
              std::error_code error;
              auto kept = KeptFile::append(ours, error);
              *kept << "before";
              closefrom(3);
              const int opened = open(theirs.c_str(), O_WRONLY | O_CREAT, 0666);
              *kept << "after";
              if (kept->takeError() != std::errc::bad_file_descriptor || kept->isOpen())
                return 1;
              kept.reset();
              return write(opened, "data", 4) == 4 ? 7 : 2;
            }),
            7);
  EXPECT_EQ(contents(ours), "before");
  EXPECT_EQ(contents(theirs), "data");
}
