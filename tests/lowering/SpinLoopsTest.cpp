// SPDX-License-Identifier: Apache-2.0
// Which loops are taken for ones in which threads wait for one another, and what becomes of them.
#include "Lowered.h"
#include "gmock/gmock.h"

namespace rubia::settings::WarpWaits {
extern const Word Short;
} // namespace rubia::settings::WarpWaits

using namespace llvm;
using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string kernelWith(const std::string &body) {
  return kernel("mov.u32 %r9, %tid.x; ld.param.u64 %rd0, [p]; mad.wide.u32 %rd1, %r9, 4, %rd0;\n" +
                body);
}

// 'W': watched, 'S': gone through in turns, 'K': kept until the release, 'T': kept together, '-':
// nothing of it.
std::string treatmentIn(const std::string &ptx) {
  std::string ir = lowered(ptx).text();
  bool watched = ir.find("spin.again:") != std::string::npos;
  bool kept = ir.find("spin.park:") != std::string::npos;
  bool turns = ir.find("turns.again:") != std::string::npos;
  bool together =
      !kept && !turns && ir.find("call void @llvm.amdgcn.wave.barrier") != std::string::npos;
  return std::string(watched ? "W" : "") + (turns ? "S" : "") + (kept ? "K" : "") +
         (together ? "T" : "") + (watched || turns || kept || together ? "" : "-");
}

std::string treatment(const std::string &body) { return treatmentIn(kernelWith(body)); }

} // namespace

TEST(SpinLoops, LoadsOfOwnAddresses) {
  for (const char *load :
       {"ld.volatile.global.u32", "ld.relaxed.gpu.global.u32", "ld.acquire.cta.global.u32",
        "ld.mmio.relaxed.sys.global.u32", "ld.global.cv.u32", "ld.cg.global.u32"}) {
    std::string loop =
        std::string("L: ") + load + " %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;";
    EXPECT_EQ(treatment(loop), "W") << load;
  }
  EXPECT_EQ(treatment("L: ld.global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;"), "-")
      << "nobody waits with such a load";
}

TEST(SpinLoops, OneAddressForAllMeansLeavingTogether) {
  EXPECT_EQ(
      treatment("L: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;"),
      "-");
  EXPECT_EQ(
      treatment("L: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, %r9; @%p0 bra L;"),
      "W")
      << "a condition of their own";
  EXPECT_EQ(treatment(R"(
    setp.eq.u32 %p1, %r9, 0;
    L: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 0; @%p1 bra X; @%p0 bra L; X:)"),
            "W")
      << "another way out";
}

// It is another one for each thread, and after each call.
TEST(SpinLoops, ResultsOfCallsAreNoParameters) {
  auto loop = [](const std::string &before, const std::string &inLoop, const std::string &poll) {
    return treatmentIn(
        kernel("mov.u32 %r9, %tid.x; ld.param.u64 %rd0, [p]; .param .b64 a; .param .b64 o;" +
                   before + "L: " + inLoop + poll + " @%p0 bra L;",
               ".func (.param .b64 o) f(.param .b64 i) { .reg .b64 %rd; ld.param.b64 %rd, [i];"
               " add.s64 %rd, %rd, 4; st.param.b64 [o], %rd; ret; }"));
  };
  const std::string call = "st.param.b64 [a], %rd1; call (o), f, (a); ld.param.b64 %rd1, [o];",
                    poll = "ld.volatile.global.u64 %rd2, [%rd0]; setp.eq.u64 %p0, %rd2, %rd1;";
  EXPECT_EQ(loop("mov.u64 %rd1, 4;", "", poll), "-");
  EXPECT_EQ(loop("cvt.u64.u32 %rd1, %r9;" + call, "", poll), "W");
  EXPECT_EQ(loop("cvt.u64.u32 %rd1, %r9; add.u64 %rd1, %rd1, %rd0;", call,
                 "ld.volatile.global.u64 %rd2, [%rd1]; setp.eq.u64 %p0, %rd2, 0;"),
            "-")
      << "another address each time";
}

