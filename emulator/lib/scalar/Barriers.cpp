// SPDX-License-Identifier: Apache-2.0
// Barriers (RDNA4 ISA "Barriers"; S_BARRIER of the older generations is a signal and a wait in
// one).
//
// A barrier counts signals; when every member has signalled, it completes: its phase moves on. A
// wave that waits remembers the phase that it waits to end, so that it does not matter whether the
// barrier completes before or after it starts to wait. Waves of a workgroup run on one host thread,
// one at a time.
#include "emulator/lib/machine/Workgroup.h"
#include "emulator/lib/scalar/ScalarAlu.h"

namespace rubia::emulator {

void Workgroup::resetBarriers(unsigned waveCount) {
  for (Barrier &barrier : barriers)
    barrier = Barrier();
  barriers[0].members = waveCount;
}

void Barrier::signal() {
  ++signals;
  complete();
}
void Barrier::complete() {
  if (signals == 0 || signals < members)
    return;
  signals = 0;
  ++phase;
}

void Workgroup::waveEnded() {
  if (barriers[0].members)
    --barriers[0].members;
  barriers[0].complete();
}

bool Workgroup::mayPass(const Wave &wave) const {
  const bool named = wave.waitsFor != 0;
  return barriers[wave.waitsFor].phase != wave.barrierPhase[named];
}

namespace {

constexpr unsigned kNoBarrier = ~0u;

/// The index of a barrier id: -1 is the workgroup's, 1 to 16 are named.
unsigned indexOf(int32_t id) {
  if (id == -1)
    return 0;
  return id >= 1 && id <= int32_t(Workgroup::kNamedBarriers) ? unsigned(id) : kNoBarrier;
}
/// M0: the id in bits 5:0, a member count in bits 22:16.
int32_t idInM0(const Wave &w) { return int32_t(w.scalars[kM0] << 26) >> 26; }
uint32_t membersInM0(const Wave &w) { return w.scalars[kM0] >> 16 & 127; }

Barrier *find(Wave &w, const MicroOp &op, int32_t id) {
  const unsigned index = indexOf(id);
  if (index == kNoBarrier) {
    raise(w, op, FaultKind::IllegalInstruction);
    return nullptr;
  }
  return &w.group->barriers[index];
}

/// Returns whether this wave is the first to signal. EXEC does not matter: the instruction is
/// scalar, and hardware counts waves.
bool signal(Wave &w, const MicroOp &op, int32_t id, uint32_t members = 0) {
  Barrier *barrier = find(w, op, id);
  if (!barrier)
    return false;
  const bool named = id != -1;
  if (!named)
    w.barrierLanes = w.exec();
  else if (members)
    barrier->members = members;
  const bool first = barrier->signals == 0;
  w.barrierPhase[named] = barrier->phase;
  barrier->signal();
  return first;
}

void wait(Wave &w, unsigned index) {
  w.waitsFor = uint8_t(index);
  if (w.group->mayPass(w))
    w.barrierPhase[index != 0] = w.group->barriers[index].phase;
  else
    w.halt(WaveStatus::AtBarrier);
}

void initialise(Wave &w, const MicroOp &op, int32_t id) {
  if (Barrier *barrier = find(w, op, id)) {
    *barrier = Barrier();
    barrier->members = membersInM0(w);
  }
}
void join(Wave &w, const MicroOp &op, int32_t id) {
  if (Barrier *barrier = find(w, op, id)) {
    w.joined = uint8_t(indexOf(id));
    w.barrierPhase[1] = barrier->phase;
  }
}
/// Valid in bit 0, members in 10:4, signals in 22:16.
uint32_t state(Wave &w, const MicroOp &op, int32_t id) {
  const Barrier *barrier = find(w, op, id);
  return barrier ? 1 | (barrier->members & 127) << 4 | (barrier->signals & 127) << 16 : 0;
}

constexpr ScalarSemantics kRows[] = {
    {"S_BARRIER", scalar<[](Wave &w, const MicroOp &op) {
       signal(w, op, -1);
       if (w.status != WaveStatus::Faulted)
         wait(w, 0);
     }>},
    {"S_BARRIER_SIGNAL", scalar<[](Wave &w, const MicroOp &op, int32_t id) { signal(w, op, id); }>},
    {"S_BARRIER_SIGNAL_M0",
     scalar<[](Wave &w, const MicroOp &op) { signal(w, op, idInM0(w), membersInM0(w)); }>},
    {"S_BARRIER_SIGNAL_ISFIRST",
     scalar<[](Wave &w, const MicroOp &op, int32_t id) { return SccOnly{signal(w, op, id)}; }>},
    {"S_BARRIER_SIGNAL_ISFIRST_M0", scalar<[](Wave &w, const MicroOp &op) {
       return SccOnly{signal(w, op, idInM0(w), membersInM0(w))};
     }>},
    {"S_BARRIER_WAIT", scalar<[](Wave &w, const MicroOp &op) {
       if (int16_t(op.immediate) == -1)
         wait(w, 0);
       else if (w.joined)
         wait(w, w.joined);
       else
         raise(w, op, FaultKind::IllegalInstruction);
     }>},
    {"S_BARRIER_INIT",
     scalar<[](Wave &w, const MicroOp &op, int32_t id) { initialise(w, op, id); }>},
    {"S_BARRIER_INIT_M0", scalar<[](Wave &w, const MicroOp &op) { initialise(w, op, idInM0(w)); }>},
    {"S_BARRIER_JOIN", scalar<[](Wave &w, const MicroOp &op, int32_t id) { join(w, op, id); }>},
    {"S_BARRIER_JOIN_M0", scalar<[](Wave &w, const MicroOp &op) { join(w, op, idInM0(w)); }>},
    {"S_BARRIER_LEAVE", scalar<[](Wave &w) {
       const bool member = w.joined;
       if (member) {
         Barrier &barrier = w.group->barriers[w.joined];
         if (barrier.members)
           --barrier.members;
         barrier.complete();
         w.joined = 0;
       }
       return SccOnly{member};
     }>},
    {"S_GET_BARRIER_STATE",
     scalar<[](Wave &w, const MicroOp &op, int32_t id) { return state(w, op, id); }>},
    {"S_GET_BARRIER_STATE_M0",
     scalar<[](Wave &w, const MicroOp &op) { return state(w, op, idInM0(w)); }>},
};

} // namespace

const ScalarTable kBarriers = table(kRows);

} // namespace rubia::emulator
