// SPDX-License-Identifier: Apache-2.0
// What the kernels need of CUDA C++, for clang without a CUDA toolkit.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define KERNEL extern "C" __global__ void

struct uint2 {
  unsigned x, y;
} __attribute__((aligned(8)));
struct uint4 {
  unsigned x, y, z, w;
} __attribute__((aligned(16)));

// Macros, so that their lines are those of the kernels.
#define threadX() unsigned(__nvvm_read_ptx_sreg_tid_x())
#define blockX() unsigned(__nvvm_read_ptx_sreg_ctaid_x())
#define syncThreads() asm volatile("bar.sync 0;" ::: "memory")
#define threadFence() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#define atomicAdd(at, value)                                                                       \
  __scoped_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomicLoad(at) __scoped_atomic_load_n(at, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomicStore(at, value)                                                                     \
  __scoped_atomic_store_n(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
