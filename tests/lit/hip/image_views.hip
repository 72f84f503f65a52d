// SPDX-License-Identifier: Apache-2.0
// A view of some layers has these and no others, layer 0 alone too; of two threads that free an
// array at once, one does.
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %programs/image_views | FileCheck %s
#include "Inputs/check.h"
#include <atomic>
#include <thread>

constexpr unsigned kLayers = 4;

__global__ void layers(hipTextureObject_t texture, float *out) {
  out[threadIdx.x] = tex1DLayered<float>(texture, 0.0f, int(threadIdx.x));
}

void views() {
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray_t array = nullptr;
  CHECK(hipMalloc3DArray(&array, &format, make_hipExtent(1, 0, kLayers), hipArrayLayered));
  float texels[kLayers] = {10, 11, 12, 13}, *out = nullptr;
  CHECK(hipMalloc(&out, 8 * sizeof(float)));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(texels, sizeof(float), 1, 1);
  copy.dstArray = array;
  copy.extent = make_hipExtent(1, 1, kLayers);
  copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  const hipTextureDesc how = {};
  constexpr unsigned kViews[][2] = {{0, 3}, {0, 0}, {1, 2}, {3, 3}};
  for (const auto &[first, last] : kViews) {
    hipResourceViewDesc view = {};
    view.format = hipResViewFormatFloat1;
    view.width = 1;
    view.firstLayer = first;
    view.lastLayer = last;
    hipTextureObject_t texture = nullptr;
    CHECK(hipCreateTextureObject(&texture, &resource, &how, &view));
    layers<<<1, 8>>>(texture, out);
    float found[8];
    CHECK(hipMemcpy(found, out, sizeof(found), hipMemcpyDeviceToHost));
    for (unsigned i = 0; i < 8; ++i)
      EXPECT(found[i] == texels[first + i < last ? first + i : last]);
    CHECK(hipDestroyTextureObject(texture));
  }
  CHECK(hipFreeArray(array));
  CHECK(hipFree(out));
}

void freedByTwo() {
  constexpr int kRounds = 1000;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  std::atomic<hipArray_t> array = nullptr;
  std::atomic<int> begun = 0, ended = 0, freed = 0;
  auto free = [&] {
    const hipError_t error = hipFreeArray(array.load());
    EXPECT(error == hipSuccess || error == hipErrorInvalidValue);
    freed += error == hipSuccess;
    ++ended;
  };
  std::thread second([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (begun < round)
        ;
      free();
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    hipArray_t made = nullptr;
    CHECK(hipMallocArray(&made, &format, 16, 16, hipArrayDefault));
    array = made;
    begun = round;
    free();
    while (ended < 2 * round)
      std::this_thread::yield();
  }
  second.join();
  EXPECT(freed == kRounds);
}

int main() {
  views();
  freedByTwo();
  // CHECK: PASS
  printf("PASS\n");
}
