// SPDX-License-Identifier: Apache-2.0
#include "diff/Cut.h"
#include "diff/lib/Inexact.h"
#include "diff/lib/TextOfPtx.h"
#include "ptx-frontend/Effects.h"
#include "ptx-frontend/InstructionTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace llvm;
using rubia::ptx::Operand;
using rubia::ptx::Type;

namespace rubia::ptx::Op {
extern const Operation Bra, Call, Mov, Red, Setp, St;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Cc;
} // namespace rubia::ptx::Mod

namespace Op = rubia::ptx::Op;

namespace rubia::capsule {
namespace {

bool hasResult(const ptx::Instruction &instruction) {
  const ptx::Form &form = ptx::instructionForms()[instruction.spelling->form];
  return form.operandCount && form.operandSlots[0].destination && !instruction.operands.empty();
}

/// A statement that makes a register 0. None: it is no scalar one.
std::optional<std::string> zeroOf(const ptx::Function &function, uint32_t reg) {
  const ptx::Register &one = function.registers[reg];
  const unsigned bits = ptx::sizeInBits(one.type);
  if (one.vectorWidth != 1)
    return std::nullopt;
  if (one.type == Type::Pred)
    return "setp.ne.u32 " + function.registerName(reg) + ", 0, 0;";
  if (bits != 16 && bits != 32 && bits != 64)
    return std::nullopt;
  return "mov.b" + std::to_string(bits) + " " + function.registerName(reg) + ", 0;";
}

/// The registers of the result. None: it has another form than whole scalar ones.
std::optional<SmallVector<uint32_t>> scalarResults(const ptx::Function &function,
                                                   const ptx::Instruction &instruction) {
  SmallVector<uint32_t> results;
  if (!hasResult(instruction))
    return std::nullopt;
  const Operand &first = instruction.operands[0];
  for (const Operand &operand : first.elements().empty() ? ArrayRef(first) : first.elements()) {
    if (operand.kind == Operand::Kind::Sink)
      continue;
    if (operand.kind != Operand::Kind::Register || operand.component != 0xff ||
        !zeroOf(function, operand.reg))
      return std::nullopt;
    results.push_back(operand.reg);
  }
  return results;
}

/// Whether the first statement sees the register: braces hide what is declared in them.
bool isSeenAtEntry(const ptx::Module &module, const ptx::Function &function, uint32_t reg) {
  const StringRef text = *module.text;
  const ptx::RegisterRange &range =
      *partition_point(function.registerRanges,
                       [&](const ptx::RegisterRange &one) { return one.first + one.count <= reg; });
  const size_t declared = size_t(range.name.data() - text.data());
  if (declared >= function.body.front().place)
    return false;
  const size_t body = text.take_front(declared).rfind(function.isKernel ? ".entry" : ".func");
  const StringRef between = text.slice(text.find('{', body), declared);
  return between.count('{') == between.count('}') + 1;
}

bool isZero(const ptx::Instruction &instruction) {
  return is_contained({Op::Mov, Op::Setp}, instruction.op()) &&
         instruction.guard.reg == ptx::kNone &&
         all_of(drop_begin(instruction.operands), [](const Operand &operand) {
           return operand.kind == Operand::Kind::Integer && operand.bits == 0;
         });
}

bool canBeCut(const ptx::Function &function, const ptx::Instruction &instruction) {
  if (is_contained({Op::St, Op::Red, Op::Bra}, instruction.op()))
    return true;
  return instruction.op() != Op::Call && !isZero(instruction) &&
         scalarResults(function, instruction);
}

/// Whether it may be executed where the guard does not hold.
bool canLoseGuard(const ptx::Instruction &instruction) {
  using namespace ptx::effects;
  return instruction.guard.reg != ptx::kNone &&
         !ptx::effectsOf(instruction.op()).hasAny(Jumps | Calls | Returns | Exits | Traps);
}

/// Whether nothing is missed where nobody reads its results.
bool isFree(const ptx::Instruction &instruction) {
  using namespace ptx::effects;
  return hasResult(instruction) && !instruction.spelling->has(ptx::Mod::Cc) &&
         !ptx::effectsOf(instruction.op())
              .hasAny(Writes | MeetsCta | ArrivesCta | MeetsCluster | Jumps | Calls | Returns |
                      Exits | Traps);
}

/// `@%p1 st.u32 [%d1], 1;` without what stands first.
StringRef withoutGuard(StringRef statement) {
  return statement.drop_until([](char c) { return isSpace(c); }).ltrim();
}

void visitRegisters(const Operand &operand, function_ref<void(const Operand &)> visit) {
  if (operand.kind == Operand::Kind::Register ||
      (operand.kind == Operand::Kind::Address && operand.reg != ptx::kNone))
    visit(operand);
  for (const Operand &element : operand.elements())
    visitRegisters(element, visit);
}

bool isOfName(char c) { return isAlnum(c) || StringRef("_$%").contains(c); }

/// How often the text has the name.
size_t uses(StringRef text, StringRef name) {
  size_t count = 0;
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    count += (end == text.size() || !isOfName(text[end])) && (at == 0 || !isOfName(text[at - 1]));
  }
  return count;
}

std::string renamed(StringRef text, const StringMap<std::string> &names) {
  std::string out;
  while (!text.empty()) {
    const StringRef word = text.take_while(isOfName);
    const auto found = names.find(word);
    out += found == names.end() ? word.str() : found->second;
    text = text.drop_front(word.size());
    out += text.take_until(isOfName);
    text = text.drop_until(isOfName);
  }
  return out;
}

/// One register for all that are 0 and stay so, of each type.
std::string withSharedZeros(StringRef text, StringRef kernel) {
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor || editor->functions().size() != 1) { // others may have the same names
    if (!editor)
      consumeError(editor.takeError());
    return text.str();
  }
  const ptx::Function &function = *editor->functions().front();
  std::vector<unsigned> definitions(function.registers.size());
  for (const ptx::Instruction &instruction : function.body)
    if (hasResult(instruction))
      visitRegisters(instruction.operands[0], [&](const Operand &operand) {
        definitions[operand.reg] += operand.kind == Operand::Kind::Register;
      });
  std::map<Type, std::string> first;
  StringMap<std::string> names;
  for (const ptx::Instruction &instruction : function.body) {
    const auto results = scalarResults(function, instruction);
    if (!isZero(instruction))
      break;
    if (!results || results->size() != 1 || definitions[results->front()] != 1)
      continue;
    const std::string name = function.registerName(results->front());
    const auto [one, isNew] = first.try_emplace(function.registers[results->front()].type, name);
    if (isNew || !StringRef(name).starts_with("%"))
      continue;
    names[name] = one->second;
    editor->replace(instruction, "");
  }
  return renamed(editor->finish(), names);
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
      return uses(piece.take_front(brace), one.getKey()) != 0;
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
    if (trimmed.ends_with(":") && uses(text, trimmed.drop_back()) == 1)
      continue; // a label that nobody jumps to
    out += line.rtrim().str() + "\n";
  }
  return out;
}

} // namespace

