// SPDX-License-Identifier: Apache-2.0
// What is compared: functions of CUDA's headers and device library, by the class of their inputs.
// D, F, H, I: a row of doubles, floats, 16-bit floats, integers; x, y, z are its values, in which
// the expression is written. The last column is what the result may be wrong by, in units in the
// last place, as CUDA's programming guide documents it ("Mathematical Functions"); 0: every bit
// must be an NVIDIA GPU's.
// clang-format off
#define DOUBLE_FUNCTIONS(D)                                                                        \
  D(d_add, x + y, 0) D(d_sub, x - y, 0) D(d_mul, x * y, 0) D(d_div, x / y, 0)                      \
  D(d_sqrt, sqrt(x), 0) D(d_fma, fma(x, y, z), 0) D(d_mul_add, x * y + z, 0)                       \
  D(d_mul_sub, x * y - z * x, 0) D(d_rcp, 1.0 / x, 0) D(d_rsqrt, rsqrt(x), 1)                      \
  D(d_add_rz, __dadd_rz(x, y), 0) D(d_mul_ru, __dmul_ru(x, y), 0) D(d_fma_rd, __fma_rd(x, y, z), 0)\
  D(d_div_ru, __ddiv_ru(x, y), 0) D(d_div_rd, __ddiv_rd(x, y), 0) D(d_div_rz, __ddiv_rz(x, y), 0)  \
  D(d_sqrt_ru, __dsqrt_ru(x), 0) D(d_sqrt_rz, __dsqrt_rz(x), 0) D(d_rcp_rd, __drcp_rd(x), 0)       \
  D(d_sin, sin(x), 2) D(d_cos, cos(x), 2) D(d_tan, tan(x), 2) D(d_sinpi, sinpi(x), 2)              \
  D(d_cospi, cospi(x), 2) D(d_asin, asin(x), 2) D(d_acos, acos(x), 2) D(d_atan, atan(x), 2)        \
  D(d_atan2, atan2(x, y), 2) D(d_sinh, sinh(x), 2) D(d_cosh, cosh(x), 1) D(d_tanh, tanh(x), 1)     \
  D(d_asinh, asinh(x), 3) D(d_acosh, acosh(x), 3) D(d_atanh, atanh(x), 2) D(d_exp, exp(x), 1)      \
  D(d_exp2, exp2(x), 1) D(d_exp10, exp10(x), 1) D(d_expm1, expm1(x), 1) D(d_log, log(x), 1)        \
  D(d_log2, log2(x), 1) D(d_log10, log10(x), 1) D(d_log1p, log1p(x), 1) D(d_pow, pow(x, y), 2)     \
  D(d_cbrt, cbrt(x), 1) D(d_rcbrt, rcbrt(x), 1) D(d_hypot, hypot(x, y), 2)                         \
  D(d_rhypot, rhypot(x, y), 1) D(d_norm3d, norm3d(x, y, z), 2) D(d_rnorm3d, rnorm3d(x, y, z), 2)   \
  D(d_erf, erf(x), 2) D(d_erfc, erfc(x), 5) D(d_erfcx, erfcx(x), 4) D(d_erfinv, erfinv(x), 5)      \
  D(d_erfcinv, erfcinv(x), 6) D(d_normcdf, normcdf(x), 5) D(d_normcdfinv, normcdfinv(x), 8)        \
  D(d_lgamma, lgamma(x), 4) D(d_tgamma, tgamma(x), 10) D(d_j0, j0(x), 7) D(d_j1, j1(x), 7)         \
  D(d_y0, y0(x), 7) D(d_y1, y1(x), 7) D(d_jn, jn(3, x), 20) D(d_yn, yn(3, x), 20)                  \
  D(d_i0, cyl_bessel_i0(x), 6) D(d_i1, cyl_bessel_i1(x), 6) D(d_fmod, fmod(x, y), 0)               \
  D(d_remainder, remainder(x, y), 0) D(d_fdim, fdim(x, y), 0) D(d_fmin, fmin(x, y), 0)             \
  D(d_fmax, fmax(x, y), 0) D(d_nextafter, nextafter(x, y), 0) D(d_copysign, copysign(x, y), 0)     \
  D(d_floor, floor(x), 0) D(d_ceil, ceil(x), 0) D(d_trunc, trunc(x), 0) D(d_rint, rint(x), 0)      \
  D(d_round, round(x), 0) D(d_logb, logb(x), 0) D(d_ldexp, ldexp(x, int(y)), 0)                    \
  D(d_ilogb, ilogb(x), 0) D(d_lrint, double(llrint(x)), 0) D(d_lround, double(llround(x)), 0)      \
  D(d_frexp, frexpOf(x), 0) D(d_modf, modfOf(x), 0) D(d_remquo, remquoOf(x, y), 0)                 \
  D(d_to_float, float(x), 0) D(d_to_float_rz, __double2float_rz(x), 0)                             \
  D(d_to_int, __double2int_rn(x), 0) D(d_cmul_re, complexProduct(x, y, z).x, 0)                    \
  D(d_cmul_im, complexProduct(x, y, z).y, 0) D(d_cdiv_re, complexQuotient(x, y, z).x, 0)           \
  D(d_cdiv_im, complexQuotient(x, y, z).y, 0) D(d_cabs, cuCabs(make_cuDoubleComplex(x, y)), 2)

