// SPDX-License-Identifier: Apache-2.0
// .file and .loc -> debug locations. PTX ISA: debugging-directives-loc.
//
// A function without any .loc gets the lines of the PTX text. One with .loc that an instruction
// lacks (before the first) gets line 0 of the source, as LLVM has it for code without a place.
#include "lowering/lib/frame/DebugInfo.h"
#include "ptx-frontend/Lines.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cstdlib>
#include <utility>

using namespace llvm;

namespace rubia::settings::DebugInfoMode {
extern const Word Ptx;
} // namespace rubia::settings::DebugInfoMode

namespace rubia::lowering {

// The bytes of a section and where its labels are: `name: .b8 95, 90, 0`. The parser has seen that
// it is of this form.
static void readStrings(StringRef text, std::string &bytes, std::map<StringRef, size_t> &labels) {
  while (!(text = text.ltrim(" \t\r\n,")).empty()) {
    if (text.starts_with("//")) {
      text = text.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    if (text.starts_with("/*")) {
      text = text.drop_front(std::min(text.size(), text.find("*/", 2))).drop_front(2);
      continue;
    }
    StringRef word = text.take_until([](char c) { return StringRef(" \t\r\n,:").contains(c); });
    text = text.drop_front(word.size());
    uint64_t value;
    if (text.consume_front(":"))
      labels[word] = bytes.size();
    else if (!word.getAsInteger(0, value))
      bytes += char(value); // names are written byte by byte, with .b8
  }
}

// "square" of _Z6squaref; what is not mangled stays as it is.
static std::string plainName(StringRef name) {
  ItaniumPartialDemangler demangler;
  std::string mangled = name.str();
  if (demangler.partialDemangle(mangled.c_str()) || !demangler.isFunction())
    return mangled;
  char *base = demangler.getFunctionBaseName(nullptr, nullptr);
  if (!base)
    return mangled;
  std::string result = base;
  std::free(base);
  return result;
}

void DebugInfo::readNames() {
  if (std::exchange(hasStrings, true))
    return;
  for (const ptx::Section &section : ptxModule.sections)
    if (section.name == ".debug_str")
      readStrings(section.contents, strings, labels);
}

std::string DebugInfo::nameAt(StringRef label, uint32_t offset) {
  readNames();
  auto found = labels.find(label);
  if (found == labels.end() || found->second + offset >= strings.size())
    return "inlined";
  return strings.c_str() + found->second + offset;
}

DebugInfo::DebugInfo(const ptx::Module &ptxModule, Module &module, settings::Word mode)
    : ptxModule(ptxModule), mode(mode), builder(module) {
  StringRef name = ptxModule.name;
  // A program's PTX is in no file that a debugger could show.
  std::optional<StringRef> text;
  if (namesRegisters() && ptxModule.text)
    text = StringRef(*ptxModule.text);
  ptxFile = builder.createFile(name.empty() ? "module.ptx" : name, "", std::nullopt, text);
  const bool isOfPtx = ptxModule.files.empty() || mode == settings::DebugInfoMode::Ptx;
  // C++ so that tools demangle names.
  compileUnit = builder.createCompileUnit(
      DISourceLanguageName(dwarf::DW_LANG_C_plus_plus_14),
      isOfPtx ? ptxFile : file(ptxModule.files.front().number), "Rubia",
      /*isOptimized=*/true, "", 0, "",
      namesRegisters() ? DICompileUnit::FullDebug : DICompileUnit::LineTablesOnly, 0, true, false,
      DICompileUnit::DebugNameTableKind::None);
  subroutineType = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  module.setModuleFlag(Module::Warning, "Debug Info Version", DEBUG_METADATA_VERSION);
  module.setModuleFlag(Module::Max, "Dwarf Version", 5);
}

uint32_t DebugInfo::lineOf(uint32_t place) const {
  return ptx::lineAndColumn(ptxModule, place).first;
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
    if (hasSourceLine(instruction)) {
      first = &ptxModule.sourceLines[instruction.sourceLine];
      break;
    }
  // The outermost place of the first instruction is in the function itself.
  while (first && first->inlinedAt < ptxModule.sourceLines.size())
    first = &ptxModule.sourceLines[first->inlinedAt];
  DIFile *source = first ? file(first->file) : ptxFile;
  unsigned line = first ? first->line : lineOf(function.place);
  DISubprogram *subprogram = builder.createFunction(
      source, plainName(function.name), llvmFunction.getName(), source, line, subroutineType, line,
      DINode::FlagZero, DISubprogram::SPFlagDefinition | DISubprogram::SPFlagOptimized);
  llvmFunction.setSubprogram(subprogram);
  return subprogram;
}

DISubprogram *DebugInfo::inlinedFunction(const ptx::SourceLine &line, DIFile *source) {
  std::string name = nameAt(line.inlinedFunction, line.inlinedFunctionOffset);
  DISubprogram *&result = inlined[{name, source}];
  if (!result) {
    std::string plain = plainName(name);
    result = builder.createFunction(source, plain, plain == name ? "" : name, source, 0,
                                    subroutineType, 0, DINode::FlagZero,
                                    DISubprogram::SPFlagDefinition | DISubprogram::SPFlagOptimized);
  }
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
    scope = inlinedFunction(at, source);
  } else if (source != subprogram->getFile()) {
    scope = builder.createLexicalBlockFile(subprogram, source);
  }
  return result = DILocation::get(compileUnit->getContext(), at.line, at.column, scope, inlinedAt);
}

DILocation *DebugInfo::locationOf(const ptx::Instruction &instruction, DISubprogram *subprogram) {
  if (hasSourceLine(instruction))
    return location(instruction.sourceLine, subprogram, 0);
  bool isPtx = subprogram->getFile() == ptxFile;
  return DILocation::get(compileUnit->getContext(), isPtx ? lineOf(instruction.place) : 0, 0,
                         subprogram);
}

bool DebugInfo::hasSourceLine(const ptx::Instruction &instruction) const {
  return mode != settings::DebugInfoMode::Ptx &&
         instruction.sourceLine < ptxModule.sourceLines.size();
}

DIType *DebugInfo::typeOf(ptx::Type type) {
  DIType *&result = types[type];
  if (result)
    return result;
  const unsigned bits = std::max(ptx::sizeInBits(type), 8u); // a predicate has none of its own
  auto make = [&](const Twine &name, unsigned encoding) {
    return builder.createBasicType(name.str(), bits, encoding);
  };
  switch (ptx::classOf(type)) {
  case ptx::TypeClass::Predicate:
    return result = make("pred", dwarf::DW_ATE_boolean);
  case ptx::TypeClass::Signed:
    return result = make("s" + Twine(bits), dwarf::DW_ATE_signed);
  case ptx::TypeClass::Float:
    if (type == ptx::Type::F16x2)
      return result = make("f16x2", dwarf::DW_ATE_unsigned);
    return result = make("f" + Twine(bits), dwarf::DW_ATE_float);
  case ptx::TypeClass::Unsigned:
    return result = make("u" + Twine(bits), dwarf::DW_ATE_unsigned);
  case ptx::TypeClass::None:
  case ptx::TypeClass::Bits:
  case ptx::TypeClass::Opaque:
    return result = make("b" + Twine(bits), dwarf::DW_ATE_unsigned);
  }
  llvm_unreachable("TypeClass");
}

void DebugInfo::addRegister(const ptx::Function &function, ptx::RegisterId reg, uint8_t component,
                            AllocaInst *slot, DISubprogram *subprogram) {
  if (!namesRegisters())
    return;
  const ptx::Register &declared = function.registers[reg];
  std::string name = function.registerName(reg);
  if (declared.vectorWidth > 1)
    name += std::string(".") + "xyzw"[component == 0xff ? 0 : component & 3];
  const unsigned line = subprogram->getLine();
  DILocalVariable *variable =
      builder.createAutoVariable(subprogram, name, subprogram->getFile(), line,
                                 typeOf(declared.type), /*AlwaysPreserve=*/false);
  // Promotion to SSA makes of this where each value is.
  builder.insertDeclare(slot, variable, builder.createExpression(),
                        DILocation::get(compileUnit->getContext(), line, 0, subprogram),
                        std::next(slot->getIterator()));
}

void DebugInfo::finalize() { builder.finalize(); }

} // namespace rubia::lowering
