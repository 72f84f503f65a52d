// SPDX-License-Identifier: Apache-2.0
// The emulator's checks see what the sampler reads and what surfaces store.
#include "runtime/cuda/texture/Descriptors.h"
#include "tests/cuda/LaunchFixture.h"

namespace rubia::runtime::cuda {
namespace {

// Thread 3 may store a texel, thread 40 reads what a linear filter makes of it and its neighbours.
constexpr const char *kText = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry exchange(.param .u64 out, .param .u64 surface, .param .u64 texture,
                         .param .u32 stores, .param .u32 waits)
{
  .reg .pred %p<4>;
  .reg .f32 %f<8>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [surface];
  ld.param.u64 %d2, [texture];
  ld.param.u32 %r0, [stores];
  ld.param.u32 %r1, [waits];
  mov.u32 %r2, %tid.x;
  setp.ne.u32 %p0, %r2, 3;
  setp.eq.or.u32 %p0, %r0, 0, %p0;
  @%p0 bra stored;
  mov.u32 %r3, 28;
  mov.u32 %r4, 1;
  mov.f32 %f0, 0f40A00000;
  sust.b.2d.b32.trap [%d1, {%r3, %r4}], %f0;
stored:
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra passed;
  bar.sync 0;
passed:
  setp.ne.u32 %p2, %r2, 40;
  @%p2 bra done;
  mov.f32 %f1, 0f40F00000; // 7.5
  mov.f32 %f2, 0f3FA00000; // 1.25
  tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%d2, {%f1, %f2}];
  st.global.f32 [%d0], %f4;
done:
  ret;
}
)";

class CheckedTextures : public InContext {
protected:
  void prepare(const char *check) {
    setenv("RUBIA_EMULATOR_CHECK", check, 1);
    InContext::SetUp();
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(kText)), kSuccess);
    out = allocate(4);
    const Array3DDescriptor descriptor = {16, 4, 0, kFormatFloat, 1, kArraySurface};
    ResourceDescriptor resource = {};
    ASSERT_EQ(cu("cuArray3DCreate_v2", &resource.array, &descriptor), kSuccess);
    array = resource.array;
    TextureDescriptor how = {};
    how.addressMode[0] = how.addressMode[1] = 1;
    how.filter = 1;
    ASSERT_EQ(
        cu("cuSurfObjectCreate", &surface, static_cast<const ResourceDescriptor *>(&resource)),
        kSuccess);
    ASSERT_EQ(cu("cuTexObjectCreate", &texture, static_cast<const ResourceDescriptor *>(&resource),
                 static_cast<const TextureDescriptor *>(&how),
                 static_cast<const ViewDescriptor *>(nullptr)),
              kSuccess);
  }
  void SetUp() override {}

  void fill(unsigned rows) const {
    const float texels[4][16] = {};
    Copy3D copy = {};
    copy.from.type = kMemoryHost;
    copy.from.host = const_cast<float *>(&texels[0][0]);
    copy.from.pitch = copy.widthInBytes = sizeof(texels[0]);
    copy.from.height = copy.height = rows;
    copy.depth = 1;
    copy.to.type = kMemoryArray;
    copy.to.array = array;
    ASSERT_EQ(cu("cuMemcpy3D_v2", static_cast<const Copy3D *>(&copy)), kSuccess);
  }

  Result exchange(unsigned stores, unsigned waits) {
    Function *function = nullptr;
    EXPECT_EQ(cu("cuModuleGetFunction", &function, module, "exchange"), kSuccess);
    void *values[] = {&out, &surface, &texture, &stores, &waits};
    if (const Result result = launch(function, 1, 64, 0, values))
      return result;
    return cu("cuCtxSynchronize");
  }

  Module *module = nullptr;
  Array *array = nullptr;
  ObjectHandle surface = 0, texture = 0;
  void *out = nullptr;
};

TEST_F(CheckedTextures, Races) {
  prepare("races");
  fill(4);
  EXPECT_EQ(exchange(1, 1), kSuccess);
  EXPECT_EQ(exchange(0, 0), kSuccess);
  EXPECT_NE(exchange(1, 0), kSuccess);
}

TEST_F(CheckedTextures, TexelsThatNobodyHasWritten) {
  prepare("uninitialised");
  fill(4);
  EXPECT_EQ(exchange(0, 0), kSuccess);
}

// The filter takes a quarter of row 0 and three of row 1.
TEST_F(CheckedTextures, RowsThatNobodyHasWritten) {
  prepare("uninitialised");
  fill(1);
  EXPECT_NE(exchange(0, 0), kSuccess);
}

} // namespace
} // namespace rubia::runtime::cuda
