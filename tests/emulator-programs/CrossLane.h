// SPDX-License-Identifier: Apache-2.0
// Operations across the lanes of a wave: the instruction on the device, and on the host a model of
// it, written from the ISA manuals' descriptions ("Data Parallel Primitives", "LDS instructions")
// and AMDGPUUsage.
//
// CROSS(result, op, x, y, k, mask, value) sets `result` in the lanes whose `guard` has
// (guard & mask) == value, from their `x` and `y` and the constant `k`.
#pragma once

#if DEVICE

static INLINE u32 laneId(void) {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

#define CROSS(result, op, x, y, k, mask, value)                                                    \
  do {                                                                                             \
    if ((s->guard & (mask)) == (value))                                                            \
      s->result = op(s->x, s->y, k);                                                               \
  } while (0)

// Lane y of the own group of 32 lanes.
#define bpermute(x, y, k)                                                                          \
  __builtin_amdgcn_ds_bpermute((int)(((laneId() & ~31u) | ((y) & 31)) * 4 + (k) * 256), x)
#define permute(x, y, k) __builtin_amdgcn_ds_permute((int)((laneId() ^ (k)) * 4), x)
#define readLane(x, y, k) __builtin_amdgcn_readlane(x, k)
#define readFirstLane(x, y, k) __builtin_amdgcn_readfirstlane(x)
#define ballot(x, y, k) __builtin_amdgcn_ballot_w64(((x) & (k)) != 0)
#define countBelow(x, y, k) __builtin_amdgcn_mbcnt_hi(~(x), __builtin_amdgcn_mbcnt_lo(x, y))
#define swizzle(x, y, k) __builtin_amdgcn_ds_swizzle(x, k)
#define dpp(x, y, k)                                                                               \
  __builtin_amdgcn_update_dpp(y, x, (k) & 0xfff, (k) >> 12 & 15, (k) >> 16 & 15, (k) >> 20)
#define dppRdna(x, y, k) dpp(x, y, k)
#define dppCdna(x, y, k) dpp(x, y, k)
#if !defined(__GFX9__)
#define dpp8(x, y, k) __builtin_amdgcn_mov_dpp8(x, k)
#define permlane16(x, y, k) __builtin_amdgcn_permlane16(y, x, k, (k) * 0x9e3779b1u, 1, 0)
#define permlanex16(x, y, k) __builtin_amdgcn_permlanex16(y, x, k, (k) * 0x9e3779b1u, 1, 0)
#endif

#else

struct Wave {
  u32 lanes; // those that exist: the wave size
  u64 active;
  u32 x[64], y[64];
  u64 result[64];
};

#define CROSS(member, op, xMember, yMember, k, mask, value)                                        \
  for (u32 first = 0; first < block; first += wave) {                                              \
    struct Wave w = {.lanes = wave};                                                               \
    for (u32 i = 0; i < wave && first + i < block; ++i) {                                          \
      w.active |= (u64)((s[first + i].guard & (mask)) == (value)) << i;                            \
      w.x[i] = s[first + i].xMember;                                                               \
      w.y[i] = s[first + i].yMember;                                                               \
    }                                                                                              \
    op(&w, k);                                                                                     \
    for (u32 i = 0; i < wave && first + i < block; ++i)                                            \
      if (w.active >> i & 1)                                                                       \
        s[first + i].member = w.result[i];                                                         \
  }

static inline int isActive(const struct Wave *w, u32 lane) {
  return lane < w->lanes && (w->active >> lane & 1);
}

static inline void bpermute(struct Wave *w, u32 k) {
  (void)k; // a multiple of the lanes, dropped
  for (u32 i = 0; i < w->lanes; ++i) {
    u32 from = (i & ~31u) | (w->y[i] & 31);
    w->result[i] = isActive(w, from) ? w->x[from] : 0;
  }
}

static inline void permute(struct Wave *w, u32 k) {
  for (u32 i = 0; i < w->lanes; ++i)
    w->result[i] = isActive(w, i ^ k) ? w->x[i ^ k] : 0;
}

static inline void readLane(struct Wave *w, u32 k) {
  for (u32 i = 0; i < w->lanes; ++i)
    w->result[i] = w->x[k];
}

static inline void readFirstLane(struct Wave *w, u32 k) {
  (void)k;
  for (u32 i = 0; i < w->lanes; ++i)
    w->result[i] = w->active ? w->x[__builtin_ctzl(w->active)] : 0;
}

static inline void ballot(struct Wave *w, u32 k) {
  u64 mask = 0;
  for (u32 i = 0; i < w->lanes; ++i)
    mask |= (u64)(isActive(w, i) && (w->x[i] & k)) << i;
  for (u32 i = 0; i < w->lanes; ++i)
    w->result[i] = mask;
}

static inline void countBelow(struct Wave *w, u32 k) {
  (void)k;
  for (u32 i = 0; i < w->lanes; ++i) {
    u64 mask = ((u64)~w->x[i] << 32 | w->x[i]) & (((u64)1 << i) - 1);
    w->result[i] = (u32)(__builtin_popcountl(mask) + w->y[i]);
  }
}

/// ds_swizzle_b32: bit 15 set is a quad permutation, else and, or and xor masks of 5 bits.
static inline void swizzle(struct Wave *w, u32 k) {
  for (u32 i = 0; i < w->lanes; ++i) {
    u32 low = k & 0x8000 ? (i & 28) | (k >> (i & 3) * 2 & 3)
                         : (((i & 31) & (k & 31)) | (k >> 5 & 31)) ^ (k >> 10 & 31);
    u32 from = (i & ~31u) | low;
    w->result[i] = isActive(w, from) ? w->x[from] : 0;
  }
}

/// The source of lane i under a DPP control, or -1.
static inline int dppSource(u32 i, u32 control, u32 lanes) {
  u32 row = i & ~15u, n = control & 15, at = i & 15;
  if (control < 0x100)
    return (int)((i & ~3u) | (control >> (i & 3) * 2 & 3));
  switch (control & 0x1f0) {
  case 0x100: // row_shl
    return at + n < 16 ? (int)(i + n) : -1;
  case 0x110: // row_shr
    return at >= n ? (int)(i - n) : -1;
  case 0x120: // row_ror
    return (int)(row | ((at - n) & 15));
  case 0x150: // row_share, row_newbcast
    return (int)(row | n);
  case 0x160: // row_xmask
    return (int)(i ^ n);
  }
  switch (control) {
  case 0x130: // wave_shl
    return i + 1 < lanes ? (int)(i + 1) : -1;
  case 0x134: // wave_rol
    return (int)((i + 1) % lanes);
  case 0x138: // wave_shr
    return (int)i - 1;
  case 0x13c: // wave_ror
    return (int)((i + lanes - 1) % lanes);
  case 0x140: // row_mirror
    return (int)(i ^ 15);
  case 0x141: // row_half_mirror
    return (int)(i ^ 7);
  case 0x142: // row_bcast15
    return i < 16 ? -1 : (int)(row - 1);
  case 0x143: // row_bcast31
    return i < 32 ? -1 : 31;
  }
  __builtin_trap();
}

/// x: the source, y: what stays. k: control, row mask << 12, bank mask << 16, bound_ctrl << 20.
static inline void dpp(struct Wave *w, u32 k) {
  for (u32 i = 0; i < w->lanes; ++i) {
    int enabled = (k >> 12 >> (i / 16) & 1) && (k >> 16 >> (i / 4 % 4) & 1);
    int from = dppSource(i, k & 0xfff, w->lanes);
    int valid = from >= 0 && isActive(w, (u32)from);
    w->result[i] = !enabled ? w->y[i] : valid ? w->x[from] : k >> 20 ? 0 : w->y[i];
  }
}
#define dppRdna dpp
#define dppCdna dpp

static inline void dpp8(struct Wave *w, u32 k) {
  for (u32 i = 0; i < w->lanes; ++i) {
    u32 from = (i & ~7u) | (k >> (i & 7) * 3 & 7);
    w->result[i] = isActive(w, from) ? w->x[from] : 0;
  }
}

/// fi = 1: inactive lanes are read too, so only where all are active. Every row has its own
/// selector of four bits a lane, from k and a second constant.
static inline void permlaneRow(struct Wave *w, u32 k, u32 other) {
  u64 selector = (u64)(k * 0x9e3779b1u) << 32 | k;
  for (u32 i = 0; i < w->lanes; ++i)
    w->result[i] = w->x[((i & ~15u) ^ other) | (u32)(selector >> (i & 15) * 4 & 15)];
}
static inline void permlane16(struct Wave *w, u32 k) { permlaneRow(w, k, 0); }
static inline void permlanex16(struct Wave *w, u32 k) { permlaneRow(w, k, 16); }

#endif
