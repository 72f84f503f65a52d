// SPDX-License-Identifier: Apache-2.0
// Modules whose functions are compiled apart: one code object comes out, and kernels have the
// registers that functions in other objects need. What such code computes, tests/lowering/execution
// compares in all forms.
#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/Support/FormatVariadic.h"
#include <mutex>
#include <sys/resource.h>

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// Two kernels that call through a table; one function needs many registers, another one shared
// memory.
std::string moduleWith(const std::string &clobber) {
  return R"(
@shared = internal addrspace(3) global [64 x i32] poison, align 16
@table = internal addrspace(1) constant [2 x ptr] [ptr @large, ptr @sharing]
declare i32 @llvm.amdgcn.workitem.id.x()
define internal void @large(ptr addrspace(1) %p) {
  call void asm sideeffect "", ")" +
         clobber + R"("()
  store i32 1, ptr addrspace(1) %p
  ret void
}
define internal void @sharing(ptr addrspace(1) %p) {
  %v = call i32 @helper()
  store i32 %v, ptr addrspace(1) %p
  ret void
}
define internal i32 @helper() noinline {
  %v = load volatile i32, ptr addrspace(3) @shared
  ret i32 %v
}
define amdgpu_kernel void @first(ptr addrspace(1) %p, i32 %i) {
  %place = getelementptr ptr, ptr addrspace(1) @table, i32 %i
  %f = load ptr, ptr addrspace(1) %place
  call void %f(ptr addrspace(1) %p)
  ret void
}
define amdgpu_kernel void @second(ptr addrspace(1) %p) {
  %v = call i32 @helper()
  store i32 %v, ptr addrspace(1) %p
  call void @large(ptr addrspace(1) %p)
  ret void
}
)";
}

TEST(Parts, KernelsHaveTheRegistersOfFunctionsElsewhere) {
  for (auto [arch, clobber] :
       {std::pair("gfx1100", "~{v117},~{s77}"), std::pair("gfx942", "~{v117},~{s77},~{a43}"),
        std::pair("gfx1201", "~{v117},~{s77}")}) {
    Options options = optionsFor(arch);
    ModuleSource source;
    const CodeObject whole = source.mustCompile(moduleWith(clobber), options);
    options.instructionsPerPart = 1;
    std::mutex turn;
    std::vector<unsigned> done;
    options.onPart = [&](unsigned part, unsigned of) {
      std::lock_guard lock(turn);
      EXPECT_EQ(of, 3u);
      done.push_back(part);
    };
    const CodeObject parts = source.mustCompile(moduleWith(clobber), options);
    EXPECT_EQ(done, (std::vector<unsigned>{0, 1, 2})) << arch;
    ASSERT_EQ(parts.kernels.size(), 2u) << arch;
    ASSERT_EQ(whole.kernels.size(), 2u) << arch;
    for (unsigned kernel = 0; kernel < 2; ++kernel) {
      const KernelResources &one = whole.kernels[kernel], &other = parts.kernels[kernel];
      EXPECT_EQ(other.name, one.name);
      EXPECT_EQ(other.vgprs, one.vgprs) << arch << " " << one.name;
      EXPECT_EQ(other.agprs, one.agprs) << arch << " " << one.name;
      EXPECT_GE(other.sgprs, one.sgprs) << arch << " " << one.name;
      EXPECT_EQ(other.ldsBytes, one.ldsBytes) << arch << " " << one.name;
      EXPECT_TRUE(other.usesDynamicStack) << arch << " " << one.name;
    }
  }
}

TEST(Parts, AreTheSameEachTime) {
  Options options;
  options.instructionsPerPart = 1;
  ModuleSource source;
  const std::vector<uint8_t> first = source.mustCompile(moduleWith("~{v60}"), options).bytes;
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(source.mustCompile(moduleWith("~{v60}"), options).bytes, first);
}

// A compile process may have 64 open files (runtime/worker/Sandbox.cpp).
TEST(Parts, HaveFewFiles) {
  std::string table, text;
  for (unsigned i = 0; i < 100; ++i) {
    table += formatv("{0}ptr @f{1}", i ? ", " : "", i);
    text += formatv("define internal void @f{0}(ptr addrspace(1) %p) {{ store i32 {0}, ptr "
                    "addrspace(1) %p\n ret void }\n",
                    i);
  }
  text += "@table = internal addrspace(1) constant [100 x ptr] [" + table + R"(]
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %i) {
  %place = getelementptr ptr, ptr addrspace(1) @table, i32 %i
  %f = load ptr, ptr addrspace(1) %place
  call void %f(ptr addrspace(1) %p)
  ret void
})";
  Options options;
  options.instructionsPerPart = 1;
  unsigned parts = 0;
  options.onPart = [&](unsigned done, unsigned of) { parts = done == 0 ? of : parts; };
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  ModuleSource source;
  EXPECT_EQ(source.mustCompile(text, options).kernels.size(), 1u);
  EXPECT_GE(parts, 30u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Parts, ErrorsAreHandedOn) {
  Options options;
  options.instructionsPerPart = 1;
  ModuleSource source;
  std::string text = moduleWith("~{v6}");
  const std::string from = "store i32 1, ptr addrspace(1) %p";
  text.replace(text.find(from), from.size(),
               "%x = call i32 asm sideeffect \"nonsense $0\", \"=v\"()");
  Expected<CodeObject> object = source.compile(text, options);
  ASSERT_FALSE(bool(object));
  EXPECT_NE(toString(object.takeError()).find("nonsense"), std::string::npos);
}

} // namespace
