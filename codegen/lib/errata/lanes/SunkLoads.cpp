// SPDX-License-Identifier: Apache-2.0
// LLVM sinks a load into a block behind its own if no store follows it in its block. A fence is no
// store for it, and neither is a barrier. Loads read EXEC, which keeps them where they are only if
// something in the function writes it: where all branches are uniform nothing does. So a load of
// LDS went past the barrier behind which other waves write there. While the pass runs, each fence
// has an instruction beside it that may store. Barriers have fences on both sides.
#include "codegen/lib/errata/lanes/SunkLoads.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetOpcodes.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr char kStore[] = ""; // the text of assembly that may store

bool isStore(const MachineInstr &inst) {
  return inst.isInlineAsm() && inst.getOperand(InlineAsm::MIOp_AsmString).getSymbolName() == kStore;
}

class FencesStore : public MachineFunctionPass {
public:
  static char ID;
  FencesStore() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Fences Store"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    static const unsigned kFence = findOpcode(instructions, "ATOMIC_FENCE");
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block)
        if (inst.getOpcode() == kFence) {
          BuildMI(block, inst, inst.getDebugLoc(), instructions.get(TargetOpcode::INLINEASM))
              .addExternalSymbol(kStore)
              .addImm(InlineAsm::Extra_HasSideEffects | InlineAsm::Extra_MayStore);
          isChanged = true;
        }
    return isChanged;
  }
};

class FencesAsTheyWere : public MachineFunctionPass {
public:
  static char ID;
  FencesAsTheyWere() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Fences As They Were"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : make_early_inc_range(block))
        if (isStore(inst)) {
          inst.eraseFromParent();
          isChanged = true;
        }
    return isChanged;
  }
};

char FencesStore::ID = 0;
char FencesAsTheyWere::ID = 0;

} // namespace

Pass *makeFencesStore() { return new FencesStore; }
Pass *makeFencesAsTheyWere() { return new FencesAsTheyWere; }

} // namespace rubia::codegen
