// SPDX-License-Identifier: Apache-2.0
// Kernels of LaunchesTest.cpp, which says how they are launched and what is expected.
#include "Device.h"

#define threadY() unsigned(__nvvm_read_ptx_sreg_tid_y())
#define gridX() unsigned(__nvvm_read_ptx_sreg_nctaid_x())

KERNEL last_block(unsigned *data, unsigned, unsigned *) {
  if (threadX() != 0)
    return;
  data[2 + blockX()] = blockX();
  threadFence();
  const unsigned before = atomicAdd(&data[0], 1);
  threadFence();
  if (before == gridX() - 1)
    data[1] = before;
}

KERNEL many_barriers(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[256];
  const unsigned t = threadX();
  cells[t] = t;
  syncThreads();
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned value = cells[(t + 1) & 255];
    syncThreads();
    cells[t] = value;
    syncThreads();
  }
  if (blockX() == 0)
    data[t] = cells[t] + n;
}

// Beyond the end in thread (5,3) of 16 by 4; the barrier asks for half-filled waves.
KERNEL two_dimensions(unsigned *data, unsigned n, unsigned *) {
  const unsigned x = threadX(), y = threadY(), at = y * 16 + x;
  if (data[at / 32] < 100)
    syncThreads();
  data[x == 5 && y == 3 ? n : at] = 1;
}

KERNEL store_against_atomic(unsigned *data, unsigned, unsigned *) {
  if (threadX() != 3)
    return;
  if (blockX() == 0)
    data[40] = data[5];
  else
    atomicAdd(&data[40], 1);
}

KERNEL relaxed_store_against_atomic(unsigned *data, unsigned, unsigned *) {
  if (threadX() != 3)
    return;
  if (blockX() == 0)
    atomicStore(&data[40], data[5]);
  else
    atomicAdd(&data[40], 1);
}

KERNEL relaxed_load_of_counter(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned counter;
  const unsigned t = threadX();
  if (t == 0)
    counter = 0;
  syncThreads();
  if (t < 32)
    atomicAdd(&counter, 1);
  if (t == 40)
    data[0] = atomicLoad(&counter);
}

