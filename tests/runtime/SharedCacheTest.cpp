// SPDX-License-Identifier: Apache-2.0
// Several processes with one cache directory, and real compilations.
#include "runtime/compiler/Compiler.h"
#include "runtime/compiler/CompilerIdentity.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace rubia::settings::AtomicsMode {
extern const Word Fast, Safe;
} // namespace rubia::settings::AtomicsMode
namespace rubia::settings::NanMode {
extern const Word Any, Canonical;
} // namespace rubia::settings::NanMode

// The runtime's clock: in front of libc's.
static time_t clockIsAheadBy = 0;
extern "C" time_t time(time_t *result) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time_t seconds = now.tv_sec + clockIsAheadBy;
  if (result)
    *result = seconds;
  return seconds;
}

namespace {

const std::string kText = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d1;\n"
                          "ld.param.u64 %d1, [p];\nst.global.u32 [%d1], 1;\nret;\n}\n";
const std::string kBad = ".version 7.0\n.target sm_70\n.address_size 64\n"
                         ".visible .entry k(.param .u64 p)\n{\nfrobnicate;\nret;\n}\n";

std::string kernelNamed(const std::string &name) {
  std::string text = kText;
  return text.replace(text.find("entry k") + 6, 1, name);
}

class SharedCacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    setenv("RUBIA_WORKER", RUBIA_WORKER_PATH, 1);
    unsetenv("RUBIA_COMPILE");
    ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-shared", folder));
  }
  void TearDown() override { (void)sys::fs::remove_directories(folder); }

  CacheDirectory directory() { return CacheDirectory(folder.str().str(), 1 << 30); }
  uint64_t times(CacheEvent event) {
    for (const CacheEventCount &count : cacheEvents(directory()))
      if (count.event == event)
        return count.times;
    return 0;
  }
  static ModuleImage image(const std::string &text) {
    ArrayRef<uint8_t> bytes = arrayRefFromStringRef(text);
    return ModuleImage::view(bytes, 89);
  }
  // In a process of its own: whether the code object was to be had.
  template <typename Prepare> pid_t ask(KernelCache cache, Prepare prepare) {
    pid_t pid = fork();
    if (pid == 0) {
      prepare();
      Compiler &compiler = Compiler::create(std::move(cache), {});
      auto code = compiler.codeObject(image(kText), 0, "gfx1100");
      if (!code)
        logAllUnhandledErrors(code.takeError(), errs());
      _exit(code && toStringRef(ArrayRef(**code))
                        .starts_with("\x7f"
                                     "ELF")
                ? 0
                : 1);
    }
    return pid;
  }
  static bool succeeded(pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, 0) == pid && status == 0;
  }

  SmallString<128> folder;
};

TEST_F(SharedCacheTest, ManyProcessesCompileAColdKernelOnce) {
  std::vector<pid_t> processes;
  for (int i = 0; i < 64; ++i)
    processes.push_back(ask({directory(), {}}, [] {}));
  for (pid_t process : processes)
    EXPECT_TRUE(succeeded(process));
  EXPECT_EQ(times(CacheEvent::Compiled), 1u);
  EXPECT_EQ(times(CacheEvent::Stored), 1u);
  EXPECT_EQ(times(CacheEvent::DirectoryHit), 63u);
}

TEST_F(SharedCacheTest, AnErrorIsCompiledOnceToo) {
  std::string messages[2];
  for (int i = 0; i < 2; ++i) {
    Compiler &compiler = Compiler::create({directory(), {}}, {});
    auto code = compiler.codeObject(image(kBad), 0, "gfx1100");
    ASSERT_FALSE(bool(code));
    messages[i] = toString(code.takeError());
  }
  EXPECT_NE(messages[0], "");
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(times(CacheEvent::Compiled), 1u);
  EXPECT_EQ(times(CacheEvent::DirectoryHit), 1u);
}

