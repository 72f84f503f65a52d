// Hardware counts waves, not threads, and forgets waves that have ended. CUDA wants all threads of
// a block, or none, at a __syncthreads() (CUDA C++ Programming Guide "Synchronization Functions").
//
// - A lane that was off at a barrier may have left for good, by a return. If it touches memory
//   later, it only went round the barrier.
// - Waves that pass one barrier at different places are told as a warning: PTX allows it. Waves
// that
//   have ended are not waited for, in CUDA too.
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
    arrivals[&group].assign(group.waves.size(), nullptr);
  }
  void groupEnded(RunningGroup &group) override { arrivals.erase(&group); }
  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;
  void after(RunningGroup &group, Wave &wave, const MicroOp &op,
             const InstructionStep &step) override;
  void barrierCompleted(RunningGroup &group, unsigned barrier) override;

private:
  const Program &program; // has lines
  const Launch &launch;
  /// Where each wave last came to the workgroup's barrier.
  DenseMap<const RunningGroup *, std::vector<const MicroOp *>> arrivals;
  bool warned = false;
};

void BarrierCheck::before(RunningGroup &group, Wave &wave, const MicroOp &op,
                          const InstructionStep &step, const Accesses &accesses) {
  const MicroOp *last = arrivals[&group][wave.indexInGroup];
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
  if (step.barrierSignals)
    arrivals[&group][wave.indexInGroup] = &op;
}

/// Warns of waves at different places, once.
void BarrierCheck::barrierCompleted(RunningGroup &group, unsigned barrier) {
  std::map<uint32_t, unsigned> places;
  for (const Wave &wave : group.waves)
    if (const MicroOp *last = arrivals[&group][wave.indexInGroup];
        last && wave.status != WaveStatus::Ended)
      ++places[last->pc];
  if (barrier != 0 || places.size() < 2 || warned || !launch.warn)
    return;
  warned = true;
  std::string text = "kernel " + launch.kernel->name + ": waves of workgroup (" +
                     std::to_string(group.id.x) + "," + std::to_string(group.id.y) + "," +
                     std::to_string(group.id.z) + ") pass one barrier at different places";
  for (const auto &[pc, count] : places)
    text += ", " + std::to_string(count) + " at " + describePlace(program, pc);
  launch.warn(text);
}

} // namespace

std::unique_ptr<Observer> makeBarrierCheck(const Launch &launch) {
  return std::make_unique<BarrierCheck>(launch);
}

} // namespace rubia::emulator
