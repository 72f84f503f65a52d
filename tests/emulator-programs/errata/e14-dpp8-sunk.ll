; E14 -mcpu=gfx1100 -O2
; wrong: saveexec[^:]*v_mov_b32_dpp
; The lanes exchange values before the branch, but the instruction is behind it.
define i32 @k(i32 %x, i32 %y) {
  %d = call i32 @llvm.amdgcn.mov.dpp8.i32(i32 %x, i32 12)
  %c = icmp sgt i32 %y, 0
  br i1 %c, label %then, label %join
then:
  %e = add i32 %d, 1
  br label %join
join:
  %r = phi i32 [%e, %then], [7, %0]
  ret i32 %r
}
