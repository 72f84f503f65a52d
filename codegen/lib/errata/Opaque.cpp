// SPDX-License-Identifier: Apache-2.0
// llvm.amdgcn.softwqm hands its operand on, in the registers of that operand's kind, and nothing in
// instruction selection looks through it. It is meant for pixel shaders, and has no effect without
// them. LLVM makes a copy of it behind the scheduler, too late for the copy to go away: here it is
// made one before.
#include "codegen/lib/errata/Opaque.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

class OpaqueCopies : public MachineFunctionPass {
public:
  static char ID;
  OpaqueCopies() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Opaque Copies"; }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    static const unsigned opaque = findOpcode(instructions, "SOFT_WQM");
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block) {
        if (inst.getOpcode() != opaque)
          continue;
        inst.setDesc(instructions.get(TargetOpcode::COPY));
        while (inst.getNumOperands() > 2) // EXEC
          inst.removeOperand(2);
        isChanged = true;
      }
    return isChanged;
  }
};

char OpaqueCopies::ID = 0;

} // namespace

Value *makeOpaque(IRBuilder<> &b, Value *value) {
  return b.CreateUnaryIntrinsic(Intrinsic::amdgcn_softwqm, value);
}

Pass *makeOpaqueCopies() { return new OpaqueCopies; }

} // namespace rubia::codegen
