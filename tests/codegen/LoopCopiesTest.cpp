// SPDX-License-Identifier: Apache-2.0
// Which readers behind a loop get what a copy in it holds by a phi.
#include "codegen/lib/errata/lanes/LoopCopies.h"
#include "tests/codegen/MachineText.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

constexpr const char *kCopy = "%4:vgpr_32 = COPY %3\n    ";

// What the addition reads in a function with a loop, bb.2, that lanes leave one by one, within
// another one of blocks 1 to 3: the name of the instruction that defines it.
std::string readAfter(StringRef inner, StringRef behind) {
  const std::string text = (R"(
--- |
  target triple = "amdgcn-amd-amdhsa"
  define amdgpu_kernel void @k() { ret void }
...
---
name: k
tracksRegLiveness: true
body: |
  bb.0:
    successors: %bb.1
    %0:sreg_32 = S_MOV_B32 0
    %1:vgpr_32 = V_MOV_B32_e32 5, implicit $exec
  bb.1:
    successors: %bb.2
    S_NOP 0
  bb.2:
    successors: %bb.2, %bb.3
    %2:sreg_32 = PHI %0, %bb.1, %3, %bb.2
    %3:sreg_32 = S_ADD_I32 %2, 1, implicit-def dead $scc
    )" + inner + R"(
    %6:sreg_32 = V_CMP_EQ_U32_e64 %3, %1, implicit $exec
    SI_LOOP %6, %bb.2, implicit-def dead $exec, implicit-def dead $scc, implicit $exec
  bb.3:
    successors: %bb.1, %bb.4
    )" + behind + R"(
    %5:vgpr_32 = V_ADD_U32_e32 %1, %4, implicit $exec
    S_CBRANCH_SCC1 %bb.1, implicit undef $scc
  bb.4:
    S_ENDPGM 0
...
)")
                               .str();
  std::string found = "no addition";
  runOnMachineText("gfx1201", text, makeLoopCopies(), [&](const MachineFunction &function) {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    for (const MachineBasicBlock &block : function)
      for (const MachineInstr &inst : block)
        if (instructions.getName(inst.getOpcode()) == "V_ADD_U32_e32") {
          const MachineInstr *read =
              function.getRegInfo().getUniqueVRegDef(inst.getOperand(2).getReg());
          found = instructions.getName(read->getOpcode()).str();
        }
  });
  return found;
}

TEST(LoopCopies, InTheLoopAreReadByAPhiBehindIt) { EXPECT_EQ(readAfter(kCopy, ""), "PHI"); }

// The phi would be at the start of the block, before the copy, and have what a round of the outer
// loop before has left in the register.
TEST(LoopCopies, BehindTheLoopAreReadAsTheyAre) { EXPECT_EQ(readAfter("", kCopy), "COPY"); }

} // namespace