Expected<CutPtx> CutPtx::open(StringRef text, StringRef kernel) {
  CutPtx cut;
  cut.text = text.str();
  cut.kernel = kernel.str();
  Expected<PtxEditor> editor = PtxEditor::open(cut.text, kernel);
  if (!editor)
    return editor.takeError();
  BitVector guarded;
  for (const ptx::Function *function : editor->functions()) {
    const unsigned base = unsigned(cut.definers.size());
    cut.definers.resize(base + function->registers.size());
    bool isAtEntry = true;
    for (const ptx::Instruction &instruction : function->body) {
      Statement one;
      one.isFree = isFree(instruction);
      isAtEntry &= isZero(instruction);
      one.isZeroAtEntry = isAtEntry;
      if (canBeCut(*function, instruction)) {
        one.site = int(cut.count++);
        cut.isOpen.push_back(isInexact(instruction) || isOfOrder(*instruction.spelling));
      }
      if (instruction.guard.reg != ptx::kNone)
        one.guard = int(base + instruction.guard.reg);
      for (auto [i, operand] : enumerate(instruction.operands))
        visitRegisters(operand, [&](const Operand &part) {
          const bool isResult =
              i == 0 && hasResult(instruction) && part.kind == Operand::Kind::Register;
          if (isResult)
            cut.definers[base + part.reg].push_back(unsigned(cut.statements.size()));
          else
            one.reads.push_back(base + part.reg);
        });
      guarded.push_back(canLoseGuard(instruction));
      cut.statements.push_back(std::move(one));
    }
  }
  for (unsigned number : guarded.set_bits())
    cut.statements[number].guardSite = int(cut.count++);
  cut.isOpen.resize(unsigned(cut.count));
  return cut;
}

