#pragma once
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>

// The distribution's headers call a function of OpenCL's device library in __syncthreads, which
// newer compilers do not link.
extern "C" __device__ void __atomic_work_item_fence(__cl_mem_fence_flags, __memory_order,
                                                    __memory_scope) {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}

#define CHECK(call)                                                                                \
  do {                                                                                             \
    hipError_t error = (call);                                                                     \
    if (error != hipSuccess) {                                                                     \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(error));                \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                         \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
