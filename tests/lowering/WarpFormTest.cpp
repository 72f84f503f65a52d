// SPDX-License-Identifier: Apache-2.0
// Which warp form is chosen on a target with wave64, and why.
#include "Lowered.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
#include "gmock/gmock.h"

using namespace rubia::lowering::test;
using testing::AllOf;
using testing::HasSubstr;

namespace rubia::settings::WarpFormChoice {
extern const Word Checked, Packed;
} // namespace rubia::settings::WarpFormChoice

namespace {

struct Choice {
  std::string form, reason;
  int64_t exactThreads;
};

Choice choiceFor(const std::string &ptx) {
  Lowered result = lowered(ptx, forArch("gfx942"));
  if (!result.module)
    return {};
  llvm::json::Value all = llvm::cantFail(llvm::json::parse(result.metadata()));
  const llvm::json::Object &kernel = *all.getAsObject()->getArray("kernels")->front().getAsObject();
  return {kernel.getString("warpForm")->str(), kernel.getString("warpFormReason")->str(),
          *kernel.getInteger("exactThreads")};
}

void expectPacked(const std::string &body, const std::string &before = "") {
  Choice choice = choiceFor(kernel(body, before));
  EXPECT_EQ(choice.form, "packed") << body << "\n" << choice.reason;
  EXPECT_EQ(choice.exactThreads, 0);
}

// `why`: what the reason contains.
void expectHalfFilled(const std::string &why, const std::string &body,
                      const std::string &before = "") {
  Choice choice = choiceFor(kernel(body, before));
  EXPECT_EQ(choice.form, "half-filled") << body;
  EXPECT_THAT(choice.reason, HasSubstr(why)) << body;
}

const char kDivided[] = "is not reached by all threads of the CTA together";
const char kSpins[] = "may leave a loop by what";

} // namespace

TEST(LoweringWarpForm, BarriersThatAllReachArePacked) {
  expectPacked("bar.sync 0;");
  expectPacked("mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 7; @%p0 bra skip;"
               "st.global.u32 [%rd0], %r0; skip: bar.sync 0;");
  // Parameters, CTA indexes and what is loaded from one address are the same for all.
  expectPacked("ld.param.u32 %r0, [n]; setp.eq.u32 %p0, %r0, 0; @%p0 bra skip; bar.sync 0; skip:");
  expectPacked("mov.u32 %r0, %ctaid.x; setp.eq.u32 %p0, %r0, 0; @%p0 bar.sync 0;");
  expectPacked("bar.sync 0; ld.shared.u32 %r0, [s]; setp.eq.u32 %p0, %r0, 0; @%p0 bra skip;"
               "bar.sync 0; skip:",
               ".shared .u32 s;");
  // What one thread has stored in a variable of all, by name.
  expectPacked("mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra skip;"
               "st.shared.u32 [s], %r0; skip: bar.sync 0; ld.shared.u32 %r1, [s];"
               "setp.eq.u32 %p1, %r1, 0; @%p1 bra end; bar.sync 0; end:"
               "st.global.u32 [%rd0], %r0;",
               ".shared .u32 s;");
  // A loop of as many rounds for all.
  expectPacked("mov.u32 %r0, 0; ld.param.u32 %r1, [n]; loop: bar.sync 0; add.u32 %r0, %r0, 1;"
               "setp.lt.u32 %p0, %r0, %r1; @%p0 bra loop;");
  // The result of a barrier that reduces is the same for all.
  expectPacked("loop: mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 7; bar.red.or.pred %p1, 0, %p0;"
               "@%p1 bra loop; bar.sync 0;");
}

