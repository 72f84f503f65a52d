// SPDX-License-Identifier: Apache-2.0
// Assembly whose clobber of memory selection does not see is what LLVM makes of it by itself.
#include "codegen/lib/speed/AsmMemory.h"
#include "codegen/lib/errata/CarryChains.h"
#include "codegen/lib/errata/CarryMasks.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

constexpr StringRef kText = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {
  %before = load i32, ptr addrspace(1) %p
  call void asm sideeffect "; alone", "~{memory}"()
  %between = load i32, ptr addrspace(1) %p
  call void asm sideeffect "; with $0", "v,~{memory}"(i32 %between)
  %result = call i32 asm sideeffect "; $0 of $1", "=v,s,~{memory}"(i32 %n)
  call void asm sideeffect "; without", ""()
  %moves = call i32 asm "; $0 of memory", "=v,~{memory}"()
  %sum = add i32 %before, %between
  %all = add i32 %sum, %result
  %last = add i32 %all, %moves
  store i32 %last, ptr addrspace(1) %p
  ret void
}
)";

/// Runs the back end, and prints what was selected.
class Printer : public legacy::PassManager {
public:
  Printer(bool isHidden, raw_ostream &os) : isHidden(isHidden), os(os) {}
  void add(Pass *pass) override {
    if (pass->getPassName() == kSelection && isHidden)
      legacy::PassManager::add(makeAsmWithoutMemory());
    if (pass->getPassName() == kFinalizeSelection) {
      if (isHidden) {
        legacy::PassManager::add(createMachineFunctionPrinterPass(hidden));
        legacy::PassManager::add(makeAsmWithMemory());
      }
      legacy::PassManager::add(createMachineFunctionPrinterPass(os));
    }
    legacy::PassManager::add(pass);
  }
  /// What selection made without the clobbers.
  std::string hiddenText;

private:
  bool isHidden;
  raw_ostream &os;
  raw_string_ostream hidden{hiddenText};
};

TEST(AsmMemory, IsWhatLlvmMakesOfTheClobber) {
  std::string expected, text;
  raw_string_ostream expectedStream(expected), stream(text);
  Printer plain(false, expectedStream), passes(true, stream);
  runBackEnd("gfx1100", kText, plain);
  runBackEnd("gfx1100", kText, passes);
  EXPECT_EQ(StringRef(expected).count("[sideeffect] [mayload] [maystore]"), 3u) << expected;
  EXPECT_EQ(text, expected);
  EXPECT_EQ(StringRef(passes.hiddenText).count("[mayload] [maystore]"), 1u) << passes.hiddenText;
}

} // namespace
