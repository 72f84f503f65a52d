// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/Reassignment.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveIntervalUnion.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include <vector>

using namespace llvm;

namespace rubia::codegen {
namespace {

/// An advisor, looked at as one of a class that adds nothing: what it knows is for such ones only.
struct Advisor : RegAllocEvictionAdvisor {
  static const Advisor &of(const RegAllocEvictionAdvisor &advisor) {
    return static_cast<const Advisor &>(advisor);
  }
  const LiveRegMatrix *matrix() const { return Matrix; }
  const VirtRegMap *assigned() const { return VRM; }
  const LiveIntervalUnion &values(unsigned unit) const { return Matrix->getLiveUnions()[unit]; }
  unsigned units() const { return TRI->getNumRegUnits(); }
  auto unitsOf(MCRegister reg) const { return TRI->regunits(reg); }
  const TargetRegisterClass &classOf(Register value) const { return *MRI->getRegClass(value); }
  ArrayRef<MCPhysReg> registersOf(const TargetRegisterClass &values) const {
    return RegClassInfo.getOrder(&values);
  }
};

/// A register that values of a class may have, with its units.
struct Candidate {
  MCRegister reg;
  SmallVector<unsigned, 2> units;
  uint64_t left = 0; // the last departure of a value from it
};

/// What is known of a unit.
struct Unit {
  uint64_t allocation = 0; // in which a value has it
  SlotIndex start, stop;   // from here to here
};

/// The allocation that this thread is at.
struct Allocation {
  const LiveRegMatrix *matrix = nullptr; // null: none of its values was asked about
  const VirtRegMap *assigned = nullptr;
  DenseMap<const TargetRegisterClass *, std::vector<Candidate>> candidates;
  DenseMap<Register, uint64_t> nowhere; // by value: departures, when it could go nowhere

  // These go on in the next one.
  uint64_t number = 1;
  uint64_t departures = 0; // of values from registers
  std::vector<Unit> units;
};

thread_local Allocation allocation;
thread_local Reassignments counts;
thread_local unsigned looksUp = 0;

ArrayRef<Candidate> candidatesFor(const Advisor &advisor, Register value) {
  const TargetRegisterClass &values = advisor.classOf(value);
  auto [at, isNew] = allocation.candidates.try_emplace(&values);
  if (isNew)
    for (MCRegister reg : advisor.registersOf(values)) {
      at->second.push_back({reg, {}});
      for (MCRegUnit unit : advisor.unitsOf(reg))
        at->second.back().units.push_back(unsigned(unit));
    }
  return at->second;
}

bool isFree(Unit &unit, const LiveIntervalUnion &values, const LiveInterval &value) {
  if (unit.allocation == allocation.number && value.overlaps(unit.start, unit.stop))
    return false;
  ++counts.lookedUp;
  if (values.empty())
    return true;
  auto found = values.find(value.beginIndex());
  for (const LiveRange::Segment &segment : value) {
    found.advanceTo(segment.start);
    if (!found.valid())
      return true;
    if (found.start() < segment.end) {
      unit.allocation = allocation.number;
      unit.start = found.start();
      unit.stop = found.stop();
      return false;
    }
  }
  return true;
}

/// LLVM tries first what the value would like to have. That is among the same registers.
bool canReassign(const Advisor &advisor, const LiveInterval &value, MCRegister from) {
  ++counts.asked;
  allocation.matrix = advisor.matrix();
  allocation.assigned = advisor.assigned();
  allocation.units.resize(advisor.units());
  const auto [at, isNew] = allocation.nowhere.try_emplace(value.reg(), 0);
  const uint64_t since = at->second;
  if (!isNew && since == allocation.departures)
    return false;
  const auto isFreeThere = [&](const Candidate &candidate) {
    return (isNew || candidate.left > since) && candidate.reg != from &&
           all_of(candidate.units, [&](unsigned unit) {
             return isFree(allocation.units[unit], advisor.values(unit), value);
           });
  };
  if (value.empty() || any_of(candidatesFor(advisor, value.reg()), isFreeThere)) {
    allocation.nowhere.erase(at);
    return true;
  }
  at->second = allocation.departures;
  return false;
}

void leave(MCRegister reg, const TargetRegisterInfo &registers) {
  ++allocation.departures;
  ++counts.departures;
  SmallVector<unsigned> units;
  for (MCRegUnit unit : registers.regunits(reg)) {
    units.push_back(unsigned(unit));
    allocation.units[unsigned(unit)].allocation = 0;
  }
  for (auto &[values, candidates] : allocation.candidates)
    for (Candidate &candidate : candidates)
      if (any_of(candidate.units, [&](unsigned unit) { return is_contained(units, unit); }))
        candidate.left = allocation.departures;
}

} // namespace

void forgetRegistersInUse() {
  ++allocation.number;
  allocation.matrix = nullptr;
  allocation.candidates.clear();
  allocation.nowhere.clear();
}

Reassignments reassignments() { return counts; }

RegistersLookedUp::RegistersLookedUp() { ++looksUp; }
RegistersLookedUp::~RegistersLookedUp() { --looksUp; }

} // namespace rubia::codegen

// RegAllocEvictionAdvisor::canReassign(const LiveInterval &, MCRegister) const
#define RUBIA_REASSIGN                                                                             \
  _ZNK4llvm23RegAllocEvictionAdvisor11canReassignERKNS_12LiveIntervalENS_10MCRegisterE
// LiveRegMatrix::unassign(const LiveInterval &)
#define RUBIA_UNASSIGN _ZN4llvm13LiveRegMatrix8unassignERKNS_12LiveIntervalE

extern "C" {

bool RUBIA_REAL(RUBIA_REASSIGN)(const RegAllocEvictionAdvisor *advisor, const LiveInterval *value,
                                MCRegister from);
void RUBIA_REAL(RUBIA_UNASSIGN)(LiveRegMatrix *matrix, const LiveInterval *value);

bool RUBIA_WRAP(RUBIA_REASSIGN)(const RegAllocEvictionAdvisor *advisor, const LiveInterval *value,
                                MCRegister from) {
  using namespace rubia::codegen;
  if (looksUp)
    return RUBIA_REAL(RUBIA_REASSIGN)(advisor, value, from);
  return canReassign(Advisor::of(*advisor), *value, from);
}

void RUBIA_WRAP(RUBIA_UNASSIGN)(LiveRegMatrix *matrix, const LiveInterval *value) {
  using namespace rubia::codegen;
  if (matrix == allocation.matrix)
    leave(allocation.assigned->getPhys(value->reg()), allocation.assigned->getTargetRegInfo());
  RUBIA_REAL(RUBIA_UNASSIGN)(matrix, value);
}
}
