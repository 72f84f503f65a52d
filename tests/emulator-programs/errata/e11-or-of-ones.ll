; E11 -mcpu=gfx942 -O2 -mllvm -global-isel
; wrong: v_mov_b32_e32 v1, v1
; The high word should be -1.
define i64 @k(i64 %x) {
  %r = or i64 %x, -1441821269
  ret i64 %r
}
