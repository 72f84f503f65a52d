; E8 -mcpu=gfx942 -O2 -mllvm -global-isel
; crash: AMDGPURegBankCombiner
; Minima and maxima of a uniform value with constants.
define float @k(float inreg %x) {
  %a = call float @llvm.maxnum.f32(float %x, float 0.0)
  %b = call float @llvm.minnum.f32(float %a, float 0.0)
  %c = call float @llvm.maxnum.f32(float %b, float 0.0)
  %r = call float @llvm.minnum.f32(float %c, float 1.0)
  ret float %r
}
