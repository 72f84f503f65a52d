// SPDX-License-Identifier: Apache-2.0
// Where vector registers begin whose lanes scalar registers are spilled to.
#include "codegen/lib/Translate.h"
#include "codegen/lib/errata/WholeWaveRegisters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MIRParser/MIRParser.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/InitializePasses.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>

using namespace llvm;
using namespace rubia::codegen;

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
  Expected<TargetId> target = parseTargetId("gfx942");
  EXPECT_TRUE(bool(target));
  Expected<TargetMachine *> machine = targetMachine(*target, 0);
  EXPECT_TRUE(bool(machine));
  initializeCodeGen(*PassRegistry::getPassRegistry());
  LLVMContext context;
  std::unique_ptr<MIRParser> parser =
      createMIRParser(MemoryBuffer::getMemBufferCopy(text, "test"), context);
  std::unique_ptr<Module> module = parser->parseIRModule();
  if (!module)
    return -1;
  module->setDataLayout((*machine)->createDataLayout());
  auto *info = new MachineModuleInfoWrapperPass(*machine);
  legacy::PassManager passes;
  passes.add(info);
  if (parser->parseMachineFunctions(*module, info->getMMI()))
    return -2;
  passes.add(makeSpillLanes());
  passes.run(*module);
  MachineFunction &function = *info->getMMI().getMachineFunction(*module->getFunction("k"));
  for (const MachineBasicBlock &block : function)
    for (const MachineInstr &inst : block)
      if (inst.isImplicitDef())
        return block.getNumber();
  return -3;
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
