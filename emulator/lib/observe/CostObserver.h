// SPDX-License-Identifier: Apache-2.0
// Counts what executed instructions cost, for Launch::profile.
#pragma once

#include "emulator/lib/observe/Observer.h"

namespace rubia::emulator {

class CostObserver : public Observer {
public:
  explicit CostObserver(const Program &program)
      : lines(program.lines.get()), code(program.stepped()), known(code.steps.size()),
        costs(code.steps.size()) {}

  void before(RunningGroup &, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;
  void after(RunningGroup &, Wave &wave, const MicroOp &op, const InstructionStep &step) override;

  /// All that was counted so far, with texts and source lines.
  Profile profile() const;
  /// How often each operation was executed, waits aside.
  std::vector<uint64_t> waves() const;

private:
  /// What an operation is, found out when it is first executed.
  struct Known {
    bool known = false;
    bool continues = false; // an instruction that has been counted already
    bool vector = false;
    bool masks = false; // narrows EXEC
    InstructionClass kind = InstructionClass::Other;
  };
  const Known &look(size_t index);
  size_t indexOf(const MicroOp &op) const { return size_t(&op - code.program->operations.data()); }
  void countMemory(Cost &cost, const Known &is, const Accesses &accesses);

  const SourceLines *lines; // null: none are known
  const SteppedProgram &code;
  std::vector<Known> known; // by operation, as is
  std::vector<Cost> costs;
  Profile totals; // what is not a sum of costs
  uint64_t execBefore = 0;
};

} // namespace rubia::emulator
