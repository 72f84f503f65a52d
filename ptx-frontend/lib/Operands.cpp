// SPDX-License-Identifier: Apache-2.0
// Operands. PTX ISA: instruction-operands.

#include "ptx-frontend/lib/Parser.h"

using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx {

using Kind = Token::Kind;

static constexpr size_t kMaxOperands = 1024; // also of a list or vector; PTX needs about 256

bool ModuleParser::parseOperands(const MatchedSpelling &spelling, bool &ended) {
  if (spelling.call)
    return parseCallOperands();
  for (size_t index = 0;; ++index) {
    if (index == kMaxOperands)
      return errorHere("too many operands");
    const OperandSlot *slot =
        index < spelling.expected.size() ? spelling.expected[index].slot : nullptr;
    // Nearly always; parseOperand would do the same.
    if (RegisterId reg = at(Kind::Word) && !spelling.labels ? registerOf(token) : kNone;
        reg != kNone) {
      Operand &operand = operands.add();
      operand.kind = Operand::Kind::Register;
      operand.reg = reg;
      operand.place = token.offset;
      if (takeBehind(',')) // nearly always one of the two
        continue;
      if (takeBehind(';'))
        return ended = true;
      advance();
      if (at(Kind::Or) && !parsePair(operand))
        return false;
      if (at(Kind::Plus) && !parseSum(operand, slot))
        return false;
    } else {
      operandBits = slot && slot->kind == OperandSlot::Kind::Value
                        ? sizeInBits(spelling.expected[index].type)
                        : 0;
      if (!parseOperand(operands.add(), slot))
        return false;
    }
    if (!take(Kind::Comma))
      return true;
  }
}

bool ModuleParser::parseOperand(Operand &operand, const OperandSlot *slot) {
  operand.place = token.offset;
  if (slot && slot->kind == OperandSlot::Kind::Label) {
    operand.kind = Operand::Kind::Label;
    operand.label = kNone; // until the end of the body
    pendingLabel = spell(token);
    return expect(Kind::Word, "a label");
  }
  if (slot && slot->kind == OperandSlot::Kind::LabelList) {
    StringRef word = spell(token);
    if (!expect(Kind::Word, "the name of a '.branchtargets' list"))
      return false;
    Name *name = names.find(word);
    if (!name || name->symbol.kind != Symbol::Kind::Targets)
      return error(operand.place, "undeclared list of branch targets '" + Twine(word) + "'");
    operand.kind = Operand::Kind::LabelList;
    operand.target = targetLists[name->symbol.index].data();
    operand.count = uint32_t(targetLists[name->symbol.index].size());
    return true;
  }
  if (at(Kind::LeftBracket))
    return parseAddress(operand);
  if (!parseScalar(operand))
    return false;
  if (slot && slot->kind == OperandSlot::Kind::Address &&
      text[previousEnd - 1] == ']') { // `x[2]` is `[x+8]`
    operand.kind = Operand::Kind::Address;
    return true;
  }
  if (at(Kind::Plus) && operand.kind == Operand::Kind::Register)
    return parseSum(operand, slot);
  if (!at(Kind::Or) ||
      (operand.kind != Operand::Kind::Register && operand.kind != Operand::Kind::Sink &&
       operand.kind != Operand::Kind::Vector))
    return true;
  return parsePair(operand);
}

// Adds `spelling result, sources` to the body, with a register that the text does not name.
bool ModuleParser::compute(StringRef spelling, Type type, llvm::ArrayRef<Operand> sources,
                           Operand &result) {
  uint32_t place = sources[0].place;
  const MatchedSpelling *matched = spellingOf(spelling, place);
  if (!matched)
    return false;
  if (registerBudget == 0)
    return error(place, "too many registers");
  --registerBudget;
  Declaration declaration;
  declaration.type = type;
  Operand made;
  made.place = place;
  made.reg = addRegisters("%computed", declaration, 1, /*isNumbered=*/false);
  llvm::SmallVector<Operand, 4> all{made};
  all.append(sources.begin(), sources.end());
  body.push_back({matched, Guard(), storage.copy<Operand>(all), place, sourceLine});
  result = made;
  return true;
}

static bool isInteger(Type type) {
  TypeClass c = classOf(type);
  return c == TypeClass::Bits || c == TypeClass::Unsigned || c == TypeClass::Signed;
}

// `%r1+4`, when %r1 was read: an integer register and a constant as a source. The manual has this
// in brackets only, ptxas takes it anywhere. It becomes an addition of its own before the
// instruction.
bool ModuleParser::parseSum(Operand &operand, const OperandSlot *slot) {
  if (slot && slot->destination)
    return errorHere("a constant cannot be added to this operand");
  uint32_t place = token.offset;
  Operand added;
  added.kind = Operand::Kind::Integer;
  int64_t constant;
  if (!parseInteger(constant))
    return false;
  added.bits = uint64_t(constant);
  const Register &reg = registers[operand.reg];
  unsigned bits = sizeInBits(reg.type);
  bool isWhole = reg.vectorWidth == 1 || operand.component != 0xff;
  if (!isInteger(reg.type) || !isWhole || bits < 16 || bits > 64 || operand.negated ||
      operand.selector != 0xff)
    return error(place, "a constant can be added to an integer register of 16, 32 or 64 bits only");
  return compute(bits == 16   ? "add.u16"
                 : bits == 32 ? "add.u32"
                              : "add.u64",
                 reg.type, {operand, added}, operand);
}

// `x[2]`, `x[%r1]`, `x[%r1+2]`, when the variable was read: the address of an element. As ptxas has
// it, an element of `.v4 .f32 x[8]` is an .f32, and 32-bit indices give unsigned offsets of 32
// bits. PTX ISA: arrays-as-operands.
bool ModuleParser::parseIndex(Operand &operand) {
  const Variable &variable = *operand.variable();
  uint32_t place = token.offset;
  int64_t width = sizeInBits(variable.type) / 8;
  advance();
  if (classOf(variable.type) == TypeClass::Opaque)
    return error(place, "'" + Twine(variable.name) + "' has no elements");
  if (at(Kind::Word) && !atWarpSize())
    return parseRegisterIndex(operand, uint64_t(width)) && expect(Kind::RightBracket, "']'");
  int64_t index;
  if (!parseInteger(index))
    return false;
  if (index > INT32_MAX / width || index < INT32_MIN / width)
    return error(place, "offset does not fit into 32 bits");
  operand.offset = int32_t(index * width);
  return expect(Kind::RightBracket, "']'");
}

bool ModuleParser::parseRegisterIndex(Operand &operand, uint64_t width) {
  Operand index, scale, base;
  index.place = token.offset;
  if (!parseName(index))
    return false;
  Type type = index.kind == Operand::Kind::Register ? registers[index.reg].type : Type::None;
  unsigned bits = sizeInBits(type);
  if (!isInteger(type) || bits < 16 || bits > 64)
    return error(index.place, "an index is a constant or an integer register of 16 to 64 bits");
  if (at(Kind::Plus) && !parseSum(index, nullptr))
    return false;
  scale.kind = Operand::Kind::Integer;
  scale.bits = width;
  if (bits == 16 && !compute("cvt.u32.u16", Type::U32, index, index))
    return false;
  bool isWide = bits == 64, isNarrow = !isWide && operandBits == 32;
  return compute(isWide ? "mul.lo.u64" : "mul.lo.u32", isWide ? Type::U64 : Type::U32,
                 {index, scale}, index) &&
         (isWide || isNarrow || compute("cvt.u64.u32", Type::U64, index, index)) &&
         compute(isNarrow ? "mov.u32" : "mov.u64", isNarrow ? Type::U32 : Type::U64, operand,
                 base) &&
         compute(isNarrow ? "add.u32" : "add.u64", isNarrow ? Type::U32 : Type::U64, {base, index},
                 operand);
}

// d|p, when d was read.
bool ModuleParser::parsePair(Operand &operand) {
  advance();
  Operand pair[2] = {operand, {}};
  pair[1].place = token.offset;
  if (!parseScalar(pair[1]))
    return false;
  operand = {};
  operand.kind = Operand::Kind::Pair;
  operand.place = pair[0].place;
  setElements(operand, pair);
  return true;
}

// Everything but addresses, labels and pairs.
bool ModuleParser::parseScalar(Operand &operand) {
  switch (token.kind) {
  case Kind::LeftBrace:
    return parseVector(operand);
  case Kind::Word:
    if (!atWarpSize())
      return parseName(operand);
    break;
  case Kind::Not: {
    Lexer saved = lexer; // `!%p`, not `!0`
    if (saved.next().kind != Kind::Word)
      break;
    advance();
    if (!parseName(operand))
      return false;
    if (operand.kind != Operand::Kind::Register || registers[operand.reg].type != Type::Pred)
      return error(operand.place, "'!' takes a predicate");
    operand.negated = true;
    return true;
  }
  case Kind::Minus: { // `-%r`, of vmad; not `-5`
    Lexer saved = lexer;
    Token word = saved.next();
    if (word.kind != Kind::Word || spell(word) == "WARP_SZ")
      break;
    advance();
    if (!parseName(operand))
      return false;
    if (operand.kind != Operand::Kind::Register || registers[operand.reg].type == Type::Pred)
      return error(operand.place, "'-' takes a number or a register of integers");
    operand.negated = true;
    return true;
  }
  case Kind::Integer:
  case Kind::Float:
  case Kind::Plus:
  case Kind::Tilde:
  case Kind::LeftParen:
    break;
  default:
    return expectedHere("an operand");
  }
  Constant constant;
  if (!parseConstant(constant))
    return false;
  operand.kind = constant.isFloat ? Operand::Kind::Float : Operand::Kind::Integer;
  operand.isSingle = constant.isSingle;
  operand.isUnsigned = constant.isUnsigned;
  operand.bits = constant.bits;
  return true;
}

bool ModuleParser::parseName(Operand &operand) {
  if (RegisterId reg = registerOf(token); reg != kNone) {
    operand.kind = Operand::Kind::Register;
    operand.reg = reg;
    advance();
    return true;
  }
  StringRef word = spell(token);
  if (word == "_") {
    operand.kind = Operand::Kind::Sink;
    advance();
    return true;
  }
  Resolved resolved = resolve(word);
  if (resolved.reg != kNone) {
    operand.kind = Operand::Kind::Register;
    operand.reg = resolved.reg;
    operand.component = resolved.component;
    advance();
    return true;
  }
  if (!resolved.symbol)
    return parseSelected(operand, word) || undeclared(token.offset, word);
  switch (resolved.symbol->kind) {
  case Symbol::Kind::Special:
    operand.kind = Operand::Kind::SpecialRegister;
    operand.special = resolved.symbol->special;
    operand.component = resolved.component;
    advance();
    return true;
  case Symbol::Kind::Variable:
    operand.kind = Operand::Kind::Variable;
    operand.target = resolved.symbol->variable;
    advance();
    if (at(Kind::LeftBracket))
      return parseIndex(operand);
    return !at(Kind::Plus) || parseOffset(operand.offset);
  case Symbol::Kind::Function:
    operand.kind = Operand::Kind::Function;
    operand.target = resolved.symbol->function;
    advance();
    return true;
  case Symbol::Kind::Prototype:
    operand.kind = Operand::Kind::Prototype;
    operand.prototype = resolved.symbol->index;
    advance();
    return true;
  case Symbol::Kind::Targets:
    return errorHere("a list of branch targets cannot stand here");
  case Symbol::Kind::None:
  case Symbol::Kind::Register: // handled above
    break;
  }
  return undeclared(token.offset, word);
}

// `%r1.b0`, `%r1.h10`, `%r1.b7610`. False, and nothing is taken, if `word` is no such thing.
bool ModuleParser::parseSelected(Operand &operand, StringRef word) {
  auto [base, selector] = word.rsplit('.');
  bool halves = selector.consume_front("h");
  if ((!halves && !selector.consume_front("b")) || selector.empty() || selector.size() > 4)
    return false;
  unsigned digits = 0;
  for (char c : selector) {
    if (c < '0' || c > '7')
      return false;
    digits = digits << 4 | unsigned(c - '0');
  }
  Resolved resolved = resolve(base);
  if (resolved.reg == kNone)
    return false;
  operand.kind = Operand::Kind::Register;
  operand.reg = resolved.reg;
  operand.component = resolved.component;
  operand.selector = uint8_t(selector.size() + (halves ? 8 : 0));
  operand.offset = int32_t(digits);
  advance();
  return true;
}

void ModuleParser::setElements(Operand &operand, llvm::ArrayRef<Operand> elements) {
  operand.target = storage.copy(elements).data();
  operand.count = uint32_t(elements.size());
}

// PTX ISA: addresses-as-operands. Offsets are 32 bits and signed, or an address of 32 bits.
bool ModuleParser::parseOffset(int32_t &offset) {
  uint32_t place = token.offset;
  int64_t value;
  if (!parseInteger(value))
    return false;
  if (module.addressSize == 32 ? value < INT32_MIN || value > UINT32_MAX : value != int32_t(value))
    return error(place, "offset does not fit into 32 bits");
  offset = int32_t(value);
  return true;
}

// [reg], [reg+4], [variable+4], [16], [base, {x, y}]. PTX ISA: addresses-as-operands.
bool ModuleParser::parseAddress(Operand &operand) {
  operand.kind = Operand::Kind::Address;
  advance();
  if (RegisterId reg = at(Kind::Word) ? registerOf(token) : kNone; reg != kNone) {
    operand.reg = reg;
    advance();
    if (at(Kind::Plus) && !parseOffset(operand.offset))
      return false;
  } else if (at(Kind::Word) && !atWarpSize()) {
    Resolved resolved = resolve(spell(token));
    if (resolved.reg != kNone) {
      operand.reg = resolved.reg;
      operand.component = resolved.component;
    } else if (!resolved.symbol) {
      return undeclared(token.offset, spell(token));
    } else if (resolved.symbol->kind == Symbol::Kind::Variable) {
      operand.target = resolved.symbol->variable;
    } else {
      return expectedHere("a register or variable as address");
    }
    advance();
    if (at(Kind::Plus) && !parseOffset(operand.offset))
      return false;
  } else if (!parseOffset(operand.offset)) {
    return false;
  }
  if (at(Kind::Comma)) {
    llvm::SmallVector<Operand, 8> elements{operand};
    while (take(Kind::Comma)) {
      if (elements.size() == kMaxOperands)
        return errorHere("too many elements");
      Operand &element = elements.emplace_back();
      element.place = token.offset;
      if (!parseScalar(element))
        return false;
    }
    operand = {};
    operand.kind = Operand::Kind::AddressList;
    operand.place = elements[0].place;
    setElements(operand, elements);
  }
  if (at(Kind::Minus))
    return errorHere("expected '+' or ']', found '-': a negative offset is written as '+-4'");
  if (!expect(Kind::RightBracket, "']'"))
    return false;
  if (at(Kind::Dot) && spell(token) == ".unified") {
    operand.unified = true;
    advance();
  }
  return true;
}

bool ModuleParser::parseVector(Operand &operand) {
  operand.kind = Operand::Kind::Vector;
  advance();
  ++braces;
  llvm::SmallVector<Operand, 8> elements;
  do {
    if (elements.size() == kMaxOperands)
      return errorHere("too many elements");
    Operand element{};
    element.place = token.offset;
    if (at(Kind::LeftBrace))
      return expectedHere("an element of the vector");
    if (!parseScalar(element))
      return false;
    elements.push_back(element);
  } while (take(Kind::Comma));
  if (!expect(Kind::RightBrace, "',' or '}'"))
    return false;
  --braces;
  if (elements.size() == 1) { // {%r1} is %r1, as ptxas has it
    operand = elements[0];
    operand.braced = true;
    return true;
  }
  setElements(operand, elements);
  return true;
}

// ---------- call (results), callee, (arguments), prototype

bool ModuleParser::parseOperandList(Operand &operand) {
  operand.kind = Operand::Kind::List;
  operand.place = token.offset;
  advance();
  llvm::SmallVector<Operand, 8> elements;
  if (!at(Kind::RightParen))
    do {
      if (elements.size() == kMaxOperands)
        return errorHere("too many arguments");
      Operand element{};
      element.place = token.offset;
      if (at(Kind::LeftBrace))
        return expectedHere("an argument");
      if (!parseScalar(element))
        return false;
      elements.push_back(element);
    } while (take(Kind::Comma));
  setElements(operand, elements);
  return expect(Kind::RightParen, "',' or ')'");
}

bool ModuleParser::parseCallOperands() {
  do {
    if (operands.size() == 4)
      return errorHere("too many operands of call");
    Operand &operand = operands.add();
    operand.place = token.offset;
    if (!at(Kind::LeftParen) && !at(Kind::Word))
      return expectedHere("a function, a register or a list");
    if (at(Kind::LeftParen) ? !parseOperandList(operand) : !parseName(operand))
      return false;
  } while (take(Kind::Comma));
  return true;
}

} // namespace rubia::ptx
