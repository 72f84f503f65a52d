// SPDX-License-Identifier: Apache-2.0
// rubia-worker with defects: a unit dies, hangs or eats memory as the name of its first kernel says
// (abort_1, output_1, segfault_1, terminated_1, cpu_1, overflow_1, hang_1, memory_1), takes so many
// tenths of a second (sleep_15_1), takes five times five of them and says so each time (parts_1),
// says so for ever (chatter_1), lasts until the folder RUBIA_TEST_GATES has a file of its name
// (gate_1), or stops its process if RUBIA_TEST_STOP is set (stop_1). It may try what its sandbox
// forbids (escape_1), or hand its supervisor an entry that nobody asked for (forge_1). It may keep
// its supervisor busy: with words without end (flood_1), by not reading what it is told (unread_1),
// by saying that it is done without an answer (mute_1), or, once it has answered, by filling what
// the supervisor beats (clog_1). Everything else is the worker as it is shipped: the linker puts
// this in front of PtxImage::compile (--wrap), which needs no seam there.
#include "runtime/cache/CacheEntry.h"
#include "runtime/compiler/Protocol.h"
#include "runtime/worker/CompileProcess.h"
#include "runtime/worker/Pipeline.h"
#include "llvm/Support/ErrorHandling.h"
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#define COMPILE "_ZNK5rubia7runtime8PtxImage7compileERKNS_8lowering4UnitERKNS0_15PipelineOptionsE"

using namespace llvm;
using namespace rubia;

using Result = Expected<codegen::CodeObject>;
Result realCompile(const runtime::PtxImage *, const lowering::Unit &,
                   const runtime::PipelineOptions &) asm("__real_" COMPILE);
// What worked of what code that has taken over the process may try.
static std::string escape() {
  std::string done;
  auto attempt = [&](const char *what, int result) { done += result >= 0 ? what : ""; };
  attempt(" read", open("/etc/passwd", O_RDONLY));
  attempt(" write", open("/dev/null", O_WRONLY));
  attempt(" socket", socket(AF_INET, SOCK_STREAM, 0));
  attempt(" signal", kill(getppid(), 0));
  const pid_t child = fork();
  if (child == 0)
    _exit(0);
  if (child > 0)
    waitpid(child, nullptr, 0);
  attempt(" process", child);
  return done;
}

// An entry of another key, which a cache would take for the code of another kernel.
static void forge() {
  Expected<std::vector<uint8_t>> bytes = runtime::encodeEntry({"another key", "{}", {1, 2, 3}});
  if (runtime::FileDescriptor file = runtime::protocol::memoryFile(cantFail(std::move(bytes))))
    runtime::protocol::sendByte(3, runtime::kEntry, file.get());
}

Result faultyCompile(const runtime::PtxImage *, const lowering::Unit &,
                     const runtime::PipelineOptions &) asm("__wrap_" COMPILE);

static void say(char word) { runtime::protocol::sendByte(3, word, -1); }

// By several threads, so that there is always a word to hear.
static void flood() {
  auto talk = [] {
    for (;;)
      say(runtime::kAbout);
  };
  for (unsigned i = 0; i < 7; ++i)
    std::thread(talk).detach();
  talk();
}

// More than a socket holds of answers that nobody reads.
static void askAndNotRead() {
  for (unsigned i = 0; i < 5000; ++i)
    say(runtime::kDump);
}

// The answer goes to the only other socket; events have no type of file.
static void answerAndClog() {
  int reply = -1, pulse = -1;
  for (int file = 4; file < 64; ++file) {
    struct stat status;
    if (fstat(file, &status) != 0)
      continue;
    reply = S_ISSOCK(status.st_mode) ? file : reply;
    pulse = (status.st_mode & S_IFMT) == 0 ? file : pulse;
  }
  runtime::protocol::sendAnswer(reply, runtime::protocol::Outcome::Refused, {});
  usleep(500'000); // the client is gone
  const uint64_t full = ~uint64_t(1);
  (void)!write(pulse, &full, sizeof(full));
  usleep(2'500'000);
}

// Tells that it has come, and waits.
static void passGate(const std::string &path) {
  const int reached = open((path + ".reached").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (reached >= 0)
    close(reached);
  while (reached >= 0 && access(path.c_str(), F_OK) != 0)
    usleep(1000);
}

static unsigned recurse(unsigned depth) {
  volatile char frame[4096];
  frame[depth % sizeof(frame)] = 1;
  return depth ? recurse(depth + 1) + frame[0] : 0;
}

Result faultyCompile(const runtime::PtxImage *image, const lowering::Unit &unit,
                     const runtime::PipelineOptions &options) {
  StringRef name = unit.kernels.front()->name;
  if (name.starts_with("abort_"))
    abort();
  if (name.starts_with("output_")) // as LLVM's streams do that were not asked
    report_fatal_error("IO failure on output stream: No space left on device");
  if (name.starts_with("segfault_"))
    raise(SIGSEGV);
  if (name.starts_with("terminated_"))
    raise(SIGTERM);
  if (name.starts_with("cpu_"))
    raise(SIGXCPU);
  if (name.starts_with("overflow_"))
    _exit(recurse(1));
  if (name.starts_with("escape_"))
    if (std::string done = escape(); !done.empty())
      return createStringError(inconvertibleErrorCode(), "escaped:" + done);
  if (name.starts_with("forge_"))
    forge();
  if (name.starts_with("flood_"))
    flood();
  if (name.starts_with("unread_"))
    askAndNotRead();
  if (name.starts_with("clog_"))
    answerAndClog();
  if (name.starts_with("mute_"))
    say(runtime::kDone);
  if (name.starts_with("hang_") || name.starts_with("mute_"))
    for (;;)
      usleep(100'000);
  if (name.starts_with("memory_")) {
    const std::vector<char> large(uint64_t(8) << 30, 1);
    [[maybe_unused]] volatile const char *used = large.data(); // else it is optimised away
    return createStringError("the allocation succeeded: " + Twine(large[large.size() / 2 + *used]));
  }
  if (name.consume_front("sleep_")) {
    unsigned tenths = 0;
    name.consumeInteger(10, tenths);
    usleep(tenths * 100'000);
  }
  if (const char *gates = getenv("RUBIA_TEST_GATES"); gates && name.starts_with("gate_"))
    passGate(std::string(gates) + "/" + name.str());
  if (name.starts_with("parts_"))
    for (unsigned part = 1; part <= 5; ++part) {
      usleep(500'000);
      options.codegen.onPart(part, 6);
    }
  if (name.starts_with("chatter_"))
    for (unsigned part = 1;; ++part) {
      usleep(10'000);
      options.codegen.onPart(part, part + 1);
    }
  if (name.starts_with("stop_") && getenv("RUBIA_TEST_STOP"))
    raise(SIGSTOP);
  return realCompile(image, unit, options);
}
