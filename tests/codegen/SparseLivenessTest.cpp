// SPDX-License-Identifier: Apache-2.0
// What is found of registers is what LLVM's own analysis finds.
#include "codegen/lib/speed/SparseLiveness.h"
#include "codegen/lib/errata/JoinedMasks.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// Physical registers hold arguments, results, carries, a loop's exit, and what assembly names.
constexpr StringRef kText = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @callee(i32, i64)
define i64 @f(i64 %a, i64 %b, i32 %n, ptr addrspace(1) %p) {
entry:
  %sum = add i64 %a, %b
  %isSmall = icmp slt i32 %n, 7
  br i1 %isSmall, label %call, label %join
call:
  %result = call i32 @callee(i32 %n, i64 %sum)
  %wide = zext i32 %result to i64
  %moved = call i32 asm "v_mov_b32 v40, $1; s_mov_b64 s[20:21], 0; v_mov_b32 $0, v40", "=v,v,~{v40},~{s[20:21]},~{vcc}"(i32 %result)
  %high = call i32 asm "s_mov_b32 s21, 1; s_mov_b64 s[22:23], s[20:21]", "={s22},~{s[20:23]},~{scc}"()
  %both = add i32 %moved, %high
  store i32 %both, ptr addrspace(1) %p
  br label %join
join:
  %either = phi i64 [ %sum, %entry ], [ %wide, %call ]
  br label %loop
loop:
  %at = phi i64 [ %either, %join ], [ %next, %loop ]
  %next = add i64 %at, %b
  %product = mul i64 %next, %a
  %isLast = icmp ugt i64 %product, 1000000
  br i1 %isLast, label %out, label %loop
out:
  ret i64 %next
}
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %lane
  %old = load i32, ptr addrspace(1) %at
  %quotient = udiv i32 %old, %n
  %isUniform = icmp eq i32 %n, 3
  br i1 %isUniform, label %store, label %end
store:
  store i32 %quotient, ptr addrspace(1) %at
  br label %end
end:
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
)";

/// Runs the back end, and prints the functions behind the analysis.
class Printer : public legacy::PassManager {
public:
  Printer(bool isSparse, raw_ostream &os) : isSparse(isSparse), os(os) {}
  void add(Pass *pass) override {
    if (pass->getPassName() != kLiveVariables)
      return legacy::PassManager::add(pass);
    if (isSparse)
      delete std::exchange(pass, makeSparseLiveness());
    legacy::PassManager::add(pass);
    legacy::PassManager::add(createMachineFunctionPrinterPass(os));
  }

private:
  bool isSparse;
  raw_ostream &os;
};

std::string liveness(StringRef processor, bool isSparse) {
  std::string text;
  raw_string_ostream os(text);
  Printer passes(isSparse, os);
  runBackEnd(processor, kText, passes);
  return text;
}

TEST(SparseLiveness, IsThatOfLlvm) {
  for (StringRef processor : {"gfx1100", "gfx942"}) {
    const std::string expected = liveness(processor, false);
    EXPECT_NE(StringRef(expected).find("implicit killed $scc"), StringRef::npos) << expected;
    EXPECT_NE(StringRef(expected).find("implicit killed $sgpr4_sgpr5"), StringRef::npos)
        << expected;
    EXPECT_EQ(liveness(processor, true), expected) << processor.str();
  }
}

} // namespace
