// SPDX-License-Identifier: Apache-2.0
// What a kernel does wrong is reported with place and thread.
#include "settings/Settings.h"
#include "tests/emulator/Fixture.h"

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace rubia::settings::Id {
extern const Setting emulatorBounds;
} // namespace rubia::settings::Id

namespace {

/// A kernel in assembly around `body`; s[0:1] is the kernel argument pointer, v0 the work-item id,
/// s15 the workgroup id.
std::string kernelText(const std::string &body) {
  return R"(
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
.globl k
.p2align 8
.type k,@function
k:
)" + body +
         R"(
  s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 32
  .amdhsa_user_sgpr_count 15
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 32
    .sgpr_count: 32
    .vgpr_count: 32
    .max_flat_workgroup_size: 1024
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer}
      - {.offset: 8, .size: 8, .value_kind: global_buffer}
...
.end_amdgpu_metadata
)";
}

class Faults : public EmulatorTest {
protected:
  void build(const std::string &body) { load(assemble(kernelText(body))); }
};

const char *const kStore = R"(
  s_load_b64 s[2:3], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v0, s[2:3] offset:16
)";

TEST_F(Faults, OutOfBoundsStoreNamesThreadAddressAndInstruction) {
  build(kStore);
  ASSERT_TRUE(code);
  uint32_t *out = allocate<uint32_t>(64);
  Fault fault = expectFault("k", {1}, {64}, Arguments().add(out).add(out));
  EXPECT_EQ(fault.kind, Fault::OutOfBounds);
  EXPECT_EQ(fault.kernel, "k");
  EXPECT_EQ(fault.thread.x, 60u); // 60 * 4 + 16 is the first byte behind the allocation
  EXPECT_EQ(fault.address, uint64_t(out + 64));
  EXPECT_EQ(fault.accessSize, 4u);
  EXPECT_TRUE(fault.isWrite);
  EXPECT_NE(fault.disassembly.find("global_store_b32 v1, v0, s[2:3] offset:16"), std::string::npos)
      << fault.disassembly;
  EXPECT_NE(fault.detail.find("256 bytes at"), std::string::npos) << fault.detail;
}

TEST_F(Faults, AccessThatWrapsAroundTheAddressSpace) {
  build(R"(
  s_load_b64 s[2:3], s[0:1], 0x0
  v_mov_b32 v2, -4
  v_mov_b32 v3, -1
  s_waitcnt lgkmcnt(0)
  global_load_b32 v4, v[2:3], off
  global_store_b32 v[2:3], v4, off
)");
  ASSERT_TRUE(code);
  uint32_t *out = allocate<uint32_t>(4);
  Fault fault = expectFault("k", {1}, {32}, Arguments().add(out).add(out));
  EXPECT_EQ(fault.kind, Fault::OutOfBounds);
  EXPECT_EQ(fault.address, 0xfffffffffffffffcull);
  EXPECT_FALSE(fault.isWrite);
}

// `p[i - 4]` with a null pointer: the first lanes are at the top of the address space, the others
// at its bottom, and the allocation that is known lies between them.
TEST_F(Faults, LanesOnBothSidesOfZero) {
  for (const char *store : {"global_store_b32 v1, v2, s[4:5] offset:-16",
                            "v_mov_b32 v4, v1\n  v_mov_b32 v5, 0\n"
                            "  global_store_b32 v[4:5], v2, off offset:-16",
                            "global_atomic_add_u32 v1, v2, s[4:5] offset:-16"}) {
    build(R"(
  s_load_b64 s[2:3], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_mov_b64 s[4:5], 0
  s_waitcnt lgkmcnt(0)
  global_load_b32 v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  )" + std::string(store) +
          "\n");
    ASSERT_TRUE(code);
    uint32_t *out = allocate<uint32_t>(64);
    Fault fault = expectFault("k", {1}, {32}, Arguments().add(out).add(out));
    EXPECT_EQ(fault.kind, Fault::OutOfBounds) << store;
    EXPECT_EQ(fault.address, uint64_t(-16)) << store;
  }
}

TEST_F(Faults, WriteToFreedMemoryIsToldFromOutOfBounds) {
  build(kStore);
  ASSERT_TRUE(code);
  uint32_t *out = allocate<uint32_t>(128);
  llvm::cantFail(memory.free(out));
  EXPECT_EQ(expectFault("k", {1}, {64}, Arguments().add(out).add(out)).kind, Fault::UseAfterFree);
}

