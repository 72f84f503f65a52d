// SPDX-License-Identifier: Apache-2.0
// What the last pass of the middle end makes of forms without good code.
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

std::string machineCode(StringRef body) {
  std::string text = (R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i4 @llvm.ctpop.i4(i4)
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %x, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %mine = getelementptr [4 x i32], ptr addrspace(1) %in, i32 %id
)" + body + "}\n")
                         .str();
  return emitted(text, EmitKind::Assembly);
}

TEST(TargetForms, ConditionsAreCountedByCarries) {
  const std::string code = machineCode(R"(
  %v = load <4 x i32>, ptr addrspace(1) %mine
  %c = icmp slt <4 x i32> %v, splat (i32 9)
  %bits = bitcast <4 x i1> %c to i4
  %count = call i4 @llvm.ctpop.i4(i4 %bits)
  %wide = zext i4 %count to i32
  %sum = add i32 %wide, %x
  store i32 %sum, ptr addrspace(1) %out
  ret void
)");
  EXPECT_FALSE(StringRef(code).contains("v_bcnt")) << code;
  EXPECT_GE(StringRef(code).count("v_add_co_ci"), 2u) << code;
}

TEST(TargetForms, ComparisonsAreTurnedForABody) {
  const std::string code = machineCode(R"(
  %v = load i32, ptr addrspace(1) %mine
  %a = icmp sgt i32 %v, 9
  %b = icmp eq i32 %id, %x
  %c = xor i1 %a, %b
  br i1 %c, label %end, label %body
body:
  store volatile i32 %v, ptr addrspace(1) %out
  br label %end
end:
  ret void
)");
  EXPECT_FALSE(StringRef(code).contains(", -1")) << code;
}

TEST(TargetForms, WhatALoopKeepsIsMaskedBeforeIt) {
  const std::string code = machineCode(R"(
  %key = load i32, ptr addrspace(1) %mine
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %place = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %v = load volatile i32, ptr addrspace(1) %place
  %difference = xor i32 %v, %key
  %low = and i32 %difference, 15
  %same = icmp eq i32 %low, 0
  %one = zext i1 %same to i32
  %more = add i32 %sum, %one
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  store i32 %more, ptr addrspace(1) %out
  ret void
)");
  EXPECT_FALSE(StringRef(code).contains("v_xor_b32")) << code;
}

TEST(TargetForms, LowerHalvesAreConvertedAlone) {
  const std::string code = machineCode(R"(
  %place = getelementptr i64, ptr addrspace(1) %in, i32 %id
  %v = load i64, ptr addrspace(1) %place
  %w = load volatile i64, ptr addrspace(1) %place
  %lower = trunc nuw i64 %v to i32
  %other = trunc nsw i64 %w to i32
  %first = uitofp i32 %lower to float
  %second = sitofp i32 %other to float
  %sum = fadd float %first, %second
  store float %sum, ptr addrspace(1) %out
  ret void
)");
  EXPECT_EQ(StringRef(code).count("v_cvt_f32_u32"), 1u) << code;
  EXPECT_EQ(StringRef(code).count("v_cvt_f32_i32"), 1u) << code;
  EXPECT_FALSE(StringRef(code).contains("v_ldexp")) << code;
}

TEST(TargetForms, FewArgumentsAreReadAtTheStart) {
  const std::string code = emitted(R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(4) byref([24 x i8]) align 16 %arguments) {
  %second = getelementptr i8, ptr addrspace(4) %arguments, i64 8
  %in = load ptr addrspace(1), ptr addrspace(4) %second, align 8, !invariant.load !0
  %v = load volatile i32, ptr addrspace(1) %in
  %c = icmp eq i32 %v, 3
  br i1 %c, label %body, label %end
body:
  %out = load ptr addrspace(1), ptr addrspace(4) %arguments, align 8, !invariant.load !0
  store i32 %v, ptr addrspace(1) %out
  br label %end
end:
  ret void
}
!0 = !{}
)",
                                   EmitKind::Assembly);
  EXPECT_EQ(StringRef(code).count("s_load_dword"), 1u) << code;
  EXPECT_TRUE(StringRef(code).contains("s_load_dwordx4")) << code;
}

} // namespace
