// SPDX-License-Identifier: Apache-2.0
// Where things lie that the host must know too: kernel parameters, module variables, and the size
// of static shared memory.
#include "lowering/Lowering.h"
#include "lowering/SharedMemory.h"
#include "lowering/lib/frame/SharedMemory.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace llvm;

namespace rubia::lowering {

// PTX ISA: kernel-function-parameters: each at its natural or declared alignment, in order.
ParameterLayout layoutOf(const ptx::Function &kernel) {
  ParameterLayout layout;
  for (const ptx::Variable *parameter : kernel.parameters) {
    uint32_t alignment = std::max<uint32_t>(parameter->alignment, 1);
    uint32_t offset = alignTo(layout.sizeInBytes, alignment);
    layout.parameters.push_back({offset, uint32_t(parameter->sizeInBytes), alignment});
    layout.sizeInBytes = offset + uint32_t(parameter->sizeInBytes);
  }
  return layout;
}

std::vector<const ptx::Variable *> moduleVariables(const ptx::Module &module) {
  std::vector<const ptx::Variable *> variables;
  auto add = [&](const ptx::Variable *variable) {
    switch (variable->space) {
    case ptx::StateSpace::Global:
    case ptx::StateSpace::Const:
    case ptx::StateSpace::Tex:
      variables.push_back(variable);
      break;
    case ptx::StateSpace::None:
    case ptx::StateSpace::Reg:
    case ptx::StateSpace::SReg:
    case ptx::StateSpace::Local:
    case ptx::StateSpace::Param:
    case ptx::StateSpace::Shared:
      break;
    }
  };
  for (const ptx::Variable *variable : module.variables)
    add(variable);
  // .global and .const declared in a function live as long as the module too.
  for (const ptx::Function *function : module.functions)
    for (const ptx::Variable *variable : function->locals)
      add(variable);
  return variables;
}

namespace {

struct SharedMemory {
  DenseSet<const ptx::Function *> visited;
  DenseSet<const ptx::Variable *> counted;
  uint64_t bytes = 0;

  void add(uint64_t size, uint32_t alignment) {
    bytes = alignTo(bytes, std::max<uint32_t>(alignment, 1)) + size;
  }

  void visit(const ptx::Operand &operand) {
    const ptx::Variable *variable = operand.variable();
    if (variable && variable->space == ptx::StateSpace::Shared && !variable->incomplete &&
        counted.insert(variable).second)
      add(variable->sizeInBytes, variable->alignment);
    if (operand.function())
      visit(*operand.function());
    for (const ptx::Operand &element : operand.elements())
      visit(element);
  }

  void visit(const ptx::Function &function) {
    if (function.aliasOf)
      return visit(*function.aliasOf);
    if (!visited.insert(&function).second)
      return;
    for (const ptx::Instruction &instruction : function.body)
      for (const ptx::Operand &operand : instruction.operands)
        visit(operand);
    for (const ptx::Prototype &prototype : function.prototypes)
      for (const ptx::Function *target : prototype.targets)
        visit(*target);
  }
};

} // namespace

uint64_t staticSharedBytes(const ptx::Function &kernel, const BarrierWords &words) {
  SharedMemory shared;
  shared.visit(kernel);
  if (uint32_t barriers = words.sizeInBytes())
    shared.add(barriers, 8);
  return shared.bytes;
}

uint64_t staticSharedBytes(const Unit &unit, const ptx::Function &kernel) {
  return staticSharedBytes(kernel, planBarriers(unit).words);
}

std::vector<uint64_t> staticSharedBytes(const Unit &unit) {
  const BarrierWords words = planBarriers(unit).words;
  std::vector<uint64_t> bytes;
  bytes.reserve(unit.kernels.size());
  for (const ptx::Function *kernel : unit.kernels)
    bytes.push_back(staticSharedBytes(*kernel, words));
  return bytes;
}

} // namespace rubia::lowering
