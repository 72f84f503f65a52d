// SPDX-License-Identifier: Apache-2.0
// A uniform addition with a carry that comes in is selected as S_ADD_CO_PSEUDO, whose carry is a
// mask of lanes. LLVM expands it to a comparison of the whole mask with 0, in front of s_addc_u32.
// Where the mask was inverted on its way (s_not_b64, s_nor_b64: "no borrow"), the bits of lanes
// that are not active are set, and the carry is taken for 1. So the mask is restricted to EXEC
// first. A later pass takes the condition of that s_and for the comparison's.
#include "codegen/lib/errata/CarryMasks.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

/// What the pass needs of the target, the same for all of its processors.
struct Names {
  unsigned addWithCarry, subtractWithCarry;
  unsigned and32, and64;
  MCRegister exec32, exec64;

  explicit Names(const TargetSubtargetInfo &target) {
    const TargetInstrInfo &instructions = *target.getInstrInfo();
    const TargetRegisterInfo &registers = *target.getRegisterInfo();
    addWithCarry = findOpcode(instructions, "S_ADD_CO_PSEUDO");
    subtractWithCarry = findOpcode(instructions, "S_SUB_CO_PSEUDO");
    and32 = findOpcode(instructions, "S_AND_B32");
    and64 = findOpcode(instructions, "S_AND_B64");
    exec32 = findRegister(registers, "EXEC_LO");
    exec64 = findRegister(registers, "EXEC");
  }
};

class CarryMasks : public MachineFunctionPass {
public:
  static char ID;
  CarryMasks() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Carry Masks"; }

  bool runOnMachineFunction(MachineFunction &function) override {
    static const Names names(function.getSubtarget());
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block)
        if (inst.getOpcode() == names.addWithCarry || inst.getOpcode() == names.subtractWithCarry)
          isChanged |= restrictCarry(inst, names);
    return isChanged;
  }

private:
  static bool restrictCarry(MachineInstr &inst, const Names &names) {
    constexpr unsigned kCarryIn = 4; // behind two results and two operands
    MachineFunction &function = *inst.getMF();
    const TargetSubtargetInfo &target = function.getSubtarget();
    MachineRegisterInfo &registers = function.getRegInfo();
    MachineOperand &carry = inst.getOperand(kCarryIn);
    if (!carry.isReg() || !carry.getReg().isVirtual())
      return false;
    const TargetRegisterClass *type = registers.getRegClass(carry.getReg());
    const bool isWide = target.getRegisterInfo()->getRegSizeInBits(*type) == 64;
    Register restricted = registers.createVirtualRegister(type);
    BuildMI(*inst.getParent(), inst, inst.getDebugLoc(),
            target.getInstrInfo()->get(isWide ? names.and64 : names.and32), restricted)
        .addReg(carry.getReg(), 0, carry.getSubReg())
        .addReg(isWide ? names.exec64 : names.exec32);
    carry.setReg(restricted);
    carry.setSubReg(0);
    return true;
  }
};

char CarryMasks::ID = 0;

} // namespace

Pass *makeCarryMasks() { return new CarryMasks; }

} // namespace rubia::codegen
