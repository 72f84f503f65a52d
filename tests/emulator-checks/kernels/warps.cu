// SPDX-License-Identifier: Apache-2.0
// What lanes of one warp do to each other, where nothing orders them, and their membermasks. Of a
// hazard two lines are marked: either may be the one that comes second.
#include "Device.h"

#define syncWarp() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#define syncMembers(mask) asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory")
#ifdef MENDED
#define missingSyncWarp() syncWarp()
#else
#define missingSyncWarp() (void)0
#endif

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_read_after_write(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
  cells[t] = data[t] + n; // BUG thread=(31,0,0)
  missingSyncWarp();
  data[t] = cells[31 - t]; // BUG thread=(0,0,0)
}

// CASE fault=WarpHazard block=64 words=64
KERNEL warp_second_of_block(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  if (t >= 32) {
    cells[t] = data[t] + n; // BUG thread=(33,0,0)
    missingSyncWarp();
    data[t] = cells[t ^ 1]; // BUG thread=(32,0,0)
  }
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_write_after_read(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
  cells[t] = data[t];
  syncWarp();
  const unsigned value = cells[(t + 1) & 31]; // BUG thread=(31,0,0)
  missingSyncWarp();
  cells[t] = value + n; // BUG thread=(0,0,0)
  syncWarp();
  data[t] = cells[t ^ 3];
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_write_write(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
  cells[t] = data[t]; // BUG thread=(6,0,0)
  missingSyncWarp();
  if (data[32 + t] == 37)
    cells[6] = n; // BUG thread=(5,0,0)
  syncWarp();
  data[t] = cells[t];
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_global_read(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  data[t] = n + t; // BUG thread=(1,0,0)
  missingSyncWarp();
  data[32 + t] = data[t ^ 1]; // BUG thread=(0,0,0)
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_shift_in_place(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  const unsigned next = data[t + 1]; // BUG thread=(0,0,0)
  missingSyncWarp();
  data[t] = next; // BUG thread=(1,0,0)
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_reduction(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
  cells[t] = data[t];
  syncWarp();
  for (unsigned step = 16; step; step /= 2) {
    if (t < step)
      cells[t] += cells[t + step]; // BUG waits twice
    missingSyncWarp();
  }
  if (t == 0)
    data[0] = cells[0];
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_two_branches(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
  cells[t] = data[t];
  syncWarp();
  if (t < 16) {
    cells[t] = n + t; // BUG thread=(0,0,0)
  }
  missingSyncWarp();
  if (t >= 16)
    data[t] = cells[t - 16]; // BUG thread=(16,0,0)
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_scan(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[33];
  const unsigned t = threadX();
  cells[t] = data[t];
  syncWarp();
  const unsigned before = cells[(t + 31) & 31]; // BUG thread=(1,0,0)
  missingSyncWarp();
  cells[t] = before + data[t + 32]; // BUG thread=(0,0,0)
  syncWarp();
  data[t] = cells[t ^ 1];
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_bytes(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned char cells[32];
  const unsigned t = threadX();
  cells[t] = (unsigned char)(data[t] * n); // BUG thread=(3,0,0)
  missingSyncWarp();
  data[t] = cells[t ^ 3]; // BUG thread=(0,0,0)
}

// CASE fault=WarpHazard block=32 words=128
KERNEL warp_vectors(unsigned *data, unsigned n, unsigned *) {
  __shared__ uint4 cells[32];
  const unsigned t = threadX();
  cells[t] = uint4{n, t, data[t], 5}; // BUG thread=(1,0,0)
  missingSyncWarp();
  data[t] = reinterpret_cast<unsigned *>(cells)[(4 * t + 6) & 127]; // BUG thread=(0,0,0)
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_leader(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cell;
  const unsigned t = threadX();
  if (t == 0)
    cell = data[n - 1]; // BUG thread=(0,0,0)
  missingSyncWarp();
  if (t != 0)
    data[t] = cell; // BUG thread=(1,0,0)
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_half_syncs(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
  cells[t] = data[t] + n; // BUG thread=(16,0,0)
  missingSyncWarp();
  if (t < 16) {
    syncMembers(0x0000ffffu);
    data[t] = cells[t + 16]; // BUG thread=(0,0,0)
  }
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_halves_apart(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  data[32 + t] = n + t; // BUG thread=(20,0,0)
#ifdef MENDED
  syncWarp();
#else
  syncMembers(t < 16 ? 0x0000ffffu : 0xffff0000u);
#endif
  if (t == 4)
    data[t] = data[52]; // BUG thread=(4,0,0)
}

// CASE fault=WarpHazard block=64 words=128
KERNEL warp_chain_of_lanes(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX(), lane = t & 31, warp = t / 32;
  if (t == 32)
    data[100] = n; // BUG thread=(32,0,0)
  if (lane < 2)
    syncMembers(0x3u << (warp * n / 1000)); // not a constant
#ifdef MENDED
  if (lane == 1 || lane == 2)
    syncMembers(0x6u);
#else
  if (lane == 2 || lane == 3)
    syncMembers(0xcu);
#endif
  if (t == 34)
    data[2] = data[100] + 1; // BUG thread=(34,0,0)
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_loop(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cell;
  const unsigned t = threadX();
  unsigned sum = 0;
  for (unsigned i = 0; i < n / 16; ++i) {
    if (t == i)
      cell = data[i]; // BUG thread=(1,0,0)
    syncWarp();
    sum += cell; // BUG thread=(0,0,0)
    missingSyncWarp();
  }
  data[t] = sum;
}

// One atomic addition may stand for those of all lanes.
// CASE fault=WarpHazard block=32 words=64
KERNEL warp_counter(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32], count;
  const unsigned t = threadX();
  if (t == 0)
    atomicStore(&count, 0);
  syncWarp();
  cells[t] = data[t] + n; // BUG thread=(1,0,0)
#ifdef MENDED
  threadFence();
  atomicAdd(&count, 1u);
  while (atomicLoad(&count) < 32) {
  }
  threadFence();
#endif
  data[t] = cells[t ^ 1]; // BUG thread=(0,0,0)
}

// CASE fault=Warning block=32 words=64
KERNEL warp_store_to_one(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  data[t] = n;
#else
  data[3] = n + t; // BUG thread=(1,0,0)
#endif
}

// CASE fault=Warning block=32 words=64
KERNEL warp_store_to_few(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
#ifdef MENDED
  cells[t] = data[t] * n;
#else
  cells[t] = 0;
  syncWarp();
  cells[t / 2] = data[t] * n; // BUG thread=(1,0,0)
#endif
  syncWarp();
  data[t] = cells[t];
}

// A cell that nobody reads may have any of them, written once or twice.
// CASE fault=Warning block=32 words=64
KERNEL warp_cell_for_all(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[33];
  const unsigned t = threadX();
  cells[t] = data[t];
  cells[n / 2] = t; // BUG thread=(1,0,0)
#ifdef MENDED
  cells[data[t] < 5 ? n / 2 : t] = data[t];
#endif
  syncThreads();
  data[t] = cells[t ^ 1];
#ifndef MENDED
  data[32 + t] = cells[n / 2];
#endif
}

// A half in shared memory has no atomic operation of AMD's: the whole word is read and swapped.
// CASE fault=WarpHazard block=32 words=64
KERNEL warp_atomics_of_halves(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned short swapped[32], added[32];
  const unsigned t = threadX();
  swapped[t] = (unsigned short)data[t]; // BUG thread=(1,0,0)
  missingSyncWarp();
  const unsigned other = swapped[t ^ 1]; // BUG thread=(0,0,0)
  syncWarp();
  unsigned short old, sum;
  swapped[t] = (unsigned short)n;
  asm volatile("atom.shared.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "r"(sharedAddress(&swapped[t])), "h"((unsigned short)t), "h"((unsigned short)(n + t)) : "memory");
  added[t] = (unsigned short)n;
  asm volatile("atom.shared.add.noftz.f16 %0, [%1], %2;" : "=h"(sum) : "r"(sharedAddress(&added[t])), "h"((unsigned short)0x3c00) : "memory");
  data[t] = other + old + sum;
}

// A bulk copy is the thread's that starts it, whichever lanes make it.
// CASE fault=WarpHazard block=32 words=64
KERNEL warp_bulk_copy_over_reads(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned long long bar;
  __shared__ __attribute__((aligned(16))) unsigned cells[32];
  const unsigned t = threadX();
  if (t == 0)
    initBarrier(&bar, 1);
  cells[t] = data[t];
  syncWarp();
  const unsigned value = cells[t ^ 1]; // BUG thread=(1,0,0)
  missingSyncWarp();
  if (t == 0) {
    announceBytes(&bar, 128u);
    copyBulk(cells, data + 32, 128u, &bar); // BUG thread=(0,0,0)
  }
  waitForPhase(&bar, 0);
  data[t] = value + cells[t];
}

// CASE fault=WarpHazard block=32 words=64
KERNEL warp_bulk_copy_of_written_words(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned long long bar;
  __shared__ __attribute__((aligned(16))) unsigned cells[32];
  const unsigned t = threadX();
  if (t == 0)
    initBarrier(&bar, 1);
#ifdef MENDED
  const unsigned writer = 0;
#else
  const unsigned writer = 1;
#endif
  syncWarp();
  if (t == writer)
    data[9] = n; // BUG thread=(1,0,0)
  if (t == 0) {
    asm volatile("fence.proxy.async;" ::: "memory");
    announceBytes(&bar, 128u);
    copyBulk(cells, data, 128u, &bar); // BUG thread=(0,0,0)
  }
  waitForPhase(&bar, 0);
  data[32 + t] = cells[t];
}

// CASE fault=InvalidMask block=32 words=64
KERNEL mask_of_shuffle(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  unsigned result;
#ifdef MENDED
  const unsigned mask = 0xffffffff;
#else
  const unsigned mask = 0x0000ffff;
#endif
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, %2;" : "=r"(result) : "r"(data[t]), "r"(mask)); // BUG thread=(16,0,0)
  data[t] = result;
}

// CASE fault=InvalidMask block=32 words=64
KERNEL mask_of_ballot(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned result;
#ifdef MENDED
  const unsigned mask = 0xffffffff;
#else
  const unsigned mask = data[n / 2 + 5]; // 37
#endif
  asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 7; vote.sync.ballot.b32 %0, p, %2; }" : "=r"(result) : "r"(data[t]), "r"(mask)); // BUG thread=(1,0,0)
  data[t] = result;
}

// CASE fault=InvalidMask block=32 words=64
KERNEL mask_of_syncwarp(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  if (t >= 8) {
#ifdef MENDED
    syncMembers(0xffffff00u);
#else
    syncMembers(0x00ffffffu); // BUG thread=(24,0,0)
#endif
    data[t] = t;
  }
}

// CASE fault=InvalidMask block=32 words=64
KERNEL masks_that_differ(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  const unsigned mask = t < 16 ? 0x0000ffff : 0xffff0000;
#else
  const unsigned mask = t < 16 ? 0xffffffff : 0xffff0000;
#endif
  syncMembers(mask); // BUG thread=(0,0,0)
  data[t] = mask;
}

// CASE fault=InvalidMask block=32 words=64
KERNEL mask_of_match(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  unsigned result;
#ifdef MENDED
  const unsigned mask = 0xffffffff;
#else
  const unsigned mask = 0xfffffbff;
#endif
  asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(result) : "r"(data[t] / 4), "r"(mask)); // BUG thread=(10,0,0)
  data[t] = result;
}

// CASE fault=InvalidMask block=32 words=64
KERNEL mask_of_reduction(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  unsigned result;
#ifdef MENDED
  const unsigned mask = 0xffffffff;
#else
  const unsigned mask = ~(1u << data[4]);
#endif
  asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(result) : "r"(data[t]), "r"(mask)); // BUG thread=(4,0,0)
  data[t] = result;
}
