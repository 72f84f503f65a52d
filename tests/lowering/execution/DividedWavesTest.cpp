// SPDX-License-Identifier: Apache-2.0
// Two warps of one wave of 64 lanes in different branches. What one of them does with all lanes on,
// a product or a sum over the warp, leaves the registers of the other alone.
#include "tests/lowering/execution/Execution.h"
#include <functional>

using namespace rubia::lowering::test;

namespace {

// What a warp does with its registers %r0 to %r9, and what they have then.
struct Arm {
  const char *name, *ptx;
  std::function<void(uint32_t lane, uint32_t *r)> expect;
};

constexpr unsigned kRegisters = 10;

uint32_t before(uint32_t thread, unsigned i) { return thread * (2 * i + 3) + i; }

const Arm kArms[] = {
    {"nothing", "", [](uint32_t, uint32_t *) {}},
    // A and B are ones.
    {"integers",
     "mov.u32 %r10, 0x01010101;"
     "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r0, %r1, %r2, %r3}, {%r10, %r10, %r10, "
     "%r10}, {%r10, %r10}, {%r0, %r1, %r2, %r3};",
     [](uint32_t, uint32_t *r) {
       for (unsigned i = 0; i < 4; ++i)
         r[i] += 32;
     }},
    // A is bytes of 255, which the unit takes as signed ones and corrects.
    {"unsigned",
     "mov.u32 %r10, -1; mov.u32 %r11, 0x01010101;"
     "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.u8.s8.s32 {%r0, %r1, %r2, %r3}, {%r10, "
     "%r10}, {%r11}, {%r0, %r1, %r2, %r3};",
     [](uint32_t, uint32_t *r) {
       for (unsigned i = 0; i < 4; ++i)
         r[i] += 255 * 16;
     }},
    {"floats",
     "cvt.rn.f32.u32 %f0, %r0; cvt.rn.f32.u32 %f1, %r1; mov.u32 %r10, 0x3c003c00;"
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r10, %r10, "
     "%r10}, {%r10, %r10}, {%f0, %f1, %f0, %f1};"
     "cvt.rzi.u32.f32 %r0, %f0; cvt.rzi.u32.f32 %r1, %f1; cvt.rzi.u32.f32 %r4, %f2;"
     "cvt.rzi.u32.f32 %r5, %f3;",
     [](uint32_t, uint32_t *r) {
       r[4] = r[0] += 16;
       r[5] = r[1] += 16;
     }},
    // Each row is the number of the lane that gives its address.
    {"ldmatrix",
     "mov.u32 %r10, %laneid; mul.lo.u32 %r10, %r10, 16; add.u32 %r10, %r10, %rows;"
     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r4, %r6, %r8}, [%r10];",
     [](uint32_t lane, uint32_t *r) {
       for (unsigned i = 0; i < 4; ++i)
         r[2 + 2 * i] = 0x10001 * (8 * i + lane / 4);
     }},
    // Of a matrix whose elements are 0 to 63.
    {"movmatrix",
     "mov.u32 %r10, %laneid; mul.lo.u32 %r10, %r10, 0x20002; add.u32 %r10, %r10, 0x10000;"
     "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r10;",
     [](uint32_t lane, uint32_t *r) {
       const uint32_t row = lane / 4, column = lane % 4 * 2;
       r[3] = (column * 8 + row) | (column * 8 + 8 + row) << 16;
     }},
    {"sum",
     "mov.u32 %r1, %laneid; redux.sync.max.u32 %r7, %r1, -1; redux.sync.add.u32 %r1, %r1, -1;",
     [](uint32_t, uint32_t *r) {
       r[1] = 31 * 16;
       r[7] = 31;
     }},
    {"shuffle", "mov.u32 %r5, %laneid; shfl.sync.down.b32 %r5, %r5, 1, 31, -1;",
     [](uint32_t lane, uint32_t *r) { r[5] = std::min(lane + 1, 31u); }},
    // Numbers that products are computed with too.
    {"lanes",
     "mov.u32 %r0, %laneid; and.b32 %r1, %r0, 28; shl.b32 %r2, %r0, 2;"
     "and.b32 %r3, %r0, 16; mov.u32 %r4, 0; mov.u32 %r5, -1; mov.u32 %r6, 28;",
     [](uint32_t lane, uint32_t *r) {
       const uint32_t values[] = {lane, lane & 28, lane << 2, lane & 16, 0, ~0u, 28};
       std::copy(std::begin(values), std::end(values), r);
     }},
};

