// Memory of the host in which GPUs drop atomics that PCIe does not have, unless they cache it (it is coarse-grained).
// RUN: %hipcc %s -o %t
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %t 2>&1 | FileCheck %s
// RUN: env RUBIA_ARCH=gfx90a %hiplib %t 2>&1 | FileCheck %s
#include "Inputs/check.h"

__global__ void lower(int *least) { atomicMin(least, int(threadIdx.x)); }

static int *prepared(int *memory) {
  *memory = 1000;
  lower<<<1, 64>>>(memory);
  return memory;
}

int main() {
  int *coarse, *managed, *fine;
  CHECK(hipHostMalloc(&coarse, 4, hipHostMallocNonCoherent));
  CHECK(hipMallocManaged(&managed, 4));
  CHECK(hipMemAdvise(managed, 4, hipMemAdviseSetCoarseGrain, 0));
  static int registered;
  CHECK(hipHostRegister(&registered, 4, hipExtHostRegisterCoarseGrained));
  for (int *memory : {coarse, managed, &registered}) {
    prepared(memory);
    CHECK(hipDeviceSynchronize());
    EXPECT(*memory == 0);
  }
  CHECK(hipMemAdvise(managed, 4, hipMemAdviseUnsetCoarseGrain, 0));
  CHECK(hipHostMalloc(&fine, 4));
  for (int *memory : {managed, fine}) {
    prepared(memory);
    // CHECK-COUNT-2: rubia emulator: {{.*}}_Z5lowerPi{{.*}}memory of the host
    EXPECT(hipDeviceSynchronize() != hipSuccess);
    CHECK(hipDeviceReset());
  }
  printf("done\n"); // CHECK: done
}
