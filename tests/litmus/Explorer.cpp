// SPDX-License-Identifier: Apache-2.0
// Issuing, returning, and which states are alike.
#include "tests/litmus/Explorer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <cstring>

using namespace llvm;
using namespace rubia::emulator;

namespace rubia::litmus {

void Explorer::prepare() {
  for (size_t i = 0; i < threads.size(); ++i) {
    unitCount = std::max(unitCount, unitOf(unsigned(i)) + 1);
    l2Count = std::max(l2Count, l2Of(unitOf(unsigned(i))) + 1);
    auto &mine = future.emplace_back(threads[i].size() + 1);
    for (size_t at = threads[i].size(); at-- > 0;) {
      const MachineOp &op = threads[i][at];
      mine[at] = mine[at + 1];
      if (op.kind != MachineOp::Memory)
        continue;
      for (const Access &access : op.accesses) {
        const Locations bit = Locations(1u << access.location);
        mine[at].any |= bit;
        const bool loads = op.effect == MachineOp::Load;
        mine[at].l0 |= loads && !op.step.passesL0 ? bit : 0;
        mine[at].l1 |= loads && !(op.step.passesL0 && op.step.passesL1) ? bit : 0;
        mine[at].l2 |= op.effect != MachineOp::Store && !beyondL2(op.step.reach) ? bit : 0;
      }
    }
    for (size_t at = threads[i].size(); at-- > 0;)
      if (threads[i][at].kind == MachineOp::Loop) {
        hasLoops = true;
        for (size_t in = threads[i][at].head; in <= at; ++in)
          mine[in] = mine[threads[i][at].head];
      }
  }
}

State Explorer::initial(const MachineProgram &program) const {
  State state;
  std::memset(&state, 0, sizeof(state));
  std::memset(state.lds, kUninitialised, sizeof(state.lds));
  for (auto &lengths : state.length)
    std::memset(lengths, 1, sizeof(lengths));
  for (auto [slot, value] : program.constants)
    state.outcome[slot] = uint8_t(value);
  return state;
}

bool Explorer::isAwaited(const State &state, const MachineOp &op, unsigned thread) const {
  if (op.kind == MachineOp::AwaitSignals) {
    for (unsigned other = 0; other < threads.size(); ++other)
      if (test.cta[other] == test.cta[thread] && state.pc[other] < threads[other].size() &&
          state.signals[other] < state.signals[thread])
        return true;
    return false;
  }
  unsigned outstanding[kCounters] = {};
  for (unsigned i = 0; i < state.pendingCount; ++i)
    if (state.pending[i].thread == thread)
      for (unsigned c = 0; c < kCounters; ++c)
        outstanding[c] += opOf(state.pending[i]).step.counters >> c & 1;
  for (unsigned c = 0; c < kCounters; ++c)
    if (op.step.limit[c] != InstructionStep::kNoLimit && outstanding[c] > op.step.limit[c])
      return true;
  return false;
}

/// Takes a step that no other thread can tell from not having been taken yet. Returns false if
/// there is none.
bool Explorer::advance(State &state, unsigned thread) const {
  if (state.pc[thread] >= threads[thread].size())
    return false;
  const MachineOp &op = threads[thread][state.pc[thread]];
  switch (op.kind) {
  case MachineOp::Wait:
  case MachineOp::AwaitSignals:
    if (isAwaited(state, op, thread))
      return false;
    break;
  case MachineOp::Signal:
    ++state.signals[thread];
    break;
  case MachineOp::Loop:
    if (state.loaded[thread] != op.awaited) {
      state.pc[thread] = uint8_t(op.head);
      return true;
    }
    state.loaded[thread] = 0;
    break;
  case MachineOp::Memory: { // at once, unless it competes with others for a place in the order
    Locations mine = 0, others = 0;
    for (const Access &access : op.accesses)
      mine |= isLocal(unsigned(access.location)) ? 0 : Locations(1u << access.location);
    for (unsigned other = 0; other < threads.size(); ++other)
      if (other != thread && unitOf(other) == unitOf(thread))
        others |= future[other][state.pc[other]].any;
    if (mine & others || state.pendingCount == kMaxPending)
      return false;
    state.pending[state.pendingCount++] = {uint8_t(thread), state.pc[thread], op.accesses.empty()};
    ++state.pc[thread];
    returnDone(state, thread);
    return true;
  }
  case MachineOp::Cache:
    return false;
  case MachineOp::Other:
    break;
  }
  ++state.pc[thread];
  return true;
}

void Explorer::advance(State &state) const {
  for (bool more = true; more;) {
    more = false;
    for (unsigned thread = 0; thread < threads.size(); ++thread)
      while (advance(state, thread))
        more = true;
  }
}

/// A memory operation or a cache operation.
void Explorer::issue(State state, unsigned thread) {
  const MachineOp &op = threads[thread][state.pc[thread]];
  const InstructionStep &step = op.step;
  const unsigned unit = unitOf(thread), l1 = l1Of(unit), l2 = l2Of(unit);
  bool isPerformed = false;
  if (op.kind == MachineOp::Cache) {
    for (unsigned i = 0; i < test.locations.size(); ++i) {
      if (step.invalidatesL2 && beyondL2(*step.invalidatesL2) && state.line[l2][i] == Clean)
        dropLine(state, l2, i);
      if (step.invalidatesL1)
        state.l1[l1][i] = last(state, l2, i);
      if (step.invalidatesL0)
        state.l0[unit][i] = placement.hasL1 ? state.l1[l1][i] : last(state, l2, i);
    }
    isPerformed = !step.writesBackL2;
  }
  if (step.counters && state.pendingCount == kMaxPending) {
    result.isTooLarge = isOver = true;
    return;
  }
  if (step.counters)
    state.pending[state.pendingCount++] = {uint8_t(thread), state.pc[thread], isPerformed};
  ++state.pc[thread];
  returnDone(state, thread);
  add(state);
}

void Explorer::returnDone(State &state, unsigned thread) const {
  uint8_t held = 0;
  unsigned kept = 0;
  for (unsigned i = 0; i < state.pendingCount; ++i) {
    const PendingOp op = state.pending[i];
    const uint8_t counters = opOf(op).step.counters;
    if (op.thread == thread && op.isPerformed && !(counters & held))
      continue;
    if (op.thread == thread)
      held |= counters;
    state.pending[kept++] = op;
  }
  std::memset(state.pending + kept, 0, (state.pendingCount - kept) * sizeof(PendingOp));
  state.pendingCount = uint8_t(kept);
}

/// Forgets what can make no difference any more.
void Explorer::normalise(State &state) {
  Locations inL0[kCaches] = {}, inL1[kCaches] = {}, inL2[kCaches] = {};
  auto look = [&](unsigned thread, const Future &future) {
    const unsigned unit = unitOf(thread);
    inL0[unit] |= future.l0;
    inL1[l1Of(unit)] |= future.l1;
    inL2[l2Of(unit)] |= future.l2;
  };
  for (unsigned thread = 0; thread < threads.size(); ++thread)
    look(thread, future[thread][state.pc[thread]]);
  for (unsigned i = 0; i < state.pendingCount; ++i)
    if (!state.pending[i].isPerformed)
      look(state.pending[i].thread, future[state.pending[i].thread][state.pending[i].index]);
  for (unsigned l2 = 0; l2 < l2Count; ++l2)
    for (unsigned i = 0; i < test.locations.size(); ++i) {
      if (state.line[l2][i] == Clean && !(inL2[l2] >> i & 1)) {
        state.line[l2][i] = Absent;
        state.value[l2][i] = 0;
        noteChange(state, i);
      }
      uint8_t oldest = last(state, l2, i);
      for (unsigned unit = 0; unit < unitCount; ++unit) {
        if (l2Of(unit) != l2)
          continue;
        uint8_t &l0 = state.l0[unit][i], &l1 = state.l1[l1Of(unit)][i];
        l0 = inL0[unit] >> i & 1 ? l0 : last(state, l2, i);
        l1 = placement.hasL1 && inL1[l1Of(unit)] >> i & 1 ? l1 : last(state, l2, i);
        oldest = std::min({oldest, l0, l1});
      }
      uint8_t *history = state.history[l2][i], &length = state.length[l2][i];
      length -= oldest;
      std::memmove(history, history + oldest, length);
      std::memset(history + length, 0, kMaxHistory - length);
      for (unsigned unit = 0; unit < unitCount; ++unit)
        if (l2Of(unit) == l2)
          state.l0[unit][i] -= oldest;
      for (unsigned l1 = 0; l1 < kCaches; ++l1) {
        const bool isUsed = llvm::any_of(seq(0u, unitCount), [&](unsigned unit) {
          return l1Of(unit) == l1 && l2Of(unit) == l2;
        });
        if (isUsed)
          state.l1[l1][i] -= oldest;
      }
    }
  // The order of issue matters within a thread, and to a place in memory from a compute unit.
  auto swaps = [&](const PendingOp &a, const PendingOp &b) {
    if (a.thread <= b.thread)
      return false;
    if (unitOf(a.thread) == unitOf(b.thread))
      for (const Access &x : opOf(a).accesses)
        for (const Access &y : opOf(b).accesses)
          if (x.location == y.location)
            return false;
    return true;
  };
  for (bool more = true; more;) {
    more = false;
    for (unsigned i = 0; i + 1 < state.pendingCount; ++i)
      if (swaps(state.pending[i], state.pending[i + 1])) {
        std::swap(state.pending[i], state.pending[i + 1]);
        more = true;
      }
  }
}

void Explorer::add(State state) {
  advance(state);
  normalise(state);
  auto [found, fresh] = known.try_emplace(
      std::string(reinterpret_cast<const char *>(&state), sizeof(state)), uint32_t(known.size()));
  if (hasLoops)
    edges.emplace_back(found->second, current);
  if (!fresh)
    return;
  todo.push_back(state);
  todoNumbers.push_back(found->second);
  if (++result.states > kMaxStates)
    result.isTooLarge = isOver = true;
}

void Explorer::end(const State &state) {
  ends.push_back(current);
  // What is dirty in several L2s is written back in any order.
  std::vector<Outcome> outcomes(1, Outcome(test.results + test.locations.size()));
  for (size_t i = 0; i < outcomes[0].size(); ++i)
    outcomes[0][i] = state.outcome[i];
  for (unsigned i = 0; i < test.locations.size(); ++i) {
    if (isLocal(i))
      continue;
    std::vector<uint8_t> values;
    for (unsigned l2 = 0; l2 < l2Count; ++l2)
      if (state.line[l2][i] == Dirty)
        values.push_back(state.value[l2][i]);
    if (values.empty())
      values.push_back(state.memory[i]);
    std::vector<Outcome> next;
    for (Outcome &outcome : outcomes)
      for (uint8_t value : values) {
        outcome[test.results + i] = value;
        next.push_back(outcome);
      }
    outcomes = std::move(next);
  }
  for (const Outcome &outcome : outcomes) {
    result.outcomes.insert(outcome);
    isOver |= allowed && !allowed->contains(outcome);
  }
}

void Explorer::expand(const State &state) {
  bool isEnd = state.pendingCount == 0;
  for (unsigned thread = 0; thread < threads.size(); ++thread) {
    if (state.pc[thread] >= threads[thread].size())
      continue;
    isEnd = false;
    const MachineOp &op = threads[thread][state.pc[thread]];
    if (op.kind == MachineOp::Memory || op.kind == MachineOp::Cache)
      issue(state, thread);
  }
  for (unsigned i = 0; i < state.pendingCount; ++i)
    if (mayPerform(state, i))
      perform(state, i);
  if (isEnd)
    end(state);
  else
    disturb(state);
}

bool Explorer::run(const MachineProgram &program) {
  prepare();
  add(initial(program));
  while (!todo.empty() && !isOver) {
    const State state = todo.back();
    current = todoNumbers.back();
    todo.pop_back();
    todoNumbers.pop_back();
    expand(state);
  }
  if (isOver || !hasLoops)
    return !isOver;
  // From everywhere the end must be reachable.
  std::sort(edges.begin(), edges.end());
  std::vector<bool> reachesEnd(known.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    const uint32_t to = ends[i];
    reachesEnd[to] = true;
    for (auto at = std::lower_bound(edges.begin(), edges.end(), std::pair(to, 0u));
         at != edges.end() && at->first == to; ++at)
      if (!reachesEnd[at->second]) {
        reachesEnd[at->second] = true;
        ends.push_back(at->second);
      }
  }
  if (llvm::is_contained(reachesEnd, false)) {
    result.hangs = true;
    return allowed == nullptr;
  }
  return true;
}

} // namespace rubia::litmus
