// SPDX-License-Identifier: Apache-2.0
// Scalar instructions that act on more than a destination, in assembly: barriers, hardware
// registers, relative moves, scalar stores and atomics, subvector loops.
#include "tests/emulator/Fixture.h"
#include "tests/emulator/Targets.h"

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace {

/// A kernel "k" of one pointer, which is in s[2:3] when `body` starts; s4 is the number of the wave
/// in a workgroup, v0 the thread, v1 four times the lane. The body ends with the program.
std::string kernelText(const TargetCase &target, const std::string &body) {
  const bool gfx12 = target.major() == 12;
  std::string text = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n";
  text += "  s_load_dwordx2 s[2:3], s[0:1], 0x0\n";
  text += gfx12 ? "  s_wait_kmcnt 0x0\n" : "  s_waitcnt lgkmcnt(0)\n";
  text += "  v_and_b32 v0, 0x3ff, v0\n  v_readfirstlane_b32 s4, v0\n";
  text += "  s_lshr_b32 s4, s4, " + std::string(target.waveSize == 64 ? "6" : "5") + "\n";
  text += "  v_and_b32 v1, " + std::to_string(target.waveSize - 1) + ", v0\n";
  text += "  v_lshlrev_b32 v1, 2, v1\n";
  text += body;
  text += "  s_endpgm\n.Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n"
          "  .amdhsa_next_free_vgpr 32\n  .amdhsa_next_free_sgpr 64\n"
          "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n";
  if (target.row().accumulators == rubia::targets::Accumulators::Shared)
    text += "  .amdhsa_accum_offset 32\n";
  if (target.row().hasWave32)
    text += "  .amdhsa_wavefront_size32 " + std::string(target.waveSize == 32 ? "1" : "0") + "\n";
  text += R"(.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: )" +
          std::to_string(target.waveSize) + R"(
    .sgpr_count: 64
    .vgpr_count: 32
    .max_flat_workgroup_size: 1024
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer}
...
.end_amdgpu_metadata
)";
  return text;
}

class ScalarKernels : public EmulatorTest, public testing::WithParamInterface<TargetCase> {
protected:
  void build(const std::string &body) {
    load(assemble(kernelText(GetParam(), body), GetParam().cpu));
    ASSERT_TRUE(code);
    out = allocate<uint32_t>(256);
    std::fill(out, out + 256, 0xdeadbeef);
  }
  void run(uint32_t threads) { expectRun("k", {1}, {threads}, Arguments().add(out)); }
  /// Lane 0 of the wave stores `scalar` as dword `index`.
  static std::string store(const std::string &scalar, unsigned index) {
    return "  v_mov_b32 v2, " + scalar +
           "\n  global_store_dword v1, v2, s[2:3] offset:" + std::to_string(index * 4) + "\n";
  }
  uint32_t *out = nullptr;
};

class ScalarKernelsOf9 : public ScalarKernels {};
class ScalarKernelsOf10And11 : public ScalarKernels {};
class ScalarKernelsFrom10 : public ScalarKernels {};
class ScalarKernelsOf12 : public ScalarKernels {};

std::vector<TargetCase> targets(unsigned firstMajor, unsigned lastMajor) {
  std::vector<TargetCase> result;
  for (const TargetCase &target : kTargetCases)
    if (target.major() >= firstMajor && target.major() <= lastMajor)
      result.push_back(target);
  return result;
}

TEST_P(ScalarKernels, HardwareRegistersByGeneration) {
  const unsigned major = GetParam().major();
  std::string body = "  s_getreg_b32 s10, hwreg(1)\n" + store("s10", 0);
  body += "  s_setreg_imm32_b32 hwreg(1, 0, 4), 5\n  s_getreg_b32 s10, hwreg(1, 0, 4)\n" +
          store("s10", 1);
  if (major < 12)
    body += "  s_getreg_b32 s10, hwreg(15)\n" + store("s10", 2);
  if (major == 9)
    body += "  s_getreg_b32 s10, hwreg(4)\n" + store("s10", 3); // HW_ID
  else
    body += "  s_getreg_b32 s10, hwreg(23)\n" + store("s10", 3); // HW_ID1
  if (major == 12)
    body += "  s_getreg_b32 s10, hwreg(29)\n  s_getreg_b32 s11, hwreg(30)\n" + store("s10", 4);
  build(body);
  run(1);
  // No rounding, denormals kept; IEEE and DX10_CLAMP are set by default where they exist.
  EXPECT_EQ(out[0], major == 12 ? 0xc0u : 0x3c0u);
  EXPECT_EQ(out[1], 5u);
  if (major < 12)
    EXPECT_EQ(out[2], 0x00010002u); // LDS's aperture, scratch's aperture
  EXPECT_NE(out[3], 0xdeadbeef);
  if (major == 12)
    EXPECT_NE(out[4], 0xdeadbeef);
}

