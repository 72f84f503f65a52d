// SPDX-License-Identifier: Apache-2.0
// Module -> text that parses to the same module. Scopes are flattened in a Module, so names that
// are declared in several blocks get a number; functions that are used before they are defined get
// a declaration, in the order in which the module first named them.

#include "ptx-frontend/Printer.h"
#include "ptx-frontend/lib/TypeNames.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <memory>
#include <vector>

using llvm::ArrayRef;
using llvm::raw_ostream;
using llvm::StringRef;

namespace rubia::ptx {

namespace {

// How the names of a function are written: unique, and not one of the module's.
class FunctionNames {
public:
  FunctionNames(const Module &module, const Function &fn) {
    for (const Variable *variable : module.variables)
      used.insert(variable->name);
    for (const Function *function : module.functions)
      used.insert(function->name);
    for (ArrayRef<const Variable *> list : {fn.results, fn.parameters})
      for (const Variable *variable : list)
        if (variable->reg == kNone)
          variables[variable] = unique(variable->name);
    nameRegisters(fn);
    for (const Variable *variable : fn.locals)
      variables[variable] = unique(variable->name);
    for (const Prototype &prototype : fn.prototypes)
      prototypes.push_back(unique(prototype.name));
    llvm::StringSet<> outer = std::move(used);
    used.clear(); // labels are apart
    for (const Label &label : fn.labels)
      labels.push_back(unique(label.name));
    used = std::move(outer);
  }

  // Registers `first` to `first + count - 1`, declared as prefix<count> or, if that is empty,
  // alone.
  struct Run {
    RegisterId first;
    uint32_t count;
    std::string prefix;
  };
  std::vector<Run> runs;
  std::vector<std::string> registers, prototypes, labels;
  llvm::DenseMap<const Variable *, std::string> variables;

  std::string unique(StringRef name) {
    std::string candidate = name.str();
    for (unsigned i = 2; !used.insert(candidate).second; ++i)
      candidate = (name + "_" + llvm::Twine(i)).str();
    return candidate;
  }

private:
  llvm::StringSet<> used;

  void nameRegisters(const Function &fn) {
    registers.resize(fn.registers.size());
    for (const RegisterRange &range : fn.registerRanges) {
      Run run{range.first, range.count, ""};
      if (!range.isNumbered) {
        registers[range.first] = unique(range.name);
      } else {
        run.prefix = range.name.str();
        for (unsigned k = 2; !claim(run.prefix, range.count); ++k)
          run.prefix = (range.name + "_" + llvm::Twine(k) + "_").str();
        for (uint32_t i = 0; i < range.count; ++i)
          registers[range.first + i] = run.prefix + std::to_string(i);
      }
      runs.push_back(run);
    }
  }

  bool claim(StringRef prefix, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      if (used.contains((prefix + llvm::Twine(i)).str()))
        return false;
    for (uint32_t i = 0; i < count; ++i)
      used.insert((prefix + llvm::Twine(i)).str());
    return true;
  }
};

class Printer {
public:
  Printer(const Module &module, raw_ostream &out) : module(module), out(out) {}
  void printModule();
  void printInstruction(const Function &fn, const Instruction &instruction);
  void useNamesOf(const Function &fn) { names = std::make_unique<FunctionNames>(module, fn); }

private:
  const Module &module;
  raw_ostream &out;
  std::unique_ptr<FunctionNames> names; // of the function that is printed
  llvm::DenseSet<const Function *> declared, defined;
  uint32_t nextSourceLine = 0;
  unsigned targetLists = 0;

