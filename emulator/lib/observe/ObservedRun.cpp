// SPDX-License-Identifier: Apache-2.0
// The loop: waves of the resident workgroups take turns; a workgroup that gets nowhere within its
// patience lets another one start, as it may wait for that.
//
// A launch that may report more than one error goes on behind those that say nothing about what
// comes next: what an observer found, and accesses that lead nowhere. Lanes with such an access are
// left out of the instruction. Each kind of error is reported once for an instruction.
#include "emulator/lib/observe/ObservedRun.h"
#include "emulator/lib/machine/Bounds.h"
#include "emulator/lib/memory/MemoryRegistry.h"
#include "emulator/lib/observe/Observer.h"
#include "emulator/lib/observe/OrderRandom.h"
#include "emulator/lib/run/FaultReport.h"
#include "emulator/lib/run/OperationCounts.h"
#include "emulator/lib/run/Watchdog.h"
#include <set>

using namespace llvm;

namespace rubia::emulator {
namespace {

constexpr size_t kMaxResident = 4096;
constexpr size_t kWanted = 4;            // workgroups that take turns if none of them waits
constexpr uint64_t kPatience = 400;      // rounds over a workgroup without progress
constexpr uint32_t kLongestTurn = 200;   // instructions
constexpr unsigned kStallInterval = 256; // rounds

} // namespace

class ObservedRun {
public:
  ObservedRun(Dispatch &dispatch, ArrayRef<Observer *> observers, uint64_t seed)
      : dispatch(dispatch), code(dispatch.program.stepped()), observers(observers), random(seed),
        counts(dispatch.launch.countOperations ? code.steps.size() : 0), watch(dispatch) {
    copy_if(observers, std::back_inserter(followers),
            [](const Observer *observer) { return observer->followsComputation(); });
  }

  void run();
  Statistics statistics() const;

private:
  bool start();
  bool round(RunningGroup &group);
  void runWave(RunningGroup &group, Wave &wave);
  void step(RunningGroup &group, Wave &wave);
  bool settle(RunningGroup &group, Wave *wave);
  bool leavesLanesOut(RunningGroup &group, Wave &wave, const MicroOp &op,
                      const InstructionStep &step, uint64_t &out);
  void observeBarriers(RunningGroup &group);
  void reportStuck(RunningGroup &group);
  void end(RunningGroup &group);

  Dispatch &dispatch;
  const SteppedProgram &code;
  ArrayRef<Observer *> observers;
  SmallVector<Observer *> followers; // those that are told of computation
  OrderRandom random;
  std::vector<uint64_t> counts; // per operation; empty unless they are asked for
  Watchdog watch;
  Accesses accesses;
  std::vector<std::unique_ptr<RunningGroup>> residents;
  std::array<uint32_t, 1 + Workgroup::kNamedBarriers> phases = {}; // before the operation
  uint64_t nextGroup = 0, executed = 0;
  uint64_t reported = 0;                            // errors after which the launch went on
  std::set<std::pair<uint32_t, FaultKind>> settled; // pc and kind of these, and of warnings
  RunningGroup *faulted = nullptr;
};

bool ObservedRun::start() {
  if (nextGroup >= dispatch.groupCount ||
      residents.size() >= std::min<uint64_t>(kMaxResident, dispatch.residentLimit))
    return false;
  auto group = std::make_unique<RunningGroup>(dispatch, *code.program, 0, nullptr);
  group->start(nextGroup++);
  dispatch.progress.fetch_add(1, std::memory_order_relaxed);
  for (Observer *observer : observers)
    observer->groupStarted(*group);
  residents.push_back(std::move(group));
  return true;
}

/// Tells what the last operation, or the end of a wave, completed.
void ObservedRun::observeBarriers(RunningGroup &group) {
  for (unsigned i = 0; i < phases.size(); ++i)
    if (group.shared.barriers[i].phase != phases[i])
      for (Observer *observer : observers)
        observer->barrierCompleted(group, i);
}

/// Whether what comes after such an error is worth anything.
static bool mayGoOn(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
  case FaultKind::UseAfterFree:
  case FaultKind::Misaligned:
  case FaultKind::BarrierDivergence:
  case FaultKind::LdsOutOfBounds:
  case FaultKind::ScratchOverflow:
  case FaultKind::DataRace:
  case FaultKind::Uninitialised:
  case FaultKind::WarpHazard:
  case FaultKind::InvalidMask:
    return true;
  case FaultKind::Trap:
  case FaultKind::Deadlock:
  case FaultKind::IllegalInstruction:
  case FaultKind::UnwaitedRegister:
  case FaultKind::AtomicOnHostMemory:
  case FaultKind::ImageResource:
    return false;
  }
  return false;
}

