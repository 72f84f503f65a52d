// SPDX-License-Identifier: Apache-2.0
// Where a function has no products of matrices, nothing waits for any; where it has, all is as
// LLVM has it.
#include "codegen/lib/speed/MatrixHazards.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCInstrDesc.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

/// What LLVM goes by, in SIDefines.h.
constexpr uint64_t kIsMatrix = uint64_t(1) << 54, kIsDot = uint64_t(1) << 55;

TEST(MatrixHazards, AreOfProductsByName) {
  ModuleSource source;
  auto module = source.parse("define amdgpu_kernel void @k() {\n  ret void\n}\n");
  Expected<TargetId> target = parseTargetId("gfx942");
  ASSERT_TRUE(module && target);
  Expected<TargetMachine *> machine = targetMachine(*target, 3);
  ASSERT_TRUE(bool(machine));
  const TargetInstrInfo &instructions =
      *(*machine)->getSubtargetImpl(*module->getFunction("k"))->getInstrInfo();
  unsigned matrices = 0, dots = 0;
  for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode) {
    const StringRef name = instructions.getName(opcode);
    const uint64_t flags = instructions.get(opcode).TSFlags;
    if (!(flags & (kIsMatrix | kIsDot)) || name.starts_with("V_ACCVGPR"))
      continue;
    EXPECT_TRUE(mayBeProduct(name)) << name.str();
    ++(flags & kIsMatrix ? matrices : dots);
  }
  EXPECT_GT(matrices, 100u) << "LLVM has other flags";
  EXPECT_GT(dots, 20u) << "LLVM has other flags";
}

constexpr const char *kPlain = R"(
define amdgpu_kernel void @plain(ptr addrspace(1) %p) {
  %a = load float, ptr addrspace(1) %p
  %b = fmul float %a, %a
  %c = fdiv float %b, %a
  store float %c, ptr addrspace(1) %p
  ret void
}
)";

constexpr const char *kProduct = R"(
declare <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float, float, <4 x float>, i32, i32, i32)
define amdgpu_kernel void @product(ptr addrspace(1) %p) {
  %a = load float, ptr addrspace(1) %p
  %m = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float %a, float %a, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  %m0 = extractelement <4 x float> %m, i32 0
  %m3 = extractelement <4 x float> %m, i32 3
  %s = fadd float %m0, %m3
  store float %s, ptr addrspace(1) %p
  ret void
}
)";

constexpr const char *kDot = R"(
declare i32 @llvm.amdgcn.sdot4(i32, i32, i32, i1)
define amdgpu_kernel void @dot(ptr addrspace(1) %p) {
  %a = load i32, ptr addrspace(1) %p
  %d = call i32 @llvm.amdgcn.sdot4(i32 %a, i32 %a, i32 %a, i1 false)
  %e = mul i32 %d, %d
  store i32 %e, ptr addrspace(1) %p
  ret void
}
)";

/// How many questions were spared.
unsigned sparedIn(const char *arch, const std::string &text, unsigned level = 3) {
  Options options = optionsFor(arch);
  options.optLevel = level;
  const auto assembly = [&] {
    ModuleSource source;
    return cantFail(emit(source.parse("target triple = \"amdgcn-amd-amdhsa\"\n" + text), options,
                         EmitKind::Assembly));
  };
  const unsigned before = matrixHazardsSpared();
  const std::string code = assembly();
  const unsigned spared = matrixHazardsSpared() - before;
  const MatrixHazardsEverywhere everywhere;
  EXPECT_EQ(code, assembly()) << arch;
  EXPECT_EQ(matrixHazardsSpared() - before, spared) << arch;
  return spared;
}

TEST(MatrixHazards, AreLookedForBesideProducts) {
  for (const char *arch : {"gfx90a", "gfx942", "gfx950"}) {
    const unsigned plain = sparedIn(arch, kPlain);
    EXPECT_GT(plain, 0u) << "LLVM has a function of its own";
    EXPECT_GT(sparedIn(arch, kPlain, 0), 0u);
    EXPECT_EQ(sparedIn(arch, kProduct), 0u) << arch;
    EXPECT_EQ(sparedIn(arch, kProduct, 0), 0u) << arch;
    EXPECT_EQ(sparedIn(arch, kDot), 0u) << arch;
    // Functions follow each other in a module.
    for (const char *product : {kProduct, kDot}) {
      EXPECT_EQ(sparedIn(arch, std::string(kPlain) + product), plain) << arch;
      EXPECT_EQ(sparedIn(arch, std::string(product) + kPlain), plain) << arch;
    }
  }
}

} // namespace
