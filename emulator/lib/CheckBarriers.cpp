// Hardware counts waves, not threads, and forgets waves that have ended. CUDA wants all threads of
// a block, or none, at a __syncthreads() (CUDA C++ Programming Guide "Synchronization Functions").
//
// - A lane that was off at a barrier may have left for good, by a return. If it touches memory
//   later, it only went round the barrier.
// - A wave that has ended without coming to any barrier returned early. One that came to some, and
//   not to those that others then pass, left a loop too soon.
// - Waves that pass one barrier at different places are told as a warning: PTX allows it.
#include "emulator/lib/CheckBarriers.h"
#include "emulator/lib/FaultReport.h"

using namespace llvm;

namespace rubia::emulator {
namespace {

struct Arrival {
  const MicroOp *last = nullptr; // where the wave last came to the workgroup's barrier
  uint64_t count = 0;            // how often it has
};

class BarrierCheck : public Observer {
public:
  explicit BarrierCheck(const Launch &launch) : program(*launch.kernel->program), launch(launch) {}

  void groupStarted(RunningGroup &group) override {
    arrivals[&group].assign(group.waves.size(), Arrival());
  }
  void groupEnded(RunningGroup &group) override { arrivals.erase(&group); }
  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;
  void after(RunningGroup &group, Wave &wave, const MicroOp &op,
             const InstructionStep &step) override;
  void barrierCompleted(RunningGroup &group, unsigned barrier) override;

private:
  void warnOfPlaces(RunningGroup &group, const std::vector<Arrival> &all);

  const Program &program; // has lines
  const Launch &launch;
  DenseMap<const RunningGroup *, std::vector<Arrival>> arrivals;
  bool warned = false;
};

void BarrierCheck::before(RunningGroup &group, Wave &wave, const MicroOp &op,
                          const InstructionStep &step, const Accesses &accesses) {
  const Arrival &arrival = arrivals[&group][wave.indexInGroup];
  const uint64_t missed = wave.exec() & ~wave.barrierLanes;
  if (missed == 0 || !arrival.last)
    return;
  // Registers are spilled for all lanes, whether they are alive or not: private memory says
  // nothing.
  const bool acts = step.barrierSignals || any_of(accesses.lanes, [&](const LaneAccess &access) {
                      return access.space != Space::Scratch && missed >> access.lane & 1;
                    });
  if (!acts)
    return;
  raise(wave, *arrival.last, FaultKind::BarrierDivergence, unsigned(std::countr_zero(missed)));
  group.faultDetail = "this thread went round the barrier that others of its wave came to, and "
                      "goes on at " +
                      describePlace(program, op.pc);
}

void BarrierCheck::after(RunningGroup &group, Wave &wave, const MicroOp &op,
                         const InstructionStep &step) {
  if (!step.barrierSignals || wave.status == WaveStatus::Faulted)
    return;
  Arrival &arrival = arrivals[&group][wave.indexInGroup];
  arrival.last = &op;
  ++arrival.count;
}

/// "2 waves at pc 0x1c0: s_barrier [k.cu:12]" for each place.
void BarrierCheck::warnOfPlaces(RunningGroup &group, const std::vector<Arrival> &all) {
  std::map<uint32_t, unsigned> places;
  for (const Arrival &arrival : all)
    if (arrival.last)
      ++places[arrival.last->pc];
  if (places.size() < 2 || warned || !launch.warn)
    return;
  warned = true;
  std::string text = "kernel " + launch.kernel->name + ": waves of workgroup (" +
                     std::to_string(group.id.x) + "," + std::to_string(group.id.y) + "," +
                     std::to_string(group.id.z) + ") pass one barrier at different places";
  for (const auto &[pc, count] : places)
    text += ", " + std::to_string(count) + " at " + describePlace(program, pc);
  launch.warn(text);
}

void BarrierCheck::barrierCompleted(RunningGroup &group, unsigned barrier) {
  if (barrier != 0)
    return;
  const std::vector<Arrival> &all = arrivals[&group];
  uint64_t most = 0;
  const Wave *here = nullptr;
  for (const Wave &wave : group.waves)
    if (all[wave.indexInGroup].count > most) {
      most = all[wave.indexInGroup].count;
      here = &wave;
    }
  std::vector<Arrival> alive;
  for (Wave &wave : group.waves) {
    const Arrival &arrival = all[wave.indexInGroup];
    if (wave.status != WaveStatus::Ended) {
      alive.push_back(arrival);
    } else if (arrival.count != 0 && arrival.count < most && !group.shared.fault.set) {
      raise(wave, *arrival.last, FaultKind::BarrierDivergence);
      group.faultDetail = "this wave has ended after " + std::to_string(arrival.count) +
                          " barriers, of which this was the last; others go on to one at " +
                          describePlace(program, all[here->indexInGroup].last->pc);
    }
  }
  if (!group.shared.fault.set)
    warnOfPlaces(group, alive);
}

} // namespace

std::unique_ptr<Observer> makeBarrierCheck(const Launch &launch) {
  return std::make_unique<BarrierCheck>(launch);
}

} // namespace rubia::emulator
