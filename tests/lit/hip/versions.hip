// SPDX-License-Identifier: Apache-2.0
// What differs between HIP 5, 6 and 7: the version, the properties, the numbers of memory types,
// which calls hide the error of one before, what too many threads are, what may be null.
// RUN: sed 's/libamdhip64\.so\.5/libamdhip64.so.6/g' %programs/versions > %t.6 && chmod +x %t.6
// RUN: sed 's/libamdhip64\.so\.5/libamdhip64.so.7/g' %programs/versions > %t.7 && chmod +x %t.7
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %programs/versions | FileCheck --check-prefix=FIVE %s
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %t.6 | FileCheck --check-prefix=SIX %s
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %t.7 | FileCheck --check-prefix=SEVEN %s
// RUN: env RUBIA_ARCH=gfx1030 RUBIA_HIP_VERSION=6 %hiplib %programs/versions | FileCheck --check-prefix=SIX %s
#include "Inputs/check.h"
#include <cstring>
#include <dlfcn.h>

__global__ void nothing() {}

int main() {
  int version;
  CHECK(hipRuntimeGetVersion(&version));
  printf("HIP %d\n", version / 10000000);
  void *device, *pinned, *managed;
  CHECK(hipMalloc(&device, 64));
  CHECK(hipHostMalloc(&pinned, 64, hipHostMallocPortable));
  CHECK(hipMallocManaged(&managed, 64));
  printf("types");
  int onStack;
  for (void *pointer : {device, pinned, managed, static_cast<void *>(&onStack)}) {
    hipPointerAttribute_t attributes;
    memset(&attributes, 0xff, sizeof(attributes));
    if (hipPointerGetAttributes(&attributes, pointer))
      printf(" error");
    else
      printf(" %d", int(attributes.memoryType));
  }
  printf("\n");
  unsigned flags = 0;
  CHECK(hipHostGetFlags(&flags, pinned));
  EXPECT(flags == hipHostMallocPortable);
  // The structure that programs for HIP 6 and 7 ask for, by offset.
  auto get = reinterpret_cast<hipError_t (*)(char *, int)>(
      dlsym(RTLD_DEFAULT, "hipGetDevicePropertiesR0600"));
  EXPECT(get);
  static char properties[1472 + 8];
  memset(properties, 0x5a, sizeof(properties));
  CHECK(get(properties, 0));
  hipDeviceProp_t old;
  CHECK(hipGetDeviceProperties(&old, 0));
  EXPECT(!strcmp(properties, old.name));
  EXPECT(!strcmp(properties + 1160, "gfx1030"));
  hipUUID uuid;
  CHECK(hipDeviceGetUuid(&uuid, 0));
  EXPECT(!memcmp(properties + 256, uuid.bytes, sizeof(uuid.bytes)));
  EXPECT(!memcmp(properties + 308, &old.warpSize, 4));
  EXPECT(!memcmp(properties + 388, &old.multiProcessorCount, 4));
  EXPECT(properties[1471] == 0 && properties[1472] == 0x5a);
  int value;
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
  EXPECT(value == 32);
  // Whether a call that succeeds hides the error of one before.
  EXPECT(hipMalloc(nullptr, 64) != hipSuccess);
  CHECK(hipMemset(device, 0, 64));
  printf("last error: %s\n", hipGetErrorName(hipGetLastError()));
  auto last = reinterpret_cast<hipError_t (*)()>(dlsym(RTLD_DEFAULT, "hipExtGetLastError"));
  for (bool isCall : {false, true}) {
    EXPECT(hipMalloc(nullptr, 64) != hipSuccess);
    if (isCall)
      CHECK(hipSetDevice(0));
    printf("last call: %s, ", hipGetErrorName(isCall ? hipPeekAtLastError() : hipSuccess));
    printf("%s\n", hipGetErrorName(last()));
  }
  nothing<<<1, 2048>>>();
  printf("threads: %s\n", hipGetErrorName(hipGetLastError()));
  hipPointerAttribute_t attributes;
  printf("null: %s ", hipGetErrorName(hipFreeAsync(nullptr, nullptr)));
  printf("%s\n", hipGetErrorName(hipPointerGetAttributes(&attributes, nullptr)));
  // FIVE: HIP 5
  // FIVE: types 1 0 3 error
  // FIVE: last error: hipSuccess
  // FIVE: last call: hipSuccess, hipErrorInvalidValue
  // FIVE: last call: hipSuccess, hipSuccess
  // FIVE: threads: hipErrorInvalidValue
  // FIVE: null: hipErrorInvalidValue hipErrorInvalidValue
  // SIX: HIP 6
  // SIX: types 2 1 3 0
  // SIX: last error: hipSuccess
  // SIX: last call: hipSuccess, hipErrorInvalidValue
  // SIX: last call: hipSuccess, hipSuccess
  // SIX: threads: hipErrorInvalidValue
  // SIX: null: hipErrorInvalidValue hipErrorInvalidValue
  // SEVEN: HIP 7
  // SEVEN: types 2 1 3 0
  // SEVEN: last error: hipErrorInvalidValue
  // SEVEN: last call: hipSuccess, hipErrorInvalidValue
  // SEVEN: last call: hipErrorInvalidValue, hipSuccess
  // SEVEN: threads: hipErrorInvalidConfiguration
  // SEVEN: null: hipSuccess hipSuccess
  printf("done\n");
}
