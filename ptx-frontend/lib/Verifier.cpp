// Checks every instruction of a function against its row: number, kind and type of the operands,
// address spaces, call signatures, PTX version and SM. Each error has a place and makes only its
// function invalid. The rules follow the manual's tables and, where those leave room, what ptxas
// 13.0 accepts. PTX ISA: operand-type-checking, operand-size-exceeding-instruction-type-size.

#include "ptx-frontend/lib/Parser.h"
#include "ptx-frontend/lib/TypeNames.h"

using llvm::ArrayRef;
using llvm::StringRef;
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
  if (wider ? actualSize < expectedSize : actualSize != expectedSize)
    return false;
  TypeClass e = classOf(expected), a = classOf(actual);
  if (e == TypeClass::Opaque || a == TypeClass::Opaque)
    return false;
  if (e == TypeClass::Bits || a == TypeClass::Bits)
    return true;
  return isInteger(e) && isInteger(a);
}

// May a register or variable of type `actual` stand where the instruction has type `expected`?
// Bits fit everything of their size, signedness does not matter, and floating point types fit only
// themselves and bits. `wider`: ld, st and cvt also take a larger one.
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

class Verifier {
public:
  Verifier(const Module &module, Function &fn, std::vector<Diagnostic> &diagnostics)
      : module(module), fn(fn), diagnostics(diagnostics) {}

  void run() {
    for (const Instruction &instruction : fn.body)
      check(instruction);
  }

private:
  const Module &module;
  Function &fn;
  std::vector<Diagnostic> &diagnostics;
  const Instruction *inst = nullptr;
  const MatchedSpelling *spelling = nullptr;
  const MatchedSpelling *lastTooNew = nullptr; // reported once in a row

  bool error(uint32_t place, const Twine &message, bool unsupported = false) {
    fn.valid = false;
    constexpr size_t kMaxDiagnostics = 10000;
    if (diagnostics.size() >= kMaxDiagnostics)
      return false;
    Diagnostic diagnostic;
    diagnostic.message = message.str();
    diagnostic.place = place;
    diagnostic.function = fn.name.str();
    diagnostic.unsupported = unsupported;
    diagnostics.push_back(std::move(diagnostic));
    return false;
  }
  // "operand 2 of 'add.s32'"
  std::string operandName(unsigned index) const {
    return ("operand " + Twine(index + 1) + " of '" + inst->spelling->text + "'").str();
  }
  bool operandError(const Operand &operand, unsigned index, const Twine &message) {
    return error(operand.place, operandName(index) + " " + message);
  }

  void check(const Instruction &instruction);
  bool checkVersion();
  void checkHistory();
  void checkOperands();
  bool checkOperand(const Operand &operand, unsigned index, const ExpectedOperand &expected);
  bool checkValue(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                  Type type, bool destination);
  bool checkRegister(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                     Type type);
  bool checkConstant(const Operand &operand, unsigned index, Type type);
  bool checkSpecial(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                    Type type);
  bool checkName(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                 Type type);
  bool checkVector(const Operand &operand, unsigned index, const ExpectedOperand &expected);
  bool checkPacked(const Operand &operand, unsigned index, const ExpectedOperand &expected);
  bool checkAddress(const Operand &operand, unsigned index);
  void checkCall();
  bool checkArguments(ArrayRef<Operand> actual, ArrayRef<const Variable *> formal, StringRef what,
                      StringRef callee, uint32_t place);
  void checkRanges();
};

