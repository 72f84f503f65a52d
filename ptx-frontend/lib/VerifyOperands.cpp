// SPDX-License-Identifier: Apache-2.0
// Operands against their places in the row: kind, type, constants, vectors.
// PTX ISA: operand-type-checking, operand-size-exceeding-instruction-type-size.

#include "ptx-frontend/SpecialRegisters.h"
#include "ptx-frontend/lib/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx::Op {
extern const Operation CvtNarrow, Getctarank, Ldmatrix, Mapa, Mma, MmaBlockScale, MmaSp,
    MmaSpBlockScale, Mov, Movmatrix, Set, Setp, Stmatrix, TcAlloc, TcCommit, TensormapReplace,
    Wgmma, WgmmaSp, WmmaLoad, WmmaMma, WmmaStore;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier A1d, A2d, A2dms, Acube, BF16, BF16x2, E2M1, E2M3, E3M2, E4M3, E5M2, F16, TF32;
} // namespace rubia::ptx::Mod

namespace rubia::ptx {

// Does the operand `found` stand in the optional place? `spare`: operands that the required places
// leave over.
bool Verifier::isPresent(const ExpectedOperand &place, const Operand &found, size_t spare) const {
  const OperandSlot &slot = *place.slot;
  if (slot.unlessVector) {
    for (auto [e, operand] : llvm::zip(spelling->expected, inst->operands))
      if (e.slot->orVector && operand.kind == Operand::Kind::Vector)
        return false;
    return true;
  }
  if (spare == 0)
    return false;
  if (place.vectorWidth > 1) // an optional vector before an optional scalar
    return found.kind == Operand::Kind::Vector || spare > 1;
  return true;
}

// Puts operands into places; optional ones are filled from the left.
bool Verifier::checkList(ArrayRef<Operand> operands, ArrayRef<ExpectedOperand> expected,
                         unsigned index, bool isInside) {
  size_t required = 0;
  for (const ExpectedOperand &e : expected)
    required += !e.slot->optional;
  size_t spare = operands.size() < required ? 0 : operands.size() - required;
  size_t next = 0;
  bool right = true, optional = false;
  unsigned lastIndex = unsigned(expected.size());
  for (unsigned i = 0; i < lastIndex && right; ++i) {
    const ExpectedOperand &e = expected[i];
    if (e.slot->optional) {
      if (next == operands.size() ? !e.slot->unlessVector || !isPresent(e, operands[0], 0)
                                  : !isPresent(e, operands[next], spare))
        continue;
      spare -= spare > 0;
      required += e.slot->unlessVector;
      optional = true;
    }
    if (next == operands.size())
      break;
    unsigned place = isInside ? index : unsigned(next);
    right = checkOperand(operands[next], place, e) && checkNeed(operands[next], place, *e.slot);
    ++next;
  }
  if (right && (next != operands.size() || operands.size() < required))
    return countError(operands.size(), required, expected.size(), index, isInside);
  if (right && !optional && !isInside)
    for (unsigned i = 0; i < operands.size(); ++i) // PTX ISA: video instructions' merge
      if (i < expected.size() && expected[i].slot->merges && operands[i].selector != 0xff)
        return operandError(operands[i], i, "can have a selector only with an operand to merge");
  return right;
}

bool Verifier::countError(size_t found, size_t required, size_t most, unsigned index,
                          bool isInside) {
  std::string count = std::to_string(required + isInside);
  if (required != most)
    count += " to " + std::to_string(most + isInside);
  if (isInside)
    return operandError(inst->operands[index], index,
                        "has " + Twine(found + 1) + " operands in its brackets, expected " + count);
  return spellingError("takes " + count + " operands, found " + Twine(found));
}

// What the instruction needs because this operand is there.
bool Verifier::checkNeed(const Operand &operand, unsigned index, const OperandSlot &slot) {
  bool counts = slot.pair ? operand.kind == Operand::Kind::Pair : true;
  if (!counts || isLinked || (!(version < slot.version) && module.sm >= slot.sm))
    return true;
  return operandError(operand, index,
                      "needs PTX " + Twine(unsigned(slot.version.major)) + "." +
                          Twine(unsigned(slot.version.minor)) + " and sm_" + Twine(slot.sm));
}

void Verifier::checkOperands() {
  ArrayRef<ExpectedOperand> expected = spelling->expected;
  ArrayRef<Operand> operands = inst->operands;
  if (operands.size() < spelling->requiredOperands || operands.size() > expected.size()) {
    countError(operands.size(), spelling->requiredOperands, expected.size(), 0, false);
    return;
  }
  if (checkList(operands, expected, 0, /*isInside=*/false))
    checkRules();
}

bool Verifier::checkOperand(const Operand &operand, unsigned index,
                            const ExpectedOperand &expected) {
  const OperandSlot &slot = *expected.slot;
  switch (slot.kind) {
  case OperandSlot::Kind::Address:
    return checkAddress(operand, index, expected);
  case OperandSlot::Kind::Label:
  case OperandSlot::Kind::LabelList:
  case OperandSlot::Kind::Call:
    return true; // the parser takes nothing else there
  case OperandSlot::Kind::Value:
    break;
  }
  if (slot.pairRequired && operand.kind != Operand::Kind::Pair)
    return operandError(operand, index, "must be a pair d|p");
  if (operand.kind == Operand::Kind::Pair) {
    if (!slot.pair)
      return operandError(operand, index, "cannot be a pair");
    ExpectedOperand second = expected;
    OperandSlot sinkable = slot;
    sinkable.sink = true;
    second.slot = &sinkable;
    const Operand &first = operand.elements()[0];
    bool isRight = expected.vectorWidth > 1 ? checkVector(first, index, expected)
                                            : checkValue(first, index, second, expected.type, true);
    return isRight && checkValue(operand.elements()[1], index, second, Type::Pred, true);
  }
  if (classOf(slot.fixed) == TypeClass::Opaque &&
      (operand.kind == Operand::Kind::Register || operand.kind == Operand::Kind::Variable))
    return checkOpaque(operand, index, slot.fixed);
  if (slot.orPredicate && operand.kind == Operand::Kind::Register &&
      fn.registers[operand.reg].type == Type::Pred) {
    OperandSlot predicate = slot;
    predicate.negatable = true;
    ExpectedOperand other = expected;
    other.slot = &predicate;
    return checkValue(operand, index, other, Type::Pred, slot.destination);
  }
  if (slot.orAddress && operand.kind == Operand::Kind::Address) {
    OperandSlot address = slot;
    address.fixed = Type::None;
    ExpectedOperand other = expected;
    other.slot = &address;
    return checkAddress(operand, index, other);
  }
  if (slot.orVector && operand.kind == Operand::Kind::Vector) {
    ExpectedOperand vector = expected;
    vector.vectorWidth = 4;
    vector.type = Type::B32;
    return checkVector(operand, index, vector);
  }
  if (expected.vectorWidth > 1)
    return (slot.sink && operand.kind == Operand::Kind::Sink) ||
           checkVector(operand, index, expected);
  if (takesMoreCoordinates(expected) && operand.kind == Operand::Kind::Vector)
    return checkVector(operand, index, expected);
  // A vector of one is written as such; a single coordinate may be a register.
  if (slot.widthRule != OperandSlot::WidthRule::One &&
      slot.widthRule != OperandSlot::WidthRule::Spelled && !operand.braced &&
      (slot.widthRule != OperandSlot::WidthRule::Coordinates ||
       operand.kind != Operand::Kind::Register))
    return operandError(operand, index, "must be a vector of one element");
  if (operand.kind == Operand::Kind::Vector && slot.packed)
    return checkPacked(operand, index, expected);
  if (slot.packed && isWholeVector(operand))
    return checkPackedRegister(operand, index, expected);
  return checkValue(operand, index, expected, expected.type, slot.destination);
}

// "%tid.x"
static std::string spelled(const Operand &special) {
  std::string name = nameOf(special.special).str();
  if (special.component != 0xff)
    name += {'.', "xyzw"[special.component]};
  return name;
}

bool Verifier::checkValue(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                          Type type, bool destination) {
  const OperandSlot &slot = *expected.slot;
  if (slot.sinkOnly && operand.kind != Operand::Kind::Sink)
    return operandError(operand, index, "must be '_'");
  if (slot.immediate && operand.kind != Operand::Kind::Integer &&
      (operand.kind != Operand::Kind::Float || classOf(type) != TypeClass::Float))
    return operandError(operand, index,
                        classOf(type) == TypeClass::Float ? "must be a constant"
                                                          : "must be an integer constant");
  switch (operand.kind) {
  case Operand::Kind::Register:
    return checkRegister(operand, index, expected, type);
  case Operand::Kind::Sink:
    return slot.sink || operandError(operand, index, "cannot be '_'");
  case Operand::Kind::Integer:
  case Operand::Kind::Float:
    if (destination)
      return operandError(operand, index, "must be a register, found a constant");
    return checkConstant(operand, index, expected, type);
  case Operand::Kind::SpecialRegister:
    if (destination)
      return operandError(operand, index,
                          "is the special register '" + Twine(spelled(operand)) +
                              "', which cannot be written");
    return checkSpecial(operand, index, expected, type);
  case Operand::Kind::Variable:
  case Operand::Kind::Function:
    if (destination)
      return operandError(operand, index, "must be a register");
    return checkName(operand, index, expected, type);
  case Operand::Kind::Address:
  case Operand::Kind::AddressList:
    return operandError(operand, index, "cannot be an address in brackets");
  case Operand::Kind::Vector:
    return operandError(operand, index, "cannot be a vector");
  case Operand::Kind::Label:
  case Operand::Kind::LabelList:
  case Operand::Kind::Pair:
  case Operand::Kind::List:
  case Operand::Kind::Prototype:
    break;
  }
  return operandError(operand, index, "must be a register or constant");
}

// A register, or a component of a vector, with a sign or a selector only where the place has them.
bool Verifier::checkWhole(const Operand &operand, unsigned index, bool minus,
                          OperandSlot::Selector kind) {
  if (operand.negated && !minus)
    return operandError(operand, index, "cannot be negated");
  if (operand.selector != 0xff && !checkSelector(operand, index, kind))
    return false;
  if (fn.registers[operand.reg].vectorWidth > 1 && operand.component == 0xff)
    return operandError(operand, index,
                        Twine("is the vector '") + fn.registerName(operand.reg) +
                            "', expected a component of it");
  return true;
}

bool Verifier::checkRegister(const Operand &operand, unsigned index,
                             const ExpectedOperand &expected, Type type) {
  const Register &reg = fn.registers[operand.reg];
  if (!checkWhole(operand, index, expected.slot->negatable || expected.slot->minus,
                  expected.slot->selector))
    return false;
  if (reg.type == Type::B128 && version < Version{8, 3})
    return operandError(operand, index, "is a register of .b128, which needs PTX 8.3");
  Type actual = inferred == Type::None ? reg.type : inferred;
  if (!fits(type, actual, expected.slot->wider))
    return typeError(operand, index, type);
  if (classOf(actual) == TypeClass::Float && classOf(type) == TypeClass::Bits &&
      holdsOnlyIntegers())
    return typeError(operand, index, type);
  const OperandSlot &slot = *expected.slot;
  if (slot.typeRule == OperandSlot::TypeRule::Fixed && type == slot.fixed &&
      classOf(type) == TypeClass::Bits && actual != type && !fitsFixedBits(slot, actual))
    return typeError(operand, index, type);
  return true;
}

// Matrix elements of 4, 6 or 8 bits in floating point.
bool Verifier::hasByteElements() const {
  for (Modifier mod : {Mod::E4M3, Mod::E5M2, Mod::E2M1, Mod::E2M3, Mod::E3M2})
    if (spelling->has(mod))
      return true;
  return false;
}

// Where a row says .b32 or .b64 itself, integers fit and floating point registers do not. The
// registers of a matrix's fragment follow its elements.
bool Verifier::fitsFixedBits(const OperandSlot &slot, Type type) const {
  TypeClass c = classOf(type);
  bool isInteger = c == TypeClass::Bits || c == TypeClass::Unsigned || c == TypeClass::Signed;
  if (is(Op::CvtNarrow)) // formats that no register has
    return c == TypeClass::Bits;
  if (is(Op::MmaBlockScale, Op::MmaSpBlockScale))
    return slot.widthRule == OperandSlot::WidthRule::One && isInteger;
  if (is(Op::MmaSp) && slot.widthRule != OperandSlot::WidthRule::One)
    return !spelling->has(Mod::F16) || type == Type::F16x2 ||
           (hasByteElements() && (slot.name == 'a' || slot.name == 'b'));
  if (is(Op::Ldmatrix, Op::Stmatrix))
    return slot.widthRule != OperandSlot::WidthRule::One || isInteger;
  if (!is(Op::Mma, Op::WmmaLoad, Op::WmmaStore, Op::WmmaMma, Op::Wgmma, Op::WgmmaSp))
    return isInteger; // no matrices
  if (slot.widthRule == OperandSlot::WidthRule::One)
    return isInteger;
  bool halves = spelling->has(Mod::F16) || // wmma.mma.f32.f32 has .f16 sources
                (is(Op::WmmaMma) && spelling->type(2) == Type::None),
       words = spelling->has(Mod::BF16) || spelling->has(Mod::TF32);
  bool bytes = hasByteElements();
  if (words || (halves && !(bytes && (slot.name == 'a' || slot.name == 'b'))))
    return halves && type == Type::F16x2;
  return is(Op::Mma) || (isInteger && !bytes);
}

// PTX ISA: video-instructions: `.b0` to `.b3`, `.h0`, `.h1` of scalar ones; two halves or four
// bytes of both sources (`.h30`, `.b7610`), or of the destination as a mask.
bool Verifier::checkSelector(const Operand &operand, unsigned index, OperandSlot::Selector kind) {
  using Selector = OperandSlot::Selector;
  bool halves = operand.selector & 8;
  unsigned count = operand.selector & 7, most = 0;
  bool rising = false; // as seen from the right
  for (unsigned i = 0; i < count; ++i) {
    unsigned digit = operand.offset >> 4 * i & 15;
    rising = i == 0 || (rising && digit > (unsigned(operand.offset >> 4 * (i - 1)) & 15));
    most = std::max(most, digit);
  }
  switch (kind) {
  case Selector::None:
    return operandError(operand, index, "cannot have a selector");
  case Selector::Scalar:
    if (count == 1 && most <= (halves ? 1 : 3))
      return true;
    return operandError(operand, index, "has a selector other than .b0 to .b3, .h0 and .h1");
  case Selector::Halves:
    if (halves && count == 2 && most <= 3)
      return true;
    return operandError(operand, index, "has a selector other than two halves such as .h10");
  case Selector::Bytes:
    if (!halves && count == 4)
      return true;
    return operandError(operand, index, "has a selector other than four bytes such as .b3210");
  case Selector::HalfMask:
    if (halves && most <= 1 && rising)
      return true;
    return operandError(operand, index, "has a mask other than .h0, .h1 and .h10");
  case Selector::ByteMask:
    if (!halves && most <= 3 && rising)
      return true;
    return operandError(operand, index, "has a mask other than bytes in descending order");
  }
  return false;
}

// Operands that ptxas wants in registers although they are integers: descriptors, metadata and
// scales of matrices, sources of conversions from formats that are held as bits.
bool Verifier::takesNoConstants(const ExpectedOperand &expected) const {
  if (expected.slot->typeRule != OperandSlot::TypeRule::Fixed || expected.vectorWidth > 1)
    return false;
  if (is(Op::WgmmaSp))
    return expected.type == Type::B32; // the metadata
  if (is(Op::CvtNarrow))
    return classOf(expected.type) == TypeClass::Bits;
  return is(Op::MmaSp, Op::MmaBlockScale, Op::MmaSpBlockScale, Op::Movmatrix,
            Op::TcCommit); // the mask
}

static std::string describe(const ConstantRange &range) {
  if (range.kind == ConstantRange::Kind::List) {
    std::string list;
    for (int32_t value : ArrayRef(range.values, range.count))
      list += (list.empty() ? "" : ", ") + std::to_string(value);
    return list;
  }
  std::string text = std::to_string(range.values[0]) + " to " + std::to_string(range.values[1]);
  return range.values[2] == 1 ? text : text + " in steps of " + std::to_string(range.values[2]);
}

// A constant as a predicate: ptxas has none in comparisons of .bf16, and only 0 and 1 as the scale
// of wgmma.
bool Verifier::checkPredicateConstant(const Operand &operand, unsigned index) {
  if (is(Op::Set, Op::Setp) && (spelling->has(Mod::BF16) || spelling->has(Mod::BF16x2)))
    return operandError(operand, index, "is a constant, expected a predicate");
  if (!is(Op::Wgmma, Op::WgmmaSp))
    return true;
  constantsMatter = true;
  return operand.bits <= 1 || operandError(operand, index, "is a constant other than 0 and 1");
}

// Barrier states, cache policies and masks are untyped, but no floating point registers.
bool Verifier::holdsOnlyIntegers() const {
  StringRef opcode = spelling->row->opcode();
  if (inst->op() == Op::TcAlloc || (inst->op() == Op::TensormapReplace &&
                                    spelling->type() == Type::B32 && inst->operands.size() == 3))
    return true;
  return opcode == "mbarrier" || opcode == "createpolicy" || opcode == "redux" || opcode == "bmsk";
}

// May elements of the result be `_`?
bool Verifier::takesSinks() const {
  if (is(Op::Wgmma, Op::WgmmaSp)) // which also reads it
    return false;
  return spelling->row->opcode() != "tcgen05" &&
         (spelling->type(0) != Type::F16x2 || !spelling->row->opcode().starts_with("t"));
}

bool Verifier::checkConstant(const Operand &operand, unsigned index,
                             const ExpectedOperand &expected, Type type) {
  TypeClass c = classOf(type);
  if (operand.kind == Operand::Kind::Integer) {
    if (!expected.slot->immediate && !expected.slot->orPredicate && takesNoConstants(expected))
      return operandError(operand, index, "is a constant, expected a register");
    using Selector = OperandSlot::Selector;
    const Selector first =
        spelling->expected.size() > 1 ? spelling->expected[1].slot->selector : Selector::None;
    if (first == Selector::Halves || first == Selector::Bytes) // of SIMD video instructions
      return operandError(operand, index, "is a constant, expected a register");
    if (type == Type::U16x2 || type == Type::S16x2)
      return operandError(operand, index,
                          "is a constant, expected a register of " + Twine(nameOf(type)));
    if (type == Type::Pred && !checkPredicateConstant(operand, index))
      return false;
    if (c == TypeClass::Float)
      return operandError(operand, index,
                          "is an integer, expected a " + Twine(nameOf(type)) + " constant");
    const ConstantRange &range = expected.slot->range;
    constantsMatter |= range.kind != ConstantRange::Kind::Any;
    return range.kind == ConstantRange::Kind::Any || range.allows(int64_t(operand.bits)) ||
           operandError(operand, index,
                        "is " + Twine(int64_t(operand.bits)) + ", expected " + describe(range));
  }
  if (type == Type::F32 || type == Type::F64)
    return true;
  // 0f3F800000 is 32 bits, and stands as such; all other constants are doubles.
  bool takesFloats =
      expected.slot->typeRule != OperandSlot::TypeRule::Fixed && !holdsOnlyIntegers();
  if (takesFloats && c == TypeClass::Bits && sizeInBits(type) == (operand.isSingle ? 32u : 64u))
    return true;
  return operandError(operand, index,
                      "is a floating point constant, expected " + Twine(nameOf(type)));
}

bool Verifier::checkSpecial(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                            Type type) {
  std::string name = spelled(operand);
  if (!expected.slot->special)
    return operandError(operand, index, "cannot be the special register '" + Twine(name) + "'");
  if (Version first = versionOf(operand.special); version < first)
    return operandError(operand, index,
                        "is '" + Twine(name) + "', which needs PTX " +
                            Twine(unsigned(first.major)) + "." + Twine(unsigned(first.minor)));
  if (!isLinked && module.sm < smOf(operand.special))
    return operandError(operand, index,
                        "is '" + Twine(name) + "', which needs sm_" + Twine(smOf(operand.special)));
  if (widthOf(operand.special) > 1 && operand.component == 0xff)
    return operandError(operand, index,
                        "is the vector '" + Twine(name) + "', expected a component of it");
  // PTX ISA 1.x had 16-bit ones: their low halves can still be read.
  Type own = elementTypeOf(operand.special);
  bool half = sizeInBits(own) == 32 && sizeInBits(type) == 16;
  // %gridid had 16 bits in PTX 1.x and 32 in 2.x.
  bool part = operand.special == SpecialRegister::GridId && sizeInBits(type) < 64;
  if (classOf(type) == TypeClass::Float || (!fits(type, own, false) && !half && !part))
    return operandError(operand, index,
                        "is '" + Twine(name) + "' of type " + nameOf(own) + ", expected " +
                            nameOf(type));
  return true;
}

// The address of a variable or function as a value.
bool Verifier::checkName(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                         Type type) {
  // As ptxas has it, `x+4` is a value anywhere, `x` only where the manual says so.
  if (!expected.slot->anything && (operand.kind != Operand::Kind::Variable || operand.offset == 0))
    return operandError(operand, index, "cannot be the address of a name");
  bool isHalf = inst->op() == Op::Mov && sizeInBits(type) == 16; // the low half, as ptxas has it
  if (classOf(type) == TypeClass::Float ||
      (sizeInBits(type) != 32 && sizeInBits(type) != 64 && !isHalf))
    return operandError(operand, index, "is an address, expected " + Twine(nameOf(type)));
  StateSpace space = expected.slot->anything ? spelling->space() : StateSpace::None; // of cvta
  if (inst->op() == Op::Mapa || inst->op() == Op::Getctarank)
    space = StateSpace::Shared;
  if (space == StateSpace::None)
    return true;
  if (operand.kind == Operand::Kind::Function)
    return operandError(operand, index, "is a function, expected a variable");
  if (operand.variable()->space != space)
    return operandError(operand, index,
                        "is '" + Twine(operand.variable()->name) + "' in " +
                            nameOf(operand.variable()->space) + ", expected " + nameOf(space));
  return true;
}

// Vectors of coordinates may have 2 or 4 elements where the geometry has fewer: the rest is
// ignored. Compilers before CUDA 5 wrote four for all.
bool Verifier::takesMoreCoordinates(const ExpectedOperand &expected) const {
  StringRef opcode = spelling->row->opcode();
  return expected.slot->widthRule == OperandSlot::WidthRule::Coordinates &&
         (opcode == "tex" || opcode == "tld4" || opcode == "suld" || opcode == "sust" ||
          opcode == "sured");
}

bool Verifier::checkVector(const Operand &operand, unsigned index,
                           const ExpectedOperand &expected) {
  unsigned width = expected.vectorWidth;
  bool destination = expected.slot->destination;
  size_t found = operand.kind == Operand::Kind::Vector     ? operand.elements().size()
                 : operand.kind == Operand::Kind::Register ? fn.registers[operand.reg].vectorWidth
                                                           : 0;
  if (takesMoreCoordinates(expected) && found > width && (found == 2 || found == 4))
    width = unsigned(found);
  if (operand.kind == Operand::Kind::Register && operand.component == 0xff &&
      fn.registers[operand.reg].vectorWidth == width) {
    if (operand.negated)
      return operandError(operand, index, "cannot be negated");
    if (operand.selector != 0xff)
      return operandError(operand, index, "cannot have a selector");
    return fits(expected.type, fn.registers[operand.reg].type, expected.slot->wider) ||
           typeError(operand, index, expected.type);
  }
  if (operand.kind == Operand::Kind::Sink && expected.slot->sink)
    return true;
  if (operand.kind == Operand::Kind::SpecialRegister && operand.component == 0xff &&
      expected.slot->special && widthOf(operand.special) == width) {
    Operand element = operand;
    element.component = 0;
    return checkSpecial(element, index, expected, expected.type);
  }
  if (operand.kind != Operand::Kind::Vector)
    return operandError(operand, index, "must be a vector of " + Twine(width) + " elements");
  if (operand.elements().size() != width)
    return operandError(operand, index,
                        "is a vector of " + Twine(operand.elements().size()) +
                            " elements, expected " + Twine(width));
  // The first coordinate is the layer. PTX ISA: texture-instructions-tex
  const Modifier geometry = spelling->first(ModCategory::Geometry);
  const bool isArray = expected.slot->widthRule == OperandSlot::WidthRule::Coordinates &&
                       (geometry == Mod::A1d || geometry == Mod::A2d || geometry == Mod::Acube ||
                        geometry == Mod::A2dms);
  bool isFirst = true;
  inferred = isArray ? Type::None : inferredType(operand);
  auto forget = llvm::scope_exit([&] { inferred = Type::None; });
  for (const Operand &element : operand.elements()) {
    Type type = isArray && isFirst ? Type::U32 : expected.type;
    isFirst = false;
    if (destination && element.kind == Operand::Kind::Sink) {
      if (!takesSinks())
        return operandError(element, index, "cannot contain '_'");
      continue;
    }
    if (!checkValue(element, index, expected, type, destination))
      return false;
  }
  return isArray || checkElementsAgree(operand, index);
}

// The type that ptxas gives to all elements where their registers have different ones: the bits of
// their size.
Type Verifier::inferredType(const Operand &vector) const {
  Type first = Type::None;
  bool mixed = false;
  for (const Operand &element : vector.elements()) {
    if (element.kind != Operand::Kind::Register)
      continue;
    Type type = fn.registers[element.reg].type;
    if (first == Type::None)
      first = type;
    if (type == Type::Pred || sizeInBits(type) != sizeInBits(first))
      return Type::None; // an error
    mixed |= type != first;
  }
  if (!mixed)
    return Type::None;
  switch (sizeInBits(first)) {
  case 8:
    return Type::B8;
  case 16:
    return Type::B16;
  case 32:
    return Type::B32;
  case 64:
    return Type::B64;
  default:
    return Type::B128;
  }
}

// ptxas infers one type for all elements of a vector: registers of one size and of types that may
// stand for each other, integers or floating point constants but not both, and not `_` alone.
bool Verifier::checkElementsAgree(const Operand &vector, unsigned index) {
  Type common = Type::None; // .b32 gives way to .u32 and .f32
  bool integers = false, floats = false;
  for (const Operand &element : vector.elements()) {
    integers |= element.kind == Operand::Kind::Integer;
    floats |= element.kind == Operand::Kind::Float;
    if (element.kind != Operand::Kind::Register)
      continue;
    Type type = fn.registers[element.reg].type;
    if (common != Type::None && !fits(common, type, false))
      return operandError(element, index,
                          Twine("is a vector of registers of types ") + nameOf(common) + " and " +
                              nameOf(type));
    if (common == Type::None || classOf(common) == TypeClass::Bits)
      common = type;
  }
  if (integers && floats)
    return operandError(vector, index, "is a vector of integers and floating point constants");
  if (common == Type::None && !integers && !floats &&
      llvm::all_of(vector.elements(),
                   [](const Operand &e) { return e.kind == Operand::Kind::Sink; }))
    return operandError(vector, index, "is a vector of nothing but '_'");
  return true;
}

bool Verifier::isWholeVector(const Operand &operand) const {
  return operand.kind == Operand::Kind::Register && operand.component == 0xff &&
         operand.selector == 0xff && !operand.negated && fn.registers[operand.reg].vectorWidth > 1;
}

// mov.b64 %rd1, %v: a vector register whose elements make up the type.
bool Verifier::checkPackedRegister(const Operand &operand, unsigned index,
                                   const ExpectedOperand &expected) {
  const Register &reg = fn.registers[operand.reg];
  if (sizeInBits(reg.type) * reg.vectorWidth == sizeInBits(expected.type))
    return true;
  return operandError(operand, index,
                      Twine("is the vector '") + fn.registerName(operand.reg) + "' of " +
                          Twine(reg.vectorWidth) + " elements of type " + nameOf(reg.type) +
                          ", expected " + Twine(sizeInBits(expected.type)) + " bits in all");
}

// mov.b64 {%r1, %r2}, %rd1: elements of equal size that make up the type.
// PTX ISA: data-movement-and-conversion-instructions-mov-2.
bool Verifier::checkPacked(const Operand &operand, unsigned index,
                           const ExpectedOperand &expected) {
  size_t count = operand.elements().size();
  unsigned total = sizeInBits(expected.type);
  if (count != 2 && count != 4)
    return operandError(operand, index,
                        "is a vector of " + Twine(count) + " elements, expected 2 or 4");
  Type common = Type::None; // as in checkElementsAgree
  for (const Operand &element : operand.elements()) {
    switch (element.kind) {
    case Operand::Kind::Sink:
      if (!expected.slot->destination)
        return operandError(element, index, "cannot contain '_'");
      break;
    case Operand::Kind::Register: {
      const Register &reg = fn.registers[element.reg];
      if (!checkWhole(element, index, /*minus=*/false, OperandSlot::Selector::None))
        return false;
      if (sizeInBits(reg.type) * count != total)
        return operandError(element, index,
                            Twine("contains '") + fn.registerName(element.reg) + "' of type " +
                                nameOf(reg.type) + ", expected " + Twine(total / count) + " bits");
      if (common != Type::None && !fits(common, reg.type, false))
        return operandError(element, index,
                            Twine("is a vector of registers of types ") + nameOf(common) + " and " +
                                nameOf(reg.type));
      if (common == Type::None || classOf(common) == TypeClass::Bits)
        common = reg.type;
      break;
    }
    case Operand::Kind::SpecialRegister: { // of the size that it has
      ExpectedOperand part = expected;
      part.type = elementTypeOf(element.special);
      if (expected.slot->destination || sizeInBits(part.type) * count != total)
        return operandError(element, index, "contains an element that is no register");
      OperandSlot slot = *expected.slot;
      slot.special = true;
      part.slot = &slot;
      if (!checkSpecial(element, index, part, part.type))
        return false;
      break;
    }
    case Operand::Kind::Integer:
    case Operand::Kind::Float:
      if (!expected.slot->destination &&
          (element.kind == Operand::Kind::Integer || (element.isSingle ? 32 : 64) * count == total))
        break;
      [[fallthrough]];
    default: // all others
      return operandError(element, index, "contains an element that is no register");
    }
  }
  return true;
}

} // namespace rubia::ptx
