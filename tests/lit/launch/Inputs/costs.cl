// SPDX-License-Identifier: Apache-2.0
// Kernels whose costs are known. Local memory comes by pointer, so that nothing is known of it.
typedef unsigned uint;
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
#define LANE __builtin_amdgcn_workitem_id_x()

kernel void reads32(local uint *tile, global uint *out, uint stride) { out[LANE] = tile[LANE * stride]; }
kernel void reads64(local uint2 *tile, global uint2 *out, uint stride) { out[LANE] = tile[LANE * stride]; }
kernel void reads128(local uint4 *tile, global uint4 *out, uint stride) { out[LANE] = tile[LANE * stride]; }
kernel void writes32(local uint *tile, uint stride) { tile[LANE * stride] = LANE; }
kernel void writes128(local uint4 *tile, uint stride) { tile[LANE * stride] = (uint4)(LANE); }
kernel void counts(local uint *tile) { __scoped_atomic_fetch_add(tile + LANE % 4, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP); }

// 32 x 32 threads.
__attribute__((reqd_work_group_size(32, 32, 1))) kernel void transpose(local uint *tile, global uint *out, uint pitch) {
  const uint x = LANE, y = __builtin_amdgcn_workitem_id_y();
  tile[y * pitch + x] = x;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[y * 32 + x] = tile[x * pitch + y];
}

kernel void copies(global uint *out, uint stride, uint first) { out[LANE * stride + first] = LANE; }
kernel void copies128(global uint4 *out) { out[LANE] = (uint4)(LANE); }
kernel void same(global uint *out, global uint *in) { out[LANE] = in[LANE / 32]; }

// Half of the lanes of each wave; of the first wave all, of the others none.
kernel void odd(global uint *out) {
  if (LANE & 1)
    out[LANE] = 1;
}
kernel void few(global uint *out) {
  if (LANE < 64)
    out[LANE] = 1;
}
