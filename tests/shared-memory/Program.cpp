// SPDX-License-Identifier: Apache-2.0
// Launches kernels.ptx through the driver API with more dynamic shared memory than LDS has, and
// compares each CTA's result with what it has to be. `program PTX CTAS`.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

void *library = dlopen("libcuda.so.1", RTLD_NOW);
int failures = 0;

// A driver function by the name of its symbol.
template <class... A> int cu(const char *name, A... arguments) {
  auto *function = reinterpret_cast<int (*)(A...)>(library ? dlsym(library, name) : nullptr);
  if (!function) {
    printf("FAIL: no %s\n", name);
    exit(2);
  }
  return function(arguments...);
}

void expect(const char *what, long long value, long long expected) {
  if (value == expected)
    return;
  printf("FAIL: %s: %lld, expected %lld\n", what, value, expected);
  ++failures;
}
#define CU(name, ...) expect(name, cu(name, __VA_ARGS__), 0)

using Address = uint64_t;
constexpr int kMaxDynamicShared = 8; // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kStaticShared = 1;
constexpr int kInvalidValue = 1, kAssertionFailed = 710, kLaunchFailed = 719;
constexpr unsigned kThreads = 128;

std::string ptx;
void *module, *everyWay, *leaves, *asserts, *traps;

// A kernel that may have `dynamic` bytes of dynamic shared memory.
void *kernel(const char *name, int dynamic) {
  void *function = nullptr;
  CU("cuModuleGetFunction", &function, module, name);
  CU("cuFuncSetAttribute", function, kMaxDynamicShared, dynamic);
  return function;
}

int attribute(int which) {
  int value = -1;
  CU("cuDeviceGetAttribute", &value, which, 0);
  return value;
}

template <class... A>
int launch(void *function, unsigned ctas, unsigned dynamic, void *stream, A... arguments) {
  void *values[] = {&arguments..., nullptr};
  return cu("cuLaunchKernel", function, ctas, 1u, 1u, kThreads, 1u, 1u, dynamic, stream,
            static_cast<void **>(values), static_cast<void **>(nullptr));
}

std::vector<uint32_t> fetch(Address from, size_t count) {
  std::vector<uint32_t> values(count);
  CU("cuMemcpyDtoH_v2", static_cast<void *>(values.data()), from, count * sizeof(uint32_t));
  return values;
}

// Zeroed. The fill runs in the null stream, for which the streams of run() do not wait.
Address allocate(size_t words) {
  Address address = 0;
  CU("cuMemAlloc_v2", &address, words * 4);
  CU("cuMemsetD8_v2", address, static_cast<unsigned char>(0), words * 4);
  expect("cuCtxSynchronize", cu("cuCtxSynchronize"), 0);
  return address;
}

// What everyWay computes for a CTA.
uint32_t expected(uint32_t cta) {
  std::vector<uint32_t> memory(1024), sums(kThreads), after(kThreads);
  for (uint32_t i = 0; i < 1024; ++i)
    memory[i] = i * 2654435761u + cta * 40503u;
  for (uint32_t t = 0; t < kThreads; ++t)
    for (uint32_t i = 0; i < 8; ++i)
      sums[t] += (1 + 3 + 5) * memory[(i * 128 + t) ^ 341];
  for (uint32_t t = 0; t < kThreads; ++t)
    sums[t] += 9 * memory[t ^ 77];
  for (uint32_t t = 0; t < kThreads; ++t)
    memory[t] += 7;
  const uint32_t greatest = *std::max_element(sums.begin(), sums.end());
  const uint32_t least = *std::min_element(sums.begin(), sums.end());
  for (uint32_t t = 0; t < kThreads; ++t)
    memory[t & 15] += t;
  memory[512] += kThreads;
  for (uint32_t t = 0; t < kThreads; ++t)
    sums[t] += 11 * memory[t] + memory[512] + 13 * kThreads;
  uint32_t value = 0;
  for (uint32_t t = 0; t < kThreads; ++t) {
    const uint32_t other = t ^ 31;
    value += sums[t] + other + cta + 16 * other + 17 * sums[other];
  }
  value += greatest + 3 * least;
  for (uint32_t i = 0; i < 1000; i += 37)
    value += memory[i];
  return value;
}

// Static and dynamic shared memory together.
constexpr int kMaxBytes = 227 << 10;

void attributes() {
  expect("MAX_SHARED_MEMORY_PER_BLOCK", attribute(8), 48 << 10);
  expect("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", attribute(97), kMaxBytes);
  expect("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", attribute(81), kMaxBytes + (1 << 10));
  expect("RESERVED_SHARED_MEMORY_PER_BLOCK", attribute(111), 1 << 10);
}

