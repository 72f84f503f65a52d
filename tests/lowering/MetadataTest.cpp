// SPDX-License-Identifier: Apache-2.0
// `!rubia.metadata`. docs/architecture.md: Metadata.
#include "Lowered.h"
#include "lowering/Abi.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace rubia::lowering;
using namespace rubia::lowering::test;

static json::Object metadataOf(const Lowered &result) {
  Expected<json::Value> value = json::parse(result.metadata());
  if (!value) {
    ADD_FAILURE() << toString(value.takeError());
    return {};
  }
  return *value->getAsObject();
}

TEST(LoweringMetadata, DescribesKernelsAndSlots) {
  json::Object all = metadataOf(
      lowered(kernel("ld.global.u32 %r0, [b]; st.shared.u32 [s], %r0; @%p0 trap;",
                     ".global .u32 a; .global .u32 b; .shared .u32 s[4];", ".maxntid 64, 2, 1")));
  EXPECT_EQ(all.getInteger("abi"), int64_t(rubia::abi::kVersion));
  EXPECT_EQ(all.getString("arch"), "gfx1100");
  ASSERT_EQ(all.getArray("kernels")->size(), 1u);
  const json::Object &k = *(*all.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(k.getString("name"), "k");
  EXPECT_EQ(k.getString("warpForm"), "wave32");
  EXPECT_EQ(k.getInteger("parameterBytes"), 12);
  EXPECT_EQ(k.getInteger("staticSharedBytes"), 16);
  EXPECT_EQ(k.getInteger("maxThreads"), 128);
  ASSERT_EQ(k.getArray("parameters")->size(), 2u);
  const json::Object &n = *(*k.getArray("parameters"))[1].getAsObject();
  EXPECT_EQ(n.getInteger("offset"), 8);
  EXPECT_EQ(n.getInteger("size"), 4);
  EXPECT_EQ(n.getInteger("alignment"), 4);
  EXPECT_EQ(json::Value(json::Array(*all.getArray("slots"))), (json::Value(json::Array{0, 9})));
  EXPECT_TRUE(all.getArray("traps")->empty());
}

TEST(LoweringMetadata, HalfFilledForm) {
  json::Object all = metadataOf(lowered(kernel("ret;"), halfFilled("gfx90a")));
  const json::Object &k = *(*all.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(k.getString("warpForm"), "half-filled");
  EXPECT_EQ(k.getInteger("maxThreads"), 512);
}

TEST(LoweringMetadata, RequiredThreads) {
  json::Object all = metadataOf(lowered(kernel("ret;", "", ".reqntid 32, 4, 1")));
  const json::Object &k = *(*all.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(json::Value(json::Array(*k.getArray("requiredThreads"))),
            (json::Value(json::Array{32, 4, 1})));
  EXPECT_EQ(k.getInteger("maxThreads"), 128);
}

TEST(LoweringMetadata, NamesReportingTraps) {
  json::Object all = metadataOf(lowered(kernel(R"(
  ld.global.u64 %rd0, [table];
  proto: .callprototype _ ();
  call %rd0, proto; ret;)",
                                               R"(
.func bad { .reg .u64 %r; .reg .u32 %v; txq.num_samples.b32 %v, [%r]; ret; }
.func good { ret; }
.global .u64 table[2] = {bad, good};)")));
  ASSERT_EQ(all.getArray("traps")->size(), 1u);
  EXPECT_TRUE((*all.getArray("traps"))[0].getAsString()->starts_with("bad:"));
  EXPECT_EQ(json::Value(json::Array(*all.getArray("slots"))), (json::Value(json::Array{0, 8})));
}
