// SPDX-License-Identifier: Apache-2.0
// What a kernel may rely on when it starts and while it runs (AMDGPUUsage "Initial Kernel Execution
// State", "Kernel Argument Metadata", "Trap Handler ABI"), for every target, with the code that
// clang makes of it.
#include "tests/emulator/Fixture.h"
#include "tests/emulator/Targets.h"
#include <bit>
#include <cmath>
#include <map>

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace rubia::targets::Fact {
extern const GenerationFact maxLdsBytes;
} // namespace rubia::targets::Fact

namespace {

const char *const kSource = R"CL(
#define X __builtin_amdgcn_workitem_id_x()
#define Y __builtin_amdgcn_workitem_id_y()
#define Z __builtin_amdgcn_workitem_id_z()
#define GX __builtin_amdgcn_workgroup_id_x()
#define GY __builtin_amdgcn_workgroup_id_y()
#define GZ __builtin_amdgcn_workgroup_id_z()

kernel void ids(global uint *out) { // 5 x 3 x 2 threads, 2 x 3 x 2 workgroups
  uint flat = X + 5 * (Y + 3 * Z) + 30 * (GX + 2 * (GY + 3 * GZ));
  out[flat] = X | Y << 4 | Z << 8 | GX << 12 | GY << 16 | GZ << 20;
}
kernel void only_x(global uint *out) {
  __scoped_atomic_fetch_add(&out[X], 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
kernel void x_and_y(global uint *out) {
  __scoped_atomic_fetch_add(&out[X + 5 * Y], 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
kernel void packet(global uint *out) {
  constant ushort *halves = __builtin_amdgcn_dispatch_ptr();
  constant uint *words = __builtin_amdgcn_dispatch_ptr();
  for (uint i = 0; i < 3; ++i) {
    out[i] = halves[2 + i];
    out[3 + i] = words[3 + i];
  }
  out[6] = halves[1];
  out[7] = words[7];
}

__attribute__((noinline)) uint descend(uint *values, uint depth) {
  uint own[8];
  for (uint i = 0; i < 8; ++i)
    own[i] = values[(i * 3 + depth) & 7] * 5 + i;
  uint below = depth == 0 ? own[3] : descend(own, depth - 1);
  return below + own[depth & 7];
}
kernel void stack(global uint *out, uint depth) {
  uint values[8];
  for (uint i = 0; i < 8; ++i)
    values[i] = X * 7 + i;
  out[X] = descend(values, depth);
  out[1024 + X] = values[X & 7];
}

kernel void flat(global uint *g, local uint *l) {
  uint x = X;
  uint p[4] = {x, x, x, x};
  volatile uint *any = x % 3 == 0   ? (volatile uint *)(g + x)
                       : x % 3 == 1 ? (volatile uint *)(l + x)
                                    : (volatile uint *)(p + (x & 3));
  *any = 100 + x;
  g[64 + x] = *any;
  g[128 + x] = __builtin_amdgcn_is_shared((const void *)any) |
               __builtin_amdgcn_is_private((const void *)any) << 1;
  g[192 + x] = x % 3 == 0 ? g[x] : x % 3 == 1 ? l[x] : p[x & 3];
  g[256 + x] = (uint)((ulong)any >> 32);
}

kernel void trap(global uint *out) {
  out[X] = 1;
  if (X == 3)
    __builtin_trap();
}
kernel void debugtrap(global uint *out) {
  out[X] = 1;
  __builtin_debugtrap();
  out[X] = 2;
}
kernel void clocks(global ulong *out) {
  out[0] = __builtin_readsteadycounter();
  out[1] = __builtin_readcyclecounter();
  for (uint i = 0; i < 1000; ++i)
    __asm volatile("s_nop 0");
  out[2] = __builtin_readsteadycounter();
  out[3] = __builtin_readcyclecounter();
}

void barrier_here() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__attribute__((reqd_work_group_size(320, 1, 1)))
kernel void barriers(global uint *out, local uint *l, uint n) { // n threads, the second wave leaves
  uint x = X;
  l[x] = x;
  barrier_here();
  uint seen = l[(x + 64) % n];
  if (x / 64 == 1)
    return;
  for (uint i = 0; i < 5; ++i) {
    barrier_here();
    l[x] = seen + i;
    barrier_here();
    seen += l[x % 64];
  }
  out[x] = seen;
}
kernel void dynamic_lds(global uint *out, local uint *l, uint words) {
  for (uint i = X; i < words; i += 64)
    l[i] = i * 3;
  barrier_here();
  uint sum = 0;
  for (uint i = X; i < words; i += 64)
    sum += l[words - 1 - i];
  out[X] = sum;
}

kernel void modes(global float *out, float one, float tiny) {
  float up, down, kept, flushed;
  __asm volatile("s_setreg_imm32_b32 hwreg(1, 0, 2), 1\n v_add_f32 %0, %1, %2\n"
               "s_setreg_imm32_b32 hwreg(1, 0, 2), 0" : "=v"(up) : "v"(one), "v"(tiny));
  __asm volatile("s_setreg_imm32_b32 hwreg(1, 0, 2), 2\n v_sub_f32 %0, %1, %2\n"
               "s_setreg_imm32_b32 hwreg(1, 0, 2), 0" : "=v"(down) : "v"(one), "v"(tiny));
  __asm volatile("s_setreg_imm32_b32 hwreg(1, 4, 2), 3\n v_mul_f32 %0, 1.0, %1"
               : "=v"(kept) : "v"(tiny));
  __asm volatile("s_setreg_imm32_b32 hwreg(1, 4, 2), 0\n v_mul_f32 %0, 1.0, %1\n"
               "s_setreg_imm32_b32 hwreg(1, 4, 2), 3" : "=v"(flushed) : "v"(tiny));
  uint mode;
  __asm volatile("s_getreg_b32 %0, hwreg(1, 0, 8)" : "=s"(mode));
  out[0] = up;
  out[1] = down;
  out[2] = kept;
  out[3] = flushed;
  out[4] = mode;
#if !defined(__GFX9__)
  __asm volatile("s_round_mode 0x1\n v_add_f32 %0, %1, %2\n s_round_mode 0x0"
               : "=v"(up) : "v"(one), "v"(tiny));
  __asm volatile("s_denorm_mode 0xc\n v_mul_f32 %0, 1.0, %1\n s_denorm_mode 0xf"
               : "=v"(flushed) : "v"(tiny));
  out[5] = up;
  out[6] = flushed;
#endif
}
)CL";

class Abi : public EmulatorTest, public testing::WithParamInterface<TargetCase> {
protected:
  void SetUp() override {
    load(compile(kSource, GetParam().cpu, options()));
    ASSERT_TRUE(code);
  }
  std::string options() const {
    const bool choice = GetParam().major() >= 10;
    return std::string("-O2 -Wno-everything") +
           (choice && GetParam().waveSize == 64 ? " -mwavefrontsize64" : "");
  }
};

TEST_P(Abi, ObjectIsForTheTargetAndItsWaveSize) {
  EXPECT_EQ(code->target(), GetParam().cpu);
  EXPECT_EQ(code->kernel("ids")->waveSize, GetParam().waveSize);
}

TEST_P(Abi, WorkItemAndWorkgroupIds) {
  uint32_t *out = allocate<uint32_t>(360);
  expectRun("ids", {2, 3, 2}, {5, 3, 2}, Arguments().add(out));
  for (uint32_t i = 0; i < 360; ++i) {
    const uint32_t thread = i % 30, group = i / 30;
    EXPECT_EQ(out[i], thread % 5 | thread / 5 % 3 << 4 | thread / 15 << 8 | group % 2 << 12 |
                          group / 2 % 3 << 16 | group / 6 << 20)
        << i;
  }
}

TEST_P(Abi, IdsThatAreNotAskedForDoNotDisturbTheOthers) {
  uint32_t *out = allocate<uint32_t>(1024);
  std::fill(out, out + 1024, 0);
  expectRun("only_x", {2}, {5, 3, 2}, Arguments().add(out));
  for (uint32_t x = 0; x < 5; ++x)
    EXPECT_EQ(out[x], 12u) << x;
  std::fill(out, out + 1024, 0);
  expectRun("x_and_y", {2}, {5, 3, 2}, Arguments().add(out));
  for (uint32_t xy = 0; xy < 15; ++xy)
    EXPECT_EQ(out[xy], 4u) << xy;
}

TEST_P(Abi, DispatchPacket) {
  uint32_t *out = allocate<uint32_t>(8);
  expectRun("packet", {3, 2, 4}, {8, 4, 2}, Arguments().add(out), 512);
  const uint32_t expected[] = {8, 4, 2, 24, 8, 8, 3, 512};
  for (unsigned i = 0; i < 8; ++i)
    EXPECT_EQ(out[i], expected[i]) << i;
}

uint32_t descend(const uint32_t *values, uint32_t depth) {
  uint32_t own[8];
  for (uint32_t i = 0; i < 8; ++i)
    own[i] = values[(i * 3 + depth) & 7] * 5 + i;
  return (depth == 0 ? own[3] : descend(own, depth - 1)) + own[depth & 7];
}

TEST_P(Abi, StackOfCallsAndRecursion) {
  uint32_t *out = allocate<uint32_t>(2048);
  expectRun("stack", {1}, {150}, Arguments().add(out).add(uint32_t(9)));
  for (uint32_t x = 0; x < 150; ++x) {
    uint32_t values[8];
    for (uint32_t i = 0; i < 8; ++i)
      values[i] = x * 7 + i;
    EXPECT_EQ(out[x], descend(values, 9)) << x;
    EXPECT_EQ(out[1024 + x], values[x & 7]) << x;
  }
}

TEST_P(Abi, FlatAddressesReachAllSpaces) {
  uint32_t *out = allocate<uint32_t>(320);
  std::fill(out, out + 320, 0);
  // The pointer into LDS is an argument of 4 bytes: LDS address 0.
  expectRun("flat", {1}, {64}, Arguments().add(out).add(uint32_t(0)), 256);
  for (uint32_t x = 0; x < 64; ++x) {
    EXPECT_EQ(out[64 + x], 100 + x) << x;
    EXPECT_EQ(out[128 + x], x % 3) << x;
    EXPECT_EQ(out[192 + x], 100 + x) << x;
    EXPECT_EQ(out[256 + x], x % 3 == 0   ? uint32_t(uint64_t(out) >> 32)
                            : x % 3 == 1 ? 0x10000u
                                         : 0x20000u)
        << x;
  }
}

TEST_P(Abi, TrapStopsTheLaunchAndDebugtrapDoesNot) {
  uint32_t *out = allocate<uint32_t>(64);
  Fault fault = expectFault("trap", {1}, {64}, Arguments().add(out));
  EXPECT_EQ(fault.kind, Fault::Trap);
  EXPECT_EQ(fault.thread.x, 3u);
  expectRun("debugtrap", {1}, {64}, Arguments().add(out));
  EXPECT_EQ(out[63], 2u);
}

TEST_P(Abi, ClocksAdvance) {
  uint64_t *out = allocate<uint64_t>(4);
  expectRun("clocks", {1}, {1}, Arguments().add(out));
  EXPECT_GT(out[0], 0u);
  EXPECT_GE(out[2], out[0]);
  if (GetParam().major() != 11) // 20 bits there, which wrap around
    EXPECT_GT(out[3], out[1]);
}

TEST_P(Abi, BarriersDoNotWaitForWavesThatEnded) {
  constexpr uint32_t kThreads = 320;
  uint32_t *out = allocate<uint32_t>(kThreads);
  std::fill(out, out + kThreads, 0);
  expectRun("barriers", {3}, {kThreads}, Arguments().add(out).add(uint32_t(0)).add(kThreads),
            kThreads * 4);
  for (uint32_t x = 0; x < kThreads; ++x) {
    uint32_t seen = (x + 64) % kThreads, first = (x % 64 + 64) % kThreads;
    for (uint32_t i = 0; i < 5; ++i) {
      seen += first + i;
      first += first + i;
    }
    EXPECT_EQ(out[x], x / 64 == 1 ? 0 : seen) << x;
  }
}

TEST_P(Abi, AllOfLdsCanBeUsed) {
  const uint32_t bytes = rubia::targets::Fact::maxLdsBytes(GetParam().row());
  uint32_t *out = allocate<uint32_t>(64);
  const uint32_t words = bytes / 4;
  expectRun("dynamic_lds", {2}, {64}, Arguments().add(out).add(uint32_t(0)).add(words), bytes);
  for (uint32_t x = 0; x < 64; ++x) {
    uint32_t sum = 0;
    for (uint32_t i = x; i < words; i += 64)
      sum += (words - 1 - i) * 3;
    EXPECT_EQ(out[x], sum) << x;
  }
  auto tooMuch =
      launch("dynamic_lds", {1}, {64}, Arguments().add(out).add(uint32_t(0)).add(words), bytes + 4);
  ASSERT_FALSE(bool(tooMuch));
  EXPECT_NE(llvm::toString(tooMuch.takeError()).find("bytes of LDS"), std::string::npos);
}

TEST_P(Abi, ModeTakesEffect) {
  float *out = allocate<float>(8);
  const float tiny = 0x1p-140f;
  expectRun("modes", {1}, {1}, Arguments().add(out).add(1.0f).add(tiny));
  EXPECT_EQ(out[0], std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(out[1], std::nextafter(1.0f, 0.0f));
  EXPECT_EQ(out[2], tiny);
  EXPECT_EQ(out[3], 0.0f);
  EXPECT_EQ(out[4], float(0xf0)); // denormals are kept, rounding is to nearest
  if (GetParam().major() >= 10) {
    EXPECT_EQ(out[5], std::nextafter(1.0f, 2.0f));
    EXPECT_EQ(out[6], 0.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Abi, testing::ValuesIn(kTargetCases), nameOf);

/// Hidden arguments by code object version.
class ImplicitArguments : public EmulatorTest,
                          public testing::WithParamInterface<std::tuple<TargetCase, unsigned>> {};

TEST_P(ImplicitArguments, AreWhereTheVersionPutsThem) {
  auto [target, version] = GetParam();
  load(compile(R"(
kernel void hidden(global ulong *out, uint n) {
  constant char *p = __builtin_amdgcn_implicitarg_ptr();
  for (uint i = 0; i < n; i += 2)
    ((global ushort *)out)[i / 2] = *(constant ushort *)(p + i);
})",
               target.cpu, "-O2 -Wno-everything -mcode-object-version=" + std::to_string(version)));
  ASSERT_TRUE(code);
  const uint32_t bytes = version == 4 ? 56 : 256;
  auto *out = allocate<uint8_t>(256);
  std::fill(out, out + 256, 0xaa);
  Arguments arguments = Arguments().add(out).add(bytes);
  Launch request;
  request.kernel = code->kernel("hidden");
  ASSERT_TRUE(request.kernel);
  request.grid = {3, 5, 2};
  request.block = {8, 2, 2};
  request.kernarg = arguments.bytes;
  request.hidden.printfBuffer = 0x1111222233334444;
  request.hidden.hostcallBuffer = 0x5555666677778888;
  request.hidden.heap = 0x99990000aaaabbbb;
  request.hidden.multigridSync = 0xccccddddeeeeffff;
  auto result = rubia::emulator::run(request, memory);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  auto at = [&](unsigned offset, unsigned size) {
    uint64_t value = 0;
    std::memcpy(&value, out + offset, size);
    return value;
  };
  if (version == 4) {
    EXPECT_EQ(at(0, 8), 0u); // global offsets
    EXPECT_EQ(at(24, 8), request.hidden.hostcallBuffer);
    EXPECT_EQ(at(48, 8), request.hidden.multigridSync);
    return;
  }
  EXPECT_EQ(at(0, 4), 3u);
  EXPECT_EQ(at(4, 4), 5u);
  EXPECT_EQ(at(8, 4), 2u);
  EXPECT_EQ(at(12, 2), 8u);
  EXPECT_EQ(at(14, 2), 2u);
  EXPECT_EQ(at(16, 2), 2u);
  EXPECT_EQ(at(18, 2), 0u); // remainders
  EXPECT_EQ(at(40, 8), 0u); // global offsets
  EXPECT_EQ(at(64, 2), 3u); // dimensions
  EXPECT_EQ(at(80, 8), request.hidden.hostcallBuffer);
  EXPECT_EQ(at(88, 8), request.hidden.multigridSync);
  EXPECT_EQ(at(96, 8), request.hidden.heap);
}

std::vector<TargetCase> smallestWaves() {
  std::vector<TargetCase> cases = kTargetCases;
  // Generic targets have version 6 only.
  llvm::erase_if(cases, [](const TargetCase &c) {
    return c.waveSize != c.row().waveSize() || c.row().isGeneric();
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Versions, ImplicitArguments,
                         testing::Combine(testing::ValuesIn(smallestWaves()),
                                          testing::Values(4u, 5u, 6u)),
                         [](const auto &info) {
                           return std::get<0>(info.param).name() + "_version" +
                                  std::to_string(std::get<1>(info.param));
                         });

} // namespace