// No assembler writes a negative offset into a buffer; bytes may.
TEST_P(ScalarKernelsOf9, BufferLoadsBeforeTheBufferReadZero) {
  build("  s_mov_b32 s8, s2\n  s_and_b32 s9, s3, 0xffff\n  s_mov_b32 s10, 16\n  s_mov_b32 s11, 0\n"
        "  s_mov_b64 s[20:21], -1\n"
        "  .long 0xc0260504, 0x001ffffc\n" // s_buffer_load_dwordx2 s[20:21], s[8:11], -4
        "  s_waitcnt lgkmcnt(0)\n" +
        store("s20", 0) + store("s21", 1));
  run(1);
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(out[1], 0u);
}

// What no instruction has written is never zero by chance.
TEST_P(ScalarKernelsOf9, AccumulationRegistersStartPoisoned) {
  build("  v_accvgpr_read_b32 v4, a31\n  v_accvgpr_read_b32 v5, a0\n"
        "  v_accvgpr_write_b32 a0, v0\n  v_accvgpr_write_b32 a31, v0\n"
        "  v_lshlrev_b32 v1, 3, v0\n"
        "  global_store_dwordx2 v1, v[4:5], s[2:3]\n");
  expectRun("k", {2}, {64}, Arguments().add(out)); // the second workgroup finds the same
  for (unsigned i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], 0x7fa5a5a5u) << i;
}

TEST_P(ScalarKernels, RegistersOfOtherGenerationsAreRefused) {
  const unsigned major = GetParam().major();
  // XCC_ID or FLAT_SCR_LO or SCRATCH_BASE_LO may be read; register 16, a trap handler's, nowhere.
  auto loaded = CodeObject::load(
      assemble(kernelText(GetParam(), "  s_getreg_b32 s10, hwreg(16)\n"), GetParam().cpu), memory);
  ASSERT_FALSE(bool(loaded));
  EXPECT_NE(llvm::toString(loaded.takeError()).find("hardware register 16 is not supported"),
            std::string::npos);
  // MODE may be written; STATUS must not.
  auto status = CodeObject::load(
      assemble(kernelText(GetParam(), "  s_setreg_b32 hwreg(2), s10\n"), GetParam().cpu), memory);
  ASSERT_FALSE(bool(status)) << major;
  EXPECT_NE(llvm::toString(status.takeError()).find("hardware register 2"), std::string::npos);
}

TEST_P(ScalarKernels, BarrierThatNobodyCanCompleteIsADeadlock) {
  // The second wave waits for a barrier that the first one only signals once.
  const bool split = GetParam().major() == 12;
  build(split ? "  s_cmp_eq_u32 s4, 0\n  s_cbranch_scc1 .Lfirst\n  s_barrier_signal -1\n"
                "  s_barrier_wait -1\n  s_branch .Ldone\n.Lfirst:\n.Lagain:\n"
                "  s_branch .Lagain\n.Ldone:\n"
              : "  s_cmp_eq_u32 s4, 0\n  s_cbranch_scc1 .Lfirst\n  s_barrier\n"
                "  s_branch .Ldone\n.Lfirst:\n.Lagain:\n  s_branch .Lagain\n.Ldone:\n");
  Launch request;
  request.kernel = code->kernel("k");
  request.block = {GetParam().waveSize * 2};
  const Arguments arguments = Arguments().add(out);
  request.kernarg = arguments.bytes;
  request.instructionLimit = 100'000;
  auto result = rubia::emulator::run(request, memory);
  ASSERT_FALSE(bool(result));
  llvm::handleAllErrors(result.takeError(),
                        [](const Fault &fault) { EXPECT_EQ(fault.kind, Fault::Deadlock); });
}

INSTANTIATE_TEST_SUITE_P(Targets, ScalarKernels, testing::ValuesIn(kTargetCases), nameOf);

TEST_P(ScalarKernelsOf9, VectorRegistersByIndex) {
  // v[10 + 3] = v[10 + 1] + 100, by way of M0 and MODE.
  build("  v_mov_b32 v10, 1\n  v_mov_b32 v11, 2\n  v_mov_b32 v12, 3\n  v_mov_b32 v13, 4\n"
        "  s_mov_b32 s10, 1\n  s_set_gpr_idx_on s10, gpr_idx(SRC0)\n  v_mov_b32 v5, v10\n"
        "  s_set_gpr_idx_off\n  v_add_u32 v5, 0x64, v5\n"
        "  s_mov_b32 s10, 2\n  s_set_gpr_idx_on s10, gpr_idx(SRC0)\n"
        "  s_set_gpr_idx_mode gpr_idx(DST)\n  s_mov_b32 s10, 3\n  s_set_gpr_idx_idx s10\n"
        "  v_mov_b32 v10, v5\n  s_set_gpr_idx_off\n"
        "  global_store_dword v1, v5, s[2:3]\n  global_store_dword v1, v13, s[2:3] offset:256\n"
        "  global_store_dword v1, v10, s[2:3] offset:512\n");
  run(64);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(out[lane], 102u);
    EXPECT_EQ(out[64 + lane], 102u);
    EXPECT_EQ(out[128 + lane], 1u);
  }
}

