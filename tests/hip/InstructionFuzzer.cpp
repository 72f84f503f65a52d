// SPDX-License-Identifier: Apache-2.0
// Random and damaged instruction streams: whatever a code object holds, the emulator executes it,
// refuses it or ends it with a fault, and neither crashes, hangs nor touches what is not its own
// (which sanitizers see).
//
//   instruction-fuzzer [--seconds N] [--seed N] [--arch A,B] [--at-once N]
//   instruction-fuzzer --replay ARCH:SEED:NUMBER[:batch]
//
// A code object holds many streams, and each is a launch of its own by the emulator's interface,
// which needs no threads. One of kAlone has a code object for itself and goes through HIP's
// functions. All is done in child processes under limits, some thousand streams in each. What a
// child dies of is looked for among the streams of its code object, one by one. Exits with 1 if a
// child died or hung, with the words of the stream on stderr and how to see it again.
#define __HIP_PLATFORM_AMD__ 1
#include "emulator/Emulator.h"
#include "tests/Targets.h"
#include "tests/hip/InstructionStreams.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <hip/hip_runtime_api.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace rubia::fuzz;
namespace emulator = rubia::emulator;

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kStreamsOfChild = 4096; // so that settings vary
constexpr unsigned kAlone = 64;
constexpr auto kHang = std::chrono::seconds(60); // an endless loop ends earlier, on any machine
constexpr uint64_t kInstructions = 10'000;       // of a wave: for endless loops

// Children.

/// What a child tells its parent.
struct Progress {
  std::atomic<uint64_t> number;          // of the stream that it executes
  std::atomic<uint64_t> batch, batchEnd; // those of its code object
  std::atomic<bool> alone;               // it has a code object for itself
  std::atomic<uint64_t> executed;
  std::atomic<uint64_t> ended; // launches without an error
  std::atomic<uint32_t> words;
  uint32_t word[kBodyWords];
};

void limit(int resource, rlim_t value) {
  const rlimit both = {value, value};
  setrlimit(resource, &both);
}

/// Settings of a child, so that all ways to run and to look at code get their share.
void chooseSettings(Random &random, const std::string &arch) {
  setenv("RUBIA_ARCH", arch.c_str(), 1);
  setenv("RUBIA_EMULATOR_TIMEOUT", "0.1", 1);
  static constexpr const char *kIsas[] = {"baseline", "avx2", "avx512", "avx512"};
  setenv("RUBIA_EMULATOR_ISA", kIsas[random() % 4], 1);
  if (random() % 2)
    setenv("RUBIA_EMULATOR_BOUNDS", random() % 2 ? "lds" : "lds,pages", 1);
  switch (random() % 8) {
  case 0:
    setenv("RUBIA_EMULATOR_CHECK", "all", 1);
    break;
  case 1:
    setenv("RUBIA_EMULATOR_CHECK", "order", 1);
    break;
  case 2:
    setenv("RUBIA_EMULATOR_TRACE", "/dev/null", 1);
    setenv("RUBIA_EMULATOR_PROFILE", "/dev/null", 1);
    break;
  case 3:
    setenv("RUBIA_EMULATOR_STATS", "/dev/null", 1);
    setenv("RUBIA_EMULATOR_TRANS", "worst", 1);
    break;
  default:
    break;
  }
}

struct Stream {
  uint64_t number = 0;
  std::vector<uint32_t> words;
  bool sized = false;
  unsigned groups = 1, threads = 1;
};

Stream streamOf(const Processor &p, uint64_t seed, uint64_t number) {
  Random random(seed ^ number * 0x9e3779b97f4a7c15);
  Stream stream;
  stream.number = number;
  stream.words = makeStream(p, random);
  stream.sized = random() % 8 == 0;
  stream.groups = 1 + unsigned(random() % 2);
  stream.threads = 1 + unsigned(random() % 128);
  return stream;
}

enum class Mode {
  Batches, // many streams in a code object
  Alone,   // each has its own
  Search,  // the same for what has been counted
};

class Child {
public:
  Child(const Processor &p, uint64_t seed, Progress &progress)
      : p(p), seed(seed), progress(progress) {}

  [[noreturn]] void run(uint64_t first, uint64_t end, Mode mode) {
    Random settings(seed * 7919 + first / kStreamsOfChild);
    chooseSettings(settings, p.name);
    limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
    limit(RLIMIT_AS, rlim_t(8) << 30);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
#endif
    for (void *&one : ofHip)
      if (hipMalloc(&one, 4096))
        _exit(3);
    memory.emplace(); // as the settings say
    for (void *&one : own) {
      Expected<void *> made = memory->allocateZeroed(4096, emulator::MemoryKind::Device);
      if (!made)
        _exit(3);
      one = *made;
    }
    counts = mode != Mode::Search;
    progress.alone = mode != Mode::Batches;
    for (uint64_t number = first; number < end;)
      if (mode == Mode::Batches)
        number = executeBatch(number, end);
      else
        executeAlone(streamOf(p, seed, number++));
    _exit(0);
  }

private:
  void begin(const Stream &stream) {
    copy(stream.words, progress.word);
    progress.words = uint32_t(stream.words.size());
    progress.number = stream.number;
  }

