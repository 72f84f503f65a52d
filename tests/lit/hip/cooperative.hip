// SPDX-License-Identifier: Apache-2.0
// Workgroups that wait for all of their grid, and grids that wait for each other on two devices.
// RUN: env RUBIA_ARCH=gfx1030,gfx90a %hiplib %programs/cooperative | FileCheck %s
// RUN: env RUBIA_ARCH=gfx90a,gfx1030 %hiplib %programs/cooperative | FileCheck %s
// RUN: env RUBIA_EMULATOR_CHECK=races RUBIA_ARCH=gfx1030 %hiplib %programs/cooperative one | FileCheck %s
// RUN: env RUBIA_EMULATOR_CHECK=races RUBIA_ARCH=gfx90a %hiplib %programs/cooperative one | FileCheck %s
// RUN: not env RUBIA_EMULATOR_CHECK=races RUBIA_ARCH=gfx1030 %hiplib %programs/cooperative missing > %t.text 2>&1
// RUN: FileCheck --check-prefix=MISSING %s < %t.text
// RUN: not env RUBIA_EMULATOR_CHECK=order RUBIA_ARCH=gfx90a %hiplib %programs/cooperative one > %t.text 2>&1
// RUN: FileCheck --check-prefix=ORDER %s < %t.text
// RUN: not env RUBIA_EMULATOR_CHECK=order RUBIA_ARCH=gfx1030,gfx90a %hiplib %programs/cooperative two > %t.text 2>&1
// RUN: FileCheck --check-prefix=GRIDS %s < %t.text
#include "Inputs/check.h"
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_ext.h>
#include <string>

namespace groups = cooperative_groups;

// Each workgroup adds its part; after the barrier each reads all parts.
__global__ void sum(const int *data, int *parts, int *totals, int n) {
  groups::grid_group grid = groups::this_grid();
  int own = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size())
    own += data[i];
  atomicAdd(&parts[blockIdx.x], own);
  for (int round = 0; round < 3; ++round) {
    grid.sync();
    if (threadIdx.x == 0) {
      int total = 0;
      for (unsigned i = 0; i < gridDim.x; ++i)
        total += parts[i];
      totals[round * gridDim.x + blockIdx.x] = total;
    }
    grid.sync();
    if (threadIdx.x == 0)
      parts[blockIdx.x] += 1;
  }
  if (grid.thread_rank() == 0 && !grid.is_valid())
    totals[0] = -1;
}

// What is written behind the barrier is read without another.
__global__ void racing(int *parts, int *total) {
  groups::this_grid().sync();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = blockIdx.x;
    total[blockIdx.x] = parts[(blockIdx.x + 1) % gridDim.x];
  }
}

// Each device says what it has and reads what the other one said.
__global__ void exchange(int *said, int *heard) {
  groups::multi_grid_group all = groups::this_multi_grid();
  if (threadIdx.x == 0 && blockIdx.x == 0)
    said[all.grid_rank()] = 100 + all.grid_rank();
  all.sync();
  const unsigned other = 1 - all.grid_rank();
  if (threadIdx.x == 0)
    heard[all.grid_rank() * gridDim.x + blockIdx.x] = said[other] * 10 + all.num_grids();
}

