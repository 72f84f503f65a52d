// The supervisor: a queue, compile processes with limits, and an answer for every request, whatever
// becomes of the process that served it. One thread, one poll loop.
#include "runtime/worker/Supervisor.h"
#include "runtime/WorkerLimits.h"
#include "runtime/lib/Protocol.h"
#include "runtime/worker/CompileProcess.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;

extern char **environ;

namespace rubia::runtime {

namespace {
using Clock = std::chrono::steady_clock;
using protocol::Descriptor;

struct Job {
  protocol::Request request;
  Descriptor image, reply;
};

struct Process {
  pid_t pid = 0;
  Descriptor socket;
  std::unique_ptr<Job> job; // null: idle
  Clock::time_point deadline;
  bool timedOut = false;
};

constexpr size_t kMaxQueue = 200;

class Supervisor {
public:
  explicit Supervisor(int socket) : clients(socket) {
    // A second process only pays where there is a core for it.
    if (!limits.processes)
      limits.processes = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  }
  int run();

private:
  bool acceptRequest();
  void dispatch();
  Process *idleProcess();
  void heard(Process &process);
  void ended(Process &process);
  int timeout() const;

  int clients;
  WorkerLimits limits = WorkerLimits::fromEnvironment();
  std::deque<std::unique_ptr<Job>> queue;
  std::vector<std::unique_ptr<Process>> processes;
};

void answerFailure(const Job &job, protocol::Outcome outcome, const Twine &text,
                   uint64_t peakBytes = 0) {
  std::string message = text.str();
  protocol::sendAnswer(job.reply.get(), outcome, arrayRefFromStringRef(message), peakBytes);
}

std::unique_ptr<Process> startProcess() {
  auto [ours, theirs] = protocol::socketPair();
  if (!ours)
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
  if (!protocol::receive(clients, job->request, job->image, job->reply))
    return false;
  queue.push_back(std::move(job));
  return true;
}

Process *Supervisor::idleProcess() {
  for (std::unique_ptr<Process> &process : processes)
    if (!process->job)
      return process.get();
  if (processes.size() >= limits.processes)
    return nullptr;
  std::unique_ptr<Process> process = startProcess();
  if (!process)
    return nullptr;
  processes.push_back(std::move(process));
  return processes.back().get();
}

void Supervisor::dispatch() {
  while (!queue.empty()) {
    Process *process = idleProcess();
    if (!process && processes.empty()) {
      answerFailure(*queue.front(), protocol::Outcome::Trouble,
                    Twine("cannot start a compile process: ") + strerror(errno));
      queue.pop_front();
      continue;
    }
    if (!process)
      return;
    Job &job = *queue.front();
    if (!protocol::send(process->socket.get(), job.request, job.image.get(), job.reply.get())) {
      ended(*process); // it left between two requests
      continue;
    }
    process->job = std::move(queue.front());
    process->deadline = Clock::now() + std::chrono::seconds(limits.secondsPerUnit);
    queue.pop_front();
  }
}

// Why a process is gone, for the client whose request it had.
std::string reasonOf(int status, bool timedOut, unsigned secondsPerUnit) {
  if (timedOut)
    return "took longer than " + std::to_string(secondsPerUnit) + " s";
  if (WIFSIGNALED(status))
    return std::string("crashed: ") + strsignal(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
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
    answerFailure(*process.job,
                  process.timedOut ? protocol::Outcome::Refused : protocol::Outcome::Crashed,
                  "the compiler " + reasonOf(status, process.timedOut, limits.secondsPerUnit),
                  uint64_t(usage.ru_maxrss) * 1024);
  llvm::erase_if(processes, [&](auto &p) { return p.get() == &process; });
}

void Supervisor::heard(Process &process) {
  char done;
  if (read(process.socket.get(), &done, 1) != 1)
    return ended(process);
  process.job.reset();
  if (done == kDoneAndLeaving)
    ended(process);
}

int Supervisor::timeout() const {
  int result = -1;
  for (const std::unique_ptr<Process> &process : processes)
    if (process->job) {
      auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(process->deadline - Clock::now())
              .count();
      int ms = std::max<long>(left, 0) + 1;
      result = result < 0 ? ms : std::min(result, ms);
    }
  return result;
}

int Supervisor::run() {
  for (;;) {
    dispatch();
    // Every queued request holds two descriptors: the rest waits in the socket.
    short wanted = queue.size() < kMaxQueue ? POLLIN : 0;
    std::vector<pollfd> watched{{clients, wanted, 0}};
    std::vector<Process *> owners;
    for (std::unique_ptr<Process> &process : processes) {
      watched.push_back({process->socket.get(), POLLIN, 0});
      owners.push_back(process.get());
    }
    if (poll(watched.data(), watched.size(), timeout()) < 0 && errno != EINTR)
      return 1;
    for (size_t i = 0; i < owners.size(); ++i) {
      Process &process = *owners[i];
      if (watched[i + 1].revents) {
        heard(process);
      } else if (process.job && Clock::now() >= process.deadline) {
        process.timedOut = true;
        ended(process);
      }
    }
    if (watched[0].revents && !acceptRequest())
      break;
  }
  // The program is gone; nobody waits for what is still being compiled.
  for (std::unique_ptr<Process> &process : processes) {
    kill(process->pid, SIGKILL);
    waitpid(process->pid, nullptr, 0);
  }
  return 0;
}
} // namespace

int runSupervisor(int socket) {
  signal(SIGPIPE, SIG_IGN);
  return Supervisor(socket).run();
}

} // namespace rubia::runtime
