// SPDX-License-Identifier: Apache-2.0
// A wave's lanes run together and in order, so that AMD's hardware never shows what is wrong here.
// NVIDIA's lanes may run apart: between them, only __syncwarp(), barriers and strong accesses
// order anything (CUDA C++ programming guide, "Independent Thread Scheduling").
//
// Two accesses of different lanes to one byte, one of them a write, are a hazard unless the lane of
// the first has come to a __syncwarp() (InstructionStep::warpSync), a barrier or a strong write
// since then. Of the second lane nothing is asked: what it waited with, the first one has come to.
// Where all lanes that are on come to one together, all that was before is forgotten. A
// __syncwarp() of part of a warp orders for the lanes of its mask alone, and whom they order next.
//
// All lanes of a warp make a bulk copy for the thread that starts it, and what they access while
// they do so are accesses of that thread.
//
// Lanes of one instruction that store different values to one byte are a warning: CUDA stores one
// of them, but says not which.
//
// Of writes to LDS it matters which one stays only to who reads it, so they are reported then: CUB
// has a cell to which all lanes write what nobody wants. Global memory is read after the launch.
//
// Only accesses are looked at of which the notes say that they are weak: relaxed, volatile and
// atomic ones are no hazard, and code without notes does not tell where its __syncwarp() were.
#include "emulator/lib/check/CheckWarps.h"
#include "emulator/lib/machine/InitialState.h"
#include "emulator/lib/run/FaultReport.h"
#include <array>

using namespace llvm;

namespace rubia::emulator {
namespace {

constexpr unsigned kMaxLanes = 64;
constexpr uint8_t kNobody = 255;

struct Access {
  uint32_t pc = 0;
  uint32_t time = 0;   // of its lane
  uint32_t number = 0; // of the wave's instruction
  uint8_t lane = kNobody;
  std::optional<uint8_t> value = std::nullopt; // that is stored
};

struct Byte {
  Access write;
  Access reads[2]; // the first since its lane was ordered, and the last of another lane
};

/// The memory that a wave has touched, in dwords.
using Touched = DenseMap<uint64_t, std::array<Byte, 4>>;

using Times = std::array<uint32_t, kMaxLanes>; // of each lane

struct WaveState {
  Times time = {};   // how often each lane has come to what orders
  uint64_t seen = 0; // lanes that have touched memory
  Touched global, lds;
  /// What is ordered before each lane's next accesses: those of each other lane up to a time. Empty
  /// as long as each has come to what orders for all.
  std::vector<Times> ordered;
  std::optional<uint8_t> copier; // the lane for which others make a copy now
};

/// Writes to a byte of LDS that nothing orders, and that nobody has read.
struct Unread {
  FaultRecord fault;
  std::string detail;
};

struct GroupState {
  std::vector<WaveState> waves;
  DenseMap<uint64_t, Unread> unread; // by address
};

class WarpCheck : public Observer {
public:
  WarpCheck(const Launch &launch, unsigned warpLanes)
      : program(*launch.kernel->program), launch(launch), warpLanes(warpLanes) {}

