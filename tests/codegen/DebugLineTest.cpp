// SPDX-License-Identifier: Apache-2.0
// The source lines of the module arrive at the instructions of the code object.
#include "codegen/lib/speed/DebugHistory.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELFObjectFile.h"
#include <set>

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

constexpr const char *kWithLines = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %p, float %a) !dbg !4 {
  %v = load float, ptr addrspace(1) %p, !dbg !7
  %s = fadd float %v, %a, !dbg !8
  store float %s, ptr addrspace(1) %p, !dbg !9
  ret void, !dbg !10
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.ptx", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 5}
!4 = distinct !DISubprogram(name: "k", file: !1, line: 10, scopeLine: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 12, column: 3, scope: !4)
!8 = !DILocation(line: 13, column: 3, scope: !4)
!9 = !DILocation(line: 14, column: 3, scope: !4)
!10 = !DILocation(line: 15, column: 3, scope: !4)
)";

class DebugLines : public testing::TestWithParam<std::pair<const char *, Backend>> {};

TEST_P(DebugLines, ReachTheInstructions) {
  ModuleSource source;
  Options options = optionsFor(GetParam().first);
  options.backend = GetParam().second;
  CodeObject object = source.mustCompile(kWithLines, options);
  auto file = cantFail(object::ObjectFile::createELFObjectFile(MemoryBufferRef(
      StringRef(reinterpret_cast<const char *>(object.bytes.data()), object.bytes.size()), "co")));
  uint64_t start = 0, size = 0;
  for (const object::ELFSymbolRef symbol : file->symbols())
    if (cantFail(symbol.getName()) == "k") {
      start = cantFail(symbol.getAddress());
      size = symbol.getSize();
    }
  ASSERT_GT(size, 0u);
  std::unique_ptr<DWARFContext> context = DWARFContext::create(*file);
  std::set<unsigned> lines;
  for (uint64_t address = start; address < start + size; address += 4) {
    DILineInfo info =
        context->getLineInfoForAddress({address, object::SectionedAddress::UndefSection})
            .value_or(DILineInfo());
    lines.insert(info.Line);
    EXPECT_TRUE(info.Line == 0 || StringRef(info.FileName).ends_with("k.ptx")) << info.FileName;
  }
  for (unsigned line : {12u, 13u, 14u, 15u})
    EXPECT_TRUE(lines.count(line)) << "no instruction of line " << line;
  EXPECT_TRUE(wasDebugHistorySkipped()) << "LLVM has a function of its own";
}

INSTANTIATE_TEST_SUITE_P(Compile, DebugLines,
                         testing::Values(std::pair("gfx1100", Backend::Lld),
                                         std::pair("gfx90a", Backend::Lld),
                                         std::pair("gfx1201", Backend::Lld),
                                         std::pair("gfx1030", Backend::Comgr)));

} // namespace
