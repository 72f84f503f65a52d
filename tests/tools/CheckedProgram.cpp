// SPDX-License-Identifier: Apache-2.0
// A program of the driver API for `rubia check`: launches kernels of the tests of the emulator's
// checks, each with memory of its own.
//
//   checked-program PTX [leak|fork] {KERNEL BLOCK[:SHARED] GRID WORDS WRITTEN}...
//
// The first WRITTEN words of a kernel's memory hold their numbers. SHARED bytes are dynamic ones.
// With `leak` one allocation of 1,000 bytes is left. With `fork` a copy of the process ends while
// there is one. Exits with 1 after an error of CUDA's.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

void *library = nullptr;

template <class... T> void call(const char *name, T... arguments) {
  auto function = reinterpret_cast<int (*)(T...)>(dlsym(library, name));
  if (!function) {
    std::fprintf(stderr, "no %s\n", name);
    std::exit(2);
  }
  if (const int error = function(arguments...)) {
    std::fprintf(stderr, "%s: error %d\n", name, error);
    std::exit(1);
  }
}

unsigned number(const char *text) { return unsigned(std::strtoul(text, nullptr, 10)); }

void launch(void *module, char **words) {
  void *function = nullptr;
  call("cuModuleGetFunction", &function, module, const_cast<const char *>(words[0]));
  const unsigned block = number(words[1]), grid = number(words[2]);
  const char *colon = std::strchr(words[1], ':');
  const unsigned shared = colon ? number(colon + 1) : 0;
  unsigned count = number(words[3]);
  std::vector<uint32_t> values(number(words[4]));
  for (uint32_t i = 0; i < values.size(); ++i)
    values[i] = i;
  uint64_t data = 0, freed = 0;
  call("cuMemAlloc_v2", &data, size_t(4 * count));
  call("cuMemAlloc_v2", &freed, size_t(256));
  call("cuMemcpyHtoD_v2", data, static_cast<const void *>(values.data()), 4 * values.size());
  call("cuMemFree_v2", freed);
  void *parameters[] = {&data, &count, &freed};
  call("cuLaunchKernel", function, grid, 1u, 1u, block, 1u, 1u, shared,
       static_cast<void *>(nullptr), static_cast<void **>(parameters),
       static_cast<void **>(nullptr));
  call("cuCtxSynchronize");
  call("cuMemFree_v2", data);
}

/// A copy of this process, which ends by exit().
void endCopy() {
  const pid_t child = fork();
  if (child == 0)
    std::exit(0);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    std::exit(2);
}

} // namespace

int main(int argc, char **argv) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library || argc < 2) {
    std::fprintf(stderr, "%s\n", library ? "no PTX" : dlerror());
    return 2;
  }
  std::ifstream file(argv[1]);
  const std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  int device = 0;
  void *context = nullptr, *module = nullptr;
  call("cuInit", 0u);
  call("cuDeviceGet", &device, 0);
  call("cuCtxCreate_v2", &context, 0u, device);
  call("cuModuleLoadData", &module, static_cast<const void *>(ptx.c_str()));
  int at = 2;
  const bool forks = at < argc && !std::strcmp(argv[at], "fork");
  if (forks || (at < argc && !std::strcmp(argv[at], "leak"))) {
    uint64_t memory = 0;
    call("cuMemAlloc_v2", &memory, size_t(1000));
    ++at;
    if (forks) {
      endCopy();
      call("cuMemFree_v2", memory);
    }
  }
  for (; at + 5 <= argc; at += 5)
    launch(module, argv + at);
  std::puts("done");
}