TEST(LoweringWarpForm, ThreadsThatLeaveForGoodDivideNobody) {
  expectPacked("mov.u32 %r0, %tid.x; ld.param.u32 %r1, [n]; setp.ge.u32 %p0, %r0, %r1;"
               "@%p0 bra end; bar.sync 0; end: ret;");
  expectPacked("mov.u32 %r0, %tid.x; ld.param.u32 %r1, [n]; setp.ge.u32 %p0, %r0, %r1;"
               "@%p0 exit; bar.sync 0;");
  // What it computes on its way, nobody notices.
  expectPacked("mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 9; @%p0 bra end; bar.sync 0; ret;"
               "end: mul.lo.u32 %r1, %r0, 3; min.u32 %r1, %r1, 4; sqrt.rn.f32 %f0, %f1; ret;");
  expectHalfFilled(kDivided,
                   "mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 9; @%p0 bra end; bar.sync 0; ret;"
                   "end: vote.sync.any.pred %p1, %p2, -1; ret;");
  expectPacked("mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 9; @%p0 brkpt; bar.sync 0;");
  // In a function, and out of a loop with a barrier.
  expectPacked("call leave; bar.sync 0;",
               ".func leave() { .reg .pred %q; .reg .u32 %t; mov.u32 %t, %tid.x;"
               "setp.gt.u32 %q, %t, 99; @%q exit; bar.sync 0; ret; }");
  expectPacked("mov.u32 %r0, %tid.x; loop: setp.eq.u32 %p0, %r0, 0; @%p0 exit; bar.sync 0;"
               "sub.u32 %r0, %r0, 1; bra loop;");
  // Those that stay could see whether the store is there yet.
  expectHalfFilled(kDivided, "mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 9; @%p0 bra end;"
                             "bar.sync 0; ret; end: st.global.u32 [%rd0], %r0; ret;");
}

TEST(LoweringWarpForm, BarriersInDivergentCode) {
  // Each half of the CTA at a barrier instruction of its own.
  expectHalfFilled(kDivided, "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; @%p0 bra other;"
                             "bar.sync 0; bra end; other: bar.sync 0; end: ret;");
  expectHalfFilled(kDivided, "mov.u32 %r0, %laneid; setp.lt.u32 %p0, %r0, 32; @%p0 bar.sync 0;");
  // Loops that threads leave at different times.
  expectHalfFilled(kDivided, "mov.u32 %r0, %tid.x; loop: bar.sync 0; sub.u32 %r0, %r0, 1;"
                             "setp.ne.u32 %p0, %r0, 0; @%p0 bra loop; st.global.u32 [%rd0], %r0;");
  // What a thread computes differs through any number of steps: selection, carries, vectors.
  expectHalfFilled(kDivided, "mov.u32 %r0, %tid.x; add.cc.u32 %r1, %r0, -1; addc.u32 %r2, 0, 0;"
                             "setp.ne.u32 %p0, %r2, 0; @%p0 bar.sync 0;");
  expectHalfFilled(kDivided, "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, 1;"
                             "@%p0 mov.u32 %r1, 0; setp.eq.u32 %p1, %r1, 0; @%p1 bar.sync 0;");
  // What is not the same for all though the address is: of a thread's own, or changing.
  expectHalfFilled(kDivided, ".local .u32 own; ld.local.u32 %r0, [own]; setp.eq.u32 %p0, %r0, 0;"
                             "@%p0 bar.sync 0;");
  expectHalfFilled(kDivided,
                   "ld.volatile.global.u32 %r0, [g]; setp.eq.u32 %p0, %r0, 0;"
                   "@%p0 bar.sync 0;",
                   ".global .u32 g;");
  expectHalfFilled(kDivided,
                   "atom.global.add.u32 %r0, [g], 1; setp.eq.u32 %p0, %r0, 0;"
                   "@%p0 bar.sync 0;",
                   ".global .u32 g;");
  expectHalfFilled(kDivided, "activemask.b32 %r0; setp.eq.u32 %p0, %r0, -1; @%p0 bar.sync 0;");
  expectHalfFilled("line 15 ('bra') differs between them",
                   "mov.u32 %r0, %tid.x;\nmov.u32 %r1, 5;\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 bra "
                   "end;\nbar.sync 0;\nend: st.global.u32 [%rd0], %r0; ret;");
}

