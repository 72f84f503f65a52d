// SPDX-License-Identifier: Apache-2.0
// Blocks of malloc() in device code.
#include "Device.h"

extern "C" __device__ void *malloc(unsigned long long);
extern "C" __device__ void free(void *);

#ifdef MENDED
#define beyond(place) 0
#else
#define beyond(place) (place)
#endif

// CASE fault=OutOfBounds block=32 words=64 heap=1
KERNEL heap_store_past_end(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  volatile unsigned *block = static_cast<unsigned *>(malloc(16));
  if (data[t] == 3)
    block[beyond(n / 16)] = n; // BUG thread=(3,0,0)
  free(const_cast<unsigned *>(block));
}

// CASE fault=OutOfBounds block=32 words=64 heap=1
KERNEL heap_load_past_end(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned *block = static_cast<unsigned *>(malloc(40));
  for (unsigned i = 0; i < 10; ++i)
    block[i] = i * n;
  if (t == 30)
    data[t] = block[beyond(n - 54)]; // BUG thread=(30,0,0)
  free(block);
}

// CASE fault=OutOfBounds block=32 words=64 heap=1
KERNEL heap_byte_past_end(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  volatile unsigned char *block = static_cast<unsigned char *>(malloc(10));
  if (data[t] == 21)
    block[beyond(n - 54)] = 1; // BUG thread=(21,0,0)
  free(const_cast<unsigned char *>(block));
}

// CASE fault=OutOfBounds block=32 words=64 heap=1
KERNEL heap_before_start(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  volatile unsigned *block = static_cast<unsigned *>(malloc(64));
  if (data[t] == 12)
    block[beyond(int(data[1]) - 2)] = n; // BUG thread=(12,0,0)
  free(const_cast<unsigned *>(block));
}

// CASE fault=OutOfBounds block=2 words=64 heap=1
KERNEL heap_large_block(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  volatile unsigned *block = static_cast<unsigned *>(malloc(10000));
  if (data[t] == 1)
    block[beyond(n + 2436)] = n; // BUG thread=(1,0,0)
  free(const_cast<unsigned *>(block));
}

// CASE fault=UseAfterFree block=32 words=64 heap=1
KERNEL heap_load_after_free(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned *volatile kept = static_cast<unsigned *>(malloc(32));
  unsigned *block = kept;
  block[1] = n;
#ifndef MENDED
  if (t == 17)
    free(block);
#endif
  data[t] = kept[1]; // BUG thread=(17,0,0)
#ifdef MENDED
  free(block);
#endif
}

// CASE fault=UseAfterFree block=64 words=64 heap=1
KERNEL heap_freed_by_another(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned *shared;
  const unsigned t = threadX();
  if (t == 0) {
    shared = static_cast<unsigned *>(malloc(4 * 64));
  }
  syncThreads();
  shared[t] = n;
  syncThreads();
#ifndef MENDED
  if (t == 63)
    free(shared);
  syncThreads();
#endif
  if (t == 40)
    data[t] = shared[t]; // BUG thread=(40,0,0)
#ifdef MENDED
  syncThreads();
  if (t == 63)
    free(shared);
#endif
}