// The barrier of a grid waits for other CTAs, for any time.
TEST(SpinLoops, TheWorkspaceOfTheGridIsNotWatched) {
  auto barrier = [](const std::string &word) {
    return "mov.b32 %r0, " + word + R"(1; mov.b32 %r1, )" + word + R"(2;
    cvt.u64.u32 %rd2, %r1; cvt.u64.u32 %rd3, %r0; bfi.b64 %rd2, %rd3, %rd2, 32, 32;
    add.u64 %rd2, %rd2, 4;
    again: setp.ne.u32 %p1, %r9, 0; @%p1 bra met;
    atom.release.gpu.global.add.u32 %r2, [%rd2], 1;
    L: ld.acquire.gpu.u32 %r3, [%rd2]; xor.b32 %r3, %r3, %r2; setp.ge.s32 %p0, %r3, 0; @%p0 bra L;
    met: bar.sync 0; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 9; @%p2 bra again;)";
  };
  EXPECT_EQ(treatment(barrier("%envreg")), "-");
  EXPECT_EQ(treatment(barrier("%r")), "W");
}

// Whatever computes it from what stays the same in the loop.
TEST(SpinLoops, AddressesThatAreComputedInTheLoop) {
  for (const char *step : {"min.u32 %r1, %r9, 7;", "bfe.u32 %r1, %r9, 1, 4;", "abs.s32 %r1, %r9;",
                           "mad24.lo.u32 %r1, %r9, 3, %r9;", "rem.u32 %r1, %r9, 5;",
                           "prmt.b32 %r1, %r9, %r9, 0x4321;", "neg.s32 %r1, %r9;"}) {
    std::string loop = std::string("L: ") + step +
                       " mad.wide.u32 %rd2, %r1, 4, %rd0; ld.volatile.global.u32 %r0, [%rd2];"
                       " setp.eq.u32 %p0, %r0, 0; @%p0 bra L;";
    EXPECT_EQ(treatment(loop), "W") << step;
  }
  // The carry is another one each time.
  EXPECT_EQ(treatment("L: add.cc.u32 %r2, %r2, -1; addc.u32 %r1, %r9, 0;"
                      " mad.wide.u32 %rd2, %r1, 4, %rd0; ld.volatile.global.u32 %r0, [%rd2];"
                      " setp.eq.u32 %p0, %r0, 0; @%p0 bra L;"),
            "-");
}

TEST(SpinLoops, AddressesThatChangeAreNoWaiting) {
  EXPECT_EQ(treatment(R"(
    L: ld.volatile.global.u32 %r0, [%rd1]; add.u64 %rd1, %rd1, 4;
    setp.eq.u32 %p0, %r0, 0; @%p0 bra L;)"),
            "-");
  EXPECT_EQ(treatment(R"(
    L: add.u64 %rd2, %rd1, 4; ld.volatile.global.u32 %r0, [%rd2];
    setp.eq.u32 %p0, %r0, 0; @%p0 bra L;)"),
            "W")
      << "the same one, computed again";
}

TEST(SpinLoops, OnlyIfTheExitDependsOnIt) {
  EXPECT_EQ(treatment(R"(
    mov.u32 %r1, 0;
    L: ld.volatile.global.u32 %r0, [%rd1]; add.u32 %r2, %r2, %r0;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 10; @%p0 bra L; st.global.u32 [%rd1], %r2;)"),
            "-");
  EXPECT_EQ(treatment(R"(
    L: ld.volatile.global.u32 %r0, [%rd1]; and.b32 %r1, %r0, 255; shl.b32 %r2, %r1, 3;
    setp.lt.u32 %p0, %r2, 10; @%p0 bra L;)"),
            "W");
}

// A flag that is set where the loop has found what it waits for.
TEST(SpinLoops, FlagsOfTheLoopThatDependOnIt) {
  auto loop = [](const std::string &whenFound, const std::string &thenAll) {
    return treatment("mov.u32 %r1, 0; L: ld.volatile.global.u32 %r0, [%rd1];"
                     " setp.eq.u32 %p0, %r0, 0; @%p0 bra M; " +
                     whenFound + " M: " + thenAll + " @%p1 bra L; st.global.u32 [%rd1], %r2;");
  };
  EXPECT_EQ(loop("mov.u32 %r1, 1;", "setp.eq.u32 %p1, %r1, 0;"), "S");
  EXPECT_EQ(loop("add.u32 %r1, %r1, 1;", "setp.lt.u32 %p1, %r1, 4;"), "S") << "four times";
  EXPECT_EQ(loop("@%p2 bra N; mov.u32 %r1, 1; N:", "setp.eq.u32 %p1, %r1, 0;"), "S")
      << "and something else";
  EXPECT_EQ(loop("add.u32 %r2, %r2, 1;", "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9;"), "-")
      << "another register";
}

