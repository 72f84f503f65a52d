// SPDX-License-Identifier: Apache-2.0
// Chains of matrix instructions with one accumulator each: FORM chooses the instruction. No memory
// in the loop.
typedef half half4_ __attribute__((ext_vector_type(4)));
typedef half half8_ __attribute__((ext_vector_type(8)));
typedef half half16_ __attribute__((ext_vector_type(16)));
typedef short short4_ __attribute__((ext_vector_type(4)));
typedef int int4_ __attribute__((ext_vector_type(4)));
typedef int int8_ __attribute__((ext_vector_type(8)));
typedef int int16_ __attribute__((ext_vector_type(16)));
typedef int int2_ __attribute__((ext_vector_type(2)));
typedef float float2_ __attribute__((ext_vector_type(2)));
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef float float8_ __attribute__((ext_vector_type(8)));
typedef float float16_ __attribute__((ext_vector_type(16)));
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define LOOP(A, B, C, CALL)                                                                        \
  kernel void k(global A *a, global B *b, global C *c, uint n) {                                   \
    uint lane = __builtin_amdgcn_workitem_id_x();                                                  \
    A x = a[lane];                                                                                 \
    B y = b[lane];                                                                                 \
    C z = c[lane];                                                                                 \
    for (uint i = 0; i < n; ++i)                                                                   \
      z = CALL;                                                                                    \
    c[lane] = z;                                                                                   \
  }

#if FORM == 0
LOOP(half4_, half4_, float4_, __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, z, 0, 0, 0))
#elif FORM == 1
LOOP(half4_, half4_, float16_, __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, z, 0, 0, 0))
#elif FORM == 2
LOOP(short4_, short4_, float4_, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, z, 0, 0, 0))
#elif FORM == 3
LOOP(float, float, float4_, __builtin_amdgcn_mfma_f32_16x16x4f32(x, y, z, 0, 0, 0))
#elif FORM == 4
LOOP(float, float, float16_, __builtin_amdgcn_mfma_f32_32x32x2f32(x, y, z, 0, 0, 0))
#elif FORM == 5
LOOP(int, int, int4_, __builtin_amdgcn_mfma_i32_16x16x16i8(x, y, z, 0, 0, 0))
#elif FORM == 6
LOOP(long, long, int4_, __builtin_amdgcn_mfma_i32_16x16x32_i8(x, y, z, 0, 0, 0))
#elif FORM == 7
LOOP(long, long, float4_, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(x, y, z, 0, 0, 0))
#elif FORM == 8
LOOP(float2_, float2_, float4_, __builtin_amdgcn_mfma_f32_16x16x8_xf32(x, y, z, 0, 0, 0))
#elif FORM == 9
LOOP(half8_, half8_, float4_, __builtin_amdgcn_mfma_f32_16x16x32_f16(x, y, z, 0, 0, 0))
#elif FORM == 10
LOOP(int4_, int4_, int4_, __builtin_amdgcn_mfma_i32_16x16x64_i8(x, y, z, 0, 0, 0))
#elif FORM == 11
LOOP(half16_, half16_, float8_, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, z))
#elif FORM == 12
LOOP(int4_, int4_, int8_, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(1, x, 1, y, z, 0))
#elif FORM == 13
LOOP(half8_, half8_, float8_, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, z))
#elif FORM == 14
LOOP(int2_, int2_, int8_, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(1, x, 1, y, z, 0))
#endif