TEST_F(Faults, FaultNamesTheWorkgroup) {
  build(R"(
  s_cmp_lg_u32 s15, 5
  s_cbranch_scc1 .Lskip
  s_trap 2
.Lskip:
)");
  ASSERT_TRUE(code);
  Fault fault = expectFault("k", {8}, {32}, Arguments().add(uint64_t(0)).add(uint64_t(0)));
  EXPECT_EQ(fault.kind, Fault::Trap);
  EXPECT_EQ(fault.workgroup.x, 5u);
}

TEST_F(Faults, LdsBeyondTheAllocation) {
  build(R"(
  v_lshlrev_b32 v1, 2, v0
  ds_store_b32 v1, v0 offset:1000
)");
  ASSERT_TRUE(code);
  Fault fault = expectFault("k", {1}, {32}, Arguments().add(uint64_t(0)).add(uint64_t(0)));
  EXPECT_EQ(fault.kind, Fault::LdsOutOfBounds);
  EXPECT_EQ(fault.thread.x, 6u);
}

// The kernel has 1024 bytes and the launch adds 12: an aligned load of four words may read three of
// them, no less aligned load, no store, and no load of two.
TEST_F(Faults, LdsLoadsMayReadThreeWordsAsFour) {
  const std::pair<const char *, bool> cases[] = {{"ds_load_b128 v[3:6], v1 offset:1024", true},
                                                 {"ds_load_b128 v[3:6], v1 offset:1028", false},
                                                 {"ds_load_b64 v[3:4], v1 offset:1032", false},
                                                 {"ds_store_b128 v1, v[3:6] offset:1024", false}};
  for (const auto &[access, isAllowed] : cases) {
    build(std::string("  v_mov_b32 v1, 0\n  ") + access + "\n  s_waitcnt lgkmcnt(0)\n");
    ASSERT_TRUE(code);
    auto result = launch("k", {1}, {32}, Arguments().add(uint64_t(0)).add(uint64_t(0)), 12);
    EXPECT_EQ(bool(result), isAllowed) << access;
    llvm::consumeError(result.takeError());
  }
}

// Also of device memory, by scalar and vector loads: three words were allocated.
TEST_F(Faults, LoadsMayReadThreeWordsAsFour) {
  const std::pair<const char *, bool> cases[] = {
      {"s_load_b128 s[4:7], s[2:3], 0x0", true},
      {"s_load_b128 s[4:7], s[2:3], 0x4", false},
      {"s_load_b64 s[4:5], s[2:3], 0x8", false},
      {"global_load_b128 v[3:6], v1, s[2:3]", true},
      {"global_load_b128 v[3:6], v1, s[2:3] offset:4", false},
      {"global_store_b128 v1, v[3:6], s[2:3]", false}};
  auto *words = allocate<uint32_t>(3);
  for (const auto &[access, isAllowed] : cases) {
    build(std::string(
              "  s_load_b64 s[2:3], s[0:1], 0x0\n  v_mov_b32 v1, 0\n  s_waitcnt lgkmcnt(0)\n  ") +
          access + "\n  s_waitcnt lgkmcnt(0) vmcnt(0)\n");
    ASSERT_TRUE(code);
    auto result = launch("k", {1}, {32}, Arguments().add(words).add(words));
    EXPECT_EQ(bool(result), isAllowed) << access;
    llvm::consumeError(result.takeError());
  }
}

