// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of Kernels.cpp through the driver API. `program PTX SCENARIO`: what a
// scenario's kernels print and what it prints itself goes to stdout, in one order; assertions go to
// stderr. The same program runs on NVIDIA's driver, where the expected output was recorded.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

void *library = dlopen("libcuda.so.1", RTLD_NOW);

// A driver function by the name of its symbol.
template <class... A> int cu(const char *name, A... arguments) {
  auto *function = reinterpret_cast<int (*)(A...)>(library ? dlsym(library, name) : nullptr);
  if (!function) {
    printf("FAIL: no %s\n", name);
    exit(2);
  }
  return function(arguments...);
}

void check(const char *name, int error) {
  if (!error)
    return;
  printf("FAIL: %s: error %d\n", name, error);
  fflush(stdout);
  exit(1);
}
#define CU(name, ...) check(name, cu(name, __VA_ARGS__))

using Address = uint64_t;
std::string ptx;
void *context, *module;

void *load() {
  void *loaded = nullptr;
  CU("cuModuleLoadData", &loaded, ptx.c_str());
  return loaded;
}

struct Shape {
  unsigned grid = 1, block = 1;
};

template <class... A> int tryLaunch(const char *kernel, Shape shape, A... arguments) {
  void *function = nullptr;
  if (int error = cu("cuModuleGetFunction", &function, module, kernel))
    return error;
  void *values[] = {&arguments..., nullptr};
  return cu("cuLaunchKernel", function, shape.grid, 1u, 1u, shape.block, 1u, 1u, 0u,
            static_cast<void *>(nullptr), static_cast<void **>(values),
            static_cast<void **>(nullptr));
}
template <class... A> void launch(const char *kernel, Shape shape, A... arguments) {
  check(kernel, tryLaunch(kernel, shape, arguments...));
}
int synchronize() { return cu("cuCtxSynchronize"); }

Address allocate(size_t bytes) {
  Address address = 0;
  CU("cuMemAlloc_v2", &address, bytes);
  CU("cuMemsetD8_v2", address, static_cast<unsigned char>(0), bytes);
  return address;
}
template <class T> std::vector<T> fetch(Address from, size_t count) {
  std::vector<T> values(count);
  CU("cuMemcpyDtoH_v2", static_cast<void *>(values.data()), from, count * sizeof(T));
  return values;
}

enum { kStackSize = 0, kFifoSize = 1, kHeapSize = 2 };
size_t limit(int which) {
  size_t value = 0;
  CU("cuCtxGetLimit", &value, which);
  return value;
}
int setLimit(int which, size_t value) { return cu("cuCtxSetLimit", which, value); }
void setAndShow(int which, size_t value) {
  printf("default %zu", limit(which));
  if (value)
    printf(", set to %zu: %d", value, setLimit(which, value));
  printf(", is %zu\n", limit(which));
}

// ---------- printf

void lines() {
  launch("lines", {8, 125});
  check("cuCtxSynchronize", synchronize());
}

void printResults(Address results) {
  for (int result : fetch<int>(results, 100)) {
    if (result == -99)
      break;
    printf("%d ", result);
  }
  printf("\n");
}

void conversions(int first) {
  Address results = allocate(4);
  for (int which = first;; ++which) {
    CU("cuMemsetD32_v2", results, 1000u, size_t(1));
    printf("%d: ", which);
    fflush(stdout);
    launch("conversions", {}, results, which);
    check("cuCtxSynchronize", synchronize());
    int result = fetch<int>(results, 1)[0];
    printf("= %d\n", result);
    if (result == 1000)
      return;
  }
}

void strings() {
  Address results = allocate(400), buffer = allocate(16);
  CU("cuMemcpyHtoD_v2", buffer, static_cast<const void *>("in a buffer"), size_t(12));
  launch("strings", {}, results, buffer);
  check("cuCtxSynchronize", synchronize());
  printResults(results);
  for (size_t length : {100, 1000, 10000, 100000}) {
    std::string text(length, 'x');
    Address long_ = allocate(length + 1);
    CU("cuMemcpyHtoD_v2", long_, static_cast<const void *>(text.c_str()), length + 1);
    launch("longString", {}, results, long_);
    check("cuCtxSynchronize", synchronize());
    printf("%zu: %d\n", length, fetch<int>(results, 1)[0]);
  }
}

void fifo(size_t size) {
  setAndShow(kFifoSize, size);
  Address results = allocate(8);
  launch("longLines", {}, results, 60000u);
  check("cuCtxSynchronize", synchronize());
  auto values = fetch<int>(results, 2);
  printf("results %d to %d\n", values[0], values[1]);
  launch("longLines", {}, results, 3u);
  check("cuCtxSynchronize", synchronize());
  printf("set after use: %d\n", setLimit(kFifoSize, size * 2));
  printf("is %zu\n", limit(kFifoSize));
}

