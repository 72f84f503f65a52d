// SPDX-License-Identifier: Apache-2.0
// PTX with statements taken away: what goes with them, and what registers begin as.
#include "diff/Cut.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace llvm;
using rubia::capsule::CutPtx;

namespace {

constexpr const char *kHead = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry k(.param .u64 p)\n{\n"
                              "  .reg .b32 %r<9>;\n  .reg .b64 %d<3>;\n  .reg .pred %p1;\n";

/// The body without the statements of these numbers.
std::string without(StringRef body, std::initializer_list<unsigned> numbers) {
  Expected<CutPtx> cut = CutPtx::open(kHead + body.str() + "}\n", "k");
  if (!cut)
    return toString(cut.takeError());
  BitVector gone(unsigned(cut->size()));
  for (unsigned number : numbers)
    gone.set(number);
  std::string text = cantFail(cut->without(gone));
  text.erase(0, StringRef(kHead).size());
  std::string lines; // without those that are empty
  for (StringRef line : llvm::split(text, '\n'))
    if (!line.trim().empty())
      lines += line.trim().str() + "\n";
  return lines;
}

constexpr const char *kChain = "  ld.param.u64 %d1, [p];\n"    // 0
                               "  mov.u32 %r1, %tid.x;\n"      // 1
                               "  add.u32 %r2, %r1, 1;\n"      // 2
                               "  mul.lo.u32 %r3, %r2, 5;\n"   // 3
                               "  xor.b32 %r4, %r3, 3;\n"      // 4
                               "  st.global.u32 [%d1], %r4;\n" // 5
                               "  ret;\n";

TEST(Cut, TakesWhatLedToAStatementToo) {
  EXPECT_EQ(without(kChain, {3}), "mov.b32 %r3, 0;\nld.param.u64 %d1, [p];\nxor.b32 %r4, %r3, 3;\n"
                                  "st.global.u32 [%d1], %r4;\nret;\n}\n");
  const CutPtx cut = cantFail(CutPtx::open(kHead + std::string(kChain) + "}\n", "k"));
  BitVector gone(unsigned(cut.size()));
  gone.set(5);
  EXPECT_TRUE(cut.closed(gone).all());
  gone.reset();
  EXPECT_TRUE(cut.closed(gone).none());
}

// A sum goes on with what it was, and no loop makes a register 0 again.
TEST(Cut, RegistersBeginAsZeroOnce) {
  const std::string loop = "again:\n"
                           "  add.u32 %r1, %r1, 1;\n"   // 0
                           "  add.u32 %r2, %r2, %r1;\n" // 1
                           "  setp.lt.u32 %p1, %r1, 9;\n"
                           "  @%p1 bra again;\n"
                           "  ld.param.u64 %d1, [p];\n"
                           "  st.global.u32 [%d1], %r2;\n"
                           "  ret;\n";
  EXPECT_TRUE(StringRef(without(loop, {0})).starts_with("mov.b32 %r1, 0;\nagain:\nadd.u32 %r2"));
  const std::string sum = "  mov.u32 %r2, 7;\n"      // 0
                          "  add.u32 %r2, %r2, 1;\n" // 1
                          "  add.u32 %r2, %r2, 2;\n" // 2
                          "  ld.param.u64 %d1, [p];\n"
                          "  st.global.u32 [%d1], %r2;\n"
                          "  ret;\n";
  EXPECT_TRUE(StringRef(without(sum, {1}))
                  .starts_with("mov.b32 %r2, 0;\nmov.u32 %r2, 7;\nadd.u32 %r2, %r2, 2;\nld"));
}

TEST(Cut, TakesGuardsToo) {
  const std::string guarded = "  ld.param.u64 %d1, [p];\n"   // 0
                              "  mov.u32 %r1, %tid.x;\n"     // 1
                              "  setp.lt.u32 %p1, %r1, 9;\n" // 2
                              "  @!%p1 st.u32 [%d1], 7;\n"   // 3
                              "  @%p1 ret;\n"                // its guard stays
                              "  ret;\n";
  EXPECT_EQ(without(guarded, {4}),
            "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 9;\n"
            "st.u32 [%d1], 7;\n@%p1 ret;\nret;\n}\n");
}

// What is declared in braces is not known where the kernel begins.
TEST(Cut, RegistersOfABlockBeginAsZeroInIt) {
  const std::string block = "  ld.param.u64 %d1, [p];\n"
                            "  {\n  .reg .b32 own;\n"
                            "  mov.u32 own, %tid.x;\n" // 1
                            "  st.global.u32 [%d1], own;\n  }\n  ret;\n";
  EXPECT_EQ(without(block, {1}), "ld.param.u64 %d1, [p];\n{\n.reg .b32 own;\nmov.b32 own, 0;\n"
                                 "st.global.u32 [%d1], own;\n}\nret;\n}\n");
}

// Registers that are 0 and stay so are one, and labels go that nobody jumps to, unlike those that
// begin alike.
TEST(Cut, TidiesUp) {
  const std::string body = "  mov.b32 %r1, 0;\n  mov.b32 %r2, 0;\n  mov.b32 %r3, 0;\n"
                           "  mov.b64 %d2, 0;\n  ld.param.u64 %d1, [p];\n"
                           "on3:\n  add.u32 %r3, %r1, %r2;\n"
                           "  setp.lt.u32 %p1, %r3, 9;\n  @%p1 bra on31;\n"
                           "on31:\n  add.s64 %d1, %d1, %d2;\n"
                           "  st.global.v2.u32 [%d1], {%r2, %r3};\n  ret;\n}\n";
  const std::string text = rubia::capsule::tidied(kHead + body, "k");
  EXPECT_EQ(StringRef(text).drop_front(StringRef(text).find("mov")),
            "mov.b32 %r1, 0;\n  mov.b32 %r3, 0;\n  mov.b64 %d2, 0;\n  ld.param.u64 %d1, [p];\n"
            "  add.u32 %r3, %r1, %r1;\n  setp.lt.u32 %p1, %r3, 9;\n  @%p1 bra on31;\non31:\n"
            "  add.s64 %d1, %d1, %d2;\n  st.global.v2.u32 [%d1], {%r1, %r3};\n  ret;\n}\n");
}

// Carries are in no register, and what a barrier or an atomic operation does is for others.
TEST(Cut, KeepsWhatDoesMoreThanGiveAResult) {
  const std::string kept = "  ld.param.u64 %d1, [p];\n"
                           "  add.cc.u32 %r1, %r2, %r3;\n"
                           "  atom.global.add.u32 %r4, [%d1], 1;\n"
                           "  bar.sync 0;\n"
                           "  addc.u32 %r5, 0, 0;\n"
                           "  st.global.u32 [%d1+4], %r5;\n"
                           "  ret;\n";
  EXPECT_EQ(StringRef(without(kept, {})).count(';'), 7u);
}

} // namespace
