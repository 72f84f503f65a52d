// SPDX-License-Identifier: Apache-2.0
// What register allocation adds to whole-wave regions is executed by active lanes.
#include "codegen/lib/errata/lanes/RegionReloads.h"
#include "tests/codegen/MachineText.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include <gmock/gmock.h>

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;
using testing::ElementsAre;

namespace {

// The instructions behind the region's beginning up to its end, by their names; what sets EXEC also
// with what it sets it to.
std::vector<std::string> insideOfRegion(StringRef body, StringRef restored = "$sgpr4_sgpr5") {
  const std::string text = (R"(
--- |
  target triple = "amdgcn-amd-amdhsa"
  define amdgpu_kernel void @k() #0 { ret void }
  attributes #0 = { "amdgpu-waves-per-eu"="1,1" "amdgpu-flat-work-group-size"="1,64"
                    "amdgpu-agpr-alloc"="0" }
...
---
name: k
tracksRegLiveness: true
stack:
  - { id: 0, type: spill-slot, size: 4, alignment: 4 }
machineFunctionInfo:
  isEntryFunction: true
  scratchRSrcReg: '$sgpr0_sgpr1_sgpr2_sgpr3'
  stackPtrOffsetReg: '$sgpr32'
  wwmReservedRegs: ['$vgpr10']
body: |
  bb.0:
    liveins: $vgpr2, $vgpr10, $sgpr8_sgpr9
    $sgpr4_sgpr5 = ENTER_STRICT_WWM -1, implicit-def $exec, implicit-def $scc, implicit $exec
    )" + body + R"(
    $exec = EXIT_STRICT_WWM )" +
                            restored + R"(
    S_ENDPGM 0
...
)")
                               .str();
  std::vector<std::string> found;
  runOnMachineText("gfx942", text, makeRegionReloads(), [&](const MachineFunction &function) {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    for (const MachineInstr &inst : function.front()) {
      std::string name = instructions.getName(inst.getOpcode()).str();
      if (name == "S_MOV_B64")
        name += inst.getOperand(1).isImm() ? " " + std::to_string(inst.getOperand(1).getImm())
                                           : " saved";
      found.push_back(name);
    }
  });
  return std::vector<std::string>(found.begin() + 1, found.end() - 2);
}

constexpr const char *kLoad =
    "$vgpr3 = SI_SPILL_V32_RESTORE %stack.0, $sgpr32, 0, implicit $exec\n    ";
constexpr const char *kStore =
    "SI_SPILL_V32_SAVE $vgpr2, %stack.0, $sgpr32, 0, implicit $exec\n    ";
constexpr const char *kWhole = "$vgpr10 = V_MOV_B32_e32 $vgpr2, implicit $exec\n    ";

TEST(RegionReloads, AreExecutedByActiveLanes) {
  EXPECT_THAT(
      insideOfRegion(std::string(kLoad) + kWhole),
      ElementsAre("S_MOV_B64 saved", "SI_SPILL_V32_RESTORE", "S_MOV_B64 -1", "V_MOV_B32_e32"));
  EXPECT_THAT(insideOfRegion(std::string(kWhole) + kStore),
              ElementsAre("V_MOV_B32_e32", "S_MOV_B64 saved", "SI_SPILL_V32_SAVE", "S_MOV_B64 -1"));
}

TEST(RegionReloads, AreTakenTogetherWithCopies) {
  EXPECT_THAT(insideOfRegion(std::string(kStore) + kLoad + "$vgpr5 = COPY $vgpr2, implicit $exec"),
              ElementsAre("S_MOV_B64 saved", "SI_SPILL_V32_SAVE", "SI_SPILL_V32_RESTORE", "COPY",
                          "S_MOV_B64 -1"));
}

TEST(RegionReloads, LeaveWhatIsForAllLanes) {
  EXPECT_THAT(insideOfRegion(kWhole), ElementsAre("V_MOV_B32_e32"));
  EXPECT_THAT(insideOfRegion("$vgpr10 = V_WRITELANE_B32 $sgpr8, 1, $vgpr10"),
              ElementsAre("V_WRITELANE_B32"));
}

TEST(RegionReloads, AreInAccumulationRegistersToo) {
  EXPECT_THAT(insideOfRegion("$agpr3 = COPY $vgpr2, implicit $exec\n    "),
              ElementsAre("S_MOV_B64 saved", "COPY", "S_MOV_B64 -1"));
}

// The register that the lanes were saved in may be another one's before the region ends.
TEST(RegionReloads, TakeTheLanesFromWhereTheyAre) {
  const std::string moved = "$sgpr8_sgpr9 = S_MOV_B64 killed $sgpr4_sgpr5\n    "
                            "$sgpr4_sgpr5 = S_MOV_B64 0\n    ";
  EXPECT_THAT(insideOfRegion(moved + kLoad, "$sgpr8_sgpr9"),
              ElementsAre("S_MOV_B64 saved", "S_MOV_B64 0", "S_MOV_B64 saved",
                          "SI_SPILL_V32_RESTORE", "S_MOV_B64 -1"));
}

} // namespace
