// SPDX-License-Identifier: Apache-2.0
#include "diff/Cut.h"
#include "diff/lib/Inexact.h"
#include "diff/lib/TextOfPtx.h"
#include "ptx-frontend/InstructionTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <set>

using namespace llvm;
using rubia::ptx::Op;
using rubia::ptx::Operand;
using rubia::ptx::Type;

namespace rubia::capsule {
namespace {

bool hasResult(const ptx::Instruction &instruction) {
  const ptx::Form &form = ptx::instructionForms()[instruction.spelling->form];
  return form.operandCount && form.operandSlots[0].destination && !instruction.operands.empty();
}

/// Code that gives each result 0. None: there are others than whole scalar registers.
std::optional<std::string> zeros(const ptx::Function &function,
                                 const ptx::Instruction &instruction) {
  std::string code;
  const Operand &first = instruction.operands[0];
  const ArrayRef<Operand> results = first.elements().empty() ? ArrayRef(first) : first.elements();
  for (const Operand &operand : results) {
    if (operand.kind == Operand::Kind::Sink)
      continue;
    if (operand.kind != Operand::Kind::Register || operand.component != 0xff)
      return std::nullopt;
    const ptx::Register &reg = function.registers[operand.reg];
    const unsigned bits = ptx::sizeInBits(reg.type);
    const std::string name = function.registerName(operand.reg);
    if (reg.vectorWidth != 1)
      return std::nullopt;
    if (reg.type == Type::Pred)
      code += "setp.ne.u32 " + name + ", 0, 0; ";
    else if (bits == 16 || bits == 32 || bits == 64)
      code += "mov.b" + std::to_string(bits) + " " + name + ", 0; ";
    else
      return std::nullopt;
  }
  return code;
}

bool isZero(const ptx::Instruction &instruction) {
  return is_contained({Op::Mov, Op::Setp}, instruction.op()) &&
         instruction.guard.reg == ptx::kNone &&
         all_of(drop_begin(instruction.operands), [](const Operand &operand) {
           return operand.kind == Operand::Kind::Integer && operand.bits == 0;
         });
}

/// What stands in the place of the instruction. None: it stays.
std::optional<std::string> replacement(const ptx::Function &function,
                                       const ptx::Instruction &instruction, bool takesZeros) {
  if (isZero(instruction))
    return takesZeros ? std::optional(std::string()) : std::nullopt;
  if (is_contained({Op::St, Op::Red, Op::Bra}, instruction.op()))
    return "";
  if (instruction.op() == Op::Call || !hasResult(instruction))
    return std::nullopt;
  return zeros(function, instruction);
}

void visitRegisters(const Operand &operand, function_ref<void(const Operand &)> visit) {
  if (operand.kind == Operand::Kind::Register ||
      (operand.kind == Operand::Kind::Address && operand.reg != ptx::kNone))
    visit(operand);
  for (const Operand &element : operand.elements())
    visitRegisters(element, visit);
}

/// Moves and comparisons whose results nobody reads go; again, as others may be free then.
std::string withoutUnread(std::string text, StringRef kernel) {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
    if (!editor) {
      consumeError(editor.takeError());
      return text;
    }
    for (const ptx::Function *function : editor->functions()) {
      std::set<uint32_t> read;
      for (const ptx::Instruction &instruction : function->body) {
        if (instruction.guard.reg != ptx::kNone)
          read.insert(instruction.guard.reg);
        for (size_t i = hasResult(instruction); i < instruction.operands.size(); ++i)
          visitRegisters(instruction.operands[i],
                         [&](const Operand &operand) { read.insert(operand.reg); });
        if (hasResult(instruction) && instruction.operands[0].kind == Operand::Kind::Address)
          read.insert(instruction.operands[0].reg);
      }
      for (const ptx::Instruction &instruction : function->body) {
        if (!is_contained({Op::Mov, Op::Setp, Op::Cvta}, instruction.op()))
          continue;
        bool isRead = false;
        visitRegisters(instruction.operands[0],
                       [&](const Operand &operand) { isRead |= read.contains(operand.reg) != 0; });
        if (isRead)
          continue;
        editor->replace(instruction, "");
        isChanged = true;
      }
    }
    std::string next = editor->finish();
    text = std::move(next);
  }
  return text;
}

/// Functions of the module that the kernel does not reach.
std::string withoutOthers(StringRef text, StringRef kernel) {
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor) {
    consumeError(editor.takeError());
    return text.str();
  }
  StringSet<> kept;
  for (const ptx::Function *function : editor->functions())
    kept.insert(function->name);
  std::string out;
  int depth = 0;
  size_t begin = 0; // of what stands at the outermost level
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '/' && text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    const bool isEnd = !depth && (c == '}' || c == ';');
    if (!isEnd)
      continue;
    const StringRef piece = text.slice(begin, i + 1);
    begin = i + 1;
    const size_t entry = piece.find(".entry"), func = piece.find(".func");
    const size_t brace = piece.find('{');
    const bool isFunction =
        c == '}' && std::min(entry, func) != StringRef::npos && std::min(entry, func) < brace;
    const auto names = [&](const auto &one) {
      const StringRef head = piece.take_front(brace);
      for (size_t at = head.find(one.getKey()); at != StringRef::npos;
           at = head.find(one.getKey(), at + 1)) {
        const size_t end = at + one.getKey().size();
        const char behind = end < head.size() ? head[end] : ' ', before = at ? head[at - 1] : ' ';
        const auto isName = [](char x) { return isAlnum(x) || StringRef("_$%").contains(x); };
        if (!isName(behind) && !isName(before))
          return true;
      }
      return false;
    };
    if (!isFunction || any_of(kept, names))
      out += piece;
    else if (const size_t end = piece.find(".address_size"); end != StringRef::npos)
      out += piece.take_front(piece.find('\n', end) + 1); // the first piece begins with these
  }
  out += text.drop_front(begin);
  Expected<PtxEditor> again = PtxEditor::open(out, kernel);
  if (again)
    return out;
  consumeError(again.takeError()); // a declaration was needed
  return text.str();
}

