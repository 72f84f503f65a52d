// SPDX-License-Identifier: Apache-2.0
// A driver that is as strict about PTX as those of GPUs are: Rubia's, in RUBIA_TEST_DRIVER, but
// PTX for a newer device than its own is refused, and PTX with the instruction `brkpt` as well.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

extern "C" {

#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)                                         \
  __attribute__((visibility("hidden"))) void *slot_##Symbol = nullptr;                             \
  void Symbol();                                                                                   \
  asm(".text\n.globl " #Symbol "\n.type " #Symbol ", @function\n" #Symbol ": jmp *slot_" #Symbol   \
      "(%rip)\n");
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION

static void *driver = nullptr;

static bool isRefused(const char *text) {
  constexpr int kDevice = 89;
  const char *target = strstr(text, "\n.target sm_");
  return !target || atoi(target + 12) > kDevice || strstr(text, "brkpt");
}

static int loadData(void **module, const void *image) {
  if (isRefused(static_cast<const char *>(image)))
    return 218;
  return reinterpret_cast<int (*)(void **, const void *)>(dlsym(driver, "cuModuleLoadData"))(module,
                                                                                             image);
}

__attribute__((constructor)) static void start() {
  driver = dlopen(getenv("RUBIA_TEST_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    fprintf(stderr, "%s\n", dlerror());
    abort();
  }
#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread) slot_##Symbol = dlsym(driver, #Symbol);
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION
  slot_cuModuleLoadData = reinterpret_cast<void *>(&loadData);
}

} // extern "C"