  bool followsComputation() const override { return false; }
  void groupStarted(RunningGroup &group) override {
    groups[&group].waves.resize(group.waves.size());
  }
  void groupEnded(RunningGroup &group) override { groups.erase(&group); }
  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;

private:
  struct Now {
    RunningGroup &group;
    Wave &wave;
    const MicroOp &op;
    const InstructionStep &step;
    GroupState &all;
    WaveState &state;
  };
  bool isSameWarp(unsigned a, unsigned b) const { return a / warpLanes == b / warpLanes; }
  static bool isOrdered(const WaveState &state, const Access &earlier, unsigned lane) {
    return state.ordered.empty() ? state.time[earlier.lane] > earlier.time
                                 : state.ordered[lane][earlier.lane] > earlier.time;
  }
  static void order(WaveState &state, uint64_t lanes) { order(state, lanes, ~uint64_t(0)); }
  static void order(WaveState &state, uint64_t lanes, uint64_t members);
  void orderMembers(Wave &wave, WaveState &state, unsigned maskRegister);
  /// The lane whose thread accesses something.
  static unsigned laneOf(const Now &now, const LaneAccess &access) {
    return now.state.copier.value_or(access.lane);
  }
  static Access accessOf(const Now &now, const LaneAccess &access) {
    const unsigned lane = laneOf(now, access);
    return {now.op.pc, now.state.time[lane], uint32_t(now.wave.instructions), uint8_t(lane)};
  }
  bool isHazard(const Now &now, const Access &earlier, const LaneAccess &access) const {
    const unsigned lane = laneOf(now, access);
    return earlier.lane != kNobody && earlier.lane != lane && isSameWarp(earlier.lane, lane) &&
           !isOrdered(now.state, earlier, lane);
  }
  void read(const Now &now, const LaneAccess &access, Byte &byte);
  void write(const Now &now, const LaneAccess &access, unsigned which, Byte &byte);
  void report(const Now &now, const LaneAccess &access, const Access &earlier, StringRef what);
  void postpone(const Now &now, const LaneAccess &access, uint64_t address, bool isWarning,
                std::string detail);
  void reportWhatIsRead(const Now &now, const Accesses &accesses);
  std::string hazardWith(const Now &now, const Access &earlier, StringRef what) const;
  void compareStores(const Now &now, const Accesses &accesses);
  uint8_t storedByte(const Now &now, const LaneAccess &access, unsigned byte) const;

