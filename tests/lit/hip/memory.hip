// SPDX-License-Identifier: Apache-2.0
// Pitched and three-dimensional copies and fills, what is refused, atomics in memory of the host.
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %programs/memory 2>&1 | FileCheck %s
#include "Inputs/check.h"
#include <vector>

__global__ void lower(int *least) { atomicMin(least, int(threadIdx.x)); }

static void lowerIn(int *memory) {
  *memory = 1000;
  lower<<<1, 64>>>(memory);
}

// GPUs drop what PCIe does not have, unless they cache the memory (it is coarse-grained).
static void atomicsOfTheHost() {
  int *coarse, *managed, *fine;
  static int registered;
  CHECK(hipHostMalloc(&coarse, 4, hipHostMallocNonCoherent));
  CHECK(hipMallocManaged(&managed, 4));
  CHECK(hipMemAdvise(managed, 4, hipMemAdviseSetCoarseGrain, 0));
  CHECK(hipHostRegister(&registered, 4, hipExtHostRegisterCoarseGrained));
  for (int *memory : {coarse, managed, &registered}) {
    lowerIn(memory);
    CHECK(hipDeviceSynchronize());
    EXPECT(*memory == 0);
  }
  CHECK(hipMemAdvise(managed, 4, hipMemAdviseUnsetCoarseGrain, 0));
  CHECK(hipHostMalloc(&fine, 4));
  for (int *memory : {managed, fine}) {
    lowerIn(memory);
    // CHECK-COUNT-2: rubia emulator: {{.*}}_Z5lowerPi: atomic that GPUs drop in memory of the host
    EXPECT(hipDeviceSynchronize() != hipSuccess);
    CHECK(hipDeviceReset());
  }
}

int main() {
  atomicsOfTheHost();
  const size_t width = 40, height = 7, depth = 3;
  char *pitched;
  size_t pitch;
  CHECK(hipMallocPitch(reinterpret_cast<void **>(&pitched), &pitch, width, height));
  EXPECT(pitch >= width);
  CHECK(hipMemset2D(pitched, pitch, 0x22, width, height));
  std::vector<char> in(width * height), out(width * height);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = char(i);
  CHECK(hipMemcpy2D(pitched, pitch, in.data(), width, width, height - 1, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2D(out.data(), width, pitched, pitch, width, height, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT(out[i] == (i < width * (height - 1) ? char(i) : 0x22));
  EXPECT(hipMemcpy2D(pitched, width - 1, in.data(), width, width, height, hipMemcpyHostToDevice) ==
         hipErrorInvalidPitchValue);
  EXPECT(hipMemcpy2D(pitched, pitch, in.data(), width, width, height + 1, hipMemcpyHostToDevice) ==
         hipErrorInvalidValue);

  hipPitchedPtr box;
  CHECK(hipMalloc3D(&box, make_hipExtent(width, height, depth)));
  std::vector<char> cube(width * height * depth), back(cube.size());
  for (size_t i = 0; i < cube.size(); ++i)
    cube[i] = char(i * 3);
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(cube.data(), width, width, height);
  copy.dstPtr = box;
  copy.extent = make_hipExtent(width, height, depth);
  copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  // A part of it back: two columns in, one row and one slice down.
  hipMemcpy3DParms part = {};
  part.srcPtr = box;
  part.srcPos = make_hipPos(2, 1, 1);
  part.dstPtr = make_hipPitchedPtr(back.data(), width, width, height);
  part.extent = make_hipExtent(10, 4, 2);
  part.kind = hipMemcpyDeviceToHost;
  CHECK(hipMemcpy3D(&part));
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 4; ++y)
      for (size_t x = 0; x < 10; ++x)
        EXPECT(back[(z * height + y) * width + x] ==
               cube[((z + 1) * height + y + 1) * width + x + 2]);
  part.srcPos = make_hipPos(0, 4, 2);
  EXPECT(hipMemcpy3D(&part) == hipErrorInvalidValue); // beyond the end

  CHECK(hipFree(pitched));
  EXPECT(hipMemset(pitched, 0, 4) == hipErrorInvalidValue);
  EXPECT(hipGetLastError() == hipErrorInvalidValue);
  CHECK(hipGetLastError());
  EXPECT(hipMemcpy(in.data(), out.data(), 8, hipMemcpyKind(9)) == hipErrorInvalidMemcpyDirection);
  // CHECK: PASS
  printf("PASS\n");
}
