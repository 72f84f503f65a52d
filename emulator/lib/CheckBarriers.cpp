// Hardware counts waves, not threads, and forgets waves that have ended. CUDA wants all threads of
// a block, or none, at a __syncthreads() (CUDA C++ Programming Guide "Synchronization Functions").
//
// - A lane that was off at a barrier may have left for good, by a return. If it touches memory
//   later, it only went round the barrier.
// - Waves that pass one barrier at different places are told as a warning: PTX allows it.
// - Waves that have ended are not waited for, in CUDA too. But a wave that writes to memory and
//   ends while others come to one more barrier may have gone round it, or have returned early with
//   a result: a warning.
#include "emulator/lib/CheckBarriers.h"
#include "emulator/lib/FaultReport.h"
#include <map>

using namespace llvm;

namespace rubia::emulator {
namespace {

class BarrierCheck : public Observer {
public:
  explicit BarrierCheck(const Launch &launch) : program(*launch.kernel->program), launch(launch) {}

  void groupStarted(RunningGroup &group) override {
    states[&group].waves.resize(group.waves.size());
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
  };
  struct GroupState {
    std::vector<WaveState> waves;
    std::vector<const MicroOp *> barriers; // that the first wave to come came to
  };

  const Program &program; // has lines
  const Launch &launch;
  DenseMap<const RunningGroup *, GroupState> states;
  bool warnedOfPlaces = false, warnedOfRound = false;
};

void BarrierCheck::before(RunningGroup &group, Wave &wave, const MicroOp &op,
                          const InstructionStep &step, const Accesses &accesses) {
  WaveState &own = states[&group].waves[wave.indexInGroup];
  if (!own.wrote && any_of(accesses.lanes, [](const LaneAccess &access) {
        return access.writes && access.space != Space::Scratch;
      }))
    own.wrote = &op;
  const MicroOp *last = own.last;
  const uint64_t missed = wave.exec() & ~wave.barrierLanes;
  if (missed == 0 || !last)
    return;
  // Registers are spilled for all lanes, whether they are alive or not: private memory says
  // nothing.
  const bool acts = step.barrierSignals || any_of(accesses.lanes, [&](const LaneAccess &access) {
                      return access.space != Space::Scratch && missed >> access.lane & 1;
                    });
  if (!acts)
    return;
  raise(wave, *last, FaultKind::BarrierDivergence, unsigned(std::countr_zero(missed)));
  group.faultDetail = "this thread went round the barrier that others of its wave came to, and "
                      "goes on at " +
                      describePlace(program, op.pc);
}

void BarrierCheck::after(RunningGroup &group, Wave &wave, const MicroOp &op,
                         const InstructionStep &step) {
  if (!step.barrierSignals)
    return;
  GroupState &state = states[&group];
  WaveState &own = state.waves[wave.indexInGroup];
  own = {&op, own.arrived + 1, nullptr};
  if (own.arrived > state.barriers.size())
    state.barriers.push_back(&op);
}

/// Warns of a wave that went round a barrier, once.
void BarrierCheck::groupEnded(RunningGroup &group) {
  const GroupState state = std::move(states[&group]);
  states.erase(&group);
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
