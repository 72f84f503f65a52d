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

// Asynchronous copies and mbarriers.
#define sharedAddress(at) unsigned((unsigned long)(__attribute__((address_space(3))) void *)(at))
#define globalAddress(at) ((unsigned long)(__attribute__((address_space(1))) void *)(at))
#define copyWord(to, from) copyPart(to, from, 4u)
#define copyPart(to, from, bytes)                                                                  \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(sharedAddress(to)),            \
               "l"(globalAddress(from)), "r"(bytes)                                                \
               : "memory")
#define commitCopies() asm volatile("cp.async.commit_group;" ::: "memory")
#define waitForCopies(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")
#define waitForAllCopies() asm volatile("cp.async.wait_all;" ::: "memory")
#define initBarrier(bar, count)                                                                    \
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(sharedAddress(bar)), "r"(count)          \
               : "memory")
#define arriveWithCopies(bar)                                                                      \
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(sharedAddress(bar))         \
               : "memory")
#define arrive(bar)                                                                                \
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(sharedAddress(bar)) : "memory")
#define announceBytes(bar, bytes)                                                                  \
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sharedAddress(bar)),      \
               "r"(bytes)                                                                          \
               : "memory")
#define copyBulk(to, from, bytes, bar)                                                             \
  asm volatile(                                                                                    \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: \
          "r"(sharedAddress(to)),                                                                  \
      "l"(globalAddress(from)), "r"(bytes), "r"(sharedAddress(bar))                                \
      : "memory")
#define waitForPhase(bar, parity)                                                                  \
  for (unsigned isOver = 0; !isOver;)                                                              \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;"                  \
               " selp.b32 %0, 1, 0, p; }"                                                          \
               : "=r"(isOver)                                                                      \
               : "r"(sharedAddress(bar)), "r"(parity)                                              \
               : "memory")
