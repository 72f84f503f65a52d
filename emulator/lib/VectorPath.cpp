// Everything around a lanewise kernel: fetching sources, modifiers, DPP, EXEC, result modifiers and
// masks. Compiled once per instruction set, like the tables.
#include "emulator/lib/VectorPath.h"
#include <xmmintrin.h>

namespace rubia::emulator::RUBIA_ISA {
namespace {

constexpr unsigned kMaxRegisters = 8;
using Buffer = uint32_t[kMaxRegisters * kBlockLanes];

struct LaneBits {
  alignas(64) uint32_t bit[kBlockLanes];
  constexpr LaneBits() : bit() {
    for (unsigned i = 0; i < kBlockLanes; ++i)
      bit[i] = 1u << i;
  }
};
constexpr LaneBits kLane;

#define RUBIA_LANES                                                                                \
  _Pragma(                                                                                         \
      "clang loop vectorize(assume_safety) interleave_count(4) unroll(disable)") for (unsigned     \
                                                                                          lane =   \
                                                                                              0;   \
                                                                                      lane <       \
                                                                                      kBlockLanes; \
                                                                                      ++lane)

/// result = mask ? value : result, for each lane of `registers` registers.
void blend(uint32_t *result, const uint32_t *value, uint32_t mask, unsigned registers) {
  for (unsigned r = 0; r < registers; ++r, result += kBlockLanes, value += kBlockLanes) {
    RUBIA_LANES result[lane] = mask & kLane.bit[lane] ? value[lane] : result[lane];
  }
}

void broadcast(uint32_t *to, uint32_t value) { RUBIA_LANES to[lane] = value; }

void copy(uint32_t *to, const uint32_t *from, unsigned registers) {
  std::memcpy(to, from, registers * kBlockLanes * sizeof(uint32_t));
}

[[gnu::noinline]] const uint32_t *broadcastScalar(const Wave &w, const MicroOp &op, unsigned i,
                                                  unsigned registers, uint32_t *buffer) {
  if (op.kind[i] == OperandKind::Scalar) {
    for (unsigned r = 0; r < registers; ++r)
      broadcast(buffer + r * kBlockLanes, w.scalars[op.source[i] + r]);
  } else {
    uint64_t value = readScalar64(w, op, i);
    for (unsigned r = 0; r < registers; ++r)
      broadcast(buffer + r * kBlockLanes, r == 0   ? uint32_t(value)
                                          : r == 1 ? uint32_t(value >> 32)
                                                   : 0);
  }
  return buffer;
}

/// The registers of source `i` in a block; `buffer` holds them if they are not in memory as such.
[[gnu::always_inline]] inline const uint32_t *fetch(const Wave &w, const MicroOp &op, unsigned i,
                                                    const uint32_t *registers, unsigned count,
                                                    uint32_t *buffer) {
  if (op.kind[i] == OperandKind::Vector)
    return registers + op.source[i];
  if (op.kind[i] == OperandKind::Constant)
    return reinterpret_cast<const uint32_t *>(op.source[i]);
  return broadcastScalar(w, op, i, count, buffer);
}

void general(Wave &w, const MicroOp &op);

/// How a source of a simple operation is found.
enum class Sources : uint8_t {
  Direct,   // registers and constants
  Any,      // scalars too
  Modified, // with neg and abs of 32-bit sources
};

/// neg and abs of a 32-bit source.
void modify(uint32_t *to, const uint32_t *from, const VectorDetail::Source &fix) {
  const uint32_t keep = fix.absolute ? 0x7fffffff : ~0u, flip = fix.negate ? 0x80000000 : 0;
  RUBIA_LANES to[lane] = (from[lane] & keep) ^ flip;
}

template <Sources S>
[[gnu::always_inline]] inline const uint32_t *source(const Wave &w, const MicroOp &op, unsigned i,
                                                     const uint32_t *registers, uint32_t *buffer) {
  if constexpr (S == Sources::Direct) {
    const bool isVector = op.kind[i] == OperandKind::Vector; // without a branch
    return reinterpret_cast<const uint32_t *>((isVector ? uint64_t(registers) : 0) +
                                              (op.source[i] << (isVector ? 2 : 0)));
  } else {
    if (op.kind[i] == OperandKind::None)
      return nullptr;
    // `data` holds the number of registers of each source, two bits each, minus one.
    const uint32_t *from = fetch(w, op, i, registers, (op.data >> (2 * i) & 3) + 1, buffer);
    if (S == Sources::Modified && op.detail->sources[i].fix) {
      modify(buffer, from, op.detail->sources[i]);
      return buffer;
    }
    return from;
  }
}

/// An operation without result modifiers, whose result is whole registers.
template <Sources S, bool WithMasks, unsigned Blocks> void simple(Wave &w, const MicroOp &op) {
  if (w.special & op.special) [[unlikely]]
    return general(w, op);
  uint32_t buffers[S == Sources::Direct ? 1 : 3][4 * kBlockLanes];
  uint32_t masks[Blocks];
  for (unsigned block = 0; block < Blocks; ++block) {
    uint32_t *registers = w.block(block);
    const uint32_t exec = w.scalars[kExec + block];
    const uint32_t *a = source<S>(w, op, 0, registers, buffers[0]);
    const uint32_t *b = source<S>(w, op, 1, registers, buffers[S == Sources::Direct ? 0 : 1]);
    const uint32_t *c = source<S>(w, op, 2, registers, buffers[S == Sources::Direct ? 0 : 2]);
    w.lane.firstLane = block * kBlockLanes;
    if constexpr (WithMasks)
      w.lane.carryIn = w.scalars[op.maskSource + block];
    uint32_t *result = registers + op.result;
    if (exec == ~0u) [[likely]] {
      op.kernel(result, a, b, c, w.lane);
    } else if (exec != 0) {
      uint32_t temporary[4 * kBlockLanes];
      op.kernel(temporary, a, b, c, w.lane);
      blend(result, temporary, exec, op.registers);
    }
    if constexpr (WithMasks)
      masks[block] = w.lane.carryOut & exec;
  }
  if constexpr (WithMasks)
    for (unsigned block = 0; block < Blocks; ++block)
      w.scalars[op.maskResult + block] = masks[block];
}

template <Sources S, bool WithMasks>
constexpr VectorPath::Simple kSimple = {simple<S, WithMasks, 1>, simple<S, WithMasks, 2>};

/// The lane that feeds `lane` of a row-wise DPP16 control, or -1 (RDNA3 ISA "DPP16"; the values are
/// LLVM's DppCtrl).
int dppSource(unsigned control, unsigned lane) {
  unsigned row = lane & ~15u, inRow = lane & 15;
  if (control <= 0xff)
    return int((lane & ~3u) | (control >> (2 * (lane & 3)) & 3));
  unsigned amount = control & 15;
  switch (control & 0x1f0) {
  case 0x100: // row_shl
    return inRow + amount < 16 ? int(lane + amount) : -1;
  case 0x110: // row_shr
    return inRow >= amount ? int(lane - amount) : -1;
  case 0x120: // row_ror
    return int(row | ((inRow - amount) & 15));
  case 0x140: // row_mirror, row_half_mirror
    return amount == 0 ? int(row | (15 - inRow)) : int((lane & ~7u) | (7 - (lane & 7)));
  case 0x150: // row_share (row_newbcast on gfx90a)
    return int(row | amount);
  case 0x160: // row_xmask
    return int(row | (inRow ^ amount));
  default:
    return -1;
  }
}

/// Moves the lanes of source 0 and returns the lanes that may be written.
uint32_t applyDpp(const VectorDetail &detail, unsigned block, uint32_t exec, const uint32_t *from,
                  uint32_t *to, unsigned registers) {
  uint32_t writable = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    int source;
    if (detail.dpp == VectorDetail::Dpp::Dpp8)
      source = int((lane & ~7u) | (detail.selectors >> (3 * (lane & 7)) & 7));
    else
      source = dppSource(detail.control, lane);
    bool masked = detail.dpp == VectorDetail::Dpp::Dpp16 &&
                  !((detail.rowMask >> (block * 2 + lane / 16) & 1) &&
                    (detail.bankMask >> (lane / 4 & 3) & 1));
    bool valid = source >= 0 && ((exec >> source & 1) || detail.fetchInactive);
    if (!masked && (valid || detail.boundControl))
      writable |= 1u << lane;
    for (unsigned r = 0; r < registers; ++r)
      to[r * kBlockLanes + lane] = valid ? from[r * kBlockLanes + unsigned(source)] : 0;
  }
  return writable;
}

uint32_t flush32(uint32_t x) { return (x & 0x7f800000) == 0 ? x & 0x80000000 : x; }
uint32_t flush16(uint32_t x) { return (x & 0x7c00) == 0 ? x & 0x8000 : x; }

/// Applies neg, abs, half selection and denormal flushing to the registers of a source, in place.
void fixSource(uint32_t *x, const VectorDetail &detail, unsigned i, const FloatMode &mode) {
  const VectorDetail::Source fix = detail.sources[i];
  const bool keep = detail.flags & kKeepSourceDenormals;
  const bool flushSingle = mode.flushSource32 && !keep,
             flushOther = mode.flushSource16And64 && !keep;
  const uint32_t absolute = fix.absolute ? 1 : 0, negate = fix.negate ? 1 : 0;
  uint32_t *high = x + kBlockLanes;
  switch (detail.shape.sources[i]) {
  case Element::F32:
    if (detail.flags & kMixedSources) {
      const unsigned shift = fix.selectHigh ? 16 : 0;
      if (fix.half)
        RUBIA_LANES {
          uint32_t half = x[lane] >> shift & 0xffff;
          x[lane] = std::bit_cast<uint32_t>(
              float(Half::fromBits(uint16_t(flushOther ? flush16(half) : half))));
        }
    }
    RUBIA_LANES {
      uint32_t v = (x[lane] & ~(absolute << 31)) ^ negate << 31;
      x[lane] = flushSingle ? flush32(v) : v;
    }
    return;
  case Element::B32:
    RUBIA_LANES x[lane] = (x[lane] & ~(absolute << 31)) ^ negate << 31;
    return;
  case Element::F64:
  case Element::B64: {
    const bool flush = flushOther && detail.shape.sources[i] == Element::F64;
    RUBIA_LANES {
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
    RUBIA_LANES {
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
    RUBIA_LANES {
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
    RUBIA_LANES {
      uint32_t lo = (fix.selectHigh ? high[lane] : x[lane]) ^ negate << 31;
      uint32_t hi = (fix.selectHighForHigh ? high[lane] : x[lane]) ^ negateHigh << 31;
      x[lane] = flush ? flush32(lo) : lo;
      high[lane] = flush ? flush32(hi) : hi;
    }
    return;
  }
  case Element::None:
  case Element::Registers:
  case Element::Mask:
    return;
  }
}

template <class T> T modifyFloat(T value, const VectorDetail &detail, bool dx10Clamp) {
  constexpr T kFactor[4] = {T(1), T(2), T(4), T(0.5)};
  if (detail.omod)
    value *= kFactor[detail.omod];
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
  const bool modify = detail.omod || detail.clamp;
  const bool dx10 = mode.dx10Clamp;
  uint32_t *high = x + kBlockLanes;
  switch (detail.shape.result) {
  case Element::PackedF32:
  case Element::F32:
    for (unsigned r = 0; r < detail.shape.resultRegisters; ++r, x += kBlockLanes) {
      if (modify)
        RUBIA_LANES x[lane] =
            std::bit_cast<uint32_t>(modifyFloat(std::bit_cast<float>(x[lane]), detail, dx10));
      if (flushSingle)
        RUBIA_LANES x[lane] = flush32(x[lane]);
    }
    return;
  case Element::F64:
    if (modify)
      RUBIA_LANES {
        double value = std::bit_cast<double>(uint64_t(high[lane]) << 32 | x[lane]);
        uint64_t bits = std::bit_cast<uint64_t>(modifyFloat(value, detail, dx10));
        x[lane] = uint32_t(bits);
        high[lane] = uint32_t(bits >> 32);
      }
    if (flushOther)
      RUBIA_LANES {
        bool small = (high[lane] & 0x7ff00000) == 0;
        x[lane] = small ? 0 : x[lane];
        high[lane] = small ? high[lane] & 0x80000000 : high[lane];
      }
    return;
  case Element::F16:
    if (modify)
      RUBIA_LANES x[lane] =
          Half(modifyFloat(float(Half::fromBits(uint16_t(x[lane]))), detail, dx10)).bits;
    if (flushOther)
      RUBIA_LANES x[lane] = flush16(x[lane] & 0xffff);
    return;
  case Element::PackedF16:
    if (modify)
      RUBIA_LANES {
        uint32_t lo =
            Half(modifyFloat(float(Half::fromBits(uint16_t(x[lane]))), detail, dx10)).bits;
        uint32_t hi =
            Half(modifyFloat(float(Half::fromBits(uint16_t(x[lane] >> 16))), detail, dx10)).bits;
        x[lane] = lo | hi << 16;
      }
    if (flushOther)
      RUBIA_LANES x[lane] = flush16(x[lane] & 0xffff) | flush16(x[lane] >> 16) << 16;
    return;
  case Element::None:
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

/// Puts a 16-bit result into its half of the destination.
void mergeHalf(uint32_t *value, const uint32_t *old, const VectorDetail &detail) {
  if (detail.resultHigh)
    RUBIA_LANES value[lane] = (old[lane] & 0xffff) | value[lane] << 16;
  else if (detail.zeroHigh)
    RUBIA_LANES value[lane] &= 0xffff;
  else
    RUBIA_LANES value[lane] = (old[lane] & 0xffff0000) | (value[lane] & 0xffff);
}

bool isHalf(Element element) {
  return element == Element::F16 || element == Element::Bf16 || element == Element::B16;
}

/// Sets the host's rounding mode while it lives. MODE's order is nearest, up, down, zero; MXCSR's
/// nearest, down, up, zero.
class Rounding {
public:
  Rounding(const Wave &w, const MicroOp &op) {
    unsigned mode = op.round == 1   ? w.lane.mode.round32
                    : op.round == 2 ? w.lane.mode.round16And64
                                    : 0;
    active = mode != 0;
    if (!active)
      return;
    constexpr unsigned kControl[4] = {0x0000, 0x4000, 0x2000, 0x6000};
    saved = _mm_getcsr();
    _mm_setcsr((saved & ~0x6000u) | kControl[mode]);
  }
  ~Rounding() {
    if (active)
      _mm_setcsr(saved);
  }

private:
  unsigned saved = 0;
  bool active;
};

void general(Wave &w, const MicroOp &op) {
  const VectorDetail &detail = *op.detail;
  const Shape &shape = detail.shape;
  Rounding rounding(w, op);
  alignas(64) Buffer buffers[3];
  alignas(64) Buffer moved;
  alignas(64) Buffer temporary;
  uint32_t masks[2] = {};
  LaneState state = w.lane;
  state.saturate = detail.clamp;
  state.signs = detail.signs;
  const bool flushes = w.special & op.special & (kFlush32 | kFlush16And64);
  for (unsigned block = 0; block < w.blocks; ++block) {
    uint32_t *registers = w.block(block);
    const uint32_t exec = w.scalars[kExec + block];
    uint32_t writable = exec;
    const uint32_t *sources[3] = {};
    for (unsigned i = 0; i < shape.sourceCount; ++i) {
      const unsigned count = shape.sourceRegisters[i];
      const uint32_t *from = fetch(w, op, i, registers, count, buffers[i]);
      if (i == 0 && detail.dpp != VectorDetail::Dpp::None) {
        writable &= applyDpp(detail, block, exec, from, moved, count);
        from = moved;
      }
      if (detail.sources[i].fix || flushes) {
        if (from != buffers[i])
          copy(buffers[i], from, count);
        fixSource(buffers[i], detail, i, state.mode);
        from = buffers[i];
      }
      sources[i] = from;
    }
    state.firstLane = block * kBlockLanes;
    state.carryIn = w.scalars[op.maskSource + block];
    op.kernel(temporary, sources[0], sources[1], sources[2], state);
    masks[block] = state.carryOut & writable;
    if (shape.resultRegisters == 0)
      continue;
    uint32_t *result = registers + op.result;
    fixResult(temporary, detail, state.mode);
    if (isHalf(shape.result))
      mergeHalf(temporary, result, detail);
    blend(result, temporary, writable, shape.resultRegisters);
  }
  for (unsigned block = 0; block < w.blocks; ++block)
    w.scalars[op.maskResult + block] = masks[block];
}

} // namespace

extern const VectorPath kVectorPath;
const VectorPath kVectorPath = {
    {{kSimple<Sources::Direct, false>, kSimple<Sources::Direct, true>},
     {kSimple<Sources::Any, false>, kSimple<Sources::Any, true>},
     {kSimple<Sources::Modified, false>, kSimple<Sources::Modified, true>}},
    general};

} // namespace rubia::emulator::RUBIA_ISA