  const Program &program; // has lines
  const Launch &launch;
  const unsigned warpLanes;
  DenseMap<const RunningGroup *, GroupState> groups;
};

template <class F> void forLanes(uint64_t lanes, F visit) {
  for (; lanes; lanes &= lanes - 1)
    visit(unsigned(std::countr_zero(lanes)));
}

/// `lanes` come to something that orders what they did before, for what `members` do from now on.
void WarpCheck::order(WaveState &state, uint64_t lanes, uint64_t members) {
  if (members == ~uint64_t(0) && (state.seen & ~lanes) == 0) {
    state.global.clear();
    state.lds.clear();
    state.seen = 0;
    state.ordered.clear();
  }
  if (members != ~uint64_t(0) && state.ordered.empty())
    state.ordered.assign(kMaxLanes, state.time); // so far each has ordered for all
  forLanes(lanes, [&](unsigned lane) { ++state.time[lane]; });
  if (state.ordered.empty())
    return;
  // With what is ordered before these lanes themselves.
  Times before = {};
  forLanes(lanes, [&](unsigned lane) {
    for (unsigned other = 0; other < kMaxLanes; ++other)
      before[other] = std::max(before[other], state.ordered[lane][other]);
    before[lane] = state.time[lane];
  });
  forLanes(members, [&](unsigned lane) {
    for (unsigned other = 0; other < kMaxLanes; ++other)
      state.ordered[lane][other] = std::max(state.ordered[lane][other], before[other]);
  });
}

/// Lanes come to a __syncwarp() with the masks that a register has. Those of one mask are together.
void WarpCheck::orderMembers(Wave &wave, WaveState &state, unsigned maskRegister) {
  if (maskRegister + 1u >= wave.vgprCount)
    return;
  for (uint64_t rest = wave.exec(); rest;) {
    const unsigned first = unsigned(std::countr_zero(rest));
    const uint32_t mask = wave.vgpr(vectorOffset(uint16_t(maskRegister)), first);
    uint64_t together = 0;
    forLanes(rest, [&](unsigned lane) {
      if (isSameWarp(first, lane) && wave.vgpr(vectorOffset(uint16_t(maskRegister)), lane) == mask)
        together |= uint64_t(1) << lane;
    });
    rest &= ~together;
    const uint64_t members = uint64_t(mask) << (first / warpLanes * warpLanes);
    order(state, together, mask == ~0u ? ~uint64_t(0) : members);
  }
}

std::string WarpCheck::hazardWith(const Now &now, const Access &earlier, StringRef what) const {
  const Dim3 other = threadOf(launch, program, now.wave.indexInGroup, earlier.lane);
  return what.str() + " by thread " + triple(other) + " at " + describePlace(program, earlier.pc) +
         ", and no __syncwarp() between them";
}

void WarpCheck::report(const Now &now, const LaneAccess &access, const Access &earlier,
                       StringRef what) {
  if (now.wave.status == WaveStatus::Faulted)
    return;
  raise(now.wave, now.op, FaultKind::WarpHazard, laneOf(now, access), access.address, access.bytes,
        access.writes);
  now.group.faultDetail =
      (access.space == Space::Local ? "in LDS; " : "") + hazardWith(now, earlier, what);
}

/// Of a write to LDS. The first of an instruction stays.
void WarpCheck::postpone(const Now &now, const LaneAccess &access, uint64_t address, bool isWarning,
                         std::string detail) {
  const FaultRecord fault = {
      true,      FaultKind::WarpHazard, now.wave.indexInGroup, laneOf(now, access),
      now.op.pc, access.address,        access.bytes,          true,
      isWarning};
  now.all.unread.try_emplace(address, Unread{fault, "in LDS; " + std::move(detail)});
}

void WarpCheck::reportWhatIsRead(const Now &now, const Accesses &accesses) {
  for (const LaneAccess &access : accesses.lanes)
    for (unsigned i = 0; access.reads && access.space == Space::Local && i < access.bytes; ++i) {
      const auto found = now.all.unread.find(access.address + i);
      if (found == now.all.unread.end() || now.group.shared.fault.set)
        continue;
      now.wave.halt(WaveStatus::Faulted);
      now.group.shared.fault = found->second.fault;
      now.group.faultDetail = found->second.detail;
      now.all.unread.erase(found);
      return;
    }
}

void WarpCheck::read(const Now &now, const LaneAccess &access, Byte &byte) {
  if (isHazard(now, byte.write, access))
    report(now, access, byte.write, "after a write");
  Access &first = byte.reads[0];
  const unsigned lane = laneOf(now, access);
  const bool isFirst =
      first.lane == kNobody || first.lane == lane || isOrdered(now.state, first, lane);
  byte.reads[isFirst ? 0 : 1] = accessOf(now, access);
}

/// `which`: of the bytes of the access.
void WarpCheck::write(const Now &now, const LaneAccess &access, unsigned which, Byte &byte) {
  Access here = accessOf(now, access);
  if (!now.step.toLds && !now.step.direct)
    here.value = storedByte(now, access, which);
  const bool isSame = here.value && here.value == byte.write.value;
  // Those of one instruction, compareStores() compares.
  if (byte.write.number != here.number) {
    const bool isLds = access.space == Space::Local, races = isHazard(now, byte.write, access);
    if (isLds)
      now.all.unread.erase(access.address + which);
    if (races && !isSame && isLds)
      postpone(now, access, access.address + which, false,
               hazardWith(now, byte.write, "after a write"));
    else if (races && !isSame)
      report(now, access, byte.write, "after a write");
  }
  for (const Access &earlier : byte.reads)
    if (isHazard(now, earlier, access))
      report(now, access, earlier, "after a read");
  byte.write = here;
}

uint8_t WarpCheck::storedByte(const Now &now, const LaneAccess &access, unsigned byte) const {
  const uint32_t offset = uint32_t(now.op.source[2 + access.operand]) + byte / 4 * kBlockLanes;
  const uint32_t word = now.wave.vgpr(offset, access.lane) >> (now.step.highHalf ? 16 : 0);
  return uint8_t(word >> 8 * (byte % 4));
}

/// Different values of lanes of one warp for one byte.
void WarpCheck::compareStores(const Now &now, const Accesses &accesses) {
  struct Store {
    uint8_t lane = 0, value = 0;
  };
  DenseMap<std::pair<uint64_t, unsigned>, Store> stored; // by byte, and by space and warp
  for (const LaneAccess &access : accesses.lanes) {
    if (!access.writes || access.space == Space::Scratch)
      continue;
    const unsigned place = access.lane / warpLanes * 2 + (access.space == Space::Local);
    for (unsigned i = 0; i < access.bytes; ++i) {
      const Store store = {access.lane, storedByte(now, access, i)};
      auto [found, isNew] = stored.try_emplace({access.address + i, place}, store);
      if (isNew || found->second.value == store.value || found->second.lane == access.lane)
        continue;
      const Dim3 other = threadOf(launch, program, now.wave.indexInGroup, found->second.lane);
      std::string detail = "thread " + triple(other) +
                           " stores another value there with the same instruction: either may be "
                           "what stays";
      if (access.space == Space::Local) {
        postpone(now, access, access.address + i, true, std::move(detail));
        continue;
      }
      raise(now.wave, now.op, FaultKind::WarpHazard, access.lane, access.address, access.bytes,
            true);
      now.group.shared.fault.isWarning = true;
      now.group.faultDetail = std::move(detail);
      return;
    }
  }
}

/// The lanes that a strong write orders. An atomic operation of one lane may be what LLVM has made
/// of those of all lanes.
uint64_t releasingLanes(const Wave &wave, const InstructionStep &step, const Accesses &accesses) {
  const bool mayStandForAll = accesses.atomic && !step.compares && std::popcount(wave.exec()) == 1;
  return mayStandForAll ? ~uint64_t(0) : wave.exec();
}

void WarpCheck::before(RunningGroup &group, Wave &wave, const MicroOp &op,
                       const InstructionStep &step, const Accesses &accesses) {
  GroupState &all = groups[&group];
  const Now now = {group, wave, op, step, all, all.waves[wave.indexInGroup]};
  if (step.warpSync)
    order(now.state, wave.exec());
  if (step.mark.kind == AsyncMark::Kind::ByWarp && wave.exec() != 0)
    now.state.copier = uint8_t(std::countr_zero(wave.exec()));
  else if (step.mark.kind == AsyncMark::Kind::HandedOver)
    now.state.copier.reset();
  if (step.mark.kind == AsyncMark::Kind::PartOfWarp)
    orderMembers(wave, now.state, step.mark.vectorReg);
  // Barriers are for the wave, whatever is on.
  if (step.barrierSignals || step.gridBarrier) {
    now.state.global.clear();
    now.state.lds.clear();
    now.state.ordered.clear();
  }
  if (step.kind != StepKind::Vector && step.kind != StepKind::Lds)
    return;
  if (!all.unread.empty() && step.reads)
    reportWhatIsRead(now, accesses);
  if (isStrong(step.strength) && step.writes)
    return order(now.state, releasingLanes(wave, step, accesses));
  if (step.strength != Strength::Weak || accesses.atomic)
    return;
  for (const LaneAccess &access : accesses.lanes) {
    if (access.space == Space::Scratch)
      continue;
    const bool isLds = access.space == Space::Local;
    if (isLds && access.address + access.bytes > wave.ldsSize)
      continue; // its handler reports it
    now.state.seen |= uint64_t(1) << laneOf(now, access);
    for (unsigned i = 0; i < access.bytes; ++i) {
      const uint64_t address = access.address + i;
      Byte &byte = (isLds ? now.state.lds : now.state.global)[address / 4][address % 4];
      access.writes ? write(now, access, i, byte) : read(now, access, byte);
    }
  }
  if (step.writes && !step.toLds && !step.direct && wave.status != WaveStatus::Faulted)
    compareStores(now, accesses);
}

} // namespace

std::unique_ptr<Observer> makeWarpCheck(const Launch &launch, unsigned warpLanes) {
  return std::make_unique<WarpCheck>(launch, warpLanes);
}

} // namespace rubia::emulator
