// SPDX-License-Identifier: Apache-2.0
// The search of Machine.h for one placement of the threads: states and the steps between them.
#pragma once

#include "tests/litmus/Placement.h"
#include <string>
#include <unordered_map>

namespace rubia::litmus {

constexpr unsigned kMaxLocations = 4, kMaxSlots = 12, kMaxHistory = 10, kMaxPending = 24;
constexpr unsigned kCaches = kMaxThreads; // of each level
constexpr size_t kMaxStates = 4'000'000;
constexpr uint8_t kUninitialised = 0xee;

enum LineState : uint8_t { Absent, Clean, Dirty };

struct PendingOp {
  uint8_t thread, index, isPerformed;
};

/// All bytes count: states are compared as such.
struct State {
  uint8_t pc[kMaxThreads];
  uint8_t loaded[kMaxThreads];
  uint8_t signals[kMaxThreads];
  uint8_t outcome[kMaxSlots];
  uint8_t memory[kMaxLocations], lds[kMaxLocations];
  uint8_t line[kCaches][kMaxLocations], value[kCaches][kMaxLocations]; // of each L2
  /// What each L2 (or memory) answered, oldest first; the last is what it answers now.
  uint8_t history[kCaches][kMaxLocations][kMaxHistory], length[kCaches][kMaxLocations];
  /// The oldest version, in `history`, that a private cache may hold.
  uint8_t l0[kCaches][kMaxLocations], l1[kCaches][kMaxLocations];
  uint8_t pendingCount;
  PendingOp pending[kMaxPending];
};

/// Locations as bits.
using Locations = uint8_t;

class Explorer {
public:
  Explorer(const Test &test, const std::vector<std::vector<MachineOp>> &threads,
           const Placement &placement, bool evicts, const std::set<Outcome> *allowed,
           Exploration &result)
      : test(test), threads(threads), placement(placement), evicts(evicts), allowed(allowed),
        result(result) {}

  /// Returns false if there is nothing more to find out.
  bool run(const MachineProgram &program);

private:
  void prepare();
  State initial(const MachineProgram &program) const;
  void advance(State &state) const;
  bool advance(State &state, unsigned thread) const;
  void expand(const State &state);
  void issue(State state, unsigned thread);
  void perform(const State &state, unsigned index);
  void performAccess(State state, const PendingOp &op, size_t access);
  void performLoad(const State &state, const PendingOp &op, size_t access);
  void performCacheOperation(State &state, const PendingOp &op);
  void disturb(const State &state);
  void add(State state);
  void end(const State &state);

  bool mayPerform(const State &state, unsigned index) const;
  bool isAwaited(const State &state, const MachineOp &op, unsigned thread) const;
  void returnDone(State &state, unsigned thread) const;
  void finish(State &state, const PendingOp &op) const;
  void normalise(State &state);
  void noteChange(State &state, unsigned location);
  void dropLine(State &state, unsigned l2, unsigned location);
  void noteHang(const PendingOp &op, bool inL0, bool inL1, bool inL2);

  const MachineOp &opOf(const PendingOp &op) const { return threads[op.thread][op.index]; }
  bool beyondL2(emulator::Reach reach) const {
    return reach == emulator::Reach::System ||
           (placement.severalL2 && reach == emulator::Reach::Agent);
  }
  bool usesL2(const emulator::InstructionStep &step, unsigned location) const {
    return placement.modelsL2 && !beyondL2(step.reach) && !isUncached(location);
  }
  bool isUncached(unsigned location) const {
    return placement.fine && (placement.allFine || test.isStrong(test.locations[location]));
  }
  bool isLocal(unsigned location) const { return test.isShared(test.locations[location]); }
  unsigned unitOf(unsigned thread) const { return placement.unit[thread]; }
  unsigned l1Of(unsigned unit) const { return placement.l1[unit]; }
  unsigned l2Of(unsigned unit) const { return placement.l2[placement.l1[unit]]; }
  uint8_t visible(const State &state, unsigned l2, unsigned location) const {
    return state.line[l2][location] == Absent ? state.memory[location] : state.value[l2][location];
  }
  uint8_t last(const State &state, unsigned l2, unsigned location) const {
    return uint8_t(state.length[l2][location] - 1);
  }

  const Test &test;
  const std::vector<std::vector<MachineOp>> &threads;
  const Placement &placement;
  const bool evicts;
  const std::set<Outcome> *allowed;
  Exploration &result;
  unsigned l2Count = 1, unitCount = 1;
  /// What a thread, from each of its positions on, may still load by way of the L0, of the L1, of
  /// the L2, and access at all.
  struct Future {
    Locations l0 = 0, l1 = 0, l2 = 0, any = 0;
  };
  std::vector<std::vector<Future>> future;
  bool hasLoops = false;
  std::unordered_map<std::string, uint32_t> known;
  std::vector<State> todo;
  std::vector<uint32_t> todoNumbers;
  std::vector<std::pair<uint32_t, uint32_t>> edges; // to, from; if there are loops
  std::vector<uint32_t> ends;
  uint32_t current = 0;
  bool isOver = false;
};

} // namespace rubia::litmus
