// SPDX-License-Identifier: Apache-2.0
// Characters -> tokens. A dotted word is one token ("add.rn.ftz.f32", "%tid.x"), a directive or a
// loose modifier one that starts with a dot (".reg", ".shared::cta"). Tokens are offsets into the
// text; nothing is copied.
#pragma once

#include "ptx-frontend/lib/Characters.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace rubia::ptx {

struct Token {
  enum class Kind : uint8_t {
    End,
    Word,    // letter, _, $ or % first; dotted parts included
    Dot,     // .name
    Integer, // 12, 0x1F, 0b1, 017, with or without U
    Float,   // 1.5, 1e3, 0f3F800000, 0d...
    String,  // with its quotes
    Comma,
    Semicolon,
    Colon,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Equal,
    EqualEqual,
    NotEqual,
    At,
    Not,
    Tilde,
    Or,
    OrOr,
    And,
    AndAnd,
    Xor,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Question,
    Invalid, // no token starts here
    UnterminatedComment,
    UnterminatedString,
    Preprocessor, // a # line that changes the text (#define, #include ...)
  };
  Kind kind = Kind::End;
  bool startsLine = false; // a line break came before it
  uint32_t offset = 0, length = 0;

  uint32_t end() const { return offset + length; }
};

class Lexer {
public:
  /// `text` must be followed by a NUL character, as a std::string is.
  explicit Lexer(llvm::StringRef text) : begin(text.begin()), limit(text.end()), at(begin) {}

  Token next() { return next(at, at == begin); }
  /// Whether `c` stands right behind the last token; it is taken, without a token of its own.
  bool take(char c) {
    if (*at != c)
      return false;
    ++at;
    return true;
  }
  bool isAt(char c) const { return *at == c; }
  /// Takes " 12,", without tokens: a decimal number of up to nine digits and the comma behind it.
  std::optional<uint32_t> takeDecimal() {
    const char *first = at + (*at == ' '), *p = first;
    uint32_t value = 0;
    for (; is(*p, kDigit) && p - first < 9; ++p)
      value = value * 10 + uint32_t(*p - '0');
    const bool isOctal = *first == '0' && p - first > 1;
    if (p == first || isOctal || *p != ',')
      return std::nullopt;
    at = p + 1;
    return value;
  }
  /// Whether what stands right behind the last token ends an operand.
  bool isAtOperandEnd() const { return *at == ',' || *at == ';' || *at == ']' || *at == '}'; }
  uint32_t position() const { return uint32_t(at - begin); }

  /// next(), for where a register is likely: ", %r7" has one blank, and the word is short.
  Token nextOperand() {
    if (at[0] == ' ' && at[1] == '%' && is(at[2], kWordStart)) {
      const char *start = at + 1;
      if (unsigned length = shortLength(start + 1); length != kLong)
        return make(Token::Kind::Word, start, start + 1 + length, /*startsLine=*/false);
    }
    return next();
  }

private:
  static constexpr unsigned kLong = Chunk::kSize;
  const char *begin, *limit, *at;

  /// How many of sixteen characters are letters, digits, and dots before such. What a dot in the
  /// last place stands before is not known: it does not count.
  static unsigned wordLength(const char *p) {
    Chunk chunk(p);
    unsigned words = chunk.words();
    return unsigned(std::countr_one(words | (chunk.dots() & (words >> 1))));
  }
  /// The same where the word surely ends there; kLong if a closer look is needed.
  unsigned shortLength(const char *p) const {
    if (limit - p < Chunk::kSize)
      return kLong;
    unsigned length = wordLength(p);
    bool isLong = length >= Chunk::kSize - 1 || p[length] == ':'; // may be "::"
    return isLong ? kLong : length;
  }

  Token make(Token::Kind kind, const char *start, const char *end, bool startsLine) {
    at = end;
    return {kind, startsLine, uint32_t(start - begin), uint32_t(end - start)};
  }
  Token word(const char *start, bool startsLine);
  /// Apart, so that the frequent kinds need no registers for them.
  [[gnu::noinline]] Token longWord(const char *start, bool startsLine);
  [[gnu::noinline]] Token dotted(const char *start, bool startsLine);
  [[gnu::noinline]] Token number(const char *start, bool startsLine);
  [[gnu::noinline]] bool isBehindNumber(const char *p) const;
  Token next(const char *p, bool startsLine);
  [[gnu::noinline]] Token afterBlanks(const char *p, bool startsLine);
  [[gnu::noinline]] Token rare(const char *p, bool startsLine);
  Token afterComments(const char *p, bool startsLine);
  bool skipComment(const char *&p, bool &startsLine, Token &problem);
};

} // namespace rubia::ptx
