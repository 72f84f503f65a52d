// SPDX-License-Identifier: Apache-2.0
// SIShrinkInstructions makes one V_SWAP_B32 of `t = x`, `x = y` and `y = t`, if nothing between
// writes t. It looks for explicit results alone. A call's result is an implicit one, so `y` gets
// what `x` was and not what the function gave. Its search ends where t is used for the last time:
// so each call, and inline assembly, is such a use of the registers that it writes.
#include "codegen/lib/errata/CallResults.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

class CallResults : public MachineFunctionPass {
public:
  static char ID;
  CallResults() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Call Results"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block)
        if (inst.isCall() || inst.isInlineAsm())
          isChanged |= endUses(function, inst);
    return isChanged;
  }

private:
  static bool endUses(MachineFunction &function, MachineInstr &inst) {
    SmallVector<Register, 8> results;
    for (const MachineOperand &operand : inst.operands())
      if (operand.isReg() && operand.isDef() && operand.getReg().isPhysical())
        results.push_back(operand.getReg());
    for (Register result : results)
      inst.addOperand(function, MachineOperand::CreateReg(result, /*isDef=*/false, /*isImp=*/true,
                                                          /*isKill=*/true, /*isDead=*/false,
                                                          /*isUndef=*/true));
    return !results.empty();
  }
};

char CallResults::ID = 0;

} // namespace

Pass *makeCallResults() { return new CallResults; }

} // namespace rubia::codegen
