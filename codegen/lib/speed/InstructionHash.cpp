// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/InstructionHash.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/CodeGen/MachineInstr.h"
#include <atomic>

using namespace llvm;

namespace rubia::codegen {

static std::atomic<bool> wasAsked;

bool wereInstructionsHashedByWords() { return wasAsked; }

/// Equal operands (MachineOperand::isIdenticalTo) have equal words.
static uint64_t wordOf(const MachineOperand &operand) {
  switch (operand.getType()) {
  case MachineOperand::MO_Register:
    return uint64_t(operand.getReg().id()) << 32 | operand.getSubReg() << 1 | operand.isDef();
  case MachineOperand::MO_Immediate:
    return operand.getImm();
  default:
    return hash_value(operand);
  }
}

} // namespace rubia::codegen

extern "C" {

// MachineInstrExpressionTrait::getHashValue(const MachineInstr *const &)
unsigned RUBIA_WRAP(_ZN4llvm27MachineInstrExpressionTrait12getHashValueERKPKNS_12MachineInstrE)(
    const MachineInstr *const &inst) {
  rubia::codegen::wasAsked.store(true, std::memory_order_relaxed);
  uint64_t hash = inst->getOpcode();
  for (const MachineOperand &operand : inst->operands()) {
    // Two instructions may be equal but for the values that they make.
    if (operand.isReg() && operand.isDef() && operand.getReg().isVirtual())
      continue;
    hash = (rotl(hash, 23) ^ rubia::codegen::wordOf(operand)) * 0x9e3779b97f4a7c15;
  }
  return unsigned(hash >> 32);
}
}
