// SPDX-License-Identifier: Apache-2.0
// Offsets that the host relies on.
#include "Lowered.h"
#include "lowering/Abi.h"
#include "lowering/SharedMemory.h"

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;

TEST(Layout, ParametersAtTheirAlignment) {
  ptx::Module module = parsed(withHeader(
      ".entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .u16 d) { ret; }"));
  ParameterLayout layout = layoutOf(*module.function("k"));
  ASSERT_EQ(layout.parameters.size(), 4u);
  uint32_t expected[4][3] = {{0, 1, 1}, {8, 8, 8}, {16, 20, 16}, {36, 2, 2}};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(layout.parameters[i].offset, expected[i][0]) << i;
    EXPECT_EQ(layout.parameters[i].size, expected[i][1]) << i;
    EXPECT_EQ(layout.parameters[i].alignment, expected[i][2]) << i;
  }
  EXPECT_EQ(layout.sizeInBytes, 38u);
  EXPECT_EQ(rubia::abi::launchArgumentsOffset(layout.sizeInBytes), 40u);
}

TEST(Layout, ModuleVariablesInOrderOfDeclaration) {
  ptx::Module module = parsed(withHeader(R"(
.global .u32 a; .shared .u32 s; .const .u32 b; .local .u32 l;
.entry k() { .global .u32 inner; ret; }
.global .u64 c = a;)"));
  std::vector<std::string> names;
  for (const ptx::Variable *variable : moduleVariables(module))
    names.push_back(variable->name.str());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "inner"}));
}

TEST(Layout, RelocationsOfModuleVariables) {
  ptx::Module module = parsed(withHeader(R"(
.global .u32 a[4];
.global .u64 pointers[3] = {0, a+4, generic(a)};)"));
  std::vector<const ptx::Variable *> variables = moduleVariables(module);
  ASSERT_EQ(variables.size(), 2u);
  ASSERT_EQ(variables[1]->relocations.size(), 2u);
  EXPECT_EQ(variables[1]->relocations[0].offset, 8u);
  EXPECT_EQ(variables[1]->relocations[0].variable, variables[0]);
  EXPECT_EQ(variables[1]->relocations[0].addend, 4);
  EXPECT_EQ(variables[1]->relocations[1].offset, 16u);
  EXPECT_TRUE(variables[1]->relocations[1].generic);
}

TEST(Layout, StaticSharedMemoryOfWhatIsReached) {
  ptx::Module module = parsed(withHeader(R"(
.shared .align 4 .b8 a[6]; .shared .align 8 .b8 b[8]; .shared .b8 unused[100];
.extern .shared .b8 dynamic[];
.func f { .reg .u32 %r; ld.shared.u32 %r, [b]; ret; }
.entry k() { .reg .u32 %r; ld.shared.u32 %r, [a]; ld.shared.u32 %r, [a]; ld.shared.u32 %r, [dynamic];
  call.uni f; ret; }
.entry none() { ret; })"));
  std::vector<Unit> units = partition(module);
  EXPECT_EQ(staticSharedBytes(units[0], *module.function("k")), 16u);
  EXPECT_EQ(staticSharedBytes(units[1], *module.function("none")), 0u);
  EXPECT_EQ(staticSharedBytes(units[0]), std::vector<uint64_t>{16});
}
