// SPDX-License-Identifier: Apache-2.0
// The scalar rows, one line each: operands, SCC before, result, SCC after. Rows on floats obey
// MODE. What touches more than its destination is tested by kernels (AbiTest, AbiScalarTest).
#include "emulator/lib/machine/Workgroup.h"
#include "emulator/lib/scalar/ScalarAlu.h"
#include "targets/Target.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace rubia::emulator;

namespace {

constexpr int kSame = 2; // SCC is left alone

struct Case {
  const char *row;
  std::vector<uint64_t> sources;
  uint64_t result;
  int sccAfter = kSame;
  int sccBefore = 0;
  uint64_t old = 0; // what the destination held
  uint32_t mode = 0xf0;
};

constexpr unsigned kResult = 10, kSource = 20; // SGPRs

const Case kCases[] = {
    {"S_ADD_U32", {0xffffffff, 2}, 1, 1},
    {"S_ADD_U32", {1, 2}, 3, 0},
    {"S_SUB_U32", {1, 2}, 0xffffffff, 1},
    {"S_ADD_I32", {0x7fffffff, 1}, 0x80000000, 1},
    {"S_SUB_I32", {0x80000000, 1}, 0x7fffffff, 1},
    {"S_ADDC_U32", {0xffffffff, 0}, 0, 1, 1},
    {"S_SUBB_U32", {0, 0}, 0xffffffff, 1, 1},
    {"S_ADD_U64", {0xffffffff, 1}, 0x100000000},
    {"S_SUB_U64", {0, 1}, 0xffffffffffffffff},
    {"S_MUL_U64", {0x100000001, 0x200000003}, 0x500000003},
    {"S_ABSDIFF_I32", {3, 0xfffffffe}, 5, 1},
    {"S_MIN_I32", {0xffffffff, 1}, 0xffffffff, 1},
    {"S_MIN_U32", {0xffffffff, 1}, 1, 0},
    {"S_MAX_I32", {0xffffffff, 1}, 1, 0},
    {"S_MAX_U32", {0xffffffff, 1}, 0xffffffff, 1},
    {"S_CSELECT_B32", {7, 8}, 7, kSame, 1},
    {"S_CSELECT_B64", {7, 0x800000000}, 0x800000000, kSame, 0},
    {"S_AND_B32", {12, 10}, 8, 1},
    {"S_AND_B64", {12ull << 32, 10ull << 32}, 8ull << 32, 1},
    {"S_OR_B32", {0, 0}, 0, 0},
    {"S_OR_B64", {1ull << 40, 1}, 1ull << 40 | 1, 1},
    {"S_XOR_B32", {12, 10}, 6, 1},
    {"S_XOR_B64", {1ull << 40, 1ull << 40}, 0, 0},
    {"S_ANDN2_B32", {12, 10}, 4, 1},
    {"S_ANDN2_B64", {12, 10}, 4, 1},
    {"S_ORN2_B32", {0, 0xfffffff0}, 15, 1},
    {"S_ORN2_B64", {0, ~uint64_t(15)}, 15, 1},
    {"S_NAND_B32", {0xffffffff, 0xfffffff0}, 15, 1},
    {"S_NAND_B64", {~uint64_t(0), ~uint64_t(15)}, 15, 1},
    {"S_NOR_B32", {0xfffffff0, 8}, 7, 1},
    {"S_NOR_B64", {~uint64_t(15), 8}, 7, 1},
    {"S_XNOR_B32", {0xfffffff0, 8}, 7, 1},
    {"S_XNOR_B64", {~uint64_t(15), 8}, 7, 1},
    {"S_LSHL_B32", {3, 33}, 6, 1},
    {"S_LSHL_B64", {3, 65}, 6, 1},
    {"S_LSHR_B32", {0x80000000, 31}, 1, 1},
    {"S_LSHR_B64", {1ull << 63, 63}, 1, 1},
    {"S_ASHR_I32", {0x80000000, 31}, 0xffffffff, 1},
    {"S_ASHR_I64", {1ull << 63, 63}, ~uint64_t(0), 1},
    {"S_BFM_B32", {4, 8}, 0xf00},
    {"S_BFM_B64", {4, 40}, 0xfull << 40},
    {"S_MUL_I32", {0xffffffff, 3}, 0xfffffffd},
    {"S_MUL_HI_U32", {0xffffffff, 0xffffffff}, 0xfffffffe},
    {"S_MUL_HI_I32", {0xffffffff, 3}, 0xffffffff},
    {"S_BFE_U32", {0xabcd1234, 8 | 12 << 16}, 0xd12, 1},
    {"S_BFE_I32", {0xabcd1234, 24 | 8 << 16}, 0xffffffab, 1},
    {"S_BFE_U64", {0xab00000000000000, 56 | 8 << 16}, 0xab, 1},
    {"S_BFE_I64", {0xab00000000000000, 56 | 8 << 16}, 0xffffffffffffffab, 1},
    {"S_BFE_I64", {5, 0}, 0, 0},
    {"S_LSHL1_ADD_U32", {0x80000000, 5}, 5, 1},
    {"S_LSHL2_ADD_U32", {3, 5}, 17, 0},
    {"S_LSHL3_ADD_U32", {3, 5}, 29, 0},
    {"S_LSHL4_ADD_U32", {3, 5}, 53, 0},
    {"S_PACK_LL_B32_B16", {0x11112222, 0x33334444}, 0x44442222},
    {"S_PACK_LH_B32_B16", {0x11112222, 0x33334444}, 0x33332222},
    {"S_PACK_HL_B32_B16", {0x11112222, 0x33334444}, 0x44441111},
    {"S_PACK_HH_B32_B16", {0x11112222, 0x33334444}, 0x33331111},
    {"S_MOV_B32", {5}, 5},
    {"S_MOV_B64", {5ull << 40}, 5ull << 40},
    {"S_CMOV_B32", {5}, 9, kSame, 0, 9},
    {"S_CMOV_B64", {5}, 5, kSame, 1, 9},
    {"S_NOT_B32", {0xffffffff}, 0, 0},
    {"S_NOT_B64", {0xffffffff}, 0xffffffff00000000, 1},
    {"S_WQM_B32", {0x00100401}, 0x00f00f0f, 1},
    {"S_WQM_B64", {1ull << 63}, 0xfull << 60, 1},
    {"S_QUADMASK_B32", {0x00100401}, 0x25, 1},
    {"S_QUADMASK_B64", {1ull << 63}, 0x8000, 1},
    {"S_BREV_B32", {1}, 0x80000000},
    {"S_BREV_B64", {1}, 1ull << 63},
    {"S_BCNT0_I32_B32", {0xff}, 24, 1},
    {"S_BCNT0_I32_B64", {0xff}, 56, 1},
    {"S_BCNT1_I32_B32", {0}, 0, 0},
    {"S_BCNT1_I32_B64", {~uint64_t(0)}, 64, 1},
    {"S_FF0_I32_B32", {0xff}, 8},
    {"S_FF0_I32_B64", {~uint64_t(0)}, 0xffffffff},
    {"S_FF1_I32_B32", {0x100}, 8},
    {"S_FF1_I32_B64", {1ull << 40}, 40},
    {"S_FLBIT_I32_B32", {1}, 31},
    {"S_FLBIT_I32_B64", {0}, 0xffffffff},
    {"S_FLBIT_I32", {0xffff0000}, 16},
    {"S_FLBIT_I32_I64", {~uint64_t(0)}, 0xffffffff},
    {"S_SEXT_I32_I8", {0x80}, 0xffffff80},
    {"S_SEXT_I32_I16", {0x8000}, 0xffff8000},
    {"S_BITSET0_B32", {3}, 0xf7, kSame, 0, 0xff},
    {"S_BITSET0_B64", {40}, 0, kSame, 0, 1ull << 40},
    {"S_BITSET1_B32", {3}, 8, kSame, 0, 0},
    {"S_BITSET1_B64", {40}, 1ull << 40, kSame, 0, 0},
    {"S_BITREPLICATE_B64_B32", {0x80000005}, 0xc000000000000033},
    {"S_ABS_I32", {0xfffffffb}, 5, 1},
    {"S_CMP_EQ_I32", {1, 1}, 0, 1},
    {"S_CMP_LG_I32", {1, 1}, 0, 0},
    {"S_CMP_GT_I32", {1, 0xffffffff}, 0, 1},
    {"S_CMP_GE_I32", {1, 1}, 0, 1},
    {"S_CMP_LT_I32", {0xffffffff, 1}, 0, 1},
    {"S_CMP_LE_I32", {2, 1}, 0, 0},
    {"S_CMP_EQ_U32", {1, 2}, 0, 0},
    {"S_CMP_LG_U32", {1, 2}, 0, 1},
    {"S_CMP_GT_U32", {1, 0xffffffff}, 0, 0},
    {"S_CMP_GE_U32", {0xffffffff, 1}, 0, 1},
    {"S_CMP_LT_U32", {0xffffffff, 1}, 0, 0},
    {"S_CMP_LE_U32", {1, 0xffffffff}, 0, 1},
    {"S_CMP_EQ_U64", {1ull << 40, 1ull << 41}, 0, 0},
    {"S_CMP_LG_U64", {1ull << 40, 1ull << 41}, 0, 1},
    {"S_BITCMP0_B32", {4, 34}, 0, 0},
    {"S_BITCMP1_B32", {4, 34}, 0, 1},
    {"S_BITCMP0_B64", {1ull << 40, 40}, 0, 0},
    {"S_BITCMP1_B64", {1ull << 40, 40}, 0, 1},
    {"S_MOVK_I32", {0xffffffff}, 0xffffffff},
    {"S_CMOVK_I32", {5}, 5, kSame, 1, 9},
    {"S_ADDK_I32", {1}, 0x80000000, 1, 0, 0x7fffffff},
    {"S_MULK_I32", {3}, 15, kSame, 0, 5},
    {"S_CMPK_EQ_I32", {5, 5}, 0, 1},
    {"S_CMPK_LG_I32", {5, 5}, 0, 0},
    {"S_CMPK_GT_I32", {5, 0xffffffff}, 0, 1},
    {"S_CMPK_GE_I32", {5, 5}, 0, 1},
    {"S_CMPK_LT_I32", {5, 6}, 0, 1},
    {"S_CMPK_LE_I32", {7, 6}, 0, 0},
    {"S_CMPK_EQ_U32", {5, 6}, 0, 0},
    {"S_CMPK_LG_U32", {5, 6}, 0, 1},
    {"S_CMPK_GT_U32", {0xffffffff, 6}, 0, 1},
    {"S_CMPK_GE_U32", {5, 6}, 0, 0},
    {"S_CMPK_LT_U32", {5, 6}, 0, 1},
    {"S_CMPK_LE_U32", {6, 6}, 0, 1},
    // floats
    {"S_CVT_F32_I32", {0xffffffff}, 0xbf800000},
    {"S_CVT_F32_U32", {0xffffffff}, 0x4f800000},
    {"S_CVT_F32_U32", {0xffffffff}, 0x4f7fffff, kSame, 0, 0, 0xf3}, // toward zero
    {"S_CVT_I32_F32", {0xff800000}, 0x80000000},
    {"S_CVT_I32_F32", {0xbfc00000}, 0xffffffff},
    {"S_CVT_U32_F32", {0xbf800000}, 0},
    {"S_CVT_F16_F32", {0x3f801000}, 0x3c00},
    {"S_CVT_F16_F32", {0x3f801000}, 0x3c01, kSame, 0, 0, 0xf4}, // upward, f16's mode
    {"S_CVT_F32_F16", {0xbc00}, 0xbf800000},
    {"S_CVT_F32_F16", {0x0001}, 0x33800000},
    {"S_CVT_F32_F16", {0x0001}, 0, kSame, 0, 0, 0x30}, // f16 denormals are flushed
    {"S_CVT_HI_F32_F16", {0xbc000000}, 0xbf800000},
    {"S_CVT_PK_RTZ_F16_F32", {0x3f801fff, 0xbf800000}, 0xbc003c00},
    {"S_CEIL_F32", {0x3f8ccccd}, 0x40000000},
    {"S_FLOOR_F32", {0xbf8ccccd}, 0xc0000000},
    {"S_TRUNC_F32", {0xbf8ccccd}, 0xbf800000},
    {"S_RNDNE_F32", {0x40200000}, 0x40000000},
    {"S_RNDNE_F32", {0x40200000}, 0x40000000, kSame, 0, 0, 0xf1}, // whatever the mode
    {"S_CEIL_F16", {0x3c66}, 0x4000},
    {"S_FLOOR_F16", {0xbc66}, 0xc000},
    {"S_TRUNC_F16", {0xbc66}, 0xbc00},
    {"S_RNDNE_F16", {0x4100}, 0x4000},
    {"S_ADD_F32", {0x3f800000, 0x40000000}, 0x40400000},
    {"S_ADD_F32", {0x3f800000, 1}, 0x3f800001, kSame, 0, 0, 0xf1},
    {"S_ADD_F32", {0x00400000, 0}, 0, kSame, 0, 0, 0xc0},
    {"S_SUB_F32", {0x3f800000, 1}, 0x3f7fffff, kSame, 0, 0, 0xf2},
    {"S_MUL_F32", {0x40000000, 0x40400000}, 0x40c00000},
    {"S_MUL_F32", {0x00800000, 0x3f000000}, 0x00400000},
    {"S_MUL_F32", {0x00800000, 0x3f000000}, 0, kSame, 0, 0, 0xd0}, // the result is flushed
    {"S_MIN_F32", {0x7fc00000, 0x40400000}, 0x40400000},
    {"S_MIN_F32", {0x80000000, 0}, 0x80000000},
    {"S_MAX_F32", {0x40000000, 0x40400000}, 0x40400000},
    {"S_MINIMUM_F32", {0x7fc00000, 0x40400000}, 0x7fc00000},
    {"S_MAXIMUM_F32", {0x40000000, 0x40400000}, 0x40400000},
    {"S_FMAC_F32", {0x3f800001, 0x3f800001}, 0x28800000, kSame, 0, 0xbf800002},
    {"S_FMAAK_F32", {0x40000000, 0x40400000, 0x3f800000}, 0x40e00000},
    {"S_FMAMK_F32", {0x40000000, 0x40400000, 0x3f800000}, 0x40e00000},
    {"S_ADD_F16", {0x3c00, 0x4000}, 0x4200},
    {"S_SUB_F16", {0x3c00, 0x4000}, 0xbc00},
    {"S_MUL_F16", {0x4000, 0x4200}, 0x4600},
    {"S_MUL_F16", {0x7800, 0xf800}, 0xfc00},
    {"S_MUL_F16", {0x7800, 0xf800}, 0xfbff, kSame, 0, 0, 0x8000f0}, // FP16_OVFL
    {"S_MUL_F16", {0x7c00, 0xf800}, 0xfc00, kSame, 0, 0, 0x8000f0}, // a true infinity
    {"S_MIN_F16", {0x7e00, 0x4200}, 0x4200},
    {"S_MAX_F16", {0x4000, 0x4200}, 0x4200},
    {"S_MINIMUM_F16", {0x7e00, 0x4200}, 0x7e00},
    {"S_MAXIMUM_F16", {0x4000, 0x4200}, 0x4200},
    {"S_FMAC_F16", {0x4000, 0x4200}, 0x4700, kSame, 0, 0x3c00},
    {"S_CMP_LT_F32", {0x3f800000, 0x40000000}, 0, 1},
    {"S_CMP_LT_F32", {0, 1}, 0, 0, 0, 0, 0}, // a flushed denormal
    {"S_CMP_EQ_F32", {0x80000000, 0}, 0, 1},
    {"S_CMP_LE_F32", {0x7fc00000, 0}, 0, 0},
    {"S_CMP_GT_F32", {0x3f800000, 0x40000000}, 0, 0},
    {"S_CMP_LG_F32", {0x7fc00000, 0}, 0, 0},
    {"S_CMP_GE_F32", {0x40000000, 0x40000000}, 0, 1},
    {"S_CMP_O_F32", {0x7fc00000, 0}, 0, 0},
    {"S_CMP_U_F32", {0x7fc00000, 0}, 0, 1},
    {"S_CMP_NGE_F32", {0x7fc00000, 0}, 0, 1},
    {"S_CMP_NLG_F32", {0x7fc00000, 0}, 0, 1},
    {"S_CMP_NGT_F32", {0x3f800000, 0}, 0, 0},
    {"S_CMP_NLE_F32", {0x3f800000, 0}, 0, 1},
    {"S_CMP_NEQ_F32", {0x3f800000, 0x3f800000}, 0, 0},
    {"S_CMP_NLT_F32", {0x3f800000, 0x40000000}, 0, 0},
    {"S_CMP_LT_F16", {0x3c00, 0x4000}, 0, 1},
    {"S_CMP_EQ_F16", {0x8000, 0}, 0, 1},
    {"S_CMP_LE_F16", {0x7e00, 0}, 0, 0},
    {"S_CMP_GT_F16", {0x3c00, 0x4000}, 0, 0},
    {"S_CMP_LG_F16", {0x7e00, 0}, 0, 0},
    {"S_CMP_GE_F16", {0x4000, 0x4000}, 0, 1},
    {"S_CMP_O_F16", {0x7e00, 0}, 0, 0},
    {"S_CMP_U_F16", {0x7e00, 0}, 0, 1},
    {"S_CMP_NGE_F16", {0x7e00, 0}, 0, 1},
    {"S_CMP_NLG_F16", {0x7e00, 0}, 0, 1},
    {"S_CMP_NGT_F16", {0x3c00, 0}, 0, 0},
    {"S_CMP_NLE_F16", {0x3c00, 0}, 0, 1},
    {"S_CMP_NEQ_F16", {0x3c00, 0x3c00}, 0, 0},
    {"S_CMP_NLT_F16", {0x3c00, 0x4000}, 0, 0},
};

// EXEC before, source, EXEC after, destination after.
struct ExecCase {
  const char *row;
  uint64_t exec, source, execAfter, result;
};
const ExecCase kExecCases[] = {
    {"S_AND_SAVEEXEC", 0xc, 0xa, 0x8, 0xc},
    {"S_OR_SAVEEXEC", 0xc, 0xa, 0xe, 0xc},
    {"S_XOR_SAVEEXEC", 0xc, 0xa, 0x6, 0xc},
    {"S_ANDN2_SAVEEXEC", 0xc, 0xa, 0x2, 0xc}, // source & ~EXEC
    {"S_ANDN1_SAVEEXEC", 0xc, 0xa, 0x4, 0xc}, // ~source & EXEC
    {"S_ORN2_SAVEEXEC", 0xc, 0xa, ~uint64_t(0x4), 0xc},
    {"S_ORN1_SAVEEXEC", 0xc, 0xa, ~uint64_t(0x2), 0xc},
    {"S_NAND_SAVEEXEC", 0xc, 0xa, ~uint64_t(0x8), 0xc},
    {"S_NOR_SAVEEXEC", 0xc, 0xa, ~uint64_t(0xe), 0xc},
    {"S_XNOR_SAVEEXEC", 0xc, 0xa, ~uint64_t(0x6), 0xc},
    {"S_ANDN1_WREXEC", 0xc, 0xa, 0x4, 0x4},
    {"S_ANDN2_WREXEC", 0xc, 0xa, 0x2, 0x2},
};

/// Rows that act on the wave rather than on a destination: tested by kernels.
const std::set<std::string> kTestedByKernels = {"S_MOVRELS_B32", "S_MOVRELS_B64", "S_MOVRELD_B32",
                                                "S_MOVRELD_B64", "S_MOVRELSD_2_B32"};

std::map<std::string, Handler> handlers() {
  std::map<std::string, Handler> map;
  for (const ScalarTable &table : {kScalarAlu, kScalarFloat})
    for (size_t i = 0; i < table.count; ++i)
      map[table.rows[i].name] = table.rows[i].handler;
  return map;
}

MicroOp operation(Wave &wave, const std::vector<uint64_t> &sources) {
  MicroOp op;
  op.result = kResult;
  for (unsigned i = 0; i < sources.size(); ++i) {
    op.kind[i] = OperandKind::Scalar;
    op.source[i] = kSource + 2 * i;
    wave.setPair(kSource + 2 * i, sources[i]);
  }
  return op;
}

TEST(ScalarRows, ComputeResultAndScc) {
  const auto rows = handlers();
  for (const Case &c : kCases) {
    auto found = rows.find(c.row);
    ASSERT_NE(found, rows.end()) << c.row;
    Workgroup group;
    group.target = rubia::targets::find("gfx1201");
    Wave wave;
    wave.group = &group;
    wave.setMode(c.mode);
    wave.scc = c.sccBefore;
    wave.setPair(kResult, c.old);
    MicroOp op = operation(wave, c.sources);
    found->second(wave, op);
    std::string text = c.row;
    for (uint64_t source : c.sources)
      text += " " + llvm::utohexstr(source);
    EXPECT_EQ(llvm::utohexstr(wave.pair(kResult)), llvm::utohexstr(c.result)) << text;
    EXPECT_EQ(int(wave.scc), c.sccAfter == kSame ? c.sccBefore : c.sccAfter) << text;
  }
}

TEST(ScalarRows, ChangeExec) {
  const auto rows = handlers();
  for (const ExecCase &c : kExecCases)
    for (const bool wide : {false, true}) {
      auto found = rows.find(std::string(c.row) + (wide ? "_B64" : "_B32"));
      ASSERT_NE(found, rows.end()) << c.row;
      Wave wave;
      wave.blocks = wide ? 2 : 1;
      wave.setPair(kExec, c.exec);
      MicroOp op = operation(wave, {c.source});
      found->second(wave, op);
      const uint64_t mask = wide ? ~uint64_t(0) : 0xffffffff;
      EXPECT_EQ(wave.exec(), c.execAfter & mask) << c.row;
      EXPECT_EQ(wave.pair(kResult) & mask, c.result & mask) << c.row;
      EXPECT_EQ(wave.scc, (c.execAfter & mask) != 0) << c.row;
    }
}

TEST(ScalarRows, EveryRowHasATest) {
  std::set<std::string> tested = kTestedByKernels;
  for (const Case &c : kCases)
    tested.insert(c.row);
  for (const ExecCase &c : kExecCases)
    for (const char *width : {"_B32", "_B64"})
      tested.insert(std::string(c.row) + width);
  for (auto &[name, handler] : handlers())
    EXPECT_TRUE(tested.count(name)) << name;
}

} // namespace