void load() {
  CU("cuModuleLoadData", &module, ptx.c_str());
  void *plain = nullptr;
  CU("cuModuleGetFunction", &plain, module, "everyWay");
  Address out = allocate(1);
  expect("a launch without opting in",
         launch(plain, 1, 49 << 10, nullptr, out, uint32_t(12544), uint32_t(0)), kInvalidValue);
  int bytes = 0;
  CU("cuFuncGetAttribute", &bytes, kStaticShared, plain);
  expect("more than there is",
         cu("cuFuncSetAttribute", plain, kMaxDynamicShared, kMaxBytes - bytes + 1), kInvalidValue);
  everyWay = kernel("everyWay", kMaxBytes - bytes);
  CU("cuFuncGetAttribute", &bytes, kMaxDynamicShared, everyWay);
  leaves = kernel("leaves", kMaxBytes);
  asserts = kernel("asserts", kMaxBytes);
  traps = kernel("traps", kMaxBytes);
  int blocks = 0;
  CU("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, everyWay, int(kThreads),
     size_t(bytes));
  if (blocks < 1)
    expect("CTAs of a multiprocessor", blocks, 1);
  CU("cuMemFree_v2", out);
}

void compare(const char *what, Address from, uint32_t ctas) {
  std::vector<uint32_t> values = fetch(from, ctas);
  unsigned differ = 0;
  for (uint32_t cta = 0; cta < ctas; ++cta)
    if (values[cta] != expected(cta) && ++differ <= 3)
      printf("FAIL: %s, CTA %u: %08x, expected %08x\n", what, cta, values[cta], expected(cta));
  if (differ > 3)
    printf("FAIL: %s: %u of %u differ\n", what, differ, ctas);
  failures += differ != 0;
}

// All CTAs by launches of two streams in turn, with as much shared memory as there may be; and some
// with what fits into LDS, in LDS and in device memory.
void run(uint32_t ctas) {
  int most = 0;
  CU("cuFuncGetAttribute", &most, kMaxDynamicShared, everyWay);
  const unsigned dynamic = unsigned(most) / 16 * 16;
  void *streams[2];
  for (void *&stream : streams)
    CU("cuStreamCreate", &stream, 1u);
  Address large = allocate(ctas), small = allocate(ctas), spare = allocate(ctas);
  Address left = allocate(2);
  constexpr uint32_t kLaunches = 8;
  for (uint32_t i = 0; i < kLaunches; ++i) {
    const uint32_t first = uint64_t(ctas) * i / kLaunches,
                   count = uint64_t(ctas) * (i + 1) / kLaunches - first;
    void *one = streams[i % 2], *other = streams[(i + 1) % 2];
    expect("launch", launch(everyWay, count, dynamic, one, large, dynamic / 4, first), 0);
    if (first < 2000) {
      expect("launch", launch(everyWay, count, 44000u, other, small, 11000u, first), 0);
      expect("launch", launch(everyWay, count, dynamic, other, spare, 11000u, first), 0);
    }
    expect("launch", launch(leaves, count / 4 + 1, 80000u, other, left), 0);
  }
  expect("cuCtxSynchronize", cu("cuCtxSynchronize"), 0);
  compare("227 KiB", large, ctas);
  if (fetch(small, ctas) != fetch(spare, ctas)) {
    printf("FAIL: in LDS and in device memory differ\n");
    ++failures;
  }
  compare("a small sample", small, std::min(2000u, ctas) / kLaunches);
  uint64_t sums[2] = {}, blocks = 0;
  for (uint32_t i = 0; i < kLaunches; ++i)
    blocks += (uint64_t(ctas) * (i + 1) / kLaunches - uint64_t(ctas) * i / kLaunches) / 4 + 1;
  for (uint32_t t = 32; t < kThreads; ++t)
    sums[(t & 3) == 1] += t;
  std::vector<uint32_t> found = fetch(left, 2);
  expect("threads that left late", found[0], uint32_t(sums[0] * blocks));
  expect("threads that left early", found[1], uint32_t(sums[1] * blocks));
  for (void *stream : streams)
    CU("cuStreamDestroy_v2", stream);
}

// The primary context with the module; gives two words.
Address start() {
  void *context = nullptr;
  CU("cuDevicePrimaryCtxRetain", &context, 0);
  CU("cuCtxSetCurrent", context);
  load();
  return allocate(2);
}

Address reset() {
  CU("cuDevicePrimaryCtxReset_v2", 0);
  return start();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  ptx = text.str();
  const uint32_t ctas = uint32_t(atoi(argv[2]));
  setvbuf(stdout, nullptr, _IOLBF, 0);

  CU("cuInit", 0u);
  attributes();
  Address left = start();
  run(ctas);

  // Waves that end in an assertion give back their part of a slot: there are more CTAs than slots.
  expect("launch", launch(asserts, 2000u, 80000u, nullptr, left), 0);
  expect("the assertion", cu("cuCtxSynchronize"), kAssertionFailed);
  left = reset();
  // A trap ends the context, with CTAs that have not given back theirs.
  expect("launch", launch(traps, 64u, 80000u, nullptr, left, 5u), 0);
  expect("the trap", cu("cuCtxSynchronize"), kLaunchFailed);
  reset();
  run(std::max(8u, ctas / 20));
  if (!failures)
    printf("PASS shared-memory %u\n", ctas);
  return failures != 0;
}
