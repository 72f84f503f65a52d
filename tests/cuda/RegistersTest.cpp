// SPDX-License-Identifier: Apache-2.0
// Kernels whose products of matrices do not fit in the registers that 1024 threads leave to a lane.
#include "tests/cuda/LaunchFixture.h"

namespace rubia::runtime::cuda {
namespace {

class Registers : public Launch {
protected:
  void SetUp() override {
    setenv("RUBIA_ARCH", "gfx942", 1);
    setenv("RUBIA_WARP_FORM", "half-filled", 1);
    Launch::SetUp();
  }

  static constexpr unsigned kRows = 4, kColumns = 8; // tiles, whose sums all live in a loop

  /// out[thread][tile][4] = 8 * turns for an `in` of ones.
  static std::string products(const std::string &attributes) {
    auto four = [](char prefix, unsigned first, unsigned count = 4) {
      std::string list;
      for (unsigned i = 0; i < count; ++i)
        list += std::string(i ? ", %" : "{%") + prefix + std::to_string(first + i);
      return list + "}";
    };
    std::string ptx =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry products(.param .u64 out, .param .u64 in, .param .u32 turns) " +
        attributes + R"({
  .reg .f32 %c<128>;
  .reg .b32 %a<16>, %b<16>, %r<3>;
  .reg .b64 %d<5>;
  .reg .pred %p;
  ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in]; ld.param.u32 %r0, [turns];
  mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 16; add.u64 %d1, %d1, %d2;
)";
    for (unsigned i = 0; i < 4 * kRows * kColumns; ++i)
      ptx += "mov.f32 %c" + std::to_string(i) + ", 0f00000000;\n";
    ptx += "again:\n";
    for (unsigned row = 0; row < kRows; ++row)
      ptx +=
          "ld.global.v4.u32 " + four('a', 4 * row) + ", [%d1+" + std::to_string(512 * row) + "];\n";
    for (unsigned column = 0; column < kColumns; ++column)
      ptx += "ld.global.v2.u32 " + four('b', 2 * column, 2) + ", [%d1+" +
             std::to_string(2048 + 512 * column) + "];\n";
    for (unsigned tile = 0; tile < kRows * kColumns; ++tile)
      ptx += "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " + four('c', 4 * tile) + ", " +
             four('a', 4 * (tile / kColumns)) + ", " + four('b', 2 * (tile % kColumns), 2) + ", " +
             four('c', 4 * tile) + ";\n";
    ptx += "sub.u32 %r0, %r0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;\n"
           "mul.wide.u32 %d3, %r1, " +
           std::to_string(16 * kRows * kColumns) + "; add.u64 %d3, %d0, %d3;\n";
    for (unsigned tile = 0; tile < kRows * kColumns; ++tile)
      ptx += "st.global.v4.f32 [%d3+" + std::to_string(16 * tile) + "], " + four('c', 4 * tile) +
             ";\n";
    return ptx + "ret;\n}\n";
  }

  /// The most threads of a block, and what one of 512 threads gives.
  void check(const std::string &attributes, int threads, Result ofMany) {
    Module *module = nullptr;
    Function *function = nullptr;
    const std::string ptx = products(attributes);
    ASSERT_EQ(cu("cuModuleLoadData", &module, static_cast<const void *>(ptx.c_str())), kSuccess);
    ASSERT_EQ(cu("cuModuleGetFunction", &function, module, "products"), kSuccess);
    int value = 0;
    ASSERT_EQ(cu("cuFuncGetAttribute", &value, int(kMaxThreadsPerBlock), function), kSuccess);
    EXPECT_EQ(value, threads);

    const size_t bytes = 512 * 16 * kRows * kColumns;
    void *out = allocate(bytes), *in = allocate(16384);
    std::vector<float> ones(4096, 1);
    ASSERT_EQ(cu("cuMemcpyHtoD_v2", in, static_cast<const void *>(ones.data()), size_t(16384)),
              kSuccess);
    int turns = 3;
    void *values[] = {&out, &in, &turns};
    EXPECT_EQ(launch(function, 1, 512, 0, values), ofMany);
    ASSERT_EQ(launch(function, 1, 32, 0, values), kSuccess);
    ASSERT_EQ(cu("cuCtxSynchronize"), kSuccess);
    std::vector<float> sums(32 * 4 * kRows * kColumns);
    ASSERT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(sums.data()), out, sums.size() * 4),
              kSuccess);
    EXPECT_EQ(sums, std::vector<float>(sums.size(), 24.0f));
  }
};

TEST_F(Registers, ABlockHasFewerThreads) { check("", 256, kLaunchOutOfResources); }

TEST_F(Registers, WithABoundMatricesAreMultipliedInSoftware) {
  check(".maxntid 512, 1, 1", 512, kSuccess);
}

} // namespace
} // namespace rubia::runtime::cuda
