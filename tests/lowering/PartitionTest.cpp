// SPDX-License-Identifier: Apache-2.0
// What is compiled together.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;

// Units as "kernel kernel: function function; variables".
static std::vector<std::string> dump(const std::string &text) {
  ptx::Module module = parsed(withHeader(text));
  std::vector<std::string> lines;
  for (const Unit &unit : partition(module)) {
    std::string line;
    for (const ptx::Function *kernel : unit.kernels)
      line += kernel->name.str() + " ";
    line += ":";
    for (const ptx::Function *function : unit.functions)
      line += " " + function->name.str();
    line += ";";
    for (uint32_t variable : unit.variables)
      line += " " + std::to_string(variable);
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Partition, KernelsAreUnitsOfTheirOwn) {
  EXPECT_EQ(dump(".entry a() { ret; } .entry b() { ret; }"), (Lines{"a :;", "b :;"}));
}

TEST(Partition, SharedCalleesAreInEveryUnit) {
  EXPECT_EQ(dump(R"(
.func g { ret; }
.func f { call.uni g; ret; }
.func unused { ret; }
.entry a() { call.uni f; ret; }
.entry b() { call.uni g; ret; })"),
            (Lines{"a : g f;", "b : g;"}));
}

TEST(Partition, VariablesInUse) {
  EXPECT_EQ(dump(R"(
.global .u32 x; .global .u32 y; .const .u32 z; .shared .u32 s;
.func f { .reg .u32 %r; ld.const.u32 %r, [z]; ret; }
.entry a() { .reg .u32 %r; st.global.u32 [y], %r; st.shared.u32 [s], %r; call.uni f; ret; }
.entry b() { ret; })"),
            (Lines{"a : f; 1 2", "b :;"}));
}

static const char *kPrototype = "proto: .callprototype _ ();";

TEST(Partition, IndirectCallsJoinKernelsThatTakeAddresses) {
  EXPECT_EQ(dump(std::string(R"(
.global .u64 slot;
.func f { ret; }
.func g { ret; }
.entry a() { .reg .u64 %rd; mov.u64 %rd, f; st.global.u64 [slot], %rd; ret; }
.entry plain() { call.uni g; ret; }
.entry b() { .reg .u64 %rd; ld.global.u64 %rd, [slot]; )") +
                 kPrototype + " call %rd, proto; ret; }"),
            (Lines{"a b : f; 0", "plain : g;"}));
}

TEST(Partition, AddressesAloneJoinNothing) {
  EXPECT_EQ(dump(R"(
.func f { ret; }
.entry a() { .reg .u64 %rd; mov.u64 %rd, f; ret; }
.entry b() { .reg .u64 %rd; mov.u64 %rd, f; ret; })"),
            (Lines{"a : f;", "b : f;"}));
}

TEST(Partition, FunctionsInInitializersBelongToWhoCallsIndirectly) {
  EXPECT_EQ(dump(std::string(R"(
.func f { ret; }
.global .u64 table[1] = {f};
.entry a() { .reg .u64 %rd; ld.global.u64 %rd, [table]; )") +
                 kPrototype + " call %rd, proto; ret; } .entry b() { ret; }"),
            (Lines{"a : f; 0", "b :;"}));
}

TEST(Partition, KnownTargetsJoinNothing) {
  EXPECT_EQ(dump(R"(
.func f { ret; }
.entry a() { .reg .u64 %rd; mov.u64 %rd, f; t: .calltargets f; call %rd, t; ret; }
.entry b() { .reg .u64 %rd; mov.u64 %rd, f; t: .calltargets f; call %rd, t; ret; })"),
            (Lines{"a : f;", "b : f;"}));
}

// Who reads the table can hand its functions on.
TEST(Partition, ReadersOfTablesJoinIndirectCallers) {
  EXPECT_EQ(dump(std::string(R"(
.func f { ret; }
.global .u64 table[1] = {f};
.global .u64 slot;
.entry a() { .reg .u64 %rd; ld.global.u64 %rd, [table]; st.global.u64 [slot], %rd; ret; }
.entry b() { .reg .u64 %rd; ld.global.u64 %rd, [slot]; )") +
                 kPrototype + " call %rd, proto; ret; } .entry c() { ret; }"),
            (Lines{"a b : f; 0 1", "c :;"}));
}
