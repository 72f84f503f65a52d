// SPDX-License-Identifier: Apache-2.0
// Operands in brackets: the address, its state space, and what stands beside it (coordinates,
// samplers, masks). PTX ISA: addresses-as-operands.

#include "ptx-frontend/lib/Verifier.h"

using llvm::ArrayRef;
using llvm::Twine;

namespace rubia::ptx::Op {
extern const Operation Createpolicy, Ldmatrix, MultimemRed, RedAsync, St, StAsync, StBulk, Stmatrix,
    TcMma, TcMmaWs, TensormapReplace;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier M8n8, Tensormap;
} // namespace rubia::ptx::Mod

namespace rubia::ptx {

StateSpace Verifier::spaceOfAddress(const OperandSlot &slot) const {
  switch (slot.spaceRule) {
  case OperandSlot::SpaceRule::First:
    return spelling->space();
  case OperandSlot::SpaceRule::Second: {
    unsigned seen = 0;
    for (Modifier mod : spelling->modifiers)
      if (StateSpace space = spaceOf(mod); space != StateSpace::None && seen++)
        return space;
    return StateSpace::None;
  }
  case OperandSlot::SpaceRule::Fixed:
    return slot.space;
  }
  return StateSpace::None;
}

bool Verifier::checkAddress(const Operand &operand, unsigned index,
                            const ExpectedOperand &expected) {
  const OperandSlot &slot = *expected.slot;
  if (operand.kind == Operand::Kind::AddressList || slot.insideCount)
    return checkInside(operand, index, expected);
  if (operand.kind != Operand::Kind::Address)
    return operandError(operand, index, "must be an address in brackets");
  if (operand.unified && !slot.unified)
    return operandError(operand, index, "cannot be '.unified'");
  if (classOf(slot.fixed) == TypeClass::Opaque)
    return checkOpaque(operand, index, slot.fixed);
  if (slot.fixed == Type::B32) { // tensor memory has 32-bit addresses
    bool isMma = inst->op() == Op::TcMma || inst->op() == Op::TcMmaWs;
    if (operand.reg == kNone || !fits(Type::U32, fn.registers[operand.reg].type, false) ||
        (isMma && fn.registers[operand.reg].type != Type::B32))
      return operandError(operand, index, "must be an address in a register of 32 bits");
    return checkWhole(operand, index, /*minus=*/false, OperandSlot::Selector::None);
  }
  if (operand.reg != kNone) {
    const Register &reg = fn.registers[operand.reg];
    TypeClass c = classOf(reg.type);
    unsigned size = sizeInBits(reg.type);
    bool isInteger = c == TypeClass::Bits || c == TypeClass::Unsigned || c == TypeClass::Signed;
    llvm::StringRef opcode = spelling->row->opcode();
    bool isWideMatrix =
        (inst->op() == Op::Ldmatrix || inst->op() == Op::Stmatrix) && !spelling->has(Mod::M8n8);
    bool takesNarrow = opcode != "wmma" && opcode != "tcgen05" && inst->op() != Op::Createpolicy &&
                       inst->op() != Op::TensormapReplace && !spelling->has(Mod::Tensormap) &&
                       inst->op() != Op::StAsync && inst->op() != Op::RedAsync &&
                       inst->op() != Op::StBulk && !isWideMatrix;
    unsigned least = inst->op() == Op::MultimemRed ? 64 : takesNarrow ? 0 : 32;
    if (!isInteger || size > 64 || size < least) // ptxas extends narrow ones
      return operandError(operand, index,
                          Twine("has the address '") + fn.registerName(operand.reg) + "' of type " +
                              nameOf(reg.type) + ", expected an integer of at most 64 bits");
    return checkWhole(operand, index, /*minus=*/false, OperandSlot::Selector::None);
  }
  StateSpace space = spaceOfAddress(slot);
  if (!operand.variable()) {
    if (space != StateSpace::Local)
      return operandError(operand, index, "is a constant address, which only .local has");
    return true;
  }
  const Variable &variable = *operand.variable();
  if (operand.unified && !variable.unified.given && !variable.managed)
    return operandError(operand, index,
                        "is '.unified', which '" + Twine(variable.name) + "' is not");
  if (spelling->row->opcode() == "mbarrier" && variable.space != StateSpace::Shared)
    return operandError(operand, index,
                        "is '" + Twine(variable.name) + "' in " + nameOf(variable.space) +
                            ", but a barrier lies in .shared");
  if (space == StateSpace::None ? variable.space == StateSpace::Param : variable.space != space)
    return operandError(operand, index,
                        "is '" + Twine(variable.name) + "' in " + nameOf(variable.space) +
                            ", expected " +
                            (space == StateSpace::None ? "a generic address" : nameOf(space)));
  if (inst->op() == Op::St && variable.isKernelParameter)
    return operandError(operand, index,
                        "writes the kernel parameter '" + Twine(variable.name) + "'");
  return true;
}

// [a, b, {c, d}]: an address and the operands that the row has inside the brackets.
bool Verifier::checkInside(const Operand &operand, unsigned index,
                           const ExpectedOperand &expected) {
  ArrayRef<Operand> elements = operand.elements();
  if (operand.kind == Operand::Kind::Address)
    elements = operand;
  else if (operand.kind != Operand::Kind::AddressList)
    return operandError(operand, index, "must be an address in brackets");
  ArrayRef<ExpectedOperand> inside =
      expected.slot->insideCount ? spelling->inside : ArrayRef<ExpectedOperand>();
  OperandSlot plain = *expected.slot;
  plain.insideCount = 0;
  ExpectedOperand base = expected;
  base.slot = &plain;
  if (!checkAddress(elements[0], index, base))
    return false;
  if (elements.size() > 1 && elements[0].offset != 0)
    return operandError(operand, index, "has an offset beside other operands in its brackets");
  return checkList(elements.drop_front(), inside, index, /*isInside=*/true);
}

// A texture, sampler or surface: a variable of that type, or a register with its handle.
// PTX ISA: texture-sampler-and-surface-types.
bool Verifier::checkOpaque(const Operand &operand, unsigned index, Type type) {
  if (operand.reg != kNone) {
    if (!fits(Type::U64, fn.registers[operand.reg].type, false))
      return typeError(operand, index, Type::U64);
    return checkWhole(operand, index, /*minus=*/false, OperandSlot::Selector::None) &&
           (operand.offset == 0 || operandError(operand, index, "has an offset"));
  }
  const Variable *variable = operand.variable();
  if (!variable)
    return operandError(operand, index, "must be a " + Twine(nameOf(type)) + " or a register");
  if (type == Type::SamplerRef && !module.texmodeIndependent)
    return operandError(operand, index, "is a sampler, which needs '.target texmode_independent'");
  if (variable->type != type &&
      !(variable->space == StateSpace::Param && variable->type == Type::U64))
    return operandError(operand, index,
                        "is '" + Twine(variable->name) + "' of type " + nameOf(variable->type) +
                            ", expected " + nameOf(type));
  return operand.offset == 0 || operandError(operand, index, "has an offset");
}

} // namespace rubia::ptx
