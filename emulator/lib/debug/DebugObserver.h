// SPDX-License-Identifier: Apache-2.0
// A launch under the debugger: where it stops, and what it is asked while it stands still.
//
// All waves stand still with the one that stops, as they run on one host thread. A step runs the
// chosen thread to its next instruction or line; other waves go on meanwhile, and may come to
// breakpoints.
#pragma once

#include "emulator/lib/debug/Changes.h"
#include "emulator/lib/debug/DebugSession.h"
#include "emulator/lib/debug/Inspection.h"
#include "emulator/lib/observe/Observer.h"

namespace rubia::emulator {

class DebugObserver : public Observer {
public:
  DebugObserver(DebugSession &session, const Launch &launch, const Memory &memory);
  ~DebugObserver() override;

  void groupStarted(RunningGroup &group) override;
  void groupEnded(RunningGroup &group) override;
  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;
  void after(RunningGroup &group, Wave &wave, const MicroOp &op,
             const InstructionStep &step) override;
  void faulted(RunningGroup &group, const Fault &fault) override;

private:
  enum class Step : uint8_t { None, Instruction, Line, LineOver, Out };
  struct Resolved {
    Breakpoint breakpoint; // others may come meanwhile
    std::vector<size_t> operations;
    uint64_t line = 0;   // where it came to lie
    bool isOnce = false; // it is for the launch, not for each wave
    bool isHit = false;
  };

  void resolve();
  bool take();
  std::vector<int64_t> hits(Focus &focus, size_t operation);
  bool hasArrived(const Wave &wave, const MicroOp &op, size_t operation) const;
  void stop(Focus focus, llvm::StringRef reason, const std::vector<int64_t> &breakpoints,
            const std::string &message);
  bool answer(const llvm::json::Object &request);
  llvm::Expected<llvm::json::Value> ask(const llvm::json::Object &request);
  llvm::Error refocus(const llvm::json::Object &request);
  void begin(Step kind);

  DebugSession &session;
  const Launch &launch;
  const SteppedProgram &code;
  CodePlaces places;
  CallStacks calls;
  Inspection inspection;
  Changes changes;
  std::vector<RunningGroup *> groups;
  uint64_t number; // of the launch

  uint64_t seenChanges = 0;
  std::vector<Resolved> resolved;
  std::vector<bool> marks; // by operation: a breakpoint lies there
  unsigned sinceMessages = 0;
  bool isPausing = false;

  Step step = Step::None;
  Focus focus;
  /// Where the step began.
  std::optional<CodePlaces::Place> from;
  size_t fromOperation = 0, fromDepth = 0;
};

} // namespace rubia::emulator
