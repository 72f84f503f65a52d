// SPDX-License-Identifier: Apache-2.0
// Code objects as they come from an assembler, without what compilers add.
#define __HIP_PLATFORM_AMD__ 1
#include "tests/emulator/Fixture.h"
#include <cstring>
#include <hip/hip_runtime_api.h>

namespace {

using rubia::emulator::test::assemble;

struct Text {
  std::string type = ".type k,@function\n"; // of the symbol
  std::string size = "";                    // no .size
  std::string body = "";                    // in front of s_endpgm
  std::string behind = "";                  // the code
  std::string symbols = "";                 // more of them
  std::string metadata = "";                // more entries of the note
};

/// A kernel "k" of three words that stores the third one where the first two lead to.
std::string kernelText(const Text &text) {
  return ".text\n.globl k\n.p2align 8\n" + text.type + "k:\n" +
         "  s_load_b64 s[2:3], s[0:1], 0x0\n  s_load_b32 s4, s[0:1], 0x8\n"
         "  s_waitcnt lgkmcnt(0)\n  v_mov_b32 v0, 0\n  v_mov_b32 v1, s4\n" +
         text.body + "  global_store_b32 v0, v1, s[2:3]\n  s_endpgm\n" + text.behind + text.size +
         text.symbols +
         ".rodata\n.p2align 6\n.amdhsa_kernel k\n  .amdhsa_next_free_vgpr 8\n"
         "  .amdhsa_next_free_sgpr 16\n  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
         "  .amdhsa_wavefront_size32 1\n.end_amdhsa_kernel\n.amdgpu_metadata\n---\n"
         "amdhsa.version: [1, 2]\n" +
         text.metadata +
         "amdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: 16\n"
         "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n"
         "    .kernarg_segment_align: 8\n    .wavefront_size: 32\n    .sgpr_count: 16\n"
         "    .vgpr_count: 8\n    .max_flat_workgroup_size: 32\n    .args:\n"
         "      - {.offset: 0, .size: 8, .value_kind: global_buffer}\n"
         "      - {.offset: 8, .size: 4, .value_kind: by_value}\n"
         "      - {.offset: 12, .size: 4, .value_kind: by_value}\n...\n.end_amdgpu_metadata\n";
}

/// What the kernel stores, or what is wrong.
std::string run(const std::vector<uint8_t> &object, size_t bufferBytes = 16) {
  testing::internal::CaptureStderr();
  hipModule_t module = nullptr;
  hipFunction_t function;
  uint32_t *out = nullptr;
  uint32_t value = 0;
  (void)hipMalloc(reinterpret_cast<void **>(&out), sizeof(*out));
  struct {
    uint32_t *out;
    uint32_t value, other;
  } arguments = {out, 42, 0};
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                   &bufferBytes, HIP_LAUNCH_PARAM_END};
  *out = 0xdead;
  hipError_t error = hipModuleLoadData(&module, object.data());
  if (!error)
    error = hipModuleGetFunction(&function, module, "k");
  if (!error)
    error = hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra);
  if (!error)
    error = hipDeviceSynchronize();
  if (error)
    (void)hipDeviceReset();
  else
    (void)hipMemcpy(&value, out, sizeof(value), hipMemcpyDeviceToHost);
  (void)hipFree(out);
  if (module)
    (void)hipModuleUnload(module);
  const std::string text = testing::internal::GetCapturedStderr();
  return error ? std::string(hipGetErrorName(error)) + ": " + text : std::to_string(value);
}

std::string run(const Text &text, size_t bufferBytes = 16) {
  return run(assemble(kernelText(text)), bufferBytes);
}
std::string runLinked(const Text &text) {
  return run(assemble(kernelText(text), "gfx1100", "-Wl,--unresolved-symbols=ignore-all"));
}

TEST(HandWritten, SymbolsNeedNoSizeNorType) {
  EXPECT_EQ(run(Text{.size = ".size k, . - k\n"}), "42");
  EXPECT_EQ(run(Text{}), "42");
  EXPECT_EQ(run(Text{.type = ""}), "42");
  EXPECT_EQ(run(Text{.type = ".type k,@notype\n"}), "42");
  EXPECT_EQ(runLinked(Text{}), "42");
  EXPECT_EQ(runLinked(Text{.type = ""}), "42");
}

TEST(HandWritten, WhatLiesBehindTheCodeNeedNotBeCode) {
  EXPECT_EQ(run(Text{.behind = "  .long 0xffffffff, 0x12345678\n"}), "42");
  // A graphics instruction that is never executed, a branch to nowhere, and another function.
  EXPECT_EQ(run(Text{.behind = "  exp mrt0 v0, v0, v0, v0 done\n  .long 0xbfa07fff\n"
                               ".type f,@function\nf:\n  s_setpc_b64 s[30:31]\n"}),
            "42");
  // Where it is executed, it is a fault with the reason.
  const std::string text = run(Text{.body = "  exp mrt0 v0, v0, v0, v0 done\n"});
  EXPECT_NE(text.find("graphics instructions are out of scope"), std::string::npos) << text;
  const std::string garbage = run(Text{.body = "  .long 0xffffffff\n"});
  EXPECT_NE(garbage.find("not an instruction"), std::string::npos) << garbage;
  // A function with a size is refused as a whole, when it is loaded.
  const std::string sized =
      run(Text{.size = ".size k, . - k\n", .body = "  exp mrt0 v0, v0, v0, v0 done\n"});
  EXPECT_NE(sized.find("cannot execute"), std::string::npos) << sized;
}

TEST(HandWritten, UndefinedSymbolsMatterWhereTheyAreUsed) {
  EXPECT_EQ(run(Text{.symbols = ".globl nowhere\n"}), "42");
  EXPECT_EQ(run(Text{.symbols = ".weak nowhere\n.data\n.quad nowhere\n"}), "42");
  EXPECT_EQ(runLinked(Text{.symbols = ".globl nowhere\n"}), "42");
  EXPECT_EQ(runLinked(Text{.symbols = ".weak nowhere\n.data\n.quad nowhere\n"}), "42");
  const std::string linked = runLinked(Text{.symbols = ".data\n.quad nowhere\n"});
  EXPECT_NE(linked.find("undefined symbol nowhere"), std::string::npos) << linked;
  const std::string text = run(Text{.symbols = ".data\n.quad nowhere\n"});
  EXPECT_NE(text.find("undefined symbol nowhere"), std::string::npos) << text;
}

TEST(HandWritten, OtherToolsMetadata) {
  // The text of an entry becomes a map whose keys are numbers: {1: 2, -3: 4}, and 7 bytes of text.
  std::vector<uint8_t> object =
      assemble(kernelText(Text{.metadata = "other.tool: ABCDEFGHIJKL\n"}));
  const char text[] = "ABCDEFGHIJKL";
  auto at = std::search(object.begin(), object.end(), text, text + 12);
  ASSERT_NE(at, object.end());
  ASSERT_EQ(at[-1], 0xac); // a text of 12 bytes
  const uint8_t map[] = {0x83, 1, 2, 0xfd, 4, 0xc3, 0xa6, 'a', 'b', 'c', 'd', 'e', 'f'};
  std::copy(std::begin(map), std::end(map), at - 1);
  EXPECT_EQ(run(object), "42");
}

TEST(HandWritten, BuffersOfArgumentsMayBeShort) {
  EXPECT_EQ(run(Text{}, 12), "42");
  EXPECT_EQ(run(Text{}, 8), "0"); // what is not there
}

} // namespace
