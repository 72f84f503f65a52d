// SPDX-License-Identifier: Apache-2.0
// rubia-worker supervise|compile: started by libcuda and by itself, with a socket as descriptor 3;
// rubia-worker sandbox: by rubia doctor. Not for users.
#include "runtime/base/HeapPages.h"
#include "runtime/compiler/WorkerLimits.h"
#include "runtime/worker/CompileProcess.h"
#include "runtime/worker/Sandbox.h"
#include "runtime/worker/Supervisor.h"
#include "runtime/worker/sampler/ReadySampler.h"
#include "settings/Settings.h"
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>

using namespace rubia::runtime;

#ifdef RUBIA_JEMALLOC
// What jemalloc reads before main(): huge pages, as of keepHeapInHugePages().
extern "C" {
const char *malloc_conf = "thp:always,metadata_thp:auto";
}
#endif

static constexpr int kSocket = 3;

// A compilation that eats all memory must not take the program down with it.
static void limitMemory() {
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  const uint64_t bytes = WorkerLimits::from({}).bytesPerProcess;
  rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
#endif
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

// A program's limit of file sizes is not meant for what lies in our memory. Where it cannot be
// lifted, writing fails instead of ending the process.
static void liftFileLimit() {
  rlimit limit;
  if (!getrlimit(RLIMIT_FSIZE, &limit)) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  signal(SIGXFSZ, SIG_IGN);
}

// What the kernel refuses a compile process of its sandbox, on stdout; nothing: it refuses nothing.
static int tellSandbox() {
  const std::string refused = enterSandbox();
  return write(1, refused.data(), refused.size()) == ssize_t(refused.size()) ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "supervise"))
    _exit(runSupervisor(kSocket)); // threads may still wait for the network
  if (argc == 2 && !strcmp(argv[1], "compile")) {
    limitMemory();
    liftFileLimit();
#ifndef RUBIA_JEMALLOC
    keepHeapInHugePages();
#endif
    useReadySampler();
    return runCompileProcess(kSocket);
  }
  if (argc == 2 && !strcmp(argv[1], "sandbox"))
    return tellSandbox();
  fputs("rubia-worker is started by Rubia's libcuda.so.1, not by hand\n", stderr);
  return 2;
}