// Bounds::lds: loads give 0, stores are dropped, the others' are not; up to the end of what
// hardware allocates, 512 bytes at a time (the kernel has 1024).
TEST_F(Faults, LdsBeyondTheAllocationAsHardwareHasIt) {
  build(R"(
  s_load_b64 s[2:3], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, 7
  ds_store_b32 v1, v2 offset:960
  ds_load_b32 v3, v1 offset:960
  ds_add_rtn_u32 v4, v1, v2 offset:960
  ds_load_2addr_b32 v[5:6], v1 offset0:240 offset1:255
  ds_storexchg_2addr_rtn_b32 v[7:8], v1, v2, v2 offset0:240 offset1:255
  ds_store_b64 v1, v[5:6] offset:65000
  v_lshlrev_b32 v1, 5, v0
  v_mov_b32 v9, v3
  v_mov_b32 v10, v4
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v3, s[2:3]
  global_store_b32 v1, v4, s[2:3] offset:4
  global_store_b64 v1, v[5:6], s[2:3] offset:8
  global_store_b64 v1, v[7:8], s[2:3] offset:16
)");
  ASSERT_TRUE(code);
  auto *out = allocate<uint32_t>(32 * 8);
  const Arguments arguments = Arguments().add(out).add(out);
  Launch request;
  request.kernel = code->kernel("k");
  request.block = {32};
  request.kernarg = arguments.bytes;
  for (bool counting : {false, true}) {
    request.bounds = Bounds{.lds = true};
    request.countOperations = counting;
    auto result = rubia::emulator::run(request, memory);
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    for (unsigned lane = 0; lane < 32; ++lane) {
      const uint32_t *row = out + lane * 8;
      const bool inside = 960 + 4 * lane < 1024, secondInside = 1020 + 4 * lane < 1024;
      EXPECT_EQ(row[0], inside ? 7u : 0u) << lane;
      EXPECT_EQ(row[1], inside ? 7u : 0u) << lane;
      EXPECT_EQ(row[2], inside ? 14u : 0u) << lane;
      EXPECT_EQ(row[4], !inside ? 0u : lane == 15 ? 7u : 14u) << lane; // where lane 0 was first
      if (!secondInside)
        EXPECT_EQ(row[3] | row[5], 0u) << lane;
    }
  }
  request.bounds = Bounds{};
  auto result = rubia::emulator::run(request, memory);
  EXPECT_FALSE(bool(result));
  llvm::consumeError(result.takeError());
}

// Bounds::pages: what overruns an allocation within its last page.
TEST_F(Faults, BoundsOfWholePages) {
  Memory paged(Bounds{.pages = true});
  auto loaded = CodeObject::load(assemble(kernelText(kStore)), paged);
  ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
  auto run = [&](void *out) {
    const Arguments arguments = Arguments().add(out).add(out);
    Launch request;
    request.kernel = (*loaded)->kernel("k");
    request.block = {64};
    request.kernarg = arguments.bytes;
    return llvm::toString(rubia::emulator::run(request, paged).takeError());
  };
  auto *small = static_cast<uint8_t *>(llvm::cantFail(paged.allocate(256, MemoryKind::Device)));
  EXPECT_EQ(run(small), ""); // writes 272 bytes
  EXPECT_EQ(uint64_t(small) % 4096, 0u);
  EXPECT_EQ(paged.find(small)->size, 256u);
  EXPECT_FALSE(paged.find(small + 256));
  auto *whole = static_cast<uint8_t *>(llvm::cantFail(paged.allocate(4096, MemoryKind::Device)));
  EXPECT_EQ(run(whole + 4096 - 272), "");
  EXPECT_NE(run(whole + 4096 - 268), "");
}

TEST(BoundsWords, AreChecked) {
  auto parse = [](llvm::StringRef words) {
    return boundsOf(rubia::settings::Settings().set(rubia::settings::Id::emulatorBounds, words));
  };
  EXPECT_TRUE(llvm::cantFail(parse("lds, pages")).lds);
  EXPECT_TRUE(llvm::cantFail(parse("pages")).pages);
  EXPECT_FALSE(llvm::cantFail(parse("pages")).lds);
  EXPECT_EQ(llvm::toString(parse("page").takeError()),
            "RUBIA_EMULATOR_BOUNDS is 'page', expected one or more of lds or pages, with commas "
            "(did you mean pages?)");
}

TEST_F(Faults, MisalignedAtomic) {
  build(R"(
  s_load_b64 s[2:3], s[0:1], 0x0
  v_mov_b32 v1, 2
  global_atomic_add_u32 v1, v0, s[2:3]
)");
  ASSERT_TRUE(code);
  uint32_t *out = allocate<uint32_t>(4);
  EXPECT_EQ(expectFault("k", {1}, {32}, Arguments().add(out).add(out)).kind, Fault::Misaligned);
}