// Both groups hold the lock that the other one wants.
KERNEL crosswise(unsigned *data, unsigned n, unsigned *) {
  if (threadX() != 0)
    return;
  const unsigned mine = blockX() & 1;
  __scoped_atomic_exchange_n(&data[8 + mine], 77u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  while (__scoped_atomic_exchange_n(&data[8 + (mine ^ 1)], 77u, __ATOMIC_RELAXED,
                                    __MEMORY_SCOPE_DEVICE) != n)
    ;
}

// Relaxed accesses that no fence orders.
KERNEL relaxed_store_and_addition(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned counter;
  const unsigned t = threadX();
  if (t == 0)
    counter = 0;
  syncThreads();
  if (t == 5)
    atomicStore(&counter, n);
  if (t == 40)
    atomicAdd(&counter, 1);
  if (t == 41)
    *static_cast<volatile unsigned *>(&counter) = 3;
  syncThreads();
  data[blockX() * 64 + t] = counter;
}

KERNEL stop_flag_with_stores(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned stop;
  const unsigned t = threadX();
  if (t == 0)
    stop = 0;
  syncThreads();
  for (unsigned i = 0; i < n; ++i) {
    data[64 * blockX() + t] = i;
    if (t == 40 && i == 5)
      atomicStore(&stop, 1);
    if (atomicLoad(&stop))
      break;
  }
}

KERNEL two_winners(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  if (t % 32 == 3)
    atomicStore(&data[50], blockX() + n + t);
  if (t == 4)
    *static_cast<volatile unsigned *>(&data[51]) = blockX() + n;
}

// A loop of LLVM's on most targets, which loads plainly first.
KERNEL addition_of_doubles(double *data, unsigned n, unsigned *) {
  asm volatile("red.global.add.f64 [%0], %1;" ::"l"(data), "d"(double(n)) : "memory");
  asm volatile("red.global.add.f64 [%0], %1;" ::"l"(data + 1 + threadX() % 2), "d"(1.0) : "memory");
}

KERNEL plain_load_and_swap(unsigned *data, unsigned n, unsigned *) {
  unsigned old = data[threadX() % 8];
  while (!__scoped_atomic_compare_exchange_n(&data[threadX() % 8], &old, old + n, false,
                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __MEMORY_SCOPE_DEVICE))
    ;
}

struct Candidate {
  double value;
  int index; // and four bytes that nobody writes
};

KERNEL structures(Candidate *data, unsigned n, unsigned *) {
  __shared__ Candidate cells[32];
  const unsigned t = threadX();
  cells[t].value = t;
  cells[t].index = int(n - t);
  syncThreads();
  data[t] = cells[31 - t];
}

// What lies beyond the end is loaded, and left alone.
KERNEL return_before_barrier(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  if (data[t] >= 64)
    return;
  data[t + n / 2] = t;
  syncThreads();
  data[t + n / 4] = data[(t ^ 33) + n / 2];
}

// A thread's own memory is no result.
KERNEL private_before_return(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  volatile unsigned own[4];
  own[t & 3] = n;
  if (t >= 64)
    return;
  syncThreads();
  data[t] = own[t & 3];
}

// Threads that return early may leave a result, by a store of their own...
KERNEL result_before_return(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  if (data[t] >= 24) {
    reinterpret_cast<unsigned char *>(data)[4 * (t + 128)] = 1;
    return;
  }
  syncThreads();
  data[t + 256] = n;
  syncThreads();
  data[t + 128] = n;
}

// ...or by one that LLVM makes of theirs and the others'.
KERNEL result_before_return_joined(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  if (data[t] >= 24) {
    data[t + 128] = t;
    return;
  }
  syncThreads();
  data[t + 128] = n;
}

// Barriers between reductions, where LLVM keeps all lanes on: those without a thread and those that
// have returned too.
KERNEL barriers_between_reductions(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  unsigned sum = data[t];
  if (sum % 32 == 7)
    return;
  for (unsigned i = 0; i < 3; ++i) {
    asm volatile("redux.sync.add.u32 %0, %0, 0xffffff7f;" : "+r"(sum));
    syncThreads();
  }
  data[t + 128] = sum;
}

// The flags of groups of warps, one bit each: they are cleared one by one, and nobody writes or
// reads the others (cooperative groups' tiles of several warps).
KERNEL flags_of_warps(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned flags, last;
  const unsigned t = threadX(), own = 1u << (t / 32);
  if (t % 32 == 0)
    __scoped_atomic_fetch_and(&flags, ~own, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  if (t == 0)
    __scoped_atomic_exchange_n(&last, n, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  syncThreads();
  if (t % 32 == 0) {
    const unsigned before =
        __scoped_atomic_fetch_or(&flags, own, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    if (((before | own) & 3) == 3)
      data[t + 128] = last;
  }
}

// Nobody can tell whose store was the last.
KERNEL same_value(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cell;
  if (threadX() % 32 == 3) {
    cell = n;
    data[50] = n;
  }
  syncThreads();
  data[64 * (blockX() + 1) + threadX()] = cell;
}

// Words, halves and bytes side by side, which LLVM joins: each is aligned as far as it must be.
KERNEL neighbours(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  __shared__ unsigned char bytes[8 + 4 * 32];
  const unsigned t = threadX();
  unsigned *to = data + 4 * t + 1; // at 4
  to[0] = n;
  to[1] = t;
  to[2] = n;
  unsigned short *halves = reinterpret_cast<unsigned short *>(data + 256 + 2 * t) + 1; // at 2
  halves[0] = static_cast<unsigned short>(n);
  halves[1] = static_cast<unsigned short>(t);
  for (unsigned i = 0; i < 4; ++i)
    bytes[4 * t + 1 + i] = static_cast<unsigned char>(i); // at 1
  cells[t] = t;
  cells[t + 32] = n;
  syncThreads();
  const unsigned char *four = bytes + 4 * t + 1;
  data[4 * t] = cells[t + 1] + cells[t + 2] + four[0] + four[1] + four[2] + four[3];
}

// Loops around the word that a half lies in, beside plain stores to its other half.
KERNEL atomic_halves(unsigned short *data, unsigned n, unsigned *) {
  __shared__ unsigned short cells[64];
  const unsigned t = threadX(), at = 2 * (t % 32);
  const unsigned short value = static_cast<unsigned short>(n);
  if (blockX() == 0 && t < 32) {
    data[at + 1] = value;
  } else if (blockX() == 1) {
    unsigned short old;
    asm volatile("red.relaxed.gpu.global.add.noftz.f16 [%0], %1;" ::"l"(data + at), "h"(value));
    asm volatile("atom.relaxed.gpu.global.cas.b16 %0, [%1], %2, %2;"
                 : "=h"(old)
                 : "l"(data + at), "h"(value));
  }
  cells[t] = 0;
  syncThreads();
  if (t < 32)
    cells[at + 1] = value;
  else
    asm volatile("{ .reg .u64 place; cvta.to.shared.u64 place, %0; "
                 "red.relaxed.cta.shared.add.noftz.f16 [place], %1; }" ::"l"(cells + at),
                 "h"(value));
}

/// Errors, each of which a launch survives that goes on.
KERNEL several_errors(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  const unsigned value = data[32 + (t & 7)]; // nobody has written it
  if (value + t == 0xfffffff0)
    data[1] = 5;
  if (t == 3)
    data[n + 2] = 1; // behind the allocation
  cells[t] = t;
  if (t == 4)
    data[2] = cells[data[0] + 100000]; // behind shared memory
  data[t] = cells[63 - t];             // what the other warp writes
}
