// SPDX-License-Identifier: Apache-2.0
// The lower half of a generic address of local memory is a place in the frame. Where a constant is
// added to it, LLVM adds both numbers at compile time, and 0 when the program runs: the sum is
// right and has no carry, though a negative constant gives one. The upper half then is one too low.
// In a function with a stack pointer it makes two additions, of which the second's carry counts.
// Where the carry is used, the place is put into a register first.
#include "codegen/lib/errata/FrameCarries.h"
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

class FrameCarries : public MachineFunctionPass {
public:
  static char ID;
  FrameCarries() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Frame Carries"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    instructions = function.getSubtarget().getInstrInfo();
    registers = &function.getRegInfo();
    static const SmallVector<unsigned, 2> kScalar = opcodes({"S_ADD_I32", "S_ADD_U32"}),
                                          kVector =
                                              opcodes({"V_ADD_CO_U32_e32", "V_ADD_CO_U32_e64"});
    static const unsigned scalarMove = findOpcode(*instructions, "S_MOV_B32"),
                          vectorMove = findOpcode(*instructions, "V_MOV_B32_e32");
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block) {
        const bool isScalar = is_contained(kScalar, inst.getOpcode());
        if ((isScalar || is_contained(kVector, inst.getOpcode())) && hasCarry(inst))
          isChanged |= takePlaces(inst, isScalar ? scalarMove : vectorMove);
      }
    return isChanged;
  }

private:
  SmallVector<unsigned, 2> opcodes(ArrayRef<StringRef> names) const {
    SmallVector<unsigned, 2> found;
    for (StringRef name : names)
      found.push_back(findOpcode(*instructions, name));
    return found;
  }

  /// The first result is the sum.
  bool hasCarry(const MachineInstr &inst) const {
    return any_of(drop_begin(inst.all_defs()), [&](const MachineOperand &carry) {
      return !carry.isDead() &&
             (!carry.getReg().isVirtual() || !registers->use_nodbg_empty(carry.getReg()));
    });
  }

  bool takePlaces(MachineInstr &inst, unsigned move) {
    bool isChanged = false;
    for (MachineOperand &operand : inst.explicit_uses()) {
      if (!operand.isFI())
        continue;
      const Register place = registers->cloneVirtualRegister(inst.getOperand(0).getReg());
      BuildMI(*inst.getParent(), inst, inst.getDebugLoc(), instructions->get(move), place)
          .addFrameIndex(operand.getIndex());
      operand.ChangeToRegister(place, /*isDef=*/false);
      isChanged = true;
    }
    return isChanged;
  }

  const TargetInstrInfo *instructions = nullptr;
  MachineRegisterInfo *registers = nullptr;
};

char FrameCarries::ID = 0;

} // namespace

Pass *makeFrameCarries() { return new FrameCarries; }

} // namespace rubia::codegen