// The operands are the same for all threads.
TEST(LoweringWarpForm, ResultsOfOtherLanesDiffer) {
  auto decided = [](const std::string &by) {
    return "mov.u32 %r1, 7; setp.eq.u32 %p1, %r1, 7;" + by +
           "setp.eq.u32 %p0, %r0, 1; @%p0 bra skip; bar.sync 0; skip: st.global.u32 [%rd0], 1;";
  };
  for (const char *by :
       {"shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;", "shfl.sync.idx.b32 %r0, %r1, 0, 31, -1;",
        "vote.sync.ballot.b32 %r0, %p1, -1;", "match.any.sync.b32 %r0, %r1, -1;",
        "redux.sync.add.u32 %r0, %r1, -1;", "elect.sync %r0|%p2, -1;", "activemask.b32 %r0;",
        "mbarrier.test_wait.parity.b64 %p2, [%rd0], 0; selp.u32 %r0, 1, 0, %p2;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;", "atom.global.add.u32 %r0, [%rd0], 1;",
        "stacksave.u32 %r0;", "alloca.u32 %r0, 16;"})
    expectHalfFilled(kDivided, decided(by));
  for (const char *by : {"bar.red.popc.u32 %r0, 0, %p1;", "ld.global.u32 %r0, [%rd0];",
                         "popc.b32 %r0, %r1;", "mov.u32 %r0, %ctaid.x;"})
    expectPacked(decided(by));
}

TEST(LoweringWarpForm, BarriersInFunctions) {
  const char *syncs = ".func syncs() { bar.sync 0; ret; }";
  expectPacked("call syncs;", syncs);
  expectHalfFilled(kDivided,
                   "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; @!%p0 bra end;"
                   "call syncs; end: st.global.u32 [%rd0], %r0; ret;",
                   syncs);
  // By an argument, and by a result.
  const char *maySync = ".func maySync(.reg .u32 x) { .reg .pred %q; setp.eq.u32 %q, x, 0;"
                        "@%q bar.sync 0; ret; }";
  expectPacked("ld.param.u32 %r0, [n]; call maySync, (%r0);", maySync);
  expectHalfFilled(kDivided, "mov.u32 %r0, %tid.x; call maySync, (%r0);", maySync);
  expectHalfFilled(kDivided, "call (%r0), own; setp.eq.u32 %p0, %r0, 0; @%p0 bar.sync 0;",
                   ".func (.reg .u32 r) own() { mov.u32 r, %tid.x; ret; }");
  // An indirect call hides a barrier.
  expectHalfFilled("may be reached by calls of 'syncs' through its address",
                   "ld.global.u64 %rd0, [table]; proto: .callprototype _ (); call %rd0, proto;",
                   ".func syncs() { bar.sync 0; ret; } .global .u64 table[1] = {syncs};");
  expectPacked("ld.global.u64 %rd0, [table]; proto: .callprototype _ (); call %rd0, proto;"
               "bar.sync 0;",
               ".func quiet() { ret; } .global .u64 table[1] = {quiet};");
}

