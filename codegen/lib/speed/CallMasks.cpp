// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/CallMasks.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveRegUnits.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include <vector>

using namespace llvm;

namespace rubia::codegen {
namespace {

/// By its contents: another function's mask may come to lie in the same place. All processors have
/// the same registers.
struct Mask {
  std::vector<uint32_t> words;
  BitVector lost; // the units of which a register is written
};

constexpr size_t kMostMasks = 16; // of 2 KB

thread_local std::vector<Mask> masks;
thread_local CallMaskAnswers counts;

const BitVector &lostOf(const uint32_t *words, const TargetRegisterInfo &registers) {
  const ArrayRef<uint32_t> all(words, MachineOperand::getRegMaskSize(registers.getNumRegs()));
  const auto known = find_if(masks, [&](const Mask &mask) { return ArrayRef(mask.words) == all; });
  if (known != masks.end()) {
    ++counts.remembered;
    return known->lost;
  }
  ++counts.found;
  if (masks.size() == kMostMasks)
    masks.clear();
  LiveRegUnits units(registers);
  units.addRegsInMask(words);
  masks.push_back({all.vec(), units.getBitVector()});
  return masks.back().lost;
}

const TargetRegisterInfo &registersOf(const MachineInstr &inst) {
  return *inst.getMF()->getSubtarget().getRegisterInfo();
}

} // namespace

CallMaskAnswers callMaskAnswers() { return counts; }

} // namespace rubia::codegen

// LiveRegUnits::stepBackward(const MachineInstr &)
#define RUBIA_FUNCTION _ZN4llvm12LiveRegUnits12stepBackwardERKNS_12MachineInstrE

extern "C" {

void RUBIA_REAL(RUBIA_FUNCTION)(LiveRegUnits *units, const MachineInstr &inst);

void RUBIA_WRAP(RUBIA_FUNCTION)(LiveRegUnits *units, const MachineInstr &inst) {
  using namespace rubia::codegen;
  const auto isMask = [](const MachineOperand &operand) { return operand.isRegMask(); };
  if (none_of(inst.operands(), isMask))
    return RUBIA_REAL(RUBIA_FUNCTION)(units, inst);
  for (const MachineOperand &operand : inst.operands())
    if (operand.isRegMask())
      units->removeUnits(lostOf(operand.getRegMask(), registersOf(inst)));
    else if (operand.isReg() && operand.isDef() && operand.getReg().isPhysical())
      units->removeReg(operand.getReg());
  for (const MachineOperand &operand : inst.operands())
    if (operand.isReg() && operand.readsReg() && operand.getReg().isPhysical())
      units->addReg(operand.getReg());
}
}
