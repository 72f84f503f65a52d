// SPDX-License-Identifier: Apache-2.0
// What a whole-wave instruction reads is computed with all lanes on: a lane's number, say. Active
// lanes may read the same register, and register coalescing then makes it that of a phi. In a
// branch whose end writes the phi, the register counts as free before: idle lanes keep what the
// other branch left in it. They do not where a whole-wave instruction gets the register meanwhile.
//
// Registers of whole waves are no others' registers. So active lanes read a copy, which is a move
// and not a COPY: nothing joins the two.
#include "codegen/lib/errata/WholeWaveValues.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

class WholeWaveValues : public MachineFunctionPass {
public:
  static char ID;
  WholeWaveValues() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Whole-Wave Values"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction &function) override;

private:
  void collect(MachineFunction &function);
  SmallVector<MachineOperand *, 8> othersUses(Register reg) const;
  bool isWord(Register reg) const;
  bool separateSequence(MachineInstr &sequence);
  bool separate(MachineInstr &inst, MachineOperand &result);

  MachineRegisterInfo *registers = nullptr;
  const TargetRegisterClass *words = nullptr; // of vector registers
  const TargetInstrInfo *instructions = nullptr;
  unsigned wholeWave = 0, setsInactive = 0, move = 0; // opcodes
  SmallSetVector<MachineInstr *, 32> whole;           // what all lanes compute
};

char WholeWaveValues::ID = 0;

// All that the end of a whole-wave region depends on. What comes from active lanes comes by
// V_SET_INACTIVE_B32, whose last operand is what the others get.
void WholeWaveValues::collect(MachineFunction &function) {
  const auto add = [&](const MachineOperand &operand) {
    if (!operand.isReg() || !operand.getReg().isVirtual())
      return;
    MachineInstr *inst = registers->getUniqueVRegDef(operand.getReg());
    if (inst && inst->getOpcode() != wholeWave)
      whole.insert(inst);
  };
  for (MachineBasicBlock &block : function)
    for (MachineInstr &inst : block)
      if (inst.getOpcode() == wholeWave)
        for (const MachineOperand &operand : inst.uses())
          add(operand);
  for (unsigned i = 0; i < whole.size(); ++i) // it grows
    if (whole[i]->getOpcode() == setsInactive)
      add(whole[i]->getOperand(4));
    else
      for (const MachineOperand &operand : whole[i]->uses())
        add(operand);
}

SmallVector<MachineOperand *, 8> WholeWaveValues::othersUses(Register reg) const {
  SmallVector<MachineOperand *, 8> uses;
  for (MachineOperand &use : registers->use_nodbg_operands(reg)) {
    const MachineInstr *reader = use.getParent();
    const bool isInactive = reader->getOpcode() == setsInactive && use.getOperandNo() != 4;
    if (reader->getOpcode() != wholeWave &&
        (isInactive || !whole.contains(const_cast<MachineInstr *>(reader))))
      uses.push_back(&use);
  }
  return uses;
}

bool WholeWaveValues::isWord(Register reg) const {
  const TargetRegisterInfo &info = *registers->getTargetRegisterInfo();
  const TargetRegisterClass *kind = registers->getRegClassOrNull(reg);
  const StringRef name = kind ? info.getRegClassName(kind) : "";
  return kind && info.getRegSizeInBits(*kind) == 32 &&
         (name.starts_with("VGPR_") || name.starts_with("AV_"));
}

// The others get a sequence of their own, of words that are separated then.
bool WholeWaveValues::separateSequence(MachineInstr &sequence) {
  const Register reg = sequence.getOperand(0).getReg();
  SmallVector<MachineOperand *, 8> uses = othersUses(reg);
  if (uses.empty())
    return false;
  MachineInstr *copy = sequence.getMF()->CloneMachineInstr(&sequence);
  const Register other = registers->cloneVirtualRegister(reg);
  copy->getOperand(0).setReg(other);
  sequence.getParent()->insertAfter(sequence.getIterator(), copy);
  for (const MachineOperand &operand : sequence.uses())
    if (operand.isReg())
      registers->clearKillFlags(operand.getReg());
  for (MachineOperand *use : uses)
    use->setReg(other);
  return true;
}

bool WholeWaveValues::separate(MachineInstr &inst, MachineOperand &result) {
  const Register reg = result.getReg();
  SmallVector<MachineOperand *, 8> uses = othersUses(reg);
  if (uses.empty())
    return false;
  MachineBasicBlock &block = *inst.getParent();
  const auto place = inst.isPHI() ? block.getFirstNonPHI() : std::next(inst.getIterator());
  const Register other = registers->createVirtualRegister(words);
  BuildMI(block, place, inst.getDebugLoc(), instructions->get(move), other).addReg(reg);
  registers->clearKillFlags(reg);
  for (MachineOperand *use : uses)
    use->setReg(other);
  return true;
}

bool WholeWaveValues::runOnMachineFunction(MachineFunction &function) {
  registers = &function.getRegInfo();
  instructions = function.getSubtarget().getInstrInfo();
  static const unsigned opcodes[] = {findOpcode(*instructions, "STRICT_WWM"),
                                     findOpcode(*instructions, "V_SET_INACTIVE_B32"),
                                     findOpcode(*instructions, "V_MOV_B32_e32")};
  wholeWave = opcodes[0];
  setsInactive = opcodes[1];
  move = opcodes[2];
  const TargetRegisterInfo &info = *registers->getTargetRegisterInfo();
  words = *find_if(info.regclasses(), [&](const TargetRegisterClass *kind) {
    return StringRef(info.getRegClassName(kind)) == "VGPR_32";
  });
  whole.clear();
  collect(function);
  bool isChanged = false;
  for (MachineInstr *inst : whole)
    if (inst->isRegSequence())
      isChanged |= separateSequence(*inst);
  for (MachineInstr *inst : whole)
    for (MachineOperand &result : inst->all_defs())
      if (result.getReg().isVirtual() && isWord(result.getReg()))
        isChanged |= separate(*inst, result);
  return isChanged;
}

} // namespace

Pass *makeWholeWaveValues() { return new WholeWaveValues; }

} // namespace rubia::codegen
