// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/Machine.h"
#include "tests/litmus/Explorer.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace rubia::emulator;

namespace rubia::litmus {

bool MachineProgram::replace(uint32_t pc, const InstructionStep *step) {
  bool found = false;
  for (auto &thread : threads)
    for (MachineOp &op : thread) {
      if (op.pc != pc || op.kind == MachineOp::Loop)
        continue;
      found = true;
      op.step = step ? *step : InstructionStep();
      if (op.step.kind == StepKind::Other)
        op.kind = MachineOp::Other;
    }
  return found;
}

bool Exploration::fails(const std::set<Outcome> &allowed) const {
  return usesPending || hangs ||
         llvm::any_of(outcomes, [&](const Outcome &one) { return !allowed.contains(one); });
}

/// The thread without what can make no difference to others, nor to itself.
static std::vector<MachineOp> essence(const std::vector<MachineOp> &thread) {
  std::vector<MachineOp> ops;
  std::vector<unsigned> position; // of each operation in `ops`
  size_t end = 0;
  for (const MachineOp &op : thread) {
    position.push_back(unsigned(ops.size()));
    const bool hasPlace = op.kind == MachineOp::Memory && !op.accesses.empty();
    if (op.kind == MachineOp::Other)
      continue;
    ops.push_back(op);
    if (op.kind == MachineOp::Loop)
      ops.back().head = position[op.head];
    if (hasPlace || op.kind == MachineOp::Signal || op.kind == MachineOp::AwaitSignals ||
        op.kind == MachineOp::Loop)
      end = ops.size();
  }
  ops.resize(end);
  return ops;
}

Exploration explore(const Test &test, const MachineProgram &program,
                    const std::set<Outcome> *allowed) {
  Exploration result;
  std::vector<std::vector<MachineOp>> threads;
  bool hasLoops = false;
  for (const auto &thread : program.threads) {
    result.usesPending |= usesPendingRegister(thread);
    threads.push_back(essence(thread));
    for (MachineOp &op : threads.back()) {
      hasLoops |= op.kind == MachineOp::Loop;
      llvm::erase_if(op.accesses, [](const Access &access) { return access.location < 0; });
    }
  }
  if (allowed && result.usesPending)
    return result;
  if (threads.size() > kMaxThreads || test.locations.size() > kMaxLocations ||
      test.results + test.locations.size() > kMaxSlots) {
    result.isTooLarge = true;
    return result;
  }
  for (const Placement &placement : placementsOf(test, program))
    for (bool evicts : {true, false}) {
      if (!evicts && !(hasLoops && placement.modelsL2))
        continue; // less than what has been seen
      if (!Explorer(test, threads, placement, evicts, allowed, result).run(program))
        return result;
    }
  return result;
}

} // namespace rubia::litmus
