// SPDX-License-Identifier: Apache-2.0
// shfl, vote, activemask, bar.warp.sync: text here; their results are checked by execution.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

TEST(LoweringShfl, UsesBpermuteOfTheLane) {
  std::string ir = irOf("shfl.sync.idx.b32 %r0|%p0, %r1, %r2, 31, -1;");
  EXPECT_TRUE(hasInOrder(ir, {"@llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)", "icmp sle i32", "store i1",
                              "select i1", "shl i32 *, 2", "@llvm.amdgcn.ds.bpermute"}));
}

TEST(LoweringShfl, ModesComputeTheirLane) {
  EXPECT_TRUE(hasInOrder(irOf("shfl.sync.up.b32 %r0, %r1, %r2, 0, -1;"), {"sub i32", "icmp sge"}));
  EXPECT_TRUE(
      hasInOrder(irOf("shfl.sync.down.b32 %r0, %r1, %r2, 31, -1;"), {"add i32", "icmp sle"}));
  EXPECT_TRUE(
      hasInOrder(irOf("shfl.sync.bfly.b32 %r0, %r1, %r2, 31, -1;"), {"xor i32", "icmp sle"}));
}

TEST(LoweringShfl, TakesSegmentFromBits8To12) {
  EXPECT_TRUE(hasInOrder(irOf("shfl.sync.idx.b32 %r0, %r1, %r2, %r3, -1;"),
                         {"lshr i32 *, 8", "and i32 *, 31"}));
}

TEST(LoweringVote, BallotIsMasked) {
  EXPECT_TRUE(hasInOrder(irOf("vote.sync.ballot.b32 %r0, %p0, %r1;"),
                         {"@llvm.amdgcn.ballot.i32", "and i32"}));
  EXPECT_TRUE(hasInOrder(irOf("vote.sync.ballot.b32 %r0, %p0, %r1;", forArch("gfx942")),
                         {"@llvm.amdgcn.ballot.i64", "lshr i64 *, 32", "select i1", "and i32"}));
  EXPECT_TRUE(hasInOrder(irOf("vote.sync.ballot.b32 %r0, %p0, %r1;", halfFilled("gfx942")),
                         {"@llvm.amdgcn.ballot.i64", "trunc i64 * to i32", "and i32"}));
}

// Which instruction a constant pattern becomes; the results are checked by execution.
TEST(LoweringShfl, ConstantPatternsNeedNoAddress) {
  struct Pattern {
    const char *operands, *gfx1100, *gfx942;
  };
  for (const Pattern &pattern : {
           Pattern{"bfly.b32 %r0, %r1, 1, 31", "dpp.i32(i32 poison, i32 *, i32 177,",
                   "dpp.i32(i32 poison, i32 *, i32 177,"},
           {"bfly.b32 %r0, %r1, 4, 31", "i32 356,", "i32 260,"},
           {"bfly.b32 %r0, %r1, 5, 31", "i32 357,", "ds.swizzle(i32 *, i32 5151)"},
           {"bfly.b32 %r0, %r1, 7, 31", "i32 359,", "i32 321,"},
           {"bfly.b32 %r0, %r1, 8, 31", "i32 360,", "i32 296,"},
           {"bfly.b32 %r0, %r1, 16, 31", "permlanex16", "ds.swizzle(i32 *, i32 16415)"},
           {"up.b32 %r0, %r1, 1, 0", "i32 273,", "i32 312,"},
           {"down.b32 %r0, %r1, 1, 31", "i32 257,", "i32 304,"},
           {"down.b32 %r0, %r1, 16, 31", "permlanex16", "ds.swizzle"},
           {"idx.b32 %r0, %r1, 5, 31", "readlane.i32(i32 *, i32 5)", "readlane.i32(i32 *, i32 37)"},
           {"idx.b32 %r0, %r1, 5, 4127", "i32 341,", "i32 341,"}, // 16 lanes
       }) {
    std::string ptx = std::string("shfl.sync.") + pattern.operands + ", -1;";
    std::string wave32 = irOf(ptx), packed = irOf(ptx, forArch("gfx942"));
    EXPECT_TRUE(hasInOrder(wave32, {pattern.gfx1100})) << ptx;
    EXPECT_TRUE(hasInOrder(packed, {pattern.gfx942})) << ptx;
    EXPECT_THAT(wave32 + packed, Not(HasSubstr("bpermute"))) << ptx;
  }
  // A constant that nvcc keeps in a register.
  EXPECT_THAT(irOf("mov.u32 %r2, 1; mov.u32 %r3, 31; shfl.sync.bfly.b32 %r0, %r1, %r2, %r3, -1;"),
              Not(HasSubstr("bpermute")));
}

TEST(LoweringVote, AllAnyUni) {
  EXPECT_TRUE(hasInOrder(irOf("vote.sync.all.pred %p0, %p1, %r1;"),
                         {"xor i1", "ballot", "and i32", "icmp eq i32 *, 0"}));
  EXPECT_TRUE(hasInOrder(irOf("vote.sync.any.pred %p0, !%p1, %r1;"),
                         {"xor i1", "ballot", "and i32", "icmp eq i32 *, 0", "xor i1"}));
  EXPECT_TRUE(hasInOrder(irOf("vote.sync.uni.pred %p0, %p1, %r1;"),
                         {"ballot", "icmp eq i32 *, 0", "ballot", "icmp eq i32 *, 0", "or i1"}));
}

TEST(LoweringActivemask, IsABallotOfTrue) {
  EXPECT_THAT(irOf("activemask.b32 %r0;"), HasSubstr("@llvm.amdgcn.ballot.i32(i1 true)"));
}

TEST(LoweringBarWarpSync, StopsTheCompilerOnly) {
  EXPECT_TRUE(hasInOrder(irOf("bar.warp.sync -1;"),
                         {"fence syncscope(\"wavefront\") release", "@llvm.amdgcn.wave.barrier",
                          "fence syncscope(\"wavefront\") acquire"}));
}

TEST(LoweringRedux, ConstantMasksNeedNoLoop) {
  std::string ir = irOf("redux.sync.add.u32 %r0, %r1, -1;");
  EXPECT_TRUE(hasInOrder(ir, {"@llvm.amdgcn.set.inactive.i32", "update.dpp", "permlanex16",
                              "@llvm.amdgcn.strict.wwm.i32"}));
  EXPECT_THAT(ir, Not(HasSubstr("turn:")));
  EXPECT_TRUE(hasInOrder(irOf("redux.sync.add.u32 %r0, %r1, %r2;"),
                         {"turn:", "readfirstlane", "set.inactive"}));
}

TEST(LoweringMatch, GoesRoundForEachValue) {
  EXPECT_TRUE(hasInOrder(irOf("match.any.sync.b64 %r0, %rd1, -1;"),
                         {"turn:", "readfirstlane.i64", "icmp eq i64", "ballot"}));
}
