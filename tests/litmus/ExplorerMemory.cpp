// SPDX-License-Identifier: Apache-2.0
// Performing operations: what memory and caches answer.
#include "tests/litmus/Explorer.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace llvm;
using namespace rubia::emulator;

namespace rubia::litmus {

/// All caches see that memory or an L2 has changed.
void Explorer::noteChange(State &state, unsigned location) {
  for (unsigned l2 = 0; l2 < l2Count; ++l2) {
    uint8_t &length = state.length[l2][location];
    uint8_t *history = state.history[l2][location];
    const uint8_t now = visible(state, l2, location);
    if (history[length - 1] == now)
      continue;
    if (length == kMaxHistory)
      result.isTooLarge = isOver = true;
    else
      history[length++] = now;
  }
}

void Explorer::dropLine(State &state, unsigned l2, unsigned location) {
  uint8_t &line = state.line[l2][location];
  if (line == Dirty)
    state.memory[location] = state.value[l2][location];
  line = Absent;
  state.value[l2][location] = 0;
  noteChange(state, location);
}

/// Whether the load is of a loop that nothing takes out of these caches.
void Explorer::noteHang(const PendingOp &op, bool inL0, bool inL1, bool inL2) {
  const auto &thread = threads[op.thread];
  for (const MachineOp &loop : thread) {
    const size_t end = size_t(&loop - thread.data());
    if (loop.kind != MachineOp::Loop || op.index < loop.head || op.index > end)
      continue;
    for (size_t i = loop.head; i < end; ++i) {
      const InstructionStep &step = thread[i].step;
      inL0 &= !step.invalidatesL0;
      inL1 &= !step.invalidatesL1;
      inL2 &= !(step.invalidatesL2 && beyondL2(*step.invalidatesL2));
    }
    if (inL0 || inL1 || inL2) {
      result.hangs = true;
      isOver |= allowed != nullptr;
    }
  }
}

bool Explorer::mayPerform(const State &state, unsigned index) const {
  const PendingOp &op = state.pending[index];
  if (op.isPerformed)
    return false;
  const MachineOp &mine = opOf(op);
  for (unsigned i = 0; i < index; ++i) {
    const PendingOp &before = state.pending[i];
    const MachineOp &its = opOf(before);
    if (before.isPerformed)
      continue;
    const bool sameThread = before.thread == op.thread;
    if (sameThread && mine.step.kind == StepKind::Cache && its.step.writes)
      return false;
    if (sameThread && mine.step.kind == StepKind::Lds && its.step.kind == StepKind::Lds)
      return false;
    if (unitOf(before.thread) == unitOf(op.thread) && mine.step.kind == StepKind::Vector &&
        its.step.kind == StepKind::Vector)
      for (const Access &a : mine.accesses)
        for (const Access &b : its.accesses)
          if (a.location == b.location)
            return false;
  }
  return true;
}

/// The operation has been performed.
void Explorer::finish(State &state, const PendingOp &op) const {
  for (unsigned i = 0; i < state.pendingCount; ++i)
    if (state.pending[i].thread == op.thread && state.pending[i].index == op.index &&
        !state.pending[i].isPerformed) {
      state.pending[i].isPerformed = true;
      break;
    }
  returnDone(state, op.thread);
}

static void keepLoaded(State &state, const PendingOp &op, const Access &access, uint8_t value) {
  for (unsigned slot : access.slots)
    state.outcome[slot] = value;
  if (access.slots.empty())
    state.loaded[op.thread] = value;
}

void Explorer::performLoad(const State &state, const PendingOp &op, size_t access) {
  const MachineOp &mine = opOf(op);
  const InstructionStep &step = mine.step;
  const unsigned location = unsigned(mine.accesses[access].location);
  const unsigned unit = unitOf(op.thread), l1 = l1Of(unit), l2 = l2Of(unit);
  auto take = [&](State next, uint8_t value) {
    keepLoaded(next, op, mine.accesses[access], value);
    performAccess(next, op, access + 1);
  };
  const uint8_t newest = last(state, l2, location);
  const bool isStale =
      state.line[l2][location] == Clean && state.value[l2][location] != state.memory[location];
  if (step.passesL0 && (step.passesL1 || !placement.hasL1)) {
    State next = state;
    if (placement.modelsL2 && !usesL2(step, location))
      dropLine(next, l2, location);
    else if (isStale && usesL2(step, location))
      noteHang(op, false, false, true);
    return take(next, visible(next, l2, location));
  }
  const uint8_t oldest = step.passesL0 ? state.l1[l1][location] : state.l0[unit][location];
  for (uint8_t i = oldest; i <= newest; ++i) {
    State next = state;
    uint8_t &inL0 = next.l0[unit][location], &inL1 = next.l1[l1][location];
    if (!step.passesL1)
      inL1 = std::max(inL1, i);
    if (!step.passesL0) // without the L1, it may be brought in again from there
      inL0 = step.passesL1 && placement.hasL1 ? std::min(i, inL1) : i;
    if (i < newest)
      noteHang(op, !step.passesL0, placement.hasL1 && !step.passesL1 && i >= inL1, false);
    if (isStale && usesL2(step, location))
      noteHang(op, false, false, true);
    take(next, next.history[l2][location][i]);
  }
}

/// Access `access` of the operation and those behind it.
void Explorer::performAccess(State state, const PendingOp &op, size_t access) {
  const MachineOp &mine = opOf(op);
  if (access == mine.accesses.size()) {
    finish(state, op);
    return add(state);
  }
  const Access &one = mine.accesses[access];
  const unsigned location = unsigned(one.location);
  const bool local = isLocal(location);
  if (mine.effect == MachineOp::Load && !local)
    return performLoad(state, op, access);
  const unsigned unit = unitOf(op.thread), l2 = l2Of(unit);
  const bool inL2 = !local && usesL2(mine.step, location);
  if (!local && placement.modelsL2 && !inL2)
    dropLine(state, l2, location);
  const uint8_t old = local ? state.lds[location] : visible(state, l2, location);
  if (mine.effect != MachineOp::Store)
    keepLoaded(state, op, one, old);
  const uint8_t value = mine.effect == MachineOp::Add    ? uint8_t(old + one.value)
                        : mine.effect == MachineOp::Load ? old
                                                         : uint8_t(one.value);
  if (local) {
    state.lds[location] = value;
    return performAccess(state, op, access + 1);
  }
  if (inL2) {
    state.line[l2][location] = Dirty;
    state.value[l2][location] = value;
  } else {
    state.memory[location] = value;
  }
  noteChange(state, location);
  state.l0[unit][location] = state.l1[l1Of(unit)][location] = last(state, l2, location);
  performAccess(state, op, access + 1);
}

void Explorer::performCacheOperation(State &state, const PendingOp &op) {
  const Reach reach = *opOf(op).step.writesBackL2;
  const unsigned l2 = l2Of(unitOf(op.thread));
  for (unsigned i = 0; placement.modelsL2 && beyondL2(reach) && i < test.locations.size(); ++i)
    if (state.line[l2][i] == Dirty) {
      state.memory[i] = state.value[l2][i];
      state.line[l2][i] = Clean;
      noteChange(state, i);
    }
}

void Explorer::perform(const State &state, unsigned index) {
  const PendingOp op = state.pending[index];
  if (opOf(op).kind == MachineOp::Memory)
    return performAccess(state, op, 0);
  State next = state;
  performCacheOperation(next, op);
  finish(next, op);
  add(next);
}

/// An L2 fetches a line, or evicts one.
void Explorer::disturb(const State &state) {
  if (!placement.modelsL2)
    return;
  for (unsigned l2 = 0; l2 < l2Count; ++l2) {
    Locations wanted = 0;
    for (unsigned thread = 0; thread < threads.size(); ++thread)
      if (l2Of(unitOf(thread)) == l2) {
        wanted |= future[thread][state.pc[thread]].l2;
        for (unsigned i = 0; i < state.pendingCount; ++i)
          if (state.pending[i].thread == thread && !state.pending[i].isPerformed)
            wanted |= future[thread][state.pending[i].index].l2;
      }
    for (unsigned i = 0; i < test.locations.size(); ++i) {
      const uint8_t line = state.line[l2][i];
      const bool isWanted = wanted >> i & 1;
      if (isLocal(i) || isUncached(i) || (line != Dirty && !isWanted))
        continue;
      State next = state;
      if (line == Absent) {
        next.line[l2][i] = Clean;
        next.value[l2][i] = state.memory[i];
      } else if (evicts) {
        dropLine(next, l2, i);
      } else {
        continue;
      }
      add(next);
    }
  }
}

} // namespace rubia::litmus
