// SPDX-License-Identifier: Apache-2.0
// c = a + b with the CUDA driver API: the kernel is a fatbin inside of this program.

#include "Driver.h"

EMBED_FATBIN(vectorAddFatbin, "vector_add_kernel.fatbin");

enum { kCount = 50021, kBlock = 256 };

static float a[kCount], b[kCount], c[kCount];

int main(void) {
  int count = 0, warpSize = 0, n = kCount;
  char name[128];
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUdeviceptr deviceA, deviceB, deviceC;
  CHECK(cuInit(0));
  CHECK(cuDeviceGetCount(&count));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGetName(name, sizeof(name), device));
  CHECK(cuDeviceGetAttribute(&warpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
  printf("device 0 of %d: %s\n", count, name);
  if (warpSize != 32) {
    printf("FAIL warp size is %d, expected 32\n", warpSize);
    return 1;
  }
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, vectorAddFatbin));
  CHECK(cuModuleGetFunction(&function, module, "vectorAdd"));

  for (int i = 0; i < kCount; ++i) {
    a[i] = (float)(i * 7 % 1000) * 0.37f;
    b[i] = (float)(i * 11 % 777) * -1.13f;
  }
  CHECK(cuMemAlloc_v2(&deviceA, sizeof(a)));
  CHECK(cuMemAlloc_v2(&deviceB, sizeof(b)));
  CHECK(cuMemAlloc_v2(&deviceC, sizeof(c)));
  CHECK(cuMemcpyHtoD_v2(deviceA, a, sizeof(a)));
  CHECK(cuMemcpyHtoD_v2(deviceB, b, sizeof(b)));
  void *parameters[] = {&deviceA, &deviceB, &deviceC, &n};
  CHECK(cuLaunchKernel(function, (kCount + kBlock - 1) / kBlock, 1, 1, kBlock, 1, 1, 0, NULL,
                       parameters, NULL));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH_v2(c, deviceC, sizeof(c)));
  for (int i = 0; i < kCount; ++i)
    if (c[i] != a[i] + b[i]) {
      printf("FAIL sum: element %d is %.9g, expected %.9g\n", i, c[i], a[i] + b[i]);
      return 1;
    }
  CHECK(cuMemFree_v2(deviceA));
  CHECK(cuMemFree_v2(deviceB));
  CHECK(cuMemFree_v2(deviceC));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease_v2(device));
  printf("PASS vector_add_driver\n");
  return 0;
}
