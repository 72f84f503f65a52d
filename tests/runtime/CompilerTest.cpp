// SPDX-License-Identifier: Apache-2.0
// The compile worker as libcuda uses it: real processes, real compilations.
#include "runtime/compiler/Compiler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

// Each test runs in a process of its own (ctest), so the singleton starts fresh.
class CompilerTest : public ::testing::Test {
protected:
  void SetUp() override {
    setenv("RUBIA_WORKER", RUBIA_WORKER_PATH, 1);
    setenv("RUBIA_CACHE_DISABLE", "1", 1);
  }
  ModuleImage image(const std::string &text) {
    texts.push_back(std::make_unique<std::string>(text));
    ArrayRef<uint8_t> bytes = arrayRefFromStringRef(*texts.back());
    return ModuleImage::view(bytes, 89);
  }
  std::vector<std::unique_ptr<std::string>> texts;
};

std::string kernel(const std::string &name, const std::string &body) {
  return ".visible .entry " + name +
         "(.param .u64 p)\n{\n.reg .b64 %d1;\nld.param.u64 %d1, [p];\n" + body + "\nret;\n}\n";
}
const std::string kHeader = ".version 7.0\n.target sm_70\n.address_size 64\n";
const std::string kGood = kHeader + kernel("k", "st.global.u32 [%d1], 1;");

TEST_F(CompilerTest, GivesManifestAndCode) {
  ModuleImage good = image(kGood);
  auto manifest = Compiler::instance().manifest(good);
  ASSERT_TRUE(bool(manifest)) << toString(manifest.takeError());
  ASSERT_EQ((*manifest)->kernels.size(), 1u);
  EXPECT_EQ((*manifest)->kernels[0].parameterBytes, 8u);
  auto code = Compiler::instance().codeObject(good, 0, "gfx1100");
  ASSERT_TRUE(bool(code)) << toString(code.takeError());
  EXPECT_EQ(toStringRef(ArrayRef(**code)).substr(0, 4), "\x7f"
                                                        "ELF");
}

TEST_F(CompilerTest, TellsWhyAnImageCannotBeRead) {
  auto manifest = Compiler::instance().manifest(image("not PTX"));
  ASSERT_FALSE(bool(manifest));
  EXPECT_NE(toString(manifest.takeError()), "");
}

TEST_F(CompilerTest, AnErrorOfOneKernelIsInTheManifest) {
  auto manifest =
      Compiler::instance().manifest(image(kGood + kernel("bad", "frobnicate.b32 %d1;")));
  ASSERT_TRUE(bool(manifest)) << toString(manifest.takeError());
  EXPECT_EQ((*manifest)->kernel("k")->error, "");
  EXPECT_NE((*manifest)->kernel("bad")->error.find("frobnicate"), std::string::npos);
}

TEST_F(CompilerTest, ManyThreadsAskForTheSameUnit) {
  ModuleImage good = image(kGood);
  std::vector<std::shared_ptr<const std::vector<uint8_t>>> results(8);
  std::vector<std::thread> threads;
  for (auto &result : results)
    threads.emplace_back([&] {
      if (auto code = Compiler::instance().codeObject(good, 0, "gfx1100"))
        result = *code;
      else
        ADD_FAILURE() << toString(code.takeError());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &result : results)
    EXPECT_EQ(result, results[0]); // the same object: compiled once
}

TEST_F(CompilerTest, TheProgramNeverSeesTheWorker) {
  static volatile sig_atomic_t signals;
  signals = 0;
  signal(SIGCHLD, [](int) { signals = signals + 1; });
  auto code = Compiler::instance().codeObject(image(kGood), 0, "gfx1100");
  ASSERT_TRUE(bool(code)) << toString(code.takeError());
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(signals, 0);
}

void expectToSucceed(pid_t child) {
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(CompilerTest, AForkedChildCompilesWithAWorkerOfItsOwn) {
  auto code = Compiler::instance().codeObject(image(kGood), 0, "gfx1100");
  ASSERT_TRUE(bool(code)) << toString(code.takeError());
  pid_t child = fork();
  if (child == 0) {
    auto other = Compiler::instance().codeObject(
        image(kHeader + kernel("other", "st.global.u32 [%d1], 2;")), 0, "gfx1100");
    _exit(other ? 0 : 1);
  }
  expectToSucceed(child);
  auto again = Compiler::instance().codeObject(
      image(kHeader + kernel("third", "st.global.u32 [%d1], 3;")), 0, "gfx1100");
  EXPECT_TRUE(bool(again)) << toString(again.takeError());
}

// As daemons do: all descriptors that they do not know are closed, and the numbers used again.
TEST_F(CompilerTest, ADescriptorThatIsAnotherFileByNowIsLeftAlone) {
  auto code = Compiler::instance().codeObject(image(kGood), 0, "gfx1100");
  ASSERT_TRUE(bool(code)) << toString(code.takeError());
  FILE *file = tmpfile();
  ASSERT_TRUE(file);
  std::vector<int> numbers;
  struct stat found;
  for (int number = 3; number < 256; ++number)
    if (fstat(number, &found) == 0 && S_ISSOCK(found.st_mode)) {
      dup2(fileno(file), number);
      numbers.push_back(number);
    }
  ASSERT_FALSE(numbers.empty());
  const pid_t child = fork();
  if (child == 0) {
    int closed = 0;
    for (int number : numbers)
      closed += fcntl(number, F_GETFD) < 0;
    _exit(closed);
  }
  expectToSucceed(child);
  auto other = Compiler::instance().codeObject(
      image(kHeader + kernel("another", "st.global.u32 [%d1], 4;")), 0, "gfx1100");
  EXPECT_TRUE(bool(other)) << toString(other.takeError());
  for (int number : numbers)
    EXPECT_EQ(fcntl(number, F_GETFD), 0); // dup2() cleared FD_CLOEXEC
  ASSERT_EQ(fstat(fileno(file), &found), 0);
  EXPECT_EQ(found.st_size, 0);
  for (int number : numbers)
    close(number);
  fclose(file);
}

// In a process of its own: a worker that a test before has started would be asked again.
TEST_F(CompilerTest, AMissingWorkerIsAnErrorThatNamesIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto compile = [this] {
    setenv("RUBIA_WORKER", "/nonexistent/rubia-worker", 1);
    auto manifest = Compiler::instance().manifest(image(kGood));
    llvm::errs() << (manifest ? "compiled" : toString(manifest.takeError()));
    _exit(0);
  };
  EXPECT_EXIT(compile(), testing::ExitedWithCode(0), "/nonexistent/rubia-worker");
}

TEST_F(CompilerTest, AnUnknownArchitectureIsAnError) {
  auto code = Compiler::instance().codeObject(image(kGood), 0, "gfx9999");
  ASSERT_FALSE(bool(code));
  EXPECT_NE(toString(code.takeError()).find("gfx9999"), std::string::npos);
}

} // namespace
