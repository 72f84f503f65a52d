// SPDX-License-Identifier: Apache-2.0
// What would take LLVM too long is counted, and refused by name; what compilers write is not.
#include "lowering/Complexity.h"
#include "Lowered.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Instructions.h"
#include "gmock/gmock.h"

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;

namespace {

std::string number(unsigned n) { return std::to_string(n); }

Complexity complexityOfBody(const std::string &body) {
  ptx::Module module = parsed(kernel(body));
  return complexityOf(*module.function("k"));
}

// Each label is jumped to from one that comes later, past those between them.
std::string jumpsIntoLoops(unsigned labels) {
  std::string body;
  for (unsigned i = 0; i < labels; ++i)
    body += "L" + number(i) + ": add.u32 %r0, %r0, 1; setp.gt.u32 %p0, %r0, 100; @%p0 bra E;\n" +
            "setp.eq.u32 %p1, %r0, " + number(i) + "; @%p1 bra L" + number(i * 7 % labels) + ";\n";
  return body + "bra L0; E: ret;";
}

std::string earlyExits(unsigned count) {
  std::string body;
  for (unsigned i = 0; i < count; ++i)
    body += "setp.eq.u32 %p0, %r0, " + number(i) + "; @%p0 bra E; add.u32 %r0, %r0, 3;\n";
  return body + "E: ret;";
}

// One of several values, as a tree of comparisons would choose it, again and again.
std::string choices(unsigned count, unsigned values) {
  std::string body;
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned value = 0; value < values; ++value)
      body += "setp.eq.u32 %p0, %r0, " + number(value) + "; mov.u32 %r1, " + number(7 * value) +
              "; @%p0 bra E" + number(i) + ";\n";
    body += "E" + number(i) + ": add.u32 %r0, %r0, %r1;\n";
  }
  return body + "ret;";
}

std::string predicateChain(unsigned count) {
  std::string body = ".reg .pred c<" + number(count + 1) + ">; setp.eq.u32 c0, %r0, 1;\n";
  for (unsigned i = 0; i < count; ++i)
    body += "setp.eq.or.u32 c" + number(i + 1) + ", %r0, " + number(i) + ", c" + number(i) + ";\n";
  return body + "@c" + number(count) + " exit;";
}

const char *const kAssertfail =
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 u, "
    ".param .b64 c);";

// Each tests something and ends the thread.
std::string assertions(unsigned count) {
  std::string body = "mov.u64 %rd0, 0; mov.u64 %rd1, 1;\n";
  for (unsigned i = 0; i < count; ++i) {
    const std::string at = number(i);
    body += "setp.ne.u32 %p0, %r0, " + at + "; @%p0 bra L" + at +
            ";\n{ .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 u; .param .b64 c; "
            "st.param.b64 [m], %rd0; st.param.b64 [f], %rd0; st.param.b32 [l], " +
            at + "; st.param.b64 [u], %rd0; st.param.b64 [c], %rd1;\n" +
            "call.uni __assertfail, (m, f, l, u, c); }\nL" + at + ": add.u32 %r0, %r0, 3;\n";
  }
  return body + "ret;";
}

void expectRefused(const std::string &body, const std::string &reason) {
  Lowered result = lowered(kernel(body));
  ASSERT_EQ(result.diagnostics.size(), 1u) << reason;
  EXPECT_TRUE(result.diagnostics[0].unsupported);
  EXPECT_EQ(result.diagnostics[0].function, "k");
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr("'k' would take too long to compile"));
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr(reason));
}

} // namespace

TEST(Complexity, CountsJumpsIntoTheMiddleOfLoops) {
  // Loops within loops, left and gone on with early, have one entry each.
  EXPECT_EQ(complexityOfBody("A: add.u32 %r0, %r0, 1; B: add.u32 %r1, %r1, 1; @%p0 bra B; "
                             "@%p1 bra A; @%p2 bra C; bra B; C: ret;")
                .sideEntries,
            0u);
  // Two blocks that jump to each other, both entered from outside.
  EXPECT_EQ(complexityOfBody("@%p0 bra B; A: add.u32 %r0, %r0, 1; B: add.u32 %r1, %r1, 1; "
                             "@%p1 bra A; ret;")
                .sideEntries,
            1u);
  EXPECT_GT(complexityOfBody(jumpsIntoLoops(60)).sideEntries, 16u);
}