CutPtx::Needed CutPtx::neededWithout(const BitVector &cut) const {
  Needed needed{BitVector(unsigned(statements.size())), BitVector(unsigned(definers.size()))};
  std::vector<unsigned> left;
  const auto isCut = [&](int site) { return site >= 0 && cut[unsigned(site)]; };
  const auto take = [&](unsigned number) {
    if (needed.statements[number] || isCut(statements[number].site))
      return;
    needed.statements.set(number);
    left.push_back(number);
  };
  const auto read = [&](unsigned reg) {
    if (needed.registers[reg])
      return;
    needed.registers.set(reg);
    for_each(definers[reg], take);
  };
  for (unsigned i = 0; i < statements.size(); ++i)
    if (!statements[i].isFree)
      take(i);
  while (!left.empty()) {
    const Statement &one = statements[left.back()];
    left.pop_back();
    if (one.guard >= 0 && !isCut(one.guardSite))
      read(unsigned(one.guard));
    for_each(one.reads, read);
  }
  return needed;
}

BitVector CutPtx::closed(BitVector cut) const {
  const Needed needed = neededWithout(cut);
  for (auto [i, one] : enumerate(statements))
    for (int site : {one.site, one.guardSite})
      if (site >= 0 && !needed.statements[unsigned(i)])
        cut.set(unsigned(site));
  return cut;
}

bool CutPtx::isZeroed(unsigned reg, const Needed &needed) const {
  const ArrayRef<unsigned> all = definers[reg];
  return needed.registers[reg] &&
         any_of(all, [&](unsigned number) { return !needed.statements[number]; }) &&
         none_of(all, [&](unsigned number) { return statements[number].isZeroAtEntry; });
}

Expected<std::string> CutPtx::without(const BitVector &cut) const {
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor)
    return editor.takeError();
  const Needed needed = neededWithout(cut);
  unsigned number = 0, base = 0;
  for (const ptx::Function *function : editor->functions()) {
    std::string zeros;
    BitVector isSeen(unsigned(function->registers.size()));
    for (unsigned reg = 0; reg < function->registers.size(); ++reg) {
      if (!isZeroed(base + reg, needed) || !isSeenAtEntry(editor->module(), *function, reg))
        continue;
      isSeen.set(reg);
      zeros += *zeroOf(*function, reg) + "\n  ";
    }
    editor->atFirst(*function, zeros);
    for (const ptx::Instruction &instruction : function->body) {
      const Statement &one = statements[number];
      if (needed.statements[number++]) {
        if (one.guardSite >= 0 && cut[unsigned(one.guardSite)])
          editor->replace(instruction, withoutGuard(editor->statement(instruction)));
        continue;
      }
      std::string code;
      if (const auto results = scalarResults(*function, instruction))
        for (uint32_t reg : *results)
          if (isZeroed(base + reg, needed) && !isSeen[reg])
            code += *zeroOf(*function, reg) + " ";
      editor->replace(instruction, code);
    }
    base += unsigned(function->registers.size());
  }
  return editor->finish();
}

std::string tidied(StringRef text, StringRef kernel) {
  std::string own = withoutOthers(text, kernel);
  Expected<CutPtx> whole = CutPtx::open(own, kernel);
  Expected<std::string> needed =
      whole ? whole->without(BitVector(unsigned(whole->size()))) : whole.takeError();
  if (!needed)
    consumeError(needed.takeError());
  return withoutDebugging(withSharedZeros(needed ? *needed : own, kernel));
}

} // namespace rubia::capsule
