// SPDX-License-Identifier: Apache-2.0
// A barrier of the whole grid with the CUDA driver API: a cooperative launch of as many CTAs as the
// device holds, one too many, and the same as an attribute of cuLaunchKernelEx. The kernel is PTX
// text, which the driver compiles.

#include "Driver.h"
#include <string.h>

EMBED_TEXT(gridSyncPtx, "grid_sync_kernel.ptx");

enum { kBlock = 96, kRounds = 7, kTooLarge = 720 };

static void expect(const char *what, const unsigned *found, const unsigned *expected, unsigned n) {
  for (unsigned i = 0; i < n; ++i)
    if (found[i] != expected[i]) {
      printf("FAIL %s: cell %u is %u, expected %u\n", what, i, found[i], expected[i]);
      exit(1);
    }
}

int main(void) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUdeviceptr cells;
  int cooperative, multiprocessors, perMultiprocessor, rounds = kRounds;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGetAttribute(&cooperative, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, device));
  CHECK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  if (!cooperative) {
    printf("FAIL the device has no cooperative launches\n");
    return 1;
  }
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, gridSyncPtx));
  CHECK(cuModuleGetFunction(&function, module, "ripple"));
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&perMultiprocessor, function, kBlock, 0));
  unsigned ctas = (unsigned)(multiprocessors * perMultiprocessor), most = ctas;
  if (ctas > 64)
    ctas = 64; // enough: barriers of thousands take their time on an emulator
  ctas &= ~1u; // the grid has two rows
  unsigned n = ctas * kBlock, size = n * sizeof(unsigned);
  unsigned *start = malloc(size), *now = malloc(size), *next = malloc(size), *found = malloc(size);
  for (unsigned i = 0; i < n; ++i)
    start[i] = now[i] = i % 5;
  for (int r = 0; r < kRounds; ++r) {
    for (unsigned i = 0; i < n; ++i)
      next[i] = now[(i + n - 1) % n] + now[(i + 1) % n] + 1;
    memcpy(now, next, size);
  }
  CHECK(cuMemAlloc_v2(&cells, 2 * (size_t)size));

  void *parameters[] = {&cells, &rounds};
  CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
  CUlaunchConfig config = {ctas / 2, 2, 1, kBlock, 1, 1, 0, NULL, &attribute, 1};
  for (int way = 0; way < 2; ++way) {
    CHECK(cuMemcpyHtoD_v2(cells, start, size));
    if (way == 0)
      CHECK(cuLaunchCooperativeKernel(function, ctas / 2, 2, 1, kBlock, 1, 1, 0, NULL, parameters));
    else
      CHECK(cuLaunchKernelEx(&config, function, parameters, NULL));
    CHECK(cuCtxSynchronize());
    // An odd number of rounds ends in the second buffer.
    CHECK(cuMemcpyDtoH_v2(found, cells + (kRounds % 2 ? size : 0), size));
    expect(way ? "launch attribute" : "cooperative launch", found, now, n);
  }

  CUresult tooLarge =
      cuLaunchCooperativeKernel(function, most + 1, 1, 1, kBlock, 1, 1, 0, NULL, parameters);
  if (tooLarge != kTooLarge) {
    printf("FAIL %u CTAs where %u fit: error %d, expected %d\n", most + 1, most, tooLarge,
           kTooLarge);
    return 1;
  }
  CHECK(cuMemFree_v2(cells));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease_v2(device));
  printf("PASS grid_sync_driver\n");
  return 0;
}
