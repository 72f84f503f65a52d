// SPDX-License-Identifier: Apache-2.0
// Threads that do not meet as they should: lanes of a warp without __syncwarp(), membermasks and
// barriers, as programs of CUDA have them.

// CASE fault=WarpHazard block=32 words=32
extern "C" __global__ void neighbours_of_a_warp(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadIdx.x;
  cells[t] = data[t] * 3; // BUG thread=(1,0,0)
#ifdef MENDED
  __syncwarp();
#endif
  data[t] = cells[(t + 1) & 31]; // BUG thread=(0,0,0)
}

// CASE fault=WarpHazard block=64 words=128
extern "C" __global__ void transposed_by_a_warp(unsigned *data, unsigned, unsigned *) {
  __shared__ float tile[2][4][9];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  tile[warp][lane / 8][lane % 8] = float(data[threadIdx.x]); // BUG waits
#ifdef MENDED
  __syncwarp();
#endif
  data[threadIdx.x] = unsigned(tile[warp][lane % 4][lane / 4]); // BUG waits
}

// CASE fault=WarpHazard block=32 words=64
extern "C" __global__ void warp_synchronous_tree(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadIdx.x;
  cells[t] = data[t];
  cells[t + 32] = data[t + 32];
  __syncwarp();
  if (t < 8) {
    const unsigned part = cells[t] + cells[t + 8];
    cells[t] = part; // BUG waits
  }
#ifdef MENDED
  __syncwarp();
#endif
  if (t < 4)
    data[t] = cells[t] + cells[t + 4]; // BUG waits
}

// CASE fault=WarpHazard block=32 words=64
extern "C" __global__ void queue_of_a_warp(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned queue[32];
  const unsigned t = threadIdx.x;
  const bool takes = data[t] % 2 == 1;
  const unsigned ballot = __ballot_sync(~0u, takes);
  if (takes)
    queue[__popc(ballot & ((1u << t) - 1))] = t + n; // BUG thread=(1,0,0)
#ifdef MENDED
  __syncwarp();
#endif
  if (t == 0)
    data[32] = queue[0]; // BUG thread=(0,0,0)
}

// CASE fault=WarpHazard block=32 words=64
extern "C" __global__ void warp_ring_in_global_memory(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadIdx.x;
  const unsigned mine = data[t];
  __syncwarp();
  data[32 + t] = mine + 5; // BUG thread=(31,0,0)
#ifdef MENDED
  __syncwarp();
#endif
  data[t] = data[32 + ((t + 31) & 31)]; // BUG thread=(0,0,0)
}

// CASE fault=WarpHazard block=32 words=32
extern "C" __global__ void leader_overwrites(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cell;
  const unsigned t = threadIdx.x;
  if (t == 0)
    cell = n;
  __syncwarp();
  unsigned value = 0;
  if (t == 9)
    value = cell; // BUG thread=(9,0,0)
#ifdef MENDED
  __syncwarp();
#endif
  if (t == 0)
    cell = n + 1; // BUG thread=(0,0,0)
  __syncwarp();
  data[t] = value + cell;
}

// CASE fault=WarpHazard block=32 words=32
extern "C" __global__ void half_warps_alone(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadIdx.x;
  cells[t] = data[t] + 1; // BUG thread=(20,0,0)
#ifdef MENDED
  __syncwarp();
#else
  __syncwarp(t < 16 ? 0x0000ffffu : 0xffff0000u);
#endif
  if (t == 4)
    data[t] = cells[20]; // BUG thread=(4,0,0)
}

// CASE fault=WarpHazard block=32 words=64
extern "C" __global__ void quarters_alone(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadIdx.x;
  data[32 + t] = t * 3; // BUG thread=(8,0,0)
#ifdef MENDED
  __syncwarp();
#else
  __syncwarp(0xffu << (t & 24));
#endif
  if (t == 7)
    data[t] = data[33 + t]; // BUG thread=(7,0,0)
}

// CASE fault=WarpHazard block=32 words=64
extern "C" __global__ void pairs_of_lanes(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadIdx.x, mine = data[t];
  data[32 + t] = mine + 1; // BUG thread=(2,0,0)
  __syncwarp(3u << (t & 30));
#ifdef MENDED
  const unsigned other = t ^ 1;
#else
  const unsigned other = t == 1 ? 2 : t ^ 1;
#endif
  data[t] = data[32 + other]; // BUG thread=(1,0,0)
}

