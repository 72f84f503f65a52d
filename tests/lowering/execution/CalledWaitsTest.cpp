// SPDX-License-Identifier: Apache-2.0
// Threads that wait for one another in functions.
#include "tests/lowering/execution/Waits.h"

using namespace rubia::lowering::test;

namespace {

const std::string kFunctions = R"(
.func take(.param .b64 lock) {
  .reg .b64 %rd; .reg .b32 %r; .reg .pred %p;
  ld.param.b64 %rd, [lock];
SPIN:
  atom.cas.b32 %r, [%rd], 0, 1; setp.ne.u32 %p, %r, 0; @%p bra SPIN;
  ret;
}
.func give(.param .b64 lock) {
  .reg .b64 %rd; .reg .b32 %r;
  ld.param.b64 %rd, [lock]; membar.gl; atom.exch.b32 %r, [%rd], 0;
  ret;
}
.func takeLater(.param .b64 lock) {
  .reg .b64 %rd;
  ld.param.b64 %rd, [lock];
  { .param .b64 a; st.param.b64 [a], %rd; call take, (a); }
  ret;
}
.func (.param .b32 isTaken) attempt(.param .b64 lock) {
  .reg .b64 %rd; .reg .b32 %r<2>; .reg .pred %p;
  ld.param.b64 %rd, [lock];
  atom.exch.b32 %r0, [%rd], 1; setp.eq.u32 %p, %r0, 0; @%p bra TAKEN;
  st.param.b32 [isTaken], 0; ret;
TAKEN:
  st.param.b32 [isTaken], 1;
  ret;
}
.func (.param .b32 found) await(.param .b64 at, .param .b32 wanted) {
  .reg .b64 %rd; .reg .b32 %r<2>; .reg .pred %p;
  ld.param.b64 %rd, [at]; ld.param.b32 %r1, [wanted];
SPIN:
  ld.acquire.gpu.b32 %r0, [%rd]; setp.ne.u32 %p, %r0, %r1; @%p bra SPIN;
  st.param.b32 [found], %r0;
  ret;
}
)";

std::string callOf(const std::string &function) {
  return "{ .param .b64 a; st.param.b64 [a], %rd0; call " + function + ", (a); }\n";
}

std::vector<uint32_t> resultOf(const std::string &body, const std::string &functions = kFunctions) {
  return runOnAllTargets(executable("cvta.global.u64 %rd0, %buf;" + body, functions), {0, 0},
                         ofThreads(64));
}

} // namespace

TEST(CalledWaits, LockThatTheKernelReleases) {
  const std::vector<uint32_t> expected = {0, 64};
  EXPECT_EQ(resultOf(callOf("take") + kCount + "atom.global.exch.b32 %r3, [%buf], 0;"), expected);
  EXPECT_EQ(resultOf(callOf("takeLater") + kCount + "st.volatile.global.u32 [%buf], 0;"), expected);
}

TEST(CalledWaits, LockOfFunctions) {
  const std::vector<uint32_t> expected = {0, 2 * 64};
  const std::string section = callOf("take") + kCount + callOf("give");
  EXPECT_EQ(resultOf(section + section), expected);
}

TEST(CalledWaits, AttemptsInALoopOfTheKernel) {
  const std::vector<uint32_t> expected = {0, 64};
  EXPECT_EQ(resultOf(R"(
  AGAIN:
    { .param .b64 a; .param .b32 o; st.param.b64 [a], %rd0; call (o), attempt, (a);
      ld.param.b32 %r0, [o]; }
    setp.eq.u32 %p0, %r0, 0; @%p0 bra AGAIN;)" +
                     std::string(kCount) + callOf("give")),
            expected);
}

TEST(CalledWaits, ThreadsOfAWarpOneAfterTheOther) {
  const std::vector<uint32_t> expected = {64, 64};
  EXPECT_EQ(resultOf(R"(
    { .param .b64 a; .param .b32 w; .param .b32 o; st.param.b64 [a], %rd0; st.param.b32 [w], %tid;
      call (o), await, (a, w); ld.param.b32 %r0, [o]; })" +
                     std::string(kCount) +
                     "add.u32 %r0, %r0, 1; st.release.gpu.global.u32 [%buf], %r0;"),
            expected);
}