std::string withoutDebugging(StringRef text) {
  std::string out;
  bool isSection = false;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    const StringRef trimmed = line.trim();
    if (trimmed.starts_with(".section"))
      isSection = true;
    if (isSection) {
      isSection = !trimmed.ends_with("}");
      continue;
    }
    if (trimmed.empty() || trimmed == ";" || trimmed.starts_with("//") ||
        trimmed.starts_with(".loc") || trimmed.starts_with(".file"))
      continue;
    if (trimmed.ends_with(":") && text.count(trimmed.drop_back()) == 1)
      continue; // a label that nobody jumps to
    out += line.rtrim().str() + "\n";
  }
  return out;
}

} // namespace

Expected<CutPtx> CutPtx::open(StringRef text, StringRef kernel, bool takesZeros) {
  CutPtx cut;
  cut.text = text.str();
  cut.kernel = kernel.str();
  cut.takesZeros = takesZeros;
  Expected<PtxEditor> editor = PtxEditor::open(cut.text, kernel);
  if (!editor)
    return editor.takeError();
  for (const ptx::Function *function : editor->functions())
    for (const ptx::Instruction &instruction : function->body) {
      if (!replacement(*function, instruction, takesZeros))
        continue;
      cut.isOpen.push_back(isInexact(instruction) || isOfOrder(*instruction.spelling));
      cut.sites.push_back({editor->lineOf(instruction), editor->statement(instruction).str(), ""});
    }
  return cut;
}

Expected<std::string> CutPtx::without(const BitVector &cut) const {
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor)
    return editor.takeError();
  size_t number = 0;
  for (const ptx::Function *function : editor->functions())
    for (const ptx::Instruction &instruction : function->body)
      if (const std::optional<std::string> code = replacement(*function, instruction, takesZeros))
        if (cut[number++])
          editor->replace(instruction, *code);
  return editor->finish();
}

std::string tidied(StringRef text, StringRef kernel) {
  return withoutDebugging(withoutUnread(withoutOthers(text, kernel), kernel));
}

} // namespace rubia::capsule