// A count comes to its end without anybody.
TEST(SpinLoops, TheEndOfACountIsNotWaitedFor) {
  auto loop = [](const std::string &step, const std::string &question) {
    return treatment("mov.u32 %r1, 0; L:" + step + "ld.global.cg.u32 %r0, [%rd1]; setp." +
                     question + "; @%p0 bra L;");
  };
  EXPECT_EQ(loop("add.u32 %r1, %r1, 1;", "lt.u32 %p0, %r1, %r0"), "-");
  EXPECT_EQ(loop("add.u32 %r2, %r1, 4; mov.u32 %r1, %r2;", "gt.u32 %p0, %r0, %r2"), "-");
  EXPECT_EQ(loop("add.u32 %r1, %r1, 1;", "ne.u32 %p0, %r1, %r0"), "W") << "may pass by it";
  EXPECT_EQ(loop("@%p1 add.u32 %r1, %r1, 1;", "lt.u32 %p0, %r1, %r0"), "W");
  EXPECT_EQ(loop("@%p1 bra M; add.u32 %r1, %r1, 1; M:", "lt.u32 %p0, %r1, %r0"), "W");
  EXPECT_EQ(loop("add.u32 %r1, %r1, %r9;", "lt.u32 %p0, %r1, %r0"), "W") << "of any size";
  EXPECT_EQ(loop("add.u32 %r1, %r2, 1;", "lt.u32 %p0, %r1, %r0"), "W") << "the same again";
}

TEST(SpinLoops, AtomicUpdatesWaitForNobody) {
  EXPECT_EQ(treatment(R"(
    ld.global.u32 %r0, [%rd0];
    L: add.u32 %r1, %r0, 1; atom.global.cas.b32 %r2, [%rd0], %r0, %r1;
    setp.ne.u32 %p0, %r2, %r0; mov.u32 %r0, %r2; @%p0 bra L;)"),
            "-");
  EXPECT_EQ(treatment(R"(
    ld.global.u32 %r0, [%rd0];
    L: mov.u32 %r2, %r0; add.u32 %r1, %r2, 1; atom.global.cas.b32 %r0, [%rd0], %r2, %r1;
    setp.ne.u32 %p0, %r0, %r2; @%p0 bra L;)"),
            "-")
      << "a copy of the register that gets the old value";
}

// Each round expects what it has loaded itself, by whatever load.
TEST(SpinLoops, AtomicUpdatesWaitForNobodyWhateverLoadsTheOldValue) {
  for (const char *load : {"ld.global.u32", "ld.volatile.global.u32", "ld.relaxed.gpu.global.u32"})
    EXPECT_EQ(treatment(std::string("L: ") + load + R"( %r0, [%rd0]; add.u32 %r1, %r0, 1;
                        atom.global.cas.b32 %r2, [%rd0], %r0, %r1;
                        setp.ne.u32 %p0, %r2, %r0; @%p0 bra L;)"),
              "-")
        << load;
}

// A compare and swap that expects anything but what was there: it waits until that comes.
TEST(SpinLoops, LocksOfOneBitThatAreTakenByComparison) {
  EXPECT_EQ(treatment(R"(
    ld.global.u32 %r0, [%rd0];
    L: and.b32 %r3, %r0, -2; or.b32 %r1, %r3, 1; atom.global.cas.b32 %r2, [%rd0], %r3, %r1;
    setp.ne.u32 %p0, %r2, %r3; mov.u32 %r0, %r2; @%p0 bra L;
    st.global.u32 [%rd0+4], %r9;)"),
            "W");
}

// The swap is tried again by a branch within the loop, which divides the threads before the exit.
TEST(SpinLoops, LocksOfOneBit) {
  auto lock = [](const std::string &load) {
    return "L: " + load + R"( %r0, [%rd0]; or.b32 %r1, %r0, 1;
      atom.global.cas.b32 %r2, [%rd0], %r0, %r1; setp.ne.u32 %p0, %r2, %r0; @%p0 bra L;
      and.b32 %r3, %r0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;
      st.global.u32 [%rd0+4], %r9;)";
  };
  EXPECT_EQ(treatment(lock("ld.volatile.global.u32")), "W");
  EXPECT_EQ(treatment(lock("ld.global.u32")), "W");
  EXPECT_EQ(treatment(R"(
    mov.u32 %r0, 0;
    L: or.b32 %r1, %r0, 1; atom.global.cas.b32 %r2, [%rd0], %r0, %r1; setp.ne.u32 %p0, %r2, %r0;
    mov.u32 %r0, %r2; @%p0 bra L; and.b32 %r3, %r2, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;)"),
            "W");
}

