// shfl, vote, activemask, bar.warp.sync: text here; their results are checked by execution.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

TEST(LoweringShfl, UsesBpermuteOfTheLane) {
  std::string ir = irOf("shfl.sync.idx.b32 %r0|%p0, %r1, 3, 31, -1;");
  EXPECT_TRUE(hasInOrder(ir, {"@llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)", "icmp sle i32", "select i1",
                              "store i1", "shl i32 *, 2", "@llvm.amdgcn.ds.bpermute"}));
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
                         {"@llvm.amdgcn.ballot.i64", "trunc i64 * to i32", "and i32"}));
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
