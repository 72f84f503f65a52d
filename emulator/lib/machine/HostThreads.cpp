// SPDX-License-Identifier: Apache-2.0
// A launch asks for help and does not wait for it to come: it works by itself at once, and calls
// that no thread has come to when it is done are dropped. So a launch of microseconds costs no more
// than waking threads. Those that nobody needs for a while end.
#include "emulator/lib/machine/HostThreads.h"
#include "emulator/lib/machine/InitialFloat.h"
#include "emulator/lib/machine/PerProcess.h"
#include "emulator/lib/machine/ThreadSignals.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <chrono>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace rubia::emulator {

static constexpr std::chrono::seconds kPatience(10);

unsigned hostProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
    return std::max(1u, unsigned(CPU_COUNT(&allowed)));
  return std::max(1u, std::thread::hardware_concurrency()); // more than a cpu_set_t has room for
}

HostThreads &HostThreads::instance() { return perProcess<HostThreads>(); }

void HostThreads::run(unsigned count, llvm::function_ref<void(unsigned)> work) {
  if (count <= 1)
    return work(0);
  Job job{work, 1, count, 0, {}};
  {
    std::lock_guard lock(mutex);
    jobs.push_back(&job);
    size_t wanted = 0;
    for (const Job *one : jobs)
      wanted += one->count - one->next;
    while (free < wanted && start()) // fewer will do
      ++free;
  }
  wake.notify_all();
  work(0);
  std::unique_lock lock(mutex);
  llvm::erase(jobs, &job);
  job.ended.wait(lock, [&] { return job.running == 0; });
}

bool HostThreads::start() {
  const NewThreadsTakeNoSignals guard;
  pthread_t thread;
  auto serve = [](void *threads) -> void * {
    static_cast<HostThreads *>(threads)->serve();
    return nullptr;
  };
  return ::pthread_create(&thread, nullptr, serve, this) == 0 && ::pthread_detach(thread) == 0;
}

void HostThreads::serve() {
  const InitialFloatEnvironment environment; // not that of who asked for a thread first
  std::unique_lock lock(mutex);
  for (;;) {
    const bool isWanted = wake.wait_for(lock, kPatience, [&] { return !jobs.empty(); });
    --free;
    if (!isWanted)
      return;
    Job &job = *jobs.front();
    const unsigned index = job.next++;
    if (job.next == job.count)
      jobs.erase(jobs.begin());
    ++job.running;
    lock.unlock();
    job.work(index);
    lock.lock();
    if (--job.running == 0)
      job.ended.notify_all(); // under the lock: the job lies on the stack of who waits
    ++free;
  }
}

} // namespace rubia::emulator
