// SPDX-License-Identifier: Apache-2.0
// What kernels.cu needs of CUDA, for clang -x hip without HIP's headers and device libraries. With
// nvcc, and with clang for PTX, it is what CUDA calls it.
#pragma once

#if defined(__HIP__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))

struct ThreadIndex {
  struct X {
    __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); }
  } x;
};
struct BlockIndex {
  struct X {
    __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); }
  } x;
};
struct BlockSize {
  struct X {
    // AMDGPUUsage "Code Object V5 Metadata": hidden_group_size_x.
    __device__ operator unsigned() const {
      return ((const __attribute__((
          address_space(4))) unsigned short *)__builtin_amdgcn_implicitarg_ptr())[6];
    }
  } x;
};
struct GridSize {
  struct X {
    __device__ operator unsigned() const {
      return *(const
               __attribute__((address_space(4))) unsigned *)__builtin_amdgcn_implicitarg_ptr();
    }
  } x;
};
static const __device__ ThreadIndex threadIdx;
static const __device__ BlockIndex blockIdx;
static const __device__ BlockSize blockDim;
static const __device__ GridSize gridDim;

static __device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
template <class T> static __device__ __forceinline__ T atomicAdd(T *place, T value) {
  return __hip_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> static __device__ __forceinline__ T atomicMax(T *place, T value) {
  return __hip_atomic_fetch_max(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
static __device__ __forceinline__ int __popc(unsigned value) { return __builtin_popcount(value); }
static __device__ __forceinline__ int __clz(int value) { return value ? __builtin_clz(value) : 32; }
static __device__ __forceinline__ unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }
static __device__ __forceinline__ unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
static __device__ __forceinline__ unsigned long long __umul64hi(unsigned long long a,
                                                                unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static __device__ __forceinline__ float fminf(float a, float b) { return __builtin_fminf(a, b); }
static __device__ __forceinline__ float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
static __device__ __forceinline__ float fabsf(float a) { return __builtin_fabsf(a); }
static __device__ __forceinline__ float floorf(float a) { return __builtin_floorf(a); }
static __device__ __forceinline__ float sqrtf(float a) { return __builtin_sqrtf(a); }
static __device__ __forceinline__ double sqrt(double a) { return __builtin_sqrt(a); }
static __device__ __forceinline__ double fabs(double a) { return __builtin_fabs(a); }
#endif
