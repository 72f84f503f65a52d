// SPDX-License-Identifier: Apache-2.0
// Everything around a lanewise kernel: fetching sources, modifiers, DPP, EXEC, result modifiers and
// masks. Compiled once per instruction set, like the tables.
#include "emulator/lib/machine/GprIndexing.h"
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorPathModifiers.h"
#include <optional>

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

/// result = mask ? value : result, for each lane of `registers` registers.
void blend(uint32_t *result, const uint32_t *value, uint32_t mask, unsigned registers) {
  for (unsigned r = 0; r < registers; ++r, result += kBlockLanes, value += kBlockLanes) {
    RUBIA_EACH_LANE result[lane] = mask & kLane.bit[lane] ? value[lane] : result[lane];
  }
}

void broadcast(uint32_t *to, uint32_t value) { RUBIA_EACH_LANE to[lane] = value; }

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

/// How a source of a simple operation is found.
enum class Sources : uint8_t {
  Direct,   // registers and constants
  Any,      // scalars too
  Modified, // with neg and abs of 32-bit sources
};

/// neg and abs of a 32-bit source.
void modify(uint32_t *to, const uint32_t *from, const VectorDetail::Source &fix) {
  const uint32_t keep = fix.absolute ? 0x7fffffff : ~0u, flip = fix.negate ? 0x80000000 : 0;
  RUBIA_EACH_LANE to[lane] = (from[lane] & keep) ^ flip;
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
    [[clang::musttail]] return general(w, op);
  uint32_t buffers[S == Sources::Direct ? 1 : 3][4 * kBlockLanes];
  uint32_t masks[Blocks];
  for (unsigned block = 0; block < Blocks; ++block) {
    uint32_t *registers = w.block(block);
    const uint32_t exec = w.scalars[kExec + block];
    const uint32_t *a = source<S>(w, op, 0, registers, buffers[0]);
    const uint32_t *b = source<S>(w, op, 1, registers, buffers[S == Sources::Direct ? 0 : 1]);
    const uint32_t *c = source<S>(w, op, 2, registers, buffers[S == Sources::Direct ? 0 : 2]);
    w.lane.firstLane = block * kBlockLanes;
    w.lane.active = exec;
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
  RUBIA_NEXT(w, op);
}

template <Sources S, bool WithMasks>
constexpr VectorPath::Simple kSimple = {simple<S, WithMasks, 1>, simple<S, WithMasks, 2>};

/// The host's rounding direction for an operation. MODE's order is nearest, up, down, zero.
HostRounding::Direction roundingOf(const Wave &w, const MicroOp &op) {
  using Direction = HostRounding::Direction;
  constexpr Direction kDirections[4] = {Direction::Nearest, Direction::Up, Direction::Down,
                                        Direction::TowardZero};
  return kDirections[op.round == 1   ? w.lane.mode.round32
                     : op.round == 2 ? w.lane.mode.round16And64
                                     : 0];
}

/// DPP of source 0. Lanes may come from the other block, whose registers the result of this one has
/// perhaps replaced: `earlier` holds those of block 0.
uint32_t moveLanes(const Wave &w, const MicroOp &op, unsigned block, const uint32_t *from,
                   unsigned count, uint32_t *earlier, uint32_t *to) {
  const uint32_t *blocks[2] = {from, from};
  if (w.blocks == 2 && op.kind[0] == OperandKind::Vector) {
    if (block == 0)
      copy(earlier, from, count);
    blocks[0] = earlier;
    blocks[1] = w.block(1) + op.source[0];
  }
  return applyDpp(*op.detail, block, w.exec(), w.lanes(), blocks, to, count);
}

[[gnu::noinline]] void run(Wave &w, const MicroOp &op) {
  const VectorDetail &detail = *op.detail;
  const Shape &shape = detail.shape;
  std::optional<HostRounding> rounding;
  if (auto direction = roundingOf(w, op); direction != HostRounding::Nearest)
    rounding.emplace(direction);
  alignas(64) Buffer buffers[3];
  alignas(64) Buffer moved;
  alignas(64) Buffer temporary;
  alignas(64) Buffer earlier;
  uint32_t masks[2] = {};
  LaneState state = w.lane;
  state.saturate = detail.clamp;
  state.signs = detail.signs;
  state.immediate = detail.immediate;
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
        writable &= moveLanes(w, op, block, from, count, earlier, moved);
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
    state.active = writable;
    state.carryIn = w.scalars[op.maskSource + block];
    op.kernel(temporary, sources[0], sources[1], sources[2], state);
    masks[block] = state.carryOut & writable;
    if (shape.resultRegisters == 0)
      continue;
    uint32_t *result = registers + op.result;
    if (detail.perturbed == Exactness::WithinUlp)
      takeEitherNeighbour(op.kernel, temporary, sources[0], state, detail);
    else if (detail.perturbed == Exactness::Approximation)
      approximateResult(temporary, sources[0], detail);
    if (w.special & op.special & kFp16Overflow)
      clampOverflow(temporary, sources, shape);
    fixResult(temporary, detail, state.mode);
    if (detail.resultWidth != 32)
      placeResult(temporary, result, detail);
    blend(result, temporary, writable, shape.resultRegisters);
  }
  for (unsigned block = 0; block < w.blocks; ++block) {
    w.scalars[op.maskResult + block] = masks[block];
    if (detail.writesExecToo)
      w.scalars[kExec + block] = masks[block];
  }
}

} // namespace