TEST(LoweringWarpForm, LoopsThatWaitForAnotherWarp) {
  const char *g = ".global .u32 g; .shared .u32 s;";
  // Between CTAs, and between the warps of one.
  expectHalfFilled(kSpins,
                   "loop: ld.acquire.gpu.global.u32 %r0, [g]; setp.eq.u32 %p0, %r0, 0;"
                   "@%p0 bra loop;",
                   g);
  expectHalfFilled(kSpins,
                   "loop: ld.volatile.shared.u32 %r0, [s]; setp.eq.u32 %p0, %r0, 0;"
                   "@%p0 bra loop;",
                   g);
  // A lock.
  expectHalfFilled(kSpins,
                   "loop: atom.global.cas.b32 %r0, [g], 0, 1; setp.ne.u32 %p0, %r0, 0;"
                   "@%p0 bra loop;",
                   g);
  expectHalfFilled(kSpins,
                   "loop: atom.global.exch.b32 %r0, [g], 1; setp.ne.u32 %p0, %r0, 0;"
                   "@!%p0 exit; bra loop;",
                   g);
  // Through a flag that a branch sets, votes, memory of the thread's own, and a callee.
  expectHalfFilled(kSpins,
                   "mov.u32 %r1, 0; loop: ld.volatile.global.u32 %r0, [g];"
                   "setp.eq.u32 %p0, %r0, 0; @%p0 bra next; mov.u32 %r1, 1; next:"
                   "setp.eq.u32 %p1, %r1, 0; @%p1 bra loop;",
                   g);
  expectHalfFilled(kSpins,
                   "loop: ld.volatile.global.u32 %r0, [g]; setp.eq.u32 %p0, %r0, 0;"
                   "vote.sync.any.pred %p1, %p0, -1; @%p1 bra loop;",
                   g);
  expectHalfFilled(kSpins,
                   ".local .u32 own; loop: ld.volatile.global.u32 %r0, [g];"
                   "st.local.u32 [own], %r0; ld.local.u32 %r1, [own];"
                   "setp.eq.u32 %p0, %r1, 0; @%p0 bra loop;",
                   g);
  expectHalfFilled(kSpins, "loop: call (%r0), tryLock; setp.ne.u32 %p0, %r0, 0; @%p0 bra loop;",
                   ".global .u32 g; .func (.reg .u32 r) tryLock() {"
                   "atom.global.exch.b32 r, [g], 1; ret; }");
  // An inner loop with the same start as the outer one.
  expectHalfFilled(kSpins,
                   "mov.u32 %r1, 0; loop: ld.volatile.global.u32 %r0, [g];"
                   "setp.eq.u32 %p0, %r0, 0; @%p0 bra loop; add.u32 %r1, %r1, 1;"
                   "setp.lt.u32 %p1, %r1, 9; @%p1 bra loop;",
                   g);
  expectHalfFilled("line 15 ('bra') may leave a loop by what line 13 ('ld.volatile.global.u32')",
                   "loop:\nld.volatile.global.u32 %r0, [g];\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 bra "
                   "loop;",
                   g);
}

TEST(LoweringWarpForm, WhatACallGivesBack) {
  // By the ABI that compilers use: a result in .param memory.
  const char *poll = ".global .u32 g; .func (.param .b32 r) poll() { .reg .b32 %v;"
                     "ld.volatile.global.u32 %v, [g]; st.param.b32 [r], %v; ret; }";
  expectHalfFilled(kSpins,
                   "loop: { .param .b32 r; call (r), poll; ld.param.b32 %r0, [r]; }"
                   "setp.eq.u32 %p0, %r0, 0; @%p0 bra loop;",
                   poll);
  // A kernel's own parameters stay what they are.
  expectPacked("mov.u32 %r1, 0; loop: { .param .b32 r; call (r), poll; ld.param.b32 %r0, [r]; }"
               "ld.param.u32 %r2, [n]; add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r2;"
               "@%p0 bra loop;",
               poll);
}

TEST(LoweringWarpForm, WhatALoopHandsOnThroughMemory) {
  const char *variables = ".shared .u32 s; .global .u32 g; .global .u32 h;";
  // One lane reads for its warp.
  auto handedOn = [](const std::string &barrier) {
    return "mov.u32 %r1, %laneid; setp.ne.u32 %p1, %r1, 0; loop: @%p1 bra skip;"
           "ld.volatile.global.u32 %r0, [g]; st.shared.u32 [s], %r0; skip: " +
           barrier + " ld.shared.u32 %r2, [s]; setp.eq.u32 %p0, %r2, 0; @%p0 bra loop;";
  };
  expectHalfFilled(kSpins, handedOn("bar.warp.sync -1;"), variables);
  expectHalfFilled(kSpins, handedOn(""), variables);
  // The whole CTA takes the next piece of work.
  expectPacked(handedOn("bar.sync 0;"), variables);
  // A barrier on one of two ways round does not do.
  expectHalfFilled(kSpins,
                   "loop: ld.volatile.global.u32 %r0, [g]; st.shared.u32 [s], %r0;"
                   "ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra skip; bar.sync 0;"
                   "skip: ld.shared.u32 %r2, [s]; setp.eq.u32 %p0, %r2, 0; @%p0 bra loop;",
                   variables);
  // Through global memory, an address without a space, and the place that is written.
  expectHalfFilled(kSpins,
                   "loop: ld.volatile.global.u32 %r0, [g]; st.global.u32 [h], %r0;"
                   "ld.global.u32 %r2, [h]; setp.eq.u32 %p0, %r2, 0; @%p0 bra loop;",
                   variables);
  expectHalfFilled(kSpins,
                   "loop: ld.volatile.global.u32 %r0, [g]; st.u32 [%rd0], %r0;"
                   "ld.shared.u32 %r2, [s]; setp.eq.u32 %p0, %r2, 0; @%p0 bra loop;",
                   variables);
  expectHalfFilled(kSpins,
                   "loop: ld.volatile.global.u32 %r0, [g]; st.shared.u32 [%r0], 1;"
                   "ld.shared.u32 %r2, [s]; setp.eq.u32 %p0, %r2, 0; @%p0 bra loop;",
                   variables);
}

