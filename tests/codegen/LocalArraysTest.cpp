// SPDX-License-Identifier: Apache-2.0
// Which local arrays are reached from their object. What they compute is in
// tests/lowering/execution.
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

/// The IR of a kernel that fills the array %a and does something with its address %p.
std::string optimised(StringRef body, StringRef attributes = "") {
  std::string text = (R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %out, i64 %x) null_pointer_is_valid )" +
                      attributes + R"( {
  %a = alloca [32 x i8], align 16, addrspace(5)
  %b = alloca [32 x i8], align 16, addrspace(5)
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %wide = zext i32 %id to i64
  %bytes = mul i64 %wide, 4
  %low = ptrtoint ptr addrspace(5) %a to i32
  %p = zext i32 %low to i64
)" + body + R"(
  %place = trunc i64 %sum to i32
  %there = inttoptr i32 %place to ptr addrspace(5)
  store i32 %id, ptr addrspace(5) %there
  %other = add i32 %low, 8
  %here = inttoptr i32 %other to ptr addrspace(5)
  %v = load i32, ptr addrspace(5) %here
  store i32 %v, ptr addrspace(1) %out
  ret void
}
)")
                         .str();
  return emitted(text, EmitKind::Llvm);
}

bool keepsNumbers(StringRef ir) { return ir.contains("inttoptr") && ir.contains("ptrtoint"); }

TEST(LocalArrays, SumsAreReachedFromTheObject) {
  const std::string ir = optimised("%sum = add i64 %p, %bytes");
  EXPECT_FALSE(keepsNumbers(ir)) << ir;
  // As LLVM takes an array for a vector.
  EXPECT_TRUE(StringRef(ir).contains("alloca [8 x i32]")) << ir;
  EXPECT_TRUE(StringRef(ir).contains("getelementptr i32, ptr addrspace(5) %a")) << ir;
}

TEST(LocalArrays, OffsetsThatMayBeMisalignedStayBytes) {
  const std::string ir = optimised("%sum = add i64 %p, %wide");
  EXPECT_FALSE(keepsNumbers(ir)) << ir;
  EXPECT_TRUE(StringRef(ir).contains("getelementptr i8, ptr addrspace(5) %a")) << ir;
}

TEST(LocalArrays, StayInMemoryForTheChecks) {
  const std::string ir =
      optimised("%sum = add i64 %p, %bytes", "\"rubia-local-arrays\"=\"memory\"");
  EXPECT_FALSE(keepsNumbers(ir)) << ir;
  EXPECT_TRUE(StringRef(ir).contains("alloca [32 x i8]")) << ir;
}

// The address + n + n does not wrap, but n + n may.
TEST(LocalArrays, OffsetsMayWrap) {
  const std::string ir = optimised("%n = trunc i64 %x to i32\n%q = add i32 %low, %n\n"
                                   "%r = add nuw i32 %q, %n\n%sum = zext i32 %r to i64");
  EXPECT_FALSE(StringRef(ir).contains("shl nuw")) << ir;
}

TEST(LocalArrays, WhatIsNotCertainStaysANumber) {
  for (const char *body : {
           "%sum = xor i64 %p, %bytes",
           "%sum = or i64 %p, %bytes",
           "%sum = mul i64 %p, %wide",
           "%sum = sub i64 %bytes, %p",
           // Stored, and compared for more than equality.
           "store i64 %p, ptr addrspace(1) %out\n%sum = add i64 %p, %bytes",
           "%c = icmp ult i64 %p, %x\n%d = select i1 %c, i64 %bytes, i64 0\n"
           "%sum = add i64 %p, %d",
           "%c = icmp eq i64 %p, %x\n%d = select i1 %c, i64 %bytes, i64 0\n%sum = add i64 %p, %d",
           // One address or another number.
           "%c = icmp eq i64 %x, 3\n%sum = select i1 %c, i64 %p, i64 %bytes",
           // Twice the address.
           "%q = add i64 %p, %bytes\n%sum = add i64 %q, %p",
           // Another array's address.
           "%lowB = ptrtoint ptr addrspace(5) %b to i32\n%q = zext i32 %lowB to i64\n"
           "%d = sub i64 %q, %p\n%sum = add i64 %p, %d",
           // Another array, reached likewise: an index may lead from one into the other.
           "%lowB = ptrtoint ptr addrspace(5) %b to i32\n%q = add i32 %lowB, %id\n"
           "%in = inttoptr i32 %q to ptr addrspace(5)\nstore i32 1, ptr addrspace(5) %in\n"
           "%sum = add i64 %p, %bytes",
       }) {
    const std::string ir = optimised(body);
    EXPECT_TRUE(keepsNumbers(ir)) << body << ir;
  }
}

} // namespace
