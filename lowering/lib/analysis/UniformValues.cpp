// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/UniformValues.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/ThreadFacts.h"

using namespace llvm;

namespace rubia::lowering {

static bool isOfParameter(const ptx::Function &function, const ptx::Instruction &instruction) {
  if (!does(instruction, effects::Loads) || instruction.spelling->space() != ptx::StateSpace::Param)
    return false;
  const ptx::Variable *variable = addressOf(instruction)->variable();
  return !variable || is_contained(function.parameters, variable);
}

bool isRepeatable(const ptx::Function &function, const ptx::Instruction &instruction) {
  return instruction.guard.reg == ptx::kNone &&
         (isPure(instruction) || isOfParameter(function, instruction));
}

namespace {

struct Values {
  const ptx::Function &function;
  const Definitions &definitions;

  bool isUniform(ptx::RegisterId reg, unsigned depth) const {
    ArrayRef<uint32_t> writers = definitions.of(reg);
    if (writers.size() != 1 || writers[0] >= function.body.size() || depth == kMaxValueSteps)
      return false;
    const ptx::Instruction &writer = function.body[writers[0]];
    const bool isLoad = does(writer, effects::Loads);
    const bool fromParameter = isLoad && writer.spelling->space() == ptx::StateSpace::Param;
    // What all load at once from one address is the same for all.
    const bool isPoll = isLoad && mayPoll(writer) && writer.guard.reg == ptx::kNone;
    if ((!isRepeatable(function, writer) && !isPoll) || (fromParameter && !function.isKernel))
      return false;
    return all_of(writer.operands.drop_front(),
                  [&](const ptx::Operand &source) { return isUniform(source, depth + 1); });
  }

  bool isUniform(const ptx::Operand &operand, unsigned depth) const {
    if (operand.kind == ptx::Operand::Kind::SpecialRegister)
      return isSameFor(Group::Warp, operand.special);
    bool uniform = true;
    forEachRegister(operand,
                    [&](ptx::RegisterId reg) { uniform = uniform && isUniform(reg, depth); });
    return uniform;
  }
};

} // namespace

bool isUniform(const ptx::Function &function, const Definitions &definitions, ptx::RegisterId reg) {
  return Values{function, definitions}.isUniform(reg, 0);
}

bool isUniformJump(const ptx::Function &function, const Definitions &definitions,
                   const ptx::Instruction &jump) {
  const Values values{function, definitions};
  const ptx::Operand *choice = choiceOf(jump);
  return (jump.guard.reg == ptx::kNone || values.isUniform(jump.guard.reg, 0)) &&
         (!choice || values.isUniform(*choice, 0));
}

} // namespace rubia::lowering
