// SPDX-License-Identifier: Apache-2.0
// Instructions under the check `order` that have been issued and have not returned: their operands,
// kept aside, and the parts that they are split into, by the lines of memory that they touch.
#pragma once

#include "emulator/lib/machine/Wave.h"
#include "emulator/lib/order/OrderCaches.h"
#include <deque>
#include <memory>

namespace rubia::emulator {

constexpr unsigned kVectorRegisters = 512 + 32;

/// Lanes of an instruction that are performed at the same time.
struct PendingPart {
  uint32_t lanes[2] = {};
  llvm::SmallVector<LinePart, 2> lines; // empty: LDS, private memory, nothing at all
};

struct WaveOrder;

/// An instruction that has been issued and has not returned.
struct PendingOperation {
  Wave *wave = nullptr;
  WaveOrder *order = nullptr;
  const MicroOp *op = nullptr;
  const InstructionStep *step = nullptr;
  uint32_t scalars[kScalarCount];
  LaneState lane;
  std::vector<uint32_t> registers; // of step->registers, one after the other, blocks within
  llvm::SmallVector<PendingPart, 4> parts;
  unsigned left = 0; // parts to perform
  bool returnsInOrder = true;
};

/// What a wave has under way.
struct WaveOrder {
  unsigned unit = 0;
  uint32_t longestTurn = 24; // instructions
  std::deque<std::unique_ptr<PendingOperation>> pending;
  std::array<uint32_t, kCounters> outstanding = {};
  std::array<uint8_t, kCounters> limit = {}; // that a blocked wave waits for
  bool blocked = false;
  /// When the youngest such operation is performed.
  uint64_t lastLds = 0, lastPrivate = 0, lastStore = 0;  // atomics are stores too
  std::array<uint8_t, kVectorRegisters> vectors[2] = {}; // pending writes, of low and high halves
  std::array<uint8_t, kVectorRegisters> writers = {};    // counters of the youngest of them
  std::array<uint8_t, kScalarCount> scalars = {};

  bool isPending(unsigned vgpr, uint8_t halves) const {
    return (halves & 1 && vectors[0][vgpr]) || (halves & 2 && vectors[1][vgpr]);
  }
  /// One write of the range more, or less.
  void count(const RegisterRange &range, int change) {
    for (unsigned i = range.first; i < unsigned(range.first) + range.count; ++i)
      for (unsigned half = 0; half < 2; ++half)
        if (!range.vector)
          scalars[i] = uint8_t(scalars[i] + (half == 0 ? change : 0));
        else if (range.halves >> half & 1)
          vectors[half][i] = uint8_t(vectors[half][i] + change);
  }
  bool within(const std::array<uint8_t, kCounters> &most) const {
    for (unsigned i = 0; i < kCounters; ++i)
      if (most[i] != InstructionStep::kNoLimit && outstanding[i] > most[i])
        return false;
    return true;
  }
};

/// Whether `step` may be issued or executed. An instruction may neither use nor overwrite what is
/// still to be loaded, which is a fault; only a load that returns behind the other may go to the
/// same registers.
bool registersAreThere(Wave &wave, const WaveOrder &order, const MicroOp &op,
                       const InstructionStep &step);

/// Keeps what `pending` has as operands now, and splits it into parts. Returns false if it raised a
/// fault.
bool prepare(PendingOperation &pending);

/// The oldest operations that have been performed return, as far as that has an order.
void returnDone(WaveOrder &order);

} // namespace rubia::emulator
