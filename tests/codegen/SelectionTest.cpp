// SPDX-License-Identifier: Apache-2.0
// What selection leaves out to be faster: LLVM has these functions still.
#include "codegen/lib/speed/DemandedBits.h"
#include "codegen/lib/speed/SuperClasses.h"
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

/// A loop of so many sums, between two blocks of few instructions.
std::string loopText(unsigned sums) {
  std::string text = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n, float %x) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %y0 = load volatile float, ptr addrspace(1) %p
)";
  for (unsigned i = 1; i <= sums; ++i)
    text += "  %y" + std::to_string(i) + " = fadd float %y" + std::to_string(i - 1) + ", %x\n";
  return text + "  store volatile float %y" + std::to_string(sums) + R"(, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  ret void
}
)";
}

TEST(Selection, LlvmAsksForDemandedBits) {
  ModuleSource source;
  source.mustCompile(loopText(2), {});
  EXPECT_TRUE(wereNearOperationsAsked()) << "LLVM has a function of its own";
}

// Where registers are joined, LLVM asks for a class with parts of both. The code is the same when
// it has been asked before.
TEST(Selection, ClassesOfJoinedRegistersAreRemembered) {
  const std::string text = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, <4 x i32> %v) {
  %a = load volatile <4 x i32>, ptr addrspace(1) %p
  %s = shufflevector <4 x i32> %a, <4 x i32> %v, <4 x i32> <i32 2, i32 3, i32 4, i32 0>
  store volatile <4 x i32> %s, ptr addrspace(1) %p
  ret void
}
)";
  const std::string first = emitted(text, EmitKind::Assembly);
  const SuperClassAnswers before = superClassAnswers();
  EXPECT_EQ(emitted(text, EmitKind::Assembly), first);
  EXPECT_GT(superClassAnswers().remembered, before.remembered) << "LLVM has another function";
}

// The upper bytes of the sum matter to none: no mask is left.
TEST(Selection, BitsThatNobodyReadsAreStillFound) {
  const std::string code = emitted(R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %a = load volatile i32, ptr addrspace(1) %p
  %masked = and i32 %a, 65535
  %sum = add i32 %masked, 77
  %byte = trunc i32 %sum to i8
  store volatile i8 %byte, ptr addrspace(1) %p
  ret void
}
)",
                                   EmitKind::Assembly);
  EXPECT_FALSE(StringRef(code).contains("and_b32")) << code;
}

} // namespace
