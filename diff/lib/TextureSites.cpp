// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/TextureSites.h"
#include "diff/lib/TextOfPtx.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>

using namespace llvm;
using rubia::ptx::Operand;
using rubia::ptx::Operation;

namespace rubia::ptx::Op {
extern const Operation Suld, Suq, Sured, Sust, Tex, Tld4, Txq;
} // namespace rubia::ptx::Op
namespace Op = rubia::ptx::Op;

namespace rubia::capsule {

bool namesTexture(Operation op) {
  const Operation kOfTextures[] = {Op::Tex,  Op::Tld4,  Op::Txq, Op::Suld,
                                   Op::Sust, Op::Sured, Op::Suq};
  return is_contained(kOfTextures, op);
}

SmallVector<ptx::RegisterId, 2> handleRegisters(const ptx::Instruction &instruction) {
  SmallVector<ptx::RegisterId, 2> found;
  for (const Operand &operand : instruction.operands) {
    const bool isList = operand.kind == Operand::Kind::AddressList;
    if (!isList && operand.kind != Operand::Kind::Address)
      continue;
    // A sampler may stand behind the texture, and the coordinates stand last.
    for (const Operand &element : isList ? operand.elements().drop_back() : ArrayRef(operand))
      if ((element.kind == Operand::Kind::Address || element.kind == Operand::Kind::Register) &&
          element.reg != ptx::kNone)
        found.push_back(element.reg);
  }
  return found;
}

std::string searchCode(StringRef variable, size_t entryBytes, StringRef key, StringRef found) {
  return formatv("{{ .reg .b64 %rubia_entry, %rubia_left, %rubia_key; .reg .pred %rubia_is; "
                 "mov.u64 %rubia_entry, {0}; ld.global.u64 %rubia_left, [%rubia_entry]; "
                 "ld.global.u64 %rubia_entry, [%rubia_entry+8]; "
                 "rubia_search: setp.eq.u64 %rubia_is, %rubia_left, 0; "
                 "@%rubia_is bra rubia_searched; sub.u64 %rubia_left, %rubia_left, 1; "
                 "ld.global.u64 %rubia_key, [%rubia_entry]; "
                 "setp.eq.u64 %rubia_is, %rubia_key, {2}; @%rubia_is bra rubia_found; "
                 "add.u64 %rubia_entry, %rubia_entry, {1}; bra rubia_search; "
                 "rubia_found: {3} rubia_searched: } ",
                 variable, entryBytes, key, found);
}

/// Whether its result is in the register, if it is executed.
static bool writesTo(const ptx::Instruction &instruction, ptx::RegisterId reg) {
  const Operand &first = instruction.operands.front();
  return (first.kind == Operand::Kind::Register && first.reg == reg) ||
         any_of(first.elements(), [&](const Operand &element) {
           return element.kind == Operand::Kind::Register && element.reg == reg;
         });
}

/// The register gets its handle back unless the instruction wrote there.
static std::optional<std::string> restoringGuard(const ptx::Function &function,
                                                 const ptx::Instruction &instruction,
                                                 ptx::RegisterId reg) {
  if (!writesTo(instruction, reg))
    return "";
  if (instruction.guard.reg == ptx::kNone)
    return std::nullopt;
  return "@" + std::string(instruction.guard.negated ? "" : "!") +
         function.registerName(instruction.guard.reg) + " ";
}

Expected<std::string> translateHandles(StringRef text, StringRef kernel) {
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor)
    return editor.takeError();
  editor->declare(
      formatv(".visible .global .align 8 .b8 {0}[{1}];", kHandlesVariable, kTableBytes).str());
  for (const ptx::Function *function : editor->functions())
    for (const ptx::Instruction &instruction : function->body) {
      const SmallVector<ptx::RegisterId, 2> handles = namesTexture(instruction.op())
                                                          ? handleRegisters(instruction)
                                                          : SmallVector<ptx::RegisterId, 2>();
      if (handles.empty())
        continue;
      std::string before = "{ .reg .b64 %rubia_was<2>; ", behind = " ";
      for (const auto &[i, reg] : enumerate(handles)) {
        const std::string name = function->registerName(reg);
        before += formatv("mov.b64 %rubia_was{0}, {1}; ", i, name);
        before += searchCode(kHandlesVariable, kHandleEntryBytes, formatv("%rubia_was{0}", i).str(),
                             "ld.global.u64 " + name + ", [%rubia_entry+8];");
        if (const auto guard = restoringGuard(*function, instruction, reg))
          behind += *guard + formatv("mov.b64 {1}, %rubia_was{0}; ", i, name).str();
      }
      editor->before(instruction, before);
      editor->behind(instruction, behind + "} ");
    }
  return editor->finish();
}

} // namespace rubia::capsule
