// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/RunSummary.h"
#include "runtime/base/Log.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime::summary {

namespace {
struct Facts {
  pid_t process = getpid();
  std::set<std::string, std::less<>> kernels;
  uint64_t launches = 0, hits = 0, compiled = 0, unsupported = 0;
  double seconds = 0;
  std::string firstUnsupported;
};

// Never freed: programs call us after their static destructors have run.
struct Shared {
  std::mutex mutex;
  Facts facts;
};
Shared &shared() {
  static auto &only = *new Shared;
  return only;
}

void tell() {
  Shared &all = shared();
  std::lock_guard<std::mutex> lock(all.mutex);
  const Facts &facts = all.facts;
  if (facts.process != getpid())
    return;
  std::string text =
      formatv("kernels: {0}, launches: {1}; units: {2} from the cache, {3} compiled in {4:f1} s; "
              "unsupported calls: {5}",
              facts.kernels.size(), facts.launches, facts.hits, facts.compiled, facts.seconds,
              facts.unsupported)
          .str();
  if (facts.unsupported)
    text += ", the first is " + facts.firstUnsupported;
  log(LogLevel::Info, text);
}

void tellAtExit() {
  static const bool registered = atexit(tell) == 0;
  (void)registered; // where it is not, nothing is told
}

template <class Change> void count(Change change) {
  if (!logs(LogLevel::Info))
    return;
  Shared &all = shared();
  std::lock_guard<std::mutex> lock(all.mutex);
  tellAtExit(); // not here: each kind of change would tell
  if (all.facts.process != getpid())
    all.facts = {};
  change(all.facts);
}
} // namespace

void kernelLaunched(StringRef kernel) {
  count([&](Facts &facts) {
    ++facts.launches;
    if (!facts.kernels.contains(std::string_view(kernel)))
      facts.kernels.insert(kernel.str());
  });
}

void cacheHit() {
  count([](Facts &facts) { ++facts.hits; });
}

void unitCompiled(double seconds) {
  count([&](Facts &facts) {
    ++facts.compiled;
    facts.seconds += seconds;
  });
}

void callUnsupported(StringRef function) {
  count([&](Facts &facts) {
    if (!facts.unsupported++)
      facts.firstUnsupported = function.str();
  });
}

} // namespace rubia::runtime::summary
