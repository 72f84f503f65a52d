// SPDX-License-Identifier: Apache-2.0
// What 32-bit divisions become. What they compute is in tests/lowering/arithmetic.
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

std::string machineCode(StringRef body) {
  std::string text = (R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %d, i32 %n) {
entry:
  %safe = call i32 @llvm.umax.i32(i32 %d, i32 1)
  %isZero = icmp eq i32 %d, 0
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %v = load volatile i32, ptr addrspace(1) %place
)" + body + R"(
  store volatile i32 %result, ptr addrspace(1) %out
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  ret void
}
)")
                         .str();
  return emitted(text, EmitKind::Assembly);
}

TEST(Divisions, OneReciprocalServesALoop) {
  const std::string code = machineCode(R"(
  %q = udiv i32 %v, %safe
  %w = load volatile i32, ptr addrspace(1) %place
  %r = urem i32 %w, %safe
  %result = xor i32 %q, %r)");
  EXPECT_EQ(StringRef(code).count("v_rcp_iflag_f32"), 1u) << code;
  // Before the loop, which begins with the first load.
  EXPECT_LT(code.find("v_rcp_iflag_f32"), code.find("global_load_dword")) << code;
}

TEST(Divisions, AllOnesOfZeroDivisorsAreAMedian) {
  const std::string code = machineCode(R"(
  %r = urem i32 %v, %safe
  %result = select i1 %isZero, i32 -1, i32 %r)");
  EXPECT_TRUE(StringRef(code).contains("v_med3_u32")) << code;
}

// LLVM's own way by floats is shorter.
TEST(Divisions, NumbersOf24BitsAreLeftToLlvm) {
  const std::string code = machineCode(R"(
  %a = and i32 %v, 65535
  %b = lshr i32 %d, 16
  %c = or i32 %b, 1
  %result = udiv i32 %a, %c)");
  EXPECT_FALSE(StringRef(code).contains("v_mul_hi_u32")) << code;
}

} // namespace
