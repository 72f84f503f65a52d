// SPDX-License-Identifier: Apache-2.0
// Usage: random_calls LIBCUDA [--seed N] [--walks N] [--seconds N] [--first N] [--threads N]
// [--calls N] [--tame] [--trace]
// The status is 1 if an answer was not the model's, or if memory of the device is missing in the
// end. `--first` begins with that walk: a finding names its own. `--tame` passes no wild handles,
// and makes no contexts and pools: some of it crashes NVIDIA's driver, or takes seconds there.
// `--trace` names each call before it is made.
#include "tests/random-calls/Driver.h"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace walks {

static void *library = nullptr;

static bool isTraced = false;

void *symbol(const char *name) {
  if (isTraced)
    fprintf(stderr, "%s\n", name);
  static std::shared_mutex mutex;
  static std::map<const char *, void *> known; // by the literal's address
  {
    std::shared_lock<std::shared_mutex> lock(mutex);
    if (auto found = known.find(name); found != known.end())
      return found->second;
  }
  void *address = dlsym(library, name);
  if (!address) {
    fprintf(stderr, "no %s\n", name);
    exit(2);
  }
  std::unique_lock<std::shared_mutex> lock(mutex);
  return known[name] = address;
}

} // namespace walks

using namespace walks;

static void require(const char *what, int code) {
  if (!code)
    return;
  fprintf(stderr, "%s: %d\n", what, code);
  exit(2);
}

// What pools keep is given back first.
static size_t freeMemory() {
  Pointer pool = nullptr;
  size_t free = 0, total = 0;
  require("cuCtxSynchronize", call("cuCtxSynchronize"));
  require("cuDeviceGetDefaultMemPool", call("cuDeviceGetDefaultMemPool", &pool, 0));
  require("cuMemPoolTrimTo", call("cuMemPoolTrimTo", pool, size_t(0)));
  require("cuMemGetInfo_v2", call("cuMemGetInfo_v2", &free, &total));
  return free;
}

int main(int count, char **words) {
  uint64_t seed = 1;
  unsigned total = 200, seconds = 0, first = 0, threads = 3, calls = 60;
  World world{};
  world.passesWildHandles = true;
  for (int i = 2; i < count; ++i) {
    auto isOption = [&](const char *name) { return !strcmp(words[i], name) && i + 1 < count; };
    if (isOption("--seed"))
      seed = strtoull(words[++i], nullptr, 10);
    else if (isOption("--walks"))
      total = unsigned(atoi(words[++i]));
    else if (isOption("--seconds")) // as many walks as there is time for
      seconds = unsigned(atoi(words[++i]));
    else if (isOption("--first"))
      first = unsigned(atoi(words[++i]));
    else if (isOption("--threads"))
      threads = unsigned(atoi(words[++i]));
    else if (isOption("--calls"))
      calls = unsigned(atoi(words[++i]));
    else if (!strcmp(words[i], "--trace"))
      isTraced = true;
    else if (!strcmp(words[i], "--tame"))
      world.passesWildHandles = false;
    else
      return fprintf(stderr, "unknown: %s\n", words[i]), 2;
  }
  if (count < 2 || !(walks::library = dlopen(words[1], RTLD_NOW)))
    return fprintf(stderr, "%s\n", count < 2 ? "a library is needed" : dlerror()), 2;
  require("cuInit", call("cuInit", 0u));
  require("cuDeviceGetCount", call("cuDeviceGetCount", &world.devices));
  require("cuDevicePrimaryCtxRetain", call("cuDevicePrimaryCtxRetain", &world.context, 0));
  require("cuCtxSetCurrent", call("cuCtxSetCurrent", world.context));
  world.isAlone = threads == 1;
  Ending ending{};
  if (!world.isAlone && world.passesWildHandles)
    world.ending = &ending;
  for (size_t i = 0; i < World::streamCount; ++i)
    require("cuStreamCreate", call("cuStreamCreate", &world.streams[i], i ? 1u : 0u));
  for (Pointer &event : world.events)
    require("cuEventCreate", call("cuEventCreate", &event, 0u));
  // What is made once (rings, pools, words of gates, code) is made by walks before.
  std::string found;
  for (uint64_t i = 1; i <= 5; ++i)
    found += walk(world, ~seed - i, 300);
  if (world.ending)
    found += endShared(world);
  const size_t before = freeMemory();

  std::atomic<unsigned> next = first, done = 0, wrong = found.empty() ? 0 : 1;
  std::mutex mutex;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  auto hasTime = [&](unsigned n) {
    return seconds ? std::chrono::steady_clock::now() < end : n < first + total;
  };
  auto work = [&] {
    for (unsigned n; hasTime(n = next++); ++done) {
      const std::string lines = walk(world, seed * 1000003 + n, calls);
      if (lines.empty())
        continue;
      std::lock_guard<std::mutex> lock(mutex);
      if (++wrong <= 20)
        printf("walk %u of seed %llu:\n%s", n, static_cast<unsigned long long>(seed),
               lines.c_str());
      fflush(stdout);
    }
  };
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i)
    all.emplace_back(work);
  for (std::thread &thread : all)
    thread.join();
  if (world.ending)
    found += endShared(world);
  wrong += !found.empty() && !wrong;
  printf("%s", found.c_str());
  const size_t after = freeMemory();
  if (after < before)
    printf("%zu bytes of the device's memory are missing\n", before - after);
  printf("random_calls: %u walks, %u threads\n%u failures\n", done.load(), threads, wrong.load());
  return wrong || after < before;
}
