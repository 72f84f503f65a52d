// SPDX-License-Identifier: Apache-2.0
// Who watches a launch instruction by instruction: checks, traces, statistics.
//
// The normal loops have no hooks. A launch that is observed runs in a loop of its own
// (ObservedRun.h), on code that is decoded a second time, with waits.
#pragma once

#include "emulator/lib/run/Accesses.h"
#include "emulator/lib/run/RunningGroup.h"

namespace rubia::emulator {

/// All calls come from one thread. An instruction that decodes to several operations is told once
/// for each of them; those have one pc.
class Observer {
public:
  virtual ~Observer() = default;
  /// Whether before() and after() are called for operations that only compute too
  /// (InstructionStep::onlyComputes), which are most of them.
  virtual bool followsComputation() const { return true; }
  virtual void groupStarted(RunningGroup &) {}
  /// All its waves have ended. May set RunningGroup::shared.fault.
  virtual void groupEnded(RunningGroup &) {}
  /// After the end of the last workgroup, which is `last`. May set its fault too.
  virtual void launchEnded(RunningGroup & /*last*/) {}
  /// Before an operation is executed; waits are told too. raise() keeps it from being executed and
  /// ends the launch; RunningGroup::faultDetail says more.
  virtual void before(RunningGroup &, Wave &, const MicroOp &, const InstructionStep &,
                      const Accesses &) {}
  /// After it, unless it was at fault. Wave::next is what comes next.
  virtual void after(RunningGroup &, Wave &, const MicroOp &, const InstructionStep &) {}
  /// All waves have come to barrier `barrier` of the group; those that wait have not gone on.
  virtual void barrierCompleted(RunningGroup &, unsigned /*barrier*/) {}
  /// Whether the group's waves, all of which wait or have ended, are at fault: called before that
  /// is reported as a deadlock, to say more.
  virtual void stuck(RunningGroup &) {}
  /// The launch is about to end with the fault of the group.
  virtual void faulted(RunningGroup &, const Fault &) {}
};

} // namespace rubia::emulator
