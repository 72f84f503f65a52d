// SPDX-License-Identifier: Apache-2.0
// Where active lanes' values are read in a whole-wave region, register allocation loads spilled
// ones there, and copies and stores others. All lanes execute that. So idle lanes lose what they
// have in the register or the slot: in a branch, those count as free that only the other branch
// needs, as idle lanes keep theirs.
//
// Registers of whole waves are no others', and are neither spilled nor copied. So what writes or
// spills another register came from register allocation, and active lanes alone have to execute it.
// They are those that the region saves when it begins. Assembly knows its lanes itself.
#include "codegen/lib/errata/lanes/RegionReloads.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

class RegionReloads : public MachineFunctionPass {
public:
  static char ID;
  RegionReloads() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Region Reloads"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction &function) override;

private:
  using Place = MachineBasicBlock::iterator;
  bool isOrdinary(const MachineOperand &operand) const;
  bool isOfActiveLanes(const MachineInstr &inst) const;
  bool separate(MachineInstr &enter, MachineInstr &exit);
  MCRegister lanesBefore(Place place, Place begin, Place end) const;
  void report(const MachineFunction &function) const;

  const TargetInstrInfo *instructions = nullptr;
  const TargetRegisterInfo *target = nullptr;
  const MachineRegisterInfo *registers = nullptr;
  unsigned enters = 0, exits = 0, move = 0; // opcodes
  MCRegister exec;
};

char RegionReloads::ID = 0;

// Whether it is a register of active lanes' values.
bool RegionReloads::isOrdinary(const MachineOperand &operand) const {
  if (!operand.isReg() || !operand.getReg().isPhysical() || registers->isReserved(operand.getReg()))
    return false;
  const StringRef name = target->getName(operand.getReg());
  return name.starts_with("VGPR") || name.starts_with("AGPR");
}

bool RegionReloads::isOfActiveLanes(const MachineInstr &inst) const {
  const StringRef name = instructions->getName(inst.getOpcode());
  // Single lanes, and what is for all lanes, whatever EXEC has.
  if (inst.isImplicitDef() || inst.isInlineAsm() || name.contains("WWM") ||
      name == "SI_SPILL_S32_TO_VGPR" || name.starts_with("V_WRITELANE"))
    return false;
  const bool isStore = name.starts_with("SI_SPILL_") && name.ends_with("_SAVE");
  return isStore ? isOrdinary(inst.getOperand(0))
                 : any_of(inst.all_defs(),
                          [&](const MachineOperand &result) { return isOrdinary(result); });
}

// The register that has them: where the region has saved them, or from where its end takes them.
MCRegister RegionReloads::lanesBefore(Place place, Place begin, Place end) const {
  const auto isWritten = [&](Place from, Place to, MCRegister lanes) {
    return any_of(make_range(from, to),
                  [&](const MachineInstr &inst) { return inst.modifiesRegister(lanes, target); });
  };
  const MCRegister saved = begin->getOperand(0).getReg(), restored = end->getOperand(1).getReg();
  if (!isWritten(std::next(begin), place, saved))
    return saved;
  return isWritten(place, end, restored) ? MCRegister() : restored;
}

void RegionReloads::report(const MachineFunction &function) const {
  const Function &source = function.getFunction();
  source.getContext().diagnose(DiagnosticInfoRegAllocFailure(
      "its sums and products over a warp need more scalar registers than there are", source,
      DiagnosticLocation(source.getSubprogram())));
}

bool RegionReloads::separate(MachineInstr &enter, MachineInstr &exit) {
  MachineBasicBlock &block = *enter.getParent();
  const Place begin = enter.getIterator(), end = exit.getIterator();
  bool isChanged = false;
  for (Place place = std::next(begin); place != end;) {
    if (!isOfActiveLanes(*place)) {
      ++place;
      continue;
    }
    const MCRegister lanes = lanesBefore(place, begin, end);
    if (!lanes) {
      report(*block.getParent());
      return isChanged;
    }
    for (MachineInstr &before : make_range(begin, place))
      before.clearRegisterKills(lanes, target);
    BuildMI(block, place, place->getDebugLoc(), instructions->get(move), exec).addReg(lanes);
    while (place != end && isOfActiveLanes(*place))
      ++place;
    BuildMI(block, place, DebugLoc(), instructions->get(move), exec).addImm(-1);
    isChanged = true;
  }
  return isChanged;
}

bool RegionReloads::runOnMachineFunction(MachineFunction &function) {
  instructions = function.getSubtarget().getInstrInfo();
  enters = findOpcode(*instructions, "ENTER_STRICT_WWM");
  exits = findOpcode(*instructions, "EXIT_STRICT_WWM");
  registers = &function.getRegInfo();
  target = registers->getTargetRegisterInfo();
  bool isChanged = false;
  for (MachineBasicBlock &block : function) {
    MachineInstr *enter = nullptr; // of the region
    for (MachineInstr &inst : make_early_inc_range(block)) {
      if (inst.getOpcode() == enters)
        enter = &inst;
      if (inst.getOpcode() != exits || !enter)
        continue;
      const bool isPair = target->getRegSizeInBits(
                              *target->getMinimalPhysRegClass(enter->getOperand(0).getReg())) == 64;
      move = findOpcode(*instructions, isPair ? "S_MOV_B64" : "S_MOV_B32");
      exec = findRegister(*target, isPair ? "EXEC" : "EXEC_LO");
      isChanged |= separate(*enter, inst);
      enter = nullptr;
    }
  }
  return isChanged;
}

} // namespace

Pass *makeRegionReloads() { return new RegionReloads; }

} // namespace rubia::codegen
