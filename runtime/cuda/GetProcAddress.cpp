// SPDX-License-Identifier: Apache-2.0
// Looking up entry points by name and version. A caller that was built for a version gets the
// newest variant that it knows.
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/EntryPoints.h"

using namespace llvm;
using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

enum QueryStatus : int { kFound = 0, kSymbolNotFound = 1, kVersionNotSufficient = 2 };

static QueryStatus lookUp(StringRef name, int version, bool perThread, void **out) {
  ArrayRef<EntryPoint> variants = entryPoints(name);
  const EntryPoint *best = nullptr;
  for (const EntryPoint &variant : variants)
    if (variant.introduced <= version && (perThread || !variant.perThread))
      best = &variant; // per-thread variants come last
  if (!best)
    return variants.empty() ? kSymbolNotFound : kVersionNotSufficient;
  *out = best->function;
  return kFound;
}

extern "C" {

// Works before cuInit. Flags: 1 asks for the legacy default stream, as 0 does, 2 for the threads'
// own, as 3 does. What there is not is no error, as on NVIDIA's driver: the status tells, and the
// function is null.
Result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                           int *status) {
  if (!name || !function || flags > 3 || version > kDriverVersion)
    return kInvalidValue;
  *function = nullptr;
  QueryStatus found = lookUp(name, version, flags & 2, function);
  if (status)
    *status = found;
  if (found != kFound)
    log(LogLevel::Debug, Twine("cuGetProcAddress: no ") + name + " of version " + Twine(version));
  return kSuccess;
}
// The first version has no status, and leaves the function alone.
Result cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  void *found = nullptr;
  if (Result result =
          cuGetProcAddress_v2(name, function ? &found : nullptr, version, flags, nullptr))
    return result;
  if (!found)
    return kNotFound;
  *function = found;
  return kSuccess;
}

} // extern "C"
