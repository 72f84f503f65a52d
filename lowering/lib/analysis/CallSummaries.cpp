// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/CallSummaries.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"

using namespace llvm;

namespace rubia::lowering {

CallSummaries::CallSummaries(const Unit &unit, const Functions &addressTaken)
    : addressTaken(addressTaken) {
  all.append(unit.kernels.begin(), unit.kernels.end());
  all.append(unit.functions.begin(), unit.functions.end());
  for (bool changed = true; changed;) {
    changed = false;
    for (const ptx::Function *function : all)
      changed |= summarize(*function);
  }
}

// The functions that a call may reach.
void CallSummaries::forEachCallee(const ptx::Function &caller, const ptx::Instruction &call,
                                  function_ref<void(const ptx::Function &)> visit) const {
  for (const ptx::Operand &operand : call.operands) {
    if (operand.kind == ptx::Operand::Kind::Function) {
      visit(definitionOf(*operand.function()));
      return;
    }
  }
  for (const ptx::Function *function : addressTaken)
    visit(*function);
  for (const ptx::Prototype &prototype : caller.prototypes)
    for (const ptx::Function *target : prototype.targets)
      visit(definitionOf(*target));
}

bool CallSummaries::callsOne(const ptx::Function &caller, const ptx::Instruction &instruction,
                             const Functions &functions) const {
  bool found = false;
  if (does(instruction, effects::Calls))
    forEachCallee(caller, instruction,
                  [&](const ptx::Function &callee) { found |= functions.contains(&callee); });
  return found;
}

const ptx::Instruction *CallSummaries::readOf(const ptx::Function &function,
                                              const ptx::Instruction &instruction) const {
  if (mayPoll(instruction))
    return &instruction;
  const ptx::Instruction *result = nullptr;
  if (does(instruction, effects::Calls))
    forEachCallee(function, instruction, [&](const ptx::Function &callee) {
      if (firstRead.lookup(&callee))
        result = &instruction;
    });
  return result;
}

// Returns whether more is known than before.
bool CallSummaries::summarize(const ptx::Function &function) {
  bool changed = false;
  const ptx::Instruction *read = firstRead.lookup(&function), *load = nullptr;
  for (const ptx::Instruction &instruction : function.body) {
    auto note = [&](Functions &functions, bool itself) {
      bool holds = itself || callsOne(function, instruction, functions);
      changed |= holds && functions.insert(&function).second;
      return holds;
    };
    note(exiting, does(instruction, effects::Exits) && !function.isKernel);
    note(fencing, lowering::readsAnewAfter(instruction));
    if (note(loading, isPlainLoad(instruction)) && !load)
      load = &instruction;
    if (!read)
      read = readOf(function, instruction);
  }
  // Calls of it may be what reads anew.
  if (!read && fencing.contains(&function))
    read = load;
  if (read && !firstRead.lookup(&function)) {
    firstRead[&function] = read;
    changed = true;
  }
  return changed;
}

bool CallSummaries::isRecursive(const ptx::Function &start) const {
  DenseSet<const ptx::Function *> seen;
  SmallVector<const ptx::Function *> open{&start};
  bool found = false;
  while (!open.empty() && !found) {
    const ptx::Function *function = open.pop_back_val();
    for (const ptx::Instruction &instruction : function->body)
      if (does(instruction, effects::Calls))
        forEachCallee(*function, instruction, [&](const ptx::Function &callee) {
          found |= &callee == &start;
          if (seen.insert(&callee).second)
            open.push_back(&callee);
        });
  }
  return found;
}

} // namespace rubia::lowering
