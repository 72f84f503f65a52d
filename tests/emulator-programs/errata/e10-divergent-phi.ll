; E10 -mcpu=gfx942 -O2 -mllvm -global-isel
; wrong: s_mov_b32 (s\d+), 1\n[^:]*s_mov_b32 \1, 6\n\.LBB.*\ns_or_b64 exec.*\nv_mov_b32_e32 v0, \1
; Every lane gets the value of the last branch that any lane took.
define i32 @k(i32 %x) {
  %c = icmp eq i32 %x, 0
  br i1 %c, label %join, label %other
other:
  %d = icmp ugt i32 %x, 9
  br i1 %d, label %join, label %last
last:
  br label %join
join:
  %r = phi i32 [2, %0], [1, %other], [6, %last]
  ret i32 %r
}
