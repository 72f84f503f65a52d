// SPDX-License-Identifier: Apache-2.0
// Barriers that not all threads come to, and waiting in vain.
#include "Device.h"

// CASE fault=BarrierDivergence block=32 words=64
KERNEL divergent(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned value = data[t];
#ifdef MENDED
  syncThreads();
#else
  if (value < 16)
    syncThreads(); // BUG thread=(16,0,0)
#endif
  data[t] = value + n;
}

// CASE fault=BarrierDivergence block=32 words=64
KERNEL loop_of_lanes(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned sum = 0;
#ifdef MENDED
  const unsigned rounds = 3;
#else
  const unsigned rounds = data[t] < 20 ? 3 : 2;
#endif
  for (unsigned i = 0; i < rounds; ++i) {
    sum += i * n;
    syncThreads(); // BUG thread=(20,0,0)
  }
  data[t] = sum;
}

// CASE fault=Warning block=64 words=64
KERNEL loop_of_warps(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  const unsigned rounds = n / 16;
#else
  const unsigned rounds = n / 16 - t / 32;
#endif
  for (unsigned i = 0; i < rounds; ++i) {
    data[t] += i;
    syncThreads(); // BUG waits
  }
  syncThreads();
  data[t] += n;
}

// CASE fault=Deadlock block=64 words=64
KERNEL too_few(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  asm volatile("bar.sync 1, 64;" ::: "memory");
#else
  if (t < n)
    asm volatile("bar.sync 1, 128;" ::: "memory"); // BUG waits
#endif
  data[t] = n;
}

// CASE fault=Deadlock block=32 words=64
KERNEL flag_never_set(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  if (t == 0)
    atomicStore(&data[33], n);
#endif
  syncThreads();
  while (atomicLoad(&data[33]) != n) // BUG waits
    ;
  data[t] = n;
}

// CASE fault=Warning block=64 words=64
KERNEL warp_goes_round(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifndef MENDED
  if (t < 32)
#endif
    syncThreads();
  data[t] = n; // BUG thread=(32,0,0)
}

// CASE fault=Warning block=128 words=512
KERNEL half_of_the_block(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  data[t] = n;
  syncThreads();
#endif
  if (t < 64) {
#ifndef MENDED
    data[t] = n;
    syncThreads(); // BUG thread=(64,0,0)
#endif
    data[t + 128] = data[t ^ 33];
  } else {
    data[t + 256] = n;
  }
}

// CASE fault=Warning block=96 words=512
KERNEL one_round_too_few(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[96];
  const unsigned t = threadX();
#ifdef MENDED
  const unsigned rounds = 4;
#else
  const unsigned rounds = t / 32 == 1 ? 3 : 4;
#endif
  for (unsigned i = 0; i < rounds; ++i) {
    cells[t] = i + n;
    syncThreads();
  }
  data[t] = cells[t]; // BUG thread=(32,0,0)
}

// CASE fault=BarrierDivergence block=64 words=64
KERNEL leaves_the_loop(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned values[64];
  const unsigned t = threadX();
  values[t] = data[t];
  bool searches = true;
  for (unsigned round = 0; round < 4; ++round) {
    if (round == 2 && data[t] == n - 23)
      searches = false;
#ifndef MENDED
    if (!searches)
      break;
#endif
    syncThreads(); // BUG thread=(41,0,0)
    if (searches)
      values[t] += round;
  }
  data[t] = values[t];
}