// What ends every compile process is the unit's fault, and is not tried by the next program.
TEST_F(SharedCacheTest, AUnitThatCrashesTheCompilerIsRemembered) {
  setenv("RUBIA_WORKER", RUBIA_FAULTY_WORKER_PATH, 1);
  const std::string text = kernelNamed("abort_1");
  std::string messages[2];
  for (std::string &message : messages) {
    Compiler &compiler = Compiler::create({directory(), {}}, {});
    auto code = compiler.codeObject(image(text), 0, "gfx1100");
    ASSERT_FALSE(bool(code));
    message = toString(code.takeError());
  }
  EXPECT_NE(messages[0], "");
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(times(CacheEvent::Compiled), 1u);
  CacheEntry entry = cantFail(CacheDirectory::readFile(directory().files().at(0).path));
  EXPECT_EQ(entry.kind, CacheEntry::Kind::Refused);
  EXPECT_GT(entry.expires, uint64_t(time(nullptr)));
  EXPECT_LE(entry.expires, uint64_t(time(nullptr)) + 86400);
  printf("%s\n", messages[0].c_str());
}

// A signal from outside, or a limit of this program's, says nothing about the unit.
TEST_F(SharedCacheTest, WhatComesFromOutsideIsNoErrorOfTheKernelForOthers) {
  setenv("RUBIA_WORKER", RUBIA_FAULTY_WORKER_PATH, 1);
  for (const char *name : {"terminated_1", "cpu_1"}) {
    const std::string text = kernelNamed(name);
    Compiler &compiler = Compiler::create({directory(), {}}, {});
    auto code = compiler.codeObject(image(text), 0, "gfx1100");
    EXPECT_FALSE(bool(code)) << name;
    consumeError(code.takeError());
  }
  EXPECT_TRUE(directory().files().empty());
}

TEST_F(SharedCacheTest, ALimitOfFileSizesIsNoErrorOfTheKernel) {
  pid_t limited = ask({directory(), {}}, [] {
    const rlimit limit{64, 64};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
  });
  int status = 0;
  ASSERT_EQ(waitpid(limited, &status, 0), limited);
  EXPECT_NE(status, 0);
  EXPECT_TRUE(directory().files().empty());
  EXPECT_TRUE(succeeded(ask({directory(), {}}, [] {})));
}

// What LLVM cannot write is fatal to it, and none of the unit.
TEST_F(SharedCacheTest, AFullDiskIsNoErrorOfTheKernel) {
  setenv("RUBIA_WORKER", RUBIA_FAULTY_WORKER_PATH, 1);
  const std::string text = kernelNamed("output_1");
  auto code = Compiler::create({directory(), {}}, {}).codeObject(image(text), 0, "gfx1100");
  ASSERT_FALSE(bool(code));
  Error error = code.takeError();
  EXPECT_TRUE(error.isA<CompilerProblem>());
  EXPECT_TRUE(StringRef(toString(std::move(error))).contains("No space left on device"));
  EXPECT_TRUE(directory().files().empty());
}

TEST_F(SharedCacheTest, ARemoteThatIsAwayIsAProblemNotTheKernelsError) {
  setenv("RUBIA_COMPILE", "never", 1);
  setenv("RUBIA_CACHE_REMOTE", "http://127.0.0.1:1/nobody", 1);
  Compiler &compiler = Compiler::create({directory(), {}}, {});
  for (CacheEvent event : {CacheEvent::RemoteFailed, CacheEvent::RemoteFailed,
                           CacheEvent::RemotePaused}) { // it is asked each time
    const uint64_t before = times(event);
    auto code = compiler.codeObject(image(kText), 0, "gfx1100");
    ASSERT_FALSE(bool(code));
    Error error = code.takeError();
    EXPECT_TRUE(error.isA<CompilerProblem>());
    EXPECT_TRUE(StringRef(toString(std::move(error))).contains("the remote cache does not answer"));
    EXPECT_EQ(times(event), before + 1);
  }
  unsetenv("RUBIA_COMPILE");
  unsetenv("RUBIA_CACHE_REMOTE");
}

