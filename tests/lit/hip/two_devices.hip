// SPDX-License-Identifier: Apache-2.0
// RUN: env RUBIA_ARCH=gfx1030,gfx90a %hiplib %each-version %programs/two_devices | FileCheck %s
#include "Inputs/check.h"
#include <vector>

__device__ int perDevice = 5;

__global__ void work(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] = data[i] * 2 + perDevice + warpSize;
}

int main() {
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  EXPECT(devices == 2);
  EXPECT(hipSetDevice(2) == hipErrorInvalidDevice);
  const int n = 500;
  int *data[2];
  int can = 0;
  CHECK(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT(can == 1);
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, device));
    printf("%d %s wave%d\n", device, properties.gcnArchName, properties.warpSize);
    CHECK(hipDeviceEnablePeerAccess(1 - device, 0));
    EXPECT(hipDeviceEnablePeerAccess(1 - device, 0) == hipErrorPeerAccessAlreadyEnabled);
    CHECK(hipMalloc(&data[device], n * sizeof(int)));
    CHECK(hipMemset(data[device], 0, n * sizeof(int)));
    int own = 100 * (device + 1);
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(perDevice), &own, sizeof(own)));
  }
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    work<<<4, 128>>>(data[device], n);
    hipPointerAttribute_t attributes;
    CHECK(hipPointerGetAttributes(&attributes, data[device]));
    EXPECT(attributes.device == device);
  }
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    CHECK(hipDeviceSynchronize());
  }
  std::vector<int> host(n);
  CHECK(hipMemcpyPeer(data[0], 0, data[1], 1, n / 2 * sizeof(int)));
  CHECK(hipMemcpy(host.data(), data[0], n * sizeof(int), hipMemcpyDeviceToHost));
  // CHECK: 0 gfx1030 wave32
  // CHECK: 1 gfx90a wave64
  for (int i = 0; i < n; ++i)
    EXPECT(host[i] == (i < n / 2 ? 200 + 64 : 100 + 32));
  // CHECK: PASS
  printf("PASS\n");
}
