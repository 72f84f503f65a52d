// SPDX-License-Identifier: Apache-2.0
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %each-version %programs/vector_add | FileCheck %s
// RUN: env RUBIA_ARCH=gfx90a %hiplib %each-version %programs/vector_add | FileCheck %s
// There is no code for other processors.
// RUN: not env RUBIA_ARCH=gfx942 %hiplib %programs/vector_add 2>&1 | FileCheck --check-prefix=NONE %s
#include "Inputs/check.h"
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

int main() {
  const int n = 100000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i)
    a[i] = float(i), b[i] = float(2 * i);
  float *onDevice[3];
  for (float *&pointer : onDevice)
    CHECK(hipMalloc(&pointer, n * sizeof(float)));
  CHECK(hipMemcpy(onDevice[0], a.data(), n * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(onDevice[1], b.data(), n * sizeof(float), hipMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(onDevice[0], onDevice[1], onDevice[2], n);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(c.data(), onDevice[2], n * sizeof(float), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i)
    EXPECT(c[i] == 3.0f * float(i));
  for (float *pointer : onDevice)
    CHECK(hipFree(pointer));
  // CHECK: PASS
  // NONE: rubia emulator: {{.*}}gfx942
  // NONE: hipErrorInvalidDeviceFunction
  printf("PASS\n");
}
