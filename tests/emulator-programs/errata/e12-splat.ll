; E12 -mcpu=gfx942 -O2 -mllvm -global-isel
; wrong: s_lshl_b32 (s\d+), s3, 16\n[^:]*s_and_b32 s2, s2, 0xffff\n[^:]*s_or_b32 s2, \1, s2
; The high half of the splat is the next argument, s3.
define amdgpu_kernel void @k(ptr addrspace(1) %p, half %h, float %f) {
  %v = load <4 x half>, ptr addrspace(1) %p
  %i = insertelement <4 x half> poison, half %h, i64 0
  %s = shufflevector <4 x half> %i, <4 x half> poison, <4 x i32> zeroinitializer
  %a = fadd <4 x half> %s, %v
  store <4 x half> %a, ptr addrspace(1) %p
  %q = getelementptr i8, ptr addrspace(1) %p, i64 8
  store float %f, ptr addrspace(1) %q
  ret void
}
