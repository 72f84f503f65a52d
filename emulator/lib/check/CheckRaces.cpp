// SPDX-License-Identifier: Apache-2.0
// Vector clocks (Flanagan and Freund, "FastTrack", 2009) over what orders accesses on AMD GPUs. A
// thread here is a warp: its lanes run together.
//
// - A barrier, of a workgroup or by global wave sync: what its members did before happens before
// what they do behind it.
// - An atomic operation, or a store to a location that somebody polls, publishes what its thread
//   has *completed*: accesses to global memory count when a wait has covered them, as a release
//   fence has it. So a missing fence shows. LDS performs in order, and counts at once.
// - An atomic operation, or a load that polls or is coherent by its cache policy, learns what was
//   published at its location. From another workgroup it is used only behind an invalidation of the
//   caches, as an acquire fence has it. A store behind a load needs none: the load has been
//   performed, whatever caches hold.
//
// Two strong accesses (InstructionStep::strength: relaxed, volatile, atomic) are no race, unless
// one is of .cta scope and the other of another workgroup (PTX ISA: morally-strong-operations); nor
// two writes of the same value: nobody can tell which came last. Nor is a load beside a
// compare-and-swap: programs, and LLVM where it makes loops of atomics, load plainly what they then
// expect.
//
// Code that Rubia has not made does not tell which accesses are strong (InstructionStep::coherent
// does, in some places). There, a location is exempt once it is seen to synchronise: loaded
// coherently, polled (PollingLoads.h), or compared and swapped. Two unordered stores are a race
// only if that is not seen later either; those are told at the end of the workgroup or of the
// launch. In LDS, an atomic operation and a plain access are only a warning: the access may be
// relaxed.
#include "emulator/lib/check/CheckRaces.h"
#include "emulator/lib/check/AsyncCopies.h"
#include "emulator/lib/check/RaceShadow.h"
#include "emulator/lib/machine/Target.h"
#include "emulator/lib/machine/VectorClock.h"
#include "emulator/lib/memory/ImageOperation.h"
#include "emulator/lib/run/FaultReport.h"
#include "emulator/lib/run/PollingLoads.h"
#include "llvm/ADT/StringExtras.h"
#include <deque>
#include <set>

using namespace llvm;

namespace rubia::emulator {
namespace {

/// What has been seen of the threads.
struct Seen {
  VectorClock known;
  VectorClock learned; // `known`, and what caches may still hide: enough to store behind a load

  bool empty() const { return learned.empty(); }
  void clear() { *this = {}; }
  void join(const Seen &other) {
    known.join(other.known);
    learned.join(other.learned);
  }
  void raise(uint32_t thread, uint32_t clock) {
    known.raise(thread, clock);
    learned.raise(thread, clock);
  }
};

struct Thread {
  uint32_t id = 0;
  uint32_t clock = 1;                          // of its next access
  std::deque<uint32_t> outstanding[kCounters]; // clocks of accesses that no wait has covered
  Seen seen;                                   // of others
  /// Everything up to this clock is completed.
  uint32_t released() const {
    uint32_t least = clock;
    for (const auto &clocks : outstanding)
      if (!clocks.empty())
        least = std::min(least, clocks.front() - 1);
    return least;
  }
};

/// Where a thread runs.
struct Place {
  uint64_t group = 0; // a number of its own for each
  Dim3 workgroup;
  unsigned wave = 0;
};

/// What has been published at a location.
struct Published {
  Seen seen;
  uint64_t group = 0; // who did
  bool several = false;
};
using PublishedAt = DenseMap<uint64_t, Published>; // by address

struct Group {
  uint64_t number = 0;
  uint32_t firstThread = 0;
  std::vector<Thread> threads;
  RaceShadow lds;
  PublishedAt published; // in LDS
  AsyncCopies copies;
  Seen arriving[1 + Workgroup::kNamedBarriers], passed[1 + Workgroup::kNamedBarriers];
  std::vector<uint8_t> waitsFor; // per wave: the barrier whose wait it has executed, plus one
};

/// A counter of global wave sync (WaveSync.cpp): a barrier over waves of all workgroups.
struct GridBarrier {
  Seen arriving, passed;
};

/// Two stores that are a race unless their location turns out to synchronise.
struct Candidate {
  RaceAccess now, before;
  uint64_t address = 0;
  unsigned bytes = 0;
  uint64_t group = 0; // of LDS; 0: global memory
};

/// InstructionStep.cpp, isCoherent().
bool storesHaveScopes(const Target &target) {
  switch (target.row().cachePolicy) {
  case targets::CachePolicy::ScBits:
  case targets::CachePolicy::Scope:
    return true;
  case targets::CachePolicy::Glc:
  case targets::CachePolicy::GlcDlc:
    return false;
  }
  return false;
}

class RaceCheck : public Observer {
public:
  RaceCheck(const SteppedProgram &code, const Launch &launch, unsigned warpLanes)
      : code(code), launch(launch), warpLanes(warpLanes), polling(findPollingLoads(code)),
        expecting(findExpectingLoads(code)), storesTell(storesHaveScopes(*code.program->target)),
        places(1) {}