TEST(CalledWaits, AnswersOfFunctions) {
  // Who waits in the kernel for what a function writes.
  const std::vector<uint32_t> expected = {64, 64};
  for (const char *answer : {"st.release.gpu.b32 [%rd], %r;", "st.volatile.b32 [%rd], %r;",
                             "membar.gl; st.b32 [%rd], %r;", "red.release.gpu.add.u32 [%rd], 1;"})
    EXPECT_EQ(resultOf(R"(
    WAIT:
      ld.acquire.gpu.global.u32 %r0, [%buf]; setp.ne.u32 %p0, %r0, %tid; @%p0 bra WAIT;)" +
                           std::string(kCount) + R"(
      add.u32 %r0, %r0, 1;
      { .param .b64 a; .param .b32 v; st.param.b64 [a], %rd0; st.param.b32 [v], %r0;
        call answer, (a, v); })",
                       std::string(R"(
.func answer(.param .b64 at, .param .b32 value) {
  .reg .b64 %rd; .reg .b32 %r;
  ld.param.b64 %rd, [at]; ld.param.b32 %r, [value]; )") +
                           answer + " ret;\n}\n"),
              expected)
        << answer;
}

// What else functions have, and how else values are passed: registers, constants, memory of their
// own, a choice of labels, an end before the last instruction, and a call that not all come to.
TEST(CalledWaits, FunctionsKeepTheirMeaning) {
  const std::string functions = R"(
.func (.reg .b32 o) await(.reg .b64 at, .reg .b32 wanted, .reg .b32 which) {
  .local .align 4 .b8 own[16]; .shared .align 4 .b8 all[4];
  .reg .b32 %r<4>; .reg .b64 %rd; .reg .pred %p;
  mov.b64 %rd, own; st.local.u32 [%rd+8], wanted; atom.shared.add.u32 %r2, [all], 1;
SPIN:
  ld.acquire.gpu.global.u32 %r0, [at]; ld.local.u32 %r1, [own+8];
  setp.ne.u32 %p, %r0, %r1; @%p bra SPIN;
  .pragma "nounroll";
TABLE: .branchtargets ZERO, ONE;
  setp.gt.u32 %p, which, 1; mov.u32 o, 5; @%p ret;
  brx.idx which, TABLE;
ZERO:
  mov.u32 o, 10; ret;
ONE:
  mov.u32 o, 20;
}
.func (.param .align 4 .b8 o[8]) swapped(.param .align 4 .b8 i[8]) {
  .reg .b32 %r<2>; .reg .b64 %rd;
  ld.param.b32 %r0, [i]; ld.param.b32 %r1, [i+4];
  st.param.v2.b32 [o], {%r1, %r0};
  red.relaxed.gpu.global.add.u32 [word], 1;
  ret;
}
)";
  const std::string ptx = executable(R"(
    .local .align 4 .b8 kept[8]; st.local.u32 [kept+4], %tid;
    setp.ge.u32 %p1, %tid, 48; mov.u32 %r5, 3; rem.u32 %r6, %tid, 3;
    @!%p1 call (%r5), await, (%buf, %tid, %r6);
    @%p1 call (%r5), await, (%buf, 48, 1);
    { .param .align 4 .b8 a[8]; .param .align 4 .b8 b[8];
      st.param.b32 [a], %r5; st.param.b32 [a+4], %tid; call (b), swapped, (a);
      ld.param.b32 %r7, [b]; ld.param.b32 %r8, [b+4]; }
    ld.local.u32 %r9, [kept+4]; mad.lo.u32 %r9, %r9, 1000, %r8; mad.lo.u32 %r9, %r7, 100000, %r9;
    st.global.u32 [%mine+8], %r9;
    @!%p1 add.u32 %r2, %tid, 1; @!%p1 st.release.gpu.global.u32 [%buf], %r2;)",
                                     ".global .u32 word;\n" + functions);
  std::vector<uint32_t> expected = {48, 0};
  for (uint32_t tid = 0; tid < 64; ++tid)
    expected.push_back(tid * 101000 + (tid >= 48 ? 20 : tid % 3 == 0 ? 10 : tid % 3 == 1 ? 20 : 5));
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(66, 0), ofThreads(64)), expected);
}

