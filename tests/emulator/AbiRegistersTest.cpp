// SPDX-License-Identifier: Apache-2.0
// The scalar and vector registers of a wave when its kernel starts: which there are, in which order
// and in which units, by assembly that asks for all of them (AMDGPUUsage "Initial Kernel Execution
// State").
#include "tests/emulator/Fixture.h"
#include "tests/emulator/Targets.h"
#include "llvm/Support/FormatVariadic.h"

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace rubia::targets::Fact {
extern const GenerationFact architectedFlatScratch, packedWorkItemIds;
} // namespace rubia::targets::Fact

namespace {

constexpr unsigned kScalars = 24, kSlot = 32; // dwords that a wave writes

struct Layout {
  bool architected;                               // scratch
  bool hasWorkgroupScalars;                       // else they are in TTMP registers
  unsigned dispatch, queue, kernarg, id, scratch; // first registers
  unsigned size;                                  // private segment size
  unsigned system;                                // workgroup ids, info, scratch offset
};

Layout layoutOf(const TargetCase &target) {
  if (rubia::targets::Fact::architectedFlatScratch(target.row()))
    return {true, target.major() < 12, 0, 2, 4, 6, 0, 8, 9};
  return {false, true, 4, 6, 8, 10, 12, 14, 15};
}

std::string waitForScalars(const TargetCase &target) {
  return target.major() >= 12 ? "  s_wait_kmcnt 0x0\n" : "  s_waitcnt lgkmcnt(0)\n";
}

/// Every wave writes its scalars, and its work-item ids by lane, into a slot of its workgroup.
std::string kernelText(const TargetCase &target) {
  const Layout layout = layoutOf(target);
  std::string text = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n";
  auto line = [&](const std::string &more) { text += "  " + more + "\n"; };
  auto s = [](unsigned i) { return "s" + std::to_string(i); };
  line(llvm::formatv("s_load_dwordx4 s[40:43], s[{0}:{1}], 0x0", layout.kernarg,
                     layout.kernarg + 1));
  line(llvm::formatv("s_load_dword s30, s[{0}:{1}], 0xc", layout.dispatch, layout.dispatch + 1));
  text += waitForScalars(target);
  // s44 = the flat workgroup number in a grid of 3 x 4 x 5.
  std::string x = s(layout.system), y = s(layout.system + 1), z = s(layout.system + 2);
  if (!layout.hasWorkgroupScalars) {
    line("s_mov_b32 s33, ttmp9");
    line("s_and_b32 s34, ttmp7, 0xffff");
    line("s_lshr_b32 s35, ttmp7, 16");
    x = "s33", y = "s34", z = "s35";
  }
  line("s_mul_i32 s44, " + z + ", 4");
  line("s_add_u32 s44, s44, " + y);
  line("s_mul_i32 s44, s44, 3");
  line("s_add_u32 s44, s44, " + x);
  // Two waves a workgroup: which one this is tells the info register, or TTMP8.
  if (layout.hasWorkgroupScalars) {
    line("s_lshr_b32 s45, " + s(layout.system + 3) + ", 31");
    line("s_xor_b32 s45, s45, 1");
  } else {
    line("s_bfe_u32 s45, ttmp8, 0x50019");
  }
  line("s_lshl_b32 s44, s44, 1");
  line("s_add_u32 s44, s44, s45");
  line("s_mul_i32 s46, s44, " + std::to_string(kSlot * 4));
  line("s_add_u32 s40, s40, s46");
  line("s_addc_u32 s41, s41, 0");
  line("s_mul_i32 s46, s44, " + std::to_string(64 * 4 * 3));
  line("s_add_u32 s42, s42, s46");
  line("s_addc_u32 s43, s43, 0");
  line("v_mbcnt_lo_u32_b32 v8, -1, 0");
  if (target.waveSize == 64)
    line(std::string("v_mbcnt_hi_u32_b32") + (target.major() == 9 ? "" : "_e64") + " v8, -1, v8");
  line("v_lshlrev_b32 v8, 2, v8");
  for (unsigned i = 0; i < 3; ++i)
    line(llvm::formatv("global_store_dword v8, v{0}, s[42:43] offset:{1}", i, i * 256));
  line(target.waveSize == 64 ? "s_mov_b64 exec, 1" : "s_mov_b32 exec_lo, 1");
  for (unsigned i = 0; i < kScalars; ++i) {
    line(llvm::formatv("v_mov_b32 v9, s{0}", i));
    line(llvm::formatv("global_store_dword v8, v9, s[40:41] offset:{0}", i * 4));
  }
  line("v_mov_b32 v9, s30"); // the dispatch packet's grid size
  line(llvm::formatv("global_store_dword v8, v9, s[40:41] offset:{0}", kScalars * 4));
  line("s_endpgm");
  text += ".Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n";
  line(".amdhsa_next_free_vgpr 16");
  line(".amdhsa_next_free_sgpr 48");
  line(".amdhsa_private_segment_fixed_size 48");
  if (target.row().accumulators == rubia::targets::Accumulators::Shared)
    line(".amdhsa_accum_offset 16");
  if (target.row().hasWave32)
    line(std::string(".amdhsa_wavefront_size32 ") + (target.waveSize == 32 ? "1" : "0"));
  if (layout.architected) {
    line(".amdhsa_enable_private_segment 1");
  } else {
    line(".amdhsa_user_sgpr_private_segment_buffer 1");
    line(".amdhsa_user_sgpr_flat_scratch_init 1");
    line(".amdhsa_system_sgpr_private_segment_wavefront_offset 1");
  }
  for (const char *what :
       {"user_sgpr_dispatch_ptr", "user_sgpr_queue_ptr", "user_sgpr_kernarg_segment_ptr",
        "user_sgpr_dispatch_id", "user_sgpr_private_segment_size", "system_sgpr_workgroup_id_x",
        "system_sgpr_workgroup_id_y", "system_sgpr_workgroup_id_z", "system_sgpr_workgroup_info"})
    line(std::string(".amdhsa_") + what + " 1");
  line(".amdhsa_system_vgpr_workitem_id 2");
  text += R"(.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 48
    .kernarg_segment_align: 8
    .wavefront_size: )" +
          std::to_string(target.waveSize) + R"(
    .sgpr_count: 48
    .vgpr_count: 16
    .max_flat_workgroup_size: 1024
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer}
      - {.offset: 8, .size: 8, .value_kind: global_buffer}
