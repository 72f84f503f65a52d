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

struct Wave {
  const char *processor, *exec, *saved, *move;
};
constexpr Wave kWave64 = {"gfx942", "$exec", "$sgpr4_sgpr5", "S_MOV_B64"};
constexpr Wave kWave32 = {"gfx1100", "$exec_lo", "$sgpr4", "S_MOV_B32"};

// The instructions behind the region's beginning up to its end, by their names; what sets EXEC also
// with what it sets it to.
std::vector<std::string> insideOfRegion(const std::string &body,
                                        const std::string &restored = kWave64.saved,
                                        const Wave &wave = kWave64,
                                        std::vector<std::string> *errors = nullptr) {
  const std::string exec = wave.exec;
  const std::string text = R"(
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
    )" + std::string(wave.saved) +
                           " = ENTER_STRICT_WWM -1, implicit-def $exec, "
                           "implicit-def $scc, implicit $exec\n    " +
                           body + "\n    " + exec + " = EXIT_STRICT_WWM " + restored + R"(
    S_ENDPGM 0
...
)";
  std::vector<std::string> found;
  runOnMachineText(
      wave.processor, text, makeRegionReloads(),
      [&](const MachineFunction &function) {
        const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
        for (const MachineInstr &inst : function.front()) {
          std::string name = instructions.getName(inst.getOpcode()).str();
          if (name == wave.move)
            name += inst.getOperand(1).isImm() ? " " + std::to_string(inst.getOperand(1).getImm())
                                               : " saved";
          found.push_back(name);
        }
      },
      errors);
  if (found.size() < 3)
    return {};
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

TEST(RegionReloads, HaveOneRegisterForTheLanesOfAWaveOf32) {
  EXPECT_THAT(insideOfRegion(kLoad, kWave32.saved, kWave32),
              ElementsAre("S_MOV_B32 saved", "SI_SPILL_V32_RESTORE", "S_MOV_B32 -1"));
}

// The register that the end takes them from gets them behind the reload.
TEST(RegionReloads, WithoutTheLanesAreAnError) {
  std::vector<std::string> errors;
  insideOfRegion(std::string("$sgpr4_sgpr5 = S_MOV_B64 0\n    ") + kLoad +
                     "$sgpr8_sgpr9 = S_MOV_B64 1\n    ",
                 "$sgpr8_sgpr9", kWave64, &errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("need more scalar registers than there are"), std::string::npos)
      << errors[0];
}

} // namespace
