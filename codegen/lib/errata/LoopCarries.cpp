// SPDX-License-Identifier: Apache-2.0
// LLVM's elimination of common subexpressions takes a carry that a loop has formed for an equal one
// behind the loop. A carry is a bit of a scalar register, and a round of a loop clears those of the
// lanes that have left it before. LLVM knows that of comparisons, and not of carries. Registers of
// lanes keep what they have, so the instruction can be executed again behind the loop.
#include "codegen/lib/errata/LoopCarries.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineCycleAnalysis.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

/// Instructions whose second result has a bit for each lane.
SmallVector<unsigned, 8> carryingOpcodes(const TargetInstrInfo &instructions) {
  SmallVector<unsigned, 8> opcodes;
  for (const char *name :
       {"V_ADD_CO_U32_e64", "V_SUB_CO_U32_e64", "V_SUBREV_CO_U32_e64", "V_ADDC_U32_e64",
        "V_SUBB_U32_e64", "V_SUBBREV_U32_e64", "V_DIV_SCALE_F32_e64", "V_DIV_SCALE_F64_e64"})
    opcodes.push_back(findOpcode(instructions, name));
  return opcodes;
}

class LoopCarries : public MachineFunctionPass {
public:
  static char ID;
  LoopCarries() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Loop Carries"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<MachineCycleInfoWrapperPass>();
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    static const auto opcodes = carryingOpcodes(*function.getSubtarget().getInstrInfo());
    const MachineCycleInfo &cycles = getAnalysis<MachineCycleInfoWrapperPass>().getCycleInfo();
    MachineRegisterInfo &registers = function.getRegInfo();
    SmallVector<MachineInstr *> carrying;
    for (MachineBasicBlock &block : function)
      if (cycles.getCycle(&block))
        for (MachineInstr &inst : block)
          if (is_contained(opcodes, inst.getOpcode()) && inst.getOperand(1).isReg())
            carrying.push_back(&inst);
    bool isChanged = false;
    // What is repeated reads the carry of the step before it, which is looked at later.
    for (MachineInstr *inst : reverse(carrying)) {
      const Register carry = inst->getOperand(1).getReg();
      if (!carry.isVirtual())
        continue;
      const MachineCycle &cycle = *cycles.getCycle(inst->getParent());
      for (MachineOperand &use : make_early_inc_range(registers.use_nodbg_operands(carry))) {
        const auto [block, place] = placeOf(use);
        if (cycle.contains(block))
          continue;
        use.setReg(repeat(*inst, *block, place, registers));
        isChanged = true;
      }
    }
    return isChanged;
  }

private:
  /// Before what a register is needed.
  static std::pair<MachineBasicBlock *, MachineBasicBlock::iterator> placeOf(MachineOperand &use) {
    MachineInstr &user = *use.getParent();
    if (!user.isPHI())
      return {user.getParent(), user.getIterator()};
    MachineBasicBlock *block = user.getOperand(use.getOperandNo() + 1).getMBB();
    return {block, block->getFirstTerminator()};
  }

  static Register repeat(MachineInstr &inst, MachineBasicBlock &block,
                         MachineBasicBlock::iterator place, MachineRegisterInfo &registers) {
    MachineInstr *copy = inst.getMF()->CloneMachineInstr(&inst);
    for (MachineOperand &operand : copy->operands()) {
      if (!operand.isReg() || !operand.getReg().isVirtual())
        continue;
      if (operand.isDef())
        operand.setReg(registers.cloneVirtualRegister(operand.getReg()));
      else
        registers.clearKillFlags(operand.getReg());
    }
    copy->getOperand(0).setIsDead();
    block.insert(place, copy);
    return copy->getOperand(1).getReg();
  }
};

char LoopCarries::ID = 0;

} // namespace

Pass *makeLoopCarries() { return new LoopCarries; }

} // namespace rubia::codegen
