// SPDX-License-Identifier: Apache-2.0
// Global wave sync: counters that the workgroups of a cooperative launch meet at. HIP's grid.sync()
// is one DS_GWS_BARRIER of a wave of each workgroup where the processor has it (RDNA2 ISA
// "DS_GWS_BARRIER", CDNA2 ISA "Global Wave Sync").
//
// A barrier's counter says how many waves are still to come besides the one that completes it; who
// finds it at 0 sets it again, to the number in its own register, and lets all go. A wave that
// waits executes the instruction again whenever its turn comes.
#include "emulator/lib/machine/WaveSync.h"
#include "emulator/lib/machine/Addressing.h"

namespace rubia::emulator {
namespace {

/// Of the first active lane.
uint32_t valueOf(const Wave &w, const MicroOp &op) {
  return w.vgpr(uint32_t(op.source[2]), unsigned(std::countr_zero(w.exec())));
}

/// Which of the counters; null if the launch has none: GWS is for cooperative launches.
WaveSync::Counter *counterOf(Wave &w, const MicroOp &op) {
  WaveSync *sync = w.group->sync;
  if (!sync) {
    raise(w, op, FaultKind::IllegalInstruction);
    return nullptr;
  }
  return &sync->counters[((w.scalars[kM0] >> 16 & 63) + uint32_t(op.immediate)) %
                         WaveSync::kCounters];
}

void initialise(Wave &w, const MicroOp &op) {
  if (w.exec() == 0)
    return;
  if (WaveSync::Counter *counter = counterOf(w, op)) {
    std::lock_guard lock(w.group->sync->mutex);
    counter->left = valueOf(w, op);
  }
}

void barrier(Wave &w, const MicroOp &op) {
  if (w.exec() == 0)
    return;
  WaveSync::Counter *counter = counterOf(w, op);
  if (!counter)
    return;
  std::lock_guard lock(w.group->sync->mutex);
  if (!w.inWaveSync && counter->left == 0) {
    counter->left = valueOf(w, op);
    ++counter->phase;
    w.group->sync->progress.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (!w.inWaveSync) {
    --counter->left;
    w.inWaveSync = true;
    w.waveSyncPhase = counter->phase;
  }
  if (w.waveSyncPhase == counter->phase) {
    w.next = &op;
    w.halt(WaveStatus::Yielded);
  } else {
    w.inWaveSync = false;
  }
}

constexpr MemorySemantics kRows[] = {
    {"DS_GWS_INIT", initialise},
    {"DS_GWS_BARRIER", barrier},
};

} // namespace

const MemoryTable kWaveSync = table(kRows);

} // namespace rubia::emulator
