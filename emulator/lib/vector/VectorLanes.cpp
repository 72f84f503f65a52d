// SPDX-License-Identifier: Apache-2.0
// Moves of values between lanes by the host's vector instructions. What they do not do they leave
// to the handlers in LocalLanes.cpp (MicroOp::slowPath) and to the rows in VectorAlu.cpp. Compiled
// once per instruction set.
#include "emulator/lib/machine/LaneLoops.h"
#include "emulator/lib/machine/WaveFunctions.h"
#include "emulator/lib/vector/VectorMemory.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

/// DS_BPERMUTE_B32 of waves that permute as a whole.
void backwardPermute(Wave &w, const MicroOp &op) {
  const unsigned major = w.group->target->isa;
  if (w.blocks == 2 && (major == 10 || major == 11)) // within halves
      [[clang::musttail]]
    return op.slowPath(w, op);
  alignas(64) uint32_t values[2 * kBlockLanes], chosen[2 * kBlockLanes];
  const uint32_t lanes = w.lanes() - 1;
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t exec = w.scalars[kExec + block];
    const uint32_t *from = w.block(block) + op.source[2], *at = w.block(block) + op.source[0];
    uint32_t *value = values + block * kBlockLanes, *which = chosen + block * kBlockLanes;
    const uint32_t offset = uint32_t(op.immediate);
    RUBIA_EACH_LANE value[lane] = exec & 1u << lane ? from[lane] : 0;
    RUBIA_EACH_LANE which[lane] = (at[lane] + offset) / 4 & lanes;
  }
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t exec = w.scalars[kExec + block];
    uint32_t *result = w.block(block) + op.result;
    const uint32_t *which = chosen + block * kBlockLanes;
    RUBIA_EACH_LANE {
      const uint32_t value = values[which[lane]], old = result[lane];
      result[lane] = exec & 1u << lane ? value : old;
    }
  }
  RUBIA_NEXT(w, op);
}

/// DS_SWIZZLE_B32 (RDNA3 ISA "DS_SWIZZLE_B32"): lanes of 32 by masks, of four by a table.
void swizzle(Wave &w, const MicroOp &op) {
  const uint32_t control = uint32_t(op.immediate);
  const bool isQuad = (control & 0xc000) == 0x8000;
  if (!isQuad && control & 0x8000) [[unlikely]] // rotation, FFT
    [[clang::musttail]] return op.slowPath(w, op);
  alignas(64) uint32_t which[kBlockLanes], values[kBlockLanes];
  if (isQuad)
    RUBIA_EACH_LANE which[lane] = (lane & ~3u) | (control >> (2 * (lane & 3)) & 3);
  else
    RUBIA_EACH_LANE which[lane] =
        ((lane & (control & 31)) | (control >> 5 & 31)) ^ (control >> 10 & 31);
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t exec = w.scalars[kExec + block];
    const uint32_t *from = w.block(block) + op.source[0];
    uint32_t *result = w.block(block) + op.result;
    RUBIA_EACH_LANE values[lane] = exec & 1u << lane ? from[lane] : 0;
    RUBIA_EACH_LANE {
      const uint32_t value = values[which[lane]], old = result[lane];
      result[lane] = exec & 1u << lane ? value : old;
    }
  }
  RUBIA_NEXT(w, op);
}

/// A source of which one value counts, that of `lane`.
[[gnu::always_inline]] inline uint32_t valueOf(const Wave &w, const MicroOp &op, unsigned i,
                                               unsigned lane) {
  switch (op.kind[i]) {
  case OperandKind::Vector:
    return w.vgprs[(lane / kBlockLanes) * w.blockStride + op.source[i] + lane % kBlockLanes];
  case OperandKind::Constant: // the same in every lane
    return *reinterpret_cast<const uint32_t *>(op.source[i]);
  case OperandKind::Scalar:
    return w.scalars[op.source[i]];
  case OperandKind::None:
  case OperandKind::Scc:
  case OperandKind::Vccz:
  case OperandKind::Execz:
    break;
  }
  return 0;
}

void readFirstLane(Wave &w, const MicroOp &op) {
  if (op.kind[0] != OperandKind::Vector || w.special & op.special) [[unlikely]]
    [[clang::musttail]] return callWaveFunction(w, op);
  const uint64_t exec =
      w.blocks == 2 ? uint64_t(w.scalars[kExec + 1]) << 32 | w.scalars[kExec] : w.scalars[kExec];
  w.scalars[op.result] = valueOf(w, op, 0, exec ? unsigned(std::countr_zero(exec)) : 0);
  RUBIA_NEXT(w, op);
}

void readLane(Wave &w, const MicroOp &op) {
  if (op.kind[0] != OperandKind::Vector || op.kind[1] > OperandKind::Scalar ||
      w.special & op.special) [[unlikely]]
    [[clang::musttail]] return callWaveFunction(w, op);
  const unsigned lane = valueOf(w, op, 1, 0) & (w.blocks * kBlockLanes - 1);
  w.scalars[op.result] = valueOf(w, op, 0, lane);
  RUBIA_NEXT(w, op);
}

/// V_PERMLANE16_B32, V_PERMLANEX16_B32: nibble i of {source 2, source 1} is the lane that lane i of
/// each row of 16 reads, in the row `kRowFlip` away.
template <unsigned kRowFlip> void permuteRows(Wave &w, const MicroOp &op) {
  constexpr uint32_t kOpSel = 4;
  if (op.kind[0] != OperandKind::Vector || op.kind[1] > OperandKind::Scalar ||
      op.kind[2] > OperandKind::Scalar) [[unlikely]]
    [[clang::musttail]] return callWaveFunction(w, op);
  const uint32_t low = valueOf(w, op, 1, 0), high = valueOf(w, op, 2, 0);
  const bool fetchInactive = op.detail->modifiers[0] & kOpSel;
  const bool boundControl = op.detail->modifiers[1] & kOpSel;
  alignas(64) uint32_t which[kBlockLanes], values[kBlockLanes];
  RUBIA_EACH_LANE {
    const uint32_t selectors = lane & 8 ? high : low;
    which[lane] = ((lane & ~15u) ^ kRowFlip) | (selectors >> (4 * (lane & 7)) & 15);
  }
  for (unsigned block = 0; block < w.blocks; ++block) {
    const uint32_t exec = w.scalars[kExec + block];
    const uint32_t readable = fetchInactive ? ~0u : exec;
    const uint32_t *from = w.block(block) + op.source[0];
    uint32_t *result = w.block(block) + op.result;
    RUBIA_EACH_LANE values[lane] = from[lane];
    RUBIA_EACH_LANE {
      const uint32_t source = which[lane], value = values[source], old = result[lane];
      const uint32_t unread = boundControl ? 0 : old;
      const uint32_t taken = readable >> source & 1 ? value : unread;
      result[lane] = exec & 1u << lane ? taken : old;
    }
  }
  RUBIA_NEXT(w, op);
}

constexpr MemorySemantics kRows[] = {
    {"DS_BPERMUTE_B32", backwardPermute},   {"DS_SWIZZLE_B32", swizzle},
    {"V_READFIRSTLANE_B32", readFirstLane}, {"V_READLANE_B32", readLane},
    {"V_PERMLANE16_B32", permuteRows<0>},   {"V_PERMLANEX16_B32", permuteRows<16>},
};

} // namespace

const MemoryTable kVectorLanes = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