TEST(SpinLoops, LocksAreKeptUntilTheirRelease) {
  const char *lock =
      "L: atom.global.cas.b32 %r0, [%rd0], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L;\n"
      "ld.volatile.global.u32 %r1, [%rd0+4]; add.u32 %r1, %r1, 1;"
      "st.volatile.global.u32 [%rd0+4], %r1;\n";
  EXPECT_EQ(treatment(lock + std::string("atom.global.exch.b32 %r2, [%rd0], 0;")), "K");
  EXPECT_EQ(treatment(lock + std::string("membar.gl; st.volatile.global.u32 [%rd0], 0;")), "K");
  EXPECT_EQ(treatment(lock + std::string(R"(
    setp.lt.u32 %p1, %r1, 10; @%p1 bra A; st.global.u32 [%rd1], 0; A:
    st.release.gpu.global.u32 [%rd0], 0;)")),
            "K")
      << "a branch in the critical section";
  EXPECT_EQ(treatment(lock + std::string("st.volatile.global.u32 [%rd0+8], 0;")), "W")
      << "another one";
  EXPECT_EQ(treatment(lock + std::string("@%p1 st.volatile.global.u32 [%rd0], 0;")), "S")
      << "not always";
  EXPECT_EQ(treatment(lock + std::string("bar.sync 0; st.volatile.global.u32 [%rd0], 0;")), "W")
      << "a barrier is for all";
  EXPECT_EQ(treatment(lock + std::string("vote.sync.any.pred %p1, %p0, -1;"
                                         "st.volatile.global.u32 [%rd0], 0;")),
            "W")
      << "and so is this";
  EXPECT_EQ(treatment(lock + std::string("@%p1 ret; st.volatile.global.u32 [%rd0], 0;")), "S");
}

// A trap ends the kernel for all, also where others come to it.
TEST(SpinLoops, CriticalSectionsMayTrap) {
  EXPECT_EQ(treatment(R"(
    setp.gt.u32 %p2, %r9, 100; @%p2 trap;
    L: atom.global.cas.b32 %r0, [%rd0], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L;
    ld.volatile.global.u32 %r1, [%rd0+4]; setp.gt.u32 %p3, %r1, 9; @%p3 trap;
    atom.global.exch.b32 %r2, [%rd0], 0;)"),
            "K");
}

// The register holds another address by then.
TEST(SpinLoops, AReleaseIsAtTheSameAddress) {
  const std::string lock = "mov.u64 %rd3, %rd0; L: atom.global.cas.b32 %r0, [%rd3], 0, 1;"
                           "setp.ne.u32 %p0, %r0, 0; @%p0 bra L;\n";
  EXPECT_EQ(treatment(lock + "st.volatile.global.u32 [%rd3], 0;"), "K");
  EXPECT_EQ(treatment(lock + "add.u64 %rd3, %rd3, 128; st.volatile.global.u32 [%rd3], 0;"), "S");
}

// What follows the loop may answer those who are still in it.
TEST(SpinLoops, LoopsWhoseAnswerFollowsAreGoneThroughInTurns) {
  const std::string wait =
      "L: ld.volatile.global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;\n";
  EXPECT_EQ(treatment(wait + "st.volatile.global.u32 [%rd1+4], 1;"), "S");
  EXPECT_EQ(treatment(wait + "red.global.add.u32 [%rd0], 1;"), "S");
  EXPECT_EQ(treatment(wait + "@%p1 bra M; st.global.u32 [%rd1+4], 1; M:"), "S");
  EXPECT_EQ(treatment(wait + "st.volatile.global.u32 [%rd5], 1;"), "W") << "somewhere else";
  EXPECT_EQ(treatment(wait + "bar.sync 0; st.volatile.global.u32 [%rd1+4], 1;"), "W")
      << "they meet before";
  EXPECT_EQ(treatment(wait + "activemask.b32 %r1; st.volatile.global.u32 [%rd1+4], %r1;"), "W")
      << "they see who is there";
  EXPECT_EQ(treatment("L: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;"
                      "st.volatile.global.u32 [%rd1+4], 1;"),
            "-")
      << "they leave together";
}

TEST(SpinLoops, ThreadsThatNeverEndTakeNoTurns) {
  EXPECT_EQ(treatment(R"(
    AGAIN: st.volatile.global.u32 [%rd1+4], 1;
    L: ld.volatile.global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;
    bra AGAIN;)"),
            "W");
}

// Two pointers with one index, or one pointer and two places that all know.
TEST(SpinLoops, AnswersAreByTheSamePointer) {
  auto after = [](const std::string &answer) {
    return treatment(R"(
      mul.wide.u32 %rd2, %r9, 4; add.u64 %rd3, %rd0, %rd2; ld.global.u64 %rd4, [%rd0+64];
      add.u64 %rd5, %rd4, %rd2; add.u64 %rd6, %rd0, 8;
      L: atom.global.add.u32 %r0, [%rd0], 0; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;
      st.volatile.global.u32 )" +
                     answer + ", 1;");
  };
  EXPECT_EQ(after("[%rd3]"), "S");
  EXPECT_EQ(after("[%rd5]"), "W");
  EXPECT_EQ(after("[%rd6]"), "W");
  EXPECT_EQ(after("[%rd6+-4]"), "W");
  EXPECT_EQ(after("[%rd6+-8]"), "S");
}

