// SPDX-License-Identifier: Apache-2.0
// Hardware counts waves, not threads, and forgets waves that have ended. CUDA wants all threads of
// a block, or none, at a __syncthreads() (CUDA C++ Programming Guide "Synchronization Functions").
//
// - A lane that was off at a barrier may have left for good, by a return. If it touches memory
//   later, together with lanes that were on, or comes to a barrier, it only went round the barrier.
// - If it touches memory by itself, it may be on its way to the return: a warning, if it writes.
//   LLVM makes one instruction of the stores of several ways; it has no line, and proves nothing.
// - In a whole-wave region all lanes are on, also those without a thread and those that have
//   returned: those count that were on before it.
// - Waves that pass one barrier at different places are told as a warning: PTX allows it.
// - Waves that have ended are not waited for, in CUDA too. But a wave that writes to memory and
//   ends while others come to one more barrier may have gone round it, or have returned early with
//   a result: a warning.
#include "emulator/lib/check/CheckBarriers.h"
#include "emulator/lib/run/FaultReport.h"
#include <map>

using namespace llvm;

namespace rubia::emulator {
namespace {

class BarrierCheck : public Observer {
public:
  explicit BarrierCheck(const Launch &launch) : program(*launch.kernel->program), launch(launch) {}

  bool followsComputation() const override { return false; }
  void groupStarted(RunningGroup &group) override {
    states[&group].waves.resize(group.waves.size());
    for (const Wave &wave : group.waves)
      states[&group].waves[wave.indexInGroup].on = wave.barrierLanes;
  }
  void groupEnded(RunningGroup &group) override;
  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;
  void after(RunningGroup &group, Wave &wave, const MicroOp &op,
             const InstructionStep &step) override;
  void barrierCompleted(RunningGroup &group, unsigned barrier) override;

private:
  struct WaveState {
    const MicroOp *last = nullptr;  // where it last came to the workgroup's barrier
    size_t arrived = 0;             // how often it did
    const MicroOp *wrote = nullptr; // its first write to memory since then
    uint64_t on = 0;                // lanes that were on there, at first all
    bool inWholeWave = false;
    uint64_t outside = 0, before = 0;    // EXEC before the region, and before the last instruction
    const MicroOp *wroteAlone = nullptr; // by lanes that were off at barrier `roundOf`
    const MicroOp *roundOf = nullptr;
    unsigned aloneLane = 0;
  };
  struct GroupState {
    std::vector<WaveState> waves;
    std::vector<const MicroOp *> barriers; // that the first wave to come came to
  };

  const Program &program; // has lines
  const Launch &launch;
  DenseMap<const RunningGroup *, GroupState> states;
  bool warnedOfPlaces = false, warnedOfRound = false, warnedOfLanes = false;