// CDNA3 ISA S_SETVSKIP. Each of the skipped instructions would change a result or be a fault.
TEST_P(ScalarKernelsOf9, VectorInstructionsAreSkipped) {
  build("  v_mov_b32 v2, 1\n  v_mov_b32 v5, 7\n  s_mov_b32 s10, 0\n  s_mov_b32 s11, 40\n"
        "  s_mov_b64 vcc, 0\n  s_mov_b64 s[20:21], 0\n  s_mov_b64 s[22:23], 0\n"
        "  v_mov_b32 v8, 0\n  v_mov_b32 v9, 0\n"
        "  s_setvskip 4, 2\n"
        "  v_mov_b32 v2, 2\n  v_readfirstlane_b32 s11, v5\n  v_readlane_b32 s11, v5, 0\n"
        "  v_cmp_eq_u32 vcc, v0, v0\n  v_pk_add_f16 v2, v5, v5\n"
        "  v_mfma_f32_4x4x4f16 v[12:15], v[8:9], v[8:9], 0\n"
        "  global_store_dword v1, v5, s[2:3] offset:256\n"
        "  global_atomic_add v1, v5, s[2:3] offset:256\n"
        "  flat_load_dword v2, v[8:9]\n  ds_write_b32 v1, v5\n"
        "  buffer_load_dword v2, v1, s[20:23], 0 offen\n  scratch_load_dword v2, v1, off\n"
        ".Lagain:\n  s_add_u32 s10, s10, 1\n  v_add_u32 v2, 1, v2\n  s_cmp_lt_u32 s10, 100\n"
        "  s_cbranch_scc1 .Lagain\n  s_barrier\n"
        "  s_setvskip 3, 2\n"
        "  v_add_u32 v2, s10, v2\n  v_add_u32 v2, s11, v2\n  v_add_u32 v2, vcc_lo, v2\n"
        "  global_store_dword v1, v2, s[2:3]\n");
  for (const char *mode : {"plain", "counting", "observed", "order"}) {
    std::fill(out, out + 256, 0xdeadbeef);
    Launch request;
    request.kernel = code->kernel("k");
    request.block = {64};
    const Arguments arguments = Arguments().add(out);
    request.kernarg = arguments.bytes;
    request.countOperations = mode == std::string("counting");
    request.checks.emplace();
    request.checks->races = mode == std::string("observed");
    if (mode == std::string("order"))
      request.checks->order.emplace();
    auto result = rubia::emulator::run(request, memory);
    ASSERT_TRUE(bool(result)) << mode << ": " << llvm::toString(result.takeError());
    for (unsigned lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(out[lane], 141u) << mode;
      EXPECT_EQ(out[64 + lane], 0xdeadbeef) << mode;
    }
  }
}

TEST_P(ScalarKernelsOf9, ScalarStoresAndAtomics) {
  if (GetParam().row().cachePolicy == rubia::targets::CachePolicy::ScBits)
    GTEST_SKIP() << "the assembler refuses them for " << GetParam().cpu;
  build("  s_mov_b32 s10, 7\n  s_mov_b32 s11, 8\n  s_store_dwordx2 s[10:11], s[2:3], 0x0\n"
        "  s_mov_b32 s12, 5\n  s_atomic_add s12, s[2:3], 0x0 glc\n  s_waitcnt lgkmcnt(0)\n"
        "  s_store_dword s12, s[2:3], 0x8\n"
        "  s_mov_b32 s14, 20\n  s_mov_b32 s15, 12\n  s_atomic_cmpswap s[14:15], s[2:3], 0x0\n"
        "  s_mov_b32 s16, 3\n  s_atomic_smax s16, s[2:3], 0x4\n"
        "  s_dcache_wb\n");
  run(1);
  EXPECT_EQ(out[0], 20u); // 7 + 5 was the comparand
  EXPECT_EQ(out[1], 8u);
  EXPECT_EQ(out[2], 7u);
}

INSTANTIATE_TEST_SUITE_P(Targets, ScalarKernelsOf9, testing::ValuesIn(targets(9, 9)), nameOf);

