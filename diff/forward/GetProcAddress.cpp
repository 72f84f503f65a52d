// SPDX-License-Identifier: Apache-2.0
// Looking up functions: the driver answers, and where its answer is a function that is recorded,
// the caller gets ours. Which variant of a name the answer is, the driver tells too: a driver that
// is newer than our list may have variants that we do not know, and those stay its own.
#include "diff/forward/Hooks.h"
#include "diff/forward/Recorder.h"

namespace rubia::forward {
namespace {

constexpr uint64_t kPerThreadStream = 2;

void *driversAnswer(const char *name, int version, uint64_t flags) {
  void *address = nullptr;
  int status = 0;
  if (!isMissing(rubia_driver_cuGetProcAddress_v2))
    (void)DRIVER(cuGetProcAddress_v2, const char *, void **, int, uint64_t,
                 int *)(name, &address, version, flags, &status);
  else
    (void)DRIVER(cuGetProcAddress, const char *, void **, int, uint64_t)(name, &address, version,
                                                                         flags);
  return address;
}

} // namespace

void replaceAnswer(const char *name, void **address) {
  if (!name || !address || !*address)
    return;
  size_t count = 0;
  const DriverFunction *functions = driverFunctions(count);
  for (size_t i = 0; i < count; ++i) {
    const DriverFunction &function = functions[i];
    // What nobody looks at stays the driver's.
    if (function.entry->to == *function.slot || strcmp(function.name, name) != 0)
      continue;
    if (*address == *function.slot ||
        *address ==
            driversAnswer(name, function.introduced, function.perThread ? kPerThreadStream : 0)) {
      *address = function.exported;
      return;
    }
  }
}

namespace {

__attribute__((constructor)) void start() { (void)Recorder::get(); }

__attribute__((destructor)) void finish() { Recorder::get().finish(); }

} // namespace
} // namespace rubia::forward