static void oneDevice() {
  const int n = 5000;
  const unsigned blocks = 7;
  int *data, *parts, *totals;
  CHECK(hipMallocManaged(&data, n * sizeof(int)));
  CHECK(hipMallocManaged(&parts, blocks * sizeof(int)));
  CHECK(hipMallocManaged(&totals, 3 * blocks * sizeof(int)));
  CHECK(hipMemset(parts, 0, blocks * sizeof(int)));
  for (int i = 0; i < n; ++i)
    data[i] = i;
  int count = n;
  void *arguments[] = {&data, &parts, &totals, &count};
  auto kernel = reinterpret_cast<const void *>(sum);
  CHECK(hipLaunchCooperativeKernel(kernel, dim3(blocks), dim3(96), arguments, 0, nullptr));
  CHECK(hipDeviceSynchronize());
  for (unsigned round = 0; round < 3; ++round)
    for (unsigned i = 0; i < blocks; ++i)
      EXPECT(totals[round * blocks + i] == n * (n - 1) / 2 + int(round * blocks));
  // As many as the device holds, and one more.
  int perUnit;
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&perUnit, sum, 1024, 0));
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  EXPECT(properties.cooperativeLaunch);
  const unsigned most = unsigned(perUnit * properties.multiProcessorCount);
  EXPECT(hipLaunchCooperativeKernel(kernel, dim3(most + 1), dim3(1024), arguments, 0, nullptr) ==
         hipErrorCooperativeLaunchTooLarge);
}

static void twoDevices() {
  const unsigned blocks = 3;
  int *said, *heard;
  CHECK(hipMallocManaged(&said, 2 * sizeof(int)));
  CHECK(hipMallocManaged(&heard, 2 * blocks * sizeof(int)));
  hipStream_t streams[2];
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    CHECK(hipStreamCreateWithFlags(&streams[device], hipStreamNonBlocking));
  }
  CHECK(hipSetDevice(0));
  void *arguments[] = {&said, &heard};
  hipLaunchParams launches[2];
  for (int device = 0; device < 2; ++device)
    launches[device] = {
        reinterpret_cast<void *>(exchange), dim3(blocks), dim3(64), arguments, 0, streams[device]};
  CHECK(hipLaunchCooperativeKernelMultiDevice(launches, 2, 0));
  // What the first stream does next waits for both.
  CHECK(hipStreamSynchronize(streams[0]));
  for (unsigned device = 0; device < 2; ++device)
    for (unsigned i = 0; i < blocks; ++i)
      EXPECT(heard[device * blocks + i] == int(101 - device) * 10 + 2);
  EXPECT(hipLaunchCooperativeKernelMultiDevice(launches, 2, 4) == hipErrorInvalidValue);
  launches[1].stream = streams[0];
  EXPECT(hipLaunchCooperativeKernelMultiDevice(launches, 2, 0) == hipErrorInvalidDevice);
  // A stream's work is its own device's, whichever is current.
  hipEvent_t start, stop;
  CHECK(hipSetDevice(1));
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  CHECK(hipSetDevice(0));
  CHECK(hipMemset(heard, 0, 2 * blocks * sizeof(int)));
  void *alone[] = {&said, &heard};
  EXPECT(hipExtLaunchKernel(reinterpret_cast<void *>(exchange), dim3(blocks), dim3(64), alone, 0,
                            streams[1], start, stop, 2) == hipErrorInvalidValue);
  CHECK(hipEventRecord(start, streams[1]));
  EXPECT(hipEventRecord(start, streams[0]) == hipErrorInvalidHandle);
  CHECK(hipStreamSynchronize(streams[1]));
  CHECK(hipStreamDestroy(streams[1]));
}

static void race() {
  int *memory, *totals;
  CHECK(hipMalloc(&memory, 8 * sizeof(int)));
  totals = memory + 4;
  void *arguments[] = {&memory, &totals};
  auto kernel = reinterpret_cast<const void *>(racing);
  CHECK(hipLaunchCooperativeKernel(kernel, dim3(4), dim3(64), arguments, 0, nullptr));
  CHECK(hipDeviceSynchronize());
}

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "missing")
    race();
  else if (what != "two")
    oneDevice();
  if (what == "all" || what == "two")
    twoDevices();
  // MISSING: racing{{.*}}: data race: read of 4 bytes
  // ORDER: DS_GWS_BARRIER at pc {{.*}} is not possible under the check order
  // GRIDS: grids that wait for each other under the check order are not supported
  // CHECK: PASS
  printf("PASS\n");
}