// Hardware drops them without a word.
TEST_F(Faults, AtomicsThatDoNotReachTheHostsMemory) {
  for (const char *atomic :
       {"global_atomic_add_f32", "global_atomic_max_u32", "global_atomic_inc_u32",
        "global_atomic_and_b32", "global_atomic_add_u32", "global_atomic_swap_b32"}) {
    // The load makes the allocation known, which is what the fast handlers ask for.
    build("  s_load_b64 s[2:3], s[0:1], 0x0\n  v_mov_b32 v1, 0\n  s_waitcnt lgkmcnt(0)\n"
          "  global_load_b32 v2, v1, s[2:3]\n  s_waitcnt vmcnt(0)\n  " +
          std::string(atomic) + " v1, v0, s[2:3]\n");
    ASSERT_TRUE(code);
    const bool isOfBus = llvm::StringRef(atomic).ends_with("add_u32") ||
                         llvm::StringRef(atomic).ends_with("swap_b32");
    for (MemoryKind kind : {MemoryKind::Device, MemoryKind::HostPinned, MemoryKind::Managed}) {
      void *out = llvm::cantFail(memory.allocate(4, kind));
      if (isOfBus || kind == MemoryKind::Device) {
        expectRun("k", {1}, {32}, Arguments().add(out).add(out));
        continue;
      }
      Fault fault = expectFault("k", {1}, {32}, Arguments().add(out).add(out));
      EXPECT_EQ(fault.kind, Fault::AtomicOnHostMemory) << atomic;
      EXPECT_NE(fault.detail.find("4 bytes at"), std::string::npos) << fault.detail;
      EXPECT_NE(fault.disassembly.find(atomic), std::string::npos) << fault.disassembly;
      memory.setCoarseGrained(out, true); // they reach what devices cache
      expectRun("k", {1}, {32}, Arguments().add(out).add(out));
    }
  }
}

// Not what the workgroup before has left there, also where the code does not name the register:
// v15, by M0.
TEST_F(Faults, RegistersHoldTheSameInEachWorkgroupUntilTheyAreWritten) {
  build(R"(
  s_load_b64 s[2:3], s[0:1], 0x0
  s_lshl_b32 s4, s15, 3
  v_mov_b32 v1, s4
  s_mov_b32 m0, 5
  v_movrels_b32 v2, v10
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v11, s[2:3]
  global_store_b32 v1, v2, s[2:3] offset:4
  v_mov_b32 v11, s15
  v_movreld_b32 v10, v11
)");
  ASSERT_TRUE(code);
  constexpr unsigned kGroups = 64;
  uint32_t *out = allocate<uint32_t>(2 * kGroups);
  expectRun("k", {kGroups}, {32}, Arguments().add(out).add(out));
  for (unsigned i = 0; i < 2 * kGroups; ++i)
    ASSERT_EQ(out[i], 0x7fa5a5a5u) << i;
}

TEST_F(Faults, LanesThatMissedABarrierComeBackUnlessThatIsChecked) {
  // Hardware counts waves, whatever EXEC is.
  build(R"(
  s_mov_b32 s4, exec_lo
  s_mov_b32 exec_lo, 0xffff
  s_barrier
  s_mov_b32 exec_lo, s4
  s_barrier
)");
  ASSERT_TRUE(code);
  const Arguments arguments = Arguments().add(uint64_t(0)).add(uint64_t(0));
  expectRun("k", {1}, {64}, arguments);
  Launch request;
  request.kernel = code->kernel("k");
  request.block = {64};
  request.kernarg = arguments.bytes;
  request.checks.emplace().barriers = true;
  auto result = rubia::emulator::run(request, memory);
  ASSERT_FALSE(bool(result));
  handleAllErrors(result.takeError(), [](const Fault &fault) {
    EXPECT_EQ(fault.kind, Fault::BarrierDivergence) << fault.message();
  });
}

TEST_F(Faults, EndlessLoopReachesTheLimit) {
  build(".Lloop:\n  s_branch .Lloop\n");
  ASSERT_TRUE(code);
  Launch request;
  request.kernel = code->kernel("k");
  request.block = {32};
  std::vector<uint8_t> kernarg(16);
  request.kernarg = kernarg;
  request.instructionLimit = 10'000;
  auto result = run(request, memory);
  ASSERT_FALSE(bool(result));
  llvm::handleAllErrors(result.takeError(),
                        [](const Fault &fault) { EXPECT_EQ(fault.kind, Fault::Deadlock); });
}

