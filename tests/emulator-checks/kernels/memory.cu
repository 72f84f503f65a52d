// SPDX-License-Identifier: Apache-2.0
// What must not be done with memory. Each kernel has `words` words of data (0, 1, 2, ...), and
// `freed` is an allocation of 64 words that is gone.
#include "Device.h"

// CASE fault=OutOfBounds block=64 words=64
KERNEL store_one_past(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  if (t + 1 < n)
    data[t + 1] = 7;
#else
  data[t + 1] = 7; // BUG thread=(63,0,0)
#endif
}

// CASE fault=OutOfBounds block=64 words=64
KERNEL load_one_past(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned next = 0;
#ifdef MENDED
  if (t + 1 < n)
#endif
    next = data[t + 1]; // BUG thread=(63,0,0)
  syncThreads();
  data[t] = next;
}

// CASE fault=OutOfBounds block=64 words=64
KERNEL store_one_before(unsigned *data, unsigned n, unsigned *) {
  const int t = int(threadX());
#ifdef MENDED
  if (t > 0)
#endif
    data[t - 1] = n; // BUG thread=(0,0,0)
}

// CASE fault=OutOfBounds block=64 words=64
KERNEL load_one_before(unsigned *data, unsigned n, unsigned *) {
  const int t = int(threadX());
  unsigned last = n;
#ifdef MENDED
  if (t > 0)
#endif
    last = data[t - 1]; // BUG thread=(0,0,0)
  syncThreads();
  data[t] = last;
}

// CASE fault=OutOfBounds block=32 words=64
KERNEL negative_index(unsigned *data, unsigned n, unsigned *) {
  const int t = int(threadX());
#ifdef MENDED
  const int at = t;
#else
  const int at = t == 11 ? t - int(n) : t; // within the red zone, whatever lies before it
#endif
  data[at] = 1; // BUG thread=(11,0,0)
}

// CASE fault=OutOfBounds block=32 words=64
KERNEL null_pointer(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  unsigned *to = data;
#else
  unsigned *to = t == 5 ? reinterpret_cast<unsigned *>(n - 64ull) : data;
#endif
  to[t] = 1; // BUG thread=(5,0,0)
}

// CASE fault=UseAfterFree block=32 words=64
KERNEL load_after_free(unsigned *data, unsigned n, unsigned *freed) {
  const unsigned t = threadX();
#ifdef MENDED
  const unsigned *from = data;
#else
  const unsigned *from = t == 7 ? freed : data;
#endif
  const unsigned value = from[t]; // BUG thread=(7,0,0)
  data[t] = value + n;
}

// CASE fault=UseAfterFree block=32 words=64
KERNEL store_after_free(unsigned *data, unsigned n, unsigned *freed) {
  const unsigned t = threadX();
#ifdef MENDED
  unsigned *to = data;
#else
  unsigned *to = t == 8 ? freed : data;
#endif
  to[t] = n; // BUG thread=(8,0,0)
}

// CASE fault=OutOfBounds block=32 words=64
KERNEL atomic_one_past(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  n -= 3;
#else
  n -= 2;
#endif
  if (t == 2)
    atomicAdd(&data[n + t], 1); // BUG thread=(2,0,0)
}

// CASE fault=OutOfBounds block=32 words=66
KERNEL vector_store_past(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  if (4 * t + 3 < n)
#else
  if (4 * t < n)
#endif
    reinterpret_cast<uint4 *>(data)[t] = {n, n, n, n}; // BUG thread=(16,0,0)
}

__attribute__((noinline)) __device__ void first(unsigned *at) { *at = 1; }
__attribute__((noinline)) __device__ void second(unsigned *at) { *at = 2; }

// CASE fault=OutOfBounds block=32 words=64
KERNEL write_to_code(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  unsigned *to = data;
#else
  unsigned *to = t == 4 ? reinterpret_cast<unsigned *>(&first) : data;
#endif
  to[t] = n; // BUG thread=(4,0,0)
}

// CASE fault=Misaligned block=32 words=256
KERNEL misaligned_vector_load(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  const char *from = reinterpret_cast<const char *>(data + 4 * t);
#ifndef MENDED
  if (t == 13)
    from += 2;
#endif
  const uint4 value = *reinterpret_cast<const uint4 *>(from); // BUG thread=(13,0,0)
  data[128 + t] = value.x + value.y + value.z + value.w + n;
}

// CASE fault=Misaligned block=32 words=64
KERNEL misaligned_store(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  char *to = reinterpret_cast<char *>(data + t);
#ifndef MENDED
  if (t == 3)
    to += 1;
#endif
  *reinterpret_cast<unsigned *>(to) = n; // BUG thread=(3,0,0)
}

// CASE fault=Misaligned block=32 words=64
KERNEL misaligned_shared(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[64];
  const unsigned t = threadX();
  cells[t] = n;
  cells[t + 32] = t;
  syncThreads();
  const char *from = reinterpret_cast<const char *>(cells + 2 * (t / 2));
#ifndef MENDED
  from += t == 21 && n == 64;
#endif
  const uint2 value = *reinterpret_cast<const uint2 *>(from); // BUG thread=(21,0,0)
  data[t] = value.x + value.y;
}