// Warp 0 of each wave does `first`, warp 1 `second`, `rounds` times.
std::string divided(const Arm &first, const Arm &second, unsigned rounds) {
  std::string body = R"(
    .reg .b32 %rows; mov.u32 %rows, tile;
    mad.lo.u32 %r10, %tid, 16, %rows; and.b32 %r11, %tid, 31; mul.lo.u32 %r11, %r11, 0x10001;
    st.shared.v4.u32 [%r10], {%r11, %r11, %r11, %r11};
    and.b32 %r11, %tid, 32; mad.lo.u32 %rows, %r11, 16, %rows; bar.sync 0;
    mul.wide.u32 %rd0, %tid, 40; add.u64 %rd0, %rd0, %buf; setp.ne.u32 %p0, %r11, 0;
    mov.u32 %r19, 0;
  )";
  const auto reg = [](unsigned i) { return "%r" + std::to_string(i); };
  for (unsigned i = 0; i < kRegisters; ++i)
    body += "mad.lo.u32 " + reg(i) + ", %tid, " + std::to_string(2 * i + 3) + ", " +
            std::to_string(i) + ";\n";
  body += "AGAIN: @%p0 bra SECOND;\n" + std::string(first.ptx) + "\nbra MEET;\nSECOND:\n" +
          second.ptx + "\nMEET: bar.warp.sync -1;\n";
  if (rounds > 1)
    body += "add.u32 %r19, %r19, 1; setp.lt.u32 %p1, %r19, " + std::to_string(rounds) +
            "; @%p1 bra AGAIN;\n";
  for (unsigned i = 0; i < kRegisters; ++i)
    body += "st.global.u32 [%rd0+" + std::to_string(4 * i) + "], " + reg(i) + ";\n";
  return executable(body + "ret;", ".shared .align 16 .b8 tile[2048];\n");
}

/// Every `step`-th pair from the `from`-th on.
void check(const char *arch, unsigned threads, unsigned rounds, unsigned optLevel, unsigned from,
           unsigned step) {
  Form form;
  form.arch = arch;
  form.packed = true;
  form.optLevel = optLevel;
  form.block = {threads, 1, 1};
  for (unsigned pair = from; pair < std::size(kArms) * std::size(kArms); pair += step) {
    const Arm &first = kArms[pair / std::size(kArms)], &second = kArms[pair % std::size(kArms)];
    std::vector<uint32_t> expected(threads * kRegisters);
    for (unsigned thread = 0; thread < threads; ++thread) {
      uint32_t *r = &expected[thread * kRegisters];
      for (unsigned i = 0; i < kRegisters; ++i)
        r[i] = before(thread, i);
      for (unsigned round = 0; round < rounds; ++round)
        (thread & 32 ? second : first).expect(thread & 31, r);
    }
    EXPECT_EQ(
        run(divided(first, second, rounds), std::vector<uint32_t>(expected.size()), form).words,
        expected)
        << arch << ": " << first.name << " beside " << second.name;
  }
}

} // namespace

TEST(DividedWaves, EachWarpKeepsItsRegisters) {
  check("gfx942", 64, 1, 3, 0, 1);
  check("gfx90a", 64, 1, 3, 0, 3);
  check("gfx950", 64, 1, 3, 1, 3);
}

TEST(DividedWaves, RoundsOfALoop) { check("gfx942", 128, 3, 3, 1, 2); }

TEST(DividedWaves, Unoptimised) { check("gfx942", 64, 1, 0, 2, 3); }