// A round that goes on before it comes to the swap.
TEST(SpinLoops, SemaphoresAreWaitedFor) {
  const std::string take = R"(
    L: ld.volatile.global.u32 %r0, [%rd0]; setp.gt.u32 %p1, %r0, 1; @%p1 bra L;
    add.u32 %r1, %r0, 1; atom.global.cas.b32 %r2, [%rd0], %r0, %r1; setp.ne.u32 %p0, %r2, %r0;
    @%p0 bra L;
    )";
  EXPECT_EQ(treatment(take + "red.global.add.u32 [%rd0], -1;"), "S");
  EXPECT_EQ(treatment(take + "bar.sync 0; red.global.add.u32 [%rd0], -1;"), "W");
}

// Who hands something on with the next value, or only looks, takes no lock.
TEST(SpinLoops, WhatIsTakenIsReleased) {
  auto kept = [](const std::string &take, const std::string &release) {
    return treatment("L: atom.global." + take + "; setp.ne.u32 %p0, %r0, 0; @%p0 bra L;\n" +
                     release + ";");
  };
  EXPECT_EQ(kept("cas.b32 %r0, [%rd1], 0, 1", "st.volatile.global.u32 [%rd1], 0"), "K");
  EXPECT_EQ(kept("cas.b32 %r0, [%rd1], 0, 1", "st.volatile.global.u32 [%rd1], 2"), "S");
  EXPECT_EQ(kept("cas.b32 %r0, [%rd1], 0, 1", "atom.global.exch.b32 %r1, [%rd1], 2"), "S");
  EXPECT_EQ(kept("cas.b32 %r0, [%rd1], 0, 1", "atom.global.add.u32 %r1, [%rd1], -1"), "K");
  EXPECT_EQ(kept("cas.b32 %r0, [%rd1], 0, 0", "st.volatile.global.u32 [%rd1], 0"), "S");
  EXPECT_EQ(kept("or.b32 %r0, [%rd1], 1", "st.volatile.global.u32 [%rd1], 0"), "K");
  EXPECT_EQ(kept("or.b32 %r0, [%rd1], 0", "st.volatile.global.u32 [%rd1], 1"), "S");
  EXPECT_EQ(kept("cas.b32 %r0, [%rd1], 0, 1", "atom.global.or.b32 %r1, [%rd1], 0;"
                                              "st.volatile.global.u32 [%rd1+4], %r1; bar.sync 0;"
                                              "st.volatile.global.u32 [%rd1], 0"),
            "S")
      << "released behind the barrier";
}

// Each attempt of a loop that was unrolled writes what the others write.
TEST(SpinLoops, AttemptsAreNoReleases) {
  auto twice = [](const std::string &second) {
    return treatment(R"(
      L: atom.global.cas.b32 %r0, [%rd0], 0, 1; setp.eq.u32 %p0, %r0, 0; @%p0 bra M;
      )" + second + R"( setp.ne.u32 %p0, %r0, 0; @%p0 bra L;
      M: st.volatile.global.u32 [%rd0], 0;)");
  };
  EXPECT_EQ(twice("atom.global.cas.b32 %r0, [%rd0], 0, 1;"), "S");
  EXPECT_EQ(twice("atom.global.cas.b32 %r0, [%rd0], 1, 0;"), "T");
}

// Who has one lock and waits for another one.
TEST(SpinLoops, LocksWithinLocks) {
  auto locks = [](const std::string &inner) {
    return treatment(R"(
      L: atom.global.exch.b32 %r0, [%rd1], 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra L;
      M: atom.global.exch.b32 %r0, [)" +
                     inner + R"(], 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra M;
      st.volatile.global.u32 [)" +
                     inner + R"(], 0; st.volatile.global.u32 [%rd1], 0;)");
  };
  EXPECT_EQ(locks("%rd1+4"), "S");
  EXPECT_EQ(locks("%rd5"), "K") << "never the same";
}

