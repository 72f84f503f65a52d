// SPDX-License-Identifier: Apache-2.0
// Behind the start or end of a branch, SILowerControlFlow joins an `and` of an `and` (an `or` of an
// `or`) that have an operand in common, since masks of lanes are often made so. It makes y & y of
// (x & x) & y, and of (x & y) & y, and it may erase the instruction that is to be looked at next.
// A copy between both hides one from the other. It goes away with register allocation.
#include "codegen/lib/errata/JoinedMasks.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

class JoinedMasks : public MachineFunctionPass {
public:
  static char ID;
  JoinedMasks() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Joined Masks"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    static const SmallVector<unsigned, 4> opcodes = [&] {
      SmallVector<unsigned, 4> found;
      for (StringRef name : {"S_AND_B32", "S_AND_B64", "S_OR_B32", "S_OR_B64"})
        found.push_back(findOpcode(instructions, name));
      return found;
    }();
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block)
        if (is_contained(opcodes, inst.getOpcode()))
          for (unsigned i : {1, 2})
            isChanged |= separate(inst, inst.getOperand(i), instructions);
    return isChanged;
  }

private:
  static bool separate(MachineInstr &inst, MachineOperand &operand,
                       const TargetInstrInfo &instructions) {
    MachineRegisterInfo &registers = inst.getMF()->getRegInfo();
    if (!operand.isReg() || !operand.getReg().isVirtual())
      return false;
    const MachineInstr *source = registers.getUniqueVRegDef(operand.getReg());
    if (!source || source->getParent() != inst.getParent() ||
        source->getOpcode() != inst.getOpcode())
      return false;
    Register copy = registers.cloneVirtualRegister(operand.getReg());
    BuildMI(*inst.getParent(), inst, inst.getDebugLoc(), instructions.get(TargetOpcode::COPY), copy)
        .addReg(operand.getReg());
    operand.setReg(copy);
    operand.setIsKill(false);
    registers.clearKillFlags(source->getOperand(0).getReg());
    return true;
  }
};

char JoinedMasks::ID = 0;

} // namespace

Pass *makeJoinedMasks() { return new JoinedMasks; }

} // namespace rubia::codegen