// A hint reads and writes nothing.
TEST(LoweringWarpForm, WhatIsOnlyPrefetchedIsNotHandedOn) {
  auto loop = [](const std::string &hint) {
    return "loop: ld.volatile.global.u32 %r0, [g]; cvt.u64.u32 %rd2, %r0;"
           "add.u64 %rd2, %rd2, %rd1;" +
           hint +
           "add.u64 %rd0, %rd0, 4; ld.global.u32 %r1, [%rd0]; setp.ne.u32 %p0, %r1, 0;"
           "@%p0 bra loop;";
  };
  expectPacked(loop("prefetch.global.L2 [%rd2];"), ".global .u32 g;");
  expectHalfFilled(kSpins, loop("st.global.u32 [%rd2], %r0;"), ".global .u32 g;");
}

TEST(LoweringWarpForm, SeveralWaysRoundOneLoop) {
  // Read on one of them, looked at on the other.
  expectHalfFilled(kSpins,
                   "mov.u32 %r0, 0; mov.u32 %r1, 0; loop: xor.b32 %r1, %r1, 1;"
                   "setp.eq.u32 %p1, %r1, 0; @%p1 bra look; ld.volatile.global.u32 %r0, [g];"
                   "bra loop; look: setp.ne.u32 %p0, %r0, 0; @%p0 bra end; bra loop; end:",
                   ".global .u32 g;");
}

TEST(LoweringWarpForm, LocksOfOneBit) {
  // The swap is tried again, and then what it expected says that the lock was taken.
  expectHalfFilled(kSpins, "loop: ld.global.u32 %r0, [%rd0]; or.b32 %r1, %r0, 1;"
                           "atom.global.cas.b32 %r2, [%rd0], %r0, %r1; setp.ne.u32 %p0, %r2, %r0;"
                           "@%p0 bra loop; and.b32 %r1, %r0, 1; setp.ne.u32 %p1, %r1, 0;"
                           "@%p1 bra loop;");
  // What is expected is loaded now and then, and from a place that moves on.
  expectHalfFilled(kSpins, "mov.u32 %r0, 0; loop: @%p1 ld.global.u32 %r0, [%rd0];"
                           "atom.global.cas.b32 %r2, [%rd0], %r0, 1; setp.ne.u32 %p0, %r2, %r0;"
                           "@%p0 bra loop;");
  expectHalfFilled(kSpins, "loop: ld.global.u32 %r0, [%rd0]; add.u64 %rd0, %rd0, 4;"
                           "atom.global.cas.b32 %r2, [%rd0], %r0, 1; setp.ne.u32 %p0, %r2, %r0;"
                           "@%p0 bra loop;");
}

