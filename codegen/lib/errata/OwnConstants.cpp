// SPDX-License-Identifier: Apache-2.0
// SIWholeQuadMode looks for what a whole-wave instruction reads. Of a wide register that is written
// word by word it takes every write before, also of words that are written again: then loads of the
// active lanes are executed for all lanes, at addresses that idle lanes just happen to have.
//
// Only a register that active lanes have used for something else has such writes. Register
// coalescing makes it: what both have in common is a constant, say the 0 of a sum and that of an
// address's high word, as all else comes to the whole wave by `set.inactive`. So each wide register
// gets constants of its own.
#include "codegen/lib/errata/OwnConstants.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

class OwnConstants : public MachineFunctionPass {
public:
  static char ID;
  OwnConstants() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Own Constants"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    static const unsigned wholeWave =
        findOpcode(*function.getSubtarget().getInstrInfo(), "STRICT_WWM");
    const auto isWholeWave = [](const MachineInstr &inst) { return inst.getOpcode() == wholeWave; };
    if (none_of(function,
                [&](const MachineBasicBlock &block) { return any_of(block, isWholeWave); }))
      return false;
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block)
        if (inst.isRegSequence())
          for (MachineOperand &operand : inst.uses())
            isChanged |= own(inst, operand);
    return isChanged;
  }

private:
  static bool own(MachineInstr &sequence, MachineOperand &operand) {
    MachineFunction &function = *sequence.getMF();
    MachineRegisterInfo &registers = function.getRegInfo();
    if (!operand.isReg() || !operand.getReg().isVirtual() ||
        registers.hasOneNonDBGUse(operand.getReg()))
      return false;
    const MachineInstr *constant = registers.getUniqueVRegDef(operand.getReg());
    if (!constant || !constant->isMoveImmediate())
      return false;
    MachineInstr *copy = function.CloneMachineInstr(constant);
    const Register reg = registers.cloneVirtualRegister(operand.getReg());
    copy->getOperand(0).setReg(reg);
    sequence.getParent()->insert(sequence, copy);
    registers.clearKillFlags(operand.getReg());
    operand.setReg(reg);
    return true;
  }
};

char OwnConstants::ID = 0;

} // namespace

Pass *makeOwnConstants() { return new OwnConstants; }

} // namespace rubia::codegen
