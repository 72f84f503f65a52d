// SPDX-License-Identifier: Apache-2.0
// The modifiers around a lanewise kernel, each written once for all instructions: DPP, SDWA and
// half selection, neg and abs, flushing of denormals, clamp and omod, the place of a narrow result.
// Included by VectorPath.cpp only.
#pragma once

#include "emulator/lib/machine/HostFloat.h"
#include "emulator/lib/machine/Semantics.h"
#include "emulator/lib/vector/VectorPath.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

/// The lane of the wave that feeds `lane` by a DPP16 control, or -1 (RDNA3 ISA "DPP16", CDNA3 ISA
/// "DPP"; the values are LLVM's DppCtrl).
int dppSource(unsigned control, unsigned lane, unsigned lanes) {
  unsigned row = lane & ~15u, inRow = lane & 15;
  if (control <= 0xff)
    return int((lane & ~3u) | (control >> (2 * (lane & 3)) & 3));
  unsigned amount = control & 15;
  switch (control) {
  case 0x130: // wave_shl
    return lane + 1 < lanes ? int(lane + 1) : -1;
  case 0x134: // wave_rol
    return int((lane + 1) % lanes);
  case 0x138: // wave_shr
    return int(lane) - 1;
  case 0x13c: // wave_ror
    return int((lane + lanes - 1) % lanes);
  case 0x140: // row_mirror
    return int(row | (15 - inRow));
  case 0x141: // row_half_mirror
    return int((lane & ~7u) | (7 - (lane & 7)));
  case 0x142: // row_bcast:15
    return int(row) - 1;
  case 0x143: // row_bcast:31
    return int(lane & ~31u) - 1;
  default:
    break;
  }
  switch (control & 0x1f0) {
  case 0x100: // row_shl
    return inRow + amount < 16 ? int(lane + amount) : -1;
  case 0x110: // row_shr
    return inRow >= amount ? int(lane - amount) : -1;
  case 0x120: // row_ror
    return int(row | ((inRow - amount) & 15));
  case 0x150: // row_share, row_newbcast
    return int(row | amount);
  case 0x160: // row_xmask
    return int(row | (inRow ^ amount));
  default:
    return -1;
  }
}

/// dppSource() of all controls and lanes, by [wave64][control][lane].
struct DppSources {
  static constexpr unsigned kControls = 0x170;
  int8_t at[2][kControls][2 * kBlockLanes];
  DppSources() {
    for (unsigned wide = 0; wide < 2; ++wide)
      for (unsigned control = 0; control < kControls; ++control)
        for (unsigned lane = 0; lane < 2 * kBlockLanes; ++lane)
          at[wide][control][lane] = int8_t(dppSource(control, lane, (1 + wide) * kBlockLanes));
  }
};

/// Lanes of a block whose row and bank DPP16 leaves on.
uint32_t dppEnabled(const VectorDetail &detail, unsigned block) {
  if (detail.dpp == VectorDetail::Dpp::Dpp8)
    return ~0u;
  const uint32_t rows = detail.rowMask >> (2 * block);
  uint32_t banks = 0;
  for (unsigned bank = 0; bank < 4; ++bank)
    banks |= detail.bankMask >> bank & 1 ? 0x000f000fu << (4 * bank) : 0;
  return banks & ((rows & 1 ? 0xffff : 0) | (rows & 2 ? 0xffff0000 : 0));
}

/// Moves the lanes of source 0 into `to` and returns the lanes of the block that may be written.
/// `from` are the operand's registers in the blocks of the wave.
uint32_t applyDpp(const VectorDetail &detail, unsigned block, uint64_t exec, unsigned lanes,
                  const uint32_t *const (&from)[2], uint32_t *to, unsigned registers) {
  static const DppSources sources;
  alignas(64) int8_t chosen[kBlockLanes];
  if (detail.dpp == VectorDetail::Dpp::Dpp8) {
    for (unsigned i = 0; i < kBlockLanes; ++i)
      chosen[i] =
          int8_t(block * kBlockLanes + ((i & ~7u) | (detail.selectors >> (3 * (i & 7)) & 7)));
  } else {
    std::memcpy(chosen, sources.at[lanes > kBlockLanes][detail.control] + block * kBlockLanes,
                kBlockLanes);
  }
  const uint64_t readable = detail.fetchInactive ? ~uint64_t(0) : exec;
  uint32_t valid = 0;
  for (unsigned i = 0; i < kBlockLanes; ++i)
    valid |= uint32_t(chosen[i] >= 0 && (readable >> (chosen[i] & 63) & 1)) << i;
  for (unsigned r = 0; r < registers; ++r) {
    // One array of the lanes of both blocks; those that no lane may read are not looked at.
    alignas(64) uint32_t all[2 * kBlockLanes];
    std::memcpy(all, from[0] + r * kBlockLanes, sizeof(all) / 2);
    std::memcpy(all + kBlockLanes, from[1] + r * kBlockLanes, sizeof(all) / 2);
    RUBIA_EACH_LANE {
      const uint32_t value = all[chosen[lane] & 63];
      to[r * kBlockLanes + lane] = valid & 1u << lane ? value : 0;
    }
  }
  return dppEnabled(detail, block) & (detail.boundControl ? ~0u : valid);
}