TEST_F(Faults, WavesThatSpinGiveTurnsToOthers) {
  // Wave 0 spins without sleeping on a word of LDS that wave 1 sets: it must not use up its limit.
  build(R"(
  v_readfirstlane_b32 s4, v0
  v_mov_b32 v1, 0
  s_cmp_eq_u32 s4, 0
  s_cbranch_scc1 .Lspin
  v_mov_b32 v2, 1
  ds_store_b32 v1, v2
  s_branch .Ldone
.Lspin:
  ds_load_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s5, v2
  s_cmp_eq_u32 s5, 1
  s_cbranch_scc0 .Lspin
.Ldone:
)");
  ASSERT_TRUE(code);
  Launch request;
  request.kernel = code->kernel("k");
  request.block = {64};
  request.dynamicLdsBytes = 16;
  std::vector<uint8_t> kernarg(16);
  request.kernarg = kernarg;
  request.instructionLimit = 50'000;
  auto result = run(request, memory);
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
}

TEST_F(Faults, ObjectsWithUnknownInstructionsAreRefused) {
  auto object =
      assemble(kernelText("  image_load_pck v[0:3], v[0:1], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D\n"
                          "  v_mov_b32 v1, v2\n"
                          "  ds_gws_sema_v gds\n"));
  auto loaded = CodeObject::load(object, memory);
  ASSERT_FALSE(bool(loaded));
  std::string message = llvm::toString(loaded.takeError());
  EXPECT_NE(message.find("image_load_pck v[0:3]"), std::string::npos) << message;
  EXPECT_NE(message.find("ds_gws_sema_v gds"), std::string::npos) << message;
  EXPECT_EQ(message.find("v_mov_b32"), std::string::npos) << message;
}

TEST_F(Faults, LaunchesThatDoNotFitAreRefused) {
  build("");
  ASSERT_TRUE(code);
  auto message = [&](Dim3 grid, Dim3 block, const Arguments &arguments, uint32_t lds) {
    auto result = launch("k", grid, block, arguments, lds);
    return result ? std::string() : llvm::toString(result.takeError());
  };
  Arguments good = Arguments().add(uint64_t(0)).add(uint64_t(0));
  EXPECT_EQ(message({1}, {32}, good, 0), "");
  EXPECT_NE(message({1}, {32}, Arguments().add(uint64_t(0)), 0).find("8 bytes of arguments"),
            std::string::npos);
  EXPECT_NE(message({1}, {1025}, good, 0).find("1025 threads"), std::string::npos);
  EXPECT_NE(message({1}, {32}, good, 65536).find("bytes of LDS"), std::string::npos);
  EXPECT_NE(message({0}, {32}, good, 0).find("empty grid"), std::string::npos);
  EXPECT_NE(message({1u << 31}, {2}, good, 0).find("more than 4294967295 threads"),
            std::string::npos);
}

// gfx12 has 16 bits for the number of a workgroup in y and in z.
TEST_F(Faults, GridsOfGfx12AreLimited) {
  load(compile("kernel void k(global uint *out) { out[0] = get_group_id(1); }", "gfx1201",
               "-O1 -Dget_group_id(x)=__builtin_amdgcn_workgroup_id_y()"));
  ASSERT_TRUE(code);
  Arguments good = Arguments().add(allocate<uint32_t>(1));
  for (Dim3 grid : {Dim3{1, 65536, 1}, Dim3{1, 1, 65536}}) {
    auto result = launch("k", grid, {1}, good);
    ASSERT_FALSE(bool(result));
    EXPECT_EQ(llvm::toString(result.takeError()),
              "kernel k: 65536 workgroups in y or z, this processor takes 65535");
  }
  expectRun("k", {1, 65535, 1}, {1}, good);
}

TEST(CodeObjectLoading, RefusesWhatIsNoCodeObject) {
  Memory memory;
  std::vector<uint8_t> bytes(100, 0);
  auto loaded = CodeObject::load(bytes, memory);
  ASSERT_FALSE(bool(loaded));
  EXPECT_EQ(llvm::toString(loaded.takeError()), "not a 64-bit little-endian ELF file");
}

} // namespace
