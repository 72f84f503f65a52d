// SPDX-License-Identifier: Apache-2.0
// Machine instructions that LLVM takes for equal have the same hash, and LLVM asks for that hash.
#include "codegen/lib/speed/InstructionHash.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// Selection makes each block's values by themselves: what two blocks compute is there twice.
constexpr StringRef kText = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n, float %x) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %isOdd = icmp ugt i32 %lane, %n
  %to = getelementptr float, ptr addrspace(1) %p, i32 %lane
  br i1 %isOdd, label %one, label %other
one:
  %a = fadd float %x, 3.125
  %m = mul i32 %lane, 77777
  %c = uitofp i32 %m to float
  %s = fmul float %a, %c
  store volatile float %s, ptr addrspace(1) %to
  br label %end
other:
  %a2 = fadd float %x, 3.125
  %m2 = mul i32 %lane, 77777
  %c2 = uitofp i32 %m2 to float
  %s2 = fsub float %a2, %c2
  store volatile float %s2, ptr addrspace(1) %to
  br label %end
end:
  ret void
}
)";

/// Compares all instructions with each other.
class Pairs : public MachineFunctionPass {
public:
  static char ID;
  explicit Pairs(unsigned &equal) : MachineFunctionPass(ID), equal(equal) {}

  bool runOnMachineFunction(MachineFunction &function) override {
    std::vector<const MachineInstr *> all;
    for (const MachineBasicBlock &block : function)
      for (const MachineInstr &inst : block)
        all.push_back(&inst);
    for (const MachineInstr *a : all)
      for (const MachineInstr *b : all)
        if (a != b && MachineInstrExpressionTrait::isEqual(a, b)) {
          ++equal;
          EXPECT_EQ(MachineInstrExpressionTrait::getHashValue(a),
                    MachineInstrExpressionTrait::getHashValue(b));
        }
    return false;
  }

private:
  unsigned &equal;
};

char Pairs::ID = 0;

class WithPairs : public legacy::PassManager {
public:
  explicit WithPairs(unsigned &equal) : equal(equal) {}
  void add(Pass *pass) override {
    if (pass->getPassName() == "Machine Common Subexpression Elimination")
      legacy::PassManager::add(new Pairs(equal));
    legacy::PassManager::add(pass);
  }

private:
  unsigned &equal;
};

TEST(InstructionHash, EqualInstructionsHaveTheSame) {
  for (StringRef processor : {"gfx1100", "gfx942"}) {
    unsigned equal = 0;
    WithPairs passes(equal);
    runBackEnd(processor, kText, passes);
    EXPECT_GT(equal, 4u) << processor.str();
  }
}

TEST(InstructionHash, LlvmAsksForIt) {
  ModuleSource source;
  source.mustCompile(kText, optionsFor("gfx1100"));
  EXPECT_TRUE(wereInstructionsHashedByWords()) << "LLVM has a function of its own";
}

} // namespace
