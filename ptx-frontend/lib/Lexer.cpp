// Lexical elements of PTX (PTX ISA: lexical-elements, constants). One table lookup a character.

#include "ptx-frontend/lib/Lexer.h"
#include <array>
#include <cstring>

namespace rubia::ptx {

namespace {
enum CharacterClass : uint8_t { kBlank = 1, kWordStart = 2, kDigit = 4, kWord = 8, kHexDigit = 16 };

constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'})
    classes[uint8_t(c)] = kBlank;
  for (unsigned c = 'a'; c <= 'z'; ++c)
    classes[c] = classes[c - 'a' + 'A'] = kWordStart | kWord;
  for (char c : {'_', '$'})
    classes[uint8_t(c)] = kWordStart | kWord;
  for (unsigned c = '0'; c <= '9'; ++c)
    classes[c] = kDigit | kWord | kHexDigit;
  for (char c : {'a', 'b', 'c', 'd', 'e', 'f', 'A', 'B', 'C', 'D', 'E', 'F'})
    classes[uint8_t(c)] |= kHexDigit;
  return classes;
}();

bool is(char c, uint8_t classes) { return kClasses[uint8_t(c)] & classes; }

// `.name` parts; "::" may stand between two words (.L2::cache_hint, .shared::cta).
const char *skipDottedPart(const char *p) {
  while (true) {
    while (is(*p, kWord))
      ++p;
    if (p[0] != ':' || p[1] != ':' || !is(p[2], kWord))
      return p;
    p += 3;
  }
}
} // namespace

Token Lexer::make(Token::Kind kind, const char *start, const char *end, bool startsLine) {
  at = end;
  return {kind, startsLine, uint32_t(start - begin), uint32_t(end - start)};
}

// True if a token follows; false with `problem` set for a comment that never ends and for a
// preprocessor line that cannot be skipped.
bool Lexer::skipBlanks(bool &startsLine, Token &problem) {
  const char *p = at;
  while (true) {
    if (*p == ' ' || *p == '\t') {
      ++p;
    } else if (*p == '\n') {
      startsLine = true;
      ++p;
    } else if (is(*p, kBlank)) {
      ++p;
    } else if (p[0] == '/' && p[1] == '/') {
      const void *end = memchr(p, '\n', limit - p);
      p = end ? static_cast<const char *>(end) : limit;
    } else if (p[0] == '/' && p[1] == '*') {
      size_t end = llvm::StringRef(p, limit - p).find("*/", 2);
      if (end == llvm::StringRef::npos) {
        problem = make(Token::Kind::UnterminatedComment, p, limit, startsLine);
        return false;
      }
      startsLine |= memchr(p, '\n', end) != nullptr;
      p += end + 2;
    } else if (startsLine && (*p == '#' || (p[0] == '@' && p[1] == '@'))) {
      // `# 12 "file"`, `#line` and `#pragma` change nothing; `@@DWARF` is PTX 1.x debug
      // information.
      const void *found = memchr(p, '\n', limit - p);
      const char *end = found ? static_cast<const char *>(found) : limit;
      llvm::StringRef line = llvm::StringRef(p, end - p);
      llvm::StringRef rest = line.drop_front(1).ltrim();
      if (*p == '#' && !rest.empty() && !is(rest[0], kDigit) && !rest.starts_with("line") &&
          !rest.starts_with("pragma")) {
        problem = make(Token::Kind::Preprocessor, p, end, true);
        return false;
      }
      p = end;
    } else {
      at = p;
      return true;
    }
  }
}