void flushes() {
  void *stream = nullptr, *event = nullptr;
  CU("cuStreamCreate", &stream, 1u);
  CU("cuEventCreate", &event, 0u);
  Address buffer = allocate(1 << 20);
  std::vector<char> host(1 << 20);
  unsigned number = 0;
  auto step = [&](const char *what, auto body) {
    launch("say", {}, ++number);
    while (cu("cuStreamQuery", static_cast<void *>(nullptr)) == 600)
      ;
    printf("%u: before %s\n", number, what);
    body();
    printf("%u: after %s\n", number, what);
    check("cuCtxSynchronize", synchronize());
  };
  step("nothing", [&] {});
  step("cuStreamSynchronize(0)", [&] { cu("cuStreamSynchronize", static_cast<void *>(nullptr)); });
  step("cuStreamSynchronize(other)", [&] { cu("cuStreamSynchronize", stream); });
  step("cuEventSynchronize", [&] {
    CU("cuEventRecord", event, static_cast<void *>(nullptr));
    CU("cuEventSynchronize", event);
  });
  step("cuEventQuery", [&] {
    CU("cuEventRecord", event, static_cast<void *>(nullptr));
    while (cu("cuEventQuery", event) == 600)
      ;
  });
  step("cuStreamQuery", [&] {
    while (cu("cuStreamQuery", static_cast<void *>(nullptr)) == 600)
      ;
  });
  step("cuMemcpyDtoH",
       [&] { CU("cuMemcpyDtoH_v2", static_cast<void *>(host.data()), buffer, host.size()); });
  step("cuMemcpyHtoD",
       [&] { CU("cuMemcpyHtoD_v2", buffer, static_cast<const void *>(host.data()), host.size()); });
  step("cuMemcpyDtoD", [&] { CU("cuMemcpyDtoD_v2", buffer, buffer + 1024, size_t(512)); });
  step("cuMemcpyDtoHAsync", [&] {
    CU("cuMemcpyDtoHAsync_v2", static_cast<void *>(host.data()), buffer, host.size(),
       static_cast<void *>(nullptr));
  });
  step("cuMemsetD8",
       [&] { CU("cuMemsetD8_v2", buffer, static_cast<unsigned char>(1), size_t(4096)); });
  step("cuMemAlloc", [&] { allocate(4096); });
  step("cuMemFree", [&] { CU("cuMemFree_v2", allocate(4096)); });
  step("cuModuleLoadData", [&] { load(); });
  step("cuModuleUnload of another module", [&] { CU("cuModuleUnload", load()); });
  step("cuStreamDestroy", [&] { CU("cuStreamDestroy_v2", stream); });
  step("cuLaunchKernel", [&] { launch("say", {}, 100u); });
  launch("say", {}, ++number);
  CU("cuModuleUnload", module);
  printf("unloaded\n");
  module = load();
  launch("say", {}, ++number);
  int device = 0;
  CU("cuDeviceGet", &device, 0);
  CU("cuDevicePrimaryCtxRelease_v2", device);
  printf("released\n");
}

// Leaves without any synchronisation.
void leaving() { launch("say", {}, 1u); }

// ---------- malloc and free

void heap(size_t size) {
  setAndShow(kHeapSize, size);
  Address result = allocate(64);
  auto one = [&](uint64_t bytes) {
    launch("allocateOnce", {}, result, bytes);
    check("cuCtxSynchronize", synchronize());
    return fetch<uint64_t>(result, 1)[0];
  };
  for (uint64_t bytes : {uint64_t(0), uint64_t(1), uint64_t(1) << 40, ~uint64_t(0)}) {
    uint64_t block = one(bytes);
    printf("malloc(%llu): %s, aligned to %llu\n", (unsigned long long)bytes,
           block ? "a block" : "null", (unsigned long long)(block & -block));
    launch("release", {}, block);
    check("cuCtxSynchronize", synchronize());
  }
  launch("largest", {}, result, uint64_t(limit(kHeapSize) * 2));
  check("cuCtxSynchronize", synchronize());
  printf("largest %llu\n", (unsigned long long)fetch<uint64_t>(result, 1)[0]);
  printf("set after use: %d\n", setLimit(kHeapSize, size_t(64) << 20));
  printf("is %zu\n", limit(kHeapSize));

  Address errors = allocate(16);
  launch("churn", {8, 256}, errors, 20u);
  check("cuCtxSynchronize", synchronize());
  auto counts = fetch<uint32_t>(errors, 3);
  printf("churn: %u null, %u misaligned, %u overwritten\n", counts[0], counts[1], counts[2]);

  // The host cannot copy from a block of the device's heap.
  uint64_t block = one(64);
  char byte;
  printf("copy from the heap: %d\n",
         cu("cuMemcpyDtoH_v2", static_cast<void *>(&byte), block, size_t(1)));
}