// CASE fault=Misaligned block=32 words=256
KERNEL vector_load_at_4(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  const unsigned *from = data + 4 * t;
#ifndef MENDED
  from += t == 13;
#endif
  const uint4 value = *reinterpret_cast<const uint4 *>(from); // BUG thread=(13,0,0)
  data[128 + t] = value.x + value.y + value.z + value.w + n;
}

// CASE fault=Misaligned block=32 words=256
KERNEL vector_store_at_8(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned *to = data + 4 * t;
#ifndef MENDED
  to += t == 31 ? 2 : 0;
#endif
  *reinterpret_cast<uint4 *>(to) = {n, t, n, t}; // BUG thread=(31,0,0)
}

// CASE fault=Misaligned block=32 words=128
KERNEL double_at_4(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned *to = data + 2 * t;
#ifndef MENDED
  to += t == 13;
#endif
  *reinterpret_cast<double *>(to) = n; // BUG thread=(13,0,0)
}

// CASE fault=Misaligned block=32 words=64
KERNEL word_at_2(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  char *to = reinterpret_cast<char *>(data + t);
#ifndef MENDED
  to += t == 6 ? 2 : 0;
#endif
  *reinterpret_cast<unsigned *>(to) = n; // BUG thread=(6,0,0)
}

// CASE fault=Misaligned block=32 words=64
KERNEL half_at_1(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  char *to = reinterpret_cast<char *>(data + t);
#ifndef MENDED
  to += t == 6;
#endif
  *reinterpret_cast<unsigned short *>(to) = static_cast<unsigned short>(n); // BUG thread=(6,0,0)
}

// The same address for all threads: a scalar load, which ignores the lowest bits.
// CASE fault=Misaligned block=32 words=64
KERNEL uniform_load_at_2(unsigned *data, unsigned n, unsigned *) {
  const char *from = reinterpret_cast<const char *>(data + 3);
#ifndef MENDED
  from += n / 32; // 2
#endif
  const unsigned value = *reinterpret_cast<const unsigned *>(from); // BUG thread=(0,0,0)
  syncThreads();
  data[threadX()] = value;
}

// CASE fault=Misaligned block=32 words=64
KERNEL misaligned_atomic(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  char *to = reinterpret_cast<char *>(data + t);
#ifndef MENDED
  if (t == 19)
    to += 2;
#endif
  atomicAdd(reinterpret_cast<unsigned *>(to), n); // BUG thread=(19,0,0)
}

// CASE fault=LdsOutOfBounds block=32 words=64
KERNEL shared_overflow(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned cells[32];
  const unsigned t = threadX();
#ifdef MENDED
  cells[t] = n;
#else
  cells[t + n / 64] = n; // BUG thread=(31,0,0)
#endif
  syncThreads();
  data[t] = cells[0];
}

extern __shared__ unsigned dynamicCells[];

// CASE fault=LdsOutOfBounds block=32 words=64 shared=128
KERNEL dynamic_shared_overflow(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  dynamicCells[t] = n;
  syncThreads();
#ifdef MENDED
  data[t] = dynamicCells[t];
#else
  data[t] = dynamicCells[t + n / 4]; // BUG thread=(16,0,0)
#endif
}

__attribute__((noinline)) __device__ unsigned deeper(unsigned *data, unsigned n) { // BUG thread=(0,0,0)
  unsigned frame[64];
  for (unsigned i = 0; i < 64; ++i)
    frame[i] = data[i];
  if (n == 0)
    return frame[data[1]];
  return deeper(data, n - 1) + frame[data[2] & 63];
}

// CASE fault=ScratchOverflow block=32 words=64
KERNEL stack_overflow(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  const unsigned depth = n / 16;
#else
  const unsigned depth = n * 1000;
#endif
  const unsigned value = deeper(data, depth);
  syncThreads();
  data[t] = value;
}

// CASE fault=OutOfBounds block=32 words=63
KERNEL second_of_two_stores(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  if (2 * t + 1 >= n)
    return;
#endif
  data[2 * t] = n;
  data[2 * t + 1] = t; // BUG thread=(31,0,0)
}

// CASE fault=ScratchOverflow block=32 words=64
KERNEL local_array_overflow(unsigned *data, unsigned n, unsigned *) {
  unsigned local[16];
  const unsigned t = threadX();
  for (unsigned i = 0; i < 16; ++i)
    local[data[i] & 15] = i;
#ifdef MENDED
  const unsigned at = data[t] & 15;
#else
  const unsigned at = t == 3 ? n << 20 : data[t] & 15;
#endif
  const unsigned value = local[at]; // BUG thread=(3,0,0)
  syncThreads();
  data[t] = value;
}

// CASE fault=IllegalInstruction block=32 words=64
KERNEL wild_function_pointer(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  using Function = void (*)(unsigned *);
  Function function = n == 64 ? first : second;
#ifndef MENDED
  if (t == 6)
    function = reinterpret_cast<Function>(reinterpret_cast<unsigned long long>(first) + 0x10000);
#endif
  function(data + t); // BUG thread=(6,0,0)
}
