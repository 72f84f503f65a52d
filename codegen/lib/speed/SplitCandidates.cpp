// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/SplitCandidates.h"
#include "codegen/lib/speed/Reassignment.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveIntervalUnion.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineOperand.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include <utility>

using namespace llvm;

namespace rubia::codegen {
namespace {

/// The one that this thread is at.
struct Allocation {
  LiveIntervalUnion *values = nullptr; // by unit
  LiveIntervals *intervals = nullptr;
  const TargetRegisterInfo *registers = nullptr;
  SmallVector<const uint32_t *> masks; // of the function's calls

  // Of the value that is to be split.
  SmallVector<MCRegister> tried; // unused ones, no two of them alike
  bool wasTried = false;         // the last candidate is like one of them
};

thread_local Allocation allocation;
thread_local SplitCandidates counts;
thread_local unsigned triesAll = 0;

/// Whether no value has the register anywhere, nor an instruction.
bool isUnused(MCRegister candidate) {
  return all_of(allocation.registers->regunits(candidate), [](MCRegUnit unit) {
    return allocation.values[unsigned(unit)].empty() &&
           allocation.intervals->getRegUnit(unit).empty();
  });
}

bool areAlike(MCRegister a, MCRegister b) {
  return all_of(allocation.masks, [&](const uint32_t *mask) {
    return MachineOperand::clobbersPhysReg(mask, a) == MachineOperand::clobbersPhysReg(mask, b);
  });
}

/// A register that was tried and is like this one; else this one.
MCRegister firstLike(MCRegister candidate) {
  allocation.wasTried = false;
  if (triesAll || !isUnused(candidate))
    return candidate;
  for (MCRegister other : allocation.tried)
    if (other != candidate && areAlike(other, candidate)) {
      allocation.wasTried = true;
      return other;
    }
  allocation.tried.push_back(candidate);
  return candidate;
}

void begin(LiveIntervalUnion *values, LiveIntervals *intervals,
           const TargetRegisterInfo *registers) {
  allocation.values = values;
  allocation.intervals = intervals;
  allocation.registers = registers;
  allocation.masks.assign(intervals->getRegMaskBits().begin(), intervals->getRegMaskBits().end());
  llvm::sort(allocation.masks);
  allocation.masks.erase(llvm::unique(allocation.masks), allocation.masks.end());
}

void forgetTried() {
  allocation.tried.clear();
  allocation.wasTried = false;
}

} // namespace

SplitCandidates splitCandidates() { return counts; }

AllRegistersTried::AllRegistersTried() { ++triesAll; }
AllRegistersTried::~AllRegistersTried() { --triesAll; }

} // namespace rubia::codegen

// Of an allocator, in the order of its calls:
// InterferenceCache::init(MachineFunction *, LiveIntervalUnion *, SlotIndexes *, LiveIntervals *,
//                         const TargetRegisterInfo *), for a function
#define RUBIA_INIT                                                                                 \
  _ZN4llvm17InterferenceCache4initEPNS_15MachineFunctionEPNS_17LiveIntervalUnionEPNS_11SlotIndexesEPNS_13LiveIntervalsEPKNS_18TargetRegisterInfoE
// SplitAnalysis::analyze(const LiveInterval *), for a value that is to be split
#define RUBIA_ANALYZE _ZN4llvm13SplitAnalysis7analyzeEPKNS_12LiveIntervalE
// InterferenceCache::get(MCRegister), for a candidate: what is in the way of it
#define RUBIA_GET _ZN4llvm17InterferenceCache3getENS_10MCRegisterE
// SpillPlacement::scanActiveBundles(): whether to go on with the candidate
#define RUBIA_SCAN _ZN4llvm14SpillPlacement17scanActiveBundlesEv

extern "C" {

void RUBIA_REAL(RUBIA_INIT)(void *cache, void *function, LiveIntervalUnion *values, void *indexes,
                            LiveIntervals *intervals, const TargetRegisterInfo *registers);
void RUBIA_REAL(RUBIA_ANALYZE)(void *analysis, const LiveInterval *value);
void *RUBIA_REAL(RUBIA_GET)(void *cache, MCRegister candidate);
bool RUBIA_REAL(RUBIA_SCAN)(void *placement);

void RUBIA_WRAP(RUBIA_INIT)(void *cache, void *function, LiveIntervalUnion *values, void *indexes,
                            LiveIntervals *intervals, const TargetRegisterInfo *registers) {
  rubia::codegen::begin(values, intervals, registers);
  rubia::codegen::forgetRegistersInUse();
  RUBIA_REAL(RUBIA_INIT)(cache, function, values, indexes, intervals, registers);
}

void RUBIA_WRAP(RUBIA_ANALYZE)(void *analysis, const LiveInterval *value) {
  rubia::codegen::forgetTried();
  RUBIA_REAL(RUBIA_ANALYZE)(analysis, value);
}

// What is in the way of a register like it is in the way of the candidate.
void *RUBIA_WRAP(RUBIA_GET)(void *cache, MCRegister candidate) {
  return RUBIA_REAL(RUBIA_GET)(cache, rubia::codegen::firstLike(candidate));
}

// LLVM asks without a candidate too. It goes on to the next one where this is false.
bool RUBIA_WRAP(RUBIA_SCAN)(void *placement) {
  using namespace rubia::codegen;
  const bool isKnown = std::exchange(allocation.wasTried, false);
  ++(isKnown ? counts.alike : counts.tried);
  return !isKnown && RUBIA_REAL(RUBIA_SCAN)(placement);
}
}