  void printVariable(const Variable &variable, StringRef name);
  void printInitializer(const Variable &variable);
  void printScalar(const Variable &variable, uint64_t index, size_t &nextRelocation);
  void printSignature(const Function &fn);
  void printDeclaration(const Function &fn);
  void printDefinition(const Function &fn);
  void printFile(const SourceFile &file);
  void printUnified(const UnifiedId &unified);
  void printFields(const Variable &variable);
  void printPreserved(uint32_t data, uint32_t control);
  void printAttributes(const KernelAttributes &attributes);
  void printParameters(ArrayRef<const Variable *> parameters);
  void printPrototype(const Prototype &prototype, StringRef name);
  void printSourceLines(uint32_t end);
  void printOperand(const Function &fn, const Operand &operand);
  void printOperands(const Function &fn, ArrayRef<Operand> operands);
  void printRegister(const Operand &operand);
  void printAddress(const Operand &operand);
  void printOffset(int64_t offset) {
    if (offset)
      out << '+' << offset;
  }
  StringRef nameOfVariable(const Variable *variable) const;
  bool canDefine(const Function &fn) const;
  void printInteger(uint64_t bits, bool isUnsigned);
};

// ---------- Module

void Printer::printModule() {
  out << ".version " << module.versionMajor << '.' << module.versionMinor << '\n';
  out << ".target sm_" << module.sm;
  if (module.smVariant)
    out << module.smVariant;
  if (module.texmodeIndependent)
    out << ", texmode_independent";
  if (module.debug)
    out << ", debug";
  if (module.mapF64ToF32)
    out << ", map_f64_to_f32";
  out << "\n.address_size " << module.addressSize << "\n\n";
  for (const SourceFile &file : module.files)
    printFile(file);
  for (StringRef pragma : module.pragmas)
    out << ".pragma \"" << pragma << "\";\n";

  // Functions whose address a variable holds must be declared before it.
  size_t next = 0;
  for (size_t i = 0; i < module.functions.size(); ++i)
    for (const Variable *variable : module.variables)
      if (llvm::any_of(variable->relocations, [&](const Relocation &relocation) {
            return relocation.function == module.functions[i];
          }))
        next = i + 1;
  for (size_t i = 0; i < next; ++i)
    printDeclaration(*module.functions[i]);
  for (const Variable *variable : module.variables) {
    printVariable(*variable, variable->name);
    out << ";\n";
  }
  for (; next < module.functions.size(); ++next) {
    const Function &fn = *module.functions[next];
    if (fn.hasBody && fn.valid && canDefine(fn))
      printDefinition(fn);
    else
      printDeclaration(fn);
  }
  for (const Function *fn : module.functions)
    if (fn->hasBody && fn->valid && !defined.contains(fn)) // of invalid ones only the signature
      printDefinition(*fn);
  for (const Function *fn : module.functions)
    if (fn->aliasOf)
      out << ".alias " << fn->name << ", " << fn->aliasOf->name << ";\n";
  printSourceLines(uint32_t(module.sourceLines.size()));
  for (const Section &section : module.sections)
    out << ".section " << section.name << " {" << section.contents << "}\n";
}

void Printer::printFile(const SourceFile &file) {
  out << ".file " << file.number << " \"" << file.path << '"';
  if (file.modified)
    out << ", " << int64_t(*file.modified);
  if (file.size)
    out << ", " << int64_t(*file.size);
  out << '\n';
}

// Everything that the body names has been declared.
bool Printer::canDefine(const Function &fn) const {
  auto known = [&](const Function *other) { return other == &fn || declared.contains(other); };
  std::function<bool(const Operand &)> knows = [&](const Operand &operand) {
    return (!operand.function() || known(operand.function())) &&
           llvm::all_of(operand.elements(), knows);
  };
  for (const Instruction &instruction : fn.body)
    if (!llvm::all_of(instruction.operands, knows))
      return false;
  for (const Prototype &prototype : fn.prototypes)
    if (!llvm::all_of(prototype.targets, known))
      return false;
  for (const Variable *local : fn.locals)
    for (const Relocation &relocation : local->relocations)
      if (relocation.function && !known(relocation.function))
        return false;
  return true;
}

void Printer::printSourceLines(uint32_t end) {
  for (; nextSourceLine < end; ++nextSourceLine) {
    const SourceLine &line = module.sourceLines[nextSourceLine];
    out << ".loc " << line.file << ' ' << line.line << ' ' << line.column;
    if (!line.inlinedFunction.empty())
      out << ", function_name " << line.inlinedFunction << '+' << line.inlinedFunctionOffset;
    if (line.inlinedAt != kNone) {
      const SourceLine &caller = module.sourceLines[line.inlinedAt];
      out << ", inlined_at " << caller.file << ' ' << caller.line << ' ' << caller.column;
    }
    out << '\n';
  }
}

// ---------- Variables

StringRef Printer::nameOfVariable(const Variable *variable) const {
  if (names) {
    auto found = names->variables.find(variable);
    if (found != names->variables.end())
      return found->second;
  }
  return variable->name;
}

void Printer::printVariable(const Variable &variable, StringRef name) {
  if (variable.type == Type::TexRef && variable.space == StateSpace::Global &&
      std::pair(module.versionMajor, module.versionMinor) < std::pair(1u, 5u)) {
    out << wordOf(variable.linkage) << ".tex .u64 " << name; // PTX ISA: texture-state-space
    return;
  }
  if (variable.reg != kNone || variable.space == StateSpace::Reg) {
    out << ".reg ";
  } else {
    out << wordOf(variable.linkage) << nameOf(variable.space) << ' ';
    if (variable.managed)
      out << ".attribute(.managed) ";
    printUnified(variable.unified);
    if (variable.alignment > 0 && classOf(variable.type) != TypeClass::Opaque)
      out << ".align " << variable.alignment << ' ';
  }
  if (variable.vectorWidth > 1)
    out << ".v" << unsigned(variable.vectorWidth) << ' ';
  out << nameOf(variable.type) << ' ';
  if (variable.isPointer) {
    out << ".ptr ";
    if (variable.pointerSpace != StateSpace::None)
      out << nameOf(variable.pointerSpace) << ' ';
    if (variable.pointerAlignment)
      out << ".align " << variable.pointerAlignment << ' ';
  }
  out << name;
  if (variable.incomplete)
    out << "[]";
  else if (variable.elementCount != 1)
    out << '[' << variable.elementCount << ']';
  if (variable.initialized)
    printInitializer(variable);
  if (!variable.fields.empty())
    printFields(variable);
}

void Printer::printUnified(const UnifiedId &unified) {
  if (unified.given)
    out << ".attribute(.unified(0x" << llvm::utohexstr(unified.first) << ", 0x"
        << llvm::utohexstr(unified.second) << ")) ";
}

void Printer::printFields(const Variable &variable) {
  bool isArray = variable.elementCount != 1;
  out << (isArray ? " = {{" : " = {");
  uint64_t element = 0;
  bool first = true;
  for (const OpaqueField &field : variable.fields) {
    for (; element < field.element; ++element, first = true)
      out << "}, {";
    if (!first)
      out << ", ";
    first = false;
    out << field.name << " = ";
    if (field.word.empty())
      printInteger(uint64_t(field.value), false);
    else
      out << field.word;
  }
  out << (isArray ? "}}" : "}");
}

void Printer::printInitializer(const Variable &variable) {
  out << " = ";
  unsigned width = sizeInBits(variable.type) / 8;
  // Elements after the last one that is not zero are left out.
  size_t bytes = variable.initializer.size();
  while (bytes && variable.initializer[bytes - 1] == 0)
    --bytes;
  for (const Relocation &relocation : variable.relocations)
    bytes = std::max<size_t>(bytes, relocation.offset + 1);
  uint64_t scalars = (bytes + width - 1) / width;
  size_t nextRelocation = 0;
  bool isVector = variable.vectorWidth > 1, isArray = variable.elementCount != 1;
  if (!isVector && !isArray)
    return printScalar(variable, 0, nextRelocation);
  out << '{';
  for (uint64_t i = 0; i < scalars; ++i) {
    if (i)
      out << ", ";
    if (isVector && isArray && i % variable.vectorWidth == 0)
      out << '{';
    printScalar(variable, i, nextRelocation);
    if (isVector && isArray &&
        (i % variable.vectorWidth == variable.vectorWidth - 1u || i + 1 == scalars))
      out << '}';
  }
  out << '}';
}

void Printer::printScalar(const Variable &variable, uint64_t index, size_t &nextRelocation) {
  unsigned width = sizeInBits(variable.type) / 8;
  uint64_t offset = index * width;
  if (nextRelocation < variable.relocations.size() &&
      variable.relocations[nextRelocation].offset == offset) {
    const Relocation &relocation = variable.relocations[nextRelocation++];
    if (relocation.mask != ~0ull)
      out << "0x" << llvm::utohexstr(relocation.mask) << '(';
    if (relocation.generic)
      out << "generic(";
    out << (relocation.variable ? nameOfVariable(relocation.variable) : relocation.function->name);
    if (relocation.generic)
      out << ')';
    printOffset(relocation.addend);
    if (relocation.mask != ~0ull)
      out << ')';
    return;
  }
  uint64_t value = 0;
  for (unsigned i = 0; i < std::min(width, 8u); ++i)
    value |= uint64_t(variable.initializer[offset + i]) << 8 * i;
  if (variable.type == Type::F32)
    out << "0f" << llvm::format_hex_no_prefix(value, 8, /*Upper=*/true);
  else if (variable.type == Type::F64)
    out << "0d" << llvm::format_hex_no_prefix(value, 16, /*Upper=*/true);
  else
    out << value;
}

// ---------- Functions

void Printer::printParameters(ArrayRef<const Variable *> parameters) {
  out << '(';
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i)
      out << ", ";
    StringRef name = parameters[i]->name;
    if (names && parameters[i]->reg != kNone && parameters[i]->reg < names->registers.size())
      name = names->registers[parameters[i]->reg];
    else
      name = nameOfVariable(parameters[i]);
    printVariable(*parameters[i], name);
  }
  out << ')';
}