void heapBlocks(uint64_t bytes) {
  Address result = allocate(64);
  for (int again = 0; again < 2; ++again) {
    launch("allocateAll", {}, result, bytes);
    check("cuCtxSynchronize", synchronize());
    auto values = fetch<uint64_t>(result, 3);
    printf("blocks of %llu: %llu (%llu bytes), aligned to %llu, freed %llu\n",
           (unsigned long long)bytes, (unsigned long long)values[0],
           (unsigned long long)values[0] * bytes, (unsigned long long)values[1],
           (unsigned long long)values[2]);
  }
}

void afterFault(const char *what, int first) {
  printf("%s: %d, then %d, launch %d\n", what, first, synchronize(), tryLaunch("say", {}, 1u));
}
void doubleFree() {
  launch("releaseTwice", {});
  afterFault("double free", synchronize());
}
void wildFree() {
  launch("releaseWild", {}, allocate(256) + 16);
  afterFault("wild free", synchronize());
}

// ---------- assert, trap

void assertion(unsigned first, unsigned step) {
  launch("asserting", {2, 64}, first, step);
  afterFault("assert", synchronize());
}
void assertionNull() {
  launch("assertingNull", {});
  afterFault("assert", synchronize());
}
void trap() {
  launch("sayAndTrap", {1, 2});
  afterFault("trap", synchronize());
}
void breakpoint() {
  Address results = allocate(4);
  launch("breaking", {}, results);
  int error = synchronize();
  int value = -1;
  int copied = cu("cuMemcpyDtoH_v2", static_cast<void *>(&value), results, size_t(4));
  printf("brkpt: %d, copy %d, value %d\n", error, copied, value);
}

// ---------- functions through pointers

// The host reads the addresses before anything was launched, and hands them to a kernel.
void functionPointers() {
  Address table = 0, result = allocate(4);
  size_t size = 0;
  CU("cuModuleGetGlobal_v2", &table, &size, module, "functions");
  printf("two functions:");
  for (Address function : fetch<Address>(table, size / 8)) {
    launch("callThrough", {}, result, function, 21);
    printf(" %d", fetch<int>(result, 1)[0]);
  }
  printf("\n");
}

// ---------- stack

void stack(size_t bytes, uint32_t depth) {
  setAndShow(kStackSize, bytes);
  Address results = allocate(256);
  int launched = tryLaunch("recurse", {1, 64}, results, depth);
  int error = synchronize();
  printf("depth %u: launch %d, %d\n", depth, launched, error);
  if (!error)
    printf("result %u\n", fetch<uint32_t>(results, 1)[0]);
}

} // namespace

int main(int count, char **arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: %s PTX SCENARIO\n", arguments[0]);
    return 2;
  }
  std::ifstream file(arguments[1]);
  std::stringstream text;
  text << file.rdbuf();
  ptx = text.str();
  setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  CU("cuInit", 0u);
  int device = 0;
  CU("cuDeviceGet", &device, 0);
  CU("cuDevicePrimaryCtxRetain", &context, device);
  CU("cuCtxSetCurrent", context);
  module = load();

  std::string scenario = arguments[2];
  auto number = [&](int n, size_t fallback) {
    return n < count ? strtoull(arguments[n], nullptr, 0) : fallback;
  };
  if (scenario == "lines")
    lines();
  else if (scenario == "conversions")
    conversions(int(number(3, 0)));
  else if (scenario == "strings")
    strings();
  else if (scenario == "fifo")
    fifo(number(3, 4096));
  else if (scenario == "flushes")
    flushes();
  else if (scenario == "leaving")
    leaving();
  else if (scenario == "heap")
    heap(number(3, 0));
  else if (scenario == "heap-blocks")
    heapBlocks(number(3, 64));
  else if (scenario == "double-free")
    doubleFree();
  else if (scenario == "wild-free")
    wildFree();
  else if (scenario == "assert")
    assertion(unsigned(number(3, 70)), unsigned(number(4, 1000)));
  else if (scenario == "assert-null")
    assertionNull();
  else if (scenario == "trap")
    trap();
  else if (scenario == "brkpt")
    breakpoint();
  else if (scenario == "function-pointers")
    functionPointers();
  else if (scenario == "stack")
    stack(number(3, 0), uint32_t(number(4, 100)));
  else
    return fprintf(stderr, "unknown scenario '%s'\n", scenario.c_str()), 2;
  fflush(stdout);
  return 0;
}