#define FLOAT_FUNCTIONS(F)                                                                         \
  F(f_add, x + y, 0) F(f_sub, x - y, 0) F(f_mul, x * y, 0) F(f_div, x / y, 0) F(f_sqrt, sqrtf(x), 0)\
  F(f_fma, fmaf(x, y, z), 0) F(f_mul_add, x * y + z, 0) F(f_mul_sub, x * y - z * x, 0)             \
  F(f_rcp, 1.0f / x, 0) F(f_add_rz, __fadd_rz(x, y), 0) F(f_mul_ru, __fmul_ru(x, y), 0)            \
  F(f_fma_rd, __fmaf_rd(x, y, z), 0) F(f_div_ru, __fdiv_ru(x, y), 0) F(f_div_rz, __fdiv_rz(x, y), 0)\
  F(f_sqrt_ru, __fsqrt_ru(x), 0) F(f_rcp_rd, __frcp_rd(x), 0) F(f_rsqrt, rsqrtf(x), 2)             \
  F(f_rsqrt_rn, __frsqrt_rn(x), 0) F(f_sin, sinf(x), 2) F(f_cos, cosf(x), 2) F(f_tan, tanf(x), 4)  \
  F(f_sinpi, sinpif(x), 2) F(f_cospi, cospif(x), 2) F(f_asin, asinf(x), 2) F(f_acos, acosf(x), 2)  \
  F(f_atan, atanf(x), 2) F(f_atan2, atan2f(x, y), 3) F(f_sinh, sinhf(x), 3) F(f_cosh, coshf(x), 2) \
  F(f_tanh, tanhf(x), 2) F(f_asinh, asinhf(x), 3) F(f_acosh, acoshf(x), 4) F(f_atanh, atanhf(x), 3)\
  F(f_exp, expf(x), 2) F(f_exp2, exp2f(x), 2) F(f_exp10, exp10f(x), 2) F(f_expm1, expm1f(x), 1)    \
  F(f_log, logf(x), 1) F(f_log2, log2f(x), 1) F(f_log10, log10f(x), 2) F(f_log1p, log1pf(x), 1)    \
  F(f_pow, powf(x, y), 4) F(f_cbrt, cbrtf(x), 1) F(f_rcbrt, rcbrtf(x), 1) F(f_hypot, hypotf(x, y), 3)\
  F(f_rhypot, rhypotf(x, y), 2) F(f_norm3d, norm3df(x, y, z), 3) F(f_erf, erff(x), 2)              \
  F(f_erfc, erfcf(x), 4) F(f_erfcx, erfcxf(x), 4) F(f_erfinv, erfinvf(x), 2)                       \
  F(f_erfcinv, erfcinvf(x), 4) F(f_normcdf, normcdff(x), 5) F(f_normcdfinv, normcdfinvf(x), 5)     \
  F(f_lgamma, lgammaf(x), 6) F(f_tgamma, tgammaf(x), 5) F(f_j0, j0f(x), 9) F(f_j1, j1f(x), 9)      \
  F(f_y0, y0f(x), 9) F(f_y1, y1f(x), 9) F(f_i0, cyl_bessel_i0f(x), 6) F(f_i1, cyl_bessel_i1f(x), 6)\
  F(f_fmod, fmodf(x, y), 0) F(f_remainder, remainderf(x, y), 0) F(f_fmin, fminf(x, y), 0)          \
  F(f_fmax, fmaxf(x, y), 0) F(f_nextafter, nextafterf(x, y), 0) F(f_floor, floorf(x), 0)           \
  F(f_rint, rintf(x), 0) F(f_round, roundf(x), 0) F(f_ldexp, ldexpf(x, int(y)), 0)                 \
  F(f_to_int, __float2int_rn(x), 0) F(f_to_uint, __float2uint_rz(x), 0)                            \
  F(f_to_ll, double(__float2ll_rd(x)), 0) F(f_to_half, __half2float(__float2half_rn(x)), 0)        \
  F(f_to_half_rz, __half2float(__float2half_rz(x)), 0)                                             \
  F(f_to_bf16, __bfloat162float(__float2bfloat16_rn(x)), 0)                                        \
  F(f_to_bf16_ru, __bfloat162float(__float2bfloat16_ru(x)), 0)                                     \
  F(f_to_e4m3, float(__nv_fp8_e4m3(x)), 0) F(f_to_e5m2, float(__nv_fp8_e5m2(x)), 0)                \
  F(f_to_e8m0, __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf), 0)                      \
  F(f_cmul_re, complexProductF(x, y, z).x, 0) F(f_cmul_im, complexProductF(x, y, z).y, 0)          \
  F(f_cdiv_re, complexQuotientF(x, y, z).x, 0) F(f_cdiv_im, complexQuotientF(x, y, z).y, 0)        \
  F(f_tcmul_re, thrustProduct(x, y, z).real(), 0) F(f_tcdiv_re, thrustQuotient(x, y, z).real(), 0) \
  F(f_tcdiv_im, thrustQuotient(x, y, z).imag(), 0)

