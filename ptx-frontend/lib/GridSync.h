// SPDX-License-Identifier: Apache-2.0
// What CUDA's driver defines for grid.sync() of programs that are linked with libcudadevrt, as a
// unit that is linked where it is needed.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace rubia::ptx {

inline constexpr llvm::StringLiteral kGridHandle = "__cuda_syscall_CGS_get_intrinsic_handle";
inline constexpr llvm::StringLiteral kGridSync = "__cuda_syscall_CGS_sync";

/// The handle is the workspace of the launch. One thread of each CTA counts it in at offset 8. The
/// last one begins the next generation, at offset 12, for which the others wait. grid.sync() of
/// programs that have it as a template uses another word. The workspace is taken from the launch
/// again, since the analysis of loops that wait knows it by its registers.
inline constexpr llvm::StringLiteral kGridSyncUnit = R"(.version 6.0
.target sm_70
.address_size 64
.visible .func (.param .b64 handle) __cuda_syscall_CGS_get_intrinsic_handle(.param .b32 scope)
{
  .reg .b32 %low, %high;
  .reg .b64 %workspace;
  mov.b32 %high, %envreg1;
  mov.b32 %low, %envreg2;
  mov.b64 %workspace, {%low, %high};
  st.param.b64 [handle], %workspace;
  ret;
}
.visible .func (.param .b32 error) __cuda_syscall_CGS_sync(.param .b64 handle, .param .b32 flags)
{
  .reg .pred %is;
  .reg .b32 %low, %high, %x, %y, %ctas, %generation, %now;
  .reg .b64 %workspace;
  barrier.sync 0;
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  or.b32 %x, %x, %y;
  mov.u32 %y, %tid.z;
  or.b32 %x, %x, %y;
  setp.ne.u32 %is, %x, 0;
  @%is bra Together;
  mov.b32 %high, %envreg1;
  mov.b32 %low, %envreg2;
  mov.b64 %workspace, {%low, %high};
  mov.u32 %ctas, %nctaid.x;
  mov.u32 %y, %nctaid.y;
  mul.lo.u32 %ctas, %ctas, %y;
  mov.u32 %y, %nctaid.z;
  mul.lo.u32 %ctas, %ctas, %y;
  sub.u32 %ctas, %ctas, 1;
  ld.relaxed.gpu.global.u32 %generation, [%workspace+12];
  atom.acq_rel.gpu.global.add.u32 %x, [%workspace+8], 1;
  setp.eq.u32 %is, %x, %ctas;
  @%is bra Last;
Wait:
  ld.acquire.gpu.global.u32 %now, [%workspace+12];
  setp.eq.u32 %is, %now, %generation;
  @%is bra Wait;
  bra.uni Together;
Last:
  st.relaxed.gpu.global.u32 [%workspace+8], 0;
  red.release.gpu.global.add.u32 [%workspace+12], 1;
Together:
  barrier.sync 0;
  st.param.b32 [error], 0;
  ret;
}
)";

} // namespace rubia::ptx