  void groupStarted(RunningGroup &running) override;
  void groupEnded(RunningGroup &running) override;
  void launchEnded(RunningGroup &last) override;
  void before(RunningGroup &running, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;
  void after(RunningGroup &running, Wave &wave, const MicroOp &op,
             const InstructionStep &step) override;
  void barrierCompleted(RunningGroup &running, unsigned barrier) override;

private:
  struct Instruction { // what is being observed
    RunningGroup &running;
    Group &group;
    Wave &wave;
    const MicroOp &op;
    const InstructionStep &step;
    Strength strength;
    bool polls, atomic, nearWait;
  };
  struct Touched {
    RaceShadow &shadow;
    RaceCell &cell;
    uint64_t address;
    unsigned bytes;
    bool isLds;
    unsigned lane;
    uint32_t value;
  };

  unsigned halves(const Wave &wave) const { return std::max(1u, wave.lanes() / warpLanes); }
  Thread &threadOf(Group &group, const Wave &wave, unsigned lane) {
    return group.threads[wave.indexInGroup * halves(wave) + lane / warpLanes % halves(wave)];
  }
  template <class F> void forThreads(Group &group, const Wave &wave, F visit) {
    for (unsigned i = 0; i < halves(wave); ++i)
      visit(group.threads[wave.indexInGroup * halves(wave) + i]);
  }
  bool isBefore(const RaceAccess &access, const Thread &thread) const {
    return access.thread == 0 || access.thread == thread.id ||
           (access.writes ? thread.seen.known : thread.seen.learned).of(access.thread) >=
               access.clock;
  }
  GridBarrier &gridBarrier(const Wave &wave, const MicroOp &op) {
    return gridBarriers[(wave.scalars[kM0] >> 16 & 63) + unsigned(op.immediate)];
  }
  void passGrid(Group &group, Wave &wave, const MicroOp &op);
  Seen allOf(const Thread &thread, uint32_t ownClock) const;
  void learnFrom(const Instruction &now, Thread &thread, const Touched &touched);
  void publish(const Instruction &now, Thread &thread, const Touched &touched);
  void touch(const Instruction &now, const Touched &touched, const LaneAccess &access);
  bool checkRead(const Instruction &now, const Touched &touched, const RaceAccess &here,
                 Thread &thread);
  bool checkWrite(const Instruction &now, const Touched &touched, const RaceAccess &here,
                  Thread &thread);
  void suspect(const Instruction &now, const Touched &touched, const RaceAccess &here,
               Thread &thread);
  void report(const Instruction &now, const Touched &touched, const RaceAccess &other,
              StringRef kind);
  bool reportCandidate(RunningGroup &group, uint64_t ofGroup);
  std::optional<bool> conflict(const RaceAccess &now, const RaceAccess &other) const;
  void mark(RunningGroup &running, Group &group, Wave &wave, const MicroOp &op,
            const AsyncMark &mark);
  void checkHeld(RunningGroup &running, const AsyncCopies &copies, Wave &wave, const MicroOp &op,
                 unsigned lane, unsigned groups);
  bool isArrived(const Instruction &now, const LaneAccess &access);
  std::string describe(const RaceAccess &access, const Place &place) const;
  std::string describeOther(const RaceAccess &access, StringRef kind) const;
  bool isNearWait(const MicroOp &op) const;
  void doubt(const Instruction &now, const Touched &touched, const RaceAccess &other,
             StringRef kind);
  uint32_t storedValue(const Instruction &now, unsigned which, unsigned byte, unsigned bytes,
                       unsigned lane) const;

  const SteppedProgram &code;
  const Launch &launch;
  const unsigned warpLanes;
  const BitVector polling, expecting; // loads
  const bool storesTell;     // a store to global memory says whether it is more than a plain one
  std::vector<Place> places; // by thread; 0: none
  DenseMap<const RunningGroup *, std::unique_ptr<Group>> groups;
  RaceShadow global;
  PublishedAt published;                        // in global memory
  DenseMap<unsigned, GridBarrier> gridBarriers; // by M0's counter and the offset
  bool arrivesAtGrid = false;                   // the wave at hand, for the first time
  std::vector<Candidate> candidates;
  std::set<std::pair<uint32_t, uint32_t>> doubted; // pairs of places that were warned of
  uint64_t groupNumber = 0;
};

void RaceCheck::groupStarted(RunningGroup &running) {
  auto group = std::make_unique<Group>();
  group->number = ++groupNumber;
  group->firstThread = uint32_t(places.size());
  group->waitsFor.resize(running.waves.size());
  for (const Wave &wave : running.waves)
    for (unsigned i = 0; i < halves(wave); ++i) {
      Thread &thread = group->threads.emplace_back();
      thread.id = uint32_t(places.size());
      places.push_back({group->number, running.id, wave.indexInGroup});
    }
  groups[&running] = std::move(group);
}

void RaceCheck::groupEnded(RunningGroup &running) {
  const uint64_t number = groups[&running]->number;
  reportCandidate(running, number);
  groups.erase(&running);
}

void RaceCheck::launchEnded(RunningGroup &last) { reportCandidate(last, 0); }

// What orders.

Seen RaceCheck::allOf(const Thread &thread, uint32_t ownClock) const {
  Seen all = thread.seen;
  all.raise(thread.id, ownClock);
  return all;
}

void RaceCheck::learnFrom(const Instruction &now, Thread &thread, const Touched &touched) {
  auto take = [&](const Seen &seen, bool sameGroup) {
    if (touched.isLds || sameGroup)
      thread.seen.join(seen);
    else
      thread.seen.learned.join(seen.learned);
  };
  const RaceWrite &write = touched.cell.write;
  if (write.thread && write.thread != thread.id && !write.atomic &&
      write.strength != Strength::Weak) {
    Seen seen = {write.known, write.known};
    seen.raise(write.thread, write.released);
    take(seen, places[write.thread].group == now.group.number);
  }
  const PublishedAt &all = touched.isLds ? now.group.published : published;
  if (auto found = all.find(touched.address & ~3ull); found != all.end())
    take(found->second.seen, !found->second.several && found->second.group == now.group.number);
}

void RaceCheck::publish(const Instruction &now, Thread &thread, const Touched &touched) {
  Published &place = (touched.isLds ? now.group.published : published)[touched.address & ~3ull];
  place.several |= !place.seen.empty() && place.group != now.group.number;
  place.group = now.group.number;
  place.seen.join(allOf(thread, thread.released()));
}

void RaceCheck::barrierCompleted(RunningGroup &running, unsigned barrier) {
  Group &group = *groups[&running];
  std::swap(group.passed[barrier], group.arriving[barrier]);
  group.arriving[barrier].clear();
  group.copies.barrier();
}

/// Who completes the barrier does not wait. Grids' barriers of AMD's device library have the
/// invalidation of the caches before the barrier alone, so none is asked for behind it.
void RaceCheck::passGrid(Group &group, Wave &wave, const MicroOp &op) {
  if (wave.exec() == 0 || wave.status == WaveStatus::Yielded)
    return;
  GridBarrier &barrier = gridBarrier(wave, op);
  if (arrivesAtGrid) {
    std::swap(barrier.passed, barrier.arriving);
    barrier.arriving.clear();
  }
  forThreads(group, wave, [&](Thread &thread) { thread.seen.join(barrier.passed); });
}

void RaceCheck::after(RunningGroup &running, Wave &wave, const MicroOp &op,
                      const InstructionStep &step) {
  if (step.gridBarrier)
    passGrid(*groups[&running], wave, op);
  if (step.barrier && step.barrierWaits)
    groups[&running]->waitsFor[wave.indexInGroup] = uint8_t(wave.waitsFor + 1);
}

// What is checked.

std::string RaceCheck::describe(const RaceAccess &access, const Place &place) const {
  const Program &program = *launch.kernel->program; // which has lines
  const Dim3 thread = emulator::threadOf(launch, program, place.wave, access.lane);
  return "workgroup " + triple(place.workgroup) + " thread " + triple(thread) + " at " +
         describePlace(program, access.pc);
}

std::string RaceCheck::describeOther(const RaceAccess &access, StringRef kind) const {
  return "the other is " + kind.str() + " by " + describe(access, places[access.thread]);
}

void RaceCheck::report(const Instruction &now, const Touched &touched, const RaceAccess &other,
                       StringRef kind) {
  if (now.wave.status == WaveStatus::Faulted)
    return;
  raise(now.wave, now.op, FaultKind::DataRace, touched.lane, touched.address, touched.bytes,
        now.step.writes);
  now.running.faultDetail = (touched.isLds ? "in LDS; " : "") + describeOther(other, kind);
  if (isStrong(now.strength) && isStrong(other.strength))
    now.running.faultDetail += "; at least one of them is of .cta scope";
}

/// In LDS a plain access beside an atomic operation may be a volatile or relaxed one: a warning,
/// once for each pair of instructions.
void RaceCheck::doubt(const Instruction &now, const Touched &touched, const RaceAccess &other,
                      StringRef kind) {
  constexpr size_t kMax = 16;
  if (!launch.warn || doubted.size() >= kMax || !doubted.insert({now.op.pc, other.pc}).second)
    return;
  const RaceAccess here = {0, 0, now.op.pc, uint8_t(touched.lane)};
  launch.warn("kernel " + launch.kernel->name + ": a data race in LDS at 0x" +
              utohexstr(touched.address, true) +
              ", unless the program has the plain one of these accesses as volatile or atomic: " +
              describe(here, places[threadOf(now.group, now.wave, touched.lane).id]) + "; " +
              describeOther(other, kind));
}

/// A weak access that a strong one leaves alone: a load, by a compare-and-swap; a store of a half,
/// by the loop that stands for an atomic operation on the other one.
bool leavesAlone(const RaceAccess &strong, const RaceAccess &weak) {
  if (!isStrong(strong.strength) || weak.strength != Strength::Weak)
    return false;
  if (!weak.writes)
    return strong.compares;
  return weak.partly && !strong.partly && (strong.compares || !strong.writes);
}

/// Whether two accesses are a race if they are not ordered, where that is known.
std::optional<bool> RaceCheck::conflict(const RaceAccess &now, const RaceAccess &other) const {
  const Strength both[] = {now.strength, other.strength};
  if (is_contained(both, Strength::Unknown))
    return std::nullopt;
  if (is_contained(both, Strength::Weak))
    return !leavesAlone(now, other) && !leavesAlone(other, now);
  return is_contained(both, Strength::StrongInCta) &&
         places[other.thread].group != places[now.thread].group;
}

bool RaceCheck::checkRead(const Instruction &now, const Touched &touched, const RaceAccess &here,
                          Thread &thread) {
  const RaceWrite &write = touched.cell.write;
  const std::optional<bool> known = conflict(here, write);
  if (isBefore(write, thread) || known == false || (!known && isStrong(here.strength)))
    return true;
  if (!known && write.atomic && touched.isLds) {
    doubt(now, touched, write, "an atomic operation");
    return true;
  }
  report(now, touched, write, write.atomic ? "an atomic operation" : "a write");
  return false;
}

/// Two stores, or a store and an atomic operation.
void RaceCheck::suspect(const Instruction &now, const Touched &touched, const RaceAccess &here,
                        Thread &thread) {
  const RaceWrite &write = touched.cell.write;
  if (const auto known = conflict(here, write)) {
    const bool same = !write.atomic && !now.atomic && write.value == touched.value;
    if (*known && !same && !isBefore(write, thread))
      report(now, touched, write, write.atomic ? "an atomic operation" : "a write");
    return;
  }
  if (isBefore(write, thread) || (write.atomic && now.atomic) ||
      (write.coherent && (now.step.coherent || now.atomic)) || (write.atomic && now.step.coherent))
    return;
  if (write.atomic || now.atomic) {
    const bool nearWait = write.atomic ? now.nearWait : write.nearWait;
    const StringRef kind = write.atomic ? "an atomic operation" : "a write";
    // Between workgroups a store says what it is where all stores do.
    const bool isTold =
        storesTell && !touched.isLds && places[write.thread].group != now.group.number;
    if (nearWait && !isTold)
      return;
    if (touched.isLds)
      doubt(now, touched, write, kind);
    else
      report(now, touched, write, kind);
    return;
  }
  if (write.value == touched.value || candidates.size() >= 256)
    return;
  candidates.push_back(
      {here, write, touched.address, touched.bytes, touched.isLds ? now.group.number : 0});
}

bool RaceCheck::checkWrite(const Instruction &now, const Touched &touched, const RaceAccess &here,
                           Thread &thread) {
  suspect(now, touched, here, thread);
  if (now.wave.status == WaveStatus::Faulted)
    return false;
  auto check = [&](const RaceAccess &read) {
    const std::optional<bool> known = conflict(here, read);
    if (isBefore(read, thread) || known == false)
      return;
    if (!known && now.atomic && touched.isLds)
      doubt(now, touched, read, "a read");
    else
      report(now, touched, read, "a read");
  };
  check(touched.cell.read);
  for (const RaceAccess &read : touched.shadow.readsOf(touched.cell))
    check(read);
  return now.wave.status != WaveStatus::Faulted;
}

void RaceCheck::touch(const Instruction &now, const Touched &touched, const LaneAccess &access) {
  Thread &thread = threadOf(now.group, now.wave, touched.lane);
  RaceCell &cell = touched.cell;
  const bool isLoad = access.reads && !access.writes;
  const bool isUnknown = now.strength == Strength::Unknown;
  const bool strong = isStrong(now.strength);
  if (isLoad && isUnknown && (now.polls || now.step.coherent)) {
    cell.synchronises = true;
    learnFrom(now, thread, touched);
    return;
  }
  const uint64_t dword = touched.address & ~3ull;
  const bool partly = access.address > dword || access.address + access.bytes < dword + 4;
  const RaceAccess here = {thread.id,    thread.clock,  now.op.pc,         uint8_t(touched.lane),
                           now.strength, access.writes, now.step.compares, partly};
  if (isLoad) {
    if (!cell.synchronises && !checkRead(now, touched, here, thread))
      return;
    touched.shadow.addRead(cell, here);
    if (strong && !now.step.isAsync) // who arrives does not wait
      learnFrom(now, thread, touched);
    return;
  }
  cell.synchronises |= now.step.compares && isUnknown;
  if (!cell.synchronises && !checkWrite(now, touched, here, thread))
    return;
  if (now.atomic && !now.step.isAsync)
    learnFrom(now, thread, touched);
  if (!strong) // which hides no weak ones
    touched.shadow.clearReads(cell);
  static_cast<RaceAccess &>(cell.write) = here;
  cell.write.atomic = now.atomic;
  cell.write.coherent = now.step.coherent;
  cell.write.nearWait = now.nearWait;
  cell.write.released = thread.released();
  cell.write.known = now.atomic ? VectorClock() : thread.seen.known;
  cell.write.value = touched.value;
  if (now.atomic || strong || (isUnknown && now.step.coherent) || cell.synchronises)
    publish(now, thread, touched);
}

// Asynchronous copies.

/// What the lanes that are on commit, wait for or learn. A copy that arrives counts as stored now:
/// who reads it needs a barrier behind this.
void RaceCheck::mark(RunningGroup &running, Group &group, Wave &wave, const MicroOp &op,
                     const AsyncMark &mark) {
  for (uint64_t rest = wave.exec(); rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    const unsigned number = wave.indexInGroup * wave.lanes() + lane;
    Thread &thread = threadOf(group, wave, lane);
    auto arrived = [&](const AsyncStore &store) {
      (store.isLds ? group.lds : global)
          .visit(store.address, store.bytes, [&](RaceCell &cell, uint64_t, unsigned) {
            if (cell.write.thread != thread.id || cell.write.pc != store.pc)
              return;
            cell.write.clock = thread.clock;
            cell.write.known = thread.seen.known;
          });
    };
    switch (mark.kind) {
    case AsyncMark::Kind::None:
    case AsyncMark::Kind::PartOfWarp:
    case AsyncMark::Kind::ByWarp:
      break;
    case AsyncMark::Kind::Commit:
      group.copies.commit(number);
      break;
    case AsyncMark::Kind::WaitGroup:
      group.copies.wait(number, mark.count, arrived);
      checkHeld(running, group.copies, wave, op, lane, mark.count);
      break;
    case AsyncMark::Kind::WaitAll:
      group.copies.waitAll(number, arrived);
      checkHeld(running, group.copies, wave, op, lane, 0);
      break;
    case AsyncMark::Kind::HandedOver:
      group.copies.handOver(number);
      break;
    case AsyncMark::Kind::Observed:
      group.copies.observe(thread.id - group.firstThread);
      break;
    case AsyncMark::Kind::Held:
      if (mark.vectorReg + 1u < wave.vgprCount)
        group.copies.hold({.address = wave.vgpr(vectorOffset(mark.vectorReg), lane),
                           .bytes = mark.count,
                           .pc = op.pc,
                           .thread = uint16_t(number),
                           .lane = uint8_t(lane),
                           .isLds = true});
      break;
    }
  }
}

/// Who reads behind a wait must find the bytes there: a store that is held back longer is a fault
/// of the translation.
void RaceCheck::checkHeld(RunningGroup &running, const AsyncCopies &copies, Wave &wave,
                          const MicroOp &op, unsigned lane, unsigned groups) {
  const AsyncStore *held = copies.heldBehindWait(wave.indexInGroup * wave.lanes() + lane, groups);
  if (!held)
    return;
  raise(wave, op, FaultKind::DataRace, lane, held->address, held->bytes, true);
  const Place place = {0, running.id, held->thread / wave.lanes()};
  running.faultDetail = "in LDS; this wait covers an asynchronous copy that Rubia still holds "
                        "back, by " +
                        describe({0, 0, held->pc, held->lane}, place);
}

/// Notes a store of a copy; of other accesses, whether they leave alone what is on its way.
bool RaceCheck::isArrived(const Instruction &now, const LaneAccess &access) {
  const bool isLds = access.space == Space::Local;
  AsyncCopies &copies = now.group.copies;
  if (now.step.isAsync && access.writes && !now.atomic) {
    AsyncStore store;
    store.address = access.address;
    store.bytes = access.bytes;
    store.pc = now.op.pc;
    store.thread = uint16_t(now.wave.indexInGroup * now.wave.lanes() + access.lane);
    store.lane = uint8_t(access.lane);
    store.isLds = isLds;
    copies.store(store);
    return true;
  }
  if (copies.empty())
    return true;
  const unsigned warp = threadOf(now.group, now.wave, access.lane).id - now.group.firstThread;
  const AsyncStore *copy = copies.find(isLds, access.address, access.bytes, warp);
  if (!copy) {
    if (access.writes)
      copies.forget(isLds, access.address, access.bytes);
    return true;
  }
  raise(now.wave, now.op, FaultKind::DataRace, access.lane, access.address, access.bytes,
        access.writes);
  const unsigned perWave = now.wave.lanes();
  const Place place = {0, now.running.id, copy->thread / perWave};
  const RaceAccess other = {0, 0, copy->pc, copy->lane};
  now.running.faultDetail =
      std::string(isLds ? "in LDS; " : "") +
      "the other is an asynchronous copy, which has not been waited for, by " +
      describe(other, place);
  return false;
}

/// Whether a wait or a cache operation lies right before or behind: volatile accesses and releases
/// have one. So do many plain ones.
bool RaceCheck::isNearWait(const MicroOp &op) const {
  constexpr size_t kNear = 4;
  const size_t index = size_t(&op - code.program->operations.data());
  if (index + 1 < code.steps.size() && code.steps[index + 1].kind == StepKind::Wait)
    return true;
  for (size_t i = 1; i <= std::min(kNear, index); ++i) {
    const InstructionStep &earlier = code.steps[index - i];
    if (earlier.kind == StepKind::Wait || earlier.kind == StepKind::Cache)
      return true;
    if (earlier.kind != StepKind::Other || earlier.branch || earlier.barrier)
      return false;
  }
  return false;
}

/// The bytes that a store is about to write: `bytes` from `byte` of its `which`th operand on.
uint32_t RaceCheck::storedValue(const Instruction &now, unsigned which, unsigned byte,
                                unsigned bytes, unsigned lane) const {
  if (now.step.reads || now.step.toLds || now.step.direct || now.step.kind == StepKind::Scalar)
    return now.op.pc; // the same only if it is the same instruction
  if (now.step.image) {
    uint32_t words[4] = {};
    if (!encodeStored(now.wave, now.op, lane, words))
      return now.op.pc;
    return bytes == 4 ? words[byte / 4] : words[byte / 4] >> (8 * (byte % 4)) & 0xff;
  }
  const uint32_t offset = uint32_t(now.op.source[2 + which]) + byte / 4 * kBlockLanes;
  const uint32_t word = now.wave.vgpr(offset, lane) >> (now.step.highHalf ? 16 : 0);
  return bytes == 4 ? word : word >> (8 * (byte % 4)) & 0xff;
}

/// Which barrier an operation signals: its operand or M0 says so (Barriers.cpp); -1 is the
/// workgroup's, as is that of S_BARRIER.
unsigned signalled(const Wave &wave, const MicroOp &op) {
  const int32_t id = op.kind[0] == OperandKind::Constant ? int32_t(op.source[0])
                     : op.kind[0] == OperandKind::None   ? -1
                                                         : int32_t(wave.scalars[kM0] << 26) >> 26;
  return id >= 1 && id <= int32_t(Workgroup::kNamedBarriers) ? unsigned(id) : 0;
}

void RaceCheck::before(RunningGroup &running, Wave &wave, const MicroOp &op,
                       const InstructionStep &step, const Accesses &accesses) {
  Group &group = *groups[&running];
  if (uint8_t &waited = group.waitsFor[wave.indexInGroup]) {
    forThreads(group, wave, [&](Thread &thread) { thread.seen.join(group.passed[waited - 1]); });
    waited = 0;
  }
  if (step.barrier && step.barrierSignals)
    forThreads(group, wave, [&](Thread &thread) {
      group.arriving[signalled(wave, op)].join(allOf(thread, thread.clock));
      ++thread.clock;
    });
  if (step.gridBarrier && wave.exec() != 0) {
    arrivesAtGrid = !wave.inWaveSync;
    if (arrivesAtGrid)
      forThreads(group, wave, [&](Thread &thread) {
        gridBarrier(wave, op).arriving.join(allOf(thread, thread.released()));
        ++thread.clock;
      });
  }
  if (step.mark.kind != AsyncMark::Kind::None)
    mark(running, group, wave, op, step.mark);
  if (step.kind == StepKind::Wait)
    forThreads(group, wave, [&](Thread &thread) {
      for (unsigned i = 0; i < kCounters; ++i)
        while (step.limit[i] != InstructionStep::kNoLimit &&
               thread.outstanding[i].size() > step.limit[i])
          thread.outstanding[i].pop_front();
    });
  if (step.kind == StepKind::Cache && step.invalidatesL0)
    forThreads(group, wave, [&](Thread &thread) { thread.seen.known.join(thread.seen.learned); });
  if (accesses.lanes.empty())
    return;
  const size_t index = size_t(&op - code.program->operations.data());
  const bool atomic = accesses.atomic;
  const bool expects = expecting[unsigned(index)];
  const Strength strength =
      step.strength == Strength::Weak && expects ? Strength::Strong : step.strength;
  const Instruction now = {
      running, group,         wave, op, step, strength, polling[unsigned(index)] || expects,
      atomic,  isNearWait(op)};
  forThreads(group, wave, [&](Thread &thread) {
    ++thread.clock;
    if (step.kind == StepKind::Vector)
      for (unsigned i :
           {unsigned(Counter::Load), unsigned(Counter::Store), unsigned(Counter::Sample)})
        if (step.counters >> i & 1)
          thread.outstanding[i].push_back(thread.clock);
  });
  for (const LaneAccess &access : accesses.lanes) {
    if (access.space == Space::Scratch || wave.status == WaveStatus::Faulted)
      continue;
    const bool isLds = access.space == Space::Local;
    if (isLds && access.address + access.bytes > wave.ldsSize)
      continue; // its handler reports it
    if (!isArrived(now, access))
      return;
    RaceShadow &shadow = isLds ? group.lds : global;
    shadow.visit(
        access.address, access.bytes, [&](RaceCell &cell, uint64_t address, unsigned bytes) {
          const uint32_t value =
              access.writes ? storedValue(now, access.operand, unsigned(address - access.address),
                                          bytes, access.lane)
                            : 0;
          touch(now, {shadow, cell, address, bytes, isLds, access.lane, value}, access);
        });
  }
}

/// Reports the first candidate that is a race after all.
bool RaceCheck::reportCandidate(RunningGroup &group, uint64_t ofGroup) {
  for (const Candidate &candidate : candidates) {
    if (candidate.group != ofGroup || group.shared.fault.set)
      continue;
    bool synchronises = false;
    RaceShadow &shadow = ofGroup ? groups[&group]->lds : global;
    shadow.visit(candidate.address, candidate.bytes,
                 [&](RaceCell &cell, uint64_t, unsigned) { synchronises |= cell.synchronises; });
    if (synchronises)
      continue;
    const Place &place = places[candidate.now.thread];
    group.id = place.workgroup;
    group.shared.fault = {true,
                          FaultKind::DataRace,
                          place.wave,
                          candidate.now.lane,
                          candidate.now.pc,
                          candidate.address,
                          candidate.bytes,
                          true};
    group.faultDetail = (ofGroup ? "in LDS; " : "") + describeOther(candidate.before, "a write");
    return true;
  }
  if (ofGroup)
    std::erase_if(candidates, [&](const Candidate &one) { return one.group == ofGroup; });
  return false;
}

} // namespace

std::unique_ptr<Observer> makeRaceCheck(const SteppedProgram &code, const Launch &launch,
                                        unsigned warpLanes) {
  return std::make_unique<RaceCheck>(code, launch, warpLanes);
}

} // namespace rubia::emulator