// PTX ISA: integer-constants, floating-point-constants.
Token Lexer::number(const char *start, bool startsLine) {
  const char *p = start;
  if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
    p += 2;
    while (is(*p, kHexDigit))
      ++p;
  } else if (p[0] == '0' && (p[1] == 'b' || p[1] == 'B')) {
    p += 2;
    while (*p == '0' || *p == '1')
      ++p;
  } else if (p[0] == '0' && (p[1] == 'f' || p[1] == 'F' || p[1] == 'd' || p[1] == 'D')) {
    unsigned digits = p[1] == 'f' || p[1] == 'F' ? 8 : 16;
    p += 2;
    unsigned count = 0;
    while (is(*p, kHexDigit))
      ++p, ++count;
    return make(count == digits && !is(*p, kWord) ? Token::Kind::Float : Token::Kind::Invalid,
                start, p, startsLine);
  } else {
    while (is(*p, kDigit))
      ++p;
    bool isFloat = false;
    if (*p == '.' && !is(p[1], kWordStart)) {
      isFloat = true;
      ++p;
      while (is(*p, kDigit))
        ++p;
    }
    if (*p == 'e' || *p == 'E') {
      const char *exponent = p + 1 + (p[1] == '+' || p[1] == '-');
      if (is(*exponent, kDigit)) {
        isFloat = true;
        p = exponent;
        while (is(*p, kDigit))
          ++p;
      }
    }
    if (isFloat)
      return make(is(*p, kWord) ? Token::Kind::Invalid : Token::Kind::Float, start, p, startsLine);
  }
  if (*p == 'U')
    ++p;
  if (!is(*p, kWord))
    return make(Token::Kind::Integer, start, p, startsLine);
  while (is(*p, kWord))
    ++p;
  return make(Token::Kind::Invalid, start, p, startsLine);
}

Token Lexer::next() {
  using Kind = Token::Kind;
  bool startsLine = at == begin;
  Token problem;
  if (!skipBlanks(startsLine, problem))
    return problem;
  const char *p = at;
  char c = *p;
  if (is(c, kWordStart) || (c == '%' && is(p[1], kWordStart))) {
    ++p;
    while (is(*p, kWord))
      ++p;
    while (*p == '.' && is(p[1], kWord))
      p = skipDottedPart(p + 1);
    return make(Kind::Word, at, p, startsLine);
  }
  if (is(c, kDigit))
    return number(p, startsLine);
  auto one = [&](Kind kind) { return make(kind, p, p + 1, startsLine); };
  auto oneOrTwo = [&](Kind single, char second, Kind both) {
    return p[1] == second ? make(both, p, p + 2, startsLine) : one(single);
  };
  switch (c) {
  case '\0':
    return p >= limit ? make(Kind::End, limit, limit, startsLine) : one(Kind::Invalid);
  case '.':
    if (is(p[1], kWordStart))
      return make(Kind::Dot, p, skipDottedPart(p + 1), startsLine);
    return is(p[1], kDigit) ? number(p, startsLine) : one(Kind::Invalid);
  case '"':
    for (++p; p < limit && *p != '"' && *p != '\n'; ++p)
      if (*p == '\\' && p + 1 < limit)
        ++p;
    return p < limit && *p == '"' ? make(Kind::String, at, p + 1, startsLine)
                                  : make(Kind::UnterminatedString, at, p, startsLine);
  case ',':
    return one(Kind::Comma);
  case ';':
    return one(Kind::Semicolon);
  case ':':
    return one(Kind::Colon);
  case '{':
    return one(Kind::LeftBrace);
  case '}':
    return one(Kind::RightBrace);
  case '(':
    return one(Kind::LeftParen);
  case ')':
    return one(Kind::RightParen);
  case '[':
    return one(Kind::LeftBracket);
  case ']':
    return one(Kind::RightBracket);
  case '<':
    if (p[1] == '<')
      return make(Kind::ShiftLeft, p, p + 2, startsLine);
    return oneOrTwo(Kind::Less, '=', Kind::LessEqual);
  case '>':
    if (p[1] == '>')
      return make(Kind::ShiftRight, p, p + 2, startsLine);
    return oneOrTwo(Kind::Greater, '=', Kind::GreaterEqual);
  case '=':
    return oneOrTwo(Kind::Equal, '=', Kind::EqualEqual);
  case '!':
    return oneOrTwo(Kind::Not, '=', Kind::NotEqual);
  case '@':
    return one(Kind::At);
  case '~':
    return one(Kind::Tilde);
  case '|':
    return oneOrTwo(Kind::Or, '|', Kind::OrOr);
  case '&':
    return oneOrTwo(Kind::And, '&', Kind::AndAnd);
  case '^':
    return one(Kind::Xor);
  case '+':
    return one(Kind::Plus);
  case '-':
    return one(Kind::Minus);
  case '*':
    return one(Kind::Star);
  case '/':
    return one(Kind::Slash);
  case '%':
    return one(Kind::Percent);
  case '?':
    return one(Kind::Question);
  }
  return one(Kind::Invalid);
}

} // namespace rubia::ptx
