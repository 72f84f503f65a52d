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
