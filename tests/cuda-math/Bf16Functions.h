// SPDX-License-Identifier: Apache-2.0
// What is compared of cuda_bf16.h: all of its functions but those that only rename another one.
// B: a bf16 result, P: a pair of them, I: an integer. Operands: x, y, z (bf16), p, q, r (pairs), f
// (float), d (double), n (integer). The last column is as in Functions.h; CUDA states one unit in
// the last place for what is computed approximately.
#pragma once
// clang-format off
#define BF16_FUNCTIONS(B) \
  B(b_add, x + y, 0) B(b_add_rn, __hadd_rn(x, y), 0) B(b_add_sat, __hadd_sat(x, y), 0) \
  B(b_sub, x - y, 0) B(b_sub_rn, __hsub_rn(x, y), 0) B(b_sub_sat, __hsub_sat(x, y), 0) \
  B(b_mul, x * y, 0) B(b_mul_rn, __hmul_rn(x, y), 0) B(b_mul_sat, __hmul_sat(x, y), 0) \
  B(b_div, x / y, 0) B(b_fma, __hfma(x, y, z), 0) B(b_fma_sat, __hfma_sat(x, y, z), 0) \
  B(b_fma_relu, __hfma_relu(x, y, z), 0) B(b_mul_add, x * y + z, 0) B(b_mul_sub, x * y - z * x, 0) \
  B(b_neg_mul_add, z - x * y, 0) B(b_mul_rn_add, __hadd(__hmul_rn(x, y), z), 0) \
  B(b_mul_add_rn, __hadd_rn(__hmul(x, y), z), 0) B(b_neg, -x, 0) B(b_plus, +x, 0) \
  B(b_abs, __habs(x), 0) B(b_increment, incremented(x), 0) B(b_decrement, decremented(x), 0) \
  B(b_min, __hmin(x, y), 0) B(b_max, __hmax(x, y), 0) B(b_min_nan, __hmin_nan(x, y), 0) \
  B(b_max_nan, __hmax_nan(x, y), 0) B(b_sqrt, hsqrt(x), 0) B(b_rsqrt, hrsqrt(x), 1) \
  B(b_rcp, hrcp(x), 1) B(b_exp, hexp(x), 1) B(b_exp2, hexp2(x), 1) B(b_exp10, hexp10(x), 1) \
  B(b_log, hlog(x), 1) B(b_log2, hlog2(x), 1) B(b_log10, hlog10(x), 1) B(b_sin, hsin(x), 1) \
  B(b_cos, hcos(x), 1) B(b_tanh, htanh(x), 1) B(b_tanh_approx, htanh_approx(x), 1) \
  B(b_floor, hfloor(x), 0) B(b_ceil, hceil(x), 0) B(b_trunc, htrunc(x), 0) B(b_rint, hrint(x), 0) \
  B(b_from_int_rn, __int2bfloat16_rn(int(n)), 0) B(b_from_int_rz, __int2bfloat16_rz(int(n)), 0) \
  B(b_from_int_rd, __int2bfloat16_rd(int(n)), 0) B(b_from_int_ru, __int2bfloat16_ru(int(n)), 0) \
  B(b_from_uint_rn, __uint2bfloat16_rn(unsigned(n)), 0) \
  B(b_from_uint_rz, __uint2bfloat16_rz(unsigned(n)), 0) \
  B(b_from_uint_rd, __uint2bfloat16_rd(unsigned(n)), 0) \
  B(b_from_uint_ru, __uint2bfloat16_ru(unsigned(n)), 0) \
  B(b_from_ll_rn, __ll2bfloat16_rn((long long)(n)), 0) \
  B(b_from_ll_rz, __ll2bfloat16_rz((long long)(n)), 0) \
  B(b_from_ll_rd, __ll2bfloat16_rd((long long)(n)), 0) \
  B(b_from_ll_ru, __ll2bfloat16_ru((long long)(n)), 0) \
  B(b_from_ull_rn, __ull2bfloat16_rn((unsigned long long)(n)), 0) \
  B(b_from_ull_rz, __ull2bfloat16_rz((unsigned long long)(n)), 0) \
  B(b_from_ull_rd, __ull2bfloat16_rd((unsigned long long)(n)), 0) \
  B(b_from_ull_ru, __ull2bfloat16_ru((unsigned long long)(n)), 0) \
  B(b_from_short_rn, __short2bfloat16_rn(short(n)), 0) \
  B(b_from_short_rz, __short2bfloat16_rz(short(n)), 0) \
  B(b_from_short_rd, __short2bfloat16_rd(short(n)), 0) \
  B(b_from_short_ru, __short2bfloat16_ru(short(n)), 0) \
  B(b_from_ushort_rn, __ushort2bfloat16_rn((unsigned short)(n)), 0) \
  B(b_from_ushort_rz, __ushort2bfloat16_rz((unsigned short)(n)), 0) \
  B(b_from_ushort_rd, __ushort2bfloat16_rd((unsigned short)(n)), 0) \
  B(b_from_ushort_ru, __ushort2bfloat16_ru((unsigned short)(n)), 0) \
  B(b_short_as, __short_as_bfloat16(short(n)), 0) \
  B(b_ushort_as, __ushort_as_bfloat16((unsigned short)(n)), 0) B(b_from_float, __float2bfloat16(f), 0) \
  B(b_from_float_rn, __float2bfloat16_rn(f), 0) B(b_from_float_rz, __float2bfloat16_rz(f), 0) \
  B(b_from_float_rd, __float2bfloat16_rd(f), 0) B(b_from_float_ru, __float2bfloat16_ru(f), 0) \
  B(b_from_double, __double2bfloat16(d), 0) B(b_low, __low2bfloat16(p), 0) \
  B(b_high, __high2bfloat16(p), 0) B(b_ldg, __ldg((const __nv_bfloat16 *)in + 12 * i), 0) \
  B(b_ldcg, __ldcg((const __nv_bfloat16 *)in + 12 * i), 0) \
  B(b_ldca, __ldca((const __nv_bfloat16 *)in + 12 * i), 0) \
  B(b_ldcs, __ldcs((const __nv_bfloat16 *)in + 12 * i), 0) \
  B(b_ldlu, __ldlu((const __nv_bfloat16 *)in + 12 * i), 0) \
  B(b_ldcv, __ldcv((const __nv_bfloat16 *)in + 12 * i), 0) \
  B(b_stwb, (__stwb((__nv_bfloat16 *)(out + i), x), __ldcv((__nv_bfloat16 *)(out + i))), 0) \
  B(b_stcg, (__stcg((__nv_bfloat16 *)(out + i), x), __ldcv((__nv_bfloat16 *)(out + i))), 0) \
  B(b_stcs, (__stcs((__nv_bfloat16 *)(out + i), x), __ldcv((__nv_bfloat16 *)(out + i))), 0) \
  B(b_stwt, (__stwt((__nv_bfloat16 *)(out + i), x), __ldcv((__nv_bfloat16 *)(out + i))), 0) \
  B(b_shfl, __shfl_sync(~0u, x, i * 5 + 3), 0) B(b_shfl_up, __shfl_up_sync(~0u, x, 3), 0) \
  B(b_shfl_down, __shfl_down_sync(~0u, x, 5), 0) B(b_shfl_xor, __shfl_xor_sync(~0u, x, 9), 0)

