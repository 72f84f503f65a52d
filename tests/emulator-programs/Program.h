// SPDX-License-Identifier: Apache-2.0
// What a generated program is written in: C that means the same on an AMDGPU and on the host.
//
// A program is a list of phases. On the device a kernel runs the phases one after another, with
// barriers between them; on the host every phase is a loop over the threads of the workgroup. A
// thread writes only what is its own within a phase (or changes shared cells by commutative
// atomics), so that the order of the threads does not matter. Operations across lanes stand between
// phases: the device executes the instruction, the host the model of it in CrossLane.h.
//
// Everything that C leaves undefined or open is guarded here: divisors, shift counts, conversions
// out of range, bits of NaNs, the order of zeros in min and max.
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
typedef _Float16 f16;
typedef float f32;
typedef double f64;

#define INLINE __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define PACKED __attribute__((packed))

#ifdef __AMDGCN__
#define DEVICE 1
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))
#define UNINITIALIZED __attribute__((loader_uninitialized))
#else
#define DEVICE 0
#define GLOBAL
#define LOCAL
#define CONSTANT
#define UNINITIALIZED
#endif

enum { kInputWords = 512, kOutputWords = 24, kCells = 64, kMaxThreads = 256 };

struct Pair {
  u8 small;
  f32 value;
  i16 middle;
};

/// The parameters of every kernel. `cells` are words that all workgroups share.
struct Arguments {
  const u64 GLOBAL *in;
  u64 GLOBAL *out;
  u64 GLOBAL *cells;
  u8 k8;
  i16 k16;
  u32 k32;
  i64 k64;
  f16 half;
  f32 single;
  f64 wide;
  struct Pair pair;
};

struct Thread {
  u32 id, group, block, groups;
};

// ---- memory ----

static INLINE void copyBytes(void *to, const void *from, u32 size) {
  __builtin_memcpy(to, from, size);
}

// Input word `index`, read as T, whose size divides 8.
#define INPUT(T, index)                                                                            \
  (((const T GLOBAL *)a->in)[(u32)(index) % (u32)(kInputWords * 8 / sizeof(T))])

// ---- integers ----

#define INTEGER(T, W, MIN)                                                                         \
  static INLINE T div_##T(T a, T b) {                                                              \
    return b == 0 || ((MIN) != 0 && a == (T)(MIN) && b == (T) - 1) ? a : (T)(a / b);               \
  }                                                                                                \
  static INLINE T rem_##T(T a, T b) {                                                              \
    return b == 0 || ((MIN) != 0 && a == (T)(MIN) && b == (T) - 1) ? b : (T)(a % b);               \
  }                                                                                                \
  static INLINE T shl_##T(T a, u32 n) { return (T)(a << (n % (W))); }                              \
  static INLINE T shr_##T(T a, u32 n) { return (T)(a >> (n % (W))); }
INTEGER(i8, 8, -0x80)
INTEGER(u8, 8, 0)
INTEGER(i16, 16, -0x8000)
INTEGER(u16, 16, 0)
INTEGER(i32, 32, -0x7fffffff - 1)
INTEGER(u32, 32, 0)
INTEGER(i64, 64, -0x7fffffffffffffff - 1)
INTEGER(u64, 64, 0)
INTEGER(i128, 128, (i128)1 << 127)
INTEGER(u128, 128, 0)

#define BITS(T, W)                                                                                 \
  static INLINE T clz_##T(T a) { return (T)__builtin_clzg(a, W); }                                 \
  static INLINE T ctz_##T(T a) { return (T)__builtin_ctzg(a, W); }                                 \
  static INLINE T popcount_##T(T a) { return (T)__builtin_popcountg(a); }                          \
  static INLINE T fshl_##T(T a, T b, u32 n) {                                                      \
    n %= (W);                                                                                      \
    return n ? (T)((T)(a << n) | (b >> ((W) - n))) : a;                                            \
  }                                                                                                \
  static INLINE T rotl_##T(T a, u32 n) { return fshl_##T(a, a, n); }                               \
  static INLINE T field_##T(T a, u32 from, u32 width) {                                            \
    return (T)((a >> (from % (W))) & (((T)1 << (width % (W))) - 1));                               \
  }
