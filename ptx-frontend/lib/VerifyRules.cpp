// SPDX-License-Identifier: Apache-2.0
// Rules that no single operand place can say.

#include "ptx-frontend/lib/Verifier.h"
#include "llvm/Support/MathExtras.h"
#include <vector>

using llvm::Twine;

namespace rubia::ptx::Op {
extern const Operation Alloca, BarArrive, BarRed, BarSync, Bfe, Bfi, CpAsync, Createpolicy,
    CvtNarrow, Mov, MultimemLdReduce, StBulk, Stackrestore, TcAlloc, TcMma, TensormapReplace, Vmad;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Elemtype, L2CacheHint, Rna;
} // namespace rubia::ptx::Mod

namespace rubia::ptx {

// The operations whose operands have rules beyond their rows.
void Verifier::checkRules() {
  static const auto kRules = [] {
    std::vector<void (Verifier::*)()> rules(operationCount());
    auto set = [&](Operation op, void (Verifier::*check)()) { rules[unsigned(op)] = check; };
    set(Op::BarSync, &Verifier::checkBarrier);
    set(Op::BarArrive, &Verifier::checkBarrier);
    set(Op::BarRed, &Verifier::checkBarrier);
    set(Op::Mov, &Verifier::checkMov);
    set(Op::Bfe, &Verifier::checkBitField);
    set(Op::Bfi, &Verifier::checkBitField);
    set(Op::Alloca, &Verifier::checkAlloca);
    set(Op::Stackrestore, &Verifier::checkStackrestore);
    set(Op::TcAlloc, &Verifier::checkColumns);
    set(Op::CpAsync, &Verifier::checkCopy);
    set(Op::TcMma, &Verifier::checkInputScale);
    set(Op::Vmad, &Verifier::checkProductSign);
    set(Op::TensormapReplace, &Verifier::checkElementType);
    set(Op::CvtNarrow, &Verifier::checkNarrowed);
    set(Op::MultimemLdReduce, &Verifier::checkPairsOfSinks);
    set(Op::StBulk, &Verifier::checkBulkSize);
    set(Op::Createpolicy, &Verifier::checkPolicySizes);
    return rules;
  }();
  if (auto check = kRules[unsigned(inst->op())]) {
    constantsMatter = true;
    (this->*check)();
  }
}

// Vectors are made of scalars and taken apart, not moved.
void Verifier::checkMov() {
  auto isVector = [&](const Operand &operand) {
    return operand.kind == Operand::Kind::Vector || isWholeVector(operand);
  };
  if (spelling->vectorWidth() == 1 && isVector(inst->operands[0]) && isVector(inst->operands[1]))
    error(inst->place, "'" + Twine(spelling->text) + "' cannot move a vector to a vector");
}

// Position and length.
void Verifier::checkBitField() {
  unsigned first = inst->op() == Op::Bfe ? 2 : 3;
  for (unsigned i = first; i < first + 2; ++i) {
    const Operand &operand = inst->operands[i];
    if (operand.kind == Operand::Kind::Integer && operand.bits > 255)
      operandError(operand, i, "is a constant outside of 0 to 255");
  }
}

void Verifier::checkAlloca() {
  if (inst->operands.size() < 3)
    return;
  const Operand &alignment = inst->operands[2];
  if (!llvm::isPowerOf2_64(alignment.bits))
    operandError(alignment, 2, "is no power of two");
}

void Verifier::checkStackrestore() {
  if (inst->operands[0].kind != Operand::Kind::Register)
    operandError(inst->operands[0], 0, "must be a register");
}

// A power of two from 32 to 512. PTX ISA: tcgen05-memory-allocation
void Verifier::checkColumns() {
  if (inst->operands.size() < 2 || inst->operands[1].kind != Operand::Kind::Integer)
    return;
  const Operand &columns = inst->operands[1];
  if (columns.bits == 0 && inst->operands[0].kind != Operand::Kind::Address) // dealloc of none
    return;
  if (!llvm::isPowerOf2_64(columns.bits) || columns.bits < 32 || columns.bits > 512)
    operandError(columns, 1, "is no power of two from 32 to 512");
}

// PTX ISA: data-movement-and-conversion-instructions-cp-async
void Verifier::checkCopy() {
  if (inst->operands.size() < 4u + spelling->has(Mod::L2CacheHint))
    return;
  const Operand &size = inst->operands[2], &source = inst->operands[3];
  if (source.kind == Operand::Kind::Register && fn.registers[source.reg].type == Type::Pred &&
      version < Version{7, 5})
    operandError(source, 3, "is a predicate, which needs PTX 7.5");
  else if (source.kind == Operand::Kind::Integer && source.bits > size.bits)
    operandError(source, 3, "is more than the size of the copy");
}

// PTX ISA: tcgen05-mma-instructions-mma: scale-input-d
void Verifier::checkInputScale() {
  const OperandSlot *last = spelling->expected.back().slot;
  if (!isLinked && module.sm == 110 && last->optional && last->immediate &&
      inst->operands.back().kind == Operand::Kind::Integer &&
      inst->operands[inst->operands.size() - 2].kind != Operand::Kind::Vector &&
      inst->operands.size() > spelling->requiredOperands)
    error(inst->place,
          "'" + Twine(spelling->text) + "' has a scale of the input, which sm_110 has not");
}

// PTX ISA: scalar-video-instructions-vmad
void Verifier::checkProductSign() {
  auto negated = [&](unsigned i) { return inst->operands[i].negated; };
  if (inst->operands.size() == 4 && negated(1) != negated(2) && negated(3))
    operandError(inst->operands[3], 3, "cannot be negated beside a negated product");
}

void Verifier::checkElementType() {
  const Operand &value = inst->operands.back();
  if (spelling->has(Mod::Elemtype) && value.kind == Operand::Kind::Integer && value.bits > 12 &&
      (version < Version{8, 7} || (!isLinked && module.sm < 100)))
    operandError(value, unsigned(inst->operands.size()) - 1,
                 "is an element type that needs PTX 8.7 and sm_100");
}

void Verifier::checkNarrowed() {
  if (spelling->has(Mod::Rna) && inst->operands[1].kind == Operand::Kind::Float &&
      !inst->operands[1].isSingle)
    operandError(inst->operands[1], 1, "is a constant of .f64, expected .f32");
}

// ptxas moves narrow elements in pairs.
void Verifier::checkPairsOfSinks() {
  const Operand &result = inst->operands[0];
  unsigned bits = sizeInBits(spelling->expected[0].type);
  bool areBytes = spelling->type() != Type::F16 && spelling->type() != Type::BF16;
  if (result.kind != Operand::Kind::Vector || bits >= 32 ||
      (areBytes && result.elements().size() < 8))
    return;
  for (size_t i = 0; i + 1 < result.elements().size(); i += 2)
    if (result.elements()[i].kind == Operand::Kind::Sink &&
        result.elements()[i + 1].kind == Operand::Kind::Sink)
      operandError(result, 0, "has a pair of elements that are both '_'");
}

void Verifier::checkBulkSize() {
  if (inst->operands[1].kind == Operand::Kind::Integer && inst->operands[1].bits % 8)
    operandError(inst->operands[1], 1, "is no multiple of 8");
}

// .range: primary size, total size.
void Verifier::checkPolicySizes() {
  if (inst->operands.size() < 4)
    return;
  const Operand &primary = inst->operands[2], &total = inst->operands[3];
  if (primary.kind == Operand::Kind::Integer && total.kind == Operand::Kind::Integer &&
      uint32_t(primary.bits) > uint32_t(total.bits))
    operandError(primary, 2, "is larger than the total size");
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