TEST(SpinLoops, LocksReleasedInTheLoopAreKeptThere) {
  EXPECT_EQ(treatment(R"(
    mov.u32 %r3, 0;
    L: atom.global.cas.b32 %r0, [%rd0], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra M;
    st.volatile.global.u32 [%rd0], 0; mov.u32 %r3, 1;
    M: setp.eq.u32 %p1, %r3, 0; @%p1 bra L;)"),
            "T");
}

TEST(SpinLoops, AnswersOfThreadsThatDoNotComeToTheLoop) {
  const char *wait =
      "L: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;\n";
  auto unless = [&](const std::string &condition, const std::string &after) {
    return treatment(condition + " @%p1 bra S;\n" + wait + "S:\n" + after);
  };
  const char *firstThread = "setp.eq.u32 %p1, %r9, 0;";
  EXPECT_EQ(unless(firstThread, "st.volatile.global.u32 [%rd0], 1;"), "W");
  EXPECT_EQ(unless(firstThread, "st.global.u32 [%rd1+4], 1;"), "W") << "perhaps there";
  EXPECT_EQ(unless(firstThread, "bar.sync 0; st.volatile.global.u32 [%rd0], 1;"), "-")
      << "they wait for the loop anyhow";
  EXPECT_EQ(
      unless(firstThread, "vote.sync.any.pred %p2, %p1, -1; st.volatile.global.u32 [%rd0], 1;"),
      "-");
  EXPECT_EQ(unless(firstThread, "st.volatile.global.u32 [%rd5], 1;"), "-") << "somewhere else";
  EXPECT_EQ(unless("mov.u32 %r8, %ctaid.x; setp.eq.u32 %p1, %r8, 0;",
                   "st.volatile.global.u32 [%rd0], 1;"),
            "-")
      << "all of the warp go the same way";
}

TEST(SpinLoops, AnswersBehindCalls) {
  auto behind = [](const std::string &callee) {
    return treatmentIn(
        kernel("mov.u32 %r9, %tid.x; ld.param.u64 %rd0, [p]; setp.eq.u32 %p1, %r9, 0;"
               " @%p1 bra L; call f, (); st.volatile.global.u32 [%rd0], 1; bra E;"
               " L: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L; E:",
               ".func g() { .reg .b32 %r; add.u32 %r, %r, 1; " + callee +
                   " ret; } .func f() { call g, (); ret; }"));
  };
  EXPECT_EQ(behind(""), "WT"); // and the answer comes first
  EXPECT_EQ(behind("bar.sync 0;"), "-") << "they meet in the callee";
}

// All of a warp leave the outer loop together, but for the first thread, which does not come to it.
// The inner loop has the same label.
TEST(SpinLoops, AnswersWhereLoopsShareALabel) {
  const std::string loops = R"(
    mov.u32 %r8, %ctaid.x; setp.eq.u32 %p1, %r9, 0; @%p1 bra S;
    L: setp.eq.u32 %p2, %r8, 77; @%p2 bra L;
    ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 0; bar.warp.sync -1; @%p0 bra L;
    S: )";
  EXPECT_EQ(treatment(loops + "st.volatile.global.u32 [%rd0], 1;"), "WT"); // and kept apart
  EXPECT_EQ(treatment(loops + "st.volatile.global.u32 [%rd5], 1;"), "T");
}

