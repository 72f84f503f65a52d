// SPDX-License-Identifier: Apache-2.0
// SIPreAllocateWWMRegs does not spill, and has no error for a value without a register: LLVM
// without assertions goes on at whatever lies behind. So its work is done here in advance, and
// undone. Where a register is missing, the function has no whole waves from here on: what LLVM
// makes of it is dropped for the error.
//
// It takes all that a whole-wave region writes for a value of the whole wave. That includes the
// IMPLICIT_DEF of an ordinary phi, which may stand there since it is no instruction. The phi then
// shares a register with what all lanes write in branches where only idle lanes need it. So these
// are moved in front of the region.
//
// It also passes over values that may lie in AGPRs too, as the factors of a product may. They would
// get a register that is another value's in idle lanes. So they are confined to VGPRs here.
#include "codegen/lib/errata/WholeWaveRegisters.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineCycleAnalysis.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstring>
#include <string>

using namespace llvm;

namespace rubia::codegen {
namespace {

class WholeWaveRegisters : public MachineFunctionPass {
public:
  static char ID;
  WholeWaveRegisters() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Whole-Wave Registers"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<LiveIntervalsWrapperPass>();
    usage.addRequired<VirtRegMapWrapperLegacy>();
    usage.addRequired<LiveRegMatrixWrapperLegacy>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction &function) override;

private:
  bool confine(Register reg);
  void allocate(Register reg);
  void dropWholeWaves(MachineFunction &function);

  MachineRegisterInfo *registers = nullptr;
  const TargetRegisterInfo *target = nullptr;
  LiveIntervals *intervals = nullptr;
  LiveRegMatrix *matrix = nullptr;
  VirtRegMap *map = nullptr;
  RegisterClassInfo classes;
  SmallVector<Register, 32> allocated;
  bool fits = true;
  unsigned enters = 0, exits = 0, setsInactive = 0; // opcodes
};

char WholeWaveRegisters::ID = 0;

bool WholeWaveRegisters::confine(Register reg) {
  const StringRef name =
      reg.isVirtual() ? target->getRegClassName(registers->getRegClass(reg)) : "";
  if (!name.starts_with("AV_"))
    return false;
  const std::string wanted =
      name == "AV_32" ? "VGPR_32" : ("VReg_" + name.drop_front(strlen("AV_"))).str();
  for (const TargetRegisterClass *kind : target->regclasses())
    if (wanted == target->getRegClassName(kind) && registers->constrainRegClass(reg, kind))
      return true;
  report_fatal_error("no VGPRs for a value of " + name);
}

void WholeWaveRegisters::allocate(Register reg) {
  if (!fits || reg.isPhysical() || map->hasPhys(reg))
    return;
  const LiveInterval &interval = intervals->getInterval(reg);
  for (MCRegister candidate : classes.getOrder(registers->getRegClass(reg)))
    if (!registers->isPhysRegUsed(candidate, /*SkipRegMaskTest=*/true) &&
        matrix->checkInterference(interval, candidate) == LiveRegMatrix::IK_Free) {
      matrix->assign(interval, candidate);
      allocated.push_back(reg);
      return;
    }
  fits = false;
}

void WholeWaveRegisters::dropWholeWaves(MachineFunction &function) {
  const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
  // Each has the operands of the pseudo instruction.
  const std::pair<unsigned, unsigned> plain[] = {
      {enters, findOpcode(instructions, "S_OR_SAVEEXEC_B64")},
      {exits, findOpcode(instructions, "S_MOV_B64")},
      {setsInactive, findOpcode(instructions, "V_CNDMASK_B32_e64")}};
  for (MachineBasicBlock &block : function)
    for (MachineInstr &inst : block)
      for (auto [pseudo, opcode] : plain)
        if (inst.getOpcode() == pseudo)
          inst.setDesc(instructions.get(opcode));
}

bool WholeWaveRegisters::runOnMachineFunction(MachineFunction &function) {
  const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
  enters = findOpcode(instructions, "ENTER_STRICT_WWM");
  exits = findOpcode(instructions, "EXIT_STRICT_WWM");
  setsInactive = findOpcode(instructions, "V_SET_INACTIVE_B32");
  registers = &function.getRegInfo();
  target = registers->getTargetRegisterInfo();
  intervals = &getAnalysis<LiveIntervalsWrapperPass>().getLIS();
  map = &getAnalysis<VirtRegMapWrapperLegacy>().getVRM();
  matrix = &getAnalysis<LiveRegMatrixWrapperLegacy>().getLRM();
  classes.runOnMachineFunction(function);
  allocated.clear();
  fits = true;
  bool isChanged = false;

  for (MachineBasicBlock *block : ReversePostOrderTraversal<MachineFunction *>(&function)) {
    MachineInstr *enter = nullptr; // of the region
    for (MachineInstr &inst : make_early_inc_range(*block)) {
      if (inst.getOpcode() == enters || inst.getOpcode() == exits) {
        enter = inst.getOpcode() == enters ? &inst : nullptr;
      } else if (enter && inst.isImplicitDef()) {
        inst.moveBefore(enter);
        intervals->handleMove(inst);
        isChanged = true;
      } else if (enter || inst.getOpcode() == setsInactive) {
        for (const MachineOperand &result : inst.defs()) {
          isChanged |= confine(result.getReg());
          allocate(result.getReg());
        }
      }
    }
  }
  for (Register reg : reverse(allocated))
    matrix->unassign(intervals->getInterval(reg));
  if (fits)
    return isChanged;
  dropWholeWaves(function);
  const Function &source = function.getFunction();
  source.getContext().diagnose(
      DiagnosticInfoRegAllocFailure("its products of matrices need more registers than a lane has",
                                    source, DiagnosticLocation(source.getSubprogram())));
  return true;
}

// ---------- Lanes of spilled scalar registers

// SILowerSGPRSpills spills scalar registers to lanes of vector registers, which are values of whole
// waves. In front of a vector register's first use it writes IMPLICIT_DEF: where the nearest block
// is that comes before all of them. If a loop's first block reads a lane that the loop writes
// later, as of a phi which is undefined when the loop is entered, that is this block. Then all
// lanes are undefined there in each round, and allocation may use the register for something else
// meanwhile. Such a definition moves in front of the loop.
class SpillLanes : public MachineFunctionPass {
public:
  static char ID;
  SpillLanes() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Spill Lanes"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<MachineDominatorTreeWrapperPass>();
    usage.addRequired<MachineCycleInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction &function) override;

private:
  bool readsOlderLanes(const MachineInstr &begin) const;