TEST(LoweringWarpForm, PlainLoadsThatAreReadAnew) {
  const char *g = ".global .u32 g; .shared .u32 s;";
  for (const char *fence : {"membar.gl;", "fence.acq_rel.gpu;", "bar.warp.sync -1;",
                            "nanosleep.u32 100;", "atom.global.add.u32 %r1, [%rd0], 1;"})
    for (const char *load : {"ld.global.u32 %r0, [g];", "ld.shared.u32 %r0, [s];",
                             "ld.u32 %r0, [%rd1];", "mov.u64 %rd2, g; ld.global.u32 %r0, [%rd2];"})
      expectHalfFilled(
          kSpins, std::string("loop: ") + fence + load + "setp.eq.u32 %p0, %r0, 0; @%p0 bra loop;",
          g);
  std::string async = kernel("loop: red.async.release.gpu.global.add.u32 [%rd0], 1;"
                             "ld.global.u32 %r0, [g]; setp.eq.u32 %p0, %r0, 0; @%p0 bra loop;",
                             g);
  const std::string target = ".target sm_90";
  EXPECT_EQ(choiceFor(async.replace(async.find(target), target.size(), ".target sm_100")).form,
            "half-filled");
  // In functions.
  expectHalfFilled(kSpins,
                   "loop: membar.gl; call (%r0), get; setp.eq.u32 %p0, %r0, 0; @%p0 bra loop;",
                   ".global .u32 g; .func (.reg .u32 r) get() { ld.global.u32 r, [g]; ret; }");
  expectHalfFilled(kSpins,
                   "loop: call wait; ld.global.u32 %r0, [g]; setp.eq.u32 %p0, %r0, 0;"
                   "@%p0 bra loop;",
                   ".global .u32 g; .func wait() { membar.gl; ret; }");
  expectHalfFilled(kSpins, "loop: call (%r0), get; setp.eq.u32 %p0, %r0, 0; @%p0 bra loop;",
                   ".global .u32 g; .func (.reg .u32 r) get() { membar.gl; ld.global.u32 r, [g];"
                   "ret; }");
  // A list, a place that moves on, and a loop in which the CTA meets.
  expectPacked("loop: membar.gl; ld.global.u64 %rd0, [%rd0]; setp.ne.u64 %p0, %rd0, 0;"
               "@%p0 bra loop;");
  expectPacked("loop: membar.gl; add.u64 %rd0, %rd0, 4; ld.global.u32 %r0, [%rd0];"
               "setp.ne.u32 %p0, %r0, 0; @%p0 bra loop;");
  expectPacked("loop: membar.gl; bar.sync 0; ld.global.u32 %r0, [g]; setp.eq.u32 %p0, %r0, 0;"
               "@%p0 bra loop;",
               g);
}

TEST(LoweringWarpForm, FunctionsThatEndTheThreadOfALoop) {
  const char *leave = ".func leave(.reg .u64 p) { .reg .pred %q; .reg .u32 %v;"
                      "ld.volatile.u32 %v, [p]; setp.ne.u32 %q, %v, 0; @%q exit; ret; }"
                      ".global .u64 table[1] = {leave};";
  expectHalfFilled(kSpins, "loop: call leave, (%rd0); bra loop;", leave);
  expectHalfFilled(kSpins,
                   "ld.global.u64 %rd1, [table]; proto: .callprototype _ (.reg .u64 _);"
                   "loop: call %rd1, (%rd0), proto; bra loop;",
                   leave);
}