// What those on the other way do comes before the loop C, and nothing that they do after it: so
// their own loop P, which also writes, is no branch that divides them.
TEST(SpinLoops, OnlyBranchesThatDivideThemAreOrdered) {
  std::string ir = lowered(kernelWith(R"(
    setp.ge.u32 %p1, %r9, 16; @%p1 bra C;
    Q: add.u32 %r2, %r2, 1;
    P: atom.global.add.u32 %r0, [%rd0], 0; setp.eq.u32 %p0, %r0, 0; @%p0 bra P;
    st.volatile.global.u32 [%rd0+4], 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra Q;
    bra E;
    C: ld.volatile.global.u32 %r0, [%rd0+4];
    @%p3 bra D; add.u32 %r1, %r1, 1; D: @%p4 bra F; add.u32 %r1, %r1, 1; F:
    @%p3 bra G; add.u32 %r1, %r1, 1; G: setp.eq.u32 %p0, %r0, 0; @%p0 bra C; E:)"))
                       .text();
  EXPECT_EQ(StringRef(ir).count("\nanswered"), 1u);
}

// Of three ways, one waits and one answers.
TEST(SpinLoops, AnswersOnAnotherWayOfAJumpTable) {
  auto table = [](const std::string &index, const std::string &third) {
    return treatment("mov.u32 %r2, " + index + R"(;
    ways: .branchtargets A, L, S;
    brx.idx %r2, ways;
    A: bra E;
    L: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L; bra E;
    S: )" + third + " E:");
  };
  EXPECT_EQ(table("%tid.x", "st.volatile.global.u32 [%rd0], 1;"), "S");
  EXPECT_EQ(table("%tid.x", "bar.sync 0; st.volatile.global.u32 [%rd0], 1;"), "-");
  EXPECT_EQ(table("%ctaid.x", "st.volatile.global.u32 [%rd0], 1;"), "-");
}

// Who answers cannot go first where others come to the answer too. Whole warps do not wait for
// those of their own.
TEST(SpinLoops, AnswersThatSeveralBranchesShare) {
  auto shared = [](const std::string &one, const std::string &other) {
    return treatment("setp.lt.u32 %p1, " + one + "; @%p1 bra S; setp.lt.u32 %p2, " + other +
                     R"(; @%p2 bra S;
    L: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L; bra E;
    S: st.volatile.global.u32 [%rd0], 1; E:)");
  };
  EXPECT_EQ(shared("%r9, 7", "%r9, 9"), "S");
  EXPECT_EQ(shared("%r9, 64", "%r9, 9"), "S");
  EXPECT_EQ(shared("%r9, 64", "%r9, 128"), "W");
}

TEST(SpinLoops, MbarriersOfTwoWays) {
  auto ways = [](const std::string &threads) {
    return treatmentIn(
        kernel("mov.u32 %r9, %tid.x; mov.u32 %r1, bar; setp.lt.u32 %p1, %r9, " + threads + R"(;
    @%p1 bra B;
    A: mbarrier.test_wait.parity.shared.b64 %p0, [%r1], 0; @!%p0 bra A;
    mbarrier.arrive.shared.b64 %rd2, [%r1+8]; bra E;
    B: mbarrier.test_wait.parity.shared.b64 %p0, [%r1+8], 1; @!%p0 bra B;
    mbarrier.arrive.shared.b64 %rd2, [%r1]; E:)",
               ".shared .align 8 .b64 bar[2];"));
  };
  EXPECT_EQ(ways("16"), "S");
  EXPECT_EQ(ways("64"), "WT") << "warps have different tasks: one way goes first";
}

// Who goes round a loop comes to what follows it together with who has left it.
TEST(SpinLoops, AnswersBehindALoopOfOtherRounds) {
  auto behind = [](const std::string &poll) {
    return treatmentIn(kernel("mov.u32 %r9, %tid.x; mov.u32 %r1, bar; mov.u32 %r2, 0;"
                              "NEXT: and.b32 %r3, %r2, 1;\n W: " +
                                  poll + R"( @!%p0 bra W; rem.u32 %r4, %r9, 5;
    L: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 7; @%p1 bra L;
    mbarrier.arrive.shared.b64 %rd2, [%r1];
    add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 3; @%p1 bra NEXT;)",
                              ".shared .align 8 .b64 bar[2];"));
  };
  EXPECT_EQ(behind("mbarrier.test_wait.parity.shared.b64 %p0, [%r1], %r3;"), "W");
  EXPECT_EQ(behind("ld.volatile.shared.u32 %r5, [%r1]; setp.eq.u32 %p0, %r5, %r3;"), "S")
      << "what follows answers";
}

TEST(SpinLoops, EveryInstructionThatWritesMayAnswer) {
  for (const char *answer :
       {"st.global.u32 [%rd0], 1;", "atom.global.exch.b32 %r1, [%rd0], 1;",
        "red.global.add.u32 [%rd0], 1;", "st.async.release.gpu.global.u32 [%rd0], 1;",
        "red.async.release.gpu.global.add.u32 [%rd0], 1;"}) {
    std::string ptx = kernelWith(std::string("setp.eq.u32 %p1, %r9, 0; @%p1 bra S;\n"
                                             "L: ld.volatile.global.u32 %r0, [%rd0];"
                                             "setp.eq.u32 %p0, %r0, 0; @%p0 bra L; bra E;\nS: ") +
                                 answer + "\nE:");
    const std::string target = ".target sm_90";
    ptx.replace(ptx.find(target), target.size(), ".target sm_100");
    EXPECT_EQ(treatmentIn(ptx), "WT") // and goes first
        << answer;
  }
}

