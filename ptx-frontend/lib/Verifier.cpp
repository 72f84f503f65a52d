// SPDX-License-Identifier: Apache-2.0
// Checks every instruction of a function against its row: number, kind and type of the operands,
// address spaces, call signatures, PTX version and SM. Each error has a place and makes only its
// function invalid. The rules follow the manual's tables and, where those leave room, what ptxas
// 13.0 accepts (docs/ptxas-differences.md). PTX ISA: operand-type-checking,
// operand-size-exceeding-instruction-type-size.

#include "ptx-frontend/lib/Verifier.h"

using llvm::Twine;

namespace rubia::ptx {

namespace {

bool isInteger(TypeClass c) { return c == TypeClass::Unsigned || c == TypeClass::Signed; }

bool mayStandFor(Type expected, Type actual, bool wider) {
  if (expected == actual)
    return true;
  unsigned expectedSize = sizeInBits(expected), actualSize = sizeInBits(actual);
  if (expectedSize == 0 || actualSize == 0) // predicates fit only themselves
    return false;
  if (isOnlyInstructionType(expected))
    wider = false;
  if (wider ? actualSize < expectedSize : actualSize != expectedSize)
    return false;
  TypeClass e = classOf(expected), a = classOf(actual);
  if (e == TypeClass::Opaque || a == TypeClass::Opaque)
    return false;
  if (isOnlyInstructionType(expected))
    return a == TypeClass::Bits || (actual == Type::F16x2 && e != TypeClass::Float);
  if (actual == Type::F16x2) // ptxas takes it for 32 bits of anything but .f32
    return e == TypeClass::Bits || isInteger(e);
  if (e == TypeClass::Bits || a == TypeClass::Bits)
    return true;
  return isInteger(e) && isInteger(a);
}

} // namespace

bool fits(Type expected, Type actual, bool wider) {
  constexpr unsigned kTypes = unsigned(Type::SurfRef) + 1;
  struct Table {
    bool fits[2][kTypes][kTypes];
    Table() {
      for (unsigned e = 0; e < kTypes; ++e)
        for (unsigned a = 0; a < kTypes; ++a)
          for (bool wider : {false, true})
            fits[wider][e][a] = mayStandFor(Type(e), Type(a), wider);
    }
  };
  static const Table table;
  return table.fits[wider][unsigned(expected)][unsigned(actual)];
}

bool Verifier::error(uint32_t place, const Twine &message, bool unsupported) {
  fn.valid = false;
  diagnostics.add(Severity::Error, place, fn.name, message, unsupported);
  return false;
}

// "operand 2 of 'add.s32' ..."
bool Verifier::operandError(const Operand &operand, unsigned index, const Twine &message) {
  return error(operand.place,
               "operand " + Twine(index + 1) + " of '" + inst->spelling->text + "' " + message);
}

bool Verifier::typeError(const Operand &operand, unsigned index, Type expected) {
  return operandError(operand, index,
                      Twine("is '") + fn.registerName(operand.reg) + "' of type " +
                          nameOf(fn.registers[operand.reg].type) + ", expected " +
                          nameOf(expected));
}

void Verifier::check(const Instruction &instruction) {
  inst = &instruction;
  spelling = static_cast<const MatchedSpelling *>(instruction.spelling);
  if (!spelling->legal && !checkSpelling())
    return;
  const Guard &guard = instruction.guard;
  if (guard.reg != kNone && fn.registers[guard.reg].type != Type::Pred)
    error(instruction.place, Twine("guard '") + fn.registerName(guard.reg) +
                                 "' is no predicate but has type " +
                                 nameOf(fn.registers[guard.reg].type));
  if (spelling->call)
    checkCall();
  else
    checkOperands();
}

// What is remembered must follow from the spelling and the shape alone (Shape.h).
void Verifier::checkAndRemember(const Instruction &instruction, const Shape &shape) {
  bool wasValid = fn.valid;
  fn.valid = true;
  constantsMatter = false;
  check(instruction);
  if (fn.valid && shape.known() && !(constantsMatter && shape.hasConstants()))
    spelling->rightShapes.insert(shape);
  fn.valid &= wasValid;
}

void verify(const Module &module, Function &fn, DiagnosticLog &diagnostics) {
  Verifier(module, fn, diagnostics).run();
}

} // namespace rubia::ptx
