// SPDX-License-Identifier: Apache-2.0
// Registers that are used, or filled anew, while a memory operation may still have to fill them.
#include "tests/litmus/Machine.h"

using namespace rubia::emulator;

namespace rubia::litmus {

namespace {
struct PendingWrite {
  const InstructionStep *step;
  bool inOrder;
};

bool touches(const InstructionStep &now, const InstructionStep &before) {
  for (const RegisterRange &mine : now.registers)
    for (const RegisterRange &its : before.registers) {
      if (!its.written || mine.vector != its.vector || !(mine.halves & its.halves) ||
          mine.first >= its.first + its.count || its.first >= mine.first + mine.count)
        continue;
      if (!(mine.written && mine.vector && now.counters && now.counters == before.counters))
        return true;
    }
  return false;
}

/// Drops what has certainly returned when the counters are within the limits.
void waitFor(const InstructionStep &wait, std::vector<PendingWrite> &pending) {
  for (size_t i = pending.size(); i-- > 0;)
    for (unsigned c = 0; c < kCounters; ++c) {
      if (!(pending[i].step->counters >> c & 1) || wait.limit[c] == InstructionStep::kNoLimit)
        continue;
      unsigned younger = 0; // that cannot return before it
      for (size_t j = i + 1; j < pending.size(); ++j)
        younger += pending[i].inOrder && pending[j].inOrder && pending[j].step->counters >> c & 1;
      if (younger < wait.limit[c])
        continue;
      pending.erase(pending.begin() + ptrdiff_t(i));
      break;
    }
}
} // namespace

bool usesPendingRegister(const std::vector<MachineOp> &thread) {
  std::vector<PendingWrite> pending;
  std::vector<bool> isRepeated(thread.size());
  for (size_t i = 0; i < thread.size(); ++i) {
    const MachineOp &op = thread[i];
    if (op.kind == MachineOp::Loop && !isRepeated[i]) {
      isRepeated[i] = true;
      i = op.head - 1;
      continue;
    }
    if (op.kind == MachineOp::Wait) {
      waitFor(op.step, pending);
      continue;
    }
    for (const PendingWrite &before : pending)
      if (touches(op.step, *before.step))
        return true;
    if (op.step.counters)
      pending.push_back({&op.step, op.step.kind != StepKind::Scalar});
  }
  return false;
}

} // namespace rubia::litmus