void Printer::printSignature(const Function &fn) {
  out << wordOf(fn.linkage) << (fn.isKernel ? ".entry " : ".func ");
  printUnified(fn.unified);
  if (!fn.results.empty()) {
    printParameters(fn.results);
    out << ' ';
  }
  out << fn.name;
  printParameters(fn.parameters);
}

void printTriple(raw_ostream &out, StringRef directive, const uint32_t (&values)[3]) {
  if (values[0] || values[1] || values[2])
    out << '\n' << directive << ' ' << values[0] << ", " << values[1] << ", " << values[2];
}

void Printer::printAttributes(const KernelAttributes &attributes) {
  auto printCount = [&](StringRef directive, uint32_t value) {
    if (value)
      out << '\n' << directive << ' ' << value;
  };
  printTriple(out, ".maxntid", attributes.maxThreads);
  printTriple(out, ".reqntid", attributes.requiredThreads);
  printCount(".minnctapersm", attributes.minBlocksPerMultiprocessor);
  printCount(".maxnctapersm", attributes.maxBlocksPerMultiprocessor);
  printCount(".maxnreg", attributes.maxRegisters);
  printTriple(out, ".reqnctapercluster", attributes.requiredCluster);
  if (attributes.explicitCluster)
    out << "\n.explicitcluster";
  if (attributes.blocksAreClusters)
    out << "\n.blocksareclusters";
  printCount(".maxclusterrank", attributes.maxClusterRank);
  if (attributes.noReturn)
    out << "\n.noreturn";
  printPreserved(attributes.abiPreserve, attributes.abiPreserveControl);
}

