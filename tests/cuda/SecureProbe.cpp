// SPDX-License-Identifier: Apache-2.0
// Launches a kernel through the libcuda that is named, and prints whether the program has rights
// that its caller lacks. secure.py makes it a set-user-ID program.
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <sys/auxv.h>

static void *libcuda;

template <typename... Arguments> static int cu(const char *name, Arguments... arguments) {
  auto *function = reinterpret_cast<int (*)(Arguments...)>(dlsym(libcuda, name));
  int status = function ? function(arguments...) : -1;
  if (status)
    printf("%s: %d\n", name, status);
  return status;
}

static const char kPtx[] = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry answer(.param .u64 out)
{
  .reg .b64 %d;
  ld.param.u64 %d, [out];
  st.global.u32 [%d], 42;
  ret;
}
)";

int main(int, char **arguments) {
  printf("AT_SECURE %lu\n", getauxval(AT_SECURE));
  libcuda = dlopen(arguments[1], RTLD_NOW);
  if (!libcuda) {
    printf("%s\n", dlerror());
    return 1;
  }
  void *context = nullptr, *module = nullptr, *function = nullptr;
  uint64_t out = 0;
  uint32_t answer = 0;
  void *values[] = {&out};
  bool works =
      !cu("cuInit", 0u) && !cu("cuCtxCreate_v2", &context, 0u, 0) &&
      !cu("cuModuleLoadData", &module, static_cast<const void *>(kPtx)) &&
      !cu("cuModuleGetFunction", &function, module, "answer") &&
      !cu("cuMemAlloc_v2", &out, size_t(4)) &&
      !cu("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, static_cast<void *>(nullptr),
          static_cast<void **>(values), static_cast<void **>(nullptr)) &&
      !cu("cuMemcpyDtoH_v2", static_cast<void *>(&answer), out, size_t(4));
  printf("answer %u\n", answer);
  return works && answer == 42 ? 0 : 1;
}
