// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/TextOfPtx.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using rubia::ptx::Operand;

namespace rubia::capsule {

/// Calls through pointers may reach every function of the module.
static std::vector<const ptx::Function *> reachedFrom(const ptx::Module &module,
                                                      const ptx::Function &kernel) {
  std::vector<const ptx::Function *> functions = {&kernel};
  const auto add = [&](const ptx::Function *function) {
    if (function && !function->body.empty() && !is_contained(functions, function))
      functions.push_back(function);
  };
  for (size_t i = 0; i < functions.size(); ++i) // grows
    for (const ptx::Instruction &instruction : functions[i]->body)
      for (const Operand &operand : instruction.operands) {
        if (operand.kind == Operand::Kind::Function)
          add(operand.function());
        if (operand.kind == Operand::Kind::Prototype)
          for (const ptx::Function *function : module.functions)
            if (!function->isKernel)
              add(function);
      }
  return functions;
}

Expected<PtxEditor> PtxEditor::open(StringRef text, StringRef kernel) {
  ptx::ParseResult result = ptx::parse("capsule", text.str());
  const ptx::Function *wanted = result.usable ? result.module.function(kernel) : nullptr;
  if (!wanted || wanted->body.empty() || !wanted->valid || result.module.addressSize != 64 ||
      !text.contains(".address_size"))
    return createStringError("the PTX of kernel '" + kernel + "' cannot be changed");
  PtxEditor editor(text, std::make_shared<ptx::Module>(std::move(result.module)));
  editor.reached = reachedFrom(*editor.parsed, *wanted);
  llvm::sort(editor.reached, [](const ptx::Function *a, const ptx::Function *b) {
    return a->body.front().place < b->body.front().place; // in the order of the text
  });
  return editor;
}

/// Where the statement begins that has the byte at `place`: behind the end of the one before, a
/// label or a comment. Its guard may stand in a line before.
static size_t beginOf(StringRef text, size_t place) {
  size_t begin = place;
  while (begin > 0 && !StringRef(";{}:\n/").contains(text[begin - 1]))
    --begin;
  const StringRef above = text.take_front(begin).rtrim();
  const size_t guard = above.rfind('@');
  if (!text.slice(begin, place).contains('@') && guard != StringRef::npos &&
      above.drop_front(guard + 1).find_if([](char c) {
        return !isAlnum(c) && !StringRef("!%_$").contains(c);
      }) == StringRef::npos &&
      !text.slice(text.rfind('\n', guard) + 1, guard).contains("//"))
    return guard;
  return begin;
}

/// Behind the semicolon that ends the statement; comments may have others.
static size_t endOf(StringRef text, size_t place) {
  for (size_t at = place; at < text.size();) {
    const StringRef rest = text.drop_front(at);
    if (rest.starts_with("//"))
      at = std::min(text.find('\n', at), text.size());
    else if (rest.starts_with("/*"))
      at = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
    else if (text[at++] == ';')
      return at;
  }
  return text.size();
}

void PtxEditor::copyTo(size_t place) {
  out += text.slice(done, place);
  done = place;
}

void PtxEditor::declare(StringRef declaration) {
  // In the same line, so that lines keep their numbers.
  const size_t directive = text.find(".address_size");
  copyTo(text.find_first_not_of("0123456789", text.find_first_of("0123456789", directive)));
  out += " " + declaration.str();
}

void PtxEditor::atEntry(const ptx::Function &function, StringRef code) {
  const size_t body =
      text.take_front(function.body.front().place).rfind(function.isKernel ? ".entry" : ".func");
  copyTo(text.find('{', body) + 1);
  out += code;
}

void PtxEditor::atFirst(const ptx::Function &function, StringRef code) {
  StringRef before = text.take_front(beginOf(text, function.body.front().place));
  const auto isOfName = [](char c) { return isAlnum(c) || StringRef("_$%").contains(c); };
  while (before.rtrim().ends_with(":")) { // loops jump to its labels
    before = before.rtrim().drop_back();
    while (!before.empty() && isOfName(before.back()))
      before = before.drop_back();
  }
  copyTo(before.size());
  out += code;
}

void PtxEditor::before(const ptx::Instruction &instruction, StringRef code) {
  copyTo(beginOf(text, instruction.place));
  out += code;
}

void PtxEditor::behind(const ptx::Instruction &instruction, StringRef code) {
  copyTo(endOf(text, instruction.place));
  out += code;
}

void PtxEditor::replace(const ptx::Instruction &instruction, StringRef code) {
  copyTo(beginOf(text, instruction.place));
  out += "\n  " + code.str();
  done = endOf(text, instruction.place);
}

std::string PtxEditor::finish() {
  copyTo(text.size());
  return std::move(out);
}

uint32_t PtxEditor::lineOf(const ptx::Instruction &instruction) const {
  return uint32_t(text.take_front(instruction.place).count('\n') + 1);
}

StringRef PtxEditor::statement(const ptx::Instruction &instruction) const {
  const size_t begin = beginOf(text, instruction.place);
  return text.slice(begin, endOf(text, instruction.place)).trim();
}

std::string guardOf(const ptx::Function &function, const ptx::Instruction &instruction) {
  if (instruction.guard.reg == ptx::kNone)
    return "";
  return (instruction.guard.negated ? "!" : "") + function.registerName(instruction.guard.reg);
}

const Operand *addressIn(const ptx::Instruction &instruction) {
  const auto found = find_if(instruction.operands, [](const Operand &operand) {
    return operand.kind == Operand::Kind::Address;
  });
  return found == instruction.operands.end() ? nullptr : &*found;
}

void takeAddress(raw_ostream &os, StringRef into, const ptx::Function &function,
                 const Operand &address) {
  // One definition, so that registers of large kernels stay few.
  if (address.reg != ptx::kNone) {
    const std::string name = function.registerName(address.reg);
    if (ptx::sizeInBits(function.registers[address.reg].type) == 32)
      os << formatv("mad.wide.u32 {0}, {1}, 1, {2}; ", into, name, address.offset);
    else
      os << formatv("add.s64 {0}, {1}, {2}; ", into, name, address.offset);
  } else if (address.variable()) {
    os << formatv("mov.u64 {0}, {1}; ", into, address.variable()->name);
    if (address.offset)
      os << formatv("add.s64 {0}, {0}, {1}; ", into, address.offset);
  } else {
    os << formatv("mov.u64 {0}, {1}; ", into, address.offset);
  }
}

void takeNumber(raw_ostream &os, StringRef what, StringRef in, unsigned result) {
  const unsigned other = result + 1;
  os << formatv("mov.u32 %rubia_r{0}, {2}.z; mov.u32 %rubia_r{1}, {3}.y; "
                "mul.lo.u32 %rubia_r{0}, %rubia_r{0}, %rubia_r{1}; mov.u32 %rubia_r{1}, {2}.y; "
                "add.u32 %rubia_r{0}, %rubia_r{0}, %rubia_r{1}; mov.u32 %rubia_r{1}, {3}.x; "
                "mul.lo.u32 %rubia_r{0}, %rubia_r{0}, %rubia_r{1}; mov.u32 %rubia_r{1}, {2}.x; "
                "add.u32 %rubia_r{0}, %rubia_r{0}, %rubia_r{1}; ",
                result, other, what, in);
}

std::string sourceOf(const ptx::Module &module, const ptx::Instruction &instruction) {
  if (instruction.sourceLine >= module.sourceLines.size())
    return "";
  const ptx::SourceLine &line = module.sourceLines[instruction.sourceLine];
  for (const ptx::SourceFile &file : module.files)
    if (file.number == line.file)
      return (file.path + ":" + Twine(line.line)).str();
  return "";
}

std::string withTarget(StringRef text, unsigned capability) {
  SmallVector<StringRef> found;
  if (!Regex("(^|\n)[ \t]*\\.target[ \t]+(sm_([0-9]+)[af]?)").match(text, &found))
    return "";
  unsigned sm = 0;
  if (found[3].getAsInteger(10, sm) || sm <= capability)
    return "";
  const size_t at = size_t(found[2].data() - text.data());
  return (text.take_front(at) + "sm_" + Twine(capability) + text.drop_front(at + found[2].size()))
      .str();
}

} // namespace rubia::capsule
