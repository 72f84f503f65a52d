// SPDX-License-Identifier: Apache-2.0
// Device memory that nobody has written: `data` behind its first words, and blocks of malloc().
#include "Device.h"

extern "C" __device__ void *malloc(unsigned long long);
extern "C" __device__ void free(void *);

#ifdef MENDED
#define unwritten(place) ((place) & 31)
#else
#define unwritten(place) (place)
#endif

// CASE fault=Uninitialised block=32 words=64 written=32
KERNEL global_sum(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  const unsigned value = data[unwritten(t + 32)]; // BUG thread=(0,0,0)
  syncThreads();
  data[t] = value + 1;
}

// CASE fault=Uninitialised block=32 words=64 written=32
KERNEL global_last_threads(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  const unsigned value = data[unwritten(t + 8)]; // BUG thread=(24,0,0)
  syncThreads();
  data[t] = value * 3;
}

// CASE fault=Uninitialised block=32 words=64 written=32
KERNEL global_copy(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  const unsigned value = data[unwritten(t + 17)]; // BUG thread=(15,0,0)
  syncThreads();
  data[t] = value;
}

// CASE fault=Uninitialised block=32 words=64 written=32
KERNEL global_branch(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  const bool isLarge = data[unwritten(40)] > 3; // BUG thread=(0,0,0)
  if (isLarge)
    atomicAdd(&data[t], 1u);
}

// CASE fault=Uninitialised block=32 words=64 written=32
KERNEL global_branch_of_lanes(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  if (data[unwritten(t + 2)] > n) // BUG thread=(30,0,0)
    atomicAdd(&data[t], n);
}

// CASE fault=Uninitialised block=32 words=64 written=32
KERNEL global_index(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  const unsigned at = data[unwritten(t + 1)] & 7; // BUG thread=(31,0,0)
  const unsigned value = data[at];
  syncThreads();
  data[t] = value;
}

// CASE fault=Uninitialised block=32 words=64 written=32
KERNEL global_counter(unsigned *data, unsigned, unsigned *) {
  if (threadX() == 3)
    atomicAdd(&data[unwritten(33)], 1u); // BUG thread=(3,0,0)
}

// CASE fault=Uninitialised block=32 words=64 written=33
KERNEL global_byte(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
  const unsigned value = reinterpret_cast<unsigned char *>(data)[unwritten(101 + t)]; // BUG thread=(31,0,0)
  syncThreads();
  data[t] = value + 5;
}

// CASE fault=Uninitialised block=32 words=64 written=32
KERNEL global_uniform_byte(unsigned *data, unsigned, unsigned *) {
  const int value = reinterpret_cast<signed char *>(data)[unwritten(130)]; // BUG thread=(0,0,0)
  syncThreads();
  data[threadX()] = value + 5;
}

// CASE fault=Uninitialised block=8 words=64 written=30
KERNEL global_vector(unsigned *data, unsigned, unsigned *) {
  const unsigned t = threadX();
#ifdef MENDED
  const uint4 value = reinterpret_cast<uint4 *>(data)[t & 3];
#else
  const uint4 value = reinterpret_cast<uint4 *>(data)[t]; // BUG thread=(7,0,0)
#endif
  syncThreads();
  data[t] = value.x + value.y + value.z + value.w;
}

// CASE fault=Uninitialised block=32 words=64 written=32 heap=1
KERNEL heap_never_written(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadX();
  unsigned *block = static_cast<unsigned *>(malloc(64));
  block[0] = n;
#ifdef MENDED
  block[data[t] & 7] = 0;
#endif
  if (t == 9)
    data[40] = block[data[9] & 7] + 1; // BUG thread=(9,0,0)
  free(block);
}
