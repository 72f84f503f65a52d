// SPDX-License-Identifier: Apache-2.0
// Constants of f64 that several blocks have are made once, where that costs nothing elsewhere.
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

/// Steps of a polynomial with so many constants, whose lower halves are 0x1234567N.
std::string polynomial(StringRef name, unsigned constants) {
  std::string text = "  %" + name.str() + "0 = load volatile double, ptr addrspace(1) %p\n";
  for (unsigned i = 0; i < constants; ++i)
    text += "  %" + name.str() + std::to_string(i + 1) + " = call double @llvm.fma.f64(double %" +
            name.str() + std::to_string(i) + ", double %x, double 0x3FE000001234567" +
            std::to_string(i) + ")\n";
  return text + "  store volatile double %" + name.str() + std::to_string(constants) +
         ", ptr addrspace(1) %p\n";
}

/// One polynomial behind the other, each in a branch. The first branch is in a loop if `again` is
/// no constant.
std::string codeOf(StringRef processor, unsigned constants, StringRef again = "false") {
  const std::string text = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, double %x, i32 %n) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %between ]
  %isOdd = icmp ugt i32 %lane, %i
  br i1 %isOdd, label %one, label %between
one:
)" + polynomial("a", constants) +
                           R"(
  br label %between
between:
  %next = add i32 %i, 1
  %isMore = icmp ult i32 %next, %n
  br i1 )" + again.str() + R"(, label %head, label %behind
behind:
  %isLow = icmp ult i32 %lane, 7
  br i1 %isLow, label %other, label %end
other:
)" + polynomial("b", constants) +
                           R"(
  br label %end
end:
  ret void
}
)";
  ModuleSource source;
  Options options;
  options.arch = processor.str();
  Expected<std::string> code = emit(source.parse(text), options, EmitKind::Assembly);
  EXPECT_TRUE(bool(code));
  return code ? *code : "";
}

TEST(SharedConstants, TwoPolynomialsHaveOneSet) {
  for (const char *processor : {"gfx1100", "gfx942"}) {
    const std::string code = codeOf(processor, 5);
    for (const char *constant : {"0x12345670", "0x12345674"})
      EXPECT_EQ(StringRef(code).count(constant), 1u) << code;
  }
}

// Two are a special case, which may be on no way that is gone.
TEST(SharedConstants, FewStayWhereTheyAre) {
  const std::string code = codeOf("gfx1100", 2);
  EXPECT_EQ(StringRef(code).count("0x12345670"), 2u) << code;
}

// The nearest block that dominates both is in the loop.
TEST(SharedConstants, AreNotMadeInLoops) {
  const std::string code = codeOf("gfx1100", 5, "%isMore");
  EXPECT_EQ(StringRef(code).count("0x12345670"), 1u) << code;
  EXPECT_LT(StringRef(code).find("0x12345670"), StringRef(code).find(".LBB0_1:")) << code;
}

} // namespace
