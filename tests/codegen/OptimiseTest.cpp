// SPDX-License-Identifier: Apache-2.0
// What each level of the middle end does, and none below it.
#include "codegen/lib/BlockPieces.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// A variable as lowering makes one, a generic access to LDS, a call, and a loop over LDS.
constexpr const char *kText = R"(
target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [4 x i32] poison, align 16
define internal i32 @twice(i32 %x) {
  %y = shl i32 %x, 1
  ret i32 %y
}
define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %x) {
entry:
  %r = alloca i32, addrspace(5)
  %i = alloca i32, addrspace(5)
  store i32 %x, ptr addrspace(5) %r
  %generic = addrspacecast ptr addrspace(3) @tile to ptr
  %v = load i32, ptr addrspace(5) %r
  %w = call i32 @twice(i32 %v)
  store i32 %w, ptr %generic
  store i32 0, ptr addrspace(5) %i
  br label %loop
loop:
  %n = load i32, ptr addrspace(5) %i
  %place = getelementptr i32, ptr addrspace(3) @tile, i32 %n
  store volatile i32 %n, ptr addrspace(3) %place
  %next = add i32 %n, 1
  store i32 %next, ptr addrspace(5) %i
  %more = icmp slt i32 %next, 4
  br i1 %more, label %loop, label %done
done:
  %sum = load i32, ptr addrspace(3) @tile
  store i32 %sum, ptr addrspace(1) %out
  ret void
}
)";

std::string optimised(unsigned level) {
  ModuleSource source;
  Options options = optionsFor("gfx1100");
  options.optLevel = level;
  Expected<std::string> ir = emit(source.parse(kText), options, EmitKind::Llvm);
  EXPECT_TRUE(bool(ir));
  return ir ? *ir : toString(ir.takeError());
}

size_t times(StringRef text, StringRef part) { return text.count(part); }

TEST(Optimise, LevelsKeepTheirMeaning) {
  const std::string none = optimised(0), some = optimised(1);
  EXPECT_EQ(times(none, " = alloca "), 2u);
  EXPECT_EQ(times(none, "addrspacecast"), 1u);

  EXPECT_EQ(times(some, " = alloca "), 0u) << some;
  EXPECT_EQ(times(some, "addrspacecast"), 0u) << some;
  EXPECT_EQ(times(some, "call i32 @twice"), 1u) << some;
  EXPECT_EQ(times(some, "store volatile"), 1u) << some;
  for (unsigned level : {2u, 3u}) {
    const std::string most = optimised(level);
    EXPECT_EQ(times(most, "@twice"), 0u) << most;
    EXPECT_EQ(times(most, "store volatile"), 4u) << most;
  }
}

/// A kernel of one block with so many products.
std::string productsText(unsigned products) {
  std::string text = "define amdgpu_kernel void @k(ptr addrspace(1) %p, float %x) {\n"
                     "  %y0 = load float, ptr addrspace(1) %p\n";
  for (unsigned i = 0; i < products; ++i)
    text += "  %y" + std::to_string(i + 1) + " = fmul float %y" + std::to_string(i) + ", %x\n";
  return text + "  store float %y" + std::to_string(products) +
         ", ptr addrspace(1) %p\n  ret void\n}\n";
}

std::string assemblyOf(unsigned products) {
  ModuleSource source;
  Expected<std::string> assembly =
      emit(source.parse(productsText(products)), optionsFor("gfx1100"), EmitKind::Assembly);
  EXPECT_TRUE(bool(assembly));
  return assembly ? *assembly : toString(assembly.takeError());
}

TEST(Optimise, LongBlocksAreScheduledInPieces) {
  EXPECT_EQ(times(assemblyOf(50), "sched_barrier"), 0u);
  EXPECT_EQ(times(assemblyOf(900), "sched_barrier"), 7u);
  // Three for the scheduler before register allocation, and 7 in each piece for the one behind it.
  EXPECT_EQ(times(assemblyOf(3900), "sched_barrier"), 31u);
}

