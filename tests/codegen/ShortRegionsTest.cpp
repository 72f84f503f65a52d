// SPDX-License-Identifier: Apache-2.0
// The ends of regions are put into the live ranges that there are: these are not computed again.
// Those of the pass that joins accesses are taken away behind it.
#include "codegen/lib/ShortRegions.h"
#include "codegen/lib/WideIndexes.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

constexpr float kMark = 12345;

struct Seen {
  unsigned marked = 0, kept = 0, ends = 0;
};

/// Marks all live ranges, or counts those that are marked.
class Ranges : public MachineFunctionPass {
public:
  static char ID;
  Ranges(bool marks, Seen &seen) : MachineFunctionPass(ID), marks(marks), seen(seen) {}
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<LiveIntervalsWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    LiveIntervals &ranges = getAnalysis<LiveIntervalsWrapperPass>().getLIS();
    const MachineRegisterInfo &registers = function.getRegInfo();
    for (unsigned i = 0; i < registers.getNumVirtRegs(); ++i) {
      const Register reg = Register::index2VirtReg(i);
      if (!ranges.hasInterval(reg))
        continue;
      if (marks) {
        ranges.getInterval(reg).setWeight(kMark);
        ++seen.marked;
      } else {
        seen.kept += ranges.getInterval(reg).weight() == kMark;
      }
    }
    const TargetInstrInfo &names = *function.getSubtarget().getInstrInfo();
    for (const MachineBasicBlock &block : function)
      for (const MachineInstr &inst : block)
        if (names.getName(inst.getOpcode()) == "SCHED_BARRIER")
          seen.ends += ranges.getSlotIndexes()->hasIndex(inst);
    return false;
  }

private:
  const bool marks;
  Seen &seen;
};

char Ranges::ID = 0;

class Around : public legacy::PassManager {
public:
  explicit Around(Seen &seen) : seen(seen) {}
  void add(Pass *pass) override {
    const bool isScheduler = pass->getPassName() == kScheduler;
    if (isScheduler) {
      legacy::PassManager::add(new Ranges(true, seen));
      legacy::PassManager::add(makeShortRegions(kEarlyRegion));
      legacy::PassManager::add(new Ranges(false, seen));
    }
    legacy::PassManager::add(pass);
  }

private:
  Seen &seen;
};

/// Counts the ends of regions.
class Ends : public MachineFunctionPass {
public:
  static char ID;
  explicit Ends(unsigned &count) : MachineFunctionPass(ID), count(count) {}

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &names = *function.getSubtarget().getInstrInfo();
    for (const MachineBasicBlock &block : function)
      count += count_if(block, [&](const MachineInstr &inst) {
        return names.getName(inst.getOpcode()) == "SCHED_BARRIER";
      });
    return false;
  }

private:
  unsigned &count;
};

char Ends::ID = 0;

class AroundJoiner : public legacy::PassManager {
public:
  void add(Pass *pass) override {
    const bool isJoiner = pass->getPassName() == kAccessJoiner;
    if (isJoiner) {
      legacy::PassManager::add(makeShortRegions(kAccessRegion));
      legacy::PassManager::add(new Ends(divided));
    }
    legacy::PassManager::add(pass);
    if (isJoiner) {
      legacy::PassManager::add(makeJoinedRegions());
      legacy::PassManager::add(new Ends(joined));
    }
  }
  unsigned divided = 0, joined = 0;
};

std::string copiesText(unsigned copies) {
  std::string text = "target triple = \"amdgcn-amd-amdhsa\"\n"
                     "define amdgpu_kernel void @k(ptr addrspace(1) %p) {\n";
  for (unsigned i = 0; i < copies; ++i) {
    const std::string n = std::to_string(i);
    text += "  %v" + n + " = load volatile i32, ptr addrspace(1) %p\n  store volatile i32 %v" + n +
            ", ptr addrspace(1) %p\n";
  }
  return text + "  ret void\n}\n";
}

TEST(ShortRegions, AreJoinedAgain) {
  AroundJoiner passes;
  runBackEnd("gfx1100", copiesText(kAccessRegion), passes);
  EXPECT_GE(passes.divided, 1u);
  EXPECT_EQ(passes.joined, 0u);
}

TEST(ShortRegions, KeepLiveRanges) {
  Seen seen;
  Around passes(seen);
  runBackEnd("gfx1100", copiesText(1300), passes);
  EXPECT_GT(seen.marked, 1000u);
  EXPECT_EQ(seen.kept, seen.marked);
  EXPECT_EQ(seen.ends, 2u);
}

} // namespace