BITS(u8, 8)
BITS(u16, 16)
BITS(u32, 32)
BITS(u64, 64)
static INLINE u8 reverse_u8(u8 a) { return __builtin_bitreverse8(a); }
static INLINE u16 reverse_u16(u16 a) { return __builtin_bitreverse16(a); }
static INLINE u32 reverse_u32(u32 a) { return __builtin_bitreverse32(a); }
static INLINE u64 reverse_u64(u64 a) { return __builtin_bitreverse64(a); }
static INLINE u8 swap_u8(u8 a) { return (u8)(a << 4 | a >> 4); }
static INLINE u16 swap_u16(u16 a) { return __builtin_bswap16(a); }
#if DEVICE && !defined(__OPTIMIZE__) // docs/errata.md E6
static INLINE u32 swap_u32(u32 a) {
  u32 r = 0;
  for (u32 i = 0; i < 32; i += 8)
    r |= (a >> i & 0xff) << (24 - i);
  return r;
}
static INLINE u64 swap_u64(u64 a) { return (u64)swap_u32((u32)a) << 32 | swap_u32((u32)(a >> 32)); }
#else
static INLINE u32 swap_u32(u32 a) { return __builtin_bswap32(a); }
static INLINE u64 swap_u64(u64 a) { return __builtin_bswap64(a); }
#endif

static INLINE u32 mulhi_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
static INLINE i32 mulhi_i32(i32 a, i32 b) { return (i32)((i64)a * b >> 32); }
static INLINE u64 mulhi_u64(u64 a, u64 b) { return (u64)((u128)a * b >> 64); }
static INLINE i64 mulhi_i64(i64 a, i64 b) { return (i64)((i128)a * b >> 64); }
static INLINE u32 mul24_u32(u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }
static INLINE i32 mul24_i32(i32 a, i32 b) { return (a << 8 >> 8) * (b << 8 >> 8); }
static INLINE u32 sad_u32(u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }

#define CHECKED(T)                                                                                 \
  static INLINE T addChecked_##T(T a, T b) {                                                       \
    T r;                                                                                           \
    return __builtin_add_overflow(a, b, &r) ? (T)(r ^ 0x55) : r;                                   \
  }                                                                                                \
  static INLINE T subChecked_##T(T a, T b) {                                                       \
    T r;                                                                                           \
    return __builtin_sub_overflow(a, b, &r) ? (T)(r ^ 0x55) : r;                                   \
  }                                                                                                \
  static INLINE T mulChecked_##T(T a, T b) {                                                       \
    T r;                                                                                           \
    return __builtin_mul_overflow(a, b, &r) ? (T)(r ^ 0x55) : r;                                   \
  }
CHECKED(i8)
CHECKED(u8)
CHECKED(i16)
CHECKED(u16)
CHECKED(i32)
CHECKED(u32)
CHECKED(i64)
CHECKED(u64)

// ---- floating point ----

#define FLOAT(T, U, NAN_BITS)                                                                      \
  static INLINE U bits_##T(T x) {                                                                  \
    U u;                                                                                           \
    __builtin_memcpy(&u, &x, sizeof(u));                                                           \
    return x != x ? (U)(NAN_BITS) : u;                                                             \
  }                                                                                                \
  /* Signaling NaNs become quiet ones: minNum of one differs between library and hardware. */      \
  static INLINE T from_##T(U u) {                                                                  \
    T x;                                                                                           \
    __builtin_memcpy(&x, &u, sizeof(u));                                                           \
    U q = (NAN_BITS);                                                                              \
    T n;                                                                                           \
    __builtin_memcpy(&n, &q, sizeof(q));                                                           \
    return x != x ? n : x;                                                                         \
  }                                                                                                \
  static INLINE T sign_##T(T x, T y) {                                                             \
    return __builtin_elementwise_copysign(x, from_##T(bits_##T(y)));                               \
  }
FLOAT(f16, u16, 0x7e00)
FLOAT(f32, u32, 0x7fc00000)
FLOAT(f64, u64, 0x7ff8000000000000)

// A float to an integer, 7 for what does not fit. The bounds are exact in F.
#define FLOAT_TO_INTEGER(T, F, C, LOW, HIGH)                                                       \
  static INLINE T T##_from_##F(F x) { return (C)x > (C)(LOW) && (C)x < (C)(HIGH) ? (T)x : (T)7; }
