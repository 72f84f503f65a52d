// SPDX-License-Identifier: Apache-2.0
// Blocks of more than 512 threads, of kernels that are half-filled for smaller ones.
#include "tests/cuda/LaunchFixture.h"

namespace rubia::runtime::cuda {
namespace {

class LargeBlocks : public Launch {
protected:
  void SetUp() override {
    setenv("RUBIA_ARCH", "gfx942", 1);
    unsetenv("RUBIA_WARP_FORM");
    Launch::SetUp();
    const std::string ptx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry rounds(.param .u64 out, .param .u32 rows)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out]; ld.param.u32 %r6, [rows];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mad.lo.u32 %r2, %r1, 32, %r0;
  and.b32 %r1, %r1, %r6; mad.lo.u32 %r1, %r1, 32, 64;
  mov.u32 %r3, 0;
again:
  bar.red.popc.u32 %r4, 0, %p; add.u32 %r3, %r3, 1;
  add.u32 %r0, %r0, 32; setp.lt.u32 %p, %r0, %r1; @%p bra again;
  mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r3;
  ret;
}
)";
    Module *module = nullptr;
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(ptx.c_str())), kSuccess);
    ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "rounds"), kSuccess);
    out = allocate(4096);
  }

  /// Warps whose row has a bit of `rows` have more rounds.
  Result run(unsigned y, unsigned rows) {
    void *values[] = {&out, &rows};
    if (Result error = cu("cuLaunchKernel", function, 1u, 1u, 1u, 32u, y, 1u, 0u,
                          static_cast<Stream *>(nullptr), static_cast<void **>(values),
                          static_cast<void **>(nullptr)))
      return error;
    return cu("cuCtxSynchronize");
  }

  Function *function = nullptr;
  void *out = nullptr;
};

TEST_F(LargeBlocks, TakeACheckedForm) {
  int most = 0;
  ASSERT_EQ(cu("cuFuncGetAttribute", &most, int(kMaxThreadsPerBlock), function), kSuccess);
  EXPECT_EQ(most, 1024);
  EXPECT_EQ(run(32, 0), kSuccess);
  EXPECT_EQ(fetch(out, 1024), std::vector<int>(1024, 2));
}

// What smaller blocks may do, larger ones do not get wrong.
TEST_F(LargeBlocks, EndWhereTheWarpsOfAWaveComeApart) {
  ASSERT_EQ(run(16, 1), kSuccess);
  EXPECT_EQ(fetch(out, 64)[63], 3);
  EXPECT_EQ(run(32, 1), kLaunchFailed);
}

} // namespace
} // namespace rubia::runtime::cuda
