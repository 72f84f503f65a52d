// SPDX-License-Identifier: Apache-2.0
// Values that nobody has written. The marked line is the one that reads them first.
#include "Device.h"

// CASE fault=Uninitialised block=64 words=64
KERNEL shared_never_written(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  if (n == 0)
    cells[t] = 1;
#ifdef MENDED
  cells[t] = n;
#endif
  syncThreads();
  const unsigned value = cells[t]; // BUG thread=(0,0,0)
  data[t] = value;
}

extern __shared__ unsigned dynamicCells[];

// CASE fault=Uninitialised block=32 words=64 shared=256
KERNEL dynamic_shared_never_written(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  dynamicCells[t] = n;
#ifdef MENDED
  dynamicCells[t + 32] = n;
#endif
  syncThreads();
  const unsigned value = dynamicCells[t + 4]; // BUG thread=(28,0,0)
  data[t] = value;
}

// CASE fault=Uninitialised block=64 words=64
KERNEL one_element(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
#ifdef MENDED
  if (t < n)
#else
  if (t < n - 1)
#endif
    cells[t] = data[t];
  syncThreads();
  const unsigned next = cells[(t + 1) % 64]; // BUG thread=(62,0,0)
  data[t] = next * 3 + 1;
}

// CASE fault=Uninitialised block=32 words=64
KERNEL local_array(unsigned *data, unsigned n, unsigned *) {
  unsigned local[16];
  const unsigned t = threadX();
  for (unsigned i = 0; i < n / 4; ++i)
#ifdef MENDED
    local[i] = data[i];
#else
    if (data[i] != 9)
      local[data[i]] = data[i + 16];
#endif
  const unsigned value = local[data[t] & 15]; // BUG thread=(9,0,0)
  syncThreads();
  data[t] = value;
}

// CASE fault=Uninitialised block=32 words=64
KERNEL branch(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
#ifdef MENDED
  cells[t] = n;
#else
  if (t != 12)
    cells[t] = n;
#endif
  syncThreads();
  if (cells[t] > 5) // BUG thread=(12,0,0)
    atomicAdd(&data[40], 1);
}

// CASE fault=Uninitialised block=32 words=64
KERNEL address(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
#ifdef MENDED
  cells[t] = n - 1;
#else
  if (t != 22)
    cells[t] = n - 1;
#endif
  syncThreads();
  const unsigned at = cells[t] & 63; // BUG thread=(22,0,0)
  atomicAdd(&data[at], 1);
}

// CASE fault=Uninitialised block=32 words=64
KERNEL counter(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned count;
  const unsigned t = threadX();
#ifdef MENDED
  if (t == 0)
    count = 0;
  syncThreads();
#endif
  if (t == 15)
    atomicAdd(&count, n); // BUG thread=(15,0,0)
  syncThreads();
  if (t == 15)
    data[t] = count;
}

// CASE fault=Uninitialised block=32 words=64
KERNEL one_byte(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned char cells[128];
  const unsigned t = threadX();
  cells[4 * t] = n;
  cells[4 * t + 1] = n;
#ifdef MENDED
  cells[4 * t + 2] = n;
#endif
  cells[4 * t + 3] = n;
  syncThreads();
  const unsigned value = cells[4 * t + 2]; // BUG thread=(0,0,0)
  data[t] = value;
}