#define FLOAT_TO_INTEGERS(F, C)                                                                    \
  FLOAT_TO_INTEGER(i8, F, C, -0x1p7, 0x1p7)                                                        \
  FLOAT_TO_INTEGER(u8, F, C, -1, 0x1p8)                                                            \
  FLOAT_TO_INTEGER(i16, F, C, -0x1p15, 0x1p15)                                                     \
  FLOAT_TO_INTEGER(u16, F, C, -1, 0x1p16)                                                          \
  FLOAT_TO_INTEGER(i32, F, C, -0x1p31, 0x1p31)                                                     \
  FLOAT_TO_INTEGER(u32, F, C, -1, 0x1p32)                                                          \
  FLOAT_TO_INTEGER(i64, F, C, -0x1p63, 0x1p63)                                                     \
  FLOAT_TO_INTEGER(u64, F, C, -1, 0x1p64)
FLOAT_TO_INTEGERS(f16, f32)
FLOAT_TO_INTEGERS(f32, f32)
FLOAT_TO_INTEGERS(f64, f64)

// The integers whose conversion to f16 or f32 is rounded once by every compiler.
#define INTEGER_TO_FLOAT(T)                                                                        \
  static INLINE f16 f16_from_##T(T x) { return (f16)(f32)x; }                                      \
  static INLINE f32 f32_from_##T(T x) { return (f32)x; }                                           \
  static INLINE f64 f64_from_##T(T x) { return (f64)x; }
INTEGER_TO_FLOAT(i8)
INTEGER_TO_FLOAT(u8)
INTEGER_TO_FLOAT(i16)
INTEGER_TO_FLOAT(u16)
INTEGER_TO_FLOAT(i32)
INTEGER_TO_FLOAT(u32)
INTEGER_TO_FLOAT(i64)
INTEGER_TO_FLOAT(u64)
static INLINE f16 f16_from_f32(f32 x) { return (f16)x; }
static INLINE f16 f16_from_f64(f64 x) { return (f16)x; }
static INLINE f32 f32_from_f16(f16 x) { return (f32)x; }
static INLINE f32 f32_from_f64(f64 x) { return (f32)x; }
static INLINE f64 f64_from_f16(f16 x) { return (f64)x; }
static INLINE f64 f64_from_f32(f32 x) { return (f64)x; }

// minNum and maxNum with -0 < +0, which C leaves open and all AMD hardware does.
#if DEVICE
#define MIN_MAX(T, U, W)                                                                           \
  static INLINE T min_##T(T a, T b) { return __builtin_elementwise_min(a, b); }                    \
  static INLINE T max_##T(T a, T b) { return __builtin_elementwise_max(a, b); }
#else
#define MIN_MAX(T, U, W)                                                                           \
  static INLINE T min_##T(T a, T b) {                                                              \
    if (a == b)                                                                                    \
      return bits_##T(a) >> ((W) - 1) ? a : b;                                                     \
    return a != a || b < a ? b : a;                                                                \
  }                                                                                                \
  static INLINE T max_##T(T a, T b) {                                                              \
    if (a == b)                                                                                    \
      return bits_##T(a) >> ((W) - 1) ? b : a;                                                     \
    return a != a || b > a ? b : a;                                                                \
  }
#endif
MIN_MAX(f16, u16, 16)
MIN_MAX(f32, u32, 32)
MIN_MAX(f64, u64, 64)
// IEEE 754-2019 minimum and maximum: a NaN wins.
#define MINIMUM_MAXIMUM(T)                                                                         \
  static INLINE T minimum_##T(T a, T b) {                                                          \
    return DEVICE ? __builtin_elementwise_minimum(a, b) : a != a ? a : b != b ? b : min_##T(a, b); \
  }                                                                                                \
  static INLINE T maximum_##T(T a, T b) {                                                          \
    return DEVICE ? __builtin_elementwise_maximum(a, b) : a != a ? a : b != b ? b : max_##T(a, b); \
  }
MINIMUM_MAXIMUM(f32)
MINIMUM_MAXIMUM(f64)

