// SPDX-License-Identifier: Apache-2.0
// Every function of the driver API, exported: a jump to the driver's function of that name. Weak,
// so that one of Hooks.cpp takes its place. The registers and the stack go through untouched, which
// needs no signature.
#include "diff/forward/Driver.h"
#include <cstdio>
#include <dlfcn.h>

// Where the function is in every version of glibc for this processor: newer ones have a newer
// symbol beside it.
asm(".symver dlopen, dlopen@GLIBC_2.2.5\n"
    ".symver dlsym, dlsym@GLIBC_2.2.5\n");

extern "C" {

static int missing() { return rubia::forward::kNotSupported; }

#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)                                         \
  __attribute__((visibility("hidden"))) void *rubia_driver_##Symbol =                              \
      reinterpret_cast<void *>(&missing);                                                          \
  asm(".text\n.weak " #Symbol "\n.type " #Symbol ", @function\n" #Symbol                           \
      ": jmp *rubia_driver_" #Symbol "(%rip)\n.size " #Symbol ", . - " #Symbol "\n");
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION
}

namespace rubia::forward {

static const DriverFunction kFunctions[] = {
#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)                                         \
  {#Symbol, #Name, Introduced, PerThread != 0, &rubia_driver_##Symbol},
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION
};

const DriverFunction *driverFunctions(size_t &count) {
  count = sizeof(kFunctions) / sizeof(kFunctions[0]);
  return kFunctions;
}

bool openDriver(const char *path) {
  void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!driver)
    return false;
  for (const DriverFunction &function : kFunctions)
    if (void *address = dlsym(driver, function.symbol))
      *function.slot = address;
  return true;
}

bool isMissing(const void *slot) { return slot == reinterpret_cast<const void *>(&missing); }

} // namespace rubia::forward
