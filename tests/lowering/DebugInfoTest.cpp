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
ret;
}
.file 1 "/src/kernel.cu"
.section .debug_str {
name: .b8 102, 0
}
)"))
                       .text();
  EXPECT_TRUE(hasInOrder(ir, {"!DILocation(line: 30, column: 7, scope: !", "inlinedAt: !"}));
}
