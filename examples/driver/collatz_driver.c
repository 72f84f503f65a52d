// SPDX-License-Identifier: Apache-2.0
// Lengths of Collatz chains with the CUDA driver API: module variables, a stream, and launch
// parameters as one buffer.

#include "Driver.h"
#include <string.h>

EMBED_FATBIN(collatzFatbin, "collatz_kernel.fatbin");

enum { kFirst = 1, kCount = 30000, kBlock = 128, kLimit = 500, kBins = 32 };

static uint16_t found[kCount], expected[kCount];

static unsigned chainLength(uint64_t n) {
  unsigned steps = 0;
  for (; n != 1 && steps < kLimit; ++steps)
    n = n & 1 ? 3 * n + 1 : n / 2;
  return steps;
}

static CUdeviceptr variable(CUmodule module, const char *name, size_t expectedSize) {
  CUdeviceptr pointer;
  size_t size;
  CHECK(cuModuleGetGlobal_v2(&pointer, &size, module, name));
  if (size == expectedSize)
    return pointer;
  printf("FAIL %s has %zu bytes, expected %zu\n", name, size, expectedSize);
  exit(1);
}

int main(void) {
  unsigned limit = kLimit, bins[kBins], expectedBins[kBins] = {0};
  uint64_t longest, expectedLongest = 0;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUstream stream;
  CUdeviceptr lengths;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, collatzFatbin));
  CHECK(cuModuleGetFunction(&function, module, "collatz"));
  CHECK(cuMemcpyHtoD_v2(variable(module, "stepLimit", sizeof(limit)), &limit, sizeof(limit)));
  CHECK(cuMemsetD32_v2(variable(module, "histogram", sizeof(bins)), 0, kBins));
  CHECK(cuMemAlloc_v2(&lengths, sizeof(found)));
  CHECK(cuStreamCreate(&stream, 1));

  // The parameters as the kernel sees them in memory; extra = {1: pointer, 2: size, 0: end}.
  struct {
    uint32_t first, count;
    CUdeviceptr lengths;
  } parameters = {kFirst, kCount, lengths};
  size_t size = sizeof(parameters);
  void *extra[] = {(void *)1, &parameters, (void *)2, &size, (void *)0};
  CHECK(cuLaunchKernel(function, (kCount + kBlock - 1) / kBlock, 1, 1, kBlock, 1, 1, 0, stream,
                       NULL, extra));
  CHECK(cuMemcpyDtoHAsync_v2(found, lengths, sizeof(found), stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoH_v2(bins, variable(module, "histogram", sizeof(bins)), sizeof(bins)));
  CHECK(cuMemcpyDtoH_v2(&longest, variable(module, "longest", sizeof(longest)), sizeof(longest)));

  for (unsigned i = 0; i < kCount; ++i) {
    unsigned length = chainLength(kFirst + i), bin = length / 16;
    uint64_t candidate = (uint64_t)length << 32 | (kFirst + i);
    expected[i] = length;
    ++expectedBins[bin < kBins ? bin : kBins - 1];
    if (candidate > expectedLongest)
      expectedLongest = candidate;
  }
  for (unsigned i = 0; i < kCount; ++i)
    if (found[i] != expected[i]) {
      printf("FAIL chain of %u: length %u, expected %u\n", kFirst + i, found[i], expected[i]);
      return 1;
    }
  for (unsigned i = 0; i < kBins; ++i)
    if (bins[i] != expectedBins[i]) {
      printf("FAIL histogram: bin %u is %u, expected %u\n", i, bins[i], expectedBins[i]);
      return 1;
    }
  if (longest != expectedLongest) {
    printf("FAIL longest chain: %llx, expected %llx\n", (unsigned long long)longest,
           (unsigned long long)expectedLongest);
    return 1;
  }
  CHECK(cuStreamDestroy_v2(stream));
  CHECK(cuMemFree_v2(lengths));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease_v2(device));
  printf("PASS collatz_driver\n");
  return 0;
}
