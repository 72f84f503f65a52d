// SPDX-License-Identifier: Apache-2.0
// Errata E1: the tied source of a dual instruction's Y half.
#include "tests/emulator/Fixture.h"
#include "tests/emulator/VectorAluAssembly.h"

using namespace rubia::emulator::test;

namespace {

class DualInstructions : public EmulatorTest {};

TEST_F(DualInstructions, TheTiedSourceOfYIsItsResult) {
  load(compile(
      "kernel void k(global float *out) {\n"
      "  float sum;\n"
      "  __asm__ volatile(\"v_mov_b32 v28, 1.0\\n v_mov_b32 v29, 4.0\\n\"\n"
      "               \"v_mov_b32 v18, 2.0\\n v_mov_b32 v17, 0.5\\n\"\n"
      "               \"v_mov_b32 v25, 2.0\\n v_mov_b32 v16, 1.0\\n\"\n"
      "               \"v_dual_sub_f32 v24, v25, v16 :: v_dual_fmac_f32 v29, v18, v17\\n\"\n"
      "               \"v_mov_b32 %0, v29\"\n"
      "               : \"=v\"(sum) : : \"v16\", \"v17\", \"v18\", \"v24\", \"v25\", \"v28\", "
      "\"v29\");\n"
      "  *out = sum;\n"
      "}"));
  ASSERT_TRUE(code);
  float *out = allocate<float>(1);
  expectRun("k", {1}, {1}, Arguments().add(out));
  EXPECT_EQ(*out, 5.0f); // 2 * 0.5 + 4; with v28 it would be 2

  // The pair is one instruction of the hardware, two steps of the emulator.
  const uint64_t steps = statistics.instructions;
  rubia::emulator::Launch request;
  request.kernel = code->kernel("k");
  Arguments arguments = Arguments().add(out);
  request.kernarg = arguments.bytes;
  request.countOperations = true;
  auto counted = rubia::emulator::run(request, memory);
  ASSERT_TRUE(bool(counted)) << llvm::toString(counted.takeError());
  uint64_t sum = 0;
  for (const rubia::emulator::OperationCount &operation : counted->operations)
    sum += operation.waves;
  EXPECT_EQ(counted->instructions, sum);
  EXPECT_EQ(counted->instructions + 1, steps);
}

// The halves exchange registers through one of the decoder's, of which the check must know too.
TEST_F(DualInstructions, ExchangeUndefinedRegisters) {
  for (const bool isDefined : {false, true}) {
    load(compile(std::string("kernel void k(global int *out) {\n"
                             "  uint index;\n"
                             "  __asm__ volatile(\"v_mov_b32 v16, 0\\n\"\n"
                             "    \"v_dual_mov_b32 v16, v17 :: v_dual_mov_b32 v17, v16\\n\"\n"
                             "    \"v_mov_b32 %0, ") +
                 (isDefined ? "v17" : "v16") +
                 "\" : \"=v\"(index) : : \"v16\", \"v17\");\n"
                 "  out[index & 1] = 5;\n"
                 "}"));
    ASSERT_TRUE(code);
    rubia::emulator::Launch request;
    request.kernel = code->kernel("k");
    Arguments arguments = Arguments().add(allocate<int>(2));
    request.kernarg = arguments.bytes;
    request.checks.emplace().uninitialised = true;
    auto result = rubia::emulator::run(request, memory);
    const std::string message = result ? "" : toString(result.takeError());
    EXPECT_EQ(llvm::StringRef(message).contains("nobody has written this register"), !isDefined)
        << message;
  }
}

// Packed operands are taken whole, also where the handler for all modes does it.
TEST_F(DualInstructions, DotProductsTakeBothHalves) {
  for (uint32_t mode : {0xf0u, 0x30u}) // halves keep denormals, or flush them
    for (const char *text : {"v_dual_dot2acc_f32_f16 v8, v1, v2 :: v_dual_mov_b32 v5, v3",
                             "v_dual_mov_b32 v4, v3 :: v_dual_dot2acc_f32_f16 v9, v1, v2"}) {
      AssemblyWave w("gfx1100");
      w.wave.setMode(mode);
      w.set(1, 0x40004200).set(2, 0x44003c00).set(8, 0x3f800000).set(9, 0x3f800000);
      w.run(text); // 3 * 1 + 2 * 4 + 1
      EXPECT_EQ(w.v(text[7] == 'd' ? 8 : 9, 3), 0x41400000u) << text << ", MODE " << mode;
    }
}

} // namespace
