// SPDX-License-Identifier: Apache-2.0
// Which barriers are the hardware's, which are counted, and what both are lowered to.
#include "Lowered.h"
#include "lowering/lib/analysis/BarrierPlan.h"
#include "lowering/lib/frame/DeviceFunctions.h"
#include "gmock/gmock.h"

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

BarrierPlan planOf(const ptx::Module &module) { return planBarriers(partition(module)[0]); }

// The forms of the barriers of kernel(body), one letter each.
std::string forms(const std::string &body, const std::string &attributes = "") {
  ptx::Module module = parsed(kernel(body, "", attributes));
  std::string text;
  for (const BarrierUse &use : planOf(module).uses)
    text += use.form == BarrierForm::Hardware ? 'H' : use.form == BarrierForm::BySize ? 'S' : 'C';
  return text;
}

} // namespace

TEST(BarrierPlan, AllThreadsAreTheHardwares) {
  EXPECT_EQ(forms("bar.sync 0; bar.sync 15; barrier.sync 3; bar.sync %r0; bar.sync 1, 0;"),
            "HHHHH");
  EXPECT_EQ(forms("bar.red.popc.u32 %r0, 0, %p0; bar.red.and.pred %p1, 2, 0, %p0;"), "HH");
}

// What is planned for a library holds for units of each warp form (LibraryFacts). A barrier would
// be another one in the checked form, and its words of LDS the calling unit's.
TEST(BarrierPlan, LibrariesHaveNoBarriers) {
  for (DeviceLibrary library :
       {DeviceLibrary::Driver, DeviceLibrary::Matrices, DeviceLibrary::Textures}) {
    const ptx::Module &module = deviceModule(library);
    ASSERT_FALSE(module.functions.empty());
    const LibraryFacts facts(Unit{{}, module.functions, {}, {}});
    EXPECT_TRUE(facts.barriers.uses.empty()) << module.name;
    EXPECT_EQ(facts.barriers.words.sizeInBytes(), 0u) << module.name;
  }
}

// What parts of a warp may come to, and is not .aligned, is checked when it is executed.
TEST(BarrierPlan, BarriersOfPartsOfAWarp) {
  auto divided = [](const std::string &body) {
    ptx::Module module = parsed(kernel("mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ld.param.u32 "
                                       "%r2, [n];" +
                                       body));
    BarrierPlan plan = planOf(module);
    std::string text;
    for (const BarrierUse &use : plan.uses)
      text += use.mayDivide ? 'D' : '-';
    EXPECT_EQ(plan.words.missed != 0, text.find('D') != std::string::npos);
    return text;
  };
  auto branch = [](const std::string &reg, const std::string &inside) {
    return "setp.eq.u32 %p0, " + reg + ", 3; @%p0 bra L;" + inside + " L: barrier.sync 0;";
  };
  EXPECT_EQ(divided(branch("%r0", "barrier.sync 1;")), "D-");
  EXPECT_EQ(divided(branch("%r0", "barrier.red.popc.u32 %r5, 1, %p1; barrier.arrive 2, 64;")),
            "DD-");
  EXPECT_EQ(divided(branch("%r0", "barrier.sync.aligned 1; bar.sync 1; bar.arrive 2, 64;")),
            "----");
  EXPECT_EQ(divided(branch("%r1", "barrier.sync 1;")), "--");
  EXPECT_EQ(divided(branch("%r2", "barrier.sync 1;")), "--");
  EXPECT_EQ(divided("setp.eq.u32 %p0, %r0, 3; @%p0 barrier.sync 1;"), "D");
  EXPECT_EQ(divided("setp.ge.u32 %p0, %r0, %r2; @%p0 ret; barrier.sync 1;"), "-");
  EXPECT_EQ(divided("setp.lt.u32 %p0, %r0, 64; @%p0 barrier.sync 1;"), "D")
      << "a warp may have two rows of 48 threads";
  EXPECT_EQ(divided("ld.param.u64 %rd0, [p]; L: ld.volatile.global.u32 %r3, [%rd0];"
                    "barrier.sync 1; setp.eq.u32 %p0, %r3, 0; @%p0 bra L;"),
            "-")
      << "all of a warp read the same";
  EXPECT_EQ(divided("setp.eq.u32 %p0, %r0, 3; vote.sync.any.pred %p1, %p0, %r0;"
                    "@%p1 barrier.sync 1;"),
            "D")
      << "each may name others";
}