void Printer::printPreserved(uint32_t data, uint32_t control) {
  if (data != kNone)
    out << "\n.abi_preserve " << data;
  if (control != kNone)
    out << "\n.abi_preserve_control " << control;
}

void Printer::printDeclaration(const Function &fn) {
  declared.insert(&fn);
  printSignature(fn);
  if (!fn.hasBody)
    printAttributes(fn.attributes);
  out << ";\n\n";
}

void Printer::printPrototype(const Prototype &prototype, StringRef name) {
  out << name << ": ";
  if (prototype.isTargetList) {
    out << ".calltargets ";
    llvm::interleaveComma(prototype.targets, out, [&](const Function *fn) { out << fn->name; });
  } else {
    out << ".callprototype ";
    if (!prototype.results.empty())
      printParameters(prototype.results);
    out << " _ ";
    printParameters(prototype.parameters);
    if (prototype.noReturn)
      out << " .noreturn";
    printPreserved(prototype.abiPreserve, prototype.abiPreserveControl);
  }
  out << ";\n";
}

void Printer::printDefinition(const Function &fn) {
  declared.insert(&fn);
  defined.insert(&fn);
  useNamesOf(fn);
  printSignature(fn);
  printAttributes(fn.attributes);
  ArrayRef<Pragma> pragmas = fn.pragmas;
  auto printPragmas = [&](uint32_t instruction) {
    for (; !pragmas.empty() && pragmas[0].instruction == instruction;
         pragmas = pragmas.drop_front())
      out << ".pragma \"" << pragmas[0].text << "\";\n";
  };
  out << '\n';
  printPragmas(kNone);
  out << "{\n";
  llvm::DenseSet<RegisterId> inSignature;
  for (ArrayRef<const Variable *> list : {fn.results, fn.parameters})
    for (const Variable *variable : list)
      if (variable->reg != kNone)
        inSignature.insert(variable->reg);
  for (const FunctionNames::Run &run : names->runs) {
    if (inSignature.contains(run.first))
      continue;
    const Register &reg = fn.registers[run.first];
    out << "  .reg ";
    if (reg.vectorWidth > 1)
      out << ".v" << unsigned(reg.vectorWidth) << ' ';
    out << nameOf(reg.type) << ' ';
    if (run.prefix.empty())
      out << names->registers[run.first] << ";\n";
    else
      out << run.prefix << '<' << run.count << ">;\n";
  }
  for (const Variable *local : fn.locals) {
    out << "  ";
    printVariable(*local, nameOfVariable(local));
    out << ";\n";
  }
  for (size_t i = 0; i < fn.prototypes.size(); ++i)
    printPrototype(fn.prototypes[i], names->prototypes[i]);
  size_t label = 0;
  auto printLabels = [&](size_t instruction) {
    for (; label < fn.labels.size() && fn.labels[label].instruction == instruction; ++label)
      out << names->labels[label] << ":\n";
  };
  for (size_t i = 0; i < fn.body.size(); ++i) {
    printLabels(i);
    printPragmas(uint32_t(i));
    if (fn.body[i].sourceLine != kNone)
      printSourceLines(fn.body[i].sourceLine + 1);
    printInstruction(fn, fn.body[i]);
  }
  printLabels(fn.body.size());
  printPragmas(uint32_t(fn.body.size()));
  out << "}\n\n";
  names.reset();
}