/// A load that only one way of a branch needs, in front of so many loads and stores.
std::string isNeededLaterText(unsigned pairs) {
  std::string text = "define amdgpu_kernel void @k(ptr addrspace(1) noalias %p, ptr addrspace(1) "
                     "noalias %q, i32 %n) {\n  %late = load float, ptr addrspace(1) %p\n";
  const auto at = [](unsigned i, const char *pointer) {
    const std::string name = std::string("%") + (*pointer == 'p' ? "a" : "b") + std::to_string(i);
    return std::pair(name, "  " + name + " = getelementptr i8, ptr addrspace(1) %" + pointer +
                               ", i64 " + std::to_string(8 * i + 8) + "\n");
  };
  for (unsigned i = 0; i < pairs; ++i)
    text += at(i, "p").second + "  %v" + std::to_string(i) + " = load float, ptr addrspace(1) " +
            at(i, "p").first + "\n";
  for (unsigned i = 0; i < pairs; ++i)
    text += at(i, "q").second + "  store float %v" + std::to_string(i) + ", ptr addrspace(1) " +
            at(i, "q").first + "\n";
  return text + "  %c = icmp eq i32 %n, 0\n  br i1 %c, label %then, label %end\nthen:\n"
                "  store float %late, ptr addrspace(1) %q\n  br label %end\nend:\n  ret void\n}\n";
}

TEST(Optimise, LoadsAreMovedToTheirUsesWhereThatTakesNoLongTime) {
  auto isMoved = [](unsigned pairs) {
    ModuleSource source;
    Expected<std::string> assembly =
        emit(source.parse(isNeededLaterText(pairs)), optionsFor("gfx942"), EmitKind::Assembly);
    EXPECT_TRUE(bool(assembly));
    return times(assembly->substr(assembly->find("; %then")), "_load_dword") == 1;
  };
  EXPECT_TRUE(isMoved(10));
  EXPECT_FALSE(isMoved(600));
}

TEST(Optimise, TheVectorizerSeesShortBlocks) {
  ModuleSource source;
  std::unique_ptr<Module> module = source.parse(productsText(298));
  Function &kernel = *module->begin();
  FunctionAnalysisManager none;
  EXPECT_FALSE(DivideBlocksPass().run(kernel, none).areAllPreserved());
  std::vector<size_t> sizes;
  for (const BasicBlock &block : kernel)
    sizes.push_back(block.size());
  // 300 instructions and a branch more in each but the last, which is not divided for its end
  // alone.
  EXPECT_EQ(sizes, (std::vector<size_t>{101, 101, 101}));
  EXPECT_TRUE(DivideBlocksPass().run(kernel, none).areAllPreserved());
  EXPECT_FALSE(verifyModule(*module, &errs()));
  EXPECT_FALSE(JoinBlocksPass().run(kernel, none).areAllPreserved());
  EXPECT_EQ(kernel.size(), 1u);
  EXPECT_EQ(kernel.front().size(), 301u);
}

/// A loop of four rounds with so many sums of what is read from memory, as lowering makes them.
std::string loopText(unsigned sums) {
  std::string text = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %base) {
entry:
  br label %loop
loop:
  %n = phi i32 [ 0, %entry ], [ %next, %loop ]
  %x0 = phi float [ 0.0, %entry ], [ %x)" +
                     std::to_string(sums) + ", %loop ]\n";
  for (unsigned i = 0; i < sums; ++i) {
    const std::string n = std::to_string(i);
    text += "  %a" + n + " = add i32 %base, " + std::to_string(64 * i) + "\n  %q" + n +
            " = inttoptr i32 %a" + n + " to ptr addrspace(3)\n  %l" + n +
            " = load volatile i32, ptr addrspace(3) %q" + n + "\n  %z" + n + " = freeze i32 %l" +
            n + "\n  %f" + n + " = bitcast i32 %z" + n + " to float\n  %x" + std::to_string(i + 1) +
            " = fadd float %x" + n + ", %f" + n + "\n";
  }
  return text + R"(
  %next = add i32 %n, 1
  %more = icmp ne i32 %next, 4
  br i1 %more, label %loop, label %done
done:
  store float %x)" +
         std::to_string(sums) + ", ptr addrspace(1) %p\n  ret void\n}\n";
}

// 300 instructions are allowed: two for each sum and round, and three more in a round.
TEST(Optimise, WhatMakesNoInstructionDoesNotKeepALoop) {
  for (auto [sums, copies] : {std::pair(36u, 4u), std::pair(37u, 1u)}) {
    ModuleSource source;
    Expected<std::string> ir =
        emit(source.parse(loopText(sums)), optionsFor("gfx1100"), EmitKind::Llvm);
    ASSERT_TRUE(bool(ir));
    EXPECT_EQ(times(*ir, "load volatile"), copies * sums) << *ir;
  }
}

} // namespace
