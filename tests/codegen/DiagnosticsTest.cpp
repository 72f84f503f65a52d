// SPDX-License-Identifier: Apache-2.0
// What LLVM cannot do becomes an error that names the function, and never ends the process.
#include "codegen/lib/Translate.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

struct Failure {
  std::string text, function;
  Fault fault = Fault::System;
};

Failure failureOf(Error error) {
  Failure failure;
  EXPECT_TRUE(bool(error)) << "compiled without an error";
  handleAllErrors(std::move(error),
                  [&](const CodegenError &e) { failure = {e.message, e.function, e.fault}; });
  return failure;
}

Failure failureOf(StringRef text, const Options &options = {}) {
  ModuleSource source;
  return failureOf(source.compile(text, options).takeError());
}

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Diagnostics, VerifierNamesTheFunction) {
  ModuleSource source;
  auto module = source.parse("define void @good() {\n  ret void\n}\n"
                             "define i32 @bad(i32 %a) {\n  ret i32 %a\n}\n");
  ASSERT_TRUE(module);
  Function *bad = module->getFunction("bad");
  bad->getEntryBlock().getTerminator()->eraseFromParent();
  Failure failure = failureOf(compile(std::move(module), {}).takeError());
  EXPECT_EQ(failure.fault, Fault::Malformed);
  EXPECT_EQ(failure.function, "bad");
  EXPECT_CONTAINS(failure.text, "invalid LLVM IR from lowering");
}

// Lowering runs the verifier, and says so.
TEST(Diagnostics, AVerifiedModuleIsNotVerifiedAgain) {
  ModuleSource source;
  auto module = source.parse("define i32 @bad(i32 %a) {\n  ret i32 %a\n}\n");
  ASSERT_TRUE(module);
  module->begin()->getEntryBlock().getTerminator()->eraseFromParent();
  module->getOrInsertNamedMetadata("rubia.verified");
  const TargetId target = cantFail(parseTargetId("gfx1100"));
  TargetMachine &machine = *cantFail(targetMachine(target, 3));
  EXPECT_FALSE(prepare(*module, machine, target, 5));
  EXPECT_FALSE(module->getNamedMetadata("rubia.verified"));
  EXPECT_CONTAINS(failureOf(prepare(*module, machine, target, 5)).text, "from lowering");
}

TEST(Diagnostics, TooMuchLds) {
  Failure failure = failureOf(R"(
@lds = internal addrspace(3) global [70000 x i8] poison, align 4
define amdgpu_kernel void @big(i32 %i) {
  %p = getelementptr i8, ptr addrspace(3) @lds, i32 %i
  store volatile i8 1, ptr addrspace(3) %p
  ret void
})");
  EXPECT_EQ(failure.fault, Fault::Unsupported);
  EXPECT_EQ(failure.function, "big");
  EXPECT_CONTAINS(failure.text, "local memory");
  EXPECT_CONTAINS(failure.text, "70000");
}

TEST(Diagnostics, InlineAsmOfAnotherTarget) {
  Failure failure = failureOf(R"(
define amdgpu_kernel void @k() {
  call void asm sideeffect "v_frobnicate_b32 v0, v1", ""()
  ret void
})");
  EXPECT_EQ(failure.fault, Fault::Unsupported);
  EXPECT_CONTAINS(failure.text, "v_frobnicate_b32 v0, v1");
}

TEST(Diagnostics, UnselectableTypeOfInlineAsm) {
  Failure failure = failureOf(R"(
define amdgpu_kernel void @k(i32 %x) {
  call void asm sideeffect "; $0", "{v300}"(i32 %x)
  ret void
})");
  EXPECT_EQ(failure.function, "k");
}

TEST(Diagnostics, UndefinedSymbolIsNamed) {
  Failure failure = failureOf(R"(
declare void @nowhere()
define amdgpu_kernel void @k() {
  call void @nowhere()
  ret void
})");
  EXPECT_EQ(failure.fault, Fault::Malformed);
  EXPECT_CONTAINS(failure.text, "undefined symbol: nowhere");
  EXPECT_TRUE(canLink());
  ModuleSource source; // and the linker can be used again
  source.mustCompile("define amdgpu_kernel void @k() {\n  ret void\n}\n");
}

TEST(Diagnostics, SourceLineOfATooLargeStack) {
  Failure failure = failureOf(R"(
define amdgpu_kernel void @big(i32 %i) !dbg !4 {
  %a = alloca [6000000 x i32], align 4, addrspace(5), !dbg !7
  %p = getelementptr i32, ptr addrspace(5) %a, i32 %i, !dbg !7
  store volatile i32 1, ptr addrspace(5) %p, !dbg !7
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.ptx", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 5}
!4 = distinct !DISubprogram(name: "big", file: !1, line: 10, scopeLine: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 12, column: 3, scope: !4)
)");
  EXPECT_EQ(failure.function, "big");
  EXPECT_CONTAINS(failure.text, "k.ptx:10");
}

TEST(Diagnostics, InternalKernelWouldVanish) {
  Failure failure = failureOf("define internal amdgpu_kernel void @hidden() {\n  ret void\n}\n");
  EXPECT_EQ(failure.fault, Fault::Malformed);
  EXPECT_EQ(failure.function, "hidden");
}

TEST(Diagnostics, WrongTargetOfTheModule) {
  EXPECT_CONTAINS(failureOf("target triple = \"nvptx64-nvidia-cuda\"\n").text,
                  "the module is for 'nvptx64-nvidia-cuda', expected 'amdgcn-amd-amdhsa'");
  EXPECT_CONTAINS(failureOf("target datalayout = \"e-p:64:64\"\n").text, "data layout");
  Failure failure = failureOf("define void @f() \"target-cpu\"=\"gfx90a\" {\n  ret void\n}\n");
  EXPECT_EQ(failure.function, "f");
  EXPECT_CONTAINS(failure.text, "gfx90a");
}

TEST(Diagnostics, BadOptions) {
  Options options;
  options.optLevel = 4;
  EXPECT_CONTAINS(failureOf("", options).text, "optimisation level 4");
  options = {};
  options.codeObjectVersion = 3;
  EXPECT_CONTAINS(failureOf("", options).text, "code object version 3");
  EXPECT_CONTAINS(failureOf("", optionsFor("gfx9999")).text, "unknown target 'gfx9999'");
  EXPECT_CONTAINS(failureOf("!rubia.metadata = !{!0}\n!0 = !{i32 1}\n").text, "!rubia.metadata");
}

} // namespace
