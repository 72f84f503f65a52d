// SPDX-License-Identifier: Apache-2.0
// The compile supervisor: what is served first, what is said of a unit that takes its process with
// it, what others who wait are told. The worker has kernels that take long (tests/tools).
#include "runtime/compiler/Compiler.h"
#include "runtime/compiler/CompilerIdentity.h"
#include "runtime/compiler/SpawnSupervisor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool touch(const std::string &path) {
  std::error_code error;
  raw_fd_ostream(path, error) << "";
  return !error;
}

// What is written to a pipe until its other end is closed. Closes this one.
std::string readToTheEnd(int end) {
  std::string text;
  char bytes[4096];
  for (ssize_t n; (n = read(end, bytes, sizeof(bytes))) > 0;)
    text.append(bytes, n);
  close(end);
  return text;
}

class SupervisorTest : public ::testing::Test {
protected:
  void SetUp() override {
    setenv("RUBIA_WORKER", RUBIA_FAULTY_WORKER_PATH, 1);
    setenv("RUBIA_WORKER_PROCESSES", "1", 1);
    unsetenv("RUBIA_COMPILE");
    ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-supervisor", folder));
  }
  void TearDown() override { (void)sys::fs::remove_directories(folder); }

  // An image with these kernels, each a unit.
  ModuleImage image(std::vector<std::string> kernels) {
    text = ".version 7.0\n.target sm_70\n.address_size 64\n";
    for (const std::string &name : kernels)
      text += ".visible .entry " + name +
              "(.param .u64 p)\n{\n.reg .b64 %d1;\nld.param.u64 %d1, [p];\n"
              "st.global.u32 [%d1], 1;\nret;\n}\n";
    ArrayRef<uint8_t> bytes = arrayRefFromStringRef(text);
    return ModuleImage::view(bytes, 89);
  }
  CacheDirectory directory() { return CacheDirectory(folder.str().str(), 1 << 30); }
  uint64_t times(CacheEvent event) {
    for (const CacheEventCount &count : cacheEvents(directory()))
      if (count.event == event)
        return count.times;
    return 0;
  }
  std::string codeKey(const ModuleImage &image, uint32_t unit) {
    return codeObjectKey(image.digest, 89, unit, "gfx1100", {}, cantFail(compilerIdentity()));
  }

  std::string text;
  SmallString<128> folder;
};

// Requests by hand: nothing but the supervisor decides on the order.
class Conversation {
public:
  explicit Conversation(const ModuleImage &image)
      : image(image), supervisor(cantFail(spawnSupervisor({}))) {}