TEST(BarrierPlan, WhoNoticesThatThreadsAreLate) {
  auto notices = [](const std::string &body, const std::string &attributes = "") {
    ptx::Module module =
        parsed(kernel("mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 3;" + body, "", attributes));
    BarrierPlan plan = planOf(module);
    std::string text;
    for (const BarrierUse &use : plan.uses)
      text += use.noticesLate ? 'N' : '-';
    return text + ' ' + std::to_string(plan.words.missed);
  };
  EXPECT_EQ(notices("@%p0 barrier.sync 1; barrier.sync 1; barrier.sync 2; bar.sync 1;"), "NN-- 32");
  EXPECT_EQ(notices("@%p0 barrier.sync 1; barrier.sync %r0;", ".maxntid 128"), "NN 4");
  EXPECT_EQ(notices("barrier.sync 1; barrier.sync 1;"), "-- 0");
}

TEST(BarrierPlan, ThreadCounts) {
  EXPECT_EQ(forms("bar.sync 1, 64;"), "S");
  EXPECT_EQ(forms("bar.sync 1, 64;", ".reqntid 32, 2, 1"), "H");
  EXPECT_EQ(forms("bar.sync 1, 64;", ".reqntid 50"), "H") << "two warps";
  EXPECT_EQ(forms("bar.sync 1, 64;", ".reqntid 128"), "C");
  EXPECT_EQ(forms("bar.sync 1, 64; bar.sync 1, 256; bar.sync 2;", ".maxntid 128"), "SCH");
  EXPECT_EQ(forms("bar.sync 1, %r0; bar.red.or.pred %p0, 1, %r0, %p1;"), "SS");
}

TEST(BarrierPlan, ConstantsInRegisters) {
  // How nvcc passes constants to inline assembly.
  EXPECT_EQ(forms("mov.u32 %r0, 3; mov.u32 %r1, 64; bar.sync %r0, %r1;", ".reqntid 64"), "H");
  EXPECT_EQ(forms("mov.u32 %r1, 64; @%p0 mov.u32 %r1, 32; bar.sync 1, %r1;", ".reqntid 64"), "S");
}

TEST(BarrierPlan, WhoMeetsAnArrivalIsCounted) {
  EXPECT_EQ(forms("bar.arrive 1, 64; bar.sync 1, 64; bar.sync 2, 64;"), "CCS");
  EXPECT_EQ(forms("bar.arrive 1, 64; bar.sync 1, 96;"), "CS") << "they do not meet";
  EXPECT_EQ(forms("bar.arrive 1, 64; bar.sync 1, %r0;"), "CC");
  EXPECT_EQ(forms("bar.arrive 1, 64; bar.sync 1, %r0;", ".reqntid 128"), "CS");
  EXPECT_EQ(forms("bar.arrive 1, 64; bar.sync 1, %r0;", ".maxntid 32"), "CS");
  EXPECT_EQ(forms("bar.arrive %r0, 64; bar.sync 3, 64;"), "CC");
  EXPECT_EQ(forms("bar.arrive 2, %r1; bar.sync %r0, 64;"), "CC");
  EXPECT_EQ(forms("bar.arrive 2, %r1; bar.sync 2, 64;", ".reqntid 128"), "CC");
  EXPECT_EQ(forms("bar.arrive %r0, %r1; bar.sync 0; bar.sync 0, 0;"), "CHH")
      << "no number meets no number";
}

TEST(BarrierPlan, SaysForWhichSizesAllAreTheHardwares) {
  ptx::Module module = parsed(kernel("bar.sync 0; bar.sync 1, 96;"));
  BarrierPlan plan = planOf(module);
  EXPECT_TRUE(plan.isHardware(96));
  EXPECT_TRUE(plan.isHardware(70));
  EXPECT_FALSE(plan.isHardware(128));
  EXPECT_EQ(plan.alwaysCounted(), nullptr);
  ptx::Module other = parsed(kernel("bar.sync 0; bar.arrive 1, 96;"));
  plan = planOf(other);
  EXPECT_FALSE(plan.isHardware(96));
  ASSERT_NE(plan.alwaysCounted(), nullptr);
  EXPECT_STREQ(plan.alwaysCounted()->reason, "arrive does not wait");
}

