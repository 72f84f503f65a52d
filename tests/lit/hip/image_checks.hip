// SPDX-License-Identifier: Apache-2.0
// The emulator's checks see what image instructions read and write: races between warps, texels that
// nobody has written, and texels that a cache still holds.
// RUN: env RUBIA_EMULATOR_CHECK=races RUBIA_ARCH=gfx1100 %hiplib %programs/image_checks ordered | FileCheck %s
// RUN: not env RUBIA_EMULATOR_CHECK=races RUBIA_ARCH=gfx1030 %hiplib %programs/image_checks racing 2>&1 \
// RUN:   | FileCheck --check-prefix=RACE %s
// RUN: not env RUBIA_EMULATOR_CHECK=races RUBIA_ARCH=gfx1201 %hiplib %programs/image_checks racing 2>&1 \
// RUN:   | FileCheck --check-prefix=RACE %s
// RUN: env RUBIA_EMULATOR_CHECK=uninitialised RUBIA_ARCH=gfx1100 %hiplib %programs/image_checks filled | FileCheck %s
// RUN: not env RUBIA_EMULATOR_CHECK=uninitialised RUBIA_ARCH=gfx1100 %hiplib %programs/image_checks empty 2>&1 \
// RUN:   | FileCheck --check-prefix=EMPTY %s
// RUN: not env RUBIA_EMULATOR_CHECK=uninitialised RUBIA_ARCH=gfx1201 %hiplib %programs/image_checks half 2>&1 \
// RUN:   | FileCheck --check-prefix=EMPTY %s
// RUN: env RUBIA_EMULATOR_CHECK=uninitialised RUBIA_ARCH=gfx1201 %hiplib %programs/image_checks stored | FileCheck %s
// RUN: env RUBIA_EMULATOR_CHECK=order RUBIA_ARCH=gfx1030 %hiplib %programs/image_checks fenced | FileCheck %s
// RUN: env RUBIA_EMULATOR_CHECK=order RUBIA_ARCH=gfx1201 %hiplib %programs/image_checks fenced | FileCheck %s
// RUN: env RUBIA_EMULATOR_CHECK=order RUBIA_ARCH=gfx1030 %hiplib %programs/image_checks stale | FileCheck %s
// RUN: env RUBIA_EMULATOR_CHECK=order RUBIA_ARCH=gfx1201 %hiplib %programs/image_checks stale | FileCheck %s
// RUN: not env RUBIA_EMULATOR_CHECK=memory RUBIA_ARCH=gfx1100 %hiplib %programs/image_checks freed 2>&1 \
// RUN:   | FileCheck --check-prefix=FREED %s
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#include "Inputs/check.h"
#include <string>

constexpr int kWidth = 64, kHeight = 2;

// One warp stores a texel, another one reads it.
__global__ void exchange(hipSurfaceObject_t surface, hipTextureObject_t texture, bool isOrdered,
                         float *out) {
  const int t = int(threadIdx.x);
  if (t == 3)
    surf2Dwrite(5.0f, surface, 4 * 7, 1);
  if (isOrdered)
    __syncthreads();
  if (t == 40)
    out[0] = tex2D<float>(texture, 7.0f, 1.5f);
}

__global__ void sample(hipTextureObject_t texture, float *out) {
  out[threadIdx.x] = tex2D<float>(texture, float(threadIdx.x) + 0.75f, 0.75f);
}

__global__ void store(hipSurfaceObject_t surface) {
  surf2Dwrite(float(threadIdx.x), surface, 4 * int(threadIdx.x), int(blockIdx.x));
}

// The first workgroup reads a texel, waits for the second one to store another value, and reads it
// again: without an acquiring load it may be the old one.
__global__ void handOver(hipSurfaceObject_t surface, bool isFenced, int *flags, float *out) {
  if (threadIdx.x)
    return;
  float value = 0;
  if (blockIdx.x == 0) {
    surf2Dread(&value, surface, 0, 0);
    out[0] = value;
    __hip_atomic_store(&flags[0], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    while (!__hip_atomic_load(&flags[1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
      ;
    if (isFenced)
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    surf2Dread(&value, surface, 0, 0);
    out[1] = value;
  } else {
    while (!__hip_atomic_load(&flags[0], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
      ;
    surf2Dwrite(7.0f, surface, 0, 0);
    __threadfence();
    __hip_atomic_store(&flags[1], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}

struct Image {
  hipArray *array = nullptr;
  hipSurfaceObject_t surface = nullptr;
  hipTextureObject_t texture = nullptr;

  Image() {
    const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    CHECK(hipMallocArray(&array, &format, kWidth, kHeight, hipArraySurfaceLoadStore));
    hipResourceDesc resource = {};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    hipTextureDesc how = {};
    how.filterMode = hipFilterModeLinear;
    how.addressMode[0] = how.addressMode[1] = hipAddressModeClamp;
    CHECK(hipCreateSurfaceObject(&surface, &resource));
    CHECK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  }
  void fill(int rows) const {
    const float texels[kHeight][kWidth] = {};
    CHECK(hipMemcpy2DToArray(array, 0, 0, texels, sizeof(texels[0]), sizeof(texels[0]),
                             size_t(rows), hipMemcpyHostToDevice));
  }
};

int main(int, char **arguments) {
  const std::string mode = arguments[1];
  Image image;
  float *out = nullptr;
  CHECK(hipMalloc(&out, 256));
  if (mode == "ordered" || mode == "racing") {
    image.fill(kHeight);
    exchange<<<1, 64>>>(image.surface, image.texture, mode == "ordered", out);
  } else if (mode == "fenced" || mode == "stale") {
    int *flags = nullptr, stale = 0;
    CHECK(hipMalloc(&flags, 8));
    for (int i = 0; i < 24; ++i) {
      float got[2];
      image.fill(kHeight);
      CHECK(hipMemset(flags, 0, 8));
      handOver<<<2, 32>>>(image.surface, mode == "fenced", flags, out);
      CHECK(hipMemcpy(got, out, sizeof(got), hipMemcpyDeviceToHost));
      EXPECT(got[0] == 0 && (got[1] == 7 || got[1] == 0));
      stale += got[1] == 0;
    }
    EXPECT((stale != 0) == (mode == "stale"));
  } else {
    if (mode == "filled" || mode == "freed")
      image.fill(kHeight);
    if (mode == "half") // a linear filter needs the second row too
      image.fill(1);
    if (mode == "stored")
      store<<<kHeight, kWidth>>>(image.surface);
    if (mode == "freed")
      CHECK(hipFreeArray(image.array));
    sample<<<1, 32>>>(image.texture, out);
  }
  const hipError_t error = hipDeviceSynchronize();
  if (error != hipSuccess) {
    printf("%s\n", hipGetErrorName(error));
    return 1;
  }
  // RACE: exchange{{.*}}: data race: {{read|write}} of 4 bytes
  // EMPTY: sample{{.*}}nobody has written these bytes
  // FREED: sample{{.*}}freed
  // CHECK: PASS
  printf("PASS\n");
}
