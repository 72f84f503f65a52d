// SPDX-License-Identifier: Apache-2.0
// What judging may not take from one kernel to another. That it reports what lowering reports is
// checked wherever tests lower something (Lowered.cpp).
#include "lowering/Judgement.h"
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
// The errors of the first unit of a text; "" if there are none.
std::string problemsOf(const std::string &text, Experience &experience, Judgement *into = nullptr,
                       const Options &options = {}) {
  const ptx::Module module = parsed(text);
  const std::vector<Unit> units = partition(module);
  Expected<Judgement> judgement = judge(module, units.front(), options, experience);
  if (!judgement)
    return toString(judgement.takeError());
  if (into)
    *into = std::move(*judgement);
  return "";
}
} // namespace

// .param is memory of another kind in a kernel that takes addresses of both kinds.
TEST(LoweringJudgement, TheFunctionAroundDecides) {
  const std::string function = ".func f(.param .b32 q) { ret; }\n";
  const std::string load = "ld.param.u32 %r1, [%rd1]; ";
  Experience experience;
  EXPECT_EQ(problemsOf(kernel("mov.u64 %rd1, p; " + load, function), experience), "");
  EXPECT_THAT(problemsOf(kernel("{ .param .b32 a; mov.u64 %rd1, p; mov.u64 %rd2, a; " + load +
                                    "call f, (a); }",
                                function),
                         experience),
              HasSubstr("an address in .param that may be a parameter of the kernel"));
}

TEST(LoweringJudgement, RoutesOfWhatWasAcceptedBefore) {
  const std::string text = kernel("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 "
                                  "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
                                  "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, "
                                  "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, "
                                  "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};");
  Experience experience;
  for (int i = 0; i < 2; ++i) {
    Judgement judgement;
    EXPECT_EQ(problemsOf(text, experience, &judgement), "");
    EXPECT_THAT(judgement.matrixRoutes, ElementsAre("wmma"));
  }
}

TEST(LoweringJudgement, LimitsOfTheForm) {
  Experience experience;
  Judgement judgement;
  EXPECT_EQ(problemsOf(kernel("ret;"), experience, &judgement, halfFilled("gfx90a")), "");
  EXPECT_THAT(judgement.maxThreads, ElementsAre(512));
  EXPECT_THAT(judgement.warpFormReason, HasSubstr("it was asked for"));
}
