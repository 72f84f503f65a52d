// SPDX-License-Identifier: Apache-2.0
// Moves, selections and the instructions that look across lanes. The arithmetic is in the files
// beside this one, by type of the operands.
#include "emulator/lib/machine/Lanewise.h"
#include "emulator/lib/vector/Fused.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

void noOperation(WaveOperands &) {}

void readFirstLane(WaveOperands &w) { w.setScalarResult(w.source(0, w.firstActiveLane())); }

void readLane(WaveOperands &w) { w.setScalarResult(w.source(0, w.source(1, 0) % w.laneCount())); }

// Sources: value, lane; the other lanes keep the destination's contents. EXEC plays no part.
void writeLane(WaveOperands &w) { w.setResult(w.source(1, 0) % w.laneCount(), w.source(0, 0)); }

void swap(WaveOperands &w) {
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    if (w.active(lane)) {
      uint32_t old = w.result(lane);
      w.setResult(lane, w.source(0, lane));
      w.setSource(0, lane, old);
    }
}

// op_sel of the source chooses its half, op_sel_hi (the destination's bit) that of the destination.
void swapHalves(WaveOperands &w) {
  const unsigned fromShift = w.modifiers(0) & 4 ? 16 : 0, toShift = w.modifiers(0) & 8 ? 16 : 0;
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    if (w.active(lane)) {
      const uint32_t to = w.result(lane) >> toShift & 0xffff;
      const uint32_t from = w.source(0, lane) >> fromShift & 0xffff;
      w.setResult(lane, (w.result(lane) & ~(0xffffu << toShift)) | from << toShift);
      w.setSource(0, lane, (w.source(0, lane) & ~(0xffffu << fromShift)) | to << fromShift);
    }
}

/// Lanes of the source whose number lacks bit kDistance change places with those of the destination
/// that have it. Assumed: an active lane whose partner is not keeps its value, or is 0 with
/// bound_ctrl; fi lets it read the partner all the same.
template <unsigned kDistance> void swapLanes(WaveOperands &w) {
  for (unsigned low = 0; low < w.laneCount(); ++low) {
    if (low & kDistance)
      continue;
    const unsigned high = low | kDistance;
    const uint32_t fromLow = w.source(0, low), fromHigh = w.result(high);
    const bool takesHigh = w.active(high) || w.fetchInactive();
    const bool takesLow = w.active(low) || w.fetchInactive();
    if (w.active(low) && (takesHigh || w.boundControl()))
      w.setSource(0, low, takesHigh ? fromHigh : 0);
    if (w.active(high) && (takesLow || w.boundControl()))
      w.setResult(high, takesLow ? fromLow : 0);
  }
}

/// Every active lane takes the value of lane `from(lane)`. op_sel of the first source lets it read
/// inactive lanes, op_sel of the second makes the result of such a read 0 instead of the old value.
template <class From> void permute(WaveOperands &w, From from) {
  constexpr uint32_t kOpSel = 4;
  bool fetchInactive = w.modifiers(0) & kOpSel, boundControl = w.modifiers(1) & kOpSel;
  uint32_t values[64];
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    values[lane] = w.source(0, lane);
  for (unsigned lane = 0; lane < w.laneCount(); ++lane) {
    if (!w.active(lane))
      continue;
    unsigned source = from(lane);
    if (fetchInactive || w.active(source))
      w.setResult(lane, values[source]);
    else if (boundControl)
      w.setResult(lane, 0);
  }
}

/// Nibble i of {source 2, source 1} is the lane that lane i of each row of 16 reads, in the row
/// `rowFlip` away.
template <unsigned kRowFlip> void permuteRows(WaveOperands &w) {
  uint64_t selectors = uint64_t(w.source(2, 0)) << 32 | w.source(1, 0);
  permute(w, [&](unsigned lane) {
    return unsigned((lane & ~15u) ^ kRowFlip) | unsigned(selectors >> (lane & 15) * 4 & 15);
  });
}

/// The same with the selectors in the lanes of source 1.
template <unsigned kRowFlip> void permuteRowsVariable(WaveOperands &w) {
  uint32_t selectors[64];
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    selectors[lane] = w.source(1, lane);
  permute(w, [&](unsigned lane) { return ((lane & ~15u) ^ kRowFlip) | (selectors[lane] & 15); });
}

// Lanes change places with those 32 further on, active or not; nothing happens in a wave32.
void permuteHalves(WaveOperands &w) {
  if (w.laneCount() != 64)
    return;
  uint32_t values[64];
  for (unsigned lane = 0; lane < 64; ++lane)
    values[lane] = w.source(0, lane);
  for (unsigned lane = 0; lane < 64; ++lane)
    if (w.active(lane))
      w.setResult(lane, values[lane ^ 32]);
}

