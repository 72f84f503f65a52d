// Barriers.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

TEST(LoweringBarSync, OrdersTheWorkgroup) {
  for (const char *body : {"bar.sync 0;", "barrier.sync.aligned 0;", "bar.sync %r0;"})
    EXPECT_TRUE(hasInOrder(irOf(body), {"fence syncscope(\"workgroup\") release",
                                        "call void @llvm.amdgcn.s.barrier()",
                                        "fence syncscope(\"workgroup\") acquire"}));
}

TEST(LoweringBarSync, ThreadCountOfTheWholeCta) {
  EXPECT_THAT(irOf("bar.sync 1, 64;", {}, "", ".reqntid 32, 2, 1"), HasSubstr("s.barrier"));
}

TEST(LoweringBarSync, SomeThreadsAreUnsupported) {
  for (const char *body : {"bar.sync 1, 64;", "bar.sync 0, %r0;", "bar.arrive 1, 64;",
                           "bar.red.popc.u32 %r0, 1, 64, %p0;"}) {
    Lowered result = lowered(kernel(body));
    ASSERT_EQ(result.diagnostics.size(), 1u) << body;
    EXPECT_TRUE(result.diagnostics[0].unsupported);
  }
}

TEST(LoweringBarRed, CountsInSharedMemory) {
  std::string ir = irOf("bar.red.popc.u32 %r0, 0, %p0;");
  EXPECT_TRUE(
      hasInOrder(ir, {"@__rubia_barrier_reduction = internal addrspace(3) global i32 poison",
                      "s.barrier", "store atomic i32 0", "s.barrier", "@llvm.amdgcn.ballot",
                      "@llvm.ctpop", "atomicrmw add ptr addrspace(3) @__rubia_barrier_reduction",
                      "s.barrier", "load atomic i32"}));
}

TEST(LoweringBarRed, AndOr) {
  EXPECT_TRUE(hasInOrder(irOf("bar.red.and.pred %p0, 0, %p1;"),
                         {"xor i1", "atomicrmw add", "icmp eq i32 *, 0"}));
  EXPECT_TRUE(hasInOrder(irOf("bar.red.or.pred %p0, 0, !%p1;"),
                         {"xor i1", "atomicrmw add", "icmp ne i32 *, 0"}));
}