TEST(Complexity, CountsPairsOfJumpsToOnePlace) {
  EXPECT_EQ(complexityOfBody("@%p0 bra E; @%p1 bra E; @%p2 bra E; E: ret;").joinedPairs, 3u);
  EXPECT_EQ(complexityOfBody(earlyExits(512)).joinedPairs, 513u * 512 / 2);
}

TEST(Complexity, CountsTheDepthOfPredicates) {
  EXPECT_EQ(complexityOfBody("setp.eq.u32 %p0, %r0, 1; and.pred %p1, %p0, %p2; "
                             "@%p1 setp.eq.u32 %p3, %r0, 1; not.pred %p4, %p2;")
                .predicateDepth,
            3u);
  EXPECT_EQ(complexityOfBody(predicateChain(100)).predicateDepth, 101u);
}

TEST(Complexity, CountsRegistersThatAreWrittenSeveralTimes) {
  // %r0, and %r1 whose guard may be false; five blocks and two guards.
  EXPECT_EQ(complexityOfBody("mov.u32 %r0, 1; mov.u32 %r0, 2; mov.u32 %r2, 3; L: @%p0 mov.u32 %r1, "
                             "4; @%p0 bra L; ret;")
                .rewrites,
            2u * (5 + 2));
}

TEST(Complexity, RefusesWhatWouldTakeTooLong) {
  expectRefused(jumpsIntoLoops(60), "jumps into the middle of loops than are compiled, 16");
  expectRefused(earlyExits(1100), "pairs of jumps to one place than are compiled, 524288");
  expectRefused(predicateChain(300), "predicates that are computed from one another");
}

TEST(Complexity, LetsBigKernelsPass) {
  EXPECT_TRUE(lowered(kernel(earlyExits(200))).diagnostics.empty());
  // PyTorch's erfcx has a table of 100 cases for each element that a thread computes.
  EXPECT_TRUE(lowered(kernel(choices(32, 100))).diagnostics.empty());
  EXPECT_TRUE(lowered(kernel(predicateChain(100))).diagnostics.empty());
}

// A store of an initial value is what makes LLVM look for places where values meet.
// XGBoost's kernels have up to 2,916 of them.
TEST(Complexity, AssertionsJoinNothing) {
  ptx::Module module = parsed(kernel(assertions(600), kAssertfail));
  EXPECT_EQ(complexityOf(*module.function("k")).joinedPairs, 0u);
  Lowered result = lowered(module);
  ASSERT_TRUE(result.diagnostics.empty());
  const llvm::Function *k = result.module->getFunction("k");
  EXPECT_TRUE(llvm::none_of(*k, [](const llvm::BasicBlock &block) {
    return llvm::isa<llvm::UnreachableInst>(block.getTerminator());
  }));
}

TEST(LoweringRegisters, HaveAnInitialValueOnlyIfItMayBeRead) {
  std::string ir = irOf("mov.u32 %r1, 5; @%p0 bra L; st.global.u32 [%rd0], %r1; L: ret;");
  auto stores = [](const std::string &ir, const std::string &slot) {
    size_t count = 0;
    for (size_t at = 0; (at = ir.find(slot, at)) != std::string::npos; ++at) {
      size_t line = ir.rfind('\n', at) + 1;
      count += ir.compare(line, 8, "  store ") == 0;
    }
    return count;
  };
  EXPECT_EQ(stores(ir, "%\"%r1\""), 1u) << ir;
  // Read before it is written, on one path or in the next round of a loop; written twice.
  ir = irOf("@%p0 bra L; mov.u32 %r1, 5; L: st.global.u32 [%rd0], %r1; ret;");
  EXPECT_EQ(stores(ir, "%\"%r1\""), 2u) << ir;
  ir = irOf("L: st.global.u32 [%rd0], %r1; mov.u32 %r1, 5; @%p0 bra L; ret;");
  EXPECT_EQ(stores(ir, "%\"%r1\""), 2u) << ir;
  ir = irOf("@%p0 mov.u32 %r1, 5; st.global.u32 [%rd0], %r1; ret;");
  EXPECT_EQ(stores(ir, "%\"%r1\""), 2u) << ir;
}