  unsigned spills = 0, restores = 0; // opcodes
};

char SpillLanes::ID = 0;

// Whether behind the beginning of a vector register a lane may be read that has not been written
// since.
bool SpillLanes::readsOlderLanes(const MachineInstr &begin) const {
  const Register reg = begin.getOperand(0).getReg();
  // At the beginning of each block that is come to: the lanes that are written on all ways.
  DenseMap<const MachineBasicBlock *, uint64_t> written;
  SmallVector<std::pair<const MachineBasicBlock *, uint64_t>> open;
  auto walk = [&](MachineBasicBlock::const_iterator at, const MachineBasicBlock &block,
                  uint64_t lanes) {
    for (; at != block.end(); ++at) {
      if (&*at == &begin)
        return true;
      // Result, source and number of the lane: the vector register is the result of the one, and
      // the source of the other.
      if (at->getOpcode() == spills && at->getOperand(0).getReg() == reg)
        lanes |= uint64_t(1) << at->getOperand(2).getImm();
      else if (at->getOpcode() == restores && at->getOperand(1).getReg() == reg &&
               !(lanes >> at->getOperand(2).getImm() & 1))
        return false;
    }
    for (const MachineBasicBlock *next : block.successors())
      open.push_back({next, lanes});
    return true;
  };
  if (!walk(std::next(begin.getIterator()), *begin.getParent(), 0))
    return true;
  while (!open.empty()) {
    const auto [block, lanes] = open.pop_back_val();
    const auto [known, isNew] = written.insert({block, lanes});
    if (!isNew && (known->second & lanes) == known->second)
      continue;
    known->second &= lanes;
    if (!walk(block->begin(), *block, known->second))
      return true;
  }
  return false;
}

bool SpillLanes::runOnMachineFunction(MachineFunction &function) {
  const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
  spills = findOpcode(instructions, "SI_SPILL_S32_TO_VGPR");
  restores = findOpcode(instructions, "SI_RESTORE_S32_FROM_VGPR");
  SmallDenseSet<Register> lanes; // vector registers that have some
  for (const MachineBasicBlock &block : function)
    for (const MachineInstr &inst : block)
      if (inst.getOpcode() == restores && inst.getOperand(1).getReg().isVirtual())
        lanes.insert(inst.getOperand(1).getReg());
  if (lanes.empty())
    return false;

  const auto &cycles = getAnalysis<MachineCycleInfoWrapperPass>().getCycleInfo();
  const auto &dominators = getAnalysis<MachineDominatorTreeWrapperPass>().getDomTree();
  auto *wrapper = getAnalysisIfAvailable<LiveIntervalsWrapperPass>();
  LiveIntervals *intervals = wrapper ? &wrapper->getLIS() : nullptr;
  bool isChanged = false;
  for (MachineBasicBlock &block : function) {
    if (!cycles.getCycle(&block))
      continue;
    for (MachineInstr &inst : make_early_inc_range(block)) {
      const auto *place = dominators.getNode(&block); // null: nothing leads there
      if (!place || !inst.isImplicitDef() || !lanes.contains(inst.getOperand(0).getReg()) ||
          !readsOlderLanes(inst))
        continue;
      while (cycles.getCycle(place->getBlock()))
        place = place->getIDom();
      MachineBasicBlock &before = *place->getBlock();
      if (intervals)
        intervals->RemoveMachineInstrFromMaps(inst);
      before.splice(before.getFirstTerminator(), &block, inst.getIterator());
      if (intervals) {
        const Register reg = inst.getOperand(0).getReg();
        intervals->InsertMachineInstrInMaps(inst);
        intervals->removeInterval(reg);
        intervals->createAndComputeVirtRegInterval(reg);
      }
      isChanged = true;
    }
  }
  return isChanged;
}

} // namespace

Pass *makeSpillLanes() { return new SpillLanes; }

Pass *makeWholeWaveRegisters() { return new WholeWaveRegisters; }

} // namespace rubia::codegen
