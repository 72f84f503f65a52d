// SPDX-License-Identifier: Apache-2.0
// C = A B with tiles in shared memory; no size is a multiple of the tile's.

#include "Check.h"

constexpr int kTile = 16, kRows = 90, kInner = 75, kColumns = 101;

__global__ void multiply(const float *a, const float *b, float *c) {
  __shared__ float tileA[kTile][kTile], tileB[kTile][kTile + 1];
  int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < kInner; start += kTile) {
    int innerA = start + threadIdx.x, innerB = start + threadIdx.y;
    tileA[threadIdx.y][threadIdx.x] =
        row < kRows && innerA < kInner ? a[row * kInner + innerA] : 0.0f;
    tileB[threadIdx.y][threadIdx.x] =
        innerB < kInner && column < kColumns ? b[innerB * kColumns + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k)
      sum = fmaf(tileA[threadIdx.y][k], tileB[k][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < kRows && column < kColumns)
    c[row * kColumns + column] = sum;
}

int main() {
  std::vector<float> a(kRows * kInner), b(kInner * kColumns), expected(kRows * kColumns);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = uniform(i) - 0.5f;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = uniform(i + 1000000) - 0.5f;
  // The same operations in the same order: the results are equal to the last bit.
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column) {
      float sum = 0;
      for (int k = 0; k < kInner; ++k)
        sum = fmaf(a[row * kInner + k], b[k * kColumns + column], sum);
      expected[row * kColumns + column] = sum;
    }

  float *deviceA = upload(a), *deviceB = upload(b), *deviceC;
  CHECK(cudaMalloc(&deviceC, expected.size() * sizeof(float)));
  dim3 grid((kColumns + kTile - 1) / kTile, (kRows + kTile - 1) / kTile);
  multiply<<<grid, dim3(kTile, kTile)>>>(deviceA, deviceB, deviceC);
  checkLaunch("multiply");
  expectEqual("C", download(deviceC, expected.size()), expected);
  CHECK(cudaFree(deviceA));
  CHECK(cudaFree(deviceB));
  CHECK(cudaFree(deviceC));
  return pass("matmul_tiled");
}
