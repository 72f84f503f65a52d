// SPDX-License-Identifier: Apache-2.0
// Which pages a launch touches: each access to device memory marks its first and its last byte's
// page in the table of allocations, before it is made.
#include "diff/Locate.h"
#include "diff/lib/TextOfPtx.h"
#include "ptx-frontend/Effects.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using rubia::ptx::Operand;
using rubia::ptx::Operation;
using rubia::ptx::StateSpace;

namespace rubia::ptx::Op {
extern const Operation Atom, Ld, Ldu, Red, St;
} // namespace rubia::ptx::Op
namespace Op = rubia::ptx::Op;

namespace rubia::capsule {
namespace {

/// Null: it touches no memory of the device. An error: it may, and is not understood.
Expected<const Operand *> touchedBy(const PtxEditor &editor, const ptx::Instruction &instruction) {
  const Operation kUnderstood[] = {Op::Ld, Op::Ldu, Op::St, Op::Atom, Op::Red};
  const StateSpace space = instruction.spelling->space();
  const bool isOfDevice = space == StateSpace::Global || space == StateSpace::None;
  const ptx::Effects effects = ptx::effectsOf(instruction.op());
  if (!effects.hasAny(ptx::effects::Reads | ptx::effects::Writes) || !isOfDevice)
    return nullptr;
  const Operand *address = nullptr;
  bool hasList = false;
  for (const Operand &operand : instruction.operands) {
    hasList |= operand.kind == Operand::Kind::AddressList;
    if (operand.kind == Operand::Kind::Address && !address)
      address = &operand;
  }
  if (llvm::is_contained(kUnderstood, instruction.op()) && address && !hasList)
    return address;
  if (!address && !hasList)
    return nullptr;
  return createStringError("line " + Twine(editor.lineOf(instruction)) + ": " +
                           instruction.spelling->text +
                           ": the memory that it touches is not known");
}

std::string markCode(const ptx::Function &function, const ptx::Instruction &instruction,
                     const Operand &address, unsigned pageShift) {
  const ptx::Spelling &spelling = *instruction.spelling;
  const unsigned bytes =
      std::max(1u, ptx::sizeInBits(spelling.type()) / 8) * std::max(1u, spelling.vectorWidth());
  std::string code = "{ .reg .b64 %rubia_t<9>; .reg .b32 %rubia_o; .reg .pred %rubia_p, %rubia_q; ";
  raw_string_ostream os(code);
  if (address.reg != ptx::kNone)
    os << "add.s64 %rubia_t0, " << function.registerName(address.reg) << ", " << address.offset
       << "; ";
  else if (address.variable())
    os << "mov.u64 %rubia_t0, " << address.variable()->name << "; add.s64 %rubia_t0, %rubia_t0, "
       << address.offset << "; ";
  else
    os << "mov.u64 %rubia_t0, " << address.offset << "; ";
  if (instruction.guard.reg != ptx::kNone)
    os << "@" << (instruction.guard.negated ? "" : "!")
       << function.registerName(instruction.guard.reg) << " bra rubia_end; ";
  os << formatv("mov.u64 %rubia_t1, {0}; ld.global.u64 %rubia_t2, [%rubia_t1]; "
                "mov.u32 %rubia_o, 1; "
                "rubia_next: setp.eq.u64 %rubia_p, %rubia_t2, 0; @%rubia_p bra rubia_end; "
                "sub.u64 %rubia_t2, %rubia_t2, 1; ld.global.u64 %rubia_t3, [%rubia_t1+8]; "
                "ld.global.u64 %rubia_t4, [%rubia_t1+16]; ld.global.u64 %rubia_t5, [%rubia_t1+24]; "
                "add.u64 %rubia_t1, %rubia_t1, 24; sub.u64 %rubia_t6, %rubia_t0, %rubia_t3; "
                "setp.ge.u64 %rubia_q, %rubia_t6, %rubia_t4; @%rubia_q bra rubia_next; "
                "shr.u64 %rubia_t7, %rubia_t6, {1}; add.u64 %rubia_t7, %rubia_t7, %rubia_t5; "
                "st.global.u8 [%rubia_t7], %rubia_o; add.u64 %rubia_t6, %rubia_t6, {2}; "
                "shr.u64 %rubia_t7, %rubia_t6, {1}; add.u64 %rubia_t7, %rubia_t7, %rubia_t5; "
                "st.global.u8 [%rubia_t7], %rubia_o; rubia_end: } ",
                kTouchedVariable, pageShift, bytes - 1);
  return code;
}

} // namespace

Expected<InstrumentedPtx> instrumentTouches(StringRef text, StringRef kernel, unsigned pageShift) {
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor)
    return editor.takeError();
  InstrumentedPtx out;
  editor->declare(
      formatv(".visible .global .align 8 .b8 {0}[{1}];", kTouchedVariable, kTouchedBytes).str());
  for (const ptx::Function *function : editor->functions())
    for (const ptx::Instruction &instruction : function->body) {
      Expected<const Operand *> address = touchedBy(*editor, instruction);
      if (!address)
        return address.takeError();
      if (*address)
        editor->before(instruction, markCode(*function, instruction, **address, pageShift));
    }
  out.text = editor->finish();
  return out;
}

} // namespace rubia::capsule