TEST_P(ScalarKernelsFrom10, ScalarRegistersByIndex) {
  build("  s_mov_b32 s20, 10\n  s_mov_b32 s21, 11\n  s_mov_b32 s22, 12\n  s_mov_b32 s23, 13\n"
        "  s_mov_b32 m0, 2\n  s_movrels_b32 s30, s20\n" +
        store("s30", 0) + "  s_movrels_b64 s[30:31], s[20:21]\n" + store("s31", 1) +
        "  s_movreld_b32 s20, 77\n" + store("s22", 2) + "  s_movreld_b64 s[20:21], 5\n" +
        store("s23", 3) +
        // the source's offset in 9:0, the destination's in 25:16
        "  s_mov_b32 m0, 0x30001\n  s_movrelsd_2_b32 s20, s20\n" + store("s23", 4));
  run(1);
  EXPECT_EQ(out[0], 12u);
  EXPECT_EQ(out[1], 13u);
  EXPECT_EQ(out[2], 77u);
  EXPECT_EQ(out[3], 0u);
  EXPECT_EQ(out[4], 11u);
}

INSTANTIATE_TEST_SUITE_P(Targets, ScalarKernelsFrom10, testing::ValuesIn(targets(10, 12)), nameOf);

TEST_P(ScalarKernelsOf10And11, SubvectorLoopsRunEachHalf) {
  if (GetParam().waveSize != 64)
    GTEST_SKIP() << "for wave64 only";
  build("  v_mov_b32 v3, 0\n  s_mov_b32 s10, 0\n"
        "  s_subvector_loop_begin s20, .Lafter\n.Lbody:\n"
        "  v_add_nc_u32 v3, v3, v0\n  s_add_u32 s10, s10, 1\n"
        "  s_subvector_loop_end s20, .Lbody\n.Lafter:\n"
        "  global_store_dword v1, v3, s[2:3]\n  v_mov_b32 v4, s10\n"
        "  global_store_dword v1, v4, s[2:3] offset:256\n");
  run(64);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(out[lane], lane);
    EXPECT_EQ(out[64 + lane], 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ScalarKernelsOf10And11, testing::ValuesIn(targets(10, 11)),
                         nameOf);

TEST_P(ScalarKernelsOf12, FirstToSignalIsTold) {
  // Every wave stores whether it was the first.
  build("  s_barrier_signal_isfirst -1\n  s_cselect_b32 s10, 1, 0\n  s_barrier_wait -1\n"
        "  s_lshl_b32 s11, s4, 2\n  v_mov_b32 v3, s11\n  v_mov_b32 v2, s10\n"
        "  global_store_dword v3, v2, s[2:3]\n");
  run(GetParam().waveSize * 4);
  EXPECT_EQ(out[0] + out[1] + out[2] + out[3], 1u);
}

TEST_P(ScalarKernelsOf12, WaveMayWorkBetweenSignalAndWait) {
  build("  s_get_barrier_state s11, -1\n"
        "  s_barrier_signal -1\n  s_mov_b32 s10, 42\n  s_barrier_wait -1\n" +
        store("s10", 0) + store("s11", 64));
  run(GetParam().waveSize * 2);
  EXPECT_EQ(out[0], 42u);
  EXPECT_EQ(out[64] & 1, 1u);        // valid
  EXPECT_EQ(out[64] >> 4 & 127, 2u); // members
}

TEST_P(ScalarKernelsOf12, NamedBarrierIsForItsMembers) {
  // Barrier 1 is for the first two of three waves; the third does not take part and ends.
  build("  s_mov_b32 m0, 0x20001\n  s_cmp_eq_u32 s4, 0\n  s_cbranch_scc0 .Linitialised\n"
        "  s_barrier_init m0\n.Linitialised:\n"
        "  s_barrier_signal -1\n  s_barrier_wait -1\n"
        "  s_cmp_eq_u32 s4, 2\n  s_cbranch_scc1 .Ldone\n"
        "  s_barrier_join 1\n  s_barrier_signal 1\n  s_barrier_wait 1\n"
        "  s_barrier_leave\n  s_cselect_b32 s10, 1, 0\n"
        "  s_lshl_b32 s11, s4, 2\n  v_mov_b32 v3, s11\n  v_mov_b32 v2, s10\n"
        "  global_store_dword v3, v2, s[2:3]\n.Ldone:\n");
  run(GetParam().waveSize * 3);
  EXPECT_EQ(out[0], 1u);
  EXPECT_EQ(out[1], 1u);
  EXPECT_EQ(out[2], 0xdeadbeefu);
}

TEST_P(ScalarKernelsOf12, WaitWithoutSignalsIsADeadlock) {
  build("  s_mov_b32 m0, 0x20001\n  s_barrier_init m0\n  s_barrier_join 1\n  s_barrier_wait 1\n");
  EXPECT_EQ(expectFault("k", {1}, {GetParam().waveSize}, Arguments().add(out)).kind,
            Fault::Deadlock);
}

INSTANTIATE_TEST_SUITE_P(Targets, ScalarKernelsOf12, testing::ValuesIn(targets(12, 12)), nameOf);

} // namespace
