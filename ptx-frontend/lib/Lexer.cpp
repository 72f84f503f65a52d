// SPDX-License-Identifier: Apache-2.0
// Lexical elements of PTX (PTX ISA: lexical-elements, constants). The first character tells what
// follows; runs of blanks and words are measured sixteen characters at a time (Characters.h).

#include "ptx-frontend/lib/Lexer.h"
#include <array>
#include <cstring>

namespace rubia::ptx {

namespace {
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

// At a character that begins a comment or a preprocessor line, if one does: behind it. True if it
// was one; `problem` is set for a comment that never ends and a line that cannot be skipped.
bool Lexer::skipComment(const char *&p, bool &startsLine, Token &problem) {
  if (p[0] == '/' && p[1] == '/') {
    const void *end = memchr(p, '\n', size_t(limit - p));
    p = end ? static_cast<const char *>(end) : limit;
    return true;
  }
  if (p[0] == '/' && p[1] == '*') {
    size_t end = llvm::StringRef(p, size_t(limit - p)).find("*/", 2);
    if (end == llvm::StringRef::npos) {
      problem = make(Token::Kind::UnterminatedComment, p, limit, startsLine);
      return false;
    }
    startsLine |= memchr(p, '\n', end) != nullptr;
    p += end + 2;
    return true;
  }
  if (!startsLine || (*p != '#' && (p[0] != '@' || p[1] != '@')))
    return false;
  // `# 12 "file"`, `#line` and `#pragma` change nothing; `@@DWARF` is PTX 1.x debug information.
  const void *found = memchr(p, '\n', size_t(limit - p));
  const char *end = found ? static_cast<const char *>(found) : limit;
  llvm::StringRef rest = llvm::StringRef(p, size_t(end - p)).drop_front(1).ltrim();
  if (*p == '#' && !rest.empty() && !is(rest[0], kDigit) && !rest.starts_with("line") &&
      !rest.starts_with("pragma")) {
    problem = make(Token::Kind::Preprocessor, p, end, true);
    return false;
  }
  p = end;
  return true;
}

// PTX ISA: integer-constants, floating-point-constants.
Token Lexer::number(const char *start, bool startsLine) {
  const char *p = start;
  if (is(*p, kDigit) && !is(p[1], kWord) && p[1] != '.')
    return make(Token::Kind::Integer, start, p + 1, startsLine);
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

inline Token Lexer::word(const char *start, bool startsLine) {
  const char *p = start + 1; // may be %
  unsigned length = shortLength(p);
  return length != kLong ? make(Token::Kind::Word, start, p + length, startsLine)
                         : longWord(start, startsLine);
}

// A run of letters and digits, and dotted parts.
Token Lexer::longWord(const char *start, bool startsLine) {
  const char *p = start + 1;
  unsigned length = kLong;
  for (; length >= Chunk::kSize - 1 && limit - p >= Chunk::kSize; p += length)
    length = wordLength(p);
  if (*p == ':' || limit - p < Chunk::kSize) // "::" belongs to dotted parts only
    p = start + 1;
  while (is(*p, kWord))
    ++p;
  while (*p == '.' && is(p[1], kWord))
    p = skipDottedPart(p + 1);
  return make(Token::Kind::Word, start, p, startsLine);
}

Token Lexer::dotted(const char *start, bool startsLine) {
  return make(Token::Kind::Dot, start, skipDottedPart(start + 1), startsLine);
}

namespace {
// What a token is by its first character, as far as that tells.
enum First : uint8_t { kRare, kStartsWord, kStartsNumber, kPercent, kStartsDot, kSingle };
struct FirstCharacter {
  First first = kRare;
  Token::Kind kind = Token::Kind::Invalid; // of a kSingle
};
constexpr std::array<FirstCharacter, 256> kFirst = [] {
  using Kind = Token::Kind;
  std::array<FirstCharacter, 256> table{};
  for (unsigned c = 0; c < 256; ++c)
    if (kClasses[c] & kWordStart)
      table[c].first = kStartsWord;
    else if (kClasses[c] & kDigit)
      table[c].first = kStartsNumber;
  table['%'].first = kPercent;
  table['.'].first = kStartsDot;
  constexpr struct {
    char c;
    Kind kind;
  } kSingles[] = {{',', Kind::Comma},      {';', Kind::Semicolon},   {':', Kind::Colon},
                  {'{', Kind::LeftBrace},  {'}', Kind::RightBrace},  {'(', Kind::LeftParen},
                  {')', Kind::RightParen}, {'[', Kind::LeftBracket}, {']', Kind::RightBracket},
                  {'~', Kind::Tilde},      {'^', Kind::Xor},         {'+', Kind::Plus},
                  {'-', Kind::Minus},      {'*', Kind::Star},        {'?', Kind::Question}};
  for (auto single : kSingles)
    table[uint8_t(single.c)] = {kSingle, single.kind};
  return table;
}();
} // namespace

// Whether the `%` at `p`, before a digit, is an operator, as in `(8)%5` and `WARP_SZ %5`; elsewhere
// `%5` is a name. PTX ISA: identifiers.
bool Lexer::isBehindNumber(const char *p) const {
  auto before = [&](const char *q) { return q > begin ? q[-1] : '\0'; };
  while (is(before(p), kBlank))
    --p;
  if (before(p) == ')')
    return true;
  const char *end = p;
  while (is(before(p), kWord))
    --p;
  return is(*p, kDigit) ? p < end && before(p) != '.'
                        : llvm::StringRef(p, size_t(end - p)) == "WARP_SZ";
}

// At a blank behind two others.
Token Lexer::afterBlanks(const char *p, bool startsLine) {
  while (is(*p, kBlank)) {
    if (limit - p < Chunk::kSize) {
      startsLine |= *p++ == '\n';
      continue;
    }
    Chunk chunk(p);
    unsigned count = unsigned(std::countr_one(chunk.blanks()));
    startsLine |= (chunk.newlines() & ((1u << count) - 1)) != 0;
    p += count;
  }
  return next(p, startsLine);
}

Token Lexer::next(const char *p, bool startsLine) {
  using Kind = Token::Kind;
  if (is(*p, kBlank)) { // mostly one or two at most
    startsLine |= *p == '\n';
    if (is(*++p, kBlank)) {
      startsLine |= *p == '\n';
      if (is(*++p, kBlank))
        return afterBlanks(p, startsLine);
    }
  }
  FirstCharacter first = kFirst[uint8_t(*p)];
  switch (first.first) {
  case kPercent:
    if (!is(p[1], kWordStart) && !(is(p[1], kDigit) && !isBehindNumber(p)))
      return make(Kind::Percent, p, p + 1, startsLine);
    [[fallthrough]];
  case kStartsWord:
    return word(p, startsLine);
  case kSingle:
    return make(first.kind, p, p + 1, startsLine);
  case kStartsNumber:
    return number(p, startsLine);
  case kStartsDot:
    if (is(p[1], kWordStart))
      return dotted(p, startsLine);
    if (is(p[1], kDigit))
      return number(p, startsLine);
    return make(Kind::Invalid, p, p + 1, startsLine);
  case kRare:
    break;
  }
  return rare(p, startsLine);
}

// Comments, then whatever follows them.
Token Lexer::afterComments(const char *p, bool startsLine) {
  Token problem;
  do
    for (; is(*p, kBlank); ++p)
      startsLine |= *p == '\n';
  while (skipComment(p, startsLine, problem));
  return problem.kind == Token::Kind::End ? next(p, startsLine) : problem;
}

// Comments, the tokens that may have two characters, strings, the end, and what is no token.
Token Lexer::rare(const char *p, bool startsLine) {
  using Kind = Token::Kind;
  if (*p == '/' || *p == '#' || *p == '@') {
    Token problem;
    if (skipComment(p, startsLine, problem))
      return afterComments(p, startsLine);
    if (problem.kind != Kind::End)
      return problem;
  }
  auto one = [&](Kind kind) { return make(kind, p, p + 1, startsLine); };
  auto oneOrTwo = [&](Kind single, char second, Kind both) {
    return p[1] == second ? make(both, p, p + 2, startsLine) : one(single);
  };
  const char *start = p;
  switch (*p) {
  case '\0':
    return p >= limit ? make(Kind::End, limit, limit, startsLine) : one(Kind::Invalid);
  case '"':
    for (++p; p < limit && *p != '"' && *p != '\n'; ++p)
      if (*p == '\\' && p + 1 < limit)
        ++p;
    return p < limit && *p == '"' ? make(Kind::String, start, p + 1, startsLine)
                                  : make(Kind::UnterminatedString, start, p, startsLine);
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
  case '|':
    return oneOrTwo(Kind::Or, '|', Kind::OrOr);
  case '&':
    return oneOrTwo(Kind::And, '&', Kind::AndAnd);
  case '@':
    return one(Kind::At);
  case '/':
    return one(Kind::Slash);
  }
  return one(Kind::Invalid);
}

} // namespace rubia::ptx