TEST(LoweringWarpForm, LoopsThatWaitForNobody) {
  const char *g = ".global .u32 g;";
  // As many rounds as a value says that was read before, and reads that decide nothing.
  expectPacked("atom.global.add.u32 %r0, [g], 1; loop: sub.u32 %r0, %r0, 1;"
               "setp.ne.u32 %p0, %r0, 0; @%p0 bra loop;",
               g);
  expectPacked("mov.u32 %r1, 9; loop: atom.global.add.u32 %r0, [g], 1; setp.eq.u32 %p1, %r0, 5;"
               "@%p1 bra skip; st.global.u32 [%rd0], %r0; skip: sub.u32 %r1, %r1, 1;"
               "setp.ne.u32 %p0, %r1, 0; @%p0 bra loop;",
               g);
  // Retries of a compare-and-swap, as nvcc and as a person would write them.
  expectPacked("ld.global.u32 %r0, [%rd0]; loop: add.u32 %r1, %r0, 7;"
               "atom.global.cas.b32 %r2, [%rd0], %r0, %r1; setp.ne.s32 %p0, %r0, %r2;"
               "mov.u32 %r0, %r2; @%p0 bra loop;",
               g);
  expectPacked("loop: ld.global.u32 %r0, [%rd0]; add.u32 %r1, %r0, 7;"
               "atom.global.cas.b32 %r2, [%rd0], %r0, %r1; setp.ne.s32 %p0, %r0, %r2;"
               "@%p0 bra loop;",
               g);
  expectPacked("ld.global.u32 %r0, [%rd0]; loop: mov.u32 %r2, %r0; add.u32 %r1, %r2, 7;"
               "atom.global.cas.b32 %r0, [%rd0], %r2, %r1; setp.ne.s32 %p0, %r0, %r2;"
               "@%p0 bra loop;",
               g);
  // Rounds that expect what was there long ago.
  expectHalfFilled(kSpins, "mov.u32 %r0, 0; loop: atom.global.cas.b32 %r2, [%rd0], %r0, 1;"
                           "setp.ne.s32 %p0, %r0, %r2; @%p1 bra old; mov.u32 %r0, %r2;"
                           "old: @%p0 bra loop;");
  expectHalfFilled(kSpins, "mov.u32 %r0, 0; loop: @%p1 bra old; mov.u32 %r2, %r0;"
                           "old: atom.global.cas.b32 %r0, [%rd0], %r2, 1;"
                           "setp.ne.s32 %p0, %r0, %r2; @%p0 bra loop;");
  // Locks that look like it: the value that is compared with is another one.
  expectHalfFilled(kSpins, "mov.u32 %r0, 0; loop: atom.global.cas.b32 %r2, [%rd0], %r0, 1;"
                           "setp.ne.s32 %p0, %r0, %r2; @%p0 bra loop;");
  expectHalfFilled(kSpins, "mov.u32 %r0, 0; loop: atom.global.cas.b32 %r2, [%rd0], %r0, 1;"
                           "setp.ne.s32 %p0, %r0, %r2; and.b32 %r0, %r2, -2; @%p0 bra loop;");
  expectHalfFilled(kSpins, "loop: ld.global.u32 %r0, [%rd1];"
                           "atom.global.cas.b32 %r2, [%rd0], %r0, 1; setp.ne.s32 %p0, %r0, %r2;"
                           "@%p0 bra loop;");
}

TEST(LoweringWarpForm, BarriersForSomeThreads) {
  expectHalfFilled("('bar.arrive') is counted in shared memory", "bar.arrive 1, 64;");
  expectHalfFilled("is counted in shared memory: its number of threads is in a register",
                   "ld.param.u32 %r0, [n]; bar.sync 1, %r0;");
  Choice choice = choiceFor(kernel("bar.sync 1, 256;"));
  EXPECT_EQ(choice.form, "packed");
  EXPECT_EQ(choice.exactThreads, 256);
  expectHalfFilled("is counted in shared memory", "bar.sync 1, 256; bar.sync 2, 128;");
  // Known to be all, and known to be one warp.
  choice = choiceFor(kernel("bar.sync 1, 256;", "", ".reqntid 256"));
  EXPECT_EQ(choice.form, "packed");
  EXPECT_EQ(choice.exactThreads, 0);
  choice = choiceFor(kernel("bar.arrive 1, 64; bar.sync 1, 64;", "", ".maxntid 8, 4, 1"));
  EXPECT_EQ(choice.form, "packed");
  EXPECT_EQ(choice.reason, "no CTA has more than one warp");
  // Code of both forms would share the addresses of functions.
  expectHalfFilled("is counted in shared memory",
                   "bar.sync 1, 256; ld.global.u64 %rd0, [table]; proto: .callprototype _ ();"
                   "call %rd0, proto;",
                   ".func f() { ret; } .global .u64 table[1] = {f};");
}

