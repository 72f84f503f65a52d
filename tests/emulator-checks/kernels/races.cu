// SPDX-License-Identifier: Apache-2.0
// Unordered accesses. Two lines are marked: either may be the one that comes second.
#include "Device.h"

// CASE fault=DataRace block=64 words=64
KERNEL shared_write_read(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cell;
  const unsigned t = threadX();
  if (t == 5)
    cell = n; // BUG thread=(5,0,0)
#ifdef MENDED
  syncThreads();
#endif
  if (t == 40)
    data[0] = cell; // BUG thread=(40,0,0)
}

// CASE fault=DataRace block=64 words=64
KERNEL shared_write_write(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  cells[t] = 0;
  syncThreads();
  if (t == 3)
    cells[1] = n; // BUG thread=(3,0,0)
#ifdef MENDED
  syncThreads();
#endif
  if (data[t] == 33)
    cells[1] = n + 1; // BUG thread=(33,0,0)
  syncThreads();
  data[t] = cells[t];
}

// CASE fault=DataRace block=64 words=64
KERNEL shared_loop(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[2];
  const unsigned t = threadX();
  for (unsigned i = 0; i < n / 16; ++i) {
    if (t == 0)
      cells[0] = i; // BUG thread=(0,0,0)
    syncThreads();
    if (t == 63)
      data[i] = cells[0]; // BUG thread=(63,0,0)
#ifdef MENDED
    syncThreads();
#endif
  }
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL groups_write_write(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  data[t + 32 * blockX()] = blockX() + n;
#else
  if (t == 9)
    data[t] = blockX() + n; // BUG thread=(9,0,0) twice
#endif
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL groups_read_write(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX(), b = blockX();
  if (t != 4)
    return;
  if (b == 0)
    data[20] = n; // BUG thread=(4,0,0)
#ifdef MENDED
  if (b == 1)
    atomicAdd(&data[1], data[21]);
#else
  if (b == 1)
    atomicAdd(&data[1], data[20]); // BUG thread=(4,0,0)
#endif
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL message_without_release(unsigned *data, unsigned n, unsigned *) {
  if (threadX() != 0)
    return;
  if (blockX() == 0) {
    data[8] = n; // BUG thread=(0,0,0)
#ifdef MENDED
    threadFence();
#endif
    atomicStore(&data[40], 1);
    return;
  }
  while (atomicLoad(&data[40]) != 1)
    ;
  threadFence();
  data[9] = data[8]; // BUG thread=(0,0,0)
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL message_without_acquire(unsigned *data, unsigned n, unsigned *) {
  if (threadX() != 0)
    return;
  if (blockX() == 0) {
    data[8] = n; // BUG thread=(0,0,0)
    threadFence();
    atomicStore(&data[40], 1);
    return;
  }
  while (atomicLoad(&data[40]) != 1)
    ;
#ifdef MENDED
  threadFence();
#endif
  data[9] = data[8]; // BUG thread=(0,0,0)
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL histogram_of_groups(unsigned *data, unsigned n, unsigned *) {
  if (threadX() != 1)
    return;
#ifdef MENDED
  atomicAdd(&data[n - 1], 1);
#else
  data[n - 1] += 1; // BUG thread=(1,0,0) twice
#endif
}

// CASE fault=DataRace block=64 words=64
KERNEL histogram_shared(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned bins[64];
  const unsigned t = threadX();
  bins[t] = 0;
  syncThreads();
  if (t == 17)
#ifdef MENDED
    atomicAdd(&bins[data[2]], n);
  if (t == 49)
    atomicAdd(&bins[data[2]], n);
#else
    bins[data[2]] += n; // BUG thread=(17,0,0)
  if (t == 49)
    bins[data[2]] += n + 1; // BUG thread=(49,0,0)
#endif
  syncThreads();
  data[t] = bins[t];
}

// CASE fault=DataRace block=64 words=64
KERNEL histogram_before_clearing(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned bins[64];
  const unsigned t = threadX();
  bins[t] = 0; // BUG thread=(2,0,0)
#ifdef MENDED
  syncThreads();
#endif
  if (t == 60)
    atomicAdd(&bins[n - 62], 1); // BUG thread=(60,0,0)
  syncThreads();
  data[t] = bins[t];
}

// CASE fault=DataRace block=64 words=64
KERNEL histogram_read_too_soon(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned bins[64];
  const unsigned t = threadX();
  bins[t] = 0;
  syncThreads();
  if (t == 60)
    atomicAdd(&bins[n - 62], 1); // BUG thread=(60,0,0)
#ifdef MENDED
  syncThreads();
#endif
  data[t] = bins[t]; // BUG thread=(2,0,0)
}

// CASE fault=DataRace block=64 words=64
KERNEL bytes(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned char cells[64];
  const unsigned t = threadX();
  cells[t] = 0;
  syncThreads();
  if (t == 6)
    cells[12] = n + 1; // BUG thread=(6,0,0)
  if (data[t] == 38)
#ifdef MENDED
    cells[13] = n + 2;
#else
    cells[12] = n + 2; // BUG thread=(38,0,0)
#endif
  syncThreads();
  data[t] = cells[t];
}

// CASE fault=DataRace block=64 words=64
KERNEL last_step_of_reduction(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned sums[64];
  const unsigned t = threadX();
  sums[t] = data[t] + n;
  syncThreads();
  if (t == 32)
    sums[32] += sums[33]; // BUG thread=(32,0,0)
#ifdef MENDED
  syncThreads();
#endif
  if (t == 0)
    data[0] = sums[0] + sums[32]; // BUG thread=(0,0,0)
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL loaded_store_against_atomic(unsigned *data, unsigned n, unsigned *) {
  if (threadX() != 3)
    return;
  if (blockX() == 0) {
#ifdef MENDED
    atomicStore(&data[40], data[5]);
#else
    data[40] = data[5]; // BUG thread=(3,0,0)
#endif
  } else {
    atomicAdd(&data[40], n); // BUG thread=(3,0,0)
  }
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL store_against_atomic_operation(unsigned *data, unsigned n, unsigned *) {
  if (threadX() != 3)
    return;
  if (blockX() == 0) {
#ifdef MENDED
    *static_cast<volatile unsigned *>(&data[40]) = 7;
#else
    data[40] = 7; // BUG thread=(3,0,0)
#endif
  } else {
    atomicAdd(&data[40], n); // BUG thread=(3,0,0)
  }
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL store_against_compare_and_swap(unsigned *data, unsigned n, unsigned *) {
  if (threadX() != 0)
    return;
  unsigned expected = 0;
  if (blockX() == 0)
    __scoped_atomic_compare_exchange_n(&data[0], &expected, n, false, __ATOMIC_RELAXED, // BUG thread=(0,0,0)
                                       __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
#ifdef MENDED
  else
    atomicStore(&data[0], n + 7);
#else
  else
    data[0] = n + 7; // BUG thread=(0,0,0)
#endif
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL two_stores_of_two_groups(unsigned *data, unsigned n, unsigned *) {
  if (threadX() != 3)
    return;
#ifdef MENDED
  atomicStore(&data[50], blockX() + n);
#else
  data[50] = blockX() + n; // BUG thread=(3,0,0) twice
#endif
}

// CASE fault=DataRace block=32 grid=2 words=64
KERNEL counter_of_one_group(unsigned *data, unsigned n, unsigned *) {
#ifdef MENDED
  const unsigned at = 40 + blockX();
#else
  const unsigned at = 40;
#endif
  if (threadX() == 3)
    asm volatile("red.relaxed.cta.global.add.u32 [%0], %1;" ::"l"(&data[at]), "r"(n)); // BUG thread=(3,0,0) twice
}

// CASE fault=DataRace block=64 words=64
KERNEL two_stores_to_shared(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned winner;
  const unsigned t = threadX();
#ifdef MENDED
  if (t % 32 == 3)
    atomicStore(&winner, t);
#else
  if (t == 3)
    winner = n; // BUG thread=(3,0,0)
  asm volatile("bar.warp.sync -1;" ::: "memory");
  if (t == 35)
    winner = t; // BUG thread=(35,0,0)
#endif
  syncThreads();
  data[t] = winner;
}

// CASE fault=DataRace block=64 words=64
KERNEL maximum_if_greater(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned most;
  const unsigned t = threadX();
  if (t == 0)
    most = 0;
  syncThreads();
  if (t == 50)
    __scoped_atomic_fetch_max(&most, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP); // BUG thread=(50,0,0)
#ifdef MENDED
  if (t == 2 && data[t] > *static_cast<volatile unsigned *>(&most))
#else
  if (t == 2 && data[t] > most) // BUG thread=(2,0,0)
#endif
    __scoped_atomic_fetch_add(&most, data[t], __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  syncThreads();
  data[t] = most;
}

// CASE fault=DataRace block=64 words=64
KERNEL message_tried_once(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned message, ready;
  const unsigned t = threadX();
  if (t == 0)
    ready = 0;
  syncThreads();
  if (t == 1) {
    message = n;
#ifdef MENDED
    __scoped_atomic_store_n(&ready, 1u, __ATOMIC_RELEASE, __MEMORY_SCOPE_WRKGRP);
#else
    ready = 1; // BUG thread=(1,0,0)
#endif
  }
  if (t == 33 && __scoped_atomic_load_n(&ready, __ATOMIC_ACQUIRE, // BUG thread=(33,0,0)
                                        __MEMORY_SCOPE_WRKGRP))
    data[9] = message;
}

// CASE fault=DataRace block=64 words=512
KERNEL double_buffer(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned buffers[2][64];
  const unsigned t = threadX();
  unsigned sum = 0;
  buffers[0][t] = data[t];
  for (unsigned i = 0; 64 * (i + 1) < n; ++i) {
    syncThreads();
    sum += buffers[i % 2][63 - t]; // BUG thread=(31,0,0)
#ifdef MENDED
    const unsigned into = (i + 1) % 2;
#else
    const unsigned into = (t == 32 && i == 3 ? i : i + 1) % 2;
#endif
    buffers[into][t] = data[64 * (i + 1) + t]; // BUG thread=(32,0,0)
  }
  data[t] = sum;
}

// CASE fault=DataRace block=64 words=128
KERNEL odd_even_sort(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned values[128];
  const unsigned t = threadX();
  values[t] = data[n - 1 - t];
  values[t + 64] = data[n - 65 - t];
  syncThreads();
  for (unsigned round = 0; round < n; ++round) {
    const unsigned at = 2 * t + round % 2;
    if (at + 1 < n) {
      const unsigned left = values[at], right = values[at + 1]; // BUG thread=(32,0,0)
      if (left > right)
        values[at] = right, values[at + 1] = left; // BUG thread=(31,0,0)
    }
#ifndef MENDED
    if (round != 101)
#endif
      syncThreads();
  }
  data[t] = values[t];
}

// Blocks in a chain. Each has read its words before it lets the next one go on, and the last block
// stores there. No fence is needed for that: a load that has its value has been performed.
// CASE fault=DataRace block=64 grid=3 words=512
KERNEL overwritten_behind_a_chain(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX(), b = blockX();
  unsigned *gates = data + 256, *mine = data + 64 * b, *first = data;
  unsigned value = 0;
#ifdef MENDED
  value = mine[t];
#endif
  if (b != 0 && t == 0)
    while (atomicLoad(&gates[b - 1]) != 0)
      ;
  syncThreads();
  if (t == 0)
    atomicStore(&gates[b], 0u);
#ifndef MENDED
  value = mine[t]; // BUG waits
#endif
  data[320 + 64 * b + t] = value;
  if (b == 2)
    first[t] = t; // BUG waits
}

// Who arrives at an mbarrier shows what he has done, and sees nothing of others before he waits.
// CASE fault=DataRace block=64 words=64
KERNEL arrival_without_a_wait(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned long bar;
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  if (t == 0)
    initBarrier(&bar, 64);
  syncThreads();
  cells[t] = n + t; // BUG thread=(40,0,0)
  arrive(&bar);
#ifdef MENDED
  waitForPhase(&bar, 0);
#endif
  if (t == 5)
    data[t] = cells[40]; // BUG thread=(5,0,0)
}