#define PAIR_FUNCTIONS(P) \
  P(p_add, p + q, 0) P(p_add_rn, __hadd2_rn(p, q), 0) P(p_add_sat, __hadd2_sat(p, q), 0) \
  P(p_sub, p - q, 0) P(p_sub_rn, __hsub2_rn(p, q), 0) P(p_sub_sat, __hsub2_sat(p, q), 0) \
  P(p_mul, p * q, 0) P(p_mul_rn, __hmul2_rn(p, q), 0) P(p_mul_sat, __hmul2_sat(p, q), 0) \
  P(p_div, p / q, 0) P(p_fma, __hfma2(p, q, r), 0) P(p_fma_sat, __hfma2_sat(p, q, r), 0) \
  P(p_fma_relu, __hfma2_relu(p, q, r), 0) P(p_cmadd, __hcmadd(p, q, r), 0) P(p_mul_add, p * q + r, 0) \
  P(p_mul_sub, r - p * q, 0) P(p_neg, -p, 0) P(p_abs, __habs2(p), 0) P(p_increment, incremented(p), 0) \
  P(p_decrement, decremented(p), 0) P(p_min, __hmin2(p, q), 0) P(p_max, __hmax2(p, q), 0) \
  P(p_min_nan, __hmin2_nan(p, q), 0) P(p_max_nan, __hmax2_nan(p, q), 0) P(p_sqrt, h2sqrt(p), 0) \
  P(p_rsqrt, h2rsqrt(p), 1) P(p_rcp, h2rcp(p), 1) P(p_exp, h2exp(p), 1) P(p_exp2, h2exp2(p), 1) \
  P(p_exp10, h2exp10(p), 1) P(p_log, h2log(p), 1) P(p_log2, h2log2(p), 1) P(p_log10, h2log10(p), 1) \
  P(p_sin, h2sin(p), 1) P(p_cos, h2cos(p), 1) P(p_tanh, h2tanh(p), 1) \
  P(p_tanh_approx, h2tanh_approx(p), 1) P(p_floor, h2floor(p), 0) P(p_ceil, h2ceil(p), 0) \
  P(p_trunc, h2trunc(p), 0) P(p_rint, h2rint(p), 0) P(p_eq, __heq2(p, q), 0) P(p_equ, __hequ2(p, q), 0) \
  P(p_ne, __hne2(p, q), 0) P(p_neu, __hneu2(p, q), 0) P(p_le, __hle2(p, q), 0) \
  P(p_leu, __hleu2(p, q), 0) P(p_ge, __hge2(p, q), 0) P(p_geu, __hgeu2(p, q), 0) \
  P(p_lt, __hlt2(p, q), 0) P(p_ltu, __hltu2(p, q), 0) P(p_gt, __hgt2(p, q), 0) \
  P(p_gtu, __hgtu2(p, q), 0) P(p_isnan, __hisnan2(p), 0) \
  P(p_from_float2, __float22bfloat162_rn(make_float2(f, __bfloat162float(x))), 0) \
  P(p_from_float, __float2bfloat162_rn(f), 0) \
  P(p_from_floats, __floats2bfloat162_rn(f, __bfloat162float(x) * f), 0) \
  P(p_twice, __bfloat162bfloat162(x), 0) P(p_halves, __halves2bfloat162(x, y), 0) \
  P(p_make, make_bfloat162(x, y), 0) P(p_low, __low2bfloat162(p), 0) P(p_high, __high2bfloat162(p), 0) \
  P(p_lows, __lows2bfloat162(p, q), 0) P(p_highs, __highs2bfloat162(p, q), 0) \
  P(p_swapped, __lowhigh2highlow(p), 0) P(p_ldg, __ldg((const __nv_bfloat162 *)in + 6 * i), 0) \
  P(p_ldcg, __ldcg((const __nv_bfloat162 *)in + 6 * i), 0) \
  P(p_ldca, __ldca((const __nv_bfloat162 *)in + 6 * i), 0) \
  P(p_ldcs, __ldcs((const __nv_bfloat162 *)in + 6 * i), 0) \
  P(p_ldlu, __ldlu((const __nv_bfloat162 *)in + 6 * i), 0) \
  P(p_ldcv, __ldcv((const __nv_bfloat162 *)in + 6 * i), 0) \
  P(p_stwb, (__stwb((__nv_bfloat162 *)(out + i), p), __ldcv((__nv_bfloat162 *)(out + i))), 0) \
  P(p_stcg, (__stcg((__nv_bfloat162 *)(out + i), p), __ldcv((__nv_bfloat162 *)(out + i))), 0) \
  P(p_stcs, (__stcs((__nv_bfloat162 *)(out + i), p), __ldcv((__nv_bfloat162 *)(out + i))), 0) \
  P(p_stwt, (__stwt((__nv_bfloat162 *)(out + i), p), __ldcv((__nv_bfloat162 *)(out + i))), 0) \
  P(p_shfl, __shfl_sync(~0u, p, i * 5 + 3, 16), 0) P(p_shfl_up, __shfl_up_sync(~0u, p, 3, 16), 0) \
  P(p_shfl_down, __shfl_down_sync(~0u, p, 5, 16), 0) P(p_shfl_xor, __shfl_xor_sync(~0u, p, 9, 16), 0)

