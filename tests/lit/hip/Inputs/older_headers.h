// SPDX-License-Identifier: Apache-2.0
// What the distribution's HIP headers and device library expect of the compiler, and newer
// compilers no longer have.
#pragma once
#if defined(__GFX9__)
#define __AMDGCN_WAVEFRONT_SIZE 64
#else
#define __AMDGCN_WAVEFRONT_SIZE 32
#endif
// Of hip_fp16.h.
#define __llvm_amdgcn_rcp_f16(x) __builtin_amdgcn_rcph(x)
#define __llvm_amdgcn_rcp_2f16(v)                                                                  \
  __half2 {                                                                                        \
    __half_raw{__builtin_amdgcn_rcph((v).data[0])}, __half_raw {                                   \
      __builtin_amdgcn_rcph((v).data[1])                                                           \
    }                                                                                              \
  }
// Whether the library's functions of float may flush denormals: a file of bitcode that the compiler
// chose.
#ifdef __HIP_DEVICE_COMPILE__
extern "C" __attribute__((constant, weak, visibility("protected")))
const unsigned char __oclc_daz_opt = 0;
#endif
