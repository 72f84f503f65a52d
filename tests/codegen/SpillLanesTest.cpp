// SPDX-License-Identifier: Apache-2.0
// Where vector registers begin whose lanes scalar registers are spilled to.
#include "codegen/lib/errata/WholeWaveRegisters.h"
#include "tests/codegen/MachineText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// The block in which %0 begins, in a function with a loop of blocks 1 to 3 within another one of
// blocks 1 to 4.
int placeOfBeginning(StringRef header, StringRef middle, StringRef latch) {
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
    liveins: $sgpr4, $sgpr5
    S_NOP 0
  bb.1:
    successors: %bb.2, %bb.3
    liveins: $sgpr4, $sgpr5
    )" + header + R"(
    S_CBRANCH_SCC1 %bb.3, implicit undef $scc
  bb.2:
    successors: %bb.3
    liveins: $sgpr4, $sgpr5
    )" + middle + R"(
  bb.3:
    successors: %bb.1, %bb.4
    liveins: $sgpr4, $sgpr5
    )" + latch + R"(
    S_CBRANCH_SCC1 %bb.1, implicit undef $scc
  bb.4:
    successors: %bb.1, %bb.5
    liveins: $sgpr4, $sgpr5
    S_CBRANCH_SCC1 %bb.1, implicit undef $scc
  bb.5:
    S_ENDPGM 0
...
)")
                               .str();
  int place = -1; // nowhere
  runOnMachineText("gfx942", text, makeSpillLanes(), [&](const MachineFunction &function) {
    for (const MachineBasicBlock &block : function)
      if (place < 0 && any_of(block, [](const MachineInstr &inst) { return inst.isImplicitDef(); }))
        place = block.getNumber();
  });
  return place;
}

constexpr const char *kBegin = "%0:vgpr_32 = IMPLICIT_DEF\n    ";
constexpr const char *kRead = "$sgpr4 = SI_RESTORE_S32_FROM_VGPR %0, 1\n    ";
constexpr const char *kReadOther = "$sgpr5 = SI_RESTORE_S32_FROM_VGPR %0, 2\n    ";
constexpr const char *kWrite = "%0:vgpr_32 = SI_SPILL_S32_TO_VGPR $sgpr4, 1, %0\n    ";

std::string both(const char *first, const char *second) { return std::string(first) + second; }

TEST(SpillLanes, BeginBeforeALoopThatReadsTheRoundBefore) {
  EXPECT_EQ(placeOfBeginning(both(kBegin, kRead), "", kWrite), 0);
  EXPECT_EQ(placeOfBeginning(kBegin, kWrite, kRead), 0); // not each round writes
  EXPECT_EQ(placeOfBeginning(both(kBegin, kWrite), kReadOther, kWrite), 0);
}

TEST(SpillLanes, StayInALoopThatWritesFirst) {
  EXPECT_EQ(placeOfBeginning(both(kBegin, kWrite), kRead, kRead), 1);
  EXPECT_EQ(placeOfBeginning("", both(kBegin, kWrite), ""), 2);
}

} // namespace
