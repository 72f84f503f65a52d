// SPDX-License-Identifier: Apache-2.0
// bra, brx.idx, ret, exit, trap, brkpt, nanosleep.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering::test;
using testing::HasSubstr;

TEST(LoweringBra, LoopsAndFallsThrough) {
  EXPECT_TRUE(hasInOrder(
      irOf("mov.u32 %r0, 0; L: add.u32 %r0, %r0, 1; @%p0 bra L; ret;"),
      {"br label %L", "L:", "br i1 *, label %guarded, label %next", "guarded:", "br label %L"}));
}

TEST(LoweringBra, LabelAtTheEnd) {
  EXPECT_TRUE(hasInOrder(irOf("bra.uni E; E:"), {"br label %E", "E:", "ret void"}));
}

TEST(LoweringBra, CodeBehindABranchIsKeptApart) {
  EXPECT_TRUE(hasInOrder(irOf("bra E; mov.u32 %r0, 1; E: ret;"),
                         {"br label %E", "unreachable:", "store i32 1"}));
}

TEST(LoweringBrxIdx, IsASwitch) {
  EXPECT_TRUE(
      hasInOrder(irOf("ts: .branchtargets A, B, C; brx.idx %r0, ts; A: ret; B: trap; C: exit;"),
                 {"switch i32 *, label %A [", "i32 1, label %B", "i32 2, label %C"}));
}

TEST(LoweringExit, ReturnsFromAKernel) {
  EXPECT_TRUE(hasInOrder(irOf("@%p0 exit; mov.u32 %r0, 1;"),
                         {"guarded:", "ret void", "next:", "ret void"}));
}

TEST(LoweringTrap, ClaimsTheRecordAndTraps) {
  EXPECT_TRUE(hasInOrder(irOf("@%p0 trap; ret;"),
                         {"trap:", "@__rubia_module_table", "icmp ne i64 *, 0",
                          "cmpxchg ptr addrspace(1) *, i32 0, i32 1", "@llvm.amdgcn.workgroup.id.x",
                          "@llvm.amdgcn.workitem.id.x", "fence release", "call void @llvm.trap()",
                          "unreachable"}));
}

TEST(LoweringTrap, OneBlockForAll) {
  std::string ir = irOf("@%p0 trap; @%p1 trap; trap;");
  size_t first = ir.find("call void @llvm.trap()");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(ir.find("call void @llvm.trap()", first + 1), std::string::npos);
}

TEST(LoweringBrkpt, IsATrap) { EXPECT_THAT(irOf("brkpt;"), HasSubstr("@llvm.trap")); }

TEST(LoweringNanosleep, SleepsAtMostAsLong) {
  EXPECT_THAT(irOf("nanosleep.u32 320;"), HasSubstr("@llvm.amdgcn.s.sleep(i32 5)"));
  EXPECT_THAT(irOf("nanosleep.u32 20;"), HasSubstr("@llvm.amdgcn.s.sleep(i32 0)"));
  std::initializer_list<std::string> loop = {"@llvm.umin.i32",    "udiv i32 *, 10",
                                             "readsteadycounter", "s.sleep(i32 0)",
                                             "icmp ult i64",      "s.sleep(i32 1)"};
  EXPECT_TRUE(hasInOrder(irOf("nanosleep.u32 %r0;"), loop));
  EXPECT_TRUE(hasInOrder(irOf("nanosleep.u32 1000000;"), {"s.sleep(i32 0)", "s.sleep(i32 1)"}));
}

TEST(LoweringPmevent, CountsForProfilers) {
  EXPECT_THAT(irOf("pmevent 7;"), HasSubstr("@llvm.amdgcn.s.incperflevel(i32 7)"));
  EXPECT_TRUE(hasInOrder(irOf("pmevent.mask 0x8002;"),
                         {"s.incperflevel(i32 1)", "s.incperflevel(i32 15)"}));
}