TEST(LoweringWarpForm, LargeBlocksAreCheckedAtBarriers) {
  auto mayBeChecked = [](const std::string &ptx) {
    Lowered result = lowered(ptx, forArch("gfx942"));
    return result.module && llvm::StringRef(result.metadata()).contains("\"mayBeChecked\":true");
  };
  const std::string divided = "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 bar.sync 0;";
  EXPECT_TRUE(mayBeChecked(kernel(divided)));
  EXPECT_FALSE(mayBeChecked(kernel("bar.sync 0;")));
  EXPECT_FALSE(mayBeChecked(kernel(divided, "", ".maxntid 512, 1, 1")));
  // Other reasons stand against it too.
  EXPECT_FALSE(mayBeChecked(kernel(divided + "bar.arrive 1, 64;")));
  EXPECT_FALSE(mayBeChecked(kernel("mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0;"
                                   "@%p0 barrier.sync 0;")));
  EXPECT_FALSE(mayBeChecked(kernel(divided +
                                   "L: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0;"
                                   "@%p1 bra L;")));
  // No launch could take the half-filled form.
  const std::string large = kernel(divided, "", ".reqntid 1024, 1, 1");
  const Choice choice = choiceFor(large);
  EXPECT_EQ(choice.form, "packed");
  EXPECT_THAT(choice.reason,
              HasSubstr("the kernel ends if warps of a wave come to a barrier apart"));
  // Who asks for the packed form wants what is proven, and nothing else.
  rubia::lowering::Options packed = forArch("gfx942");
  packed.code.set(rubia::settings::WarpFormChoice::Packed);
  const Lowered refused = lowered(large, packed);
  ASSERT_EQ(refused.diagnostics.size(), 1u);
  EXPECT_THAT(refused.diagnostics[0].message,
              AllOf(HasSubstr("the packed form is not legal"), HasSubstr("'bar.sync'")));
}

// Also where another form would be taken, for tests.
TEST(LoweringWarpForm, TheCheckedFormCanBeAskedFor) {
  rubia::lowering::Options checked = forArch("gfx942");
  checked.code.set(rubia::settings::WarpFormChoice::Checked);
  auto hasChecks = [&](const std::string &ptx) {
    Lowered result = lowered(ptx, checked);
    EXPECT_TRUE(result.module);
    return result.module && llvm::StringRef(result.text()).contains("__rubia_barriers");
  };
  EXPECT_TRUE(hasChecks(kernel("bar.sync 0;")));
  EXPECT_TRUE(hasChecks(kernel("mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 bar.sync 0;", "",
                               ".maxntid 256, 1, 1")));
  EXPECT_FALSE(hasChecks(kernel("")));
  // The words that count are one unit's, and device functions have none of their own.
  const Lowered allocates = lowered(
      kernel("bar.sync 0; { .param .b64 result; .param .b64 size; st.param.b64 [size], %rd0;"
             "call (result), malloc, (size); ld.param.b64 %rd1, [result]; } st.u64 [%rd1], %rd0;",
             ".extern .func (.param .b64 result) malloc(.param .b64 size);"),
      checked);
  ASSERT_TRUE(allocates.module);
  unsigned words = 0;
  for (const llvm::GlobalVariable &variable : allocates.module->globals())
    words += variable.getName().starts_with("__rubia_barriers");
  EXPECT_EQ(words, 1u);
  const Lowered refused = lowered(kernel("bar.arrive 1, 64;"), checked);
  ASSERT_EQ(refused.diagnostics.size(), 1u);
  EXPECT_THAT(refused.diagnostics[0].message, HasSubstr("the checked form is not legal"));
}

TEST(LoweringWarpForm, AFormCanBeAskedFor) {
  rubia::lowering::Options packed = forArch("gfx942");
  packed.code.set(rubia::settings::WarpFormChoice::Packed);
  EXPECT_TRUE(lowered(kernel("bar.sync 0;"), packed).module);
  Lowered result = lowered(kernel("bar.arrive 1, 64;"), packed);
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_THAT(result.diagnostics[0].message,
              AllOf(HasSubstr("the packed form is not legal"), HasSubstr("'bar.arrive'")));
  EXPECT_EQ(result.diagnostics[0].function, "k");
  EXPECT_GT(result.diagnostics[0].line, 0u);
}