  bool hasLine(const MicroOp &op) const;
  void warnOfLanes(const RunningGroup &group, const GroupState &state);
};

void BarrierCheck::before(RunningGroup &group, Wave &wave, const MicroOp &op,
                          const InstructionStep &step, const Accesses &accesses) {
  WaveState &own = states[&group].waves[wave.indexInGroup];
  own.before = wave.exec();
  if (!own.wrote && any_of(accesses.lanes, [](const LaneAccess &access) {
        return access.writes && access.space != Space::Scratch;
      }))
    own.wrote = &op;
  const uint64_t exec = own.inWholeWave ? own.outside : wave.exec();
  const uint64_t missed = own.last ? exec & ~own.on : 0;
  if (missed == 0)
    return;
  // Registers are spilled for all lanes, whether they are alive or not: private memory says
  // nothing.
  const auto *const act = find_if(accesses.lanes, [&](const LaneAccess &access) {
    return access.space != Space::Scratch && missed >> access.lane & 1;
  });
  if (!step.barrierSignals && act == accesses.lanes.end())
    return;
  const bool isAlone = (exec & own.on) == 0 || !hasLine(op);
  if (!step.barrierSignals && isAlone) {
    if (!own.wroteAlone && act->writes) {
      own.wroteAlone = &op;
      own.roundOf = own.last;
      own.aloneLane = act->lane;
    }
    return;
  }
  raise(wave, *own.last, FaultKind::BarrierDivergence, unsigned(std::countr_zero(missed)));
  group.faultDetail = "this thread went round the barrier that others of its wave came to, and "
                      "goes on at " +
                      describePlace(program, op.pc);
}

void BarrierCheck::after(RunningGroup &group, Wave &wave, const MicroOp &op,
                         const InstructionStep &step) {
  GroupState &state = states[&group];
  WaveState &own = state.waves[wave.indexInGroup];
  if (step.opensWholeWave && !own.inWholeWave) {
    own.inWholeWave = true;
    own.outside = own.before;
  } else if (step.writesExec && !step.opensWholeWave) {
    own.inWholeWave = false;
  }
  if (!step.barrierSignals)
    return;
  own.last = &op;
  own.on = own.inWholeWave ? own.outside : wave.barrierLanes;
  own.wrote = nullptr;
  if (++own.arrived > state.barriers.size())
    state.barriers.push_back(&op);
}

bool BarrierCheck::hasLine(const MicroOp &op) const {
  return !program.lines || !StringRef(program.lines->at(op.pc)).starts_with("near ");
}

/// Warns of lanes that went round a barrier, once for each launch.
void BarrierCheck::warnOfLanes(const RunningGroup &group, const GroupState &state) {
  for (size_t i = 0; i < state.waves.size() && !warnedOfLanes && launch.warn; ++i) {
    const WaveState &wave = state.waves[i];
    if (!wave.wroteAlone)
      continue;
    warnedOfLanes = true;
    launch.warn("kernel " + launch.kernel->name + ": thread " +
                triple(threadOf(launch, program, unsigned(i), wave.aloneLane)) + " of workgroup " +
                triple(group.id) + " goes round the barrier at " +
                describePlace(program, wave.roundOf->pc) +
                " that others of its warp pass, and writes to memory at " +
                describePlace(program, wave.wroteAlone->pc) +
                ": CUDA allows that to threads that return, and only to them");
  }
}

/// Warns of a wave that went round a barrier, once.
void BarrierCheck::groupEnded(RunningGroup &group) {
  const GroupState state = std::move(states[&group]);
  states.erase(&group);
  warnOfLanes(group, state);
  for (size_t i = 0; i < state.waves.size() && !warnedOfRound && launch.warn; ++i) {
    const WaveState &wave = state.waves[i];
    if (wave.arrived == state.barriers.size() || !wave.wrote)
      continue;
    warnedOfRound = true;
    const Dim3 first = threadOf(launch, program, unsigned(i), 0);
    launch.warn("kernel " + launch.kernel->name + ": the warp of thread " + triple(first) +
                " of workgroup " + triple(group.id) + " never comes to the barrier at " +
                describePlace(program, state.barriers[wave.arrived]->pc) +
                " that others pass, and writes to memory at " +
                describePlace(program, wave.wrote->pc) +
                ": CUDA allows that to threads that return, and only to them");
  }
}

/// Warns of waves at different places, once.
void BarrierCheck::barrierCompleted(RunningGroup &group, unsigned barrier) {
  if (barrier != 0 || warnedOfPlaces || !launch.warn)
    return;
  std::map<uint32_t, unsigned> places;
  for (const Wave &wave : group.waves)
    if (const MicroOp *last = states[&group].waves[wave.indexInGroup].last;
        last && wave.status != WaveStatus::Ended)
      ++places[last->pc];
  if (places.size() < 2)
    return;
  warnedOfPlaces = true;
  std::string text = "kernel " + launch.kernel->name + ": waves of workgroup " + triple(group.id) +
                     " pass one barrier at different places";
  for (const auto &[pc, count] : places)
    text += ", " + std::to_string(count) + " at " + describePlace(program, pc);
  launch.warn(text);
}

} // namespace

std::unique_ptr<Observer> makeBarrierCheck(const Launch &launch) {
  return std::make_unique<BarrierCheck>(launch);
}

} // namespace rubia::emulator
