// SPDX-License-Identifier: Apache-2.0
// What the kernels need of CUDA, for clang -x hip without HIP's headers. Functions of the device
// library are those that HIP's headers take. With nvcc, and with clang for PTX, it is what CUDA
// calls it.
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

// name(x) by the device library's function.
#define LIBRARY(type, name, ocml)                                                                  \
  extern "C" __device__ __attribute__((const)) type ocml(type);                                    \
  static __device__ __forceinline__ type name(type x) { return ocml(x); }
LIBRARY(float, expf, __ocml_exp_f32)
LIBRARY(float, exp2f, __ocml_exp2_f32)
LIBRARY(float, logf, __ocml_log_f32)
LIBRARY(float, log2f, __ocml_log2_f32)
LIBRARY(float, sinf, __ocml_sin_f32)
LIBRARY(float, cosf, __ocml_cos_f32)
LIBRARY(float, tanhf, __ocml_tanh_f32)
LIBRARY(float, cbrtf, __ocml_cbrt_f32)
LIBRARY(float, rsqrtf, __ocml_rsqrt_f32)
LIBRARY(float, erfc, __ocml_erfc_f32)
LIBRARY(double, exp, __ocml_exp_f64)
LIBRARY(double, log, __ocml_log_f64)
LIBRARY(double, sin, __ocml_sin_f64)
LIBRARY(double, cos, __ocml_cos_f64)
LIBRARY(double, atan, __ocml_atan_f64)
LIBRARY(double, erfc, __ocml_erfc_f64)
#undef LIBRARY
extern "C" __device__ __attribute__((const)) float __ocml_pow_f32(float, float);
static __device__ __forceinline__ float powf(float x, float y) { return __ocml_pow_f32(x, y); }
extern "C" __device__ float __ocml_sincos_f32(float, __attribute__((address_space(5))) float *);
static __device__ __forceinline__ void sincosf(float x, float *sine, float *cosine) {
  float second;
  *sine = __ocml_sincos_f32(x, (__attribute__((address_space(5))) float *)&second);
  *cosine = second;
}
#endif