/// After a fault of the group: reports it, and takes it back if the launch may go on. `wave`: the
/// one that raise() has stopped.
bool ObservedRun::settle(RunningGroup &group, Wave *wave) {
  const Launch &launch = dispatch.launch;
  const FaultRecord record = group.shared.fault;
  const bool isLast =
      !record.isWarning && (!mayGoOn(record.kind) || reported + 1 >= launch.maxReports);
  if (isLast)
    return false;
  if (settled.insert({record.pc, record.kind}).second) {
    reported += !record.isWarning;
    const std::unique_ptr<Fault> fault = dispatch.describe(group);
    if (launch.report)
      launch.report(*fault, true);
    else if (launch.warn)
      launch.warn(fault->message());
  }
  group.shared.fault = {};
  group.faultDetail.clear();
  if (wave) {
    wave->status = WaveStatus::Ready;
    wave->stop = false;
  }
  return true;
}

/// Whether an access of a lane leads nowhere, of a launch that goes on after errors: reports it.
/// `out` gets those lanes. False: the launch is to end.
bool ObservedRun::leavesLanesOut(RunningGroup &group, Wave &wave, const MicroOp &op,
                                 const InstructionStep &step, uint64_t &out) {
  out = 0;
  if (dispatch.launch.maxReports < 2 || accesses.lanes.empty())
    return true;
  std::optional<Allocation> at; // neighbours lie in one

  for (const LaneAccess &access : accesses.lanes) {
    FaultKind kind = FaultKind::OutOfBounds;
    switch (access.space) {
    case Space::Global: {
      if (!at || access.address < at->address || access.address >= at->end())
        at = dispatch.memory.lookup(access.address);
      const bool isThere = at && (at->devices & group.shared.device);
      if (isThere && at->end() - access.address >= access.bytes)
        continue;
      if (isThere && !access.writes && readsThreeAsFour(access.address, access.bytes, at->end()))
        continue;
      break;
    }
    case Space::Local:
      if (group.shared.ldsHole || access.address + access.bytes <= wave.ldsSize ||
          (!access.writes && readsThreeAsFour(access.address, access.bytes, wave.ldsSize)))
        continue;
      kind = FaultKind::LdsOutOfBounds;
      break;
    case Space::Scratch:
      if (access.address + access.bytes <= wave.scratchPerLane)
        continue;
      kind = FaultKind::ScratchOverflow;
      break;
    case Space::Flat:
    case Space::Buffer:
      continue;
    }
    out |= uint64_t(1) << access.lane;
    raise(wave, op, kind, access.lane, access.address, access.bytes, access.writes);
    if (!settle(group, &wave))
      return false;
  }
  if (step.kind == StepKind::Scalar && out)
    out = ~uint64_t(0);
  return true;
}

void ObservedRun::step(RunningGroup &group, Wave &wave) {
  const MicroOp *op = wave.next;
  if (wave.special & op->special & kSkipVector) {
    wave.next = op + 1;
    ++wave.instructions;
    return;
  }
  const size_t index = size_t(op - code.program->operations.data());
  const InstructionStep &step = code.steps[index];
  locate(wave, *op, step, accesses);
  const ArrayRef<Observer *> told = step.onlyComputes() ? ArrayRef(followers) : observers;
  for (Observer *observer : told) {
    observer->before(group, wave, *op, step, accesses);
    if (wave.status == WaveStatus::Faulted && !settle(group, &wave))
      return;
  }
  uint64_t leftOut = 0;
  if (!leavesLanesOut(group, wave, *op, step, leftOut))
    return;
  if (step.barrier)
    for (unsigned i = 0; i < phases.size(); ++i)
      phases[i] = group.shared.barriers[i].phase;
  wave.next = op + 1;
  const uint64_t exec = wave.exec();
  const bool isSkipped = step.kind == StepKind::Wait || (leftOut && (exec & ~leftOut) == 0);
  if (!isSkipped) {
    if (leftOut)
      wave.setMask(kExec, exec & ~leftOut);
    op->handler(wave, *op);
    if (leftOut)
      wave.setMask(kExec, exec);
    ++wave.instructions;
    if (!counts.empty())
      ++counts[index];
  }
  if (wave.status == WaveStatus::Faulted && (step.endsAtFault || !settle(group, &wave)))
    return;
  for (Observer *observer : told)
    observer->after(group, wave, *op, step);
  if (step.barrier)
    observeBarriers(group);
}

