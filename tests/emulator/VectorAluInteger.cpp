// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic, logic, shifts, bytes: edge values from the RDNA3 ISA's definitions.
#include "tests/emulator/VectorAluCase.h"

#include <gtest/gtest.h>
#include <random>

namespace rubia::emulator::test {

static Setting clampCarry(bool in, bool out) {
  return {.saturate = true, .carryIn = in, .carryOut = out};
}

static std::vector<Case> cases32() {
  return {
      {"V_ADD_U32", {i(-1), 2}, 1},
      {"V_ADD_U32", {i(-1), 2}, i(-1), kClamp},
      {"V_ADD_U32", {1, 2}, 3, kClamp},
      {"V_SUB_U32", {1, 2}, i(-1)},
      {"V_SUB_U32", {1, 2}, 0, kClamp},
      {"V_SUB_U32", {5, 2}, 3, kClamp},
      {"V_SUBREV_U32", {1, 2}, 1},
      {"V_SUBREV_U32", {2, 1}, 0, kClamp},
      {"V_ADD_I32", {0x7fffffff, 1}, 0x80000000},
      {"V_ADD_I32", {0x7fffffff, 1}, 0x7fffffff, kClamp},
      {"V_ADD_I32", {0x80000000, i(-1)}, 0x80000000, kClamp},
      {"V_SUB_I32", {0x80000000, 1}, 0x7fffffff},
      {"V_SUB_I32", {0x80000000, 1}, 0x80000000, kClamp},
      {"V_SUB_I32", {0, 0x80000000}, 0x7fffffff, kClamp},
      {"V_ADD_CO_U32", {i(-1), 1}, 0, carry(false, true)},
      {"V_ADD_CO_U32", {i(-2), 1}, i(-1), carry(false, false)},
      {"V_ADD_CO_U32", {i(-1), 1}, i(-1), clampCarry(false, true)},
      {"V_SUB_CO_U32", {0, 1}, i(-1), carry(false, true)},
      {"V_SUB_CO_U32", {1, 1}, 0, carry(false, false)},
      {"V_SUB_CO_U32", {0, 1}, 0, clampCarry(false, true)},
      {"V_SUBREV_CO_U32", {1, 0}, i(-1), carry(false, true)},
      {"V_SUBREV_CO_U32", {1, 5}, 4, carry(false, false)},
      {"V_ADDC_U32", {i(-1), 0}, 0, carry(true, true)},
      {"V_ADDC_U32", {i(-1), i(-1)}, i(-1), carry(true, true)},
      {"V_ADDC_U32", {1, 2}, 4, carry(true, false)},
      {"V_ADDC_U32", {1, 2}, 3, carry(false, false)},
      {"V_SUBB_U32", {0, 0}, i(-1), carry(true, true)},
      {"V_SUBB_U32", {5, 2}, 2, carry(true, false)},
      {"V_SUBB_U32", {0, i(-1)}, 0, carry(true, true)},
      {"V_SUBBREV_U32", {2, 5}, 2, carry(true, false)},
      {"V_SUBBREV_U32", {5, 5}, i(-1), carry(true, true)},
      {"V_ADD3_U32", {i(-1), 2, 3}, 4},
      {"V_LSHL_ADD_U32", {3, 33, 1}, 7},
      {"V_ADD_LSHL_U32", {3, 1, 36}, 64},
      {"V_XAD_U32", {6, 3, 10}, 15},
      {"V_MUL_LO_U32", {0x10000, 0x10001}, 0x10000},
      {"V_MUL_LO_I32", {i(-3), 5}, i(-15)},
      {"V_MUL_HI_U32", {i(-1), i(-1)}, 0xfffffffe},
      {"V_MUL_HI_I32", {i(-1), 1}, i(-1)},
      {"V_MUL_HI_I32", {0x80000000, 0x80000000}, 0x40000000},
      {"V_MUL_I32_I24", {0xff800000, 2}, i(-0x800000 * 2)},
      {"V_MUL_I32_I24", {0x12ffffff, 5}, i(-5)},
      {"V_MUL_I32_I24", {0x7fffff, 0x7fffff}, 0x7fffffff, kClamp},
      {"V_MUL_HI_I32_I24", {0x800000, 0x800000}, 0x4000},
      {"V_MUL_HI_I32_I24", {0xffffff, 1}, i(-1)},
      {"V_MUL_U32_U24", {0xff000003, 5}, 15},
      {"V_MUL_U32_U24", {0xffffff, 0xffffff}, 0xfe000001},
      {"V_MUL_HI_U32_U24", {0xffffff, 0xffffff}, 0xffff},
      {"V_MAD_I32_I24", {0xffffff, 5, 7}, 2},
      {"V_MAD_I32_I24", {0x7fffff, 0x100, 0x7fffffff}, 0x7fffffff, kClamp},
      {"V_MAD_U32_U24", {0xff000002, 3, 4}, 10},
      {"V_MAD_U32_U24", {0xffffff, 0xffffff, 0}, i(-1), kClamp},
      {"V_MAD_I32_I16", {0xffff, 2, 5}, 3},
      {"V_MAD_I32_I16", {0x8000, 0x8000, 0x7fffffff}, 0x7fffffff, kClamp},
      {"V_MAD_U32_U16", {0xffff, 0xffff, 1}, 0xfffe0002},
      {"V_MIN_I32", {i(-1), 1}, i(-1)},
      {"V_MAX_I32", {i(-1), 1}, 1},
      {"V_MIN_U32", {i(-1), 1}, 1},
      {"V_MAX_U32", {i(-1), 1}, i(-1)},
      {"V_MIN3_I32", {3, i(-5), 1}, i(-5)},
      {"V_MAX3_I32", {3, i(-5), 1}, 3},
      {"V_MIN3_U32", {3, i(-5), 1}, 1},
      {"V_MAX3_U32", {3, i(-5), 1}, i(-5)},
      {"V_MED3_I32", {3, i(-5), 1}, 1},
      {"V_MED3_I32", {i(-5), 1, 3}, 1},
      {"V_MED3_I32", {1, 3, i(-5)}, 1},
      {"V_MED3_U32", {3, i(-5), 1}, 3},
      {"V_MAXMIN_I32", {i(-5), 3, 1}, 1},
      {"V_MINMAX_I32", {i(-5), 3, 1}, 1},
      {"V_MAXMIN_U32", {i(-5), 3, 1}, 1},
      {"V_MINMAX_U32", {i(-5), 3, 1}, 3},
      {"V_AND_B32", {0xff00ff00, 0x0ff00ff0}, 0x0f000f00},
      {"V_OR_B32", {0xff00ff00, 0x0ff00ff0}, 0xfff0fff0},
      {"V_XOR_B32", {0xff00ff00, 0x0ff00ff0}, 0xf0f0f0f0},
      {"V_XNOR_B32", {0xff00ff00, 0x0ff00ff0}, 0x0f0f0f0f},
      {"V_NOT_B32", {0xff00ff00}, 0x00ff00ff},
      {"V_AND_OR_B32", {12, 10, 1}, 9},
      {"V_OR3_B32", {1, 2, 4}, 7},
      {"V_XOR3_B32", {7, 3, 1}, 5},
      {"V_LSHL_OR_B32", {3, 34, 1}, 13},
      {"V_LSHLREV_B32", {33, 3}, 6},
      {"V_LSHRREV_B32", {63, 0x80000000}, 1},
      {"V_ASHRREV_I32", {63, 0x80000000}, i(-1)},
      {"V_BFE_U32", {0xabcd1234, 8, 8}, 0x12},
      {"V_BFE_U32", {0xabcd1234, 28, 31}, 0xa},
      {"V_BFE_U32", {0xabcd1234, 8, 32}, 0},
      {"V_BFE_I32", {0x0000f000, 12, 4}, i(-1)},
      {"V_BFE_I32", {0x00007000, 12, 4}, 7},
      {"V_BFE_I32", {0x80000000, 28, 16}, i(-8)},
      {"V_BFE_I32", {0xffffffff, 4, 0}, 0},
      {"V_BFI_B32", {0xff00, 0x1234, 0xabcd}, 0x12cd},
      {"V_BFM_B32", {4, 8}, 0xf00},
      {"V_BFM_B32", {32, 8}, 0},
      {"V_BFREV_B32", {0x80000001}, 0x80000001},
      {"V_BFREV_B32", {0x12345678}, 0x1e6a2c48},
      {"V_BCNT_U32_B32", {0xffffffff, 5}, 37},
      {"V_BCNT_U32_B32", {0x80000101, 0}, 3},
      {"V_FFBH_U32", {0}, i(-1)},
      {"V_FFBH_U32", {1}, 31},
      {"V_FFBH_U32", {0x80000000}, 0},
      {"V_FFBL_B32", {0}, i(-1)},
      {"V_FFBL_B32", {0x80000000}, 31},
      {"V_FFBL_B32", {0x30}, 4},
      {"V_FFBH_I32", {0}, i(-1)},
      {"V_FFBH_I32", {i(-1)}, i(-1)},
      {"V_FFBH_I32", {0xc0000000}, 2},
      {"V_FFBH_I32", {0x80000000}, 1},
      {"V_FFBH_I32", {1}, 31},
      {"V_ALIGNBIT_B32", {0x12345678, 0x9abcdef0, 8}, 0x789abcde},
      {"V_ALIGNBIT_B32", {0x12345678, 0x9abcdef0, 32}, 0x9abcdef0},
      {"V_ALIGNBYTE_B32", {0x12345678, 0x9abcdef0, 5}, 0x789abcde},
  };
}

static std::vector<Case> cases16() {
  std::vector<Case> cases = {
      {"V_SUBREV_U16", {1, 2}, 1},
      {"V_ADD_I16", {0x7fff, 1}, 0x8000},
      {"V_ADD_I16", {0x7fff, 1}, 0x7fff, kClamp},
      {"V_SUB_I16", {0x8000, 1}, 0x8000, kClamp},
      {"V_SUB_I16", {1, 2}, 0xffff},
      {"V_MUL_LO_U16", {0xffff, 0xffff}, 1},
      {"V_MAD_U16", {0xffff, 2, 3}, 1},
      {"V_MAD_U16", {0xffff, 2, 3}, 0xffff, kClamp},
      {"V_MAD_I16", {0xffff, 2, 3}, 1},
      {"V_MAD_I16", {0x8000, 0x8000, 0}, 0x7fff, kClamp},
      {"V_MIN_I16", {0xffff, 1}, 0xffff},
      {"V_MAX_I16", {0xffff, 1}, 1},
      {"V_MIN_U16", {0xffff, 1}, 1},
      {"V_MAX_U16", {0xffff, 1}, 0xffff},
      {"V_MIN3_I16", {3, 0xfffb, 1}, 0xfffb},
      {"V_MAX3_I16", {3, 0xfffb, 1}, 3},
      {"V_MIN3_U16", {3, 0xfffb, 1}, 1},
      {"V_MAX3_U16", {3, 0xfffb, 1}, 0xfffb},
      {"V_MED3_I16", {3, 0xfffb, 1}, 1},
      {"V_MED3_U16", {3, 0xfffb, 1}, 3},
      {"V_AND_B16", {0xff00, 0x0ff0}, 0x0f00},
      {"V_OR_B16", {0xff00, 0x0ff0}, 0xfff0},
      {"V_XOR_B16", {0xff00, 0x0ff0}, 0xf0f0},
      {"V_NOT_B16", {0xff00}, 0x00ff},
      {"V_LSHLREV_B16", {17, 0xc001}, 0x8002},
      {"V_LSHRREV_B16", {31, 0x8000}, 1},
      {"V_ASHRREV_I16", {31, 0x8000}, 0xffff},
  };
  for (const char *op : {"V_ADD_NC_U16", "V_ADD_U16"}) {
    cases.push_back({op, {0xffff, 2}, 1});
    cases.push_back({op, {0xffff, 2}, 0xffff, kClamp});
  }
  for (const char *op : {"V_SUB_NC_U16", "V_SUB_U16"}) {
    cases.push_back({op, {1, 2}, 0xffff});
    cases.push_back({op, {1, 2}, 0, kClamp});
  }
  return cases;
}

static std::vector<Case> cases64() {
  constexpr uint64_t kMin = 0x8000000000000000, kMax = 0x7fffffffffffffff, kAll = ~uint64_t(0);
  return {
      {"V_LSHLREV_B64", {68, 3}, 48},
      {"V_LSHRREV_B64", {127, kMin}, 1},
      {"V_ASHRREV_I64", {127, kMin}, kAll},
      {"V_LSHL_ADD_U64", {3, 4, kAll}, 47},
      {"V_LSHL_ADD_U64", {3, 5, 1}, 4}, // no such shift
      {"V_MOV_B64", {0x123456789abcdef0}, 0x123456789abcdef0},
      {"V_MAD_U64_U32", {i(-1), i(-1), 0}, 0xfffffffe00000001, carry(false, false)},
      {"V_MAD_U64_U32", {i(-1), i(-1), kAll}, 0xfffffffe00000000, carry(false, true)},
      {"V_MAD_U64_U32", {2, 3, 4}, 10, carry(false, false)},
      {"V_MAD_U64_U32", {2, 3, kAll}, kAll, clampCarry(false, true)},
      {"V_MAD_I64_I32", {i(-1), 5, 7}, 2, carry(false, false)},
      {"V_MAD_I64_I32", {i(-1), 5, 3}, kAll - 1, carry(false, true)},
      {"V_MAD_I64_I32", {2, 2, kMax}, kMin + 3, carry(false, false)},
      {"V_MAD_I64_I32", {2, 2, kMax}, kMax, clampCarry(false, false)},
      {"V_MAD_I64_I32", {i(-2), 2, kMin}, kMax - 3, carry(false, true)},
      {"V_MAD_I64_I32", {i(-2), 2, kMin}, kMin, clampCarry(false, true)},
  };
}

static std::vector<Case> byteCases() {
  return {
      {"V_PERM_B32", {0x77665544, 0x33221100, 0x07050301}, 0x77553311},
      {"V_PERM_B32", {0x80008000, 0x80007f00, 0x0b0a0908}, 0xffffff00},
      {"V_PERM_B32", {0x77665544, 0x33221100, 0x0c0dff00}, 0x00ffff00},
      {"V_LERP_U8", {0xff000103, 0xff010204, 0x00010001}, 0xff010104},
      {"V_SAD_U8", {0x01ff0010, 0x02000000, 100}, 100 + 1 + 255 + 16},
      {"V_SAD_U8", {0xff, 0, i(-1)}, i(-1), kClamp},
      {"V_SAD_HI_U8", {0x01ff0010, 0x02000000, 5}, (272 << 16) + 5},
      {"V_SAD_U16", {0xffff0001, 0x00000003, 1}, 0xffff + 2 + 1},
      {"V_SAD_U32", {1, 0x80000000, 1}, 0x80000000},
      {"V_MSAD_U8", {0x01ff0010, 0x02000001, 100}, 100 + 1 + 15},
      // Window bytes 1 2 3 4 5 6 7 8 against 1 1 1 1: 6, 10, 14, 18.
      {"V_QSAD_PK_U16_U8",
       {0x0807060504030201, 0x01010101, 0xfffe000000010000},
       0x0010000e000b0006},
      {"V_QSAD_PK_U16_U8",
       {0x0807060504030201, 0x01010101, 0xfffe000000010000},
       0xffff000e000b0006,
       kClamp},
      // Only bytes 0 and 2 of the reference count: 2, 4, 6, 8.
      {"V_MQSAD_PK_U16_U8", {0x0807060504030201, 0x00010001, 0}, 0x0008000600040002},
  };
}

std::vector<Case> integerCases() {
  std::vector<Case> cases = cases32();
  // The three columns of a truth table, and the functions that the CDNA4 ISA lists.
  const uint64_t a = 0xf0f0ff00, b = 0xccccf0f0, c = 0xaaaacccc;
  struct {
    uint32_t table;
    uint64_t result;
  } const kTables[] = {
      {0xfe, a | b | c}, {0x96, a ^ b ^ c}, {0xea, (a & b) | c}, {0x01, ~(a | b | c)}};
  for (const auto &t : kTables) {
    cases.push_back({"V_BITOP3_B32", {a, b, c}, i(int64_t(t.result)), {.immediate = t.table}});
    cases.push_back({"V_BITOP3_B16", {a, b, c}, t.result & 0xffff, {.immediate = t.table}});
  }
  cases.insert(cases.end(), {{"V_PRNG_B32", {1}, 2},
                             {"V_PRNG_B32", {0xc0000001}, 0x80000002 ^ 197},
                             {"V_ASHR_PK_I8_I32", {i(-1000), 254, 33}, 0x7f80},
                             {"V_ASHR_PK_I8_I32", {i(-4), 6, 1}, 0x03fe},
                             {"V_ASHR_PK_U8_I32", {i(-1000), 254, 33}, 0x7f00},
                             {"V_ASHR_PK_U8_I32", {600, 510, 1}, 0xffff}});
  for (auto more : {cases16(), cases64(), byteCases()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

TEST(VectorAluInteger, Cases) { check(integerCases()); }

// Its accumulators are four registers, which a case cannot hold.
TEST(VectorAluInteger, FourMaskedSums) {
  uint32_t window[2 * kBlockLanes], reference[kBlockLanes], sums[4 * kBlockLanes],
      result[4 * kBlockLanes];
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    window[lane] = 0x04030201;
    window[lane + kBlockLanes] = 0x08070605;
    reference[lane] = 0x00010001;
    for (unsigned n = 0; n < 4; ++n)
      sums[lane + n * kBlockLanes] = 0xfffffff8 + lane;
  }
  LaneState state;
  kernelOf("V_MQSAD_U32_U8")(result, window, reference, sums, state);
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    for (unsigned n = 0; n < 4; ++n)
      EXPECT_EQ(result[lane + n * kBlockLanes], 0xfffffff8 + lane + 2 * (n + 1));
}

} // namespace rubia::emulator::test
