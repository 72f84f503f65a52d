// SPDX-License-Identifier: Apache-2.0
// What lives before a call is what LLVM finds.
#include "codegen/lib/speed/CallMasks.h"
#include "codegen/lib/PassNames.h"
#include "tests/Targets.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/CodeGen/LiveRegUnits.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

// LLVM's own LiveRegUnits::stepBackward()
extern "C" void
__real__ZN4llvm12LiveRegUnits12stepBackwardERKNS_12MachineInstrE(LiveRegUnits *units,
                                                                 const MachineInstr &inst);

namespace {

// Functions that write different registers, and one of which nothing is known.
constexpr StringRef kText = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @unknown(i32)
define internal void @few() noinline nounwind norecurse {
  call void asm sideeffect "", "~{v0},~{v1},~{s20}"()
  ret void
}
define internal void @many() noinline nounwind norecurse {
  call void asm sideeffect "", "~{v0},~{v[30:61]},~{s[20:35]},~{vcc}"()
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %a = load volatile i32, ptr addrspace(1) %p
  call void @few()
  call void @many()
  call void @few()
  %b = call i32 @unknown(i32 %a)
  %sum = add i32 %a, %b
  call void @many()
  store volatile i32 %sum, ptr addrspace(1) %p
  ret void
}
)";

/// Steps over each instruction in both ways, from where everything lives.
class Steps : public MachineFunctionPass {
public:
  static char ID;
  explicit Steps(unsigned &calls) : MachineFunctionPass(ID), calls(calls) {}
  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetRegisterInfo &registers = *function.getSubtarget().getRegisterInfo();
    const BitVector all(registers.getNumRegUnits(), true);
    for (const MachineBasicBlock &block : function)
      for (const MachineInstr &inst : block) {
        LiveRegUnits found(registers), expected(registers);
        found.addUnits(all);
        expected.addUnits(all);
        found.stepBackward(inst);
        __real__ZN4llvm12LiveRegUnits12stepBackwardERKNS_12MachineInstrE(&expected, inst);
        EXPECT_EQ(found.getBitVector(), expected.getBitVector()) << function.getName().str();
        calls += any_of(inst.operands(),
                        [](const MachineOperand &operand) { return operand.isRegMask(); });
      }
    return false;
  }

private:
  unsigned &calls;
};

char Steps::ID = 0;

class WithSteps : public legacy::PassManager {
public:
  explicit WithSteps(unsigned &calls) : calls(calls) {}
  void add(Pass *pass) override {
    if (pass->getPassName() == kRegisterUse)
      legacy::PassManager::add(new Steps(calls));
    legacy::PassManager::add(pass);
  }

private:
  unsigned &calls;
};

class CallMasks : public testing::TestWithParam<const char *> {};

// A function's masks lie where those of the one before have lain.
TEST_P(CallMasks, TellWhatLivesBeforeACall) {
  for (unsigned round = 0; round < 3; ++round) {
    const CallMaskAnswers before = callMaskAnswers();
    unsigned calls = 0;
    WithSteps passes(calls);
    runBackEnd(GetParam(), kText, passes);
    EXPECT_EQ(calls, 5u);
    EXPECT_GT(callMaskAnswers().remembered, before.remembered) << "LLVM has another function";
    if (round > 0)
      EXPECT_EQ(callMaskAnswers().found, before.found);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CallMasks, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
