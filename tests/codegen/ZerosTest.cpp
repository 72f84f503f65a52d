// SPDX-License-Identifier: Apache-2.0
// Zeros in elements of vectors (docs/errata.md): each test fails without the work-around.
#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

/// Fails the test unless the code has the bits of -0.
void expectMinusZero(const std::string &body, bool isHalf) {
  std::string text = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, <2 x TYPE> %uniform) {
  %v = load volatile <2 x TYPE>, ptr addrspace(1) %p
)" + body + R"(
  store volatile <2 x TYPE> %r, ptr addrspace(1) %p
  ret void
}
)";
  for (size_t at; (at = text.find("TYPE")) != std::string::npos;)
    text.replace(at, 4, isHalf ? "half" : "bfloat");
  for (size_t at; (at = text.find("MINUS")) != std::string::npos;)
    text.replace(at, 5, isHalf ? "half 0xH8000" : "bfloat 0xR8000");
  for (const char *arch : rubia::test::testTargets()) {
    ModuleSource source;
    Expected<std::string> code = emit(source.parse(text), optionsFor(arch), EmitKind::Assembly);
    ASSERT_TRUE(bool(code)) << toString(code.takeError());
    EXPECT_TRUE(StringRef(*code).contains("0x8000")) << arch << "\n" << *code;
  }
}

// It was s_and_b32 and v_and_b32.
TEST(ZerosInPairs, UpperHalves) {
  for (const char *value : {"%uniform", "%v"})
    for (bool isHalf : {true, false})
      expectMinusZero("  %x = extractelement <2 x TYPE> " + std::string(value) +
                          ", i64 0\n"
                          "  %r = insertelement <2 x TYPE> <TYPE poison, MINUS>, TYPE %x, i64 0\n",
                      isHalf);
}

TEST(ZerosInPairs, LowerHalves) {
  for (bool isHalf : {true, false})
    expectMinusZero("  %r = shufflevector <2 x TYPE> %v, <2 x TYPE> <MINUS, TYPE poison>, "
                    "<2 x i32> <i32 2, i32 1>\n",
                    isHalf);
}

// The difference of 0 was a negated operand of the next one.
TEST(ZerosInVectors, DifferenceOfAnElement) {
  for (const char *arch : rubia::test::testTargets()) {
    Options options = optionsFor(arch);
    options.optLevel = 0; // the optimiser would take the vectors apart
    ModuleSource source;
    Expected<std::string> code = emit(source.parse(R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr <2 x float>, ptr addrspace(1) %p, i32 %thread
  %v = load <2 x float>, ptr addrspace(1) %at
  %w = insertelement <2 x float> %v, float 0.0, i64 0
  %d = fsub <2 x float> %w, %v
  %m = fmul <2 x float> %w, %v
  %s = shufflevector <2 x float> %m, <2 x float> poison, <2 x i32> <i32 1, i32 poison>
  %e = fsub <2 x float> %d, %s
  %r = extractelement <2 x float> %e, i64 0
  store volatile float %r, ptr addrspace(1) %p
  ret void
}
)"),
                                      options, EmitKind::Assembly);
    ASSERT_TRUE(bool(code)) << toString(code.takeError());
    EXPECT_FALSE(StringRef(*code).contains("-v")) << arch << "\n" << *code;
  }
}

} // namespace
