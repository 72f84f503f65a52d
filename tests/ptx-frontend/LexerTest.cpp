// SPDX-License-Identifier: Apache-2.0
// Characters -> tokens.

#include "ptx-frontend/lib/Lexer.h"
#include <gtest/gtest.h>

using namespace rubia::ptx;
using Kind = Token::Kind;

namespace {

// "word(add.u32) ,": kind letters and texts.
std::string lex(const std::string &text) {
  Lexer lexer{llvm::StringRef(text)};
  std::string out;
  while (true) {
    Token token = lexer.next();
    std::string spelled = text.substr(token.offset, token.length);
    out += out.empty() ? "" : " ";
    switch (token.kind) {
    case Kind::End:
      return out + "end";
    case Kind::Word:
      out += "word(" + spelled + ")";
      break;
    case Kind::Dot:
      out += "dot(" + spelled + ")";
      break;
    case Kind::Integer:
      out += "int(" + spelled + ")";
      break;
    case Kind::Float:
      out += "float(" + spelled + ")";
      break;
    case Kind::String:
      out += "string(" + spelled + ")";
      break;
    case Kind::Invalid:
      out += "invalid(" + spelled + ")";
      break;
    case Kind::UnterminatedComment:
      return out + "open comment";
    case Kind::UnterminatedString:
      return out + "open string";
    case Kind::Preprocessor:
      return out + "preprocessor(" + spelled + ")";
    default:
      out += spelled;
      break;
    }
  }
}

struct Case {
  const char *input, *tokens;
};

void check(std::initializer_list<Case> cases) {
  for (const Case &c : cases)
    EXPECT_EQ(lex(c.input), c.tokens) << c.input;
}

TEST(PtxLexer, KeepsDotsInsideWords) {
  check({{"add.rn.ftz.f32", "word(add.rn.ftz.f32) end"},
         {"%tid.x", "word(%tid.x) end"},
         {"ld.global.L2::128B.b32", "word(ld.global.L2::128B.b32) end"},
         {"$L__BB0_1:", "word($L__BB0_1) : end"},
         {"a.b:", "word(a.b) : end"},
         {"ld.shared::cta.u32 x", "word(ld.shared::cta.u32) word(x) end"},
         {"_Z3fooPf", "word(_Z3fooPf) end"}});
}

TEST(PtxLexer, CutsDirectivesAtEveryDot) {
  check({{".reg.b32 %r<10>;", "dot(.reg) dot(.b32) word(%r) < int(10) > ; end"},
         {".shared::cta .L2::cache_hint", "dot(.shared::cta) dot(.L2::cache_hint) end"},
         {". reg", "invalid(.) word(reg) end"}});
}

TEST(PtxLexer, ReadsNumbersOfAllKinds) {
  check({{"0 12 12U 0x1fU 0b101 017", "int(0) int(12) int(12U) int(0x1fU) int(0b101) int(017) end"},
         {"1.5 .5 1. 1e5 1.5e-3 2E+4",
          "float(1.5) float(.5) float(1.) float(1e5) float(1.5e-3) float(2E+4) end"},
         {"0f3F800000 0d3FF0000000000000 0F00000000",
          "float(0f3F800000) float(0d3FF0000000000000) float(0F00000000) end"},
         {"0f3F80000", "invalid(0f3F80000) end"},
         {"0f3F8000000", "invalid(0f3F8000000) end"},
         {"12abc", "invalid(12abc) end"},
         {"0d3FF", "invalid(0d3FF) end"}});
}

TEST(PtxLexer, TellsRemainderFromRegisters) {
  check({{"10 % 3", "int(10) % int(3) end"},
         {"10%3", "int(10) % int(3) end"},
         {"%r3", "word(%r3) end"}});
}

TEST(PtxLexer, JoinsTwoCharacterOperators) {
  check({{"<< >> <= >= == != && || < > = ! & |", "<< >> <= >= == != && || < > = ! & | end"},
         {"%r<3>", "word(%r) < int(3) > end"}});
}

TEST(PtxLexer, SkipsCommentsAndLineMarkers) {
  check({{"a // b\nc", "word(a) word(c) end"},
         {"a /* b\n * / */ c", "word(a) word(c) end"},
         {"# 12 \"file.cu\"\na", "word(a) end"},
         {"#line 4\na", "word(a) end"},
         {"a\n  @@DWARF .byte 1\nb", "word(a) word(b) end"},
         {"a // at the end", "word(a) end"},
         {"a /* b", "word(a) open comment"},
         {"#define x y\n", "preprocessor(#define x y)"}});
}

TEST(PtxLexer, ReadsStrings) {
  check({{"\"a b\" c", "string(\"a b\") word(c) end"},
         {"\"a \\\" b\"", "string(\"a \\\" b\") end"},
         {"\"a\n", "open string"},
         {"\"", "open string"}});
}

// Words are measured sixteen characters at a time: whatever stands at such a border is found.
TEST(PtxLexer, WordsOfAllLengths) {
  for (size_t length = 1; length <= 70; ++length)
    for (size_t dot = 0; dot < length; ++dot)
      for (const char *behind : {"", ".", ":", "::x", " .b", ";", ", %r7"}) {
        std::string word(length, 'a');
        if (dot)
          word[dot] = '.';
        std::string rest = behind;
        bool isDotted = dot && dot + 1 < length;
        std::string expected = dot + 1 == length && dot ? word.substr(0, dot) : word;
        if (isDotted && rest == "::x")
          expected += rest;
        std::string text = word + rest + std::string(32, ' ');
        for (const std::string &shown : {text, word + rest}) {
          Lexer lexer{llvm::StringRef(shown)};
          Token token = lexer.next();
          EXPECT_EQ(token.kind, Kind::Word) << shown;
          EXPECT_EQ(shown.substr(0, token.length), expected) << shown;
        }
      }
}

TEST(PtxLexer, NextOperandIsTheNextToken) {
  for (std::string text :
       {" %r7, 1", " %r7", "%r7;", "  %r7;", " 7;", " %5;", " %", " %tid.x;      ",
        " %laneid_of_a_long_name.x, %r1;   ", "\n%r7;", " %a::b;              ", ""}) {
    Lexer plain{llvm::StringRef(text)}, quick{llvm::StringRef(text)};
    Token expected = plain.next(), token = quick.nextOperand();
    EXPECT_EQ(token.kind, expected.kind) << text;
    EXPECT_EQ(token.offset, expected.offset) << text;
    EXPECT_EQ(token.length, expected.length) << text;
    EXPECT_EQ(quick.position(), plain.position()) << text;
  }
}

TEST(PtxLexer, RefusesOtherCharacters) {
  check({{"a ` b", "word(a) invalid(`) word(b) end"}, {"\x80", "invalid(\x80) end"}});
  EXPECT_EQ(lex(std::string("a\0b", 3)), std::string("word(a) invalid(\0) word(b) end", 30));
}

TEST(PtxLexer, MarksTheFirstTokenOfALine) {
  std::string text = "a b\n c /* \n */ d";
  Lexer lexer{llvm::StringRef(text)};
  EXPECT_TRUE(lexer.next().startsLine);
  EXPECT_FALSE(lexer.next().startsLine);
  EXPECT_TRUE(lexer.next().startsLine);
  EXPECT_TRUE(lexer.next().startsLine);
}

} // namespace
