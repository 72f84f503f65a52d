// SPDX-License-Identifier: Apache-2.0
// Code whose registers' last uses are forgotten once is what LLVM makes by itself.
#include "codegen/lib/speed/KillFlags.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// Branches that divide a wave, one after the other: each comparison is written to EXEC.
std::string branches() {
  std::string text = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  br label %b0
)";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "b" + n + ":\n  %v" + n + " = load volatile i32, ptr addrspace(1) %p\n  %c" + n +
            " = icmp slt i32 %v" + n + ", %lane\n  br i1 %c" + n + ", label %t" + n + ", label %b" +
            next + "\nt" + n + ":\n  store volatile i32 " + n +
            ", ptr addrspace(1) %p\n  br label %b" + next + "\n";
  }
  return text + "b8:\n  ret void\n}\n";
}

/// Runs the back end, and prints what the pass has made.
class Printer : public legacy::PassManager {
public:
  Printer(bool isOnce, raw_ostream &os) : isOnce(isOnce), os(os) {}
  void add(Pass *pass) override {
    const bool isIt = pass->getPassName() == kExecMasking;
    if (isIt && isOnce)
      legacy::PassManager::add(makeKillFlagsOnce());
    legacy::PassManager::add(pass);
    if (isIt) {
      legacy::PassManager::add(makeKillFlagsAgain());
      legacy::PassManager::add(createMachineFunctionPrinterPass(os));
    }
  }

private:
  bool isOnce;
  raw_ostream &os;
};

std::string masked(bool isOnce) {
  std::string text;
  raw_string_ostream os(text);
  Printer passes(isOnce, os);
  runBackEnd("gfx1100", branches(), passes);
  return text;
}

TEST(KillFlags, AreForgottenAsLlvmForgetsThem) {
  const std::string expected = masked(false);
  EXPECT_GT(StringRef(expected).count("V_CMPX"), 4u) << expected;
  EXPECT_EQ(masked(true), expected);
  EXPECT_TRUE(wasAskedForKillFlags()) << "LLVM has a function of its own";
}

} // namespace