TEST(CalledWaits, ArgumentsAndResultsInOneVariable) {
  const std::string functions = R"(
.global .u32 word;
.func (.param .b32 o) next(.param .b32 i) {
  .reg .b32 %r;
  st.param.b32 [o], 5; red.relaxed.gpu.global.add.u32 [word], 1;
  ld.param.b32 %r, [i]; add.u32 %r, %r, 1; st.param.b32 [o], %r;
  ret;
}
)";
  std::vector<uint32_t> expected = {0, 64};
  for (uint32_t tid = 0; tid < 64; ++tid)
    expected.push_back(tid + 1);
  const std::string ptx =
      executable("cvta.global.u64 %rd0, %buf;" + callOf("take") + kCount + callOf("give") + R"(
    { .param .b32 v; st.param.b32 [v], %tid; call (v), next, (v); ld.param.b32 %r0, [v]; }
    st.global.u32 [%mine+8], %r0;)",
                 kFunctions + functions);
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(66, 0), ofThreads(64)), expected);
}

// Where a kernel would grow by too much, the small ones take their places: a function is too large,
// or is called too often.
TEST(CalledWaits, SmallFunctionsBesideLargeOnes) {
  for (const unsigned sums : {2500, 800}) {
    std::string large = ".func long(.param .b64 lock) {\n  .reg .b64 %rd; .reg .b32 %r;\n"
                        "  ld.param.b64 %rd, [lock]; red.relaxed.gpu.add.u32 [%rd+4], 0;\n";
    for (unsigned i = 0; i < sums; ++i)
      large += "  add.u32 %r, %r, 1; xor.b32 %r, %r, 5;\n";
    const std::string call = callOf("long");
    EXPECT_EQ(resultOf(callOf("take") + kCount + call + call + call + callOf("give"),
                       kFunctions + large + "  ret;\n}\n"),
              (std::vector<uint32_t>{0, 64}));
  }
}

TEST(CalledWaits, FunctionsThatCallThemselvesAreReported) {
  const std::string functions = R"(
.func take(.param .b64 lock, .param .b32 depth) {
  .reg .b64 %rd; .reg .b32 %r<2>; .reg .pred %p;
  ld.param.b64 %rd, [lock]; ld.param.b32 %r1, [depth];
  setp.eq.u32 %p, %r1, 0; @%p bra SPIN;
  sub.u32 %r1, %r1, 1;
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd; st.param.b32 [b], %r1; call take, (a, b); }
  ret;
SPIN:
  atom.cas.b32 %r0, [%rd], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra SPIN;
  ret;
}
)";
  expectReport(executable(R"(cvta.global.u64 %rd0, %buf; ld.global.u32 %r0, [%buf+8];
    { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd0; st.param.b32 [b], %r0;
      call take, (a, b); })" + std::string(kCount) +
                              "st.volatile.global.u32 [%buf], 0;",
                          functions),
               ofThreads(64));
}

TEST(CalledWaits, FunctionsThatAreCalledByAddressAreReported) {
  expectReport(executable(R"(cvta.global.u64 %rd0, %buf; ld.global.u64 %rd1, [table];
    { .param .b64 a; st.param.b64 [a], %rd0;
      P: .callprototype _ (.param .b64 lock);
      call %rd1, (a), P; })" + std::string(kCount) +
                              "st.volatile.global.u32 [%buf], 0;",
                          kFunctions + ".global .u64 table[1] = {take};\n"),
               ofThreads(64));
}
