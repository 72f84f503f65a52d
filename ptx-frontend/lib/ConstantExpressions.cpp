// SPDX-License-Identifier: Apache-2.0
// Constant expressions: C's operators on 64-bit integers, with casts to .s64 and .u64, and floating
// point literals. `~` and `%` give .u64, comparisons and truth values .s64; where the manual leaves
// room, ptxas 13.0 was asked. PTX ISA: constants, constant-expressions.

#include "ptx-frontend/lib/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using llvm::StringRef;

namespace rubia::ptx {

using Kind = Token::Kind;

bool ModuleParser::parseConstant(Constant &value) {
  bool isAlone = (at(Kind::Integer) || at(Kind::Float)) && lexer.isAtOperandEnd(); // mostly
  return isAlone ? parseNumber(value) : parseTernary(value, 0);
}

bool ModuleParser::parseInteger(int64_t &value) {
  uint32_t place = token.offset;
  Constant constant;
  if (!parseConstant(constant))
    return false;
  if (constant.isFloat)
    return error(place, "expected an integer, found a floating point constant");
  value = int64_t(constant.bits);
  return true;
}

bool ModuleParser::parseTernary(Constant &value, unsigned depth) {
  if (depth > kMaxDepth)
    return errorHere("constant expression is nested too deeply");
  if (!parseBinary(value, 1, depth))
    return false;
  if (!at(Kind::Question))
    return true;
  uint32_t place = token.offset;
  advance();
  Constant yes, no;
  if (!parseTernary(yes, depth + 1) || !expect(Kind::Colon, "':'") || !parseTernary(no, depth + 1))
    return false;
  if (value.isFloat)
    return error(place, "a condition must be an integer");
  value = value.bits ? yes : no;
  return true;
}

static unsigned precedence(Kind kind) {
  switch (kind) {
  case Kind::OrOr:
    return 1;
  case Kind::AndAnd:
    return 2;
  case Kind::Or:
    return 3;
  case Kind::Xor:
    return 4;
  case Kind::And:
    return 5;
  case Kind::EqualEqual:
  case Kind::NotEqual:
    return 6;
  case Kind::Less:
  case Kind::LessEqual:
  case Kind::Greater:
  case Kind::GreaterEqual:
    return 7;
  case Kind::ShiftLeft:
  case Kind::ShiftRight:
    return 8;
  case Kind::Plus:
  case Kind::Minus:
    return 9;
  case Kind::Star:
  case Kind::Slash:
  case Kind::Percent:
    return 10;
  default: // no operator
    return 0;
  }
}

// Usual conversions: unsigned if either side is. Division by zero is the caller's error.
static uint64_t apply(Kind op, uint64_t a, uint64_t b, bool isUnsigned) {
  int64_t sa = int64_t(a), sb = int64_t(b);
  switch (op) {
  case Kind::OrOr:
    return a || b;
  case Kind::AndAnd:
    return a && b;
  case Kind::Or:
    return a | b;
  case Kind::Xor:
    return a ^ b;
  case Kind::And:
    return a & b;
  case Kind::EqualEqual:
    return a == b;
  case Kind::NotEqual:
    return a != b;
  case Kind::Less:
    return isUnsigned ? a < b : sa < sb;
  case Kind::LessEqual:
    return isUnsigned ? a <= b : sa <= sb;
  case Kind::Greater:
    return isUnsigned ? a > b : sa > sb;
  case Kind::GreaterEqual:
    return isUnsigned ? a >= b : sa >= sb;
  case Kind::ShiftLeft: // by 64 or more: as ptxas does
    return a << (b & 63);
  case Kind::ShiftRight:
    return isUnsigned ? a >> (b & 63) : uint64_t(sa >> (b & 63));
  case Kind::Plus:
    return a + b;
  case Kind::Minus:
    return a - b;
  case Kind::Star:
    return a * b;
  case Kind::Slash:
    if (!isUnsigned && sb == -1)
      return 0 - a; // INT64_MIN / -1 wraps
    return isUnsigned ? a / b : uint64_t(sa / sb);
  case Kind::Percent: // of .u64, always
    return a % b;
  default: // precedence() knows no others
    return 0;
  }
}

static double asDouble(const Constant &c) {
  if (c.isSingle)
    return double(llvm::bit_cast<float>(uint32_t(c.bits)));
  return llvm::bit_cast<double>(c.bits);
}

static std::optional<bool> compare(Kind op, double a, double b) {
  switch (op) {
  case Kind::EqualEqual:
    return a == b;
  case Kind::NotEqual:
    return a != b;
  case Kind::Less:
    return a < b;
  case Kind::LessEqual:
    return a <= b;
  case Kind::Greater:
    return a > b;
  case Kind::GreaterEqual:
    return a >= b;
  default: // no comparison
    return std::nullopt;
  }
}

bool ModuleParser::parseBinary(Constant &value, unsigned minPrecedence, unsigned depth) {
  if (depth > kMaxDepth)
    return errorHere("constant expression is nested too deeply");
  if (!parseUnary(value, depth))
    return false;
  while (true) {
    Kind op = token.kind;
    unsigned level = precedence(op);
    if (level < minPrecedence || level == 0)
      return true;
    uint32_t place = token.offset;
    advance();
    Constant right;
    if (!parseBinary(right, level + 1, depth + 1))
      return false;
    if (value.isFloat != right.isFloat)
      return error(place, "an operator takes two integers or two floating point constants");
    if (value.isFloat) {
      double a = asDouble(value), b = asDouble(right), r;
      if (std::optional<bool> truth = compare(op, a, b)) {
        value = {};
        value.bits = *truth;
        continue;
      }
      if (op == Kind::Plus)
        r = a + b;
      else if (op == Kind::Minus)
        r = a - b;
      else if (op == Kind::Star)
        r = a * b;
      else if (op == Kind::Slash && b != 0)
        r = a / b;
      else
        return error(place, "this operator takes integers");
      value.isSingle = false;
      value.bits = llvm::bit_cast<uint64_t>(r);
      continue;
    }
    if ((op == Kind::Slash || op == Kind::Percent) && right.bits == 0)
      return error(place, "division by zero");
    bool isShift = op == Kind::ShiftLeft || op == Kind::ShiftRight;
    bool isUnsigned = value.isUnsigned || (right.isUnsigned && !isShift);
    value.bits = apply(op, value.bits, right.bits, isUnsigned);
    bool isTruth = level <= 2 || level == 6 || level == 7;
    value.isUnsigned = !isTruth && (isUnsigned || op == Kind::Percent);
  }
}

bool ModuleParser::parseUnary(Constant &value, unsigned depth) {
  if (depth > kMaxDepth)
    return errorHere("constant expression is nested too deeply");
  Kind op = token.kind;
  uint32_t place = token.offset;
  switch (op) {
  case Kind::Plus:
  case Kind::Minus:
  case Kind::Tilde:
  case Kind::Not:
    advance();
    if (!parseUnary(value, depth + 1))
      return false;
    if (value.isFloat) {
      if (value.isSingle || (op != Kind::Minus && op != Kind::Plus))
        return error(place, "this operator takes integers");
      if (op == Kind::Minus)
        value.bits ^= 1ull << 63;
    } else if (op == Kind::Minus) {
      value.bits = 0 - value.bits;
    } else if (op == Kind::Tilde) {
      value.bits = ~value.bits;
      value.isUnsigned = true;
    } else if (op == Kind::Not) {
      value.bits = !value.bits;
      value.isUnsigned = false;
    }
    return true;
  case Kind::LeftParen: {
    advance();
    if (at(Kind::Dot)) { // a cast
      StringRef type = spell(token);
      if (type != ".s64" && type != ".u64")
        return expectedHere("'.s64' or '.u64'");
      advance();
      if (!expect(Kind::RightParen, "')'") || !parseUnary(value, depth + 1))
        return false;
      if (value.isFloat)
        return error(place, "a cast takes an integer");
      value.isUnsigned = type == ".u64";
      return true;
    }
    return parseTernary(value, depth + 1) && expect(Kind::RightParen, "')'");
  }
  case Kind::Word:
    if (spell(token) == "WARP_SZ") { // PTX ISA: the number of threads of a warp, 32
      advance();
      value = {};
      value.bits = 32;
      return true;
    }
    break;
  case Kind::Integer:
  case Kind::Float:
    return parseNumber(value);
  default:
    break;
  }
  return expectedHere("a constant");
}

bool ModuleParser::readNumber(Constant &value) {
  StringRef number = spell(token);
  value = {};
  if (at(Kind::Float)) {
    value.isFloat = true;
    bool isBits = number.size() > 2 && number[0] == '0' && !llvm::isDigit(number[1]) &&
                  number[1] != '.' && number[1] != 'e' && number[1] != 'E';
    if (isBits) {
      value.isSingle = number.size() == 10;
      (void)number.drop_front(2).getAsInteger(16, value.bits); // the lexer counted the digits
    } else {
      constexpr size_t kMaxLength = 1000; // the conversion takes the square of it
      if (number.size() > kMaxLength)
        return errorHere("floating point constant '" + number.take_front(40) +
                         "...' is longer than " + llvm::Twine(kMaxLength) + " characters");
      llvm::APFloat parsed(llvm::APFloat::IEEEdouble());
      auto status = parsed.convertFromString(number, llvm::APFloat::rmNearestTiesToEven);
      if (!status) {
        llvm::consumeError(status.takeError());
        return errorHere("malformed floating point constant '" + number.take_front(40) + "'");
      }
      if (parsed.isInfinity())
        return errorHere("floating point constant '" + number.take_front(40) +
                         "' does not fit into 64 bits");
      value.bits = parsed.bitcastToAPInt().getZExtValue();
    }
    return true;
  }
  if (number[0] != '0' && number.size() < 19 && llvm::isDigit(number.back())) {
    for (char c : number) // nearly always
      value.bits = value.bits * 10 + uint64_t(c - '0');
    return true;
  }
  bool isUnsigned = number.consume_back("U");
  unsigned radix = 10;
  if (number.consume_front("0x") || number.consume_front("0X"))
    radix = 16;
  else if (number.consume_front("0b") || number.consume_front("0B"))
    radix = 2;
  else if (number.size() > 1 && number[0] == '0')
    radix = 8;
  if (number.getAsInteger(radix, value.bits)) {
    if (radix == 8 && number.find_first_of("89") != StringRef::npos)
      return errorHere("malformed octal constant '" + number.take_front(40) + "'");
    if (number.empty())
      return errorHere("a constant without digits");
    return errorHere("integer constant '" + spell(token).take_front(40) +
                     "' does not fit into 64 bits");
  }
  value.isUnsigned = isUnsigned || value.bits > uint64_t(INT64_MAX);
  return true;
}

bool ModuleParser::parseNumber(Constant &value) {
  if (!readNumber(value))
    return false;
  advance();
  return true;
}

} // namespace rubia::ptx
