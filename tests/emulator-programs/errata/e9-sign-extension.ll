; E9 -mcpu=gfx942 -O2 -mllvm -global-isel
; wrong: v_bfe_i32 v1, v0, 0, 16
; The high word is the low word's lowest 16 bits instead of its own.
define i64 @k(i64 %x) {
  %a = shl i64 %x, 16
  %r = ashr i64 %a, 16
  ret i64 %r
}