// Loops that are as large as each other are found in the order of the text, however many blocks
// their instructions become.
TEST(SpinLoops, LoopsAreInTheOrderOfTheText) {
  std::string metadata = lowered(kernelWith(R"(
    L: ld.volatile.global.u32 %r0, [%rd1];
    @%p3 st.global.u32 [%rd5], 1; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;
    M: ld.relaxed.gpu.global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra M;)"))
                             .metadata();
  size_t spins = metadata.find("\"spinLoops\"");
  EXPECT_LT(metadata.find("'ld.volatile.global.u32'", spins),
            metadata.find("'ld.relaxed.gpu.global.u32'", spins));
}

TEST(SpinLoops, MetadataAndTrapsNameTheLoop) {
  Lowered result = lowered(kernel(R"(
  .loc 1 77 0
  mov.u32 %r9, %tid.x; ld.param.u64 %rd0, [p]; mad.wide.u32 %rd1, %r9, 4, %rd0;
  L:
  ld.volatile.global.u32 %r0, [%rd1];
  setp.eq.u32 %p0, %r0, 0;
  @%p0 bra L;)",
                                  ".file 1 \"a.cu\"\n"));
  EXPECT_THAT(result.metadata(),
              HasSubstr(R"("spinLoops":["k:17 (a.cu:77): the loop that waits for )"
                        R"('ld.volatile.global.u32' of line 17"])"));
  EXPECT_THAT(result.metadata(), HasSubstr(R"("traps":["k:17)"));
  EXPECT_TRUE(hasInOrder(result.text(), {"spin.enter:", "ballot", "spin.again:", "ballot",
                                         "icmp eq i32 *, 1073741823", "store i32 4"}));
}

// The answer may come from another GPU, minutes later.
TEST(SpinLoops, TheUserSaysHowLongTheyWait) {
  const std::string wait =
      kernelWith("L: ld.volatile.global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L;");
  Options quick;
  quick.code.set(settings::WarpWaits::Short);
  EXPECT_TRUE(hasInOrder(lowered(wait).text(), {"spin.again:", "icmp eq i32 *, 1073741823"}));
  EXPECT_TRUE(hasInOrder(lowered(wait, quick).text(), {"spin.again:", "icmp eq i32 *, 4194304"}));
}

// Who has left by a branch is waited for, unless all of a warp meet before: members that were there
// a moment ago do not.
TEST(SpinLoops, MembersThatWereThereMeetNobodyElse) {
  auto behind = [](const std::string &members) {
    return treatment("setp.lt.u32 %p0, %r9, 16; @%p0 bra LEAVE; ld.global.u32 %r3, [%rd1+4];" +
                     members + R"(
      bar.warp.sync %r4;
      W: ld.volatile.global.u32 %r0, [%rd0]; setp.lt.u32 %p2, %r0, 16; @%p2 bra W;
      bra END;
      LEAVE: red.global.add.u32 [%rd0], 1;
      END:)");
  };
  const std::string there = behind("activemask.b32 %r4;"), unknown = behind("mov.u32 %r4, %r3;");
  EXPECT_NE(there, unknown);
  for (const char *members :
       {"activemask.b32 %r2; and.b32 %r4, %r3, %r2;", "activemask.b32 %r2; and.b32 %r4, %r2, %r3;",
        "activemask.b32 %r4; A: and.b32 %r4, %r4, %r3; setp.eq.u32 %p1, %r4, %r9; @%p1 bra A;",
        "activemask.b32 %r2; A: mov.u32 %r4, %r2; mov.u32 %r2, %r4;"
        "setp.eq.u32 %p1, %r4, %r9; @%p1 bra A;",
        "activemask.b32 %r2; vote.sync.ballot.b32 %r4, %p0, %r2;"})
    EXPECT_EQ(behind(members), there) << members;
  for (const char *members : {"mov.u32 %r4, -1;", "mov.u32 %r2, %r3; and.b32 %r4, %r3, %r2;",
                              "mov.u32 %r2, %r3; and.b32 %r4, %r2, %r3;",
                              "activemask.b32 %r2; @%p0 mov.u32 %r2, %r3; mov.u32 %r4, %r2;",
                              "A: mov.u32 %r2, %r3; mov.u32 %r3, %r2; and.b32 %r4, %r3, %r2;"
                              "setp.eq.u32 %p1, %r4, %r9; @%p1 bra A;",
                              "A: mov.u32 %r2, %r3; mov.u32 %r3, %r2; and.b32 %r4, %r2, %r3;"
                              "setp.eq.u32 %p1, %r4, %r9; @%p1 bra A;",
                              "vote.sync.ballot.b32 %r4, %p0, %r3;"})
    EXPECT_EQ(behind(members), unknown) << members;
}
