// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/ThreadFacts.h"
#include "lowering/lib/analysis/Definitions.h"
#include "ptx-frontend/Effects.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Call;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

bool isSameFor(Group group, ptx::SpecialRegister special) {
  switch (ptx::sharedBy(special)) {
  case ptx::SharedBy::Thread:
    return false;
  case ptx::SharedBy::Warp:
    return group != Group::Cta;
  case ptx::SharedBy::Cta:
    return true;
  }
  return false;
}

DenseSet<const ptx::Function *> functionsWithAddress(const Unit &unit) {
  DenseSet<const ptx::Function *> result;
  auto add = [&](const ptx::Function &function) { result.insert(&definitionOf(function)); };
  auto addIn = [&](auto &self, const ptx::Operand &operand) -> void {
    if (operand.function())
      add(*operand.function());
    for (const ptx::Operand &element : operand.elements())
      self(self, element);
  };
  auto addOf = [&](const ptx::Function &function) {
    for (const ptx::Instruction &instruction : function.body)
      for (const ptx::Operand &operand : instruction.operands)
        if (instruction.op() != ptx::Op::Call || !operand.function())
          addIn(addIn, operand);
    for (const ptx::Prototype &prototype : function.prototypes)
      for (const ptx::Function *target : prototype.targets)
        add(*target);
  };
  for (const ptx::Function *kernel : unit.kernels)
    addOf(*kernel);
  for (const ptx::Function *function : unit.functions)
    addOf(*function);
  for (const ptx::Function *function : unit.inInitializers)
    add(*function);
  return result;
}

} // namespace rubia::lowering
