// SPDX-License-Identifier: Apache-2.0
// What every cached code object depends on, held fixed: docs/architecture.md, "What every code
// object agrees on".
#include "lowering/Abi.h"
#include "codegen/Codegen.h"
#include "runtime/cache/CodeObjectMetadata.h"
#include "runtime/worker/Pipeline.h"
#include "tests/Targets.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/JSON.h"
#include <gtest/gtest.h>

using namespace llvm;
using namespace rubia;
using namespace rubia::runtime;

namespace {

const char kModule[] = R"(
.version 7.0
.target sm_70
.address_size 64
.global .u32 counter;
.const .f32 scale = 0f40000000;
.global .u64 pointer = counter;
.func (.param .u32 r) size()
{
  .reg .u32 %r1;
  mov.u32 %r1, %ntid.x;
  st.param.u32 [r], %r1;
  ret;
}
.visible .entry count(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .u32 d)
{
  .reg .u32 %r1;
  .reg .u64 %d1;
  mov.u64 %d1, counter;
  atom.global.add.u32 %r1, [%d1], 1;
  ret;
}
.visible .entry plain(.param .u64 p)
{
  .reg .u32 %r1;
  .reg .u64 %d1;
  .param .u32 result;
  ld.param.u64 %d1, [p];
  call (result), size;
  ld.param.u32 %r1, [result];
  st.global.u32 [%d1], %r1;
  ret;
}
)";

PtxImage image() {
  Expected<PtxImage> result = PtxImage::fromText("abi.ptx", kModule);
  EXPECT_TRUE(bool(result));
  return cantFail(std::move(result));
}

codegen::CodeObject compile(const PtxImage &image, unsigned unit, const char *arch) {
  PipelineOptions options;
  options.codegen.arch = arch;
  Expected<codegen::CodeObject> object = image.compile(image.units()[unit], options);
  EXPECT_TRUE(bool(object));
  return cantFail(std::move(object));
}

std::optional<uint64_t> symbolSize(const codegen::CodeObject &object, StringRef name) {
  StringRef bytes(reinterpret_cast<const char *>(object.bytes.data()), object.bytes.size());
  auto file = cantFail(object::ObjectFile::createELFObjectFile(MemoryBufferRef(bytes, "co")));
  for (object::ELFSymbolRef symbol :
       cast<object::ELFObjectFileBase>(*file).getDynamicSymbolIterators())
    if (cantFail(symbol.getName()) == name)
      return symbol.getSize();
  return std::nullopt;
}

TEST(Abi, NumbersAreFixed) {
  EXPECT_EQ(rubia::abi::kVersion, 12u);
  EXPECT_STREQ(rubia::abi::kModuleTable, "__rubia_module_table");
  EXPECT_EQ(rubia::abi::kTrapRecordSlot, 0u);
  EXPECT_EQ(rubia::abi::kPrintfRingSlot, 1u);
  EXPECT_EQ(rubia::abi::kDeviceHeapSlot, 2u);
  EXPECT_EQ(rubia::abi::kSharedPoolSlot, 4u);
  EXPECT_EQ(rubia::abi::kClusterPoolSlot, 5u);
  EXPECT_EQ(rubia::abi::kFirstVariableSlot, 8u);
  using L = rubia::abi::LaunchArguments;
  EXPECT_EQ(sizeof(L), 64u);
  EXPECT_EQ(offsetof(L, ntid), 0u);
  EXPECT_EQ(offsetof(L, dynamicSharedBytes), 12u);
  EXPECT_EQ(offsetof(L, nctaid), 16u);
  EXPECT_EQ(offsetof(L, gridId), 32u);
  EXPECT_EQ(offsetof(L, gridWorkspace), 40u);
  EXPECT_EQ(offsetof(L, flags), 48u);
  EXPECT_EQ(offsetof(L, cluster), 52u);
  using T = rubia::abi::TrapRecord;
  EXPECT_EQ(offsetof(T, reason), 4u);
  EXPECT_EQ(offsetof(T, place), 8u);
  EXPECT_EQ(offsetof(T, ctaid), 12u);
  EXPECT_EQ(offsetof(T, tid), 24u);
  EXPECT_EQ(rubia::abi::launchArgumentsOffset(0), 0u);
  EXPECT_EQ(rubia::abi::launchArgumentsOffset(1), 8u);
  EXPECT_EQ(rubia::abi::launchArgumentsOffset(8), 8u);
  EXPECT_EQ(rubia::abi::halfFilledWorkgroupSize(33), 128u);
}