uint32_t flush32(uint32_t x) { return (x & 0x7f800000) == 0 ? x & 0x80000000 : x; }
uint32_t flush16(uint32_t x) { return (x & 0x7c00) == 0 ? x & 0x8000 : x; }

/// Replaces a dword by the bits that SDWA or a byte select take from it.
void selectBits(uint32_t *x, const VectorDetail::Source &fix) {
  const unsigned left = 32 - fix.width - fix.shift, right = 32 - fix.width;
  if (fix.signExtend)
    RUBIA_EACH_LANE x[lane] = uint32_t(int32_t(x[lane] << left) >> right);
  else
    RUBIA_EACH_LANE x[lane] = x[lane] << left >> right;
}

/// Applies neg, abs, half selection and denormal flushing to the registers of a source, in place.
void fixSource(uint32_t *x, const VectorDetail &detail, unsigned i, const FloatMode &mode) {
  const VectorDetail::Source fix = detail.sources[i];
  const bool keep = detail.flags & kKeepSourceDenormals;
  const bool flushSingle = mode.flushSource32 && !keep,
             flushOther = mode.flushSource16And64 && !keep;
  const uint32_t absolute = fix.absolute ? 1 : 0, negate = fix.negate ? 1 : 0;
  uint32_t *high = x + kBlockLanes;
  if (fix.width != 32)
    selectBits(x, fix);
  switch (detail.shape.sources[i]) {
  case Element::F32:
    if (detail.flags & kMixedSources) {
      const unsigned shift = fix.selectHigh ? 16 : 0;
      if (fix.half)
        RUBIA_EACH_LANE {
          uint32_t half = x[lane] >> shift & 0xffff;
          x[lane] = std::bit_cast<uint32_t>(
              float(Half::fromBits(uint16_t(flushOther ? flush16(half) : half))));
        }
    }
    RUBIA_EACH_LANE {
      uint32_t v = (x[lane] & ~(absolute << 31)) ^ negate << 31;
      x[lane] = flushSingle ? flush32(v) : v;
    }
    return;
  case Element::B32:
    RUBIA_EACH_LANE x[lane] = (x[lane] & ~(absolute << 31)) ^ negate << 31;
    return;
  case Element::F64:
  case Element::B64: {
    const bool flush = flushOther && detail.shape.sources[i] == Element::F64;
    RUBIA_EACH_LANE {
      uint32_t v = (high[lane] & ~(absolute << 31)) ^ negate << 31;
      bool small = flush && (v & 0x7ff00000) == 0;
      high[lane] = small ? v & 0x80000000 : v;
      x[lane] = small ? 0 : x[lane];
    }
    return;
  }
  case Element::F16:
  case Element::Bf16:
  case Element::B16: {
    const unsigned shift = fix.selectHigh ? 16 : 0;
    const bool flush = flushOther && detail.shape.sources[i] == Element::F16;
    RUBIA_EACH_LANE {
      uint32_t v = ((x[lane] >> shift & 0xffff) & ~(absolute << 15)) ^ negate << 15;
      x[lane] = flush ? flush16(v) : v;
    }
    return;
  }
  case Element::PackedF16:
  case Element::PackedBf16:
  case Element::PackedB16: {
    const unsigned lowShift = fix.selectHigh ? 16 : 0, highShift = fix.selectHighForHigh ? 16 : 0;
    const uint32_t negateHigh = fix.negateHigh ? 1 : 0;
    const bool flush = flushOther && detail.shape.sources[i] == Element::PackedF16;
    RUBIA_EACH_LANE {
      uint32_t lo = (x[lane] >> lowShift & 0xffff) ^ negate << 15;
      uint32_t hi = (x[lane] >> highShift & 0xffff) ^ negateHigh << 15;
      x[lane] = flush ? flush16(lo) | flush16(hi) << 16 : lo | hi << 16;
    }
    return;
  }
  case Element::PackedF32:
  case Element::PackedB32: {
    const uint32_t negateHigh = fix.negateHigh ? 1 : 0;
    const bool flush = flushSingle && detail.shape.sources[i] == Element::PackedF32;
    RUBIA_EACH_LANE {
      uint32_t lo = (fix.selectHigh ? high[lane] : x[lane]) ^ negate << 31;
      uint32_t hi = (fix.selectHighForHigh ? high[lane] : x[lane]) ^ negateHigh << 31;
      x[lane] = flush ? flush32(lo) : lo;
      high[lane] = flush ? flush32(hi) : hi;
    }
    return;
  }
  case Element::None:
  case Element::B8:
  case Element::Registers:
  case Element::Mask:
    return;
  }
}