...
.end_amdgpu_metadata
)";
  return text;
}

class AbiRegisters : public EmulatorTest, public testing::WithParamInterface<TargetCase> {};

TEST_P(AbiRegisters, AreInOrder) {
  const TargetCase target = GetParam();
  const Layout layout = layoutOf(target);
  load(assemble(kernelText(target), target.cpu));
  ASSERT_TRUE(code);
  constexpr uint32_t kGroups = 60;
  uint32_t *scalars = allocate<uint32_t>(kGroups * 2 * kSlot);
  uint32_t *vectors = allocate<uint32_t>(kGroups * 2 * 64 * 3);
  const Dim3 block = {8, 2, target.waveSize / 8}; // two waves
  expectRun("k", {3, 4, 5}, block, Arguments().add(scalars).add(vectors));

  uint64_t scratchBase = 0;
  for (uint32_t group = 0; group < kGroups; ++group)
    for (uint32_t wave = 0; wave < 2; ++wave) {
      const uint32_t *s = scalars + (group * 2 + wave) * kSlot;
      auto pair = [&](unsigned i) { return uint64_t(s[i + 1]) << 32 | s[i]; };
      EXPECT_NE(pair(layout.dispatch), 0u);
      EXPECT_NE(pair(layout.kernarg), 0u);
      EXPECT_EQ(pair(layout.queue), 0u);
      EXPECT_EQ(s[layout.size], 48u);
      EXPECT_EQ(s[kScalars - 1], 0x7fa5a5a5u); // nothing initialises it
      EXPECT_EQ(s[kScalars], 24u);             // the grid's size in x, from the packet
      if (!layout.architected) {
        // The resource: swizzled, with the lane added, in elements of 4 bytes.
        const uint64_t base = pair(0) & 0xffffffffffff;
        EXPECT_EQ(pair(layout.scratch), base);
        EXPECT_EQ(s[1] >> 31, 1u);
        EXPECT_EQ(s[3] >> 23 & 1, 1u);
        EXPECT_EQ(s[3] >> 21 & 3, target.waveSize == 64 ? 3u : 2u);
        // The second wave's scratch lies behind the first one's.
        const uint32_t offset = s[layout.system + 4];
        EXPECT_EQ(offset == 0, wave == 0);
        EXPECT_EQ(offset % (target.waveSize * 4), 0u);
        scratchBase = base;
      }
      if (layout.hasWorkgroupScalars) {
        EXPECT_EQ(s[layout.system], group % 3);
        EXPECT_EQ(s[layout.system + 1], group / 3 % 4);
        EXPECT_EQ(s[layout.system + 2], group / 12);
        EXPECT_EQ(s[layout.system + 3] & 63, 2u); // waves
      }
      for (uint32_t lane = 0; lane < target.waveSize; ++lane) {
        const uint32_t *v = vectors + (group * 2 + wave) * 64 * 3;
        const uint32_t flat = wave * target.waveSize + lane, x = flat % 8, y = flat / 8 % 2,
                       z = flat / 16;
        if (!rubia::targets::Fact::packedWorkItemIds(target.row())) {
          EXPECT_EQ(v[lane], x);
          EXPECT_EQ(v[64 + lane], y);
          EXPECT_EQ(v[128 + lane], z);
        } else {
          EXPECT_EQ(v[lane], x | y << 10 | z << 20);
        }
      }
    }
  EXPECT_EQ(scratchBase != 0, !layout.architected);
}

INSTANTIATE_TEST_SUITE_P(Targets, AbiRegisters, testing::ValuesIn(kTargetCases), nameOf);

/// Arguments in SGPRs (AMDGPUUsage "Preloaded Kernel Arguments"): the code starts 256 bytes behind
/// the entry.
class AbiPreload : public EmulatorTest, public testing::WithParamInterface<TargetCase> {};

TEST_P(AbiPreload, ArgumentsArriveInScalars) {
  load(assemble(R"(
.text
.globl k
.p2align 8
.type k,@function
k:
  s_trap 2
  .fill 63, 4, 0xbf800000
  v_mov_b32 v1, s4
  v_mov_b32 v2, 0
  v_add_u32 v1, s5, v1
  global_store_dword v2, v1, s[2:3]
  s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_kernarg_preload_length 4
  .amdhsa_user_sgpr_kernarg_preload_offset 0
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer}
      - {.offset: 8, .size: 4, .value_kind: by_value}
      - {.offset: 12, .size: 4, .value_kind: by_value}
...
.end_amdgpu_metadata
)",
                GetParam().cpu));
  ASSERT_TRUE(code);
  uint32_t *out = allocate<uint32_t>(1);
  expectRun("k", {1}, {64}, Arguments().add(out).add(30u).add(12u));
  EXPECT_EQ(*out, 42u);
}

INSTANTIATE_TEST_SUITE_P(Targets, AbiPreload,
                         testing::ValuesIn(casesOf(rubia::test::targetsWhere([](const auto &row) {
                           return row.accumulators == rubia::targets::Accumulators::Shared;
                         }))),
                         nameOf);

} // namespace