void ObservedRun::runWave(RunningGroup &group, Wave &wave) {
  if (wave.status == WaveStatus::AtBarrier)
    wave.barrierPhase[wave.waitsFor != 0] = group.shared.barriers[wave.waitsFor].phase;
  wave.status = WaveStatus::Ready;
  wave.stop = false;
  wave.chain = false;
  const uint64_t limit = dispatch.launch.instructionLimit;
  for (uint32_t left = 1 + random.below(kLongestTurn); left != 0 && !wave.stop; --left) {
    step(group, wave);
    if (limit && wave.instructions >= limit && !wave.stop)
      raise(wave, *wave.next, FaultKind::Deadlock);
  }
  if (group.shared.fault.set)
    faulted = &group;
  if (wave.status != WaveStatus::Ended)
    return;
  for (unsigned i = 0; i < phases.size(); ++i)
    phases[i] = group.shared.barriers[i].phase;
  group.shared.waveEnded();
  observeBarriers(group);
  if (group.shared.fault.set)
    faulted = &group;
}

/// Lets each wave that can have a turn. Returns whether something went on: a barrier was passed, or
/// a wave ended.
bool ObservedRun::round(RunningGroup &group) {
  bool ran = false, progress = false;
  const size_t count = group.waves.size(), first = random.below(uint32_t(count));
  for (size_t i = 0; i < count && !faulted; ++i) {
    Wave &wave = group.waves[(first + i) % count];
    if (wave.status == WaveStatus::Ended ||
        (wave.status == WaveStatus::AtBarrier && !group.shared.mayPass(wave)))
      continue;
    progress |= wave.status == WaveStatus::AtBarrier;
    ran = true;
    runWave(group, wave);
    progress |= wave.status == WaveStatus::Ended;
  }
  if (!ran)
    reportStuck(group);
  if (progress)
    dispatch.progress.fetch_add(1, std::memory_order_relaxed);
  return progress;
}

/// All waves wait for signals that nobody is left to give.
void ObservedRun::reportStuck(RunningGroup &group) {
  faulted = &group;
  for (Observer *observer : observers)
    observer->stuck(group);
  for (Wave &wave : group.waves)
    if (wave.status == WaveStatus::AtBarrier)
      return raise(wave, wave.next[-1], FaultKind::Deadlock);
}

static bool isDone(const RunningGroup &group) {
  for (const Wave &wave : group.waves)
    if (wave.status != WaveStatus::Ended)
      return false;
  return true;
}

void ObservedRun::end(RunningGroup &group) {
  auto isAtFault = [&] { return group.shared.fault.set && !settle(group, nullptr); };
  for (Observer *observer : observers) {
    observer->groupEnded(group);
    if (isAtFault())
      return;
  }
  if (residents.size() != 1 || nextGroup < dispatch.groupCount)
    return;
  for (Observer *observer : observers) {
    observer->launchEnded(group);
    if (isAtFault())
      return;
  }
}

void ObservedRun::run() {
  uint64_t idle = 0; // turns of workgroups since something went on
  for (uint64_t turn = 0; !faulted; ++turn) {
    // Of a cooperative grid all are there.
    while ((residents.size() < kWanted || dispatch.launch.cooperative) && start())
      ;
    if (residents.empty())
      break;
    if (idle > kPatience * residents.size()) {
      start();
      idle = 0;
    }
    const size_t at = turn % residents.size();
    RunningGroup &group = *residents[at];
    idle = round(group) ? 0 : idle + 1;
    if (faulted)
      break;
    if (turn % kStallInterval == 0 && watch.failed([&] { return pointersTo(residents); }))
      faulted = residents.front().get();
    if (!isDone(group))
      continue;
    end(group);
    if (group.shared.fault.set) {
      faulted = &group;
      break;
    }
    executed += group.executed();
    watch.groupEnded();
    residents.erase(residents.begin() + ptrdiff_t(at));
  }
  dispatch.instructions.fetch_add(executed, std::memory_order_relaxed);
  if (!faulted)
    return;
  const std::unique_ptr<Fault> fault = dispatch.describe(*faulted);
  for (Observer *observer : observers)
    observer->faulted(*faulted, *fault);
  dispatch.report(*faulted);
}

Statistics ObservedRun::statistics() const {
  Statistics all = dispatch.statistics();
  if (counts.empty())
    return all;
  all.operations = nameOperations(*code.program, counts);
  all.instructions = 0;
  for (const OperationCount &operation : all.operations)
    all.instructions += operation.waves;
  return all;
}

Expected<Statistics> runObserved(Dispatch &dispatch, ArrayRef<Observer *> observers,
                                 uint64_t seed) {
  ObservedRun run(dispatch, observers, seed);
  run.run();
  if (std::unique_ptr<Fault> fault = dispatch.takeFault())
    return Error(std::move(fault));
  return run.statistics();
}

} // namespace rubia::emulator
