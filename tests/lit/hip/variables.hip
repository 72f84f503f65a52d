// SPDX-License-Identifier: Apache-2.0
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %programs/variables | FileCheck %s
#include "Inputs/check.h"

__constant__ int table[4] = {1, 2, 3, 4};
__device__ int counter;
__managed__ int shared = 40;

__global__ void use(int *out) {
  atomicAdd(&counter, table[threadIdx.x]);
  if (threadIdx.x == 0)
    shared += 2;
  __syncthreads();
  out[threadIdx.x] = table[threadIdx.x] * 10;
}

int main() {
  int *out, values[4], count = -1;
  CHECK(hipMalloc(&out, sizeof(values)));
  int doubled[2] = {30, 40};
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), doubled, sizeof(doubled), 2 * sizeof(int)));
  EXPECT(hipMemcpyToSymbol(HIP_SYMBOL(table), doubled, sizeof(doubled), 3 * sizeof(int)) ==
         hipErrorInvalidValue);
  shared += 1;
  use<<<1, 4>>>(out);
  CHECK(hipMemcpy(values, out, sizeof(values), hipMemcpyDeviceToHost));
  CHECK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof(count)));
  EXPECT(values[0] == 10 && values[1] == 20 && values[2] == 300 && values[3] == 400);
  EXPECT(count == 73);
  EXPECT(shared == 43);
  void *address;
  size_t bytes;
  CHECK(hipGetSymbolAddress(&address, HIP_SYMBOL(counter)));
  CHECK(hipGetSymbolSize(&bytes, HIP_SYMBOL(table)));
  EXPECT(bytes == 16);
  CHECK(hipMemcpy(&count, address, sizeof(count), hipMemcpyDeviceToHost));
  EXPECT(count == 73);
  EXPECT(hipGetSymbolAddress(&address, &count) == hipErrorInvalidSymbol);
  hipFuncAttributes attributes;
  CHECK(hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(use)));
  EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0);
  // CHECK: PASS
  printf("PASS\n");
}
