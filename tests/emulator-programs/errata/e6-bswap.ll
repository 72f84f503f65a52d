; E6 -mcpu=gfx1100 -O0
; wrong: v_mov_b16
; The register that v_perm_b32 takes is copied by halves, of which only the low one is.
define i64 @k(i64 %x) {
  %r = call i64 @llvm.bswap.i64(i64 %x)
  ret i64 %r
}