// CASE fault=WarpHazard block=32 words=64
extern "C" __global__ void handed_over_in_a_chain(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadIdx.x;
  if (t == 0)
    data[40] = n; // BUG thread=(0,0,0)
  if (t < 2)
    __syncwarp(0x3);
#ifdef MENDED
  if (t == 1 || t == 2)
    __syncwarp(0x6);
#else
  if (t == 2 || t == 3)
    __syncwarp(0xc);
#endif
  if (t == 2)
    data[2] = data[40] + 1; // BUG thread=(2,0,0)
}

// CASE fault=Warning block=32 words=32
extern "C" __global__ void all_write_one_word(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadIdx.x;
#ifdef MENDED
  if (t == 0)
#endif
    data[9] = t * 7; // BUG thread=(1,0,0)
}

// CASE fault=InvalidMask block=32 words=32
extern "C" __global__ void shuffle_of_the_first_half(unsigned *data, unsigned, unsigned *) {
#ifdef MENDED
  const unsigned mask = ~0u;
#else
  const unsigned mask = data[0] + 0xffffu;
#endif
  data[threadIdx.x] = __shfl_down_sync(mask, data[threadIdx.x], 4); // BUG thread=(16,0,0)
}

// CASE fault=InvalidMask block=32 words=32
extern "C" __global__ void ballot_in_a_branch(unsigned *data, unsigned, unsigned *) {
  if (data[threadIdx.x] >= 24) {
#ifdef MENDED
    const unsigned mask = __activemask();
#else
    const unsigned mask = 0x3f000000u + data[0];
#endif
    data[threadIdx.x] = __ballot_sync(mask, threadIdx.x & 1); // BUG thread=(30,0,0)
  }
}

// CASE fault=InvalidMask block=32 words=32
extern "C" __global__ void sum_of_even_lanes(unsigned *data, unsigned, unsigned *) {
#ifdef MENDED
  const unsigned mask = ~0u;
#else
  const unsigned mask = 0x55555555u + data[0];
#endif
  data[threadIdx.x] = __reduce_add_sync(mask, data[threadIdx.x]); // BUG thread=(1,0,0)
}

// CASE fault=BarrierDivergence block=64 words=64
extern "C" __global__ void barrier_behind_a_guard(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadIdx.x;
  cells[t] = data[t];
#ifdef MENDED
  __syncthreads();
  if (t < n - 10)
    data[t] = cells[t ^ 1];
#else
  if (t < n - 10) {
    __syncthreads(); // BUG thread=(54,0,0)
    data[t] = cells[t ^ 1];
  }
#endif
  __syncthreads();
  data[t] += 1;
}

// CASE fault=BarrierDivergence block=64 words=64
extern "C" __global__ void barrier_in_an_uneven_loop(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadIdx.x;
  cells[t] = 0;
#ifdef MENDED
  const unsigned rounds = 4;
#else
  const unsigned rounds = 2 + data[t] / 48;
#endif
  for (unsigned i = 0; i < rounds; ++i) {
    cells[t] += i;
    __syncthreads(); // BUG thread=(32,0,0)
  }
  data[t] = cells[t];
}

// CASE fault=Deadlock block=64 words=64
extern "C" __global__ void named_barrier_of_too_many(unsigned *data, unsigned, unsigned *) {
#ifdef MENDED
  asm volatile("bar.sync 2, 64;" ::: "memory");
#else
  asm volatile("bar.sync 2, 96;" ::: "memory"); // BUG waits
#endif
  data[threadIdx.x] = 5;
}

// CASE fault=Deadlock block=32 grid=2 words=64
extern "C" __global__ void block_that_is_waited_for(unsigned *data, unsigned, unsigned *) {
  volatile unsigned *arrived = data + 50;
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0)
      *arrived = 100;
#ifdef MENDED
    while (*arrived < 100)
#else
    while (*arrived < 101) // BUG waits
#endif
      ;
  }
}

// CASE fault=WarpHazard block=32 words=64
extern "C" __global__ void scan_in_place(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadIdx.x;
  cells[t] = data[t];
  __syncwarp();
  unsigned before = 0;
  if (t >= 2)
    before = cells[t - 2]; // BUG waits
#ifdef MENDED
  __syncwarp();
#endif
  cells[t] += before; // BUG waits
  __syncwarp();
  data[t] = cells[31 - t];
}
