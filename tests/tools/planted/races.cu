// SPDX-License-Identifier: Apache-2.0
// Accesses of different warps and blocks that nothing orders, as programs of CUDA make them. Two
// lines are marked: either may be the one that comes second.
#include <cuda_pipeline.h>

// CASE fault=DataRace block=64 words=64
extern "C" __global__ void reversed_without_barrier(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadIdx.x;
  if (t == 10)
    cells[t] = data[t]; // BUG thread=(10,0,0)
#ifdef MENDED
  __syncthreads();
#endif
  if (t == 53)
    data[t] = cells[63 - t]; // BUG thread=(53,0,0)
}

// CASE fault=DataRace block=64 words=64
extern "C" __global__ void sum_too_early(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  if (threadIdx.x == 35)
    sum = n; // BUG thread=(35,0,0)
#ifdef MENDED
  __syncthreads();
#endif
  if (threadIdx.x == 2)
    data[0] = sum; // BUG thread=(2,0,0)
}

// CASE fault=DataRace block=96 words=96
extern "C" __global__ void ring_of_one_slot(unsigned *data, unsigned, unsigned *) {
#ifdef MENDED
  constexpr unsigned kSlots = 2;
#else
  constexpr unsigned kSlots = 1;
#endif
  __shared__ unsigned ring[kSlots];
  unsigned sum = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (threadIdx.x == 64)
      ring[i % kSlots] = data[i]; // BUG thread=(64,0,0)
    __syncthreads();
    if (threadIdx.x == 1)
      sum += ring[i % kSlots]; // BUG thread=(1,0,0)
  }
  if (threadIdx.x == 1)
    data[0] = sum;
}

// CASE fault=DataRace block=64 words=64
extern "C" __global__ void leader_of_the_block(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned base;
  if (threadIdx.x == 0)
    base = atomicAdd(&data[0], n); // BUG thread=(0,0,0)
#ifdef MENDED
  __syncthreads();
#endif
  if (threadIdx.x == 40)
    data[40] = base; // BUG thread=(40,0,0)
}

// CASE fault=DataRace block=32 grid=2 words=64
extern "C" __global__ void blocks_share_an_edge(unsigned *data, unsigned, unsigned *) {
  const unsigned i = blockIdx.x * 32 + threadIdx.x;
#ifdef MENDED
  const unsigned to = i;
#else
  const unsigned to = i - (blockIdx.x == 1 && threadIdx.x == 0);
#endif
  if (threadIdx.x == 0 || threadIdx.x == 31) {
    if (blockIdx.x == 0 && threadIdx.x == 31)
      data[to] = 1; // BUG thread=(31,0,0)
    if (blockIdx.x == 1 && threadIdx.x == 0)
      data[to] = 2; // BUG thread=(0,0,0)
  }
}

// CASE fault=DataRace block=32 grid=3 words=32
extern "C" __global__ void counter_of_all_blocks(unsigned *data, unsigned, unsigned *) {
  if (threadIdx.x == 7)
#ifdef MENDED
    atomicAdd(&data[7], 1 + blockIdx.x);
#else
    data[7] += 1 + blockIdx.x; // BUG thread=(7,0,0) twice
#endif
}

// CASE fault=DataRace block=32 grid=2 words=64
extern "C" __global__ void flag_before_the_message(unsigned *data, unsigned n, unsigned *) {
  volatile unsigned *flag = data + 60;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    data[3] = n; // BUG thread=(0,0,0)
#ifdef MENDED
    __threadfence();
#endif
    *flag = 1000;
  }
  if (blockIdx.x == 1 && threadIdx.x == 12) {
    while (*flag != 1000)
      ;
    __threadfence();
    data[40] = data[3]; // BUG thread=(12,0,0)
  }
}

// CASE fault=DataRace block=128 words=128
extern "C" __global__ void last_step_of_a_tree(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[128];
  const unsigned t = threadIdx.x;
  cells[t] = data[t];
  __syncthreads();
  if (t < 64)
    cells[t] += cells[t + 64]; // BUG waits
#ifdef MENDED
  __syncthreads();
#endif
  if (t < 32)
    data[t] = cells[t] + cells[t + 32]; // BUG waits
}

// CASE fault=DataRace block=64 words=64
extern "C" __global__ void maximum_without_atomics(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned most;
  if (threadIdx.x == 0)
    most = 0;
  __syncthreads();
  if ((threadIdx.x & 31) == 3)
#ifdef MENDED
    atomicMax(&most, data[threadIdx.x]);
#else
    most = max(most, data[threadIdx.x]); // BUG waits twice
#endif
  __syncthreads();
  if (threadIdx.x == 0)
    data[0] = most;
}

// CASE fault=DataRace block=64 words=64
extern "C" __global__ void in_place_shift(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadIdx.x;
  unsigned next = 0;
  if (t == 31)
    next = data[t + 1]; // BUG thread=(31,0,0)
#ifdef MENDED
  __syncthreads();
#endif
  if (t == 32)
    data[t] = 1234; // BUG thread=(32,0,0)
  __syncthreads();
  if (t == 31)
    data[t] = next;
}

// CASE fault=DataRace block=64 words=64
extern "C" __global__ void copy_without_wait(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadIdx.x;
  __pipeline_memcpy_async(&cells[t], &data[t], 4); // BUG waits
  __pipeline_commit();
#ifdef MENDED
  __pipeline_wait_prior(0);
#endif
  __syncthreads();
  data[t] = cells[t ^ 32]; // BUG waits
}

// CASE fault=DataRace block=64 words=128
extern "C" __global__ void copy_of_the_wrong_stage(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[2][64];
  const unsigned t = threadIdx.x;
  __pipeline_memcpy_async(&cells[0][t], &data[t], 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&cells[1][t], &data[64 + t], 4); // BUG waits
  __pipeline_commit();
#ifdef MENDED
  __pipeline_wait_prior(0);
#else
  __pipeline_wait_prior(1);
#endif
  __syncthreads();
  data[t] = cells[1][63 - t]; // BUG waits
}

// CASE fault=DataRace block=64 words=64
extern "C" __global__ void copy_without_barrier(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadIdx.x;
  if (t == 50)
    __pipeline_memcpy_async(&cells[t], &data[t], 4); // BUG thread=(50,0,0)
  __pipeline_commit();
  __pipeline_wait_prior(0);
#ifdef MENDED
  __syncthreads();
#endif
  if (t == 5)
    data[t] = cells[50]; // BUG thread=(5,0,0)
}

// CASE fault=DataRace block=64 words=64
extern "C" __global__ void flags_as_bytes(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned char done[64];
  const unsigned t = threadIdx.x;
  if (t < 32)
    done[t] = static_cast<unsigned char>(n + t); // BUG waits
#ifdef MENDED
  __syncthreads();
#endif
  if (t >= 32)
    data[t] = done[t - 32]; // BUG waits
}

// CASE fault=DataRace block=32 grid=2 words=64
extern "C" __global__ void atomic_of_the_block_alone(unsigned *data, unsigned, unsigned *) {
  if (threadIdx.x == 17)
#ifdef MENDED
    atomicAdd(&data[2], 1u);
#else
    atomicAdd_block(&data[2], 1u); // BUG thread=(17,0,0) twice
#endif
}