/// A result that rounding to T makes right whatever happened before: the exact sum of a * b and c
/// to double precision, rounded to odd.
static INLINE f16 fma_f16(f16 a, f16 b, f16 c) {
#if DEVICE
  return __builtin_elementwise_fma(a, b, c);
#else
  f64 product = (f64)a * b, sum = product + c, back = sum - product;
  f64 lost = (product - (sum - back)) + (c - back);
  u64 bits = bits_f64(sum);
  if (lost == lost && lost != 0 && !(bits & 1))
    bits += (lost > 0) == (sum > 0) ? 1 : -1;
  return (f16)from_f64(bits);
#endif
}
static INLINE f32 fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
static INLINE f64 fma_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }

static INLINE i32 smallExponent(i32 n) { return n % 200; }
static INLINE f16 ldexp_f16(f16 x, i32 n) {
#if DEVICE
  return __builtin_ldexpf16(x, smallExponent(n));
#else
  return (f16)__builtin_ldexp((f64)x, smallExponent(n));
#endif
}
static INLINE f32 ldexp_f32(f32 x, i32 n) { return __builtin_ldexpf(x, smallExponent(n)); }
static INLINE f64 ldexp_f64(f64 x, i32 n) { return __builtin_ldexp(x, smallExponent(n) * 8); }

#define FINITE(x) ((x) - (x) == 0)
static INLINE i32 exponent_f32(f32 x) {
  i32 e = 0;
  __builtin_frexpf(FINITE(x) ? x : 1, &e);
  return e;
}
static INLINE i32 exponent_f64(f64 x) {
  i32 e = 0;
  __builtin_frexp(FINITE(x) ? x : 1, &e);
  return e;
}
static INLINE i32 exponent_f16(f16 x) { return exponent_f32(x); }
static INLINE f32 mantissa_f32(f32 x) {
  i32 e;
  return __builtin_frexpf(FINITE(x) ? x : 1, &e);
}
static INLINE f64 mantissa_f64(f64 x) {
  i32 e;
  return __builtin_frexp(FINITE(x) ? x : 1, &e);
}
static INLINE f16 mantissa_f16(f16 x) { return (f16)mantissa_f32(x); }

// ---- the frame of a program ----

#if DEVICE
#if defined(WAVE) && WAVE == 32
#define kWaveMask 0xffffffffull
#endif
static INLINE struct Thread thisThread(void) {
  u32 block = __builtin_amdgcn_workgroup_size_x();
  return (struct Thread){__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_x(), block,
                         __builtin_amdgcn_grid_size_x() / block};
}
#define PROGRAM(p)                                                                                 \
  static LOCAL struct p##_shared p##_local UNINITIALIZED;                                          \
  __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(1, kMaxThreads),                       \
                 visibility("default"))) void                                                      \
  p(const u64 GLOBAL *in, u64 GLOBAL *out, u64 GLOBAL *cells, u8 k8, i16 k16, u32 k32, i64 k64,    \
    f16 half, f32 single, f64 wide, struct Pair pair) {                                            \
    const struct Arguments arguments = {in,  out,  cells,  k8,   k16, k32,                         \
                                        k64, half, single, wide, pair};                            \
    const struct Arguments *a = &arguments;                                                        \
    const struct Thread t = thisThread();                                                          \
    LOCAL struct p##_shared *l = &p##_local;                                                       \
    struct p##_state state;                                                                        \
    struct p##_state *s = &state;
#define PHASE(f) f(s, a, t, l)
#define SYNC()                                                                                     \
  do {                                                                                             \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                         \
    __builtin_amdgcn_s_barrier();                                                                  \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                         \
  } while (0)
#else
#define PROGRAM(p)                                                                                 \
  void p(const struct Arguments *a, u32 group, u32 groups, u32 block, u32 wave) {                  \
    static struct p##_state states[kMaxThreads];                                                   \
    static struct p##_shared shared;                                                               \
    struct p##_state *const s = states;                                                            \
    struct p##_shared *l = &shared;                                                                \
    (void)wave;
#define PHASE(f)                                                                                   \
  for (u32 i = 0; i < block; ++i)                                                                  \
  f(&s[i], a, (struct Thread){i, group, block, groups}, l)
#define SYNC()
#endif
#define END }

#include "CrossLane.h"
