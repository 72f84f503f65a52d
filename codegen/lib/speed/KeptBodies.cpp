// SPDX-License-Identifier: Apache-2.0
// A function that has been compiled is its code and nothing else. LLVM adds waits in front of
// assembly, and a return behind it, and sees no stack in it. What the code writes is declared here:
// as clobbers, LLVM would look for 200 names of registers, and compare each with all others. The
// code is printed as bytes: LLVM's assembler would read a text of 50 KB.
#include "codegen/lib/speed/KeptFunctions.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/MCStreamer.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

// The function of these registers is private. A template that is instantiated explicitly may name a
// private member (C++20 [temp.spec.general]/6).
struct FunctionTag {
  friend constexpr auto member(FunctionTag);
};
template <auto Member> struct FunctionMember {
  friend constexpr auto member(FunctionTag) { return Member; }
};
template struct FunctionMember<&MachineRegisterInfo::MF>;

/// LLVM finds four times which registers a function may not use. A kept one has no values.
bool isFrozenForGood(const MachineRegisterInfo &registers) {
  return registers.reservedRegsFrozen() &&
         (registers.*member(FunctionTag()))->getFunction().hasFnAttribute(kept::kCode);
}

void declareWritten(MachineInstr &inst, StringRef registers) {
  MachineFunction &machine = *inst.getMF();
  for (StringRef text : split(registers, ",")) {
    unsigned number = 0;
    if (!text.getAsInteger(10, number))
      inst.addOperand(machine, MachineOperand::CreateReg(Register(number), /*isDef=*/true,
                                                         /*isImp=*/true, /*isKill=*/false,
                                                         /*isDead=*/true));
  }
}

class KeptBodies : public MachineFunctionPass {
public:
  static char ID;
  KeptBodies() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Kept Bodies"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction &machine) override {
    const Function &function = machine.getFunction();
    if (!function.hasFnAttribute(kept::kCode))
      return false;
    auto numberOf = [&](StringRef attribute) {
      return std::stoull(function.getFnAttribute(attribute).getValueAsString().str());
    };
    machine.getFrameInfo().setStackSize(numberOf(kept::kStack));
    machine.setAlignment(Align(numberOf(kept::kAlignment)));
    for (MachineBasicBlock &block : machine)
      for (MachineInstr &inst : make_early_inc_range(block.instrs()))
        if (!inst.isInlineAsm())
          inst.eraseFromBundle();
        else
          declareWritten(inst, function.getFnAttribute(kept::kWritten).getValueAsString());
    return true;
  }
};

char KeptBodies::ID = 0;

// LLVM asks at each pass what the registers mean that a function would have to save: hundreds, with
// all tuples that they are in. A kept function saves what it has to by itself.
class KeptConventions : public MachineFunctionPass {
public:
  static char ID;
  KeptConventions() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Kept Conventions"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction &machine) override {
    if (!machine.getFunction().hasFnAttribute(kept::kCode))
      return false;
    machine.getRegInfo().setCalleeSavedRegs({});
    return true;
  }
};

char KeptConventions::ID = 0;

class KeptPrinter : public AsmPrinterHandler {
public:
  explicit KeptPrinter(AsmPrinter &printer) : printer(printer) {}

  void beginFunction(const MachineFunction *) override {}
  void beginInstruction(const MachineInstr *inst) override {
    code = inst->isInlineAsm() ? inst->getMF()->getFunction().getFnAttribute(kept::kCode)
                               : Attribute();
  }
  // LLVM has told the line by now, which the bytes have.
  void endInstruction() override {
    if (code.isValid())
      printer.OutStreamer->emitBytes(code.getValueAsString());
    code = Attribute();
  }
  void endFunction(const MachineFunction *) override {}
  void endModule() override {}

private:
  AsmPrinter &printer;
  Attribute code;
};

} // namespace

Pass *makeKeptConventions() { return new KeptConventions; }
Pass *makeKeptBodies() { return new KeptBodies; }

std::unique_ptr<AsmPrinterHandler> makeKeptPrinter(AsmPrinter &printer) {
  return std::make_unique<KeptPrinter>(printer);
}

} // namespace rubia::codegen

extern "C" {

void
    RUBIA_REAL(_ZN4llvm19MachineRegisterInfo18freezeReservedRegsEv)(MachineRegisterInfo *registers);

// MachineRegisterInfo::freezeReservedRegs()
void RUBIA_WRAP(_ZN4llvm19MachineRegisterInfo18freezeReservedRegsEv)(
    MachineRegisterInfo *registers) {
  if (!rubia::codegen::isFrozenForGood(*registers))
    RUBIA_REAL(_ZN4llvm19MachineRegisterInfo18freezeReservedRegsEv)(registers);
}
}
