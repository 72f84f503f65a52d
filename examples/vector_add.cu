// SPDX-License-Identifier: Apache-2.0
// c = a + b, with a grid that does not divide the vector evenly; prints what the device says of
// itself.

#include "Check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  printf("device 0 of %d: %s, compute capability %d.%d, %d multiprocessors\n", count,
         properties.name, properties.major, properties.minor, properties.multiProcessorCount);
  if (properties.warpSize != 32)
    fail("warp size", 0, 32, properties.warpSize);
  if (properties.maxThreadsPerBlock < 256)
    fail("threads per block", 0, 256, properties.maxThreadsPerBlock);

  const int n = 100003;
  std::vector<float> a(n), b(n), expected(n);
  for (int i = 0; i < n; ++i) {
    a[i] = uniform(i);
    b[i] = uniform(i + n) * 1000.0f;
    expected[i] = a[i] + b[i];
  }
  float *deviceA = upload(a), *deviceB = upload(b), *deviceC;
  CHECK(cudaMalloc(&deviceC, n * sizeof(float)));
  add<<<(n + 255) / 256, 256>>>(deviceA, deviceB, deviceC, n);
  checkLaunch("add");
  expectEqual("sum", download(deviceC, n), expected);
  CHECK(cudaFree(deviceA));
  CHECK(cudaFree(deviceB));
  CHECK(cudaFree(deviceC));
  return pass("vector_add");
}