template <class Move> void forActiveLanes(WaveOperands &w, Move move) {
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    if (w.active(lane))
      move(lane);
}

// Relative addressing by M0.
void moveFromRelative(WaveOperands &w) {
  forActiveLanes(w, [&](unsigned lane) { w.setResult(lane, w.sourceRelative(0, lane, w.m0())); });
}
void moveToRelative(WaveOperands &w) {
  forActiveLanes(w, [&](unsigned lane) { w.setResultRelative(lane, w.m0(), w.source(0, lane)); });
}
void moveBetweenRelative(WaveOperands &w) {
  forActiveLanes(w, [&](unsigned lane) {
    w.setResultRelative(lane, w.m0(), w.sourceRelative(0, lane, w.m0()));
  });
}
// The offsets of source and destination are M0's fields of 10 bits at 0 and 16.
void moveBetweenTwoRelative(WaveOperands &w) {
  forActiveLanes(w, [&](unsigned lane) {
    w.setResultRelative(lane, w.m0() >> 16 & 0x3ff, w.sourceRelative(0, lane, w.m0() & 0x3ff));
  });
}

void swapTwoRelative(WaveOperands &w) {
  const uint32_t from = w.m0() & 0x3ff, to = w.m0() >> 16 & 0x3ff;
  forActiveLanes(w, [&](unsigned lane) {
    const uint32_t old = w.resultRelative(lane, to);
    w.setResultRelative(lane, to, w.sourceRelative(0, lane, from));
    w.setSourceRelative(0, lane, from, old);
  });
}

uint32_t bitsBelow(uint32_t lane) { return lane >= 32 ? ~0u : (1u << lane) - 1; }

constexpr Semantics kRows[] = {
    {"V_NOP", wavewise<noOperation>},
    {"V_PIPEFLUSH", wavewise<noOperation>},
    {"V_CLREXCP", wavewise<noOperation>},
    {"V_MOV_B32", hot<[](uint32_t a) { return a; }>},
    {"V_MOV_B16", hot<[](uint16_t a) { return a; }>},
    {"V_ACCVGPR_READ_B32", hot<[](uint32_t a) { return a; }>},
    {"V_ACCVGPR_WRITE_B32", hot<[](uint32_t a) { return a; }>},
    {"V_ACCVGPR_MOV_B32", hot<[](uint32_t a) { return a; }>},
    {"V_CNDMASK_B32", hot<[](uint32_t a, uint32_t b, bool second) { return second ? b : a; }>},
    {"V_CNDMASK_B16", hot<[](uint16_t a, uint16_t b, bool second) { return second ? b : a; }>},
    {"V_MBCNT_LO_U32_B32", hot<[](LaneId lane, uint32_t mask, uint32_t count) {
       return count + uint32_t(std::popcount(mask & bitsBelow(lane.value)));
     }>},
    {"V_MBCNT_HI_U32_B32", hot<[](LaneId lane, uint32_t mask, uint32_t count) {
       uint32_t below = lane.value < 32 ? 0 : bitsBelow(lane.value - 32);
       return count + uint32_t(std::popcount(mask & below));
     }>},
    {"V_READFIRSTLANE_B32", wavewise<readFirstLane>},
    {"V_READLANE_B32", wavewise<readLane>},
    {"V_WRITELANE_B32", wavewise<writeLane>},
    {"V_SWAP_B32", wavewise<swap>},
    {"V_SWAP_B16", wavewise<swapHalves>},
    {"V_SWAPREL_B32", wavewise<swapTwoRelative>},
    {"V_PERMLANE16_SWAP_B32", wavewise<swapLanes<16>>},
    {"V_PERMLANE32_SWAP_B32", wavewise<swapLanes<32>>},
    {"V_PERMLANE16_B32", wavewise<permuteRows<0>>},
    {"V_PERMLANEX16_B32", wavewise<permuteRows<16>>},
    {"V_PERMLANE16_VAR_B32", wavewise<permuteRowsVariable<0>>},
    {"V_PERMLANEX16_VAR_B32", wavewise<permuteRowsVariable<16>>},
    {"V_PERMLANE64_B32", wavewise<permuteHalves>},
    {"V_MOVRELS_B32", wavewise<moveFromRelative>},
    {"V_MOVRELD_B32", wavewise<moveToRelative>},
    {"V_MOVRELSD_B32", wavewise<moveBetweenRelative>},
    {"V_MOVRELSD_2_B32", wavewise<moveBetweenTwoRelative>},
};

} // namespace

extern const SemanticsTable kVectorAlu;
const SemanticsTable kVectorAlu = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