/// omod, then clamp. RDNA3 ISA "Output modifiers": omod is ignored where MODE.IEEE is set or
/// denormal results are kept, and makes +0 of -0.
template <class T>
T modifyFloat(T value, const VectorDetail &detail, unsigned omod, bool dx10Clamp) {
  constexpr T kFactor[4] = {T(1), T(2), T(4), T(0.5)};
  if (omod) {
    value *= kFactor[omod];
    value = value == 0 ? T(0) : value;
  }
  if (detail.clamp) {
    if (std::isnan(value))
      return dx10Clamp ? T(0) : value;
    value = value > T(1) ? T(1) : value > T(0) ? value : T(0);
  }
  return value;
}

/// Applies omod, clamp and denormal flushing to a result, in place.
void fixResult(uint32_t *x, const VectorDetail &detail, const FloatMode &mode) {
  const bool keep = detail.flags & kKeepResultDenormals;
  const bool flushSingle = mode.flushResult32 && !keep,
             flushOther = mode.flushResult16And64 && !keep;
  const bool dx10 = mode.dx10Clamp;
  const bool isSingle =
      detail.shape.result == Element::F32 || detail.shape.result == Element::PackedF32;
  const bool flushed = isSingle ? mode.flushResult32 : mode.flushResult16And64;
  const unsigned omod = mode.ieee || !flushed ? 0 : detail.omod;
  const bool modify = omod || detail.clamp;
  uint32_t *high = x + kBlockLanes;
  switch (detail.shape.result) {
  case Element::PackedF32:
  case Element::F32:
    for (unsigned r = 0; r < detail.shape.resultRegisters; ++r, x += kBlockLanes) {
      if (modify)
        RUBIA_EACH_LANE x[lane] =
            std::bit_cast<uint32_t>(modifyFloat(std::bit_cast<float>(x[lane]), detail, omod, dx10));
      if (flushSingle)
        RUBIA_EACH_LANE x[lane] = flush32(x[lane]);
    }
    return;
  case Element::F64:
    if (modify)
      RUBIA_EACH_LANE {
        double value = std::bit_cast<double>(uint64_t(high[lane]) << 32 | x[lane]);
        uint64_t bits = std::bit_cast<uint64_t>(modifyFloat(value, detail, omod, dx10));
        x[lane] = uint32_t(bits);
        high[lane] = uint32_t(bits >> 32);
      }
    if (flushOther)
      RUBIA_EACH_LANE {
        bool small = (high[lane] & 0x7ff00000) == 0;
        x[lane] = small ? 0 : x[lane];
        high[lane] = small ? high[lane] & 0x80000000 : high[lane];
      }
    return;
  case Element::F16:
    if (modify)
      RUBIA_EACH_LANE x[lane] =
          Half(modifyFloat(float(Half::fromBits(uint16_t(x[lane]))), detail, omod, dx10)).bits;
    if (flushOther)
      RUBIA_EACH_LANE x[lane] = flush16(x[lane] & 0xffff);
    return;
  case Element::PackedF16:
    if (modify)
      RUBIA_EACH_LANE {
        uint32_t lo =
            Half(modifyFloat(float(Half::fromBits(uint16_t(x[lane]))), detail, omod, dx10)).bits;
        uint32_t hi =
            Half(modifyFloat(float(Half::fromBits(uint16_t(x[lane] >> 16))), detail, omod, dx10))
                .bits;
        x[lane] = lo | hi << 16;
      }
    if (flushOther)
      RUBIA_EACH_LANE x[lane] = flush16(x[lane] & 0xffff) | flush16(x[lane] >> 16) << 16;
    return;
  case Element::None:
  case Element::B8:
  case Element::B16:
  case Element::Bf16:
  case Element::B32:
  case Element::B64:
  case Element::PackedB16:
  case Element::PackedBf16:
  case Element::PackedB32:
  case Element::Registers:
  case Element::Mask:
    return;
  }
}

