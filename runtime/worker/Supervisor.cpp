// SPDX-License-Identifier: Apache-2.0
// The supervisor: the remote cache, a queue, compile processes with limits, and an answer for every
// request, whatever becomes of the process that served it. One thread, one poll loop; the network
// has threads of its own. What somebody waits for never waits for what was asked for ahead.
#include "runtime/worker/Supervisor.h"
#include "runtime/base/Log.h"
#include "runtime/compiler/CompilerIdentity.h"
#include "runtime/compiler/RequestEntry.h"
#include "runtime/compiler/WorkerLimits.h"
#include "runtime/worker/CompileProcess.h"
#include "runtime/worker/Dumps.h"
#include "runtime/worker/RemoteCache.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

namespace {
using Clock = std::chrono::steady_clock;
using protocol::Outcome;
using protocol::Remote;

struct Job {
  protocol::Request request;
  protocol::Descriptors files;
  std::string key; // if the remote cache is asked
  uint64_t ticket = 0;
  unsigned dumps = 0;         // that its compile process has handed over
  unsigned partsDone = 0;     // for which it got more time
  Clock::time_point deadline; // of the remote cache, then of the compile process
};
using JobPointer = std::unique_ptr<Job>;

struct Process {
  pid_t pid = 0;
  FileDescriptor socket;
  JobPointer job;    // null: idle
  std::string about; // what it compiles
  unsigned served = 0;
  bool timedOut = false;

  bool isBusyFor(bool ahead) const { return job && job->request.ahead == ahead; }
};

// Every request that waits holds three descriptors: the rest waits in the socket. A limit that the
// program was started with is raised as far as it may be.
constexpr size_t kMaxQueue = 200, kDescriptorsOfRequest = 3;
size_t queueLimit() {
  constexpr rlim_t kOthers = 64; // sockets of compile processes, transfers of the remote cache
  constexpr rlim_t kWanted = kMaxQueue * kDescriptorsOfRequest + kOthers;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit))
    return 1;
  if (limit.rlim_cur < kWanted) {
    limit.rlim_cur = std::min(kWanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit))
      getrlimit(RLIMIT_NOFILE, &limit);
  }
  rlim_t left = limit.rlim_cur > kOthers ? limit.rlim_cur - kOthers : 0;
  return std::clamp<size_t>(left / kDescriptorsOfRequest, 1, kMaxQueue);
}
// A limit of its stack that the program was started with is not meant for compile processes, which
// get the supervisor's when they are started. Returns whether theirs is large enough.
bool raiseStackLimit() {
  constexpr rlim_t kWanted = 8 << 20; // what LLVM is tested with
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= kWanted)
    return true;
  const rlimit raised{kWanted, std::max(kWanted, limit.rlim_max)};
  if (!setrlimit(RLIMIT_STACK, &raised))
    return true;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_STACK, &limit);
  return false;
}
constexpr std::chrono::seconds kPulse{1};
// What a compile process may hand over: an entry with its key and metadata, and texts.
constexpr uint64_t kMaxEntryFile = kMaxPayloadBytes + (1 << 20), kMaxText = 1 << 16;
// What is heard of a compile process before others have their turn, and its time is looked at: one
// that was taken over may never stop.
constexpr unsigned kMaxHeard = 256;
// How long results of a program that has ended may still be on their way to the remote cache.
constexpr unsigned kFinishMs = 10'000;

class Supervisor {
public:
  explicit Supervisor(int socket) : clients(socket), remote(RemoteCache::from({})) {}
  int run();

private:
  bool acceptRequest();
  void prioritize(const protocol::Request &request);
  void fetch(JobPointer job);
  void takeFetched();
  void giveUpFetching();
  void enqueue(JobPointer job);
  void dispatch(std::deque<JobPointer> &queue, bool ahead);
  Process *idleProcess(bool ahead);
  void store(const Job &job, std::vector<uint8_t> bytes);
  bool heard(Process &process);
  bool hear(Process &process);
  void drain();
  void ended(Process &process);
  void pulse();
  int timeout() const;
  void finish();

  int clients;
  const size_t maxQueue = queueLimit();
  const bool hasStack = raiseStackLimit();
  WorkerLimits limits = WorkerLimits::from({});
  std::unique_ptr<RemoteCache> remote; // null: none
  const Dumps dumps{{}};
  uint64_t tickets = 0;
  bool toldOfSandbox = false;
  Clock::time_point nextPulse = Clock::now();
  std::deque<JobPointer> fetching, now, ahead;
  std::vector<std::unique_ptr<Process>> processes;
};

void answer(const Job &job, Outcome outcome, ArrayRef<uint8_t> bytes, uint64_t peakBytes = 0) {
  protocol::sendAnswer(job.files.reply.get(), outcome, bytes, peakBytes, job.request.remote);
}

