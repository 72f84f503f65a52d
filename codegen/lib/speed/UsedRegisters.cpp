// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/UsedRegisters.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include <utility>

using namespace llvm;

namespace rubia::codegen {
namespace {

/// The registers that are counted, and which of their units are used.
struct Count {
  const MachineRegisterInfo *registers = nullptr;
  BitVector used;
};

thread_local Count counted;
thread_local unsigned asked = 0;
thread_local unsigned looksUp = 0;

void addUnits(BitVector &units, const TargetRegisterInfo &target, MCRegister reg) {
  for (MCRegUnit unit : target.regunits(reg))
    units.set(unsigned(unit));
}

/// There are 21,000 registers: most functions have fewer operands.
BitVector usedUnits(const MachineRegisterInfo &registers) {
  const TargetRegisterInfo &target = *registers.getTargetRegisterInfo();
  constexpr unsigned kOperands = 8; // of an instruction, with the implicit ones
  BitVector units(target.getNumRegUnits());
  if (registers.getMF().getInstructionCount() > target.getNumRegs() / kOperands) {
    for (unsigned reg = 1; reg < target.getNumRegs(); ++reg)
      if (!registers.reg_nodbg_empty(MCRegister(reg)))
        addUnits(units, target, MCRegister(reg));
    return units;
  }
  for (const MachineBasicBlock &block : registers.getMF())
    for (const MachineInstr &inst : block.instrs())
      if (!inst.isDebugInstr())
        for (const MachineOperand &operand : inst.operands())
          if (operand.isReg() && operand.getReg().isPhysical())
            addUnits(units, target, operand.getReg().asMCReg());
  return units;
}

bool isUsed(MCRegister reg) {
  ++asked;
  return any_of(counted.registers->getTargetRegisterInfo()->regunits(reg),
                [](MCRegUnit unit) { return counted.used.test(unsigned(unit)); });
}

} // namespace

unsigned registersAskedFor() { return asked; }

SharingRegistersLookedUp::SharingRegistersLookedUp() { ++looksUp; }
SharingRegistersLookedUp::~SharingRegistersLookedUp() { --looksUp; }

} // namespace rubia::codegen

// SIRegisterInfo::getNumUsedPhysRegs(const MachineRegisterInfo &, const TargetRegisterClass &,
//                                    bool) const
#define RUBIA_COUNT                                                                                \
  _ZNK4llvm14SIRegisterInfo18getNumUsedPhysRegsERKNS_19MachineRegisterInfoERKNS_19TargetRegisterClassEb
// MachineRegisterInfo::isPhysRegUsed(MCRegister, bool) const: by an instruction, or, unless the
// second is true, written by a call
#define RUBIA_IS_USED _ZNK4llvm19MachineRegisterInfo13isPhysRegUsedENS_10MCRegisterEb

extern "C" {

unsigned RUBIA_REAL(RUBIA_COUNT)(const void *target, const MachineRegisterInfo *registers,
                                 const TargetRegisterClass *values, bool withCalls);
bool RUBIA_REAL(RUBIA_IS_USED)(const MachineRegisterInfo *registers, MCRegister reg,
                               bool withoutCalls);

unsigned RUBIA_WRAP(RUBIA_COUNT)(const void *target, const MachineRegisterInfo *registers,
                                 const TargetRegisterClass *values, bool withCalls) {
  using namespace rubia::codegen;
  if (!looksUp)
    counted = {registers, usedUnits(*registers)};
  const unsigned found = RUBIA_REAL(RUBIA_COUNT)(target, registers, values, withCalls);
  counted.registers = nullptr;
  return found;
}

bool RUBIA_WRAP(RUBIA_IS_USED)(const MachineRegisterInfo *registers, MCRegister reg,
                               bool withoutCalls) {
  using namespace rubia::codegen;
  if (registers != counted.registers)
    return RUBIA_REAL(RUBIA_IS_USED)(registers, reg, withoutCalls);
  return (!withoutCalls && registers->getUsedPhysRegsMask().test(reg.id())) || isUsed(reg);
}
}
