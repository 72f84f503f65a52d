// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/AsmMemory.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr StringLiteral kClobber = "~{memory}", kMark = "\n; rubia.memory";

class AsmWithoutMemory : public FunctionPass {
public:
  static char ID;
  AsmWithoutMemory() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Assembly without Memory"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }

  bool runOnFunction(Function &function) override {
    bool isChanged = false;
    for (Instruction &inst : instructions(function)) {
      auto *call = dyn_cast<CallInst>(&inst);
      const auto *assembly = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
      // Without side effects, the clobber is what orders it.
      if (!assembly || !assembly->hasSideEffects())
        continue;
      StringRef constraints = assembly->getConstraintString();
      if (!constraints.consume_back(kClobber))
        continue;
      constraints.consume_back(",");
      call->setCalledOperand(InlineAsm::get(assembly->getFunctionType(),
                                            (assembly->getAsmString() + kMark).str(), constraints,
                                            /*hasSideEffects=*/true, assembly->isAlignStack(),
                                            assembly->getDialect(), assembly->canThrow()));
      isChanged = true;
    }
    return isChanged;
  }
};

char AsmWithoutMemory::ID = 0;

class AsmWithMemory : public MachineFunctionPass {
public:
  static char ID;
  AsmWithMemory() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Assembly with Memory"; }

  bool runOnMachineFunction(MachineFunction &function) override {
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block) {
        if (!inst.isInlineAsm())
          continue;
        MachineOperand &text = inst.getOperand(InlineAsm::MIOp_AsmString);
        StringRef own = text.getSymbolName();
        if (!own.consume_back(kMark))
          continue;
        text.ChangeToES(function.createExternalSymbolName(own));
        MachineOperand &flags = inst.getOperand(InlineAsm::MIOp_ExtraInfo);
        flags.setImm(flags.getImm() | InlineAsm::Extra_MayLoad | InlineAsm::Extra_MayStore);
        isChanged = true;
      }
    return isChanged;
  }
};

char AsmWithMemory::ID = 0;

} // namespace

FunctionPass *makeAsmWithoutMemory() { return new AsmWithoutMemory; }
FunctionPass *makeAsmWithMemory() { return new AsmWithMemory; }

} // namespace rubia::codegen