/// MODE.fp16_ovfl (RDNA3 ISA "MODE register"): an f16 result that is infinite though no source is
/// becomes the largest number.
void clampOverflow(uint32_t *x, const uint32_t *const (&sources)[3], const Shape &shape) {
  auto infinite = [](uint32_t half) { return (half & 0x7fff) == 0x7c00; };
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    for (unsigned shift = 0; shift < (isPackedHalf(shape.result) ? 32 : 16); shift += 16) {
      if (!infinite(x[lane] >> shift))
        continue;
      bool fromInfinity = false;
      for (unsigned i = 0; i < shape.sourceCount; ++i) {
        const uint32_t source = sources[i][lane];
        const Element e = shape.sources[i];
        fromInfinity |= e == Element::F32         ? (source & 0x7fffffff) == 0x7f800000
                        : e == Element::PackedF16 ? infinite(source >> shift)
                        : e == Element::F16       ? infinite(source)
                                                  : false;
      }
      if (!fromInfinity)
        x[lane] -= 1u << shift; // 0x7c00 to 0x7bff
    }
}

/// Puts a result narrower than a register into its place.
void placeResult(uint32_t *value, const uint32_t *old, const VectorDetail &detail) {
  const unsigned shift = detail.resultShift, width = detail.resultWidth;
  const uint32_t mask = (1u << width) - 1;
  switch (detail.resultUnused) {
  case VectorDetail::Unused::Zero:
    RUBIA_EACH_LANE value[lane] = (value[lane] & mask) << shift;
    return;
  case VectorDetail::Unused::Sign:
    RUBIA_EACH_LANE value[lane] = uint32_t(int32_t(value[lane] << (32 - width)) >> (32 - width))
                                  << shift;
    return;
  case VectorDetail::Unused::Keep:
    RUBIA_EACH_LANE value[lane] = (old[lane] & ~(mask << shift)) | (value[lane] & mask) << shift;
    return;
  }
}

/// A well mixed function of the bits of a source in a lane.
uint64_t perturbation(const uint32_t *source, unsigned registers, unsigned lane) {
  uint64_t bits = 0x9e3779b97f4a7c15;
  for (unsigned r = 0; r < registers; ++r)
    bits = (bits ^ source[r * kBlockLanes + lane]) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 31) * 0x94d049bb133111eb;
  return bits ^ bits >> 29;
}

/// RUBIA_EMULATOR_TRANS=worst for instructions that are exact to one unit in the last place: one of
/// the two numbers around the exact result, always the same one for the same source. What is
/// representable, infinite, zero or denormal stays.
void takeEitherNeighbour(LaneKernel kernel, uint32_t *x, const uint32_t *source, LaneState &state,
                         const VectorDetail &detail) {
  uint32_t up[2 * kBlockLanes], down[2 * kBlockLanes];
  {
    HostRounding rounding(HostRounding::Up);
    kernel(up, source, source, source, state);
  }
  {
    HostRounding rounding(HostRounding::Down);
    kernel(down, source, source, source, state);
  }
  const uint32_t infinity = detail.shape.result == Element::F16 ? 0x7c00 : 0x7f800000;
  const uint32_t quantum = detail.shape.result == Element::F16 ? 0x0400 : 0x00800000;
  const uint32_t mask = detail.shape.result == Element::F16 ? 0x7fff : 0x7fffffff;
  auto isNormal = [&](uint32_t bits) {
    const uint32_t magnitude = bits & mask;
    return magnitude >= quantum && magnitude < infinity;
  };
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const bool upward = perturbation(source, detail.shape.sourceRegisters[0], lane) & 1;
    const uint32_t other = upward ? up[lane] : down[lane];
    if (isNormal(x[lane]) && isNormal(other))
      x[lane] = other;
  }
}

/// The same for f64 instructions that are only the start of an iteration: the error is up to 2^29
/// units in the last place (RDNA3 ISA V_RCP_F64). Powers of two stay.
void approximateResult(uint32_t *x, const uint32_t *source, const VectorDetail &detail) {
  constexpr uint64_t kFraction = (uint64_t(1) << 52) - 1;
  constexpr unsigned kInfinity = 0x7ff;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const uint64_t bits = uint64_t(x[lane + kBlockLanes]) << 32 | x[lane];
    const uint64_t random = perturbation(source, detail.shape.sourceRegisters[0], lane);
    const uint64_t moved = bits + (random >> 34) - (uint64_t(1) << 29);
    auto isNormal = [](uint64_t value) {
      const unsigned exponent = value >> 52 & kInfinity;
      return exponent != 0 && exponent != kInfinity;
    };
    if (bits & kFraction && isNormal(bits) && isNormal(moved)) {
      x[lane] = uint32_t(moved);
      x[lane + kBlockLanes] = uint32_t(moved >> 32);
    }
  }
}

} // namespace
} // namespace rubia::emulator::RUBIA_ISA
