// SPDX-License-Identifier: Apache-2.0
// A uniform comparison in a vector register gives VCC. `vcc & exec` makes SCC of it, for a choice,
// and VCC for the branch on the same condition. LLVM removes it as the branch does not need it, and
// does not look whether SCC is read. Here a comparison behind it sets SCC again.
#include "codegen/lib/errata/BranchMasks.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

class BranchMasks : public MachineFunctionPass {
public:
  static char ID;
  BranchMasks() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Branch Masks"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    const TargetRegisterInfo &registers = *function.getSubtarget().getRegisterInfo();
    static const unsigned narrowAnd = findOpcode(instructions, "S_AND_B32"),
                          wideAnd = findOpcode(instructions, "S_AND_B64"),
                          narrowCompare = findOpcode(instructions, "S_CMP_LG_U32"),
                          wideCompare = findOpcode(instructions, "S_CMP_LG_U64");
    static const MCRegister vcc = findRegister(registers, "VCC"),
                            scc = findRegister(registers, "SCC"),
                            exec = findRegister(registers, "EXEC");
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : make_early_inc_range(block)) {
        const bool isWide = inst.getOpcode() == wideAnd;
        if ((!isWide && inst.getOpcode() != narrowAnd) ||
            !registers.regsOverlap(inst.getOperand(0).getReg(), vcc) ||
            !inst.readsRegister(exec, &registers) || inst.registerDefIsDead(scc, &registers))
          continue;
        const auto next = std::next(MachineBasicBlock::iterator(inst));
        if (block.computeRegisterLiveness(&registers, scc, next, /*Neighborhood=*/1000) ==
            MachineBasicBlock::LQR_Dead)
          continue;
        BuildMI(block, next, inst.getDebugLoc(),
                instructions.get(isWide ? wideCompare : narrowCompare))
            .addReg(inst.getOperand(0).getReg())
            .addImm(0);
        isChanged = true;
      }
    return isChanged;
  }
};

char BranchMasks::ID = 0;

} // namespace

Pass *makeBranchMasks() { return new BranchMasks; }

} // namespace rubia::codegen
