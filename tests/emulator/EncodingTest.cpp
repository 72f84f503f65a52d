// SPDX-License-Identifier: Apache-2.0
// Encodings that no assembler writes: what is no instruction is refused, by LLVM's disassembler or
// before it, and never executed.
#include "tests/emulator/VectorAluAssembly.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::emulator::test {

namespace {

constexpr char kNone[] = "not an instruction";
constexpr char kSwap[] = "a swap with what is no vector register";
constexpr char kNegated[] = "neg of the packed integers of V_PK_ADD_U16 is not supported";

struct Encoding {
  const char *what;
  const char *cpu;
  std::vector<uint32_t> words;
  const char *refusal;
};

std::string textOf(const std::vector<uint32_t> &words) {
  std::string text;
  for (uint32_t word : words)
    text += ".long 0x" + utohexstr(word) + "\n";
  return text;
}

const Encoding kRefused[] = {
    // A swap writes its source: what is no register must not be taken for one.
    {"v_swap_b32 v0, 1.0", "gfx942", {0x7e00a2f2}, kSwap},
    {"v_swap_b32 v0, s5", "gfx942", {0x7e00a205}, kSwap},
    {"v_swap_b32 v0, 1.0", "gfx1030", {0x7e00caf2}, kSwap},
    {"v_swap_b32 v0, s5", "gfx1100", {0x7e00ca05}, kSwap},
    {"v_swap_b32 v0, 0x12345678", "gfx1201", {0x7e00caff, 0x12345678}, kSwap},
    {"v_swaprel_b32 v0, s5", "gfx1100", {0x7e00d005}, kSwap},
    {"v_swap_b16 v0, 1.0", "gfx1100", {0x7e00ccf2}, kSwap},
    {"v_permlane16_swap_b32 v0, 1.0", "gfx950", {0x7e00b2f2}, kSwap},
    {"v_permlane32_swap_b32 v0, s5", "gfx950", {0x7e00b405}, kSwap},
    // A literal behind eight bytes, which LLVM looks for beyond the end of what it has.
    {"VOP3 with a literal", "gfx90a", {0xd07c72ff, 0x012dfec5}, kNone},
    {"VOP3 with a literal", "gfx942", {0xd1059009, 0x13ae70ff}, kNone},
    {"VOP3P with a literal", "gfx90a", {0xd3b10000, 0x1800fe80}, kNone},
    {"MFMA with a literal", "gfx90a", {0xd3e45eff, 0xbbffa0ff}, kNone},
    {"MFMA with a literal", "gfx942", {0xd3c8a35c, 0x53fdfe92}, kNone},
    {"typed buffer with a literal", "gfx90a", {0xe8ff4cff, 0xff1dff34}, kNone},
    {"VOP3 with a literal", "gfx950", {0xd07c72ff, 0x012dfec5, 0x3f800000}, kNone},
    // What looks like a literal is the number of a result, behind which LLVM looks for one.
    {"v_cmp_o_f16 with result 255", "gfx1100", {0xd40ebeff, 0x17279112}, kNone},
    {"v_cmp_class_f16 with result 255", "gfx1201", {0xd47dfaff, 0x9aa3d3b6}, kNone},
    {"v_cmp_o_f16 with result 255", "gfx1030", {0xd40ebeff, 0x17279112}, kNone},
    // Scaled products.
    {"A is a literal", "gfx950", {0xd3ad8463, 0x379dfeff, 0x0de5d029, 0x4f3f8d63}, kNone},
    {"B is a literal", "gfx950", {0xd3ae879c, 0x950b40ff, 0x83c4faac, 0x6ad35bfd}, kNone},
    {"a literal scale", "gfx950", {0xd3ac0000, 0x00020ff, 0xd3ad0000, 0x04020100}, kNone},
    {"C is a literal", "gfx950", {0xd3ac0000, 0x00020100, 0xd3ad0000, 0x03fe0300}, kNone},
    // Barriers of gfx12 take a constant or M0.
    {"s_barrier_signal literal", "gfx1201", {0xbeaf4eff, 0x00000001}, kNone},
    {"s_barrier_signal_isfirst literal", "gfx1201", {0xbefe4fff, 0x00000001}, kNone},
    {"s_get_barrier_state literal", "gfx1201", {0xbeb650ff, 0x00000001}, kNone},
    {"s_barrier_init literal", "gfx1201", {0xbef651ff, 0x00000001}, kNone},
    {"s_barrier_join literal", "gfx1201", {0xbe8e52ff, 0x00000001}, kNone},
    // SDWA's selection 7.
    {"v_cmp sdwa src1_sel:7", "gfx950", {0x7c4ca0f9, 0xe726a6c1}, kNone},
    {"sdwa src1_sel:7", "gfx1030", {0x0f3174f9, 0x070170ff}, kNone},
    // The manuals know neg of floats only; LLVM has meant the sign of a half (docs/errata.md E25).
    {"v_pk_add_u16 neg_lo:[1,1]", "gfx942", {0xd38a4000, 0x78020501}, kNegated},
    {"v_pk_add_u16 neg_hi:[0,1]", "gfx1100", {0xcc0a4200, 0x18020501}, kNegated},
    {"v_pk_add_u16 neg_hi:[0,1]", "gfx1201", {0xcc0a4200, 0x18020501}, kNegated},
};

TEST(Encodings, WhatIsNoInstructionIsRefused) {
  for (const Encoding &encoding : kRefused)
    EXPECT_EQ(AssemblyWave(encoding.cpu).refusal(textOf(encoding.words)), encoding.refusal)
        << encoding.cpu << ": " << encoding.what;
}

// Hardware ignores fields that an instruction does not use; LLVM wants zeros there.
struct Unused {
  const char *cpu;
  std::vector<uint32_t> words;
  const char *plain; // what it is
};
const Unused kUnused[] = {
    {"gfx942", {0xd1138700, 0xfc0e0501}, "v_and_b32_e64 v0, v1, v2"}, // abs, clamp, omod, neg, src2
    {"gfx1100", {0xd51bff00, 0xfc0e0501}, "v_and_b32_e64 v0, v1, v2"},
    {"gfx1201", {0xd51bff00, 0xfc0e0501}, "v_and_b32_e64 v0, v1, v2"},
    {"gfx942", {0xd1010400, 0x84020501}, "v_add_f32_e64 v0, v1, v2"}, // abs and neg of source 2
    {"gfx1100", {0xd5030400, 0x84020501}, "v_add_f32_e64 v0, v1, v2"},
    {"gfx1030", {0xd5030600, 0xc4020501}, "v_add_f32_e64 v0, v1, |-v2|"}, // one used, one not
};

// An operand of six registers that is a constant, which has four: the rest is 0 (AddressSanitizer
// sees what is read).
TEST(Encodings, ConstantsAreNotReadBeyondTheirEnd) {
  AssemblyWave wave("gfx950");
  const std::string text = textOf({0xd261431e, 0x041df8f0});
  EXPECT_EQ(wave.refusal(text), "");
  wave.run(text);
}

// Instructions with a literal of their own, K. With v1 = 1 and v2 = 0 they give K or, where the
// constant is multiplied, K times 1. `bits` of the result are looked at, in v3 or in s3.
struct WithLiteral {
  const char *text;
  std::vector<const char *> cpus;
  uint32_t bits = ~0u;
  bool flushes = false; // denormals, which all of the literals below are
};
const WithLiteral kWithLiteral[] = {
    {"v_fmaak_f32 v3, v2, v2, K", {"gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"}},
    {"v_fmamk_f32 v3, v1, K, v2", {"gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"}},
    {"v_madak_f32 v3, v2, v2, K", {"gfx90a"}, ~0u, true},
    {"v_madmk_f32 v3, v1, K, v2", {"gfx90a"}, ~0u, true},
    {"v_fmaak_f16 v3, v2, v2, K", {"gfx1030"}, 0xffff},
    {"v_fmamk_f16 v3, v1, K, v2", {"gfx1030"}, 0xffff},
    {"v_fmaak_f16 v3.l, v2.l, v2.l, K", {"gfx1100", "gfx1201"}, 0xffff},
    {"v_fmamk_f16 v3.l, v1.l, K, v2.l", {"gfx1100", "gfx1201"}, 0xffff},
    {"v_madak_f16 v3, v2, v2, K", {"gfx90a", "gfx942", "gfx950"}, 0xffff},
    {"v_madmk_f16 v3, v1, K, v2", {"gfx90a", "gfx942", "gfx950"}, 0xffff},
    {"v_dual_fmaak_f32 v3, v2, v2, K :: v_dual_mov_b32 v4, v5", {"gfx1100", "gfx1201"}},
    {"v_dual_fmamk_f32 v3, v1, K, v2 :: v_dual_mov_b32 v4, K", {"gfx1100", "gfx1201"}},
    {"v_dual_mov_b32 v4, v5 :: v_dual_fmaak_f32 v3, v2, v2, K", {"gfx1100", "gfx1201"}},
    {"v_dual_mov_b32 v4, K :: v_dual_fmamk_f32 v3, v1, K, v2", {"gfx1100", "gfx1201"}},
    {"v_dual_fmaak_f32 v4, v2, v2, K :: v_dual_fmamk_f32 v3, v1, K, v2", {"gfx1100", "gfx1201"}},
    {"s_fmaak_f32 s3, s2, s2, K", {"gfx1201"}},
    {"s_fmamk_f32 s3, s1, K, s2", {"gfx1201"}},
};

TEST(Encodings, LiteralsThatLookLikeInlineConstants) {
  for (const WithLiteral &one : kWithLiteral)
    for (const char *cpu : one.cpus)
      for (uint32_t literal = 0x7f; literal <= 0x100; ++literal) {
        const bool isHalf = one.bits == 0xffff, isScalar = one.text[0] == 's';
        std::string text = one.text;
        for (size_t at = 0; (at = text.find('K', at)) != std::string::npos;)
          text.replace(at, 1, "0x" + utohexstr(literal));
        AssemblyWave wave(cpu);
        wave.set(1, isHalf ? 0x3c00 : 0x3f800000).set(2, 0);
        wave.s(1) = 0x3f800000;
        wave.s(2) = 0;
        wave.run(text);
        EXPECT_EQ((isScalar ? wave.s(3) : wave.v(3, 1)) & one.bits, one.flushes ? 0 : literal)
            << cpu << ": " << text;
      }
}

TEST(Encodings, UnusedFieldsMayHoldAnything) {
  for (const Unused &one : kUnused) {
    AssemblyWave filled(one.cpu), plain(one.cpu);
    std::string text = one.plain;
    if (const size_t at = text.find("|-v2|"); at != std::string::npos)
      text.replace(at, 5, "-|v2|");
    EXPECT_EQ(filled.refusal(textOf(one.words)), "") << one.cpu << ": " << text;
    filled.run(textOf(one.words));
    plain.run(text);
    for (unsigned lane = 0; lane < 32; ++lane)
      ASSERT_EQ(filled.v(0, lane), plain.v(0, lane)) << one.cpu << ": " << text;
  }
  const Encoding accepted[] = {
      {"ds_read_b32 with data", "gfx942", {0xd86c0000, 0x05030201}, ""},
      {"ds_load_b32 with data", "gfx1100", {0xd8d80000, 0x05030201}, ""},
      {"ds_load_b32 with data", "gfx1201", {0xd8d80000, 0x05030201}, ""},
      {"ds_write_b32 with a result", "gfx942", {0xd81a0000, 0x05030201}, ""},
      {"global_load_dword with data", "gfx942", {0xdc508000, 0x057f0301}, ""},
      {"global_load_b32 with data", "gfx1100", {0xdc520000, 0x057c0301}, ""},
      {"global_store_dword with a result", "gfx942", {0xdc708000, 0x057f0301}, ""},
  };
  for (const Encoding &encoding : accepted)
    EXPECT_EQ(AssemblyWave(encoding.cpu).refusal(textOf(encoding.words)), encoding.refusal)
        << encoding.cpu << ": " << encoding.what;
  // A source that is used has to be one.
  EXPECT_EQ(AssemblyWave("gfx942").refusal(".long 0xd1138700, 0xfc0e04d1"), kNone);
}

} // namespace
} // namespace rubia::emulator::test
