// SPDX-License-Identifier: Apache-2.0
// What NvccTest.cpp reads the images of.
__device__ int table[100000];
__global__ void bump(int *p) { p[threadIdx.x] += table[p[0]]; }
#ifdef MAIN
int main() {
  bump<<<1, 32>>>(nullptr);
  return 0;
}
#endif
