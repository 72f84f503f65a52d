// SPDX-License-Identifier: Apache-2.0
// A region of a scheduler is a block, if nothing ends it before. Both schedulers take longer than a
// region's length says, and so does the pass that joins accesses. So long regions are divided:
//
// - The one behind register allocation looks for pairs of instructions that RDNA 3 can issue
//   together (VOPD): it compares each instruction with all that follow. In pieces it takes a third
//   of the time in Fourier transforms, and finds 7 % more pairs, since one far away keeps no near
//   one away.
// - The one before it lists the uses of each register: it compares them with each other.
// - The pass that joins accesses compares each one with those of the same base, and with all that
//   lies between them: of one block of 128,000 instructions that was 17 % of the time.
#include "codegen/lib/ShortRegions.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr StringLiteral kEnd = "SCHED_BARRIER";

class ShortRegions : public MachineFunctionPass {
public:
  static char ID;
  explicit ShortRegions(unsigned most) : MachineFunctionPass(ID), most(most) {}
  StringRef getPassName() const override { return "Rubia Short Regions"; }
  /// Live ranges are kept as they are. LLVM never computes them a second time: the coalescer leaves
  /// uses that no value reaches, which only ranges of before it allow. From new ones the scheduler
  /// reads and writes beyond its list of live registers.
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    const MCInstrDesc &end = instructions.get(findOpcode(instructions, kEnd));
    auto *numbers = getAnalysisIfAvailable<SlotIndexesWrapperPass>(); // not behind allocation
    bool isChanged = false;
    for (MachineBasicBlock &block : function) {
      unsigned length = 0;
      for (MachineInstr &inst : block) {
        if (instructions.isSchedulingBoundary(inst, &block, function))
          length = 0;
        else if (!inst.isMetaInstruction() && ++length > most) {
          MachineInstr *barrier = BuildMI(block, inst, DebugLoc(), end).addImm(0);
          if (numbers)
            numbers->getSI().insertMachineInstrInMaps(*barrier);
          length = 1;
          isChanged = true;
        }
      }
    }
    return isChanged;
  }

private:
  const unsigned most; // instructions
};

char ShortRegions::ID = 0;

/// Nothing but the pass above ends regions so early.
class JoinedRegions : public MachineFunctionPass {
public:
  static char ID;
  JoinedRegions() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Joined Regions"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    const unsigned end = findOpcode(*function.getSubtarget().getInstrInfo(), kEnd);
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : make_early_inc_range(block))
        if (inst.getOpcode() == end) {
          inst.eraseFromParent();
          isChanged = true;
        }
    return isChanged;
  }
};

char JoinedRegions::ID = 0;

} // namespace

Pass *makeShortRegions(unsigned most) { return new ShortRegions(most); }
Pass *makeJoinedRegions() { return new JoinedRegions(); }

} // namespace rubia::codegen
