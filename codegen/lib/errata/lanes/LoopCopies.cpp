// SPDX-License-Identifier: Apache-2.0
// In a loop that lanes leave one by one, a copy of a scalar register to a vector register keeps for
// each lane what the scalar was in its last round. LLVM sinks instructions that read such copies
// behind the loop, which is right. Then it folds the copy into them, wherever they are: they read
// the scalar of the last lane's round. It does not fold what comes by a phi. So a reader behind the
// loop gets a phi of its own, which goes away with register allocation.
#include "codegen/lib/errata/lanes/LoopCopies.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineCycleAnalysis.h"
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

class LoopCopies : public MachineFunctionPass {
public:
  static char ID;
  LoopCopies() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Loop Copies"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<MachineCycleInfoWrapperPass>();
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    instructions = function.getSubtarget().getInstrInfo();
    classes = function.getSubtarget().getRegisterInfo();
    registers = &function.getRegInfo();
    cycles = &getAnalysis<MachineCycleInfoWrapperPass>().getCycleInfo();
    static const SmallVector<unsigned, 4> kMoves = opcodes({"COPY", "V_MOV_B32_e32"});
    SmallVector<MachineInstr *, 16> copies;
    for (MachineBasicBlock &block : function)
      if (cycles->getCycle(&block))
        for (MachineInstr &inst : block)
          if (is_contained(kMoves, inst.getOpcode()) && isOfScalar(inst))
            copies.push_back(&inst);
    bool isChanged = false;
    for (MachineInstr *copy : copies)
      isChanged |= readByPhis(*copy);
    return isChanged;
  }

private:
  SmallVector<unsigned, 4> opcodes(ArrayRef<StringRef> names) const {
    SmallVector<unsigned, 4> found;
    for (StringRef name : names)
      found.push_back(findOpcode(*instructions, name));
    return found;
  }

  bool hasLanes(const MachineOperand &operand) const {
    return classes->isDivergentRegClass(registers->getRegClass(operand.getReg()));
  }

  bool isOfScalar(const MachineInstr &inst) const {
    const MachineOperand &to = inst.getOperand(0), &from = inst.getOperand(1);
    return to.getReg().isVirtual() && hasLanes(to) && from.isReg() && from.getReg().isVirtual() &&
           !hasLanes(from) && registers->getUniqueVRegDef(from.getReg());
  }

  /// Whether lanes leave the cycle one by one.
  bool isLeftByLanes(const MachineCycle &cycle) const {
    static const SmallVector<unsigned, 4> kBranches = opcodes({"SI_IF", "SI_ELSE", "SI_LOOP"});
    SmallVector<MachineBasicBlock *, 4> exiting;
    cycle.getExitingBlocks(exiting);
    return any_of(exiting, [&](const MachineBasicBlock *block) {
      return any_of(block->terminators(), [&](const MachineInstr &inst) {
        return is_contained(kBranches, inst.getOpcode());
      });
    });
  }

  /// Whether lanes came to the block by leaving, one by one, a loop that changes the scalar and has
  /// the copy. A copy behind the loop, of what all lanes left with, may be in the block itself.
  bool isBehindLoop(const MachineInstr &scalar, const MachineInstr &copy,
                    const MachineBasicBlock &block) const {
    for (const MachineCycle *cycle = cycles->getCycle(scalar.getParent());
         cycle && !cycle->contains(&block); cycle = cycle->getParentCycle())
      if (cycle->contains(copy.getParent()) && isLeftByLanes(*cycle))
        return true;
    return false;
  }

  bool readByPhis(MachineInstr &copy) {
    const Register result = copy.getOperand(0).getReg();
    const MachineInstr &scalar = *registers->getUniqueVRegDef(copy.getOperand(1).getReg());
    DenseMap<MachineBasicBlock *, Register> phis;
    for (MachineOperand &use : make_early_inc_range(registers->use_nodbg_operands(result))) {
      MachineBasicBlock &block = *use.getParent()->getParent();
      if (use.getParent()->isPHI() || !isBehindLoop(scalar, copy, block))
        continue;
      Register &phi = phis[&block];
      if (!phi)
        phi = makePhi(block, result, copy.getDebugLoc());
      use.setReg(phi);
    }
    registers->clearKillFlags(result);
    return !phis.empty();
  }

  /// The copy, in another block, dominates this one, and so the end of each block before it.
  Register makePhi(MachineBasicBlock &block, Register result, const DebugLoc &place) {
    const Register phi = registers->cloneVirtualRegister(result);
    MachineInstrBuilder builder =
        BuildMI(block, block.begin(), place, instructions->get(TargetOpcode::PHI), phi);
    for (MachineBasicBlock *before : block.predecessors())
      builder.addReg(result).addMBB(before);
    return phi;
  }

  const TargetInstrInfo *instructions = nullptr;
  const TargetRegisterInfo *classes = nullptr;
  MachineRegisterInfo *registers = nullptr;
  const MachineCycleInfo *cycles = nullptr;
};

char LoopCopies::ID = 0;

} // namespace

Pass *makeLoopCopies() { return new LoopCopies; }

} // namespace rubia::codegen