// Another program may have larger limits.
TEST_F(SharedCacheTest, ALimitIsNoErrorOfTheKernelForOthers) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer needs more address space than any limit leaves";
#endif
  setenv("RUBIA_WORKER", RUBIA_FAULTY_WORKER_PATH, 1);
  const struct {
    const char *variable, *value, *kernel, *says;
  } kLimits[] = {{"RUBIA_WORKER_BYTES", "200000000", "memory_1", "ran out of memory"},
                 {"RUBIA_WORKER_SECONDS", "1", "sleep_15_k", "took longer than 1 s"},
                 {"RUBIA_WORKER_SECONDS", "1", "chatter_k", "took longer than 1 s"}};
  for (const auto &limit : kLimits) {
    setenv(limit.variable, limit.value, 1);
    const std::string text = kernelNamed(limit.kernel);
    Compiler &compiler = Compiler::create({directory(), {}}, {});
    for (int i = 0; i < 2; ++i) { // this process keeps it
      const uint64_t compiled = times(CacheEvent::Compiled);
      auto code = compiler.codeObject(image(text), 0, "gfx1100");
      ASSERT_FALSE(bool(code));
      Error error = code.takeError();
      EXPECT_FALSE(error.isA<CompilerProblem>());
      const std::string message = toString(std::move(error));
      EXPECT_TRUE(StringRef(message).contains(limit.says)) << message;
      EXPECT_EQ(times(CacheEvent::Compiled), compiled + (i == 0));
    }
    unsetenv(limit.variable);
    EXPECT_TRUE(directory().files().empty());
  }
  const std::string text = kernelNamed("sleep_15_k");
  auto code = Compiler::create({directory(), {}}, {}).codeObject(image(text), 0, "gfx1100");
  EXPECT_TRUE(bool(code)) << toString(code.takeError());
}

// Two and a half seconds in parts of a half.
TEST_F(SharedCacheTest, EachPartOfALargeUnitHasTheTime) {
  setenv("RUBIA_WORKER_SECONDS", "2", 1);
  const std::string text = kernelNamed("parts_k");
  auto code = Compiler::create({directory(), {}}, {}).codeObject(image(text), 0, "gfx1100");
  EXPECT_TRUE(bool(code)) << toString(code.takeError());
  unsetenv("RUBIA_WORKER_SECONDS");
}

TEST_F(SharedCacheTest, OptionsHaveEntriesOfTheirOwn) {
  Compiler &compiler = Compiler::create({directory(), {}}, {});
  using namespace rubia::settings;
  for (Word nan : {NanMode::Any, NanMode::Canonical})
    for (Word atomics : {AtomicsMode::Fast, AtomicsMode::Safe}) {
      auto code = compiler.codeObject(image(kText), 0, "gfx1100", {nan, atomics});
      ASSERT_TRUE(bool(code)) << toString(code.takeError());
    }
  EXPECT_EQ(directory().files().size(), 4u);
  EXPECT_EQ(times(CacheEvent::Compiled), 4u);
}

/// Whether other users may enter all folders that a file is in.
bool isReachableByOthers(StringRef path) {
  for (StringRef folder = sys::path::parent_path(path); !folder.empty();
       folder = sys::path::parent_path(folder)) {
    struct stat status = {};
    if (stat(folder.str().c_str(), &status) != 0 || !(status.st_mode & S_IXOTH))
      return false;
  }
  return true;
}

// A warm start needs no worker, whatever else is different about the process.
TEST_F(SharedCacheTest, UserPathClockLocaleAndMachineAreNotInTheKey) {
  ASSERT_TRUE(succeeded(ask({directory(), {}}, [] {})));
  CachePackWriter writer;
  for (const CacheDirectory::File &file : directory().files())
    writer.add(cantFail(CacheDirectory::readFile(file.path)));
  std::string path = (folder + "/pack").str();
  ASSERT_FALSE(bool(writer.write(path)));
  const std::string worker = (folder + "/elsewhere").str();
  ASSERT_EQ(symlink(RUBIA_WORKER_PATH, worker.c_str()), 0);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  auto forbid = [] { setenv("RUBIA_COMPILE", "never", 1); };
  auto stranger = [&] {
    forbid();
    for (const char *name : {"LANG", "LC_ALL"})
      setenv(name, "tr_TR.UTF-8", 1);
    setenv("HOME", "/nonexistent", 1);
    setenv("TZ", "Pacific/Kiritimati", 1);
    setenv("HOSTNAME", "another", 1);
    // Another path of the same compiler.
    setenv("RUBIA_WORKER", worker.c_str(), 1);
    clockIsAheadBy = 10 * 365 * 86400;
    if (chdir("/"))
      _exit(2);
    if (geteuid() == 0) {
      if (!unshare(CLONE_NEWUTS) && sethostname("elsewhere", 9))
        _exit(3);
      if (isReachableByOthers(RUBIA_WORKER_PATH) && (setgid(12345) || setuid(12345)))
        _exit(4);
    }
  };
  EXPECT_TRUE(succeeded(ask({directory(), {}}, stranger)));
  std::vector<CachePack> packs;
  packs.push_back(cantFail(CachePack::open(path)));
  EXPECT_TRUE(succeeded(ask({std::nullopt, std::move(packs)}, stranger)));
  SmallString<128> empty;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-empty", empty));
  EXPECT_FALSE(succeeded(ask({CacheDirectory(empty.str().str()), {}}, forbid)));
  EXPECT_EQ(times(CacheEvent::Compiled), 1u);
  (void)sys::fs::remove_directories(empty);
}