  void executeAlone(const Stream &stream) {
    begin(stream);
    const Bytes object = objectOf(p, stream.words, stream.sized);
    hipModule_t module;
    if (!hipModuleLoadData(&module, object.data())) {
      hipFunction_t function;
      uint32_t offset = 0;
      void *arguments[] = {&ofHip[0], &ofHip[1], &offset};
      if (!hipModuleGetFunction(&function, module, "k") &&
          !hipModuleLaunchKernel(function, stream.groups, 1, 1, stream.threads, 1, 1, 0, nullptr,
                                 arguments, nullptr) &&
          !hipDeviceSynchronize())
        progress.ended.fetch_add(counts);
      (void)hipDeviceReset();
      (void)hipModuleUnload(module);
    }
    progress.executed.fetch_add(counts);
  }

  /// As many streams from `number` on as there is room for. Returns the next one's.
  uint64_t executeBatch(uint64_t number, uint64_t end) {
    Batch batch(p);
    std::vector<std::pair<Stream, uint32_t>> streams;
    std::vector<Stream> alone;
    progress.batch = number;
    for (uint32_t offset = 0; number < end; ++number) {
      Stream stream = streamOf(p, seed, number);
      if (number % kAlone == 0)
        alone.push_back(std::move(stream));
      else if (batch.add(stream.words, offset))
        streams.emplace_back(std::move(stream), offset);
      else
        break;
    }
    progress.batchEnd = number;
    progress.number = progress.batch.load();
    Expected<std::unique_ptr<emulator::CodeObject>> code =
        emulator::CodeObject::load(batch.finish(), *memory);
    if (!code) // streams are in an open range: no one can be refused now
      _exit(4);
    Random random(seed * 104729 + progress.batch);
    const bool isCounted = random() % 8 == 0;
    const uint32_t stack = random() % 8 == 0 ? 64 << 10 : 0;
    for (const auto &[stream, offset] : streams) {
      begin(stream);
      emulator::Launch launch;
      launch.kernel = (*code)->kernel("k");
      launch.grid.x = stream.groups;
      launch.block.x = stream.threads;
      uint8_t kernarg[20];
      memcpy(kernarg, own, 16);
      memcpy(kernarg + 16, &offset, 4);
      launch.kernarg = kernarg;
      launch.stackBytes = stack;
      launch.hostThreads = 1;
      launch.instructionLimit = kInstructions;
      launch.countOperations = isCounted;
      Expected<emulator::Statistics> statistics = emulator::run(launch, *memory);
      if (statistics)
        progress.ended.fetch_add(1);
      else
        (void)toString(statistics.takeError());
      progress.executed.fetch_add(1);
    }
    progress.alone = true;
    for (const Stream &stream : alone)
      executeAlone(stream);
    progress.alone = false;
    return number;
  }

  const Processor &p;
  const uint64_t seed;
  Progress &progress;
  bool counts = true;
  std::optional<emulator::Memory> memory;
  void *ofHip[2] = {}, *own[2] = {};
};

/// One child at a time for a processor.
class Runner {
public:
  Runner(Processor processor, uint64_t seed) : p(std::move(processor)), seed(seed) {
    void *shared =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    progress = new (shared) Progress{};
  }

  bool isSound() const { return p.isSound(); }
  uint64_t executed() const { return progress->executed; }
  uint64_t ended() const { return progress->ended; }
  StringRef name() const { return p.name; }

  void start(uint64_t first, uint64_t end, Mode how) {
    mode = how;
    if (mode != Mode::Search)
      next = end;
    last = first;
    since = Clock::now();
    pid = fork();
    if (pid == 0)
      Child(p, seed, *progress).run(first, end, mode);
  }
  void startNext() { start(next, next + kStreamsOfChild - next % kStreamsOfChild, Mode::Batches); }

