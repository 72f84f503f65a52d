// SPDX-License-Identifier: Apache-2.0
// y = a x + y in chunks: each stream copies its chunk in, computes and copies it out. Events order
// the streams where one needs another's result, and measure the time.

#include "Check.h"

constexpr int kStreams = 4, kChunk = 8192, kCount = kStreams * kChunk;

__global__ void saxpy(float a, const float *x, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = fmaf(a, x[i], y[i]);
}

int main() {
  float *x, *y, *deviceX, *deviceY;
  size_t bytes = kCount * sizeof(float), chunkBytes = kChunk * sizeof(float);
  CHECK(cudaMallocHost(&x, bytes));
  CHECK(cudaMallocHost(&y, bytes));
  CHECK(cudaMalloc(&deviceX, bytes));
  CHECK(cudaMalloc(&deviceY, bytes));
  std::vector<float> expected(kCount);
  for (int i = 0; i < kCount; ++i) {
    x[i] = uniform(i);
    y[i] = uniform(i + kCount);
    expected[i] = fmaf(-0.5f, x[i], fmaf(2.5f, x[i], y[i]));
  }

  cudaStream_t streams[kStreams];
  cudaEvent_t start, stop, done[kStreams];
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  for (int s = 0; s < kStreams; ++s) {
    CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming));
  }

  CHECK(cudaEventRecord(start, streams[0]));
  for (int s = 0; s < kStreams; ++s) {
    int at = s * kChunk;
    CHECK(cudaMemcpyAsync(deviceX + at, x + at, chunkBytes, cudaMemcpyHostToDevice, streams[s]));
    CHECK(cudaMemcpyAsync(deviceY + at, y + at, chunkBytes, cudaMemcpyHostToDevice, streams[s]));
    saxpy<<<16, 128, 0, streams[s]>>>(2.5f, deviceX + at, deviceY + at, kChunk);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(done[s], streams[s]));
  }
  // The second step runs over all chunks, so stream 0 waits for the others.
  for (int s = 1; s < kStreams; ++s)
    CHECK(cudaStreamWaitEvent(streams[0], done[s], 0));
  saxpy<<<32, 256, 0, streams[0]>>>(-0.5f, deviceX, deviceY, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(y, deviceY, bytes, cudaMemcpyDeviceToHost, streams[0]));
  CHECK(cudaEventRecord(stop, streams[0]));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaEventQuery(stop));
  for (int s = 0; s < kStreams; ++s)
    CHECK(cudaStreamSynchronize(streams[s]));

  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  if (!(milliseconds >= 0))
    fail("elapsed time", 0, 0, milliseconds);
  expectEqual("y", std::vector<float>(y, y + kCount), expected);

  for (int s = 0; s < kStreams; ++s) {
    CHECK(cudaStreamDestroy(streams[s]));
    CHECK(cudaEventDestroy(done[s]));
  }
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaFreeHost(x));
  CHECK(cudaFreeHost(y));
  CHECK(cudaFree(deviceX));
  CHECK(cudaFree(deviceY));
  return pass("saxpy_streams");
}