// What follows: one cell that nobody has written, cells[9], and what is made of it.
template <class T>
__device__ __attribute__((always_inline)) inline unsigned
fillAllButOne(T *cells, const unsigned *data, unsigned n) {
  const unsigned t = threadX();
#ifndef MENDED
  if (t != 9)
#endif
    cells[t] = data[t] + n;
  syncThreads();
  return t;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL uniform_loop_bound(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned bound = cells[9] & 7; // BUG thread=(0,0,0)
  unsigned sum = 0;
  for (unsigned i = 0; i < bound; ++i)
    sum += data[i];
  data[t + 64] = sum;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL uniform_branch(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned value = cells[t]; // BUG thread=(9,0,0)
  unsigned other;
  asm volatile("shfl.sync.idx.b32 %0, %1, 9, 31, -1;" : "=r"(other) : "r"(value));
  if (other > 5)
    data[t + 64] = 1;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL uniform_address(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned at = cells[9] & 63; // BUG thread=(0,0,0)
  data[t + 64] = data[at];
}

// CASE fault=Uninitialised block=32 words=128
KERNEL float_sum(unsigned *data, unsigned n, unsigned *) {
  __shared__ float cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const float value = cells[t]; // BUG thread=(9,0,0)
  reinterpret_cast<float *>(data)[t] = value + 0.1f;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL float_product(unsigned *data, unsigned n, unsigned *) {
  __shared__ float cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const float value = cells[t]; // BUG thread=(9,0,0)
  reinterpret_cast<float *>(data)[t] = value * 0.1f;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL float_maximum(unsigned *data, unsigned n, unsigned *) {
  __shared__ float cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const float value = cells[t]; // BUG thread=(9,0,0)
  reinterpret_cast<float *>(data)[t] = value > 0 ? value : 0;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL double_product(unsigned *data, unsigned n, unsigned *) {
  __shared__ double cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  reinterpret_cast<double *>(data)[t] = cells[t] * 3; // BUG thread=(9,0,0)
}

// CASE fault=Uninitialised block=32 words=128
KERNEL integer_product(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned value = cells[t]; // BUG thread=(9,0,0)
  data[t] = value * 12 + 5;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL quotient(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned value = cells[t]; // BUG thread=(9,0,0)
  data[t] = value / 100;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL conversion(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned value = cells[t]; // BUG thread=(9,0,0)
  reinterpret_cast<float *>(data)[t] = float(value) * 0.5f;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL comparison(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned value = cells[t]; // BUG thread=(9,0,0)
  data[t] = value > 50 ? 1 : 0;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL ballot(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned value = cells[t]; // BUG thread=(9,0,0)
  data[t] = __nvvm_vote_ballot_sync(~0u, value > 12);
}

// CASE fault=Uninitialised block=32 words=128
KERNEL atomic_operand(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned value = cells[t] >> 4; // BUG thread=(9,0,0)
  atomicAdd(&data[70], value);
}

// The report names the cell, not the first one that this line has read.
// CASE fault=Uninitialised block=32 words=128 address=0x24
KERNEL cell_in_a_loop(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
#ifndef MENDED
  if (t != 9)
#endif
    cells[t] = t;
  syncThreads();
  unsigned sum = 0;
  if (t == 2)
    for (unsigned i = 0; i < n / 4; ++i) {
      sum += cells[i]; // BUG thread=(2,0,0)
      data[i] = sum;
    }
}

struct Padded {
  unsigned short first;
  unsigned char second; // and a byte that nobody writes
};

// Structures are copied with their padding, beside values that are computed.
// CASE fault=Uninitialised block=32 words=128
KERNEL padding_is_copied(unsigned *data, unsigned n, unsigned *) {
  __shared__ Padded cells[32];
  const unsigned t = threadX();
#ifndef MENDED
  if (t != 9)
#endif
    cells[t].first = n * t;
  cells[t].second = n + t;
  syncThreads();
  Padded value = cells[t]; // BUG thread=(9,0,0)
  value.second += 3;
  reinterpret_cast<Padded *>(data)[t] = value;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL some_bits(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned value = cells[t]; // BUG thread=(9,0,0)
  data[t] = value & 3;
}

struct Fields {
  unsigned first : 3, second : 7; // and bits that nobody writes
};

// CASE fault=Uninitialised block=32 words=128
KERNEL fields_are_copied(unsigned *data, unsigned n, unsigned *) {
  __shared__ Fields cells[32];
  const unsigned t = threadX();
#ifndef MENDED
  if (t != 9)
#endif
    cells[t].first = n + t;
  cells[t].second = n * t; // BUG thread=(9,0,0)
  syncThreads();
  const Fields value = cells[31 - t];
  reinterpret_cast<Fields *>(data)[t] = value;
}

// CASE fault=Uninitialised block=64 words=128
KERNEL binary_search(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned sorted[128];
  const unsigned t = threadX();
  sorted[t] = data[t];
#ifndef MENDED
  if (t != 48)
#endif
    sorted[t + 64] = data[t + 64];
  syncThreads();
  unsigned low = 0, high = n;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (sorted[middle] < 2 * t) // BUG thread=(49,0,0)
      low = middle + 1;
    else
      high = middle;
  }
  data[t] = low;
}

// Two loads that go to the halves of one register: nobody has written the lower one...
// CASE fault=Uninitialised block=32 words=128
KERNEL lower_half(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned short cells[64];
  cells[63 - threadX()] = static_cast<unsigned short>(n);
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned low = cells[t]; // BUG thread=(9,0,0)
  data[t] = low | unsigned(cells[63 - t]) << 16;
}

// ...or the upper one, which is computed with.
// CASE fault=Uninitialised block=32 words=128
KERNEL upper_half(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned short cells[64];
  cells[63 - threadX()] = static_cast<unsigned short>(n);
  const unsigned t = fillAllButOne(cells, data, n);
  const unsigned high = cells[t]; // BUG thread=(9,0,0)
  data[t] = (cells[63 - t] | high << 16) + n;
}

// CASE fault=Uninitialised block=32 words=128
KERNEL sign_of_byte(unsigned *data, unsigned n, unsigned *) {
  __shared__ signed char cells[32];
  const unsigned t = threadX();
#ifndef MENDED
  if (t != 9)
#endif
    cells[t] = static_cast<signed char>(data[t] + n);
  syncThreads();
  const int value = cells[t]; // BUG thread=(9,0,0)
  data[t] = unsigned(value) >> 12;
}

// A product with a power of two, which is a shift.
// CASE fault=Uninitialised block=32 words=64
KERNEL shared_scaled(unsigned *data, unsigned, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  cells[t] = data[t];
  syncThreads();
#ifdef MENDED
  data[t] = cells[t] * 2;
#else
  data[t] = cells[t + 1] * 2; // BUG thread=(31,0,0)
#endif
}
