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

// As nvcc has it: `or` and a branch before each division of 64 bits.
std::string behindACheck(StringRef condition, StringRef divisor = "%d", StringRef dividend = "%a") {
  std::string text = (R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %a = load volatile i64, ptr addrspace(1) %in
  %d = load volatile i64, ptr addrspace(1) %in
  %both = or i64 %a, %d
  %fits = )" + condition +
                      R"(
  br i1 %fits, label %end, label %wide
wide:
  %safe = call i64 @llvm.umax.i64(i64 %d, i64 1)
  %isZero = icmp eq i64 %d, 0
  %selected = select i1 %isZero, i64 1, i64 %d
  %magnitude = call i64 @llvm.abs.i64(i64 %a, i1 false)
  %magnitudeOfD = call i64 @llvm.abs.i64(i64 %d, i1 false)
  %safeMagnitude = call i64 @llvm.umax.i64(i64 %magnitudeOfD, i64 1)
  %q = udiv i64 )" + dividend +
                      ", " + divisor + R"(
  store volatile i64 %q, ptr addrspace(1) %out
  br label %end
end:
  ret void
}
)")
                         .str();
  return emitted(text, EmitKind::Assembly);
}

TEST(Divisions, ACheckOfTheirWidthIsNotRepeated) {
  for (const char *divisor : {"%d", "%safe", "%selected"}) {
    const std::string code = behindACheck("icmp ult i64 %both, 4294967296", divisor);
    EXPECT_EQ(StringRef(code).count("v_rcp"), 1u) << code;
  }
}

// Signed numbers are checked as they are.
TEST(Divisions, ACheckOfSignedNumbersIsNotRepeated) {
  for (const char *divisor : {"%magnitudeOfD", "%safeMagnitude", "%d"}) {
    const std::string code = behindACheck("icmp ult i64 %both, 4294967296", divisor, "%magnitude");
    EXPECT_EQ(StringRef(code).count("v_rcp"), 1u) << code;
  }
}

TEST(Divisions, OtherChecksSayNothingOfTheirWidth) {
  for (const char *condition : {"icmp ult i64 %both, 4294967295", "icmp ult i64 %a, 4294967296",
                                "icmp ugt i64 %d, 4294967295"}) {
    const std::string code = behindACheck(condition);
    EXPECT_EQ(StringRef(code).count("v_rcp"), 2u) << condition << '\n' << code;
  }
}

// Nobody knows who reads a constant, such as one that a divisor may be.
TEST(Divisions, ADivisorMayBeAChoiceOfConstants) {
  const std::string code = machineCode(R"(
  %wide = zext i32 %v to i64
  %a = mul i64 %wide, 12345678901
  %isLarge = icmp ugt i32 %v, %d
  %divisor = select i1 %isLarge, i64 1, i64 20015998343186
  %rest = urem i64 %a, %divisor
  %result = trunc i64 %rest to i32)");
  EXPECT_TRUE(StringRef(code).contains("v_rcp")) << code;
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