namespace {
[[gnu::noinline]] bool runIndexed(Wave &w, const MicroOp &op) {
  MicroOp indexed = op;
  if (!addGprIndex(w, indexed))
    return false;
  run(w, indexed);
  return true;
}
} // namespace

void general(Wave &w, const MicroOp &op) {
  if (!(w.special & op.special & kGprIndex))
    run(w, op);
  else if (!runIndexed(w, op))
    return;
  RUBIA_NEXT(w, op);
}

namespace {

/// V_S_*: computes once, whatever EXEC says, and writes a scalar register, whose index is in
/// maskResult; the result goes through the decoder's register.
void pseudoScalar(Wave &w, const MicroOp &op) {
  const uint64_t exec = w.exec();
  const uint16_t destination = op.maskResult;
  MicroOp once = op;
  once.maskResult = kSink;
  w.setMask(kExec, 1);
  run(w, once);
  w.setMask(kExec, exec);
  w.scalars[destination] = w.block(0)[op.result];
  RUBIA_NEXT(w, op);
}

/// V_MOV_B16 without modifiers, from a vector register or a constant: true16 code has many.
template <bool kToHigh, bool kFromHigh, unsigned kBlocks>
void moveHalf(Wave &w, const MicroOp &op) {
  // What the compiler does not know it cannot turn into a permutation, which takes longer.
  uint32_t kept = kToHigh ? 0xffff : 0xffff0000;
  asm("" : "+r"(kept));
  auto moved = [=](uint32_t from, uint32_t to) {
    const uint32_t half = kFromHigh == kToHigh ? from : kToHigh ? from << 16 : from >> 16;
    return (to & kept) | (half & ~kept);
  };
  const bool isVector = op.kind[0] == OperandKind::Vector;
  for (unsigned block = 0; block < kBlocks; ++block) {
    uint32_t *result = w.block(block) + op.result;
    const uint32_t *from =
        isVector ? w.block(block) + op.source[0] : reinterpret_cast<const uint32_t *>(op.source[0]);
    const uint32_t exec = w.scalars[kExec + block];
    if (exec == ~0u) [[likely]] {
      RUBIA_EACH_LANE result[lane] = moved(from[lane], result[lane]);
    } else {
      const uint32_t *was = whatWas(result);
      RUBIA_EACH_LANE {
        const uint32_t old = was[lane], next = moved(from[lane], old);
        result[lane] = exec & 1u << lane ? next : old;
      }
    }
  }
  RUBIA_NEXT(w, op);
}

template <bool kToHigh, bool kFromHigh>
constexpr VectorPath::Simple kMoveHalf = {moveHalf<kToHigh, kFromHigh, 1>,
                                          moveHalf<kToHigh, kFromHigh, 2>};

void leave() {
#ifdef __AVX__
  __builtin_ia32_vzeroupper();
#endif
}

} // namespace

const VectorPath kVectorPath = {
    {{kSimple<Sources::Direct, false>, kSimple<Sources::Direct, true>},
     {kSimple<Sources::Any, false>, kSimple<Sources::Any, true>},
     {kSimple<Sources::Modified, false>, kSimple<Sources::Modified, true>}},
    general,
    pseudoScalar,
    {{kMoveHalf<false, false>, kMoveHalf<false, true>},
     {kMoveHalf<true, false>, kMoveHalf<true, true>}},
    leave};

} // namespace rubia::emulator::RUBIA_ISA
