// SPDX-License-Identifier: Apache-2.0
// The back end's passes are kept for the next module of a thread: no module's code depends on those
// before it.
#include "codegen/lib/Translate.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/CommandLine.h"
#include <thread>

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// Nothing but memory accesses, so that LLVM takes it for bound by memory and wants fewer waves of
// it.
std::string accesses() {
  std::string text = "define amdgpu_kernel void @accesses(ptr addrspace(1) %p) {\n";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i), place = std::to_string(i * 4096);
    text += "  %a" + n + " = getelementptr i8, ptr addrspace(1) %p, i64 " + place + "\n  %q" + n +
            " = load ptr addrspace(1), ptr addrspace(1) %a" + n + "\n  %v" + n +
            " = load volatile i32, ptr addrspace(1) %q" + n + "\n";
  }
  return text + "  ret void\n}\n";
}

std::string arithmetic() {
  std::string text = "define amdgpu_kernel void @arithmetic(ptr addrspace(1) %p, float %x) {\n"
                     "  %s0 = fadd float %x, 1.0\n";
  for (int i = 0; i < 120; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "  %m" + n + " = fmul float %s" + n + ", %x\n  %s" + next + " = fadd float %m" + n +
            ", %s" + std::to_string(i / 2) + "\n";
  }
  return text + "  store float %s120, ptr addrspace(1) %p\n  ret void\n}\n";
}

constexpr const char *kShared = R"(
@tile = internal addrspace(3) global [64 x i32] poison, align 16
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
define void @add(ptr addrspace(3) %p) noinline {
  %v = load i32, ptr addrspace(3) %p
  %w = add i32 %v, 7
  store i32 %w, ptr addrspace(3) %p
  ret void
}
define amdgpu_kernel void @shared(ptr addrspace(1) %out) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %i
  store i32 %i, ptr addrspace(3) %p
  call void @add(ptr addrspace(3) %p)
  call void @llvm.amdgcn.s.barrier()
  %v = load i32, ptr addrspace(3) @tile
  store i32 %v, ptr addrspace(1) %out
  ret void
}
)";

constexpr const char *kNothing = "define amdgpu_kernel void @nothing() {\n  ret void\n}\n";

constexpr const char *kTooMuchLds = R"(
@lds = internal addrspace(3) global [70000 x i8] poison, align 4
define amdgpu_kernel void @big(i32 %i) {
  %p = getelementptr i8, ptr addrspace(3) @lds, i32 %i
  store volatile i8 1, ptr addrspace(3) %p
  ret void
})";

using Code = std::vector<uint8_t>;

Code codeOf(const std::string &text, const std::string &arch, unsigned level) {
  ModuleSource source;
  Options options = optionsFor(arch);
  options.optLevel = level;
  return source.mustCompile(text, options).bytes;
}

/// In a thread of its own, which has compiled nothing.
Code codeOfFirst(const std::string &text, const std::string &arch, unsigned level) {
  Code code;
  std::thread([&] { code = codeOf(text, arch, level); }).join();
  return code;
}

TEST(KeptPasses, CodeDoesNotDependOnTheModulesBefore) {
  const std::string texts[] = {accesses(), arithmetic(), kShared, kNothing};
  for (const std::string arch : {"gfx1100", "gfx942"})
    for (unsigned level : {0u, 3u}) {
      std::vector<Code> first;
      for (const std::string &text : texts)
        first.push_back(codeOfFirst(text, arch, level));
      for (int round = 0; round < 6; ++round)
        for (size_t i = 0; i < std::size(texts); ++i)
          EXPECT_TRUE(codeOf(texts[i], arch, level) == first[i])
              << arch << " -O" << level << ", text " << i << " in round " << round;
    }
}

TEST(KeptPasses, AnErrorLeavesNothingBehind) {
  const std::string text = kShared;
  const Code first = codeOfFirst(text, "gfx1100", 3);
  EXPECT_TRUE(codeOf(text, "gfx1100", 3) == first);
  ModuleSource source;
  Expected<CodeObject> refused = source.compile(kTooMuchLds, optionsFor("gfx1100"));
  EXPECT_FALSE(bool(refused));
  consumeError(refused.takeError());
  EXPECT_TRUE(codeOf(text, "gfx1100", 3) == first);
}

// LLVM remembers kernels by their addresses. Another kernel at the same address is no part of it.
TEST(KeptPasses, NoKernelIsTakenForAnEarlierOne) {
  ModuleSource source;
  std::unique_ptr<Module> module = source.parse(accesses());
  const TargetId target = cantFail(parseTargetId("gfx1100"));
  TargetMachine &machine = *cantFail(targetMachine(target, 3));
  cantFail(prepare(*module, machine, target, 5));
  SmallString<0> object;
  cantFail(translate(*module, machine, EmitKind::Object, object));
  Function &kernel = *module->begin();
  constexpr const char *kFewWaves = "amdgpu-wave-limiter";
  EXPECT_TRUE(kernel.hasFnAttribute(kFewWaves));

  kernel.deleteBody();
  kernel.removeFnAttr(kFewWaves);
  IRBuilder<> builder(BasicBlock::Create(module->getContext(), "", &kernel));
  Value *sum = builder.CreatePtrToInt(kernel.getArg(0), builder.getInt64Ty());
  for (int i = 0; i < 120; ++i)
    sum = builder.CreateXor(builder.CreateMul(sum, sum), i);
  builder.CreateStore(sum, kernel.getArg(0));
  builder.CreateRetVoid();
  cantFail(translate(*module, machine, EmitKind::Object, object));
  EXPECT_FALSE(kernel.hasFnAttribute(kFewWaves));
}

// The linker sets LLVM's options back to what they were by default.
TEST(KeptPasses, TheLinkerLeavesOurDefaults) {
  ModuleSource source;
  source.mustCompile(arithmetic(), optionsFor("gfx1100"));
  const auto &options = cl::getRegisteredOptions();
  for (auto [name, value] : {std::pair("regalloc-eviction-max-interference-cutoff", 2u),
                             std::pair("dag-maps-huge-region", 128u)}) {
    const auto found = options.find(name);
    ASSERT_TRUE(found != options.end()) << name;
    EXPECT_EQ(*static_cast<cl::opt<unsigned> *>(found->second), value) << name;
  }
}

} // namespace
