// SPDX-License-Identifier: Apache-2.0
// A barrier of the whole grid: heat spreads on a ring of cells, each step of all CTAs done before
// the next one starts; then the sum of the ring.

#include "Check.h"
#include <cooperative_groups.h>
#include <utility>

namespace cg = cooperative_groups;

__global__ void spread(float *cells, float *scratch, int n, int steps, double *total) {
  cg::grid_group grid = cg::this_grid();
  float *from = cells, *to = scratch;
  for (int step = 0; step < steps; ++step) {
    for (int i = int(grid.thread_rank()); i < n; i += int(grid.size()))
      to[i] = 0.5f * from[i] + 0.25f * (from[(i + n - 1) % n] + from[(i + 1) % n]);
    grid.sync();
    float *swap = from;
    from = to;
    to = swap;
  }
  // The first block adds up, in the order of its threads.
  if (blockIdx.x != 0)
    return;
  cg::thread_block block = cg::this_thread_block();
  __shared__ double sums[1024];
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += from[i];
  sums[threadIdx.x] = sum;
  block.sync();
  if (threadIdx.x == 0) {
    double all = 0;
    for (unsigned i = 0; i < blockDim.x; ++i)
      all += sums[i];
    *total = all;
  }
}

__global__ void plain(int *out) {
  cg::grid_group grid = cg::this_grid();
  if (grid.thread_rank() == 0)
    *out = grid.is_valid();
}

int main() {
  const int n = 5000, steps = 6, threads = 128;
  int device = 0, cooperative = 0, multiprocessors = 0, perMultiprocessor = 0;
  CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perMultiprocessor, spread, threads, 0));
  if (!cooperative) {
    printf("FAIL no cooperative launches\n");
    return 1;
  }

  std::vector<float> from(n), to(n);
  for (int i = 0; i < n; ++i)
    from[i] = uniform(i);
  float *cells = upload(from), *scratch = upload(to);
  double *total;
  CHECK(cudaMalloc(&total, sizeof(double)));
  int room = multiprocessors * perMultiprocessor, grid = room < 24 ? room : 24;
  int count = n, stepCount = steps;
  void *arguments[] = {&cells, &scratch, &count, &stepCount, &total};
  CHECK(cudaLaunchCooperativeKernel((void *)spread, grid, threads, arguments));
  checkLaunch("spread");

  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < n; ++i)
      to[i] = 0.5f * from[i] + 0.25f * (from[(i + n - 1) % n] + from[(i + 1) % n]);
    std::swap(from, to);
  }
  double expected = 0;
  for (float cell : from)
    expected += cell;
  expectNear("cells", download(cells, n), from, 1e-6);
  double found = download(total, 1)[0];
  if (!(std::fabs(found - expected) < 1e-3))
    fail("total", 0, expected, found);

  cudaError_t tooLarge = cudaLaunchCooperativeKernel((void *)spread, room + 1, threads, arguments);
  if (tooLarge != cudaErrorCooperativeLaunchTooLarge) {
    printf("FAIL %d blocks where %d fit: %s\n", room + 1, room, cudaGetErrorName(tooLarge));
    return 1;
  }
  cudaGetLastError();

  int *valid;
  CHECK(cudaMalloc(&valid, sizeof(int)));
  plain<<<1, 32>>>(valid); // not cooperative, but the driver gives it a workspace too
  checkLaunch("plain");
  if (download(valid, 1)[0] != 1) {
    printf("FAIL a grid that was launched as usual has no workspace\n");
    return 1;
  }
  return pass("grid_sync");
}