// ---------- Instructions

void Printer::printInstruction(const Function &fn, const Instruction &instruction) {
  std::string list;
  for (const Operand &operand : instruction.operands)
    if (operand.kind == Operand::Kind::LabelList) {
      list = names->unique("$targets" + std::to_string(++targetLists));
      out << list << ": .branchtargets ";
      llvm::interleaveComma(operand.labels(), out, [&](LabelId id) {
        out << (id < names->labels.size() ? names->labels[id] : "<undefined>");
      });
      out << ";\n";
    }
  out << "  ";
  if (instruction.guard.reg != kNone)
    out << (instruction.guard.negated ? "@!" : "@") << names->registers[instruction.guard.reg]
        << ' ';
  out << instruction.spelling->text;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    out << (i ? ", " : " ");
    if (instruction.operands[i].kind == Operand::Kind::LabelList)
      out << list;
    else
      printOperand(fn, instruction.operands[i]);
  }
  out << ";\n";
}

void Printer::printOperands(const Function &fn, ArrayRef<Operand> operands) {
  llvm::interleaveComma(operands, out, [&](const Operand &operand) { printOperand(fn, operand); });
}

void Printer::printInteger(uint64_t bits, bool isUnsigned) {
  if (isUnsigned)
    out << bits << 'U';
  else if (bits == 1ull << 63) // its digits alone would be unsigned
    out << "(.s64)0x8000000000000000";
  else
    out << int64_t(bits);
}