void answerFailure(const Job &job, Outcome outcome, const Twine &text, uint64_t peakBytes = 0) {
  std::string message = text.str();
  answer(job, outcome, arrayRefFromStringRef(message), peakBytes);
}

std::unique_ptr<Process> startProcess() {
  auto [ours, theirs] = protocol::socketPair();
  // Of a process that does not read nothing is awaited.
  if (!ours || fcntl(ours.get(), F_SETFL, O_NONBLOCK))
    return nullptr;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  char name[] = "rubia-worker", mode[] = "compile";
  char *arguments[] = {name, mode, nullptr};
  auto process = std::make_unique<Process>();
  int error = posix_spawn(&process->pid, "/proc/self/exe", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  process->socket = std::move(ours);
  return error ? nullptr : std::move(process);
}

bool Supervisor::acceptRequest() {
  auto job = std::make_unique<Job>();
  if (!protocol::receive(clients, job->request, job->files))
    return false;
  job->request.arch[sizeof(job->request.arch) - 1] = 0;
  if (job->request.prioritize)
    prioritize(job->request);
  else
    fetch(std::move(job));
  return true;
}

// What was asked for ahead is needed now.
void Supervisor::prioritize(const protocol::Request &request) {
  auto isMeant = [&](const JobPointer &job) {
    const protocol::Request &r = job->request;
    return r.want == request.want && r.digest == request.digest && r.unit == request.unit &&
           r.computeCapability == request.computeCapability && r.code == request.code &&
           !strcmp(r.arch, request.arch);
  };
  for (const JobPointer &job : fetching)
    if (isMeant(job))
      job->request.ahead = false;
  for (const std::unique_ptr<Process> &process : processes)
    if (process->job && isMeant(process->job))
      process->job->request.ahead = false;
  for (auto i = ahead.begin(); i != ahead.end();)
    if (isMeant(*i)) {
      (*i)->request.ahead = false;
      now.push_back(std::move(*i));
      i = ahead.erase(i);
    } else {
      ++i;
    }
}

void Supervisor::enqueue(JobPointer job) {
  if (!job->request.mayCompile)
    return answer(*job, Outcome::Absent, {});
  (job->request.ahead ? ahead : now).push_back(std::move(job));
}

// The remote cache first, if there is one.
void Supervisor::fetch(JobPointer job) {
  if (!remote)
    return enqueue(std::move(job));
  Expected<std::string> compiler = compilerIdentity();
  if (!compiler) {
    log(LogLevel::Warning, "no remote kernel cache: " + toString(compiler.takeError()));
    remote = nullptr;
    return enqueue(std::move(job));
  }
  job->key = keyOf(job->request, *compiler);
  if (dumps.any() && job->request.mayCompile)
    return enqueue(std::move(job));
  job->ticket = ++tickets;
  if (!remote->fetch(job->ticket, job->key)) {
    job->request.remote = Remote::Paused;
    return enqueue(std::move(job));
  }
  // More than the remote's own time: it knows better what the problem is, and tells it. On a busy
  // machine its thread comes late.
  job->deadline = Clock::now() + std::chrono::milliseconds(remote->timeoutMs() + 1000);
  fetching.push_back(std::move(job));
}

void Supervisor::takeFetched() {
  for (RemoteCache::Fetched &fetched : remote->takeFetched()) {
    auto place = find_if(fetching, [&](auto &job) { return job->ticket == fetched.ticket; });
    if (place == fetching.end())
      continue; // it took too long
    JobPointer job = std::move(*place);
    fetching.erase(place);
    job->request.remote = fetched.outcome;
    if (fetched.outcome == Remote::Hit)
      answer(*job, Outcome::Result, fetched.entry.payload);
    else
      enqueue(std::move(job));
  }
}

void Supervisor::giveUpFetching() {
  while (!fetching.empty() && Clock::now() >= fetching.front()->deadline) {
    fetching.front()->request.remote = Remote::Failed;
    enqueue(std::move(fetching.front()));
    fetching.pop_front();
  }
}

// Processes that compile ahead do not count for what is needed now.
Process *Supervisor::idleProcess(bool ahead) {
  const size_t busy =
      count_if(processes, [&](auto &p) { return ahead ? bool(p->job) : p->isBusyFor(false); });
  if (busy >= limits.processCount())
    return nullptr;
  for (std::unique_ptr<Process> &process : processes)
    if (!process->job)
      return process.get();
  std::unique_ptr<Process> process = startProcess();
  if (!process)
    return nullptr;
  processes.push_back(std::move(process));
  return processes.back().get();
}

void Supervisor::dispatch(std::deque<JobPointer> &queue, bool ahead) {
  while (!queue.empty()) {
    Process *process = idleProcess(ahead);
    if (!process && processes.empty()) {
      answerFailure(*queue.front(), Outcome::Problem,
                    Twine("cannot start a compile process: ") + strerror(errno));
      queue.pop_front();
      continue;
    }
    if (!process)
      return;
    Job &job = *queue.front();
    if (!protocol::send(process->socket.get(), job.request, job.files)) {
      ended(*process); // it left between two requests
      continue;
    }
    process->job = std::move(queue.front());
    process->job->deadline = Clock::now() + std::chrono::seconds(limits.secondsPerUnit);
    queue.pop_front();
  }
}

// Why a process is gone, for the client whose request it had.
std::string reasonOf(int status, bool timedOut, const WorkerLimits &limits) {
  if (timedOut)
    return "took longer than " + std::to_string(limits.secondsPerUnit) + " s";
  if (WIFSIGNALED(status))
    return std::string("crashed: ") + strsignal(WTERMSIG(status));
  if (WEXITSTATUS(status) == kOutOfMemory)
    return "ran out of memory (it may take " + std::to_string(limits.bytesPerProcess >> 20) +
           " MiB)";
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

// Signals that a process brings upon itself. All others come from outside, or from limits that the
// program runs under.
bool isOwnFault(int signal, bool hasStack) {
  switch (signal) {
  case SIGSEGV:
    return hasStack; // else it may be its limit
  case SIGBUS:
  case SIGILL:
  case SIGFPE:
  case SIGABRT:
  case SIGTRAP:
    return true;
  }
  return false;
}

// Limits are this program's, and memory is short now and here: another one may fare better.
Outcome outcomeOf(int status, const Process &process, bool hasStack) {
  if (process.timedOut)
    return Outcome::Limited;
  if (process.about.empty() || (WIFSIGNALED(status) && !isOwnFault(WTERMSIG(status), hasStack)) ||
      (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory))
    return Outcome::Killed;
  return Outcome::Crashed;
}

void Supervisor::ended(Process &process) {
  process.socket = {};
  kill(process.pid, SIGKILL);
  int status = 0;
  rusage usage{};
  while (wait4(process.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  bool told = WIFEXITED(status) && WEXITSTATUS(status) == kFatalErrorTold;
  if (process.job && !told)
    // Who takes too long would do so again; who crashed may have been short of memory.
    answerFailure(*process.job, outcomeOf(status, process, hasStack),
                  process.about + (process.about.empty() ? "" : ": ") + "the compiler " +
                      reasonOf(status, process.timedOut, limits),
                  uint64_t(usage.ru_maxrss) * 1024);
  llvm::erase_if(processes, [&](auto &p) { return p.get() == &process; });
}

// The process may have fallen to what it compiles: what it gives is stored, and signed, as the
// result that it was asked for or not at all.
void Supervisor::store(const Job &job, std::vector<uint8_t> bytes) {
  auto isAskedFor = [&](const CacheEntry &entry, const Digest &) -> std::string {
    if (entry.key != job.key)
      return "is that of another key";
    return entry.kind != CacheEntry::Kind::Result || entry.expires ? "is no result" : "";
  };
  Expected<CacheEntry> entry = decodeEntry(bytes, isAskedFor);
  if (entry)
    remote->store(job.key, std::move(bytes));
  else
    log(LogLevel::Error, "kernel cache: what a compile process made of unit " +
                             Twine(job.request.unit) + " " + toString(entry.takeError()) +
                             "; it is not stored remotely");
}

// One word of a process. Returns whether it is still there.
bool Supervisor::heard(Process &process) {
  char said;
  FileDescriptor file;
  // Who has nothing to do has nothing to say.
  if (!protocol::receiveByte(process.socket.get(), said, file) || !process.job) {
    ended(process);
    return false;
  }
  Expected<std::vector<uint8_t>> bytes =
      file ? readFile(file.get(), said == kEntry || said == kDump ? kMaxEntryFile : kMaxText)
           : std::vector<uint8_t>();
  if (!bytes) {
    log(LogLevel::Warning, "compile process: " + toString(bytes.takeError()));
    bytes = std::vector<uint8_t>();
  }
  if (said == kUnconfined) {
    if (!std::exchange(toldOfSandbox, true))
      log(LogLevel::Warning, "compile processes are without a part of their sandbox: " +
                                 toStringRef(ArrayRef(*bytes)));
    return true;
  }
  if (said == kAbout) {
    process.about = toStringRef(ArrayRef(*bytes)).str();
    return true;
  }
  if (said == kPartDone) {
    if (process.job->partsDone++ < kMaxPartsDone)
      process.job->deadline = Clock::now() + std::chrono::seconds(limits.secondsPerUnit);
    return true;
  }
  if (said == kDump) {
    if (process.job->dumps++ < countDumpKinds())
      dumps.write(process.job->request, *bytes);
    protocol::sendByte(process.socket.get(), kDump, -1); // where it is gone, its end is noticed
    return true;
  }
  if (said == kEntry) {
    if (remote)
      store(*process.job, std::move(*bytes));
    return true;
  }
  // The answer has been given, and ends here: who says so may have given none, and keep the socket.
  shutdown(process.job->files.reply.get(), SHUT_WR);
  process.job.reset();
  process.about.clear();
  // More than the limit were started while all compiled ahead.
  const bool isOver = said == kDoneAndLeaving || ++process.served >= kUnitsPerProcess ||
                      processes.size() > limits.processCount();
  if (isOver)
    ended(process);
  return !isOver;
}

// What a process has said, up to kMaxHeard words. Returns whether it is still there.
bool Supervisor::hear(Process &process) {
  for (unsigned words = 0; words < kMaxHeard; ++words) {
    pollfd watched{process.socket.get(), POLLIN, 0};
    if (poll(&watched, 1, 0) <= 0)
      break;
    if (!heard(process))
      return false;
  }
  return true;
}

bool isStopped(pid_t pid) {
  auto status = MemoryBuffer::getFileAsStream("/proc/" + std::to_string(pid) + "/stat");
  StringRef state = status ? (*status)->getBuffer().rsplit(')').second.ltrim() : "";
  return state.starts_with("T") || state.starts_with("t");
}

// Tells those who wait that their requests go on; not so if the process was stopped.
void Supervisor::pulse() {
  nextPulse = Clock::now() + kPulse;
  auto goesOn = [](const JobPointer &job) { eventfd_write(job->files.pulse.get(), 1); };
  for (const auto *queue : {&fetching, &now, &ahead})
    for_each(*queue, goesOn);
  for (const std::unique_ptr<Process> &process : processes)
    if (process->job && !isStopped(process->pid))
      goesOn(process->job);
}

// Until something has to be done unasked; -1: nothing.
int Supervisor::timeout() const {
  bool any = !fetching.empty() || !now.empty() || !ahead.empty();
  Clock::time_point first = nextPulse;
  if (!fetching.empty())
    first = std::min(first, fetching.front()->deadline);
  for (const std::unique_ptr<Process> &process : processes)
    if (process->job) {
      any = true;
      first = std::min(first, process->job->deadline);
    }
  if (!any)
    return -1;
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now()).count();
  return int(std::max<long>(left, 0) + 1);
}

// What the processes have said that we did not hear.
void Supervisor::drain() {
  std::vector<Process *> all;
  all.reserve(processes.size());
  for (const std::unique_ptr<Process> &process : processes)
    all.push_back(process.get());
  for (Process *process : all)
    (void)hear(*process);
}

// The program is gone; nobody waits for what is still being compiled, but what was compiled is
// stored.
void Supervisor::finish() {
  drain();
  for (std::unique_ptr<Process> &process : processes) {
    kill(process->pid, SIGKILL);
    waitpid(process->pid, nullptr, 0);
  }
  if (!remote)
    return;
  // Whoever reads what the program wrote to stderr must see its end now.
  if (int null = open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) {
    dup2(null, 1);
    dup2(null, 2);
  }
  remote->finish(kFinishMs);
}

int Supervisor::run() {
  for (;;) {
    giveUpFetching();
    dispatch(now, false);
    dispatch(ahead, true);
    if (Clock::now() >= nextPulse)
      pulse();
    const bool full = fetching.size() + now.size() + ahead.size() >= maxQueue;
    std::vector<pollfd> watched{{clients, short(full ? 0 : POLLIN), 0},
                                {remote ? remote->readyDescriptor() : -1, POLLIN, 0}};
    std::vector<Process *> owners;
    for (std::unique_ptr<Process> &process : processes) {
      watched.push_back({process->socket.get(), POLLIN, 0});
      owners.push_back(process.get());
    }
    if (poll(watched.data(), watched.size(), timeout()) < 0 && errno != EINTR)
      return 1;
    if (watched[1].revents)
      takeFetched();
    for (size_t i = 0; i < owners.size(); ++i) {
      Process &process = *owners[i];
      if (watched[i + 2].revents && !hear(process))
        continue;
      if (process.job && Clock::now() >= process.job->deadline) {
        process.timedOut = true;
        ended(process);
      }
    }
    if (watched[0].revents && !acceptRequest())
      break;
  }
  finish();
  return 0;
}
} // namespace

int runSupervisor(int socket) {
  signal(SIGPIPE, SIG_IGN);
  return Supervisor(socket).run();
}

} // namespace rubia::runtime
