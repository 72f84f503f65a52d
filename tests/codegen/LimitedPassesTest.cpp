// SPDX-License-Identifier: Apache-2.0
// Passes that would take the square of a function's length leave long ones alone, or see pieces.
#include "codegen/lib/errata/PassLimits.h"
#include "codegen/lib/speed/LimitedLoops.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/PassInstrumentation.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

/// Two loads of neighbours with so many sums between them. The back end's later passes join whole
/// words only.
std::string neighboursText(unsigned sums) {
  std::string text = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %base, float %x, float %y0) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %base, i32 %lane
  %a = load half, ptr addrspace(1) %p, align 4
)";
  for (unsigned i = 1; i <= sums; ++i)
    text += "  %y" + std::to_string(i) + " = fadd float %y" + std::to_string(i - 1) + ", %x\n";
  return text + R"(
  %q = getelementptr half, ptr addrspace(1) %p, i32 1
  %b = load half, ptr addrspace(1) %q
  %s = fadd half %a, %b
  %w = fpext half %s to float
  %t = fadd float %w, %y)" +
         std::to_string(sums) + R"(
  store float %t, ptr addrspace(1) %p
  ret void
}
)";
}

TEST(LimitedPasses, AccessesAreJoinedInPiecesOfLongBlocks) {
  auto loads = [](unsigned sums) {
    ModuleSource source;
    Expected<std::string> assembly =
        emit(source.parse(neighboursText(sums)), {}, EmitKind::Assembly);
    EXPECT_TRUE(bool(assembly));
    return assembly ? StringRef(*assembly).count("global_load_") : 0;
  };
  EXPECT_EQ(loads(1000), 1u);
  EXPECT_EQ(loads(4200), 2u);
}

/// So many loops of one block, one behind the other.
std::string loopsText(unsigned loops) {
  std::string text = "define void @k(i1 %c) {\n  br label %b0\n";
  for (unsigned i = 0; i < loops; ++i) {
    const std::string n = std::to_string(i);
    text += "b" + n + ":\n  br i1 %c, label %b" + n + ", label %b" + std::to_string(i + 1) + "\n";
  }
  return text + "b" + std::to_string(loops) + ":\n  ret void\n}\n";
}

struct CountPass : PassInfoMixin<CountPass> {
  unsigned *runs;
  PreservedAnalyses run(Function &, FunctionAnalysisManager &) {
    ++*runs;
    return PreservedAnalyses::all();
  }
};

TEST(LimitedPasses, LoopsOfLongFunctionsAreLeftAlone) {
  auto isRun = [](unsigned loops) {
    ModuleSource source;
    std::unique_ptr<Module> module = source.parse(loopsText(loops));
    FunctionAnalysisManager analyses;
    analyses.registerPass([] { return PassInstrumentationAnalysis(); });
    analyses.registerPass([] { return DominatorTreeAnalysis(); });
    analyses.registerPass([] { return LoopAnalysis(); });
    unsigned runs = 0;
    CountPass count;
    count.runs = &runs;
    FunctionPassManager passes;
    passes.addPass(CountPass(count));
    LimitedLoopsPass(std::move(passes)).run(*module->begin(), analyses);
    return runs != 0;
  };
  EXPECT_TRUE(isRun(2'700));
  EXPECT_FALSE(isRun(2'900));
}

TEST(LimitedPasses, LiveRangesOfFunctionsWithManyBranchesAreLeftAlone) {
  auto isRun = [](unsigned branches) {
    ModuleSource source;
    std::unique_ptr<Module> module = source.parse(loopsText(branches));
    const PassLimits limits(*module);
    return module->getContext().getOptPassGate().shouldRunPass("si-opt-vgpr-liverange",
                                                               "function (k)");
  };
  EXPECT_TRUE(isRun(7'000));
  EXPECT_FALSE(isRun(8'100));
}

} // namespace
