// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/errata/MachineNames.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// The search stands on the order in which TableGen writes them.
TEST(MachineNames, EveryInstructionIsFound) {
  ModuleSource source;
  auto module = source.parse("define amdgpu_kernel void @k() {\n  ret void\n}\n");
  Expected<TargetId> target = parseTargetId("gfx1100");
  ASSERT_TRUE(module && target);
  Expected<TargetMachine *> machine = targetMachine(*target, 3);
  ASSERT_TRUE(bool(machine));
  const TargetInstrInfo &instructions =
      *(*machine)->getSubtargetImpl(*module->getFunction("k"))->getInstrInfo();
  ASSERT_GT(instructions.getNumOpcodes(), 20'000u);
  for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode)
    ASSERT_EQ(findOpcode(instructions, instructions.getName(opcode)), opcode)
        << instructions.getName(opcode).str();
}

} // namespace