#define HALF_FUNCTIONS(H)                                                                          \
  H(h_add, x + y, 0) H(h_sub, x - y, 0) H(h_mul, x * y, 0) H(h_div, x / y, 0)                      \
  H(h_fma, __hfma(x, y, z), 0) H(h_add_sat, __hadd_sat(x, y), 0) H(h_fma_relu, __hfma_relu(x, y, z), 0)\
  H(h_mul_add, x * y + z, 0) H(h_min, __hmin(x, y), 0) H(h_max_nan, __hmax_nan(x, y), 0)           \
  H(h_sqrt, hsqrt(x), 1) H(h_rsqrt, hrsqrt(x), 1) H(h_rcp, hrcp(x), 1) H(h_exp, hexp(x), 1)        \
  H(h_exp2, hexp2(x), 2) H(h_log, hlog(x), 1) H(h_log2, hlog2(x), 1) H(h_sin, hsin(x), 2)          \
  H(h_cos, hcos(x), 2) H(h_tanh, htanh(x), 2) H(h_floor, hfloor(x), 0) H(h_rint, hrint(x), 0)

#define INTEGER_FUNCTIONS(I)                                                                       \
  I(i_brev, __brevll(x)) I(i_clz, __clzll(x)) I(i_ffs, __ffsll(x)) I(i_popc, __popcll(x))          \
  I(i_mulhi, __mul64hi(x, y)) I(i_umulhi, __umul64hi(x, y)) I(i_mulhi32, __mulhi(int(x), int(y)))  \
  I(i_mul24, __mul24(int(x), int(y))) I(i_sad, __sad(int(x), int(y), unsigned(z)))                 \
  I(i_usad, __usad(unsigned(x), unsigned(y), unsigned(z)))                                         \
  I(i_byte_perm, __byte_perm(unsigned(x), unsigned(y), unsigned(z)))                               \
  I(i_funnel_l, __funnelshift_l(unsigned(x), unsigned(y), unsigned(z)))                            \
  I(i_funnel_rc, __funnelshift_rc(unsigned(x), unsigned(y), unsigned(z)))                          \
  I(i_dp4a, __dp4a(int(x), int(y), int(z))) I(i_dp2a, __dp2a_lo(int(x), int(y), int(z)))           \
  I(i_hadd, __hadd(int(x), int(y))) I(i_rhadd, __rhadd(int(x), int(y)))                            \
  I(i_div, y ? (long long)(x) / (long long)(y | 2) : 0) I(i_rem, (long long)(x) % (long long)(y | 2))\
  I(i_udiv, x / (y | 1)) I(i_urem, x % (y | 1)) I(i_div32, int(x) / (int(y) | 2))                  \
  I(i_urem32, unsigned(x) % (unsigned(y) | 1))                                                     \
  I(i_div128_lo, quotient128(x, y, z)) I(i_div128_hi, quotient128(x, y, z) >> 64)                  \
  I(i_rem128_lo, remainder128(x, y, z)) I(i_rem128_hi, remainder128(x, y, z) >> 64)                \
  I(i_sdiv128, (__int128)wide(x, y) / ((__int128)wide(z, y) | 2))                                  \
  I(i_mul128, (wide(x, y) * wide(z, x)) >> 64) I(i_shl128, (wide(x, y) << (z & 127)) >> 64)        \
  I(i_vadd4, __vadd4(unsigned(x), unsigned(y))) I(i_vsubss2, __vsubss2(unsigned(x), unsigned(y)))  \
  I(i_vabsdiffu4, __vabsdiffu4(unsigned(x), unsigned(y))) I(i_vcmpgts2, __vcmpgts2(unsigned(x), unsigned(y)))\
  I(i_vmaxu2, __vmaxu2(unsigned(x), unsigned(y))) I(i_vavgs4, __vavgs4(unsigned(x), unsigned(y)))  \
  I(i_viaddmax, __viaddmax_s32(int(x), int(y), int(z))) I(i_vimin3, __vimin3_s16x2(unsigned(x), unsigned(y), unsigned(z)))\
  I(r_xorwow, draw<curandState>(x)) I(r_mrg, draw<curandStateMRG32k3a>(x))                         \
  I(r_philox, draw<curandStatePhilox4_32_10_t>(x))                                                 \
  I(r_xorwow_uniform, drawUniform<curandState>(x)) I(r_philox_uniform, drawUniform<curandStatePhilox4_32_10_t>(x))\
  I(r_mrg_uniform, drawUniform<curandStateMRG32k3a>(x)) I(r_poisson, drawPoisson(x))               \
  I(r_discrete_skip, drawSkipped(x))
