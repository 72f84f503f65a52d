// SPDX-License-Identifier: Apache-2.0
// A compile process lowers the sampler for the first unit that calls it.
#include "codegen/ReadyFunctions.h"
#include "codegen/lib/speed/KeptFunctions.h"
#include "lowering/LaterBodies.h"
#include "runtime/worker/Pipeline.h"
#include "runtime/worker/sampler/SamplerText.h"
#include "tests/Targets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace rubia;
using namespace rubia::runtime;

namespace {

std::string kernelWith(const std::string &instruction) {
  return ".visible .entry k(.param .u64 to, .param .u64 texture) {\n"
         ".reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %rd<2>;\n"
         "ld.param.u64 %rd0, [to]; ld.param.u64 %rd1, [texture];\n"
         "mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f0, %r0;\n" +
         instruction + "\nst.global.v4.u32 [%rd0], {%r0, %r1, %r2, %r3}; ret;\n}\n";
}

const std::string kFetch = "tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%rd1, {%r0, %r0}];";

// As kernel k0 of samplerText(), and as nvcc has it.
const char *const kOneResult =
    ".visible .entry other(.param .u64 to, .param .u64 texture) {\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<2>; mov.u32 %r0, %ctaid.x;\n"
    "ld.param.u64 %rd0, [to]; ld.param.u64 %rd1, [texture];\n"
    "tex.1d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [%rd1, {%r0}]; st.global.u32 [%rd0], %r0;\n"
    "ret; }\n";

std::vector<uint8_t> compiled(const std::string &kernel, const PipelineOptions &options) {
  llvm::Expected<PtxImage> image =
      PtxImage::fromText("k.ptx", ".version 8.0\n.target sm_80\n.address_size 64\n" + kernel);
  if (!image) {
    ADD_FAILURE() << llvm::toString(image.takeError());
    return {};
  }
  llvm::Expected<codegen::CodeObject> object = image->compile(image->units()[0], options);
  if (!object) {
    ADD_FAILURE() << llvm::toString(object.takeError());
    return {};
  }
  return object->bytes;
}

class Sampler : public testing::TestWithParam<const char *> {};

TEST_P(Sampler, IsLoweredForTheFirstUnit) {
  PipelineOptions options;
  options.codegen.arch = GetParam();
  const unsigned before = lowering::samplerBodyCount();
  const std::vector<uint8_t> first = compiled(kernelWith(kFetch), options);
  EXPECT_EQ(lowering::samplerBodyCount(), before + 1);
  EXPECT_EQ(compiled(kernelWith(kFetch), options), first);
  compiled(kernelWith("add.u32 %r0, %r0, 1;" + kFetch), options);
  EXPECT_EQ(lowering::samplerBodyCount(), before + 1);
  // Another function of it.
  compiled(kernelWith("tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%rd1, {%r0}];"), options);
  EXPECT_EQ(lowering::samplerBodyCount(), before + 2);
}

// What the build compiles in advance (ReadySampler.h) is what others need: the code of a kernel
// that samples as nvcc's do comes with no function that the text has not.
TEST_P(Sampler, OfTheBuildIsThatOfOthers) {
  PipelineOptions options;
  options.codegen.arch = GetParam();
  llvm::Expected<PtxImage> image = PtxImage::fromText("sampler", samplerText());
  ASSERT_TRUE(bool(image));
  for (const ptx::Diagnostic &diagnostic : image->diagnostics())
    ADD_FAILURE() << image->format(diagnostic);
  const auto kernel = llvm::find_if(image->units(), [](const lowering::Unit &unit) {
    return unit.kernels[0]->name == "k0"; // tex.1d.v4.u32.s32, of which it reads one result
  });
  ASSERT_NE(kernel, image->units().end());
  ASSERT_TRUE(bool(image->compile(*kernel, options)));
  const unsigned before = codegen::keptFunctionCount();
  compiled(kOneResult, options);
  EXPECT_EQ(codegen::keptFunctionCount(), before);
}

// The table that the release preset has within, of one kernel: for targets as the command line
// names them, and as devices do. Nothing is lowered and nothing is compiled for a unit that needs
// it.
TEST(ReadySampler, IsTakenForEachTargetOfTheTable) {
  const std::string path = testing::TempDir() + "rubia-sampler-table-" + std::to_string(getpid());
  const char *targets[] = {"gfx1100", "gfx942:sramecc+:xnack-"};
  std::string command = RUBIA_SAMPLER_PROGRAM " --only k0 " + path;
  for (const char *arch : targets)
    command += std::string(" ") + arch;
  ASSERT_EQ(system(command.c_str()), 0);
  auto table = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(table));
  remove(path.c_str());
  ASSERT_EQ(
      toString(codegen::useReadyFunctions(llvm::arrayRefFromStringRef((*table)->getBuffer()))), "");
  const unsigned lowered = lowering::samplerBodyCount(), kept = codegen::keptFunctionCount();
  for (const char *arch : targets) {
    PipelineOptions options;
    options.codegen.arch = arch;
    const std::vector<uint8_t> ready = compiled(kOneResult, options);
    EXPECT_EQ(lowering::samplerBodyCount(), lowered) << arch;
    EXPECT_EQ(codegen::keptFunctionCount(), kept) << arch;
    EXPECT_FALSE(ready.empty());
  }
  // Another target is not in it.
  PipelineOptions options;
  options.codegen.arch = "gfx942";
  compiled(kOneResult, options);
  EXPECT_EQ(lowering::samplerBodyCount(), lowered + 1);
  EXPECT_EQ(codegen::keptFunctionCount(), kept + 1);
  cantFail(codegen::useReadyFunctions({}));
}

INSTANTIATE_TEST_SUITE_P(Targets, Sampler, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
