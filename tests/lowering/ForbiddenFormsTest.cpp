// SPDX-License-Identifier: Apache-2.0
// The checker itself: each form that it must find, and the guarded ones that it must let through.
#include "lowering/lib/transform/ForbiddenForms.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace llvm;
using rubia::lowering::forbiddenForms;

static size_t countIn(const std::string &body,
                      const std::string &attributes = "null_pointer_is_valid") {
  LLVMContext context;
  SMDiagnostic problem;
  auto module = parseAssemblyString("define void @f(i32 %a, i32 %b, float %x, ptr %p) " +
                                        attributes + " {\n" + body +
                                        "\nret void\n}\n"
                                        "declare i32 @llvm.umax.i32(i32, i32)\n",
                                    problem, context);
  if (!module) {
    ADD_FAILURE() << problem.getMessage().str() << "\n" << body;
    return 0;
  }
  return forbiddenForms(*module).size();
}

TEST(ForbiddenForms, AreFound) {
  for (const char *body :
       {"%r = add nsw i32 %a, %b", "%r = mul nuw i32 %a, %b", "%r = lshr exact i32 %a, 1",
        "%r = or disjoint i32 %a, %b", "%r = zext nneg i32 %a to i64",
        "%r = getelementptr inbounds i8, ptr %p, i32 %a",
        "%r = getelementptr nuw i8, ptr %p, i32 1", "%r = fadd contract float %x, %x",
        "%r = fptosi float %x to i32", "%r = fptoui float %x to i64", "%r = udiv i32 %a, %b",
        "%r = urem i32 %a, 0", "%r = sdiv i32 %a, -1", "%r = srem i32 %a, %b",
        "%r = shl i32 %a, %b", "%r = lshr i32 %a, 32",
        // not frozen
        "%z = icmp eq i32 %b, 0\n%d = select i1 %z, i32 1, i32 %b\n%r = udiv i32 %a, %d",
        "%m = call i32 @llvm.abs.i32(i32 %b, i1 false)\n"
        "%d = call i32 @llvm.umax.i32(i32 %m, i32 1)\n%r = udiv i32 %a, %d",
        // -1 is not replaced
        "%c = freeze i32 %b\n%z = icmp eq i32 %c, 0\n%d = select i1 %z, i32 1, i32 %c\n"
        "%r = sdiv i32 %a, %d"})
    EXPECT_EQ(countIn(body), 1u) << body;
  EXPECT_EQ(countIn("", ""), 1u);
  EXPECT_EQ(countIn("", "null_pointer_is_valid mustprogress"), 1u);
}

TEST(ForbiddenForms, LetGuardedFormsThrough) {
  for (const char *body :
       {"%r = add i32 %a, %b", "%r = udiv i32 %a, 3", "%m = and i32 %b, 31\n%r = shl i32 %a, %m",
        "%c = freeze i32 %b\n%z = icmp eq i32 %c, 0\n%d = select i1 %z, i32 1, i32 %c\n"
        "%r = udiv i32 %a, %d",
        "%c = freeze i32 %b\n%d = call i32 @llvm.umax.i32(i32 %c, i32 1)\n%r = urem i32 %a, %d",
        "%c = freeze i32 %b\n%m = call i32 @llvm.abs.i32(i32 %c, i1 false)\n"
        "%d = call i32 @llvm.umax.i32(i32 %m, i32 1)\n%r = urem i32 %a, %d",
        "%c = freeze i32 %b\n%z = icmp eq i32 %c, 0\n%m = icmp eq i32 %c, -1\n%o = or i1 %z, %m\n"
        "%d = select i1 %o, i32 1, i32 %c\n%r = srem i32 %a, %d"})
    EXPECT_EQ(countIn(body), 0u) << body;
}