#define BF16_INTEGER_FUNCTIONS(I) \
  I(i_eq, __heq(x, y)) I(i_beq2, __hbeq2(p, q)) I(i_eq_mask, __heq2_mask(p, q)) I(i_equ, __hequ(x, y)) \
  I(i_bequ2, __hbequ2(p, q)) I(i_equ_mask, __hequ2_mask(p, q)) I(i_ne, __hne(x, y)) \
  I(i_bne2, __hbne2(p, q)) I(i_ne_mask, __hne2_mask(p, q)) I(i_neu, __hneu(x, y)) \
  I(i_bneu2, __hbneu2(p, q)) I(i_neu_mask, __hneu2_mask(p, q)) I(i_le, __hle(x, y)) \
  I(i_ble2, __hble2(p, q)) I(i_le_mask, __hle2_mask(p, q)) I(i_leu, __hleu(x, y)) \
  I(i_bleu2, __hbleu2(p, q)) I(i_leu_mask, __hleu2_mask(p, q)) I(i_ge, __hge(x, y)) \
  I(i_bge2, __hbge2(p, q)) I(i_ge_mask, __hge2_mask(p, q)) I(i_geu, __hgeu(x, y)) \
  I(i_bgeu2, __hbgeu2(p, q)) I(i_geu_mask, __hgeu2_mask(p, q)) I(i_lt, __hlt(x, y)) \
  I(i_blt2, __hblt2(p, q)) I(i_lt_mask, __hlt2_mask(p, q)) I(i_ltu, __hltu(x, y)) \
  I(i_bltu2, __hbltu2(p, q)) I(i_ltu_mask, __hltu2_mask(p, q)) I(i_gt, __hgt(x, y)) \
  I(i_bgt2, __hbgt2(p, q)) I(i_gt_mask, __hgt2_mask(p, q)) I(i_gtu, __hgtu(x, y)) \
  I(i_bgtu2, __hbgtu2(p, q)) I(i_gtu_mask, __hgtu2_mask(p, q)) \
  I(i_operator_eq, (x == y) + 2 * (p == q)) I(i_operator_ne, (x != y) + 2 * (p != q)) \
  I(i_operator_lt, (x < y) + 2 * (p < q)) I(i_operator_gt, (x > y) + 2 * (p > q)) \
  I(i_operator_le, (x <= y) + 2 * (p <= q)) I(i_operator_ge, (x >= y) + 2 * (p >= q)) \
  I(i_isnan, __hisnan(x)) I(i_isinf, __hisinf(x)) I(i_to_int_rn, __bfloat162int_rn(x)) \
  I(i_to_int_rz, __bfloat162int_rz(x)) I(i_to_int_rd, __bfloat162int_rd(x)) \
  I(i_to_int_ru, __bfloat162int_ru(x)) I(i_to_uint_rn, __bfloat162uint_rn(x)) \
  I(i_to_uint_rz, __bfloat162uint_rz(x)) I(i_to_uint_rd, __bfloat162uint_rd(x)) \
  I(i_to_uint_ru, __bfloat162uint_ru(x)) I(i_to_ll_rn, __bfloat162ll_rn(x)) \
  I(i_to_ll_rz, __bfloat162ll_rz(x)) I(i_to_ll_rd, __bfloat162ll_rd(x)) \
  I(i_to_ll_ru, __bfloat162ll_ru(x)) I(i_to_ull_rn, __bfloat162ull_rn(x)) \
  I(i_to_ull_rz, __bfloat162ull_rz(x)) I(i_to_ull_rd, __bfloat162ull_rd(x)) \
  I(i_to_ull_ru, __bfloat162ull_ru(x)) I(i_to_short_rn, __bfloat162short_rn(x)) \
  I(i_to_short_rz, __bfloat162short_rz(x)) I(i_to_short_rd, __bfloat162short_rd(x)) \
  I(i_to_short_ru, __bfloat162short_ru(x)) I(i_to_ushort_rn, __bfloat162ushort_rn(x)) \
  I(i_to_ushort_rz, __bfloat162ushort_rz(x)) I(i_to_ushort_rd, __bfloat162ushort_rd(x)) \
  I(i_to_ushort_ru, __bfloat162ushort_ru(x)) I(i_to_char, __bfloat162char_rz(x)) \
  I(i_to_uchar, __bfloat162uchar_rz(x)) I(i_as_short, __bfloat16_as_short(x)) \
  I(i_as_ushort, __bfloat16_as_ushort(x)) I(i_to_float, bitsOf(__bfloat162float(x))) \
  I(i_low_float, bitsOf(__low2float(p))) I(i_high_float, bitsOf(__high2float(p))) \
  I(i_to_float2, bitsOf(__bfloat1622float2(p).x) ^ bitsOf(__bfloat1622float2(p).y) << 32) \
  I(i_atomic_add, added(out + i, x, y)) I(i_atomic_add2, added(out + i, p, q))
