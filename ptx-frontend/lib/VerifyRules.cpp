// Rules that no single operand place can say.

#include "ptx-frontend/lib/Verifier.h"
#include "llvm/Support/MathExtras.h"
#include <utility>

using llvm::Twine;

namespace rubia::ptx {

void Verifier::checkRules() {
  bool ranges = std::exchange(constantsMatter, true);
  switch (inst->op()) {
  case Op::BarSync:
  case Op::BarArrive:
  case Op::BarRed:
    checkBarrier();
    return;
  case Op::Mov:
    if (spelling->vectorWidth() == 1 && inst->operands[0].kind == Operand::Kind::Vector &&
        inst->operands[1].kind == Operand::Kind::Vector)
      error(inst->place, "'" + Twine(spelling->text) + "' cannot move a vector to a vector");
    return;
  case Op::Bfe:
  case Op::Bfi: { // position and length
    unsigned first = inst->op() == Op::Bfe ? 2 : 3;
    for (unsigned i = first; i < first + 2; ++i) {
      const Operand &operand = inst->operands[i];
      if (operand.kind == Operand::Kind::Integer && operand.bits > 255)
        operandError(operand, i, "is a constant outside of 0 to 255");
    }
    return;
  }
  case Op::Alloca: {
    if (inst->operands.size() < 3)
      return;
    const Operand &alignment = inst->operands[2];
    if (!llvm::isPowerOf2_64(alignment.bits))
      operandError(alignment, 2, "is no power of two");
    return;
  }
  case Op::Stackrestore:
    if (inst->operands[0].kind != Operand::Kind::Register)
      operandError(inst->operands[0], 0, "must be a register");
    return;
  case Op::TcAlloc: { // columns: a power of two from 32 to 512. PTX ISA: tcgen05-memory-allocation
    if (inst->operands.size() < 2 || inst->operands[1].kind != Operand::Kind::Integer)
      return;
    const Operand &columns = inst->operands[1];
    if (!llvm::isPowerOf2_64(columns.bits) || columns.bits < 32 || columns.bits > 512)
      operandError(columns, 1, "is no power of two from 32 to 512");
    return;
  }
  case Op::StBulk:
    if (inst->operands[1].kind == Operand::Kind::Integer && inst->operands[1].bits % 8)
      operandError(inst->operands[1], 1, "is no multiple of 8");
    return;
  case Op::Createpolicy: { // .range: primary size, total size
    if (inst->operands.size() < 4)
      return;
    const Operand &primary = inst->operands[2], &total = inst->operands[3];
    if (primary.kind == Operand::Kind::Integer && total.kind == Operand::Kind::Integer &&
        uint32_t(primary.bits) > uint32_t(total.bits))
      operandError(primary, 2, "is larger than the total size");
    return;
  }
  default: // the row says it all
    constantsMatter = ranges;
    return;
  }
}

// PTX ISA: parallel-synchronization-and-communication-instructions-bar.
void Verifier::checkBarrier() {
  unsigned first = inst->op() == Op::BarRed ? 1 : 0;
  const Operand &barrier = inst->operands[first];
  if (barrier.kind == Operand::Kind::Integer && barrier.bits > 15)
    operandError(barrier, first, "is no barrier from 0 to 15");
  bool hasCount = inst->operands.size() > (first ? 3u : 1u);
  if (!hasCount)
    return;
  const Operand &threads = inst->operands[first + 1];
  if (threads.kind != Operand::Kind::Integer)
    return;
  if (threads.bits % 32)
    operandError(threads, first + 1, "is no multiple of the warp size");
  else if (threads.bits == 0 && inst->op() == Op::BarArrive) // elsewhere it is all of the CTA
    operandError(threads, first + 1, "must not be zero");
}

} // namespace rubia::ptx
