// SPDX-License-Identifier: Apache-2.0
// .loc and PTX lines.
#include "Lowered.h"

using namespace rubia::lowering::test;

TEST(LoweringDebugInfo, WithoutLocTheLineIsThatOfThePtx) {
  EXPECT_TRUE(hasInOrder(
      lowered(withHeader(".entry a() {\n.reg .u32 %r;\nmov.u32 %r, 1;\nret;\n}")).text(),
      {"!DISubprogram(name: \"a\"", "line: 4", "!DILocation(line: 6", "!DILocation(line: 7"}));
}

TEST(LoweringDebugInfo, LocNamesTheSource) {
  std::string ir = lowered(withHeader(R"(.entry a() {
.reg .u32 %r;
.loc 1 10 3
mov.u32 %r, 1;
.loc 2 20 5
ret;
}
.file 1 "/src/kernel.cu"
.file 2 "/src/header.h"
)"))
                       .text();
  EXPECT_TRUE(hasInOrder(ir, {"!DIFile(filename: \"kernel.cu\", directory: \"/src\")"}));
  EXPECT_TRUE(hasInOrder(ir, {"!DILocation(line: 10, column: 3"}));
  EXPECT_TRUE(hasInOrder(ir, {"!DILocation(line: 20, column: 5"}));
  EXPECT_TRUE(hasInOrder(ir, {"!DIFile(filename: \"header.h\""}));
}

TEST(LoweringDebugInfo, InlinedAt) {
  std::string ir = lowered(withHeader(R"(.entry a() {
.reg .u32 %r;
.loc 1 10 3
mov.u32 %r, 1;
.loc 1 30 7, function_name name, inlined_at 1 10 3
mov.u32 %r, 2;
.loc 1 40 7, function_name name+2, inlined_at 1 11 3
mov.u32 %r, 3;
ret;
}
.file 1 "/src/kernel.cu"
.section .debug_str {
other: .b8 0x41, 0 // unused
name:
.b8 102,0
.b8 95,90,54,115,113,117,97,114,101,102,0
}
)"))
                       .text();
  EXPECT_TRUE(hasInOrder(ir, {"!DISubprogram(name: \"f\", scope"}));
  EXPECT_TRUE(hasInOrder(ir, {"!DISubprogram(name: \"square\", linkageName: \"_Z6squaref\""}));
  EXPECT_TRUE(hasInOrder(ir, {"!DICompileUnit(language: DW_LANG_C_plus_plus_14"}));
  EXPECT_TRUE(hasInOrder(ir, {"!DILocation(line: 30, column: 7, scope: !", "inlinedAt: !"}));
}

TEST(LoweringDebugInfo, KernelsHaveTheirPlainName) {
  EXPECT_TRUE(hasInOrder(lowered(withHeader(".entry _Z4waveIfEvPT_() { ret; }")).text(),
                         {"!DISubprogram(name: \"wave\", linkageName: \"_Z4waveIfEvPT_\""}));
}
