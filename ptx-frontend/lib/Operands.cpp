// Operands. PTX ISA: instruction-operands.

#include "ptx-frontend/lib/Parser.h"

using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx {

using Kind = Token::Kind;

static constexpr size_t kMaxOperands = 1024; // also of a list or vector; PTX needs about 256

bool ModuleParser::parseOperands(const MatchedSpelling &spelling) {
  if (spelling.call)
    return parseCallOperands();
  do {
    size_t index = operands.size();
    if (index == kMaxOperands)
      return errorHere("too many operands");
    // Nearly always; parseOperand would do the same.
    if (RegisterId reg = at(Kind::Word) && !spelling.labels ? registerOf(token) : kNone;
        reg != kNone) {
      Operand &operand = operands.add();
      operand.kind = Operand::Kind::Register;
      operand.reg = reg;
      operand.place = token.offset;
      advance();
      if (at(Kind::Or) && !parsePair(operand))
        return false;
      continue;
    }
    const OperandSlot *slot =
        index < spelling.expected.size() ? spelling.expected[index].slot : nullptr;
    if (!parseOperand(operands.add(), slot))
      return false;
  } while (take(Kind::Comma));
  return true;
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
  if (!at(Kind::Or) ||
      (operand.kind != Operand::Kind::Register && operand.kind != Operand::Kind::Sink &&
       operand.kind != Operand::Kind::Vector))
    return true;
  return parsePair(operand);
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