  void ask(uint32_t unit, bool ahead) {
    protocol::Descriptors files;
    files.image = protocol::memoryFile(image.bytes);
    auto [ours, theirs] = protocol::socketPair();
    files.reply = std::move(theirs);
    files.pulse = FileDescriptor(eventfd(0, EFD_CLOEXEC));
    ASSERT_TRUE(protocol::send(supervisor.get(), request(unit, ahead), files));
    replies.push_back(std::move(ours));
    units.push_back(unit);
  }
  void prioritize(uint32_t unit) {
    protocol::Request r = request(unit, true);
    r.prioritize = true;
    ASSERT_TRUE(protocol::send(supervisor.get(), r, {}));
  }
  // The units in the order in which they are answered; all must be results.
  std::vector<uint32_t> order() {
    std::vector<uint32_t> result;
    while (!replies.empty()) {
      std::vector<pollfd> watched;
      for (const FileDescriptor &reply : replies)
        watched.push_back({reply.get(), POLLIN, 0});
      if (poll(watched.data(), watched.size(), 20'000) <= 0)
        return result;
      for (size_t i = watched.size(); i-- > 0;)
        if (watched[i].revents) {
          protocol::Answer answer = protocol::receiveAnswer(replies[i].get());
          EXPECT_EQ(answer.outcome, protocol::Outcome::Result)
              << toStringRef(ArrayRef(answer.bytes)).str();
          result.push_back(units[i]);
          replies.erase(replies.begin() + i);
          units.erase(units.begin() + i);
        }
    }
    return result;
  }

private:
  protocol::Request request(uint32_t unit, bool ahead) const {
    protocol::Request r;
    r.want = protocol::Want::CodeObject;
    r.computeCapability = image.computeCapability;
    r.unit = unit;
    r.ahead = ahead;
    r.digest = image.digest;
    strcpy(r.arch, "gfx1100");
    return r;
  }

  const ModuleImage &image;
  FileDescriptor supervisor;
  std::vector<FileDescriptor> replies;
  std::vector<uint32_t> units;
};

TEST_F(SupervisorTest, WhatIsNeededOvertakesWhatWasAskedForAhead) {
  ModuleImage i = image({"sleep_8_a", "sleep_1_b", "sleep_1_c", "sleep_1_d"});
  Conversation conversation(i);
  conversation.ask(0, false); // holds the only process
  conversation.ask(1, true);
  conversation.ask(2, true);
  conversation.ask(3, false);
  EXPECT_EQ(conversation.order(), (std::vector<uint32_t>{0, 3, 1, 2}));
}

TEST_F(SupervisorTest, WhatWasAskedForAheadCanBeHurried) {
  ModuleImage i = image({"sleep_8_a", "sleep_1_b", "sleep_1_c", "sleep_1_d"});
  Conversation conversation(i);
  conversation.ask(0, false);
  conversation.ask(1, true);
  conversation.ask(2, true);
  conversation.ask(3, true);
  conversation.prioritize(3);
  EXPECT_EQ(conversation.order(), (std::vector<uint32_t>{0, 3, 1, 2}));
}

TEST_F(SupervisorTest, WhatIsNeededDoesNotWaitForWhatIsBeingCompiledAhead) {
  ModuleImage i = image({"sleep_20_a", "b"});
  Conversation conversation(i);
  conversation.ask(0, true);
  usleep(300'000);
  conversation.ask(1, false);
  EXPECT_EQ(conversation.order(), (std::vector<uint32_t>{1, 0}));
}

TEST_F(SupervisorTest, EagerlyEverythingIsCompiled) {
  setenv("RUBIA_COMPILE", "eager", 1);
  ModuleImage i = image({"a", "b", "c"});
  Compiler &compiler = Compiler::create({directory(), {}}, {});
  auto manifest = compiler.manifest(i);
  ASSERT_TRUE(bool(manifest)) << toString(manifest.takeError());
  compiler.compileAhead(i, **manifest, "gfx1100");
  for (Clock::time_point begin = Clock::now();
       directory().files().size() < 4 && secondsSince(begin) < 20;)
    usleep(10'000);
  for (uint32_t unit = 0; unit < 3; ++unit)
    EXPECT_TRUE(directory().read(codeKey(i, unit))) << unit;
  EXPECT_TRUE(bool(compiler.codeObject(i, 0, "gfx1100")));
  EXPECT_EQ(times(CacheEvent::Compiled), 4u);
}

TEST_F(SupervisorTest, LazilyNothingIsCompiledAhead) {
  ModuleImage i = image({"a", "b"});
  Compiler &compiler = Compiler::create({directory(), {}}, {});
  auto manifest = compiler.manifest(i);
  ASSERT_TRUE(bool(manifest)) << toString(manifest.takeError());
  compiler.compileAhead(i, **manifest, "gfx1100");
  usleep(200'000);
  EXPECT_EQ(times(CacheEvent::Compiled), 1u); // the manifest
}

// By the whole way, with a unit that is under way for somebody who does not need it yet.
TEST_F(SupervisorTest, AProgramGetsWhatItNeedsWhileTheRestIsCompiled) {
  setenv("RUBIA_COMPILE", "eager", 1);
  // Two units last until the test lets them end, by files that their compile process looks for.
  SmallString<128> made;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-gates", made));
  const std::string gates = made.str().str();
  setenv("RUBIA_TEST_GATES", gates.c_str(), 1);
  setenv("RUBIA_SANDBOX", "off", 1); // which forbids that
  ModuleImage i = image({"gate_a", "b", "gate_c"});
  Compiler &compiler = Compiler::create({directory(), {}}, {});
  auto manifest = compiler.manifest(i);
  ASSERT_TRUE(bool(manifest)) << toString(manifest.takeError());
  compiler.compileAhead(i, **manifest, "gfx1100");
  while (!sys::fs::exists(gates + "/gate_a.reached"))
    usleep(1000);
  auto code = compiler.codeObject(i, 1, "gfx1100");
  EXPECT_TRUE(bool(code)) << toString(code.takeError());
  ASSERT_TRUE(touch(gates + "/gate_a"));
  auto waited = compiler.codeObject(i, 0, "gfx1100"); // is not compiled twice
  EXPECT_TRUE(bool(waited)) << toString(waited.takeError());
  EXPECT_EQ(times(CacheEvent::Compiled), 3u);
  ASSERT_TRUE(touch(gates + "/gate_c"));
  (void)sys::fs::remove_directories(made);
  for (const char *name : {"RUBIA_TEST_GATES", "RUBIA_SANDBOX"})
    unsetenv(name);
}

// Large results go when others come; they are in the directory.
TEST_F(SupervisorTest, MemoryForResultsIsBounded) {
  ModuleImage i = image({"a", "b", "c", "d", "e"});
  for (uint32_t unit = 0; unit < 5; ++unit)
    directory().write(codeKey(i, unit), std::vector<uint8_t>(20 << 20, unit));
  Compiler &compiler = Compiler::create({directory(), {}}, {});
  std::vector<std::weak_ptr<const std::vector<uint8_t>>> seen;
  for (uint32_t unit = 0; unit < 5; ++unit)
    seen.push_back(cantFail(compiler.codeObject(i, unit, "gfx1100")));
  EXPECT_TRUE(seen.front().expired());
  EXPECT_FALSE(seen.back().expired());
  EXPECT_EQ(cantFail(compiler.codeObject(i, 0, "gfx1100"))->at(0), 0);
}

// Each of them holds three descriptors of the supervisor's.
TEST_F(SupervisorTest, ManyRequestsWithFewDescriptors) {
  ModuleImage i = image({"sleep_1_a"});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few{80, before.rlim_max}; // 26 requests
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Conversation conversation(i);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (unsigned n = 0; n < 40; ++n)
    conversation.ask(0, false);
  EXPECT_EQ(conversation.order().size(), 40u);
}

// A program's stack may be short; a compiler's may not.
TEST_F(SupervisorTest, CompilesForAProgramWithAShortStack) {
  ModuleImage i = image({"a"});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
  rlimit few{64 << 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &few), 0);
  Conversation conversation(i);
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &before), 0);
  conversation.ask(0, false);
  EXPECT_EQ(conversation.order(), std::vector<uint32_t>{0});
}

// Descriptors of ours would get their numbers, and what its threads print would go there.
TEST_F(SupervisorTest, ServesAProgramWithoutStandardStreams) {
  ModuleImage i = image({"sleep_8_a"});
  const pid_t program = fork();
  if (program == 0) {
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      close(stream);
    std::thread printing([] {
      usleep(400'000); // while it is compiled
      for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (write(stream, "printed", 7) >= 0 || errno != EBADF)
          _exit(2);
    });
    auto code = Compiler::create({directory(), {}}, {}).codeObject(i, 0, "gfx1100");
    printing.join();
    _exit(code ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(program, &status, 0), program);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// A child that was forked while a request was under way may hold the end that the answer comes to.
TEST(Supervisor, ThatDiesIsNoticedThoughSomebodyHoldsItsEnd) {
  auto [ours, theirs] = protocol::socketPair();
  FileDescriptor pulse(eventfd(0, EFD_CLOEXEC));
  ASSERT_EQ(eventfd_write(pulse.get(), 3), 0);
  unsigned beats = 0, asked = 0;
  protocol::Answer answer = protocol::awaitAnswer(
      ours.get(), pulse.get(), [&] { ++beats; }, [&] { return ++asked == 1; });
  EXPECT_EQ(answer.outcome, protocol::Outcome::Problem);
  EXPECT_EQ(beats, 1u);
  EXPECT_EQ(asked, 1u);
  EXPECT_TRUE(theirs);
}

TEST(Protocol, MemoryFilesStayAsTheyAre) {
  const uint8_t bytes[] = {1, 2, 3};
  FileDescriptor file = protocol::memoryFile(bytes);
  ASSERT_TRUE(file);
  EXPECT_EQ(pwrite(file.get(), "x", 1, 0), -1);
  EXPECT_NE(ftruncate(file.get(), 0), 0);
  uint8_t read[3];
  ASSERT_TRUE(preadAll(file.get(), read, 3, 0));
  EXPECT_EQ(read[1], 2);
}

// A child that the program leaves behind, and that has nothing to do with CUDA, does not keep the
// supervisor.
TEST_F(SupervisorTest, EndsWithTheProgramNotWithItsChildren) {
  ModuleImage i = image({"a"});
  int ends[2];
  ASSERT_EQ(pipe(ends), 0); // the supervisor's stderr: it ends when nobody has it any more
  pid_t program = fork();
  if (program == 0) {
    dup2(ends[1], 2);
    close(ends[1]);
    auto code = Compiler::create({directory(), {}}, {}).codeObject(i, 0, "gfx1100");
    if (!code)
      _exit(1);
    if (fork() == 0) {
      for (int open : {1, 2, ends[0]}) // who runs the test waits for its output to end
        close(open);
      sleep(20);
      _exit(0);
    }
    _exit(0);
  }
  close(ends[1]);
  int status = -1;
  EXPECT_EQ(waitpid(program, &status, 0), program);
  EXPECT_EQ(status, 0);
  pollfd watched{ends[0], 0, 0};
  EXPECT_EQ(poll(&watched, 1, 10'000), 1) << "the supervisor is still there";
  close(ends[0]);
}

// The worker confines itself: its code tries to get out. Each in a process of its own, with a
// supervisor that has its environment and what the kernel refuses it.
class Confined : public SupervisorTest {
protected:
  void SetUp() override {
#if __has_feature(address_sanitizer)
    GTEST_SKIP() << "a build with sanitizers has no sandbox";
#endif
    SupervisorTest::SetUp();
    setenv("RUBIA_LOG", "warn", 1);
  }
  // What is logged, and the error or "compiled".
  std::string compile(const char *sandbox, const char *kernel, bool refusesNamespaces = false) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(ends[1], 2);
      close(ends[0]);
      close(ends[1]);
      setenv("RUBIA_SANDBOX", sandbox, 1);
      if (refusesNamespaces)
        refuseNamespaces();
      auto code = Compiler::create({directory(), {}}, {}).codeObject(image({kernel}), 0, "gfx1100");
      errs() << (code ? "compiled" : toString(code.takeError()));
      errs().flush();
      _exit(0);
    }
    close(ends[1]);
    const std::string text = readToTheEnd(ends[0]);
    waitpid(pid, nullptr, 0);
    return text;
  }
  // As containers do that allow no namespaces.
  static void refuseNamespaces() {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, uint32_t(offsetof(seccomp_data, nr))),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{std::size(code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
      _exit(1);
  }
};

TEST_F(Confined, ACompileProcessCanDoNothingElse) {
  EXPECT_EQ(compile("off", "escape_a"), "escaped: read write socket signal process");
  const std::string text = compile("auto", "escape_b");
  EXPECT_TRUE(StringRef(text).ends_with("compiled")) << text;
  for (const char *call :
       {"openat of '/etc/passwd'", "openat of '/dev/null'", "socket", "kill", "clone"})
    EXPECT_EQ(StringRef(text).count(std::string("sandbox refused ") + call + " ("), 1u) << text;
}

TEST_F(Confined, WithoutNamespacesUnlessTheWholeSandboxIsDemanded) {
  const std::string refused = "no user and network namespace of its own (Operation not permitted)";
  EXPECT_EQ(compile("auto", "a", true),
            "rubia: compile processes are without a part of their sandbox: " + refused +
                "\ncompiled");
  EXPECT_EQ(compile("require", "b", true),
            "RUBIA_SANDBOX=require, and the sandbox is not complete: " + refused);
}

TEST_F(Confined, WhatTheSwitchCannotMeanIsAnError) {
  EXPECT_EQ(compile("demand", "a"), "RUBIA_SANDBOX is 'demand', expected auto, require or off");
}

TEST_F(Confined, WhatCompilingAgainCannotMendIsNotCompiledAgain) {
  setenv("RUBIA_LOG", "info", 1);
  const std::string text = compile("demand", "a");
  EXPECT_EQ(StringRef(text).count("compiling again"), 0u) << text;
  EXPECT_TRUE(StringRef(text).contains("RUBIA_SANDBOX is 'demand'")) << text;
}

// A compile process that was taken over may answer wrongly, but neither it nor what it says keeps
// the program waiting for longer than a unit may take.
class TakenOver : public SupervisorTest {
protected:
  void SetUp() override {
    SupervisorTest::SetUp();
    setenv("RUBIA_WORKER_SECONDS", "2", 1);
  }
  void TearDown() override {
    unsetenv("RUBIA_WORKER_SECONDS");
    SupervisorTest::TearDown();
  }
  // In a process of its own, whose end is awaited: what became of the kernels, one after another.
  std::string compile(std::vector<std::string> kernels) {
    constexpr unsigned kPatience = 40;
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      alarm(kPatience);
      const ModuleImage i = image(kernels);
      Compiler &compiler = Compiler::create({directory(), {}}, {});
      raw_fd_ostream out(ends[1], /*shouldClose=*/false, /*unbuffered=*/true);
      for (uint32_t unit = 0; unit < kernels.size(); ++unit) {
        auto code = compiler.codeObject(i, unit, "gfx1100");
        out << (code ? "compiled" : toString(code.takeError())) << "\n";
      }
      _exit(0);
    }
    close(ends[1]);
    const std::string text = readToTheEnd(ends[0]);
    int status = -1;
    waitpid(pid, &status, 0);
    return text + (status ? "it waits for ever" : "");
  }
};

TEST_F(TakenOver, WhoNeverStopsTalkingHasItsTime) {
  EXPECT_EQ(compile({"flood_a", "b"}), "the compiler took longer than 2 s\ncompiled\n");
}

TEST_F(TakenOver, WhoDoesNotReadIsNotWaitedFor) {
  EXPECT_EQ(compile({"unread_a", "b"}), "compiled\ncompiled\n");
}

TEST_F(TakenOver, WhoSaysThatItIsDoneHasAnswered) {
  EXPECT_EQ(compile({"mute_a", "b"}), "the compiler took longer than 2 s\ncompiled\n");
}

TEST_F(TakenOver, WhoFillsThePulseDoesNotStopIt) {
  EXPECT_EQ(compile({"clog_a", "b"}), "\ncompiled\n");
}

// Waits for those who go on, however long it takes them, and for nobody else.
class Waiting : public SupervisorTest {
protected:
  // In a process of its own: asks for unit 0.
  pid_t ask(const ModuleImage &i, bool stops) {
    pid_t pid = fork();
    if (pid == 0) {
      if (stops)
        setenv("RUBIA_TEST_STOP", "1", 1);
      auto code = Compiler::create({directory(), {}}, {}).codeObject(i, 0, "gfx1100");
      _exit(code ? 0 : 1);
    }
    return pid;
  }
  static bool succeeded(pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, 0) == pid && status == 0;
  }
};

TEST_F(Waiting, TheLockOfWhoGoesOnIsWaitedFor) {
  constexpr unsigned kPatienceMs = 1000;
  int isLocked[2], mayEnd[2];
  ASSERT_EQ(pipe(isLocked), 0);
  ASSERT_EQ(pipe(mayEnd), 0);
  pid_t owner = fork();
  if (owner == 0) {
    close(mayEnd[1]);
    CompileLock lock(directory(), "key", 0);
    const bool told = write(isLocked[1], "x", 1) == 1;
    pollfd end = {mayEnd[0], POLLIN, 0};
    while (poll(&end, 1, 10) == 0)
      lock.beat();
    _exit(told && lock.owned() ? 0 : 1);
  }
  char byte;
  ASSERT_EQ(read(isLocked[0], &byte, 1), 1);
  std::atomic<bool> hasReturned = false;
  std::thread ending([&] { // after longer than anybody waits for an owner that is not heard of
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * kPatienceMs / 2));
    EXPECT_FALSE(hasReturned);
    close(mayEnd[1]);
  });
  CompileLock lock(directory(), "key", kPatienceMs);
  hasReturned = true;
  EXPECT_TRUE(lock.owned());
  ending.join();
  EXPECT_TRUE(succeeded(owner));
  for (int open : {isLocked[0], isLocked[1], mayEnd[0]})
    close(open);
}

TEST_F(Waiting, LongAUnitThatTakesLongIsCompiledOnce) {
  if (!getenv("RUBIA_TEST_LONG"))
    GTEST_SKIP() << "takes 12 seconds: RUBIA_TEST_LONG=1";
  ModuleImage i = image({"sleep_120_a"});
  std::vector<pid_t> processes;
  for (int n = 0; n < 8; ++n)
    processes.push_back(ask(i, false));
  for (pid_t process : processes)
    EXPECT_TRUE(succeeded(process));
  EXPECT_EQ(times(CacheEvent::Compiled), 1u);
}

TEST_F(Waiting, LongAStoppedCompileProcessIsWaitedForTenSecondsAtMost) {
  if (!getenv("RUBIA_TEST_LONG"))
    GTEST_SKIP() << "takes 9 seconds: RUBIA_TEST_LONG=1";
  ModuleImage i = image({"stop_a"});
  pid_t stopped = ask(i, true);
  usleep(1'000'000);
  Clock::time_point begin = Clock::now();
  std::vector<pid_t> processes;
  for (int n = 0; n < 4; ++n)
    processes.push_back(ask(i, false));
  for (pid_t process : processes)
    EXPECT_TRUE(succeeded(process));
  printf("went on after %.1f s\n", secondsSince(begin));
  EXPECT_LT(secondsSince(begin), 10.5);
  kill(stopped, SIGKILL);
  waitpid(stopped, nullptr, 0);
}

} // namespace
