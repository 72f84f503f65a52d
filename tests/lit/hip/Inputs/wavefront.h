// The distribution's HIP headers want a macro that newer compilers no longer define.
#pragma once
#if defined(__GFX9__)
#define __AMDGCN_WAVEFRONT_SIZE 64
#else
#define __AMDGCN_WAVEFRONT_SIZE 32
#endif