TEST(Abi, ManifestDescribesUnitsParametersAndVariables) {
  Manifest m = image().manifest();
  ASSERT_EQ(m.unitCount, 2u);
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].name, "count");
  EXPECT_EQ(m.kernels[0].unit, 0u);
  EXPECT_EQ(m.kernels[1].unit, 1u);
  std::vector<uint32_t> offsets;
  for (const Manifest::Parameter &p : m.kernels[0].parameters)
    offsets.push_back(p.offset);
  EXPECT_EQ(offsets, (std::vector<uint32_t>{0, 8, 16, 36}));
  EXPECT_EQ(m.kernels[0].parameterBytes, 40u);
  ASSERT_EQ(m.variables.size(), 3u);
  EXPECT_EQ(m.variables[0].name, "counter");
  EXPECT_TRUE(m.variables[1].constant);
  EXPECT_EQ(m.blob[m.variables[1].blobOffset + 3], 0x40);
  ASSERT_EQ(m.variables[2].relocations.size(), 1u);
  EXPECT_EQ(m.variables[2].relocations[0].variable, 0u);
}

class AbiOf : public ::testing::TestWithParam<const char *> {};

TEST_P(AbiOf, LaunchArgumentsFollowTheParameters) {
  PtxImage ptx = image();
  codegen::CodeObject count = compile(ptx, 0, GetParam());
  ASSERT_EQ(count.kernels.size(), 1u);
  EXPECT_GE(count.kernels[0].kernargBytes, 40u + 64u);
  // A callee reads them, so AMD's hidden arguments are there and start right behind.
  codegen::CodeObject plain = compile(ptx, 1, GetParam());
  EXPECT_GE(plain.kernels[0].kernargBytes, 8u + 64u);
}

TEST_P(AbiOf, TheModuleTableHasASlotForEveryVariable) {
  PtxImage ptx = image();
  EXPECT_EQ(symbolSize(compile(ptx, 0, GetParam()), rubia::abi::kModuleTable), (8u + 3u) * 8u);
  EXPECT_EQ(symbolSize(compile(ptx, 1, GetParam()), rubia::abi::kModuleTable), std::nullopt);
}

TEST_P(AbiOf, MetadataNamesWarpFormAndSlots) {
  codegen::CodeObject count = compile(image(), 0, GetParam());
  Expected<CodeObjectMetadata> metadata = CodeObjectMetadata::read(count.bytes);
  ASSERT_TRUE(bool(metadata)) << toString(metadata.takeError());
  bool wave32 = targets::find(GetParam())->hasWave32;
  EXPECT_EQ(metadata->arch, GetParam());
  EXPECT_EQ(metadata->slots, (std::vector<uint32_t>{8}));
  ASSERT_NE(metadata->kernel("count"), nullptr);
  EXPECT_EQ(metadata->kernel("count")->warpForm,
            wave32 ? rubia::abi::WarpForm::Wave32 : rubia::abi::WarpForm::Packed);
  EXPECT_EQ(metadata->kernel("count")->maxThreads, 1024u);
  EXPECT_EQ(count.kernels[0].waveSize, wave32 ? 32u : 64u);
  Expected<std::string> text = codegen::readMetadata(count.bytes);
  ASSERT_TRUE(bool(text));
  Expected<json::Value> value = json::parse(*text);
  ASSERT_TRUE(bool(value));
  const json::Object &kernel = *value->getAsObject()->getArray("kernels")->front().getAsObject();
  EXPECT_TRUE(kernel.getString("warpFormReason").has_value());
  EXPECT_EQ(kernel.getInteger("parameterBytes"), 40);
  EXPECT_EQ(kernel.getArray("parameters")->size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Targets, AbiOf, ::testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
