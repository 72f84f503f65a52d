// SPDX-License-Identifier: Apache-2.0
// The registers of a function are counted as LLVM counts them.
#include "codegen/lib/speed/UsedRegisters.h"
#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

std::string assemblyFor(const char *arch, const std::string &text) {
  ModuleSource source;
  return cantFail(emit(source.parse("target triple = \"amdgcn-amd-amdhsa\"\n" + text),
                       optionsFor(arch), EmitKind::Assembly));
}

/// What the assembly says of a kernel's registers.
std::string numberIn(StringRef assembly, StringRef name) {
  const StringRef line = assembly.split(name).second.split('\n').first;
  return line.trim(", \t").str();
}

class UsedRegistersTest : public testing::TestWithParam<const char *> {
protected:
  std::string asCounted(const std::string &text) {
    const unsigned before = registersAskedFor();
    const std::string code = assemblyFor(GetParam(), text);
    const unsigned asked = registersAskedFor() - before;
    EXPECT_GT(asked, 0u) << "LLVM has functions of its own";
    const SharingRegistersLookedUp all;
    EXPECT_EQ(code, assemblyFor(GetParam(), text)) << code;
    EXPECT_EQ(registersAskedFor() - before, asked);
    return code;
  }
};

TEST_P(UsedRegistersTest, OfOneInstruction) {
  for (const unsigned reg : {0, 3, 37, 99}) {
    const std::string v = std::to_string(reg);
    const std::string code =
        asCounted("define amdgpu_kernel void @k() {\n  call void asm sideeffect "
                  "\"v_mov_b32 v" +
                  v + ", 0\", \"~{v" + v +
                  "}\"()\n"
                  "  ret void\n}\n");
    EXPECT_EQ(numberIn(code, ".set k.num_vgpr"), std::to_string(reg + 1)) << GetParam();
  }
}

TEST_P(UsedRegistersTest, OfTuples) {
  const std::string code =
      asCounted("define amdgpu_kernel void @k(ptr addrspace(1) %p) {\n"
                "  call void asm sideeffect \"\", \"~{v[10:13]},~{s[40:43]}\"()\n"
                "  %a = load <4 x i32>, ptr addrspace(1) %p\n"
                "  store volatile <4 x i32> %a, ptr addrspace(1) %p\n  ret void\n}\n");
  EXPECT_EQ(numberIn(code, ".set k.num_vgpr"), "14") << GetParam();
  EXPECT_EQ(numberIn(code, ".set k.numbered_sgpr"), "44") << GetParam();
}

TEST_P(UsedRegistersTest, OfCalls) {
  asCounted("define internal void @f() noinline nounwind norecurse {\n"
            "  call void asm sideeffect \"\", \"~{v77},~{s60}\"()\n  ret void\n}\n"
            ""
            "define amdgpu_kernel void @k() {\n  call void @f()\n  ret void\n}\n"
            "define amdgpu_kernel void @l(ptr %g) {\n  call void %g()\n  ret void\n}\n");
}

// More than are looked through one by one.
TEST_P(UsedRegistersTest, OfManyInstructions) {
  std::string body;
  for (int i = 0; i < 3000; ++i)
    body += "  call void asm sideeffect \"v_mov_b32 v9, 0\", \"~{v9},~{s20}\"()\n";
  const std::string code =
      asCounted("define amdgpu_kernel void @k() {\n" + body + "  ret void\n}\n");
  EXPECT_EQ(numberIn(code, ".set k.num_vgpr"), "10") << GetParam();
  EXPECT_EQ(numberIn(code, ".set k.numbered_sgpr"), "21") << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Targets, UsedRegistersTest, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
