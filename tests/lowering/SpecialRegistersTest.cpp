// SPDX-License-Identifier: Apache-2.0
// PTX ISA: special-registers.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;

struct SpecialCase {
  const char *ptx;
  std::initializer_list<std::string> ir;
};

TEST(LoweringSpecialRegisters, Wave32) {
  for (const SpecialCase &test : std::initializer_list<SpecialCase>{
           {"mov.u32 %r0, %tid.y;", {"@llvm.amdgcn.workitem.id.y"}},
           {"mov.u32 %r0, %ctaid.z;", {"@llvm.amdgcn.workgroup.id.z"}},
           {"mov.u32 %r0, %ntid.y;", {"%arguments, i64 16", "i64 4", "load i32"}},
           {"mov.u32 %r0, %nctaid.x;", {"%arguments, i64 16", "i64 16", "load i32"}},
           {"mov.u32 %r0, %laneid;", {"@llvm.amdgcn.mbcnt.lo"}},
           {"mov.u32 %r0, %warpid;", {"mul i32", "add i32", "lshr i32 *, 5"}},
           {"mov.u32 %r0, %nwarpid;", {"store i32 32"}},
           {"mov.u32 %r0, WARP_SZ;", {"store i32 32"}},
           {"mov.u64 %rd0, %gridid;", {"i64 32", "load i64"}},
           {"mov.u32 %r0, %lanemask_eq;", {"shl i32 1, "}},
           {"mov.u32 %r0, %lanemask_lt;", {"shl i32 1, ", "sub i32 *, 1"}},
           {"mov.u32 %r0, %lanemask_le;", {"sub i32 *, 1", "or i32"}},
           {"mov.u32 %r0, %lanemask_ge;", {"sub i32 *, 1", "xor i32 *, -1"}},
           {"mov.u32 %r0, %lanemask_gt;", {"or i32", "xor i32 *, -1"}},
           {"mov.u32 %r0, %clock;", {"@llvm.readsteadycounter", "trunc i64"}},
           {"mov.u32 %r0, %clock_hi;", {"@llvm.readsteadycounter", "lshr i64 *, 32"}},
           {"mov.u64 %rd0, %clock64;", {"@llvm.readsteadycounter"}},
           {"mov.u64 %rd0, %globaltimer;", {"@llvm.readsteadycounter", "mul i64 *, 10"}},
           {"mov.u32 %r0, %globaltimer_lo;", {"@llvm.readsteadycounter", "trunc i64"}},
           {"mov.u32 %r0, %globaltimer_hi;", {"@llvm.readsteadycounter", "lshr i64 *, 32"}},
           {"mov.u32 %r0, %dynamic_smem_size;", {"i64 12", "load i32"}},
           {"mov.u32 %r0, %total_smem_size;", {"i64 28", "load i32"}},
           {"mov.u32 %r0, %aggr_smem_size;",
            {"i64 48", "load i32", "lshr i32 *, 8", "and i32 *, 127", "add i32 *, 1024",
             "sub i32"}},
           {"mov.b32 %r0, %reserved_smem_offset_1;",
            {"@__rubia_reserved_shared", "to i32), i32 512"}},
           {"mov.b32 %r0, %reserved_smem_offset_cap;", {"store i32 1024"}},
           {"mov.b32 %r0, %envreg1;", {"i64 40", "load i64", "lshr i64 *, 32"}},
           {"mov.b32 %r0, %envreg2;", {"i64 40", "load i64", "trunc i64"}},
           {"mov.b32 %r0, %envreg0;", {"store i32 0"}},
           {"mov.b32 %r0, %envreg31;", {"store i32 0"}},
           {"mov.u32 %r0, %pm3;", {"store i32 0"}},
           {"mov.u64 %rd0, %pm7_64;", {"store i64 0"}},
           {"mov.u64 %rd0, %current_graph_exec;", {"store i64 0"}},
           {"mov.u32 %r0, %clusterid.y;", {"@llvm.amdgcn.workgroup.id.y"}},
           {"mov.u32 %r0, %nclusterid.x;", {"i64 16", "load i32"}},
           {"mov.u32 %r0, %cluster_ctaid.x;", {"store i32 0"}},
           {"mov.u32 %r0, %cluster_nctaid.y;", {"store i32 1"}},
           {"mov.u32 %r0, %cluster_nctaid.w;", {"store i32 0"}},
           {"mov.u32 %r0, %cluster_ctarank;", {"store i32 0"}},
           {"mov.u32 %r0, %cluster_nctarank;", {"store i32 1"}},
           {"mov.pred %p0, %is_explicit_cluster;", {"i64 48", "load i32", "trunc i32 * to i1"}},
           {"mov.u32 %r0, %ntid.w;", {"store i32 0"}},
           {"cvt.u32.u16 %r0, %tid.x;", {"@llvm.amdgcn.workitem.id.x", "trunc i32 * to i16"}},
       })
    EXPECT_TRUE(hasInOrder(irOf(test.ptx), test.ir)) << test.ptx;
}

