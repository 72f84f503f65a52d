// SPDX-License-Identifier: Apache-2.0
// atom and red: each operation on one location by all threads, or on one's own.
#include "tests/lowering/execution/Execution.h"
#include <bit>

using namespace rubia::lowering::test;

TEST(AtomicExecution, SumsOfAllThreads) {
  std::string ptx = executable(R"(
    atom.global.add.u32 %r0, [%buf], 1;
    red.global.add.u32 [%buf+4], %tid;
    red.global.max.s32 [%buf+8], %tid;
    red.global.min.u32 [%buf+12], %tid;
    mov.u32 %r1, 1; and.b32 %r2, %tid, 31; shl.b32 %r1, %r1, %r2;
    red.global.or.b32 [%buf+16], %r1;
    red.global.xor.b32 [%buf+20], %r1;
    red.global.add.f32 [%buf+24], 0f3F800000;
    atom.add.u32 %r3, [%buf+28], 2;)");
  std::vector<uint32_t> words = {0, 0, 0xfffffff0, 500, 0, 0, 0, 0};
  Form form;
  form.block = {96, 1, 1};
  EXPECT_EQ(runAll(ptx, words, form), (std::vector<uint32_t>{96, 95 * 96 / 2, 95, 0, ~0u, ~0u,
                                                             std::bit_cast<uint32_t>(96.0f), 192}));
}

TEST(AtomicExecution, ResultsAreTheOldValues) {
  // Each thread takes one ticket.
  std::string ptx = executable(R"(
    atom.shared.exch.b32 %r9, [s], 0;
    bar.sync 0;
    atom.shared.add.u32 %r0, [s], 1;
    mul.wide.u32 %rd0, %r0, 4; add.u64 %rd0, %rd0, %buf;
    red.global.add.u32 [%rd0], 7;)",
                               ".shared .u32 s;");
  Form form;
  form.block = {64, 1, 1};
  EXPECT_EQ(runAll(ptx, std::vector<uint32_t>(64), form), std::vector<uint32_t>(64, 7));
}

TEST(AtomicExecution, IncrementAndDecrementWrap) {
  std::string ptx = executable(R"(
    atom.global.inc.u32 %r0, [%buf], 5;    st.global.u32 [%buf+32], %r0;
    atom.global.inc.u32 %r0, [%buf+4], 5;
    atom.global.inc.u32 %r0, [%buf+8], 5;
    atom.global.dec.u32 %r0, [%buf+12], 5;
    atom.global.dec.u32 %r0, [%buf+16], 5;
    atom.global.dec.u32 %r0, [%buf+20], 5;
    atom.global.cas.b32 %r0, [%buf+24], 1, 77;
    atom.global.cas.b32 %r0, [%buf+28], 1, 77;)");
  std::vector<uint32_t> words = {4, 5, 9, 0, 3, 6, 1, 2, 0};
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, words, form), (std::vector<uint32_t>{5, 0, 0, 5, 2, 5, 77, 2, 4}));
}

TEST(AtomicExecution, SixtyFourBitsAndDoubles) {
  std::string ptx = executable(R"(
    cvt.u64.u32 %rd0, %tid; shl.b64 %rd0, %rd0, 31;
    red.global.add.u64 [%buf], %rd0;
    red.global.max.s64 [%buf+8], -3;
    red.global.add.f64 [%buf+16], 0d3FF0000000000000;
    atom.global.cas.b64 %rd1, [%buf+24], 5, 9;)");
  uint64_t sum = (31ull * 32 / 2) << 31, doubles = std::bit_cast<uint64_t>(32.0);
  std::vector<uint32_t> words = {0, 0, 0xfffffff0, 0xffffffff, 0, 0, 5, 0};
  EXPECT_EQ(runAll(ptx, words),
            (std::vector<uint32_t>{uint32_t(sum), uint32_t(sum >> 32), 0xfffffffd, 0xffffffff,
                                   uint32_t(doubles), uint32_t(doubles >> 32), 9, 0}));
}

TEST(AtomicExecution, HalfWordCompareAndSwap) {
  std::string ptx = executable(R"(
    mov.u16 %rs0, 7; mov.u16 %rs1, 9;
    atom.global.cas.b16 %rs2, [%buf+2], %rs0, %rs1;
    st.global.u16 [%buf+4], %rs2;)");
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, {0x00070001, 0}, form), (std::vector<uint32_t>{0x00090001, 7}));
}

// Adding 1 to 2^24 (f32) or 2^53 (f64) gives the same number again, however often; adding the sum
// of a wave's ones does not.
TEST(AtomicExecution, FloatsAreAddedOneByOne) {
  std::string ptx = executable(R"(
    atom.global.add.f32 %f0, [%buf+16], 0f3F800000;
    st.global.f32 [%mine], %f0;)");
  Form form;
  form.block = {4, 1, 1};
  uint32_t single = std::bit_cast<uint32_t>(0x1p24f);
  EXPECT_EQ(runAll(ptx, {0, 0, 0, 0, single}, form), std::vector<uint32_t>(5, single));

  ptx = executable("red.global.add.f64 [%buf], 0d3FF0000000000000;");
  uint64_t twice = std::bit_cast<uint64_t>(0x1p53);
  EXPECT_EQ(runAll(ptx, {uint32_t(twice), uint32_t(twice >> 32)}),
            (std::vector<uint32_t>{uint32_t(twice), uint32_t(twice >> 32)}));

  ptx = executable(R"(
    st.shared.f32 [s], 0f4B800000;
    bar.sync 0;
    red.shared.add.f32 [s], 0f3F800000;
    bar.sync 0;
    ld.shared.f32 %f0, [s];
    st.global.f32 [%mine], %f0;)",
                   ".shared .f32 s;");
  EXPECT_EQ(runAll(ptx, std::vector<uint32_t>(32)), std::vector<uint32_t>(32, single));
}

// In shared memory add.f32 keeps denormals, also where everything else flushes them.
TEST(AtomicExecution, SharedFloatsKeepDenormals) {
  for (const char *add : {"atom.shared.add.f32 %f0, [s], %f1;", "red.shared.add.f32 [s], %f1;"}) {
    std::string ptx = executable(std::string(R"(
    mov.b32 %f1, 1;
    st.shared.f32 [s], %f1;)") + add +
                                     R"(
    ld.shared.u32 %r0, [s];
    st.global.u32 [%buf], %r0;
    ld.global.f32 %f2, [%buf+4];
    add.ftz.f32 %f2, %f2, %f2;
    st.global.f32 [%buf+4], %f2;)",
                                 ".shared .f32 s;");
    Form form;
    form.block = {1, 1, 1};
    EXPECT_EQ(runAll(ptx, {0, 1}, form), (std::vector<uint32_t>{2, 0})) << add;
  }
}
