// SPDX-License-Identifier: Apache-2.0
// Code that is selected with the masks found beforehand is what LLVM selects by itself.
#include "codegen/lib/speed/MaskValues.h"
#include "codegen/lib/errata/CarryChains.h"
#include "codegen/lib/errata/CarryMasks.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// Lanes leave the loops one by one, so that masks go from block to block, beside integers of their
// width that assembly and vector instructions give.
constexpr StringRef kText = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n, i64 %m) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %wide = zext i32 %lane to i64
  %scalar = call i32 asm "s_mov_b32 $0, 7", "=s"()
  %vector = call i64 asm "; $0", "=v"()
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i.next, %behind ]
  %sum = phi i64 [ %m, %entry ], [ %sum.next, %behind ]
  br label %inner
inner:
  %j = phi i32 [ %i, %outer ], [ %j.next, %again ]
  %isOdd = icmp eq i32 %j, %lane
  br i1 %isOdd, label %leave, label %again
again:
  %j.next = add i32 %j, %scalar
  %isMore = icmp slt i32 %j.next, %lane
  br i1 %isMore, label %inner, label %behind
leave:
  %at = getelementptr i64, ptr addrspace(1) %p, i32 %j
  %old = load i64, ptr addrspace(1) %at
  br label %behind
behind:
  %found = phi i64 [ %old, %leave ], [ %vector, %again ]
  %sum.next = add i64 %sum, %found
  %i.next = add i32 %i, 1
  %isLess = icmp ult i64 %sum.next, %wide
  br i1 %isLess, label %outer, label %end
end:
  %to = getelementptr i64, ptr addrspace(1) %p, i32 %lane
  store i64 %sum.next, ptr addrspace(1) %to
  ret void
}
)";

/// Runs the back end, and prints what was selected.
class Printer : public legacy::PassManager {
public:
  Printer(bool isEarly, raw_ostream &os) : isEarly(isEarly), os(os) {}
  void add(Pass *pass) override {
    if (pass->getPassName() == kSelection && isEarly)
      legacy::PassManager::add(makeMaskValues());
    if (pass->getPassName() == kFinalizeSelection) {
      legacy::PassManager::add(makeMaskValuesForgotten());
      legacy::PassManager::add(createMachineFunctionPrinterPass(os));
    }
    legacy::PassManager::add(pass);
  }

private:
  bool isEarly;
  raw_ostream &os;
};

std::string selected(StringRef processor, bool isEarly) {
  std::string text;
  raw_string_ostream os(text);
  Printer passes(isEarly, os);
  runBackEnd(processor, kText, passes);
  return text;
}

TEST(MaskValues, SelectTheCodeThatLlvmSelects) {
  for (StringRef processor : {"gfx1100", "gfx942"}) {
    const std::string expected = selected(processor, false);
    EXPECT_NE(StringRef(expected).find("SI_IF_BREAK"), StringRef::npos) << expected;
    EXPECT_EQ(selected(processor, true), expected) << processor.str();
  }
  EXPECT_TRUE(wasAskedForMasks()) << "LLVM has a function of its own";
}

} // namespace