TEST(BarrierPlan, NeedsWordsOnlyForWhatIsUsed) {
  auto bytes = [](const std::string &body) {
    ptx::Module module = parsed(kernel(body));
    return planOf(module).words.sizeInBytes();
  };
  EXPECT_EQ(bytes("bar.sync 7;"), 0u);
  EXPECT_EQ(bytes("bar.arrive 2, 64;"), 24u);
  EXPECT_EQ(bytes("bar.arrive %r0, 64;"), 128u);
  EXPECT_EQ(bytes("bar.red.popc.u32 %r0, 0, %p0;"), 140u);
  EXPECT_EQ(bytes("bar.red.popc.u32 %r0, 0, 64, %p0;"), 148u);
}

TEST(BarrierPlan, WordsAreStaticSharedMemory) {
  ptx::Module module = parsed(withHeader(R"(
.shared .align 1 .b8 a[5];
.func f { .reg .pred %p; bar.red.and.pred %p, 0, %p; ret; }
.entry k() { .reg .u32 %r; ld.shared.u8 %r, [a]; bar.arrive 1, 64; call.uni f; ret; }
.entry viaCall() { call.uni f; ret; })"));
  std::vector<Unit> units = partition(module);
  EXPECT_EQ(staticSharedBytes(units[0], *module.function("k")), 8u + 16u + 140u);
  EXPECT_EQ(staticSharedBytes(units[1], *module.function("viaCall")), 140u);
}

TEST(LoweringBarSync, OrdersTheWorkgroup) {
  for (const char *body : {"bar.sync 0;", "barrier.sync.aligned 0;", "bar.sync %r0;"})
    EXPECT_TRUE(hasInOrder(irOf(body), {"fence syncscope(\"workgroup\") release",
                                        "call void @llvm.amdgcn.s.barrier()",
                                        "fence syncscope(\"workgroup\") acquire"}));
}

TEST(LoweringBarSync, CountedInSharedMemoryThatStartsZeroed) {
  std::string ir = irOf("bar.sync 1, 64;", {}, "", ".reqntid 128");
  EXPECT_TRUE(hasInOrder(
      ir, {"@__rubia_barriers = internal addrspace(3) global [16 x i8] poison, align 8",
           "memset*@__rubia_barriers*i64 16", "s.barrier",
           "call i32 @__rubia_barrier_sync(i32 1, i32 2, i32 0)",
           "define internal i32 @__rubia_barrier_sync", "release", "cmpxchg", "s.sleep"}));
}

TEST(LoweringBarSync, NumberOfThreadsDecides) {
  EXPECT_TRUE(hasInOrder(irOf("bar.sync 1, %r0;"),
                         {"readfirstlane", "br i1", "s.barrier", "@__rubia_barrier_sync"}));
}

TEST(LoweringBarArrive, DoesNotWait) {
  std::string ir = irOf("bar.arrive 1, 64;");
  EXPECT_TRUE(hasInOrder(ir, {"call i32 @__rubia_barrier_arrive(i32 1, i32 2, i32 0)",
                              "define internal i32 @__rubia_barrier_arrive", "cmpxchg"}));
  EXPECT_THAT(ir, Not(HasSubstr("s.sleep")));
}

TEST(LoweringBarRed, OneBarrier) {
  std::string ir = irOf("bar.red.popc.u32 %r0, 0, %p0;");
  EXPECT_TRUE(hasInOrder(ir, {"memset", "s.barrier", "@llvm.amdgcn.ballot", "@llvm.ctpop",
                              "atomicrmw uinc_wrap", "atomicrmw add", "store atomic i32 0",
                              "s.barrier", "load atomic i32"}));
  size_t last = ir.rfind("call void @llvm.amdgcn.s.barrier");
  EXPECT_EQ(ir.rfind("call void @llvm.amdgcn.s.barrier", last - 1),
            ir.find("call void @llvm.amdgcn.s.barrier"));
}

TEST(LoweringBarRed, AndOr) {
  EXPECT_TRUE(hasInOrder(irOf("bar.red.and.pred %p0, 0, %p1;"),
                         {"xor i1", "atomicrmw add", "icmp eq i32 *, 0"}));
  EXPECT_TRUE(hasInOrder(irOf("bar.red.or.pred %p0, 0, !%p1;"),
                         {"xor i1", "atomicrmw add", "icmp ne i32 *, 0"}));
}