  /// Looks after the child. True if one has failed, and is told of.
  bool poll(bool restart) {
    if (pid == 0)
      return false;
    int status = 0;
    std::string what;
    if (waitpid(pid, &status, WNOHANG) == pid) {
      pid = 0;
      if (WIFSIGNALED(status))
        what = "signal " + itostr(WTERMSIG(status));
      else if (WEXITSTATUS(status) != 0)
        what = "exit status " + itostr(WEXITSTATUS(status));
    } else if (progress->number != last) {
      last = progress->number;
      since = Clock::now();
      return false;
    } else if (Clock::now() - since > kHang) {
      stop();
      what = "a hang";
    } else {
      return false;
    }
    const bool failed = !what.empty() || mode == Mode::Search;
    if (failed && !progress->alone) { // it is one of these
      next = progress->batchEnd;
      ofBatch = what;
      start(progress->batch, next, Mode::Search);
      return false;
    }
    if (failed)
      report(what);
    if (restart)
      startNext();
    return failed;
  }
  void stop() {
    if (pid == 0)
      return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = 0;
  }
  bool isRunning() const { return pid != 0; }

private:
  void report(const std::string &what) {
    if (mode == Mode::Batches) // in a stream that has a code object for itself
      next = progress->batchEnd;
    const std::string place = p.name + ":" + utostr(seed) + ":";
    if (what.empty()) {
      errs() << p.name << ": " << ofBatch << ", with streams together alone (--replay " << place
             << progress->batch << ":batch)\n";
      return;
    }
    errs() << p.name << ": " << what << " (--replay " << place << progress->number << "):";
    for (uint32_t i = 0; i < progress->words; ++i)
      errs() << " " << utohexstr(progress->word[i], true, 8);
    errs() << "\n";
  }

  const Processor p;
  const uint64_t seed;
  Progress *progress;
  Mode mode = Mode::Batches;
  std::string ofBatch; // what the child died of that streams are searched for
  pid_t pid = 0;
  uint64_t next = 0, last = 0;
  Clock::time_point since;
};

int usage() {
  errs() << "usage: instruction-fuzzer [--seconds N] [--seed N] [--arch A,B] [--at-once N]\n"
            "       instruction-fuzzer --replay ARCH:SEED:NUMBER[:batch]\n";
  return 2;
}

int replay(StringRef what) {
  SmallVector<StringRef> parts;
  what.split(parts, ':');
  uint64_t seed = 0, number = 0;
  const bool isBatch = parts.size() == 4 && parts[3] == "batch";
  if ((parts.size() != 3 && !isBatch) || parts[1].getAsInteger(0, seed) ||
      parts[2].getAsInteger(0, number))
    return usage();
  Runner runner(prepare(parts[0].str()), seed);
  runner.start(number, number + (isBatch ? kBatchWords : 1), isBatch ? Mode::Batches : Mode::Alone);
  while (runner.isRunning())
    if (runner.poll(false))
      return 1;
  outs() << "stream " << number << ": " << (runner.ended() ? "ended" : "refused, or a fault")
         << "\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  uint64_t seconds = 10, seed = 1, atOnce = std::max(1u, std::thread::hardware_concurrency());
  std::string processors;
  for (const char *name : rubia::test::testTargets())
    processors += (processors.empty() ? "" : ",") + std::string(name);
  for (int i = 1; i + 1 < argc; i += 2) {
    const StringRef name = argv[i], value = argv[i + 1];
    if (name == "--replay")
      return replay(value);
    if (name == "--arch")
      processors = value.str();
    else if ((name != "--seconds" || value.getAsInteger(0, seconds)) &&
             (name != "--seed" || value.getAsInteger(0, seed)) &&
             (name != "--at-once" || value.getAsInteger(0, atOnce) || atOnce == 0))
      return usage();
  }
  if (argc % 2 == 0)
    return usage();
  SmallVector<StringRef> names;
  StringRef(processors).split(names, ',');
  std::vector<Runner> runners;
  for (StringRef name : names) {
    runners.emplace_back(prepare(name.str()), seed);
    if (!runners.back().isSound()) {
      errs() << name << ": clang made no kernels\n";
      return 1;
    }
  }
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  unsigned failures = 0;
  // So many processors at a time take turns.
  for (size_t first = 0; first < runners.size(); first += atOnce) {
    const size_t count = std::min<size_t>(atOnce, runners.size() - first);
    const size_t rounds = (runners.size() - first + atOnce - 1) / atOnce;
    const auto turn = Clock::now() + (end - Clock::now()) / ptrdiff_t(rounds);
    MutableArrayRef<Runner> some = MutableArrayRef(runners).slice(first, count);
    for (Runner &runner : some)
      runner.startNext();
    while (Clock::now() < turn) {
      for (Runner &runner : some)
        failures += runner.poll(true);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    for (Runner &runner : some)
      runner.stop();
  }
  for (const Runner &runner : runners)
    outs() << runner.name() << ": " << runner.executed() << " streams, " << runner.ended()
           << " of them to their end\n";
  outs() << failures << " failures, seed " << seed << "\n";
  return failures ? 1 : 0;
}