TEST(LoweringSpecialRegisters, CycleCounterWhereThereIsA64BitOne) {
  EXPECT_THAT(irOf("mov.u64 %rd0, %clock64;", forArch("gfx1030")),
              HasSubstr("@llvm.readcyclecounter"));
}

TEST(LoweringSpecialRegisters, RequiredSizeIsAConstant) {
  EXPECT_THAT(irOf("mov.u32 %r0, %ntid.x; mov.u32 %r1, %ntid.y;", {}, "", ".reqntid 96"),
              HasSubstr("store i32 96"));
}

TEST(LoweringSpecialRegisters, HalfFilledThreadIndex) {
  EXPECT_TRUE(hasInOrder(irOf("mov.u32 %r0, %tid.z;", halfFilled("gfx90a")),
                         {"lshr i32 *, 6", "shl i32 *, 5", "@llvm.umax", "udiv i32", "udiv i32",
                          "mul i32", "sub i32"}));
}

TEST(LoweringSpecialRegisters, FunctionsFindTheLaunchBehindTheHiddenArguments) {
  std::string ir = irOf("call.uni f;", {}, ".func f { .reg .u32 %r; mov.u32 %r, %ntid.x; ret; }");
  EXPECT_TRUE(hasInOrder(
      ir, {"define internal void @f", "@llvm.amdgcn.implicitarg.ptr", "i64 -64", "load i32"}));
}

TEST(LoweringSpecialRegisters, SmidIsWhereTheWaveRunsAndNsmidIsLarger) {
  struct Case {
    const char *arch;
    std::initializer_list<std::string> smid;
    const char *nsmid;
  };
  // hwreg(id, offset, width) is id | offset << 6 | (width - 1) << 11.
  for (const Case &test : std::initializer_list<Case>{
           {"gfx90a", {"s.getreg(i32 14852)"}, "store i32 256"}, // 4, 8, 8
           {"gfx942",                                            // 4, 8, 7 and 20, 0, 4
            {"s.getreg(i32 12804)", "s.getreg(i32 6164)", "shl i32 *, 7", "or i32"},
            "store i32 2048"},
           {"gfx1030", // 23, 10, 4; 23, 16, 1; 23, 18, 3
            {"s.getreg(i32 6807)", "s.getreg(i32 1047)", "shl i32 *, 4", "s.getreg(i32 5271)",
             "shl i32 *, 5"},
            "store i32 256"},
           {"gfx1201", {"s.getreg(i32 6807)"}, "store i32 256"}}) {
    EXPECT_TRUE(hasInOrder(irOf("mov.u32 %r0, %smid;", forArch(test.arch)), test.smid))
        << test.arch;
    EXPECT_THAT(irOf("mov.u32 %r0, %nsmid;", forArch(test.arch)), HasSubstr(test.nsmid))
        << test.arch;
  }
}

TEST(LoweringSpecialRegisters, ClustersGivenInPtxAreExplicit) {
  EXPECT_THAT(
      irOf("mov.pred %p0, %is_explicit_cluster;", {}, "", ".explicitcluster .reqnctapercluster 1"),
      HasSubstr("store i1 true"));
}

TEST(LoweringSpecialRegisters, ClustersOfMoreThanSixteenCtasAreRefused) {
  Lowered result = lowered(kernel("ret;", "", ".reqnctapercluster 4, 8"));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_TRUE(result.diagnostics[0].unsupported);
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr("requires clusters of 32 CTAs"));
  EXPECT_TRUE(lowered(kernel("ret;", "", ".reqnctapercluster 4, 4")).diagnostics.empty());
  EXPECT_TRUE(lowered(kernel("ret;", "", ".reqnctapercluster 1")).diagnostics.empty());
  EXPECT_TRUE(lowered(kernel("ret;", "", ".maxclusterrank 8")).diagnostics.empty());
}

// The grid of its launches is given in clusters: as CTAs it would be a part of the work.
TEST(LoweringSpecialRegisters, GridsOfClustersAreRefused) {
  auto diagnosticsOf = [](const std::string &attributes) {
    std::string text = kernel("ret;", "", ".reqntid 32 .blocksareclusters " + attributes);
    text.replace(text.find(".version"), text.find(".address_size") - text.find(".version"),
                 ".version 9.0\n.target sm_90\n");
    return lowered(text).diagnostics;
  };
  auto several = diagnosticsOf(".reqnctapercluster 2");
  ASSERT_EQ(several.size(), 1u);
  EXPECT_TRUE(several[0].unsupported);
  EXPECT_THAT(several[0].message, HasSubstr("'k' has .blocksareclusters"));
  EXPECT_EQ(diagnosticsOf("").size(), 1u); // a launch may say how many
  EXPECT_TRUE(diagnosticsOf(".reqnctapercluster 1").empty());
}
