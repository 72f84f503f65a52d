// SPDX-License-Identifier: Apache-2.0
// A device reaches another one's memory if it has said so, and no longer.
// RUN: env RUBIA_ARCH=gfx1030,gfx90a %hiplib %programs/peers 2> %t.errors | FileCheck %s
// RUN: FileCheck --check-prefix=ERRORS %s < %t.errors
// RUN: env RUBIA_ARCH=gfx90a,gfx1030 %hiplib %programs/peers | FileCheck %s
// RUN: env RUBIA_ARCH=gfx1030,gfx1030 RUBIA_EMULATOR_CHECK=memory %hiplib %programs/peers | FileCheck %s
#include "Inputs/check.h"

__global__ void add(int *words, int value) { words[threadIdx.x] += value; }

// What the current device says of a launch that uses the words; after a fault it is reset.
static hipError_t use(int *words, int value) {
  add<<<1, 64>>>(words, value);
  const hipError_t error = hipDeviceSynchronize();
  if (error)
    CHECK(hipDeviceReset());
  return error;
}

static int wordOf(const int *words) {
  int word = -1;
  CHECK(hipMemcpy(&word, words, sizeof(word), hipMemcpyDefault));
  return word;
}

static void peers() {
  int *words, *later;
  CHECK(hipSetDevice(1));
  CHECK(hipMalloc(&words, 64 * sizeof(int)));
  CHECK(hipMemset(words, 0, 64 * sizeof(int)));
  CHECK(hipDeviceSynchronize());
  CHECK(hipSetDevice(0));
  EXPECT(use(words, 1) != hipSuccess);
  CHECK(hipDeviceEnablePeerAccess(1, 0));
  CHECK(use(words, 2));
  EXPECT(wordOf(words) == 2);
  CHECK(hipSetDevice(1)); // memory that comes later is reached too
  CHECK(hipMalloc(&later, 64 * sizeof(int)));
  CHECK(hipMemset(later, 0, 64 * sizeof(int)));
  CHECK(hipDeviceSynchronize());
  CHECK(hipSetDevice(0));
  CHECK(use(later, 3));
  EXPECT(wordOf(later) == 3);
  CHECK(hipDeviceDisablePeerAccess(1));
  EXPECT(use(words, 4) != hipSuccess);
  EXPECT(wordOf(words) == 2);
  CHECK(hipSetDevice(1)); // its own it has always
  CHECK(use(words, 5));
  EXPECT(wordOf(words) == 7);
  CHECK(hipFree(words));
  CHECK(hipFree(later));
}

static void pools() {
  hipMemPool_t pool;
  int *words;
  CHECK(hipSetDevice(1));
  CHECK(hipDeviceGetDefaultMemPool(&pool, 1));
  CHECK(hipMallocAsync(reinterpret_cast<void **>(&words), 64 * sizeof(int), nullptr));
  CHECK(hipMemset(words, 0, 64 * sizeof(int)));
  CHECK(hipDeviceSynchronize());
  CHECK(hipSetDevice(0));
  CHECK(hipDeviceEnablePeerAccess(1, 0)); // is not about pools
  EXPECT(use(words, 1) != hipSuccess);
  hipMemAccessDesc access = {};
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = 0;
  hipMemAccessFlags flags;
  CHECK(hipMemPoolGetAccess(&flags, pool, &access.location));
  EXPECT(flags == hipMemAccessFlagsProtNone);
  access.flags = hipMemAccessFlagsProtReadWrite;
  CHECK(hipMemPoolSetAccess(pool, &access, 1));
  CHECK(use(words, 2));
  EXPECT(wordOf(words) == 2);
  access.flags = hipMemAccessFlagsProtNone;
  CHECK(hipMemPoolSetAccess(pool, &access, 1));
  EXPECT(use(words, 3) != hipSuccess);
  EXPECT(wordOf(words) == 2);
}

static void host() {
  int *pinned, *managed;
  CHECK(hipSetDevice(1));
  CHECK(hipHostMalloc(reinterpret_cast<void **>(&pinned), 64 * sizeof(int)));
  CHECK(hipMallocManaged(&managed, 64 * sizeof(int)));
  pinned[0] = managed[0] = 0;
  for (int device : {0, 1}) {
    CHECK(hipSetDevice(device));
    CHECK(use(pinned, 1));
    CHECK(use(managed, 2));
  }
  EXPECT(pinned[0] == 2 && managed[0] == 4);
}

// Each device's memory is counted apart.
static void counts() {
  size_t before[2], after[2], total;
  void *memory;
  for (int device : {0, 1}) {
    CHECK(hipSetDevice(device));
    CHECK(hipMemGetInfo(&before[device], &total));
  }
  CHECK(hipMalloc(&memory, 1 << 20));
  for (int device : {0, 1}) {
    CHECK(hipSetDevice(device));
    CHECK(hipMemGetInfo(&after[device], &total));
  }
  EXPECT(before[0] == after[0] && before[1] - after[1] == size_t(1) << 20);
  void *most[2], *more;
  for (int device : {0, 1}) { // most of either's, which together is more than one has
    CHECK(hipSetDevice(device));
    CHECK(hipMalloc(&most[device], total / 4 * 3));
    EXPECT(hipMalloc(&more, total / 2) == hipErrorOutOfMemory);
  }
  for (void *allocated : most)
    CHECK(hipFree(allocated));
}

int main() {
  peers();
  pools();
  host();
  counts();
  puts("done"); // CHECK: done
}
// ERRORS: this device has no access to the allocation of 256 bytes