void Verifier::check(const Instruction &instruction) {
  inst = &instruction;
  spelling = static_cast<const MatchedSpelling *>(instruction.spelling);
  if (!checkVersion())
    return;
  checkHistory();
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

// ---------- Versions

bool Verifier::checkVersion() {
  const Form &row = *spelling->row;
  Version version{uint8_t(module.versionMajor), uint8_t(module.versionMinor)};
  bool tooOld = version < row.version;
  if (!tooOld && module.sm >= row.sm && !module.mapF64ToF32)
    return true;
  if (module.mapF64ToF32 && llvm::is_contained(spelling->modifiers, Mod::F64) &&
      inst->op() != Op::Ld && inst->op() != Op::St && inst->op() != Op::Mov)
    error(inst->place, "unsupported: '" + Twine(spelling->text) + "' under map_f64_to_f32",
          /*unsupported=*/true);
  if (!tooOld && module.sm >= row.sm)
    return true;
  if (lastTooNew != spelling) {
    if (tooOld)
      error(inst->place, "'" + Twine(spelling->text) + "' needs PTX " +
                             Twine(unsigned(row.version.major)) + "." +
                             Twine(unsigned(row.version.minor)) + ", the module is of version " +
                             Twine(module.versionMajor) + "." + Twine(module.versionMinor));
    else
      error(inst->place, "'" + Twine(spelling->text) + "' needs sm_" + Twine(row.sm) +
                             ", the module is for sm_" + Twine(module.sm));
  }
  lastTooNew = spelling;
  fn.valid = false;
  return false;
}

// What older versions had and newer ones do not.
void Verifier::checkHistory() {
  Version version{uint8_t(module.versionMajor), uint8_t(module.versionMinor)};
  const Spelling &s = *spelling;
  auto exact = [&] { return s.first(ModCategory::Rounding) != Mod::None; };
  switch (s.op) {
  case Op::Shfl:
  case Op::Vote:
    if (!s.has(Mod::Sync) && module.sm >= 70 && !(version < Version{6, 4}))
      error(inst->place, "'" + Twine(s.text) + "' without '.sync' is not available for sm_70 and " +
                             "later since PTX 6.4");
    return;
  case Op::FDiv:
  case Op::FRcp:
  case Op::FSqrt:
    if (!exact() && !s.has(Mod::Approx) && !s.has(Mod::Full) && !(version < Version{1, 4}))
      error(inst->place, "'" + Twine(s.text) + "' needs a rounding or '.approx' since PTX 1.4");
    return;
  case Op::FSin:
  case Op::FCos:
  case Op::FLg2:
  case Op::FEx2:
  case Op::FRsqrt:
    if (!s.has(Mod::Approx) && !(version < Version{1, 4}))
      error(inst->place, "'" + Twine(s.text) + "' needs '.approx' since PTX 1.4");
    return;
  case Op::FMad:
    if (!exact() && module.sm >= 20 && !(version < Version{2, 0}))
      error(inst->place, "'" + Twine(s.text) + "' needs a rounding for sm_20 and later");
    return;
  default: // nothing was taken back
    return;
  }
}

// ---------- Operands

void Verifier::checkOperands() {
  ArrayRef<ExpectedOperand> expected = spelling->expected;
  ArrayRef<Operand> operands = inst->operands;
  if (operands.size() < spelling->requiredOperands || operands.size() > expected.size()) {
    std::string count = std::to_string(spelling->requiredOperands);
    if (spelling->requiredOperands != expected.size())
      count += " to " + std::to_string(expected.size());
    error(inst->place, "'" + Twine(spelling->text) + "' takes " + count + " operands, found " +
                           Twine(operands.size()));
    return;
  }
  // Optional operands are filled from the left.
  size_t optional = operands.size() - spelling->requiredOperands;
  size_t next = 0;
  for (const ExpectedOperand &e : expected) {
    if (e.slot->optional) {
      if (optional == 0)
        continue;
      --optional;
    }
    checkOperand(operands[next], unsigned(next), e);
    ++next;
  }
  checkRanges();
}

bool Verifier::checkOperand(const Operand &operand, unsigned index,
                            const ExpectedOperand &expected) {
  const OperandSlot &slot = *expected.slot;
  switch (slot.kind) {
  case OperandSlot::Kind::Address:
    return checkAddress(operand, index);
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
    return checkValue(operand.elements()[0], index, second, expected.type, true) &&
           checkValue(operand.elements()[1], index, second, Type::Pred, true);
  }
  if (expected.vectorWidth > 1)
    return checkVector(operand, index, expected);
  if (operand.kind == Operand::Kind::Vector && slot.packed)
    return checkPacked(operand, index, expected);
  return checkValue(operand, index, expected, expected.type, slot.destination);
}

bool Verifier::checkValue(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                          Type type, bool destination) {
  const OperandSlot &slot = *expected.slot;
  if (slot.immediate && operand.kind != Operand::Kind::Integer)
    return operandError(operand, index, "must be an integer constant");
  switch (operand.kind) {
  case Operand::Kind::Register:
    return checkRegister(operand, index, expected, type);
  case Operand::Kind::Sink:
    return slot.sink || operandError(operand, index, "cannot be '_'");
  case Operand::Kind::Integer:
  case Operand::Kind::Float:
    if (destination)
      return operandError(operand, index, "must be a register, found a constant");
    return checkConstant(operand, index, type);
  case Operand::Kind::SpecialRegister:
    if (destination)
      return operandError(operand, index, "must be a register that can be written");
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

bool Verifier::checkRegister(const Operand &operand, unsigned index,
                             const ExpectedOperand &expected, Type type) {
  const Register &reg = fn.registers[operand.reg];
  if (operand.negated && !expected.slot->negatable)
    return operandError(operand, index, "cannot be negated");
  if (reg.vectorWidth > 1 && operand.component == 0xff)
    return operandError(operand, index,
                        Twine("is the vector '") + fn.registerName(operand.reg) +
                            "', expected a component of it");
  if (!fits(type, reg.type, expected.slot->wider))
    return operandError(operand, index,
                        Twine("is '") + fn.registerName(operand.reg) + "' of type " +
                            nameOf(reg.type) + ", expected " + nameOf(type));
  return true;
}

bool Verifier::checkConstant(const Operand &operand, unsigned index, Type type) {
  TypeClass c = classOf(type);
  if (operand.kind == Operand::Kind::Integer)
    return c != TypeClass::Float ||
           operandError(operand, index,
                        "is an integer, expected a " + Twine(nameOf(type)) + " constant");
  if (type == Type::F32 || type == Type::F64)
    return true;
  // 0f3F800000 is 32 bits, and stands as such; all other constants are doubles.
  if (c == TypeClass::Bits && sizeInBits(type) == (operand.isSingle ? 32u : 64u))
    return true;
  return operandError(operand, index,
                      "is a floating point constant, expected " + Twine(nameOf(type)));
}

bool Verifier::checkSpecial(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                            Type type) {
  StringRef name = nameOf(operand.special);
  if (!expected.slot->special)
    return operandError(operand, index,
                        "cannot be a special register such as '" + Twine(name) + "'");
  if (widthOf(operand.special) > 1 && operand.component == 0xff)
    return operandError(operand, index,
                        "is the vector '" + Twine(name) + "', expected a component of it");
  // PTX ISA 1.x had 16-bit ones: their low halves can still be read.
  Type own = elementTypeOf(operand.special);
  bool half = sizeInBits(own) == 32 && sizeInBits(type) == 16;
  if (classOf(type) == TypeClass::Float || (!fits(type, own, false) && !half))
    return operandError(operand, index,
                        "is '" + Twine(name) + "' of type " + nameOf(own) + ", expected " +
                            nameOf(type));
  return true;
}

// The address of a variable or function as a value.
bool Verifier::checkName(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                         Type type) {
  if (!expected.slot->anything)
    return operandError(operand, index, "cannot be the address of a name");
  if (classOf(type) == TypeClass::Float || (sizeInBits(type) != 32 && sizeInBits(type) != 64))
    return operandError(operand, index, "is an address, expected " + Twine(nameOf(type)));
  StateSpace space = spelling->space(); // of cvta
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

bool Verifier::checkVector(const Operand &operand, unsigned index,
                           const ExpectedOperand &expected) {
  unsigned width = expected.vectorWidth;
  bool destination = expected.slot->destination;
  if (operand.kind == Operand::Kind::Register && operand.component == 0xff &&
      fn.registers[operand.reg].vectorWidth == width) {
    const Register &reg = fn.registers[operand.reg];
    return fits(expected.type, reg.type, expected.slot->wider) ||
           operandError(operand, index,
                        Twine("is '") + fn.registerName(operand.reg) + "' of type " +
                            nameOf(reg.type) + ", expected " + nameOf(expected.type));
  }
  if (operand.kind != Operand::Kind::Vector)
    return operandError(operand, index, "must be a vector of " + Twine(width) + " elements");
  if (operand.elements().size() != width)
    return operandError(operand, index,
                        "is a vector of " + Twine(operand.elements().size()) +
                            " elements, expected " + Twine(width));
  for (const Operand &element : operand.elements()) {
    if (destination && element.kind == Operand::Kind::Sink)
      continue;
    if (!checkValue(element, index, expected, expected.type, destination))
      return false;
  }
  return true;
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
  for (const Operand &element : operand.elements()) {
    switch (element.kind) {
    case Operand::Kind::Sink:
      if (!expected.slot->destination)
        return operandError(element, index, "cannot contain '_'");
      break;
    case Operand::Kind::Register: {
      const Register &reg = fn.registers[element.reg];
      if (element.negated || (reg.vectorWidth > 1 && element.component == 0xff))
        return operandError(element, index, "must contain plain registers");
      if (sizeInBits(reg.type) * count != total)
        return operandError(element, index,
                            Twine("contains '") + fn.registerName(element.reg) + "' of type " +
                                nameOf(reg.type) + ", expected " + Twine(total / count) + " bits");
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

bool Verifier::checkAddress(const Operand &operand, unsigned index) {
  if (operand.kind == Operand::Kind::AddressList)
    return operandError(operand, index, "is an address with coordinates");
  if (operand.kind != Operand::Kind::Address)
    return operandError(operand, index, "must be an address in brackets");
  if (operand.reg != kNone) {
    const Register &reg = fn.registers[operand.reg];
    TypeClass c = classOf(reg.type);
    unsigned size = sizeInBits(reg.type);
    if ((c != TypeClass::Bits && !isInteger(c)) || (size != 32 && size != 64))
      return operandError(operand, index,
                          Twine("has the address '") + fn.registerName(operand.reg) + "' of type " +
                              nameOf(reg.type) + ", expected an integer of 32 or 64 bits");
    if (reg.vectorWidth > 1 && operand.component == 0xff)
      return operandError(operand, index, "has a vector as address");
    return true;
  }
  StateSpace space = spelling->space();
  if (!operand.variable()) {
    if (space != StateSpace::Local)
      return operandError(operand, index, "is a constant address, which only .local has");
    return true;
  }
  const Variable &variable = *operand.variable();
  if (space == StateSpace::None ? variable.space == StateSpace::Param : variable.space != space)
    return operandError(operand, index,
                        "is '" + Twine(variable.name) + "' in " + nameOf(variable.space) +
                            ", expected " +
                            (space == StateSpace::None ? "a generic address" : nameOf(space)));
  if (inst->op() == Op::St && fn.isKernel && llvm::is_contained(fn.parameters, &variable))
    return operandError(operand, index,
                        "writes the kernel parameter '" + Twine(variable.name) + "'");
  return true;
}

// Constants that the hardware has a limit for. PTX ISA:
// parallel-synchronization-and-communication-instructions-bar.
void Verifier::checkRanges() {
  switch (inst->op()) {
  case Op::BarSync:
  case Op::BarArrive:
  case Op::BarRed: {
    unsigned first = inst->op() == Op::BarRed ? 1 : 0;
    const Operand &barrier = inst->operands[first];
    if (barrier.kind == Operand::Kind::Integer && barrier.bits > 15)
      operandError(barrier, first, "is no barrier from 0 to 15");
    bool hasCount = inst->operands.size() > (first ? 3u : 1u);
    if (!hasCount)
      return;
    const Operand &threads = inst->operands[first + 1];
    if (threads.kind == Operand::Kind::Integer && (threads.bits == 0 || threads.bits % 32))
      operandError(threads, first + 1, "is no multiple of the warp size");
    return;
  }
  default: // no other constants are limited
    return;
  }
}

// ---------- Calls. PTX ISA: control-flow-instructions-call

void Verifier::checkCall() {
  ArrayRef<Operand> operands = inst->operands;
  const Operand *results = nullptr, *arguments = nullptr, *prototype = nullptr;
  if (!operands.empty() && operands[0].kind == Operand::Kind::List) {
    results = &operands[0];
    operands = operands.drop_front();
  }
  if (operands.empty()) {
    error(inst->place, "call without a function");
    return;
  }
  const Operand &callee = operands[0];
  operands = operands.drop_front();
  if (!operands.empty() && operands[0].kind == Operand::Kind::List) {
    arguments = &operands[0];
    operands = operands.drop_front();
  }
  if (!operands.empty() && operands[0].kind == Operand::Kind::Prototype) {
    prototype = &operands[0];
    operands = operands.drop_front();
  }
  if (!operands.empty()) {
    error(operands[0].place, "unexpected operand of call");
    return;
  }
  ArrayRef<const Variable *> formalResults, formalParameters;
  StringRef name;
  if (callee.kind == Operand::Kind::Function) {
    if (callee.function()->isKernel) {
      error(callee.place, "a kernel cannot be called");
      return;
    }
    formalResults = callee.function()->results;
    formalParameters = callee.function()->parameters;
    name = callee.function()->name;
  } else if (callee.kind == Operand::Kind::Register) {
    const Register &reg = fn.registers[callee.reg];
    if (!fits(module.addressSize == 64 ? Type::U64 : Type::U32, reg.type, false)) {
      error(callee.place, Twine("the function address '") + fn.registerName(callee.reg) +
                              "' has type " + nameOf(reg.type));
      return;
    }
    if (!prototype) {
      error(inst->place, "an indirect call needs a prototype");
      return;
    }
    const Prototype &p = fn.prototypes[prototype->prototype];
    formalResults = p.results;
    formalParameters = p.parameters;
    name = p.name;
  } else {
    error(callee.place, "expected a function or the address of one");
    return;
  }
  checkArguments(results ? results->elements() : ArrayRef<Operand>(), formalResults, "result", name,
                 results ? results->place : inst->place);
  checkArguments(arguments ? arguments->elements() : ArrayRef<Operand>(), formalParameters,
                 "argument", name, arguments ? arguments->place : inst->place);
}

bool Verifier::checkArguments(ArrayRef<Operand> actual, ArrayRef<const Variable *> formal,
                              StringRef what, StringRef callee, uint32_t place) {
  bool isResult = what == "result";
  if (actual.size() != formal.size())
    return error(place, "call of '" + Twine(callee) + "' has " + Twine(actual.size()) + " " + what +
                            "s, expected " + Twine(formal.size()));
  for (size_t i = 0; i < actual.size(); ++i) {
    const Operand &operand = actual[i];
    const Variable &parameter = *formal[i];
    auto mismatch = [&](const Twine &found) {
      return error(operand.place, what + " " + Twine(i + 1) + " of the call of '" + callee +
                                      "' is " + found + ", expected " + describe(parameter));
    };
    bool isScalar = parameter.elementCount == 1 && !parameter.incomplete;
    switch (operand.kind) {
    case Operand::Kind::Sink:
      if (!isResult)
        return mismatch("'_'");
      break;
    case Operand::Kind::Integer:
    case Operand::Kind::Float:
      if (isResult || !isScalar ||
          (operand.kind == Operand::Kind::Integer) == (classOf(parameter.type) == TypeClass::Float))
        return mismatch("a constant");
      break;
    case Operand::Kind::Register: {
      const Register &reg = fn.registers[operand.reg];
      if (operand.negated || !isScalar || !fits(parameter.type, reg.type, false))
        return mismatch(Twine("'") + fn.registerName(operand.reg) + "' of type " +
                        nameOf(reg.type));
      break;
    }
    case Operand::Kind::Variable: {
      const Variable &variable = *operand.variable();
      bool matches = variable.space == StateSpace::Param;
      if (parameter.incomplete)
        ; // takes anything. PTX ISA: variadic-functions
      else if (isScalar)
        matches &= variable.elementCount == 1 && fits(parameter.type, variable.type, false);
      else
        matches &= variable.sizeInBytes == parameter.sizeInBytes &&
                   variable.alignment == parameter.alignment;
      if (!matches || operand.offset)
        return mismatch("'" + variable.name + "', " + describe(variable));
      break;
    }
    default: // nothing else can be passed
      return mismatch("no register, constant or parameter");
    }
  }
  return true;
}

} // namespace

void verify(const Module &module, Function &fn, std::vector<Diagnostic> &diagnostics) {
  Verifier(module, fn, diagnostics).run();
}

} // namespace rubia::ptx
