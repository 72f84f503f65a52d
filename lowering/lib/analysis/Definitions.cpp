// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/Definitions.h"
#include "ptx-frontend/InstructionTable.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Call, Mov;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

bool writesFirstOperand(const ptx::Instruction &instruction) {
  const ptx::Form &form = ptx::instructionForms()[instruction.spelling->form];
  return form.operandCount > 0 && form.operandSlots[0].destination && !instruction.operands.empty();
}

Definitions::Definitions(const ptx::Function &function)
    : function(function), instructions(function.registers.size()) {
  for (uint32_t index = 0; index < function.body.size(); ++index) {
    const ptx::Instruction &instruction = function.body[index];
    auto define = [&](ptx::RegisterId reg) {
      if (instructions[reg].empty() || instructions[reg].back() != index)
        instructions[reg].push_back(index);
    };
    if (instruction.op() == ptx::Op::Call) {
      // Results and arguments are lists; to take arguments for written does no harm.
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == ptx::Operand::Kind::List)
          forEachRegister(operand, define);
    } else if (writesFirstOperand(instruction)) {
      forEachRegister(instruction.operands[0], define);
    }
  }
  // The parameters of a function have values from the start.
  for (const ptx::Variable *parameter : function.parameters)
    if (parameter->reg != ptx::kNone)
      instructions[parameter->reg].push_back(uint32_t(function.body.size()));
}

std::optional<uint64_t> Definitions::constant(const ptx::Operand &operand) const {
  using Kind = ptx::Operand::Kind;
  if (operand.kind == Kind::Integer)
    return operand.bits;
  if (operand.kind != Kind::Register || operand.component != 0xff || operand.negated)
    return std::nullopt;
  ArrayRef<uint32_t> writers = of(operand.reg);
  if (writers.size() != 1 || writers[0] >= function.body.size())
    return std::nullopt;
  const ptx::Instruction &writer = function.body[writers[0]];
  if (writer.op() != ptx::Op::Mov || writer.guard.reg != ptx::kNone ||
      writer.operands.size() != 2 || writer.operands[0].kind != Kind::Register ||
      writer.operands[1].kind != Kind::Integer)
    return std::nullopt;
  return writer.operands[1].bits;
}

} // namespace rubia::lowering