void Printer::printRegister(const Operand &operand) {
  out << names->registers[operand.reg];
  if (operand.component != 0xff)
    out << '.' << "xyzw"[operand.component & 3];
  if (operand.kind == Operand::Kind::Register && operand.selector != 0xff) {
    out << (operand.selector & 8 ? ".h" : ".b");
    for (unsigned i = operand.selector & 7; i > 0; --i)
      out << (operand.offset >> 4 * (i - 1) & 15);
  }
}

void Printer::printAddress(const Operand &operand) {
  if (operand.reg != kNone)
    printRegister(operand);
  else if (operand.variable())
    out << nameOfVariable(operand.variable());
  else
    out << operand.offset;
  if (operand.reg != kNone || operand.variable())
    printOffset(operand.offset);
}

void Printer::printOperand(const Function &fn, const Operand &operand) {
  if (operand.braced) {
    Operand element = operand;
    element.braced = false;
    out << '{';
    printOperand(fn, element);
    out << '}';
    return;
  }
  if (operand.negated)
    out << (fn.registers[operand.reg].type == Type::Pred ? '!' : '-');
  switch (operand.kind) {
  case Operand::Kind::Register:
    printRegister(operand);
    return;
  case Operand::Kind::Integer:
    printInteger(operand.bits, operand.isUnsigned);
    return;
  case Operand::Kind::Float:
    if (operand.isSingle)
      out << "0f" << llvm::format_hex_no_prefix(operand.bits, 8, /*Upper=*/true);
    else
      out << "0d" << llvm::format_hex_no_prefix(operand.bits, 16, /*Upper=*/true);
    return;
  case Operand::Kind::SpecialRegister:
    out << nameOf(operand.special);
    if (operand.component != 0xff)
      out << '.' << "xyzw"[operand.component & 3];
    return;
  case Operand::Kind::Variable:
    out << nameOfVariable(operand.variable());
    printOffset(operand.offset);
    return;
  case Operand::Kind::Function:
    out << operand.function()->name;
    return;
  case Operand::Kind::Address:
    out << '[';
    printAddress(operand);
    out << (operand.unified ? "].unified" : "]");
    return;
  case Operand::Kind::AddressList: {
    out << '[';
    ArrayRef<Operand> elements = operand.elements();
    printAddress(elements[0]);
    for (const Operand &element : elements.drop_front()) {
      out << ", ";
      printOperand(fn, element);
    }
    out << (operand.unified ? "].unified" : "]");
    return;
  }
  case Operand::Kind::Vector:
    out << '{';
    printOperands(fn, operand.elements());
    out << '}';
    return;
  case Operand::Kind::Label:
    out << (operand.label < names->labels.size() ? names->labels[operand.label] : "<undefined>");
    return;
  case Operand::Kind::LabelList: // printInstruction names it
    return;
  case Operand::Kind::Sink:
    out << '_';
    return;
  case Operand::Kind::Pair:
    printOperand(fn, operand.elements()[0]);
    out << '|';
    printOperand(fn, operand.elements()[1]);
    return;
  case Operand::Kind::List:
    out << '(';
    printOperands(fn, operand.elements());
    out << ')';
    return;
  case Operand::Kind::Prototype:
    out << names->prototypes[operand.prototype];
    return;
  }
}

} // namespace

std::string print(const Module &module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Printer(module, out).printModule();
  return text;
}

std::string print(const Module &module, const Function &function, const Instruction &instruction) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Printer printer(module, out);
  printer.useNamesOf(function);
  printer.printInstruction(function, instruction);
  return StringRef(text).trim().str();
}

} // namespace rubia::ptx
