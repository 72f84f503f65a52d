; E8 -mcpu=gfx942 -O2 -mllvm -global-isel
; crash: RegBankSelect
; The high half of a product of 64 bits.
define i64 @k(i64 %x) {
  %w = zext i64 %x to i128
  %p = mul i128 %w, %w
  %h = lshr i128 %p, 64
  %r = trunc i128 %h to i64
  ret i64 %r
}