// Every bit of the header, every length, one bit in 64 bytes of the payload: the result is what it
// would be without a cache, and the file is whole again. RUBIA_TEST_LONG: all of them, else a
// sample.
TEST_F(SharedCacheTest, LongADamagedEntryIsCompiledAgain) {
  constexpr size_t kHeaderBits = 152 * 8;
  const size_t step = getenv("RUBIA_TEST_LONG") ? 1 : 149;
  ASSERT_TRUE(succeeded(ask({directory(), {}}, [] {})));
  const std::string path = directory().files().at(0).path;
  auto read = [&] {
    auto buffer = MemoryBuffer::getFile(path, false, false);
    return buffer ? (*buffer)->getBuffer().str() : "";
  };
  const std::string good = read();
  const std::vector<uint8_t> code = cantFail(CacheDirectory::readFile(path)).payload;
  std::vector<std::string> damaged;
  for (size_t bit = 0; bit < kHeaderBits; bit += step)
    (damaged.emplace_back(good))[bit / 8] ^= 1 << bit % 8;
  for (size_t size = 0; size < good.size(); size += step)
    damaged.push_back(good.substr(0, size));
  for (size_t byte = kHeaderBits / 8; byte < good.size(); byte += step == 1 ? 64 : 640)
    (damaged.emplace_back(good))[byte] ^= 1 << byte / 64 % 8;
  for (const std::string &bytes : damaged) {
    std::error_code error;
    raw_fd_ostream(path, error) << bytes;
    ASSERT_FALSE(error);
    pid_t pid = fork();
    if (pid == 0) {
      auto result = Compiler::create({directory(), {}}, {}).codeObject(image(kText), 0, "gfx1100");
      _exit(result && **result == code ? 0 : 1);
    }
    ASSERT_TRUE(succeeded(pid));
    ASSERT_TRUE(read() == good);
  }
  EXPECT_EQ(times(CacheEvent::Damaged), damaged.size());
  EXPECT_EQ(times(CacheEvent::Compiled), damaged.size() + 1);
  printf("%zu damaged entries, all compiled again\n", damaged.size());
}

// The whole wait, 9 seconds. Label long.
TEST_F(SharedCacheTest, LongAStoppedOwnerHoldsOthersUpForTenSecondsAtMost) {
  if (!getenv("RUBIA_TEST_LONG"))
    GTEST_SKIP() << "takes 9 seconds: RUBIA_TEST_LONG=1";
  std::string compiler = cantFail(compilerIdentity());
  std::string key = codeObjectKey(image(kText).digest, 89, 0, "gfx1100", {}, compiler);
  pid_t owner = fork();
  if (owner == 0) {
    CompileLock lock(directory(), key, 0);
    raise(SIGSTOP);
    _exit(0);
  }
  int status;
  ASSERT_EQ(waitpid(owner, &status, WUNTRACED), owner);
  time_t before = time(nullptr);
  std::vector<pid_t> processes;
  for (int i = 0; i < 4; ++i)
    processes.push_back(ask({directory(), {}}, [] {}));
  for (pid_t process : processes)
    EXPECT_TRUE(succeeded(process));
  EXPECT_LE(time(nullptr) - before, 11);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
}

} // namespace
