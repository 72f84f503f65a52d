// .file and .loc -> debug locations. PTX ISA: debugging-directives-loc.
//
// A function without any .loc gets the lines of the PTX text. One with .loc that an instruction
// lacks (before the first) gets line 0 of the source, as LLVM has it for code without a place.
#include "lowering/lib/DebugInfo.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include <algorithm>

using namespace llvm;

namespace rubia::lowering {

DebugInfo::DebugInfo(const ptx::Module &ptxModule, Module &module)
    : ptxModule(ptxModule), builder(module) {
  StringRef name = ptxModule.name;
  ptxFile = builder.createFile(name.empty() ? "module.ptx" : name, "");
  compileUnit =
      builder.createCompileUnit(DISourceLanguageName(dwarf::DW_LANG_C99), ptxFile, "Rubia",
                                /*isOptimized=*/true, "", 0, "", DICompileUnit::LineTablesOnly);
  subroutineType = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  module.setModuleFlag(Module::Warning, "Debug Info Version", DEBUG_METADATA_VERSION);
  module.setModuleFlag(Module::Max, "Dwarf Version", 5);

  if (const std::string *text = ptxModule.text.get()) {
    lineStarts.push_back(0);
    for (size_t at = text->find('\n'); at != std::string::npos; at = text->find('\n', at + 1))
      lineStarts.push_back(uint32_t(at + 1));
  }
}

uint32_t DebugInfo::lineOf(uint32_t place) const {
  return uint32_t(llvm::upper_bound(lineStarts, place) - lineStarts.begin());
}

DIFile *DebugInfo::file(uint32_t number) {
  DIFile *&result = files[number];
  if (!result) {
    result = ptxFile;
    for (const ptx::SourceFile &candidate : ptxModule.files)
      if (candidate.number == number)
        result = builder.createFile(sys::path::filename(candidate.path),
                                    sys::path::parent_path(candidate.path));
  }
  return result;
}

DISubprogram *DebugInfo::addFunction(const ptx::Function &function, Function &llvmFunction) {
  const ptx::SourceLine *first = nullptr;
  for (const ptx::Instruction &instruction : function.body)
    if (instruction.sourceLine < ptxModule.sourceLines.size()) {
      first = &ptxModule.sourceLines[instruction.sourceLine];
      break;
    }
  // The outermost place of the first instruction is in the function itself.
  while (first && first->inlinedAt < ptxModule.sourceLines.size())
    first = &ptxModule.sourceLines[first->inlinedAt];
  DIFile *source = first ? file(first->file) : ptxFile;
  unsigned line = first ? first->line : lineOf(function.place);
  DISubprogram *subprogram = builder.createFunction(
      source, function.name, llvmFunction.getName(), source, line, subroutineType, line,
      DINode::FlagZero, DISubprogram::SPFlagDefinition | DISubprogram::SPFlagOptimized);
  llvmFunction.setSubprogram(subprogram);
  return subprogram;
}

DISubprogram *DebugInfo::inlinedFunction(StringRef name, DIFile *source) {
  DISubprogram *&result = inlined[{name, source}];
  if (!result)
    result =
        builder.createFunction(source, name, name, source, 0, subroutineType, 0, DINode::FlagZero,
                               DISubprogram::SPFlagDefinition | DISubprogram::SPFlagOptimized);
  return result;
}

DILocation *DebugInfo::location(uint32_t sourceLine, DISubprogram *subprogram, unsigned depth) {
  DILocation *&result = locations[{sourceLine, subprogram}];
  if (result)
    return result;
  const ptx::SourceLine &at = ptxModule.sourceLines[sourceLine];
  DIFile *source = file(at.file);
  DILocation *inlinedAt = nullptr;
  DILocalScope *scope = subprogram;
  // The depth guards against a cycle, which only malformed input has.
  if (at.inlinedAt < ptxModule.sourceLines.size() && depth < 64) {
    inlinedAt = location(at.inlinedAt, subprogram, depth + 1);
    scope = inlinedFunction(at.inlinedFunction.empty() ? "inlined" : at.inlinedFunction, source);
  } else if (source != subprogram->getFile()) {
    scope = builder.createLexicalBlockFile(subprogram, source);
  }
  return result = DILocation::get(compileUnit->getContext(), at.line, at.column, scope, inlinedAt);
}

DILocation *DebugInfo::locationOf(const ptx::Instruction &instruction, DISubprogram *subprogram) {
  if (instruction.sourceLine < ptxModule.sourceLines.size())
    return location(instruction.sourceLine, subprogram, 0);
  bool isPtx = subprogram->getFile() == ptxFile;
  return DILocation::get(compileUnit->getContext(), isPtx ? lineOf(instruction.place) : 0, 0,
                         subprogram);
}

void DebugInfo::finalize() { builder.finalize(); }

} // namespace rubia::lowering
