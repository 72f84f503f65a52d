// SPDX-License-Identifier: Apache-2.0
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %each-version %programs/streams_events | FileCheck %s
// RUN: env RUBIA_ARCH=gfx90a %hiplib %each-version %programs/streams_events | FileCheck %s
#include "Inputs/check.h"
#include <atomic>
#include <filesystem>
#include <thread>
#include <unistd.h>

__global__ void scale(int *data, int n, int factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    data[i] *= factor;
}

// Waits for the host: streams that run at the same time can, streams that take turns cannot.
__global__ void waitForOther(volatile int *mine, volatile int *other) {
  *mine = 1;
  while (!*other) {
  }
}

static std::atomic<int> called{0};
static void callback(hipStream_t, hipError_t status, void *data) {
  called += status == hipSuccess ? *static_cast<int *>(data) : 1000;
}

static int threadCount() {
  std::filesystem::directory_iterator all("/proc/self/task");
  return int(std::distance(begin(all), end(all)));
}

// Each thread has a stream of its own, which ends with the thread and with the device.
static void streamsOfThreads(int *device) {
  for (int i = 0; i < 5; ++i) {
    CHECK(hipMemsetAsync(device, i, 4, hipStreamPerThread));
    CHECK(hipStreamSynchronize(hipStreamPerThread));
    CHECK(hipDeviceReset());
    usleep(20000); // the stream of before is gone
  }
  const int before = threadCount();
  for (int i = 0; i < 50; ++i)
    std::thread([&] {
      CHECK(hipMemsetAsync(device, 9, 4, hipStreamPerThread));
      CHECK(hipStreamSynchronize(hipStreamPerThread));
    }).join();
  for (int tries = 0; tries < 200 && threadCount() > before; ++tries)
    usleep(20000);
  EXPECT(threadCount() <= before);
  int word = 0;
  CHECK(hipMemcpy(&word, device, 4, hipMemcpyDeviceToHost));
  EXPECT(word == 0x09090909);
}

__global__ void fault(int *nowhere) { *nowhere = 1; }

// What waits for a word that a kernel was to write does not outlive the kernel's fault.
static void waitBehindFault(int *word) {
  hipStream_t waits, faults;
  CHECK(hipStreamCreateWithFlags(&waits, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&faults, hipStreamNonBlocking));
  CHECK(hipMemset(word, 0, 4));
  CHECK(hipStreamWaitValue32(waits, word, 1, hipStreamWaitValueEq, ~0u));
  fault<<<1, 1, 0, faults>>>(nullptr);
  EXPECT(hipStreamSynchronize(faults) != hipSuccess);
  CHECK(hipDeviceReset());
  (void)hipGetLastError();
}

// What is not there is remembered as an error.
static void notThere() {
  EXPECT(hipProfilerStart() == hipErrorNotSupported);
  EXPECT(hipGetLastError() == hipErrorNotSupported);
}

int main() {
  const int n = 4096;
  int *host, *device;
  CHECK(hipHostMalloc(&host, n * sizeof(int), hipHostMallocDefault));
  CHECK(hipMalloc(&device, n * sizeof(int)));
  for (int i = 0; i < n; ++i)
    host[i] = i;

  // Order inside a stream, and between streams through an event.
  hipStream_t first, second;
  hipEvent_t copied, begin, end;
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreate(&second));
  CHECK(hipEventCreateWithFlags(&copied, hipEventDisableTiming));
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventCreate(&end));
  CHECK(hipEventRecord(begin, first));
  CHECK(hipMemcpyAsync(device, host, n * sizeof(int), hipMemcpyHostToDevice, first));
  scale<<<4, 64, 0, first>>>(device, n, 3);
  CHECK(hipEventRecord(copied, first));
  CHECK(hipStreamWaitEvent(second, copied, 0));
  scale<<<4, 64, 0, second>>>(device, n, 5);
  CHECK(hipMemcpyAsync(host, device, n * sizeof(int), hipMemcpyDeviceToHost, second));
  int two = 2;
  CHECK(hipStreamAddCallback(second, callback, &two, 0));
  CHECK(hipEventRecord(end, second));
  CHECK(hipEventSynchronize(end));
  EXPECT(called == 2);
  for (int i = 0; i < n; ++i)
    EXPECT(host[i] == 15 * i);
  float ms = -1;
  CHECK(hipEventElapsedTime(&ms, begin, end));
  EXPECT(ms >= 0);
  EXPECT(hipEventElapsedTime(&ms, copied, end) == hipErrorInvalidHandle);

  // Concurrency.
  int *flags;
  CHECK(hipHostMalloc(&flags, 2 * sizeof(int), hipHostMallocMapped));
  flags[0] = flags[1] = 0;
  hipStream_t third;
  CHECK(hipStreamCreateWithFlags(&third, hipStreamNonBlocking));
  waitForOther<<<1, 1, 0, first>>>(flags, flags + 1);
  waitForOther<<<1, 1, 0, third>>>(flags + 1, flags);
  CHECK(hipDeviceSynchronize());
  CHECK(hipStreamQuery(first));

  // Stream-ordered memory.
  int *ordered;
  CHECK(hipMallocAsync(&ordered, n * sizeof(int), first));
  CHECK(hipMemsetAsync(ordered, 0x11, n * sizeof(int), first));
  CHECK(hipMemcpyAsync(host, ordered, n * sizeof(int), hipMemcpyDeviceToHost, first));
  CHECK(hipFreeAsync(ordered, first));
  CHECK(hipStreamSynchronize(first));
  EXPECT(host[0] == 0x11111111 && host[n - 1] == 0x11111111);
  EXPECT(hipFree(ordered) == hipErrorInvalidValue);

  CHECK(hipStreamDestroy(first));
  CHECK(hipStreamDestroy(second));
  CHECK(hipStreamDestroy(third));
  streamsOfThreads(device);
  waitBehindFault(device);
  notThere();
  // CHECK: PASS
  printf("PASS\n");
}
