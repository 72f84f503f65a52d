// SPDX-License-Identifier: Apache-2.0
// Copies that nobody waits for, or too late. Where no wait follows on all ways, Rubia makes a copy
// where it is started, so that the words are right all the same.
#include "Device.h"

// CASE fault=DataRace block=64 words=64
KERNEL own_word(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  copyWord(&cells[t], &data[t]); // BUG thread=(5,0,0)
  commitCopies();
#ifdef MENDED
  waitForCopies(0);
#endif
  if (t == 5)
    data[t] = cells[t] + n; // BUG thread=(5,0,0)
}

// All ways lead to a wait, so that the store is held back to it.
// CASE fault=DataRace block=64 words=64
KERNEL wait_behind_the_read(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  cells[t] = n;
  copyWord(&cells[t], &data[t]); // BUG thread=(11,0,0)
  commitCopies();
#ifdef MENDED
  waitForCopies(0);
#endif
  unsigned sum = 0;
  if (t == 11)
    sum = cells[t]; // BUG thread=(11,0,0)
#ifndef MENDED
  waitForCopies(0);
#endif
  data[t] = sum + cells[t];
}

// CASE fault=DataRace block=64 words=64
KERNEL one_group_too_few(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned first[64], second[64];
  const unsigned t = threadX();
  copyWord(&first[t], &data[t]);
  commitCopies();
  copyWord(&second[t], &data[t]); // BUG thread=(7,0,0)
  commitCopies();
#ifdef MENDED
  waitForCopies(0);
#else
  waitForCopies(1);
#endif
  unsigned sum = first[t];
  if (t == 7)
    sum += second[t]; // BUG thread=(7,0,0)
  data[t] = sum + n;
}

// CASE fault=DataRace block=64 words=64
KERNEL stage_of_a_ring(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[2][64];
  const unsigned t = threadX();
  copyWord(&cells[0][t], &data[t]); // BUG thread=(9,0,0)
  commitCopies();
  unsigned sum = 0;
  for (unsigned i = 0; i < n / 16; ++i) {
    copyWord(&cells[(i + 1) & 1][t], &data[t]);
    commitCopies();
#ifdef MENDED
    waitForCopies(1);
#else
    waitForCopies(2);
#endif
    if (t == 9)
      sum += cells[i & 1][t]; // BUG thread=(9,0,0)
  }
  waitForCopies(0);
  data[t] = sum;
}

// CASE fault=DataRace block=64 words=64
KERNEL barrier_for_wait(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  copyWord(&cells[t], &data[t]); // BUG thread=(40,0,0)
#ifdef MENDED
  waitForAllCopies();
#endif
  syncThreads();
  if (t == 3)
    data[t] = cells[40] + n; // BUG thread=(3,0,0)
}

// CASE fault=DataRace block=64 words=64
KERNEL wait_for_barrier(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  if (t == 40)
    copyWord(&cells[t], &data[t]); // BUG thread=(40,0,0)
  waitForAllCopies();
#ifdef MENDED
  syncThreads();
#endif
  if (t == 3)
    data[t] = cells[40] + n; // BUG thread=(3,0,0)
}

// CASE fault=DataRace block=64 words=64
KERNEL written_before_wait(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  copyWord(&cells[t], &data[t]); // BUG thread=(6,0,0)
#ifdef MENDED
  waitForAllCopies();
#endif
  if (t == 6)
    cells[t] = n; // BUG thread=(6,0,0)
  syncThreads();
  if (t == 7)
    data[t] = cells[6];
}

// CASE fault=DataRace block=64 words=64
KERNEL zeros(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  copyPart(&cells[t], &data[t], n > 32 ? 0u : 4u); // BUG thread=(8,0,0)
  commitCopies();
#ifdef MENDED
  waitForAllCopies();
#endif
  if (t == 8)
    data[t] = cells[t] + n; // BUG thread=(8,0,0)
}

// CASE fault=DataRace block=64 words=64
KERNEL handed_to_an_mbarrier(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned long long bar;
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  if (t == 0)
    initBarrier(&bar, 64);
  syncThreads();
  copyWord(&cells[t], &data[t]); // BUG thread=(50,0,0)
  arriveWithCopies(&bar);
#ifdef MENDED
  waitForPhase(&bar, 0);
#endif
  if (t == 4)
    data[t] = cells[50] + n; // BUG thread=(4,0,0)
}

// All lanes of the warp copy, sixteen bytes each: the report names the thread of the lane that copied
// these.
// CASE fault=DataRace block=64 words=64
KERNEL bulk_copy(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned long long bar;
  __shared__ __attribute__((aligned(16))) unsigned cells[64];
  const unsigned t = threadX();
  if (t == 0)
    initBarrier(&bar, 1);
  syncThreads();
  if (t == 0) {
    announceBytes(&bar, 4 * n);
    copyBulk(cells, data, 4 * n, &bar); // BUG thread=(8,0,0)
  }
#ifdef MENDED
  waitForPhase(&bar, 0);
#else
  syncThreads();
#endif
  if (t == 33)
    data[t] = cells[t]; // BUG thread=(33,0,0)
}

// Who has waited for the mbarrier tells the others by a barrier.
// CASE fault=DataRace block=64 words=64
KERNEL one_waits_for_all(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned long long bar;
  __shared__ __attribute__((aligned(16))) unsigned cells[64];
  const unsigned t = threadX();
  if (t == 0)
    initBarrier(&bar, 1);
  syncThreads();
  if (t == 0) {
    announceBytes(&bar, 4 * n);
    copyBulk(cells, data, 4 * n, &bar); // BUG thread=(11,0,0)
    waitForPhase(&bar, 0);
  }
#ifdef MENDED
  syncThreads();
#endif
  if (t == 44)
    data[t] = cells[t]; // BUG thread=(44,0,0)
}
