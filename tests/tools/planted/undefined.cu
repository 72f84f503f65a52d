// SPDX-License-Identifier: Apache-2.0
// Memory that is read before anybody has written it, as programs of CUDA read it: shared, local and
// of the device.

// CASE fault=Uninitialised block=64 words=64
extern "C" __global__ void histogram_not_cleared(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned bins[8];
#ifdef MENDED
  if (threadIdx.x < 8)
    bins[threadIdx.x] = 0;
  __syncthreads();
#endif
  if (threadIdx.x == 6)
    atomicAdd(&bins[data[6] & 7], 1u); // BUG thread=(6,0,0)
  __syncthreads();
  if (threadIdx.x == 0)
    data[0] = bins[6];
}

// CASE fault=Uninitialised block=32 words=32
extern "C" __global__ void last_row_not_loaded(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned tile[4][8];
  const unsigned row = threadIdx.x / 8, column = threadIdx.x % 8;
#ifndef MENDED
  if (row < 3)
#endif
    tile[row][column] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[row][7 - column] + 1; // BUG thread=(24,0,0)
}

// CASE fault=Uninitialised block=32 words=64
extern "C" __global__ void best_of_none(unsigned *data, unsigned n, unsigned *) {
  __shared__ float best[32];
  const unsigned t = threadIdx.x;
#ifdef MENDED
  best[t] = 0.0f;
#endif
  for (unsigned i = t; i < n; i += 32)
    if (data[i] > 63 - t) // not for the first
      best[t] = float(data[i]);
  data[t] = unsigned(best[t] * 2.0f); // BUG thread=(0,0,0)
}

// CASE fault=Uninitialised block=32 words=32 shared=256
extern "C" __global__ void dynamic_not_filled(unsigned *data, unsigned, unsigned *) {
  extern __shared__ unsigned cells[];
  const unsigned t = threadIdx.x;
  cells[t] = data[t];
#ifdef MENDED
  cells[t + 32] = data[31 - t];
#endif
  __syncthreads();
  if (t == 3 && cells[t + 40] > 5) // BUG thread=(3,0,0)
    data[t] = 1;
}

// CASE fault=Uninitialised block=32 words=64
extern "C" __global__ void stack_that_is_empty(unsigned *data, unsigned n, unsigned *) {
  unsigned stack[16];
  unsigned depth = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (data[(threadIdx.x + i) % n] > 5)
      stack[depth++ & 15] = i;
#ifdef MENDED
  stack[(depth + data[3]) & 15] = 1;
#endif
  data[threadIdx.x] = stack[(depth + data[3]) & 15] * 3; // BUG thread=(0,0,0)
}

// CASE fault=Uninitialised block=64 words=64
extern "C" __global__ void index_never_set(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned found;
#ifdef MENDED
  if (threadIdx.x == 0)
    found = 1;
  __syncthreads();
#endif
  if (data[threadIdx.x] == 1000)
    found = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 33)
    data[found & 63] = 1; // BUG thread=(33,0,0)
}

// CASE fault=Uninitialised block=32 words=32
extern "C" __global__ void vote_of_what_nobody_wrote(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadIdx.x;
#ifndef MENDED
  if (t != 13)
#endif
    cells[t] = data[t];
  __syncthreads();
  const unsigned ballot = __ballot_sync(~0u, cells[t] > 4); // BUG thread=(13,0,0)
  data[t] = ballot;
}

// CASE fault=Uninitialised block=32 words=96 written=64
extern "C" __global__ void tail_of_the_input(unsigned *data, unsigned n, unsigned *) {
  unsigned sum = 0;
#ifdef MENDED
  n -= 32;
#endif
  for (unsigned i = threadIdx.x; i < n; i += 32)
    sum += data[i]; // BUG thread=(0,0,0)
  data[threadIdx.x] = sum;
}

// CASE fault=Uninitialised block=32 words=64 written=32
extern "C" __global__ void counters_not_cleared(unsigned *data, unsigned, unsigned *) {
  const unsigned bin = 32 + (data[threadIdx.x] & 3);
#ifdef MENDED
  if (threadIdx.x < 4)
    data[32 + threadIdx.x] = 0;
  __syncthreads();
#endif
  if (threadIdx.x == 22)
    atomicAdd(&data[bin], 1u); // BUG thread=(22,0,0)
}

// CASE fault=Uninitialised block=32 words=64 written=40
extern "C" __global__ void table_half_filled(unsigned *data, unsigned, unsigned *) {
#ifdef MENDED
  const unsigned at = 32 + threadIdx.x / 4;
#else
  const unsigned at = 32 + threadIdx.x / 3;
#endif
  data[threadIdx.x] = 100 / (data[at] + 1); // BUG thread=(24,0,0)
}

// CASE fault=Uninitialised block=64 words=128 written=100
extern "C" __global__ void search_in_what_is_not_there(unsigned *data, unsigned n, unsigned *) {
  if (threadIdx.x == 41) {
    unsigned at = 90;
#ifdef MENDED
    n = 100;
#endif
    while (at < n && data[at] < 1000) // BUG thread=(41,0,0)
      ++at;
    data[0] = at;
  }
}

// CASE fault=Uninitialised block=32 words=64 written=63
extern "C" __global__ void double_with_a_missing_half(unsigned *data, unsigned n, unsigned *) {
#ifdef MENDED
  n -= 2;
#endif
  auto *numbers = reinterpret_cast<double *>(data);
  if (threadIdx.x == 8)
    numbers[0] = numbers[n / 2 - 1] * 0.5; // BUG thread=(8,0,0)
}

// CASE fault=Uninitialised block=32 words=32 heap=1
extern "C" __global__ void malloc_is_no_calloc(unsigned *data, unsigned n, unsigned *) {
  if (threadIdx.x == 19) {
    auto *cells = static_cast<unsigned *>(malloc(n * sizeof(unsigned)));
#ifdef MENDED
    memset(cells, 0, n * sizeof(unsigned));
#endif
    cells[data[5]] = 7;
    unsigned sum = 0;
    for (unsigned i = 0; i < n; ++i)
      sum = sum * 5 + cells[i]; // BUG thread=(19,0,0)
    data[19] = sum;
    free(cells);
  }
}

struct Best {
  float score;
  unsigned at;
};

// CASE fault=Uninitialised block=32 words=32
extern "C" __global__ void structure_half_set(unsigned *data, unsigned, unsigned *) {
  __shared__ Best best[32];
  const unsigned t = threadIdx.x;
  best[t].score = float(data[t]);
#ifdef MENDED
  best[t].at = t;
#endif
  __syncthreads();
  data[t] = best[31 - t].at * 2 + unsigned(best[31 - t].score); // BUG thread=(0,0,0)
}
