// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/lib/UnitText.h"
#include "ptx-frontend/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace rubia::ptx {

using Kind = Token::Kind;

Error UnitText::unexpected(size_t token) const {
  auto [line, column] = lineAndColumn(text, tokens[token].offset);
  return createStringError(inconvertibleErrorCode(), Twine(line) + ":" + Twine(column) +
                                                         ": cannot be linked: unexpected '" +
                                                         spell(token) + "'");
}

Expected<size_t> UnitText::closing(size_t open) const {
  int depth = 0;
  for (size_t i = open; tokens[i].kind != Kind::End; ++i)
    switch (tokens[i].kind) {
    case Kind::LeftBrace:
    case Kind::LeftParen:
    case Kind::LeftBracket:
      ++depth;
      break;
    case Kind::RightBrace:
    case Kind::RightParen:
    case Kind::RightBracket:
      if (--depth == 0)
        return i;
      break;
    default: // everything else stands inside or outside of brackets
      break;
    }
  return unexpected(open);
}

// After `.func` or `.entry`: [.attribute(..)] [(results)] name [(parameters)] directives ; or {}
Expected<Statement> UnitText::scanFunction(Statement statement, size_t at) const {
  statement.kind = Statement::Kind::Function;
  auto skipList = [&]() -> Error {
    Expected<size_t> end = closing(at);
    if (!end)
      return end.takeError();
    at = *end + 1;
    return Error::success();
  };
  if (is(at, ".attribute")) {
    ++at;
    if (Error error = skipList())
      return std::move(error);
  }
  if (tokens[at].kind == Kind::LeftParen)
    if (Error error = skipList())
      return std::move(error);
  if (tokens[at].kind != Kind::Word)
    return unexpected(at);
  statement.name = spell(at++);
  if (tokens[at].kind == Kind::LeftParen)
    if (Error error = skipList())
      return std::move(error);
  statement.signature = at - 1;
  while (tokens[at].kind != Kind::Semicolon && tokens[at].kind != Kind::LeftBrace) {
    if (tokens[at].kind == Kind::End)
      return unexpected(at);
    statement.isNoReturn |= is(at++, ".noreturn");
  }
  statement.hasBody = tokens[at].kind == Kind::LeftBrace;
  if (!statement.hasBody)
    return statement.last = at, statement;
  Expected<size_t> end = closing(at);
  if (!end)
    return end.takeError();
  statement.last = *end;
  return statement;
}

// [.align n] [.attribute(..)] type, then declarators.
Expected<Statement> UnitText::scanVariable(Statement statement, size_t at) const {
  statement.kind = Statement::Kind::Variable;
  for (; tokens[at].kind != Kind::Word; ++at)
    if (tokens[at].kind == Kind::LeftParen) {
      Expected<size_t> end = closing(at);
      if (!end)
        return end.takeError();
      at = *end;
    } else if (tokens[at].kind != Kind::Dot && tokens[at].kind != Kind::Integer) {
      return unexpected(at);
    }
  statement.prefix = at - 1;
  return scanDeclarator(statement, at);
}

// name [dimensions] [= initialiser], up to a `,` or `;`.
Expected<Statement> UnitText::scanDeclarator(Statement statement, size_t at) const {
  if (tokens[at].kind != Kind::Word)
    return unexpected(at);
  statement.name = spell(at);
  statement.declarator = statement.dimensions = at++;
  bool isInitialiser = false;
  for (; tokens[at].kind != Kind::Semicolon && tokens[at].kind != Kind::Comma; ++at) {
    if (tokens[at].kind == Kind::End)
      return unexpected(at);
    isInitialiser |= tokens[at].kind == Kind::Equal;
    if (tokens[at].kind == Kind::LeftParen || tokens[at].kind == Kind::LeftBrace ||
        tokens[at].kind == Kind::LeftBracket) {
      Expected<size_t> end = closing(at);
      if (!end)
        return end.takeError();
      at = *end;
    }
    if (!isInitialiser)
      statement.dimensions = at;
  }
  statement.last = at;
  return statement;
}

Expected<Statement> UnitText::scanStatement(size_t first) const {
  Statement statement;
  statement.first = statement.last = first;
  size_t at = first;
  auto upTo = [&](Statement::Kind kind, size_t last) {
    statement.kind = kind;
    statement.last = last;
    return statement;
  };
  // These end with their line, so each says how far it goes.
  if (is(at, ".version") || is(at, ".address_size"))
    return upTo(Statement::Kind::Header, at + 1);
  if (is(at, ".target")) {
    for (++at; tokens[at + 1].kind == Kind::Comma; at += 2)
      ;
    return upTo(Statement::Kind::Header, at);
  }
  if (is(at, ".file")) {
    for (at += 2; tokens[at + 1].kind == Kind::Comma; at += 2)
      ;
    return upTo(Statement::Kind::File, at);
  }
  if (is(at, ".section")) {
    for (; tokens[at].kind != Kind::LeftBrace; ++at)
      if (tokens[at].kind == Kind::End)
        return unexpected(first);
    Expected<size_t> end = closing(at);
    if (!end)
      return end.takeError();
    return upTo(Statement::Kind::Section, *end);
  }
  if (is(at, ".pragma") || is(at, ".alias")) {
    const bool isAlias = is(at, ".alias");
    while (tokens[at].kind != Kind::Semicolon)
      if (tokens[at++].kind == Kind::End)
        return unexpected(first);
    if (isAlias) {
      if (at != first + 4)
        return unexpected(first);
      statement.name = spell(first + 1);
      statement.target = spell(first + 3);
    }
    return upTo(isAlias ? Statement::Kind::Alias : Statement::Kind::Pragma, at);
  }
  static constexpr std::pair<StringLiteral, Linkage> kLinkages[] = {{".extern", Linkage::Extern},
                                                                    {".visible", Linkage::Visible},
                                                                    {".weak", Linkage::Weak},
                                                                    {".common", Linkage::Common}};
  for (const auto &[word, linkage] : kLinkages)
    if (is(at, word)) {
      statement.linkage = linkage;
      ++at;
      break;
    }
  statement.declaration = at;
  if (tokens[at].kind != Kind::Dot)
    return unexpected(at);
  if (is(at, ".func") || is(at, ".entry")) {
    statement.isKernel = is(at, ".entry");
    return scanFunction(statement, at + 1);
  }
  return scanVariable(statement, at + 1);
}

Expected<UnitText> UnitText::scan(StringRef text) {
  UnitText unit;
  unit.text = text;
  for (Lexer lexer(text);;) {
    unit.tokens.push_back(lexer.next());
    if (unit.tokens.back().kind == Kind::End)
      break;
  }
  // Statements look a few tokens ahead.
  for (int i = 0; i < 4; ++i)
    unit.tokens.push_back(unit.tokens.back());
  unit.lineStarts.push_back(0);
  for (size_t at = text.find('\n'); at != StringRef::npos; at = text.find('\n', at + 1))
    unit.lineStarts.push_back(uint32_t(at + 1));
  for (size_t at = 0; unit.tokens[at].kind != Kind::End;) {
    if (unit.tokens[at].kind == Kind::Semicolon) { // an empty one
      ++at;
      continue;
    }
    Expected<Statement> statement = unit.scanStatement(at);
    if (!statement)
      return statement.takeError();
    at = statement->last + 1;
    unit.statements.push_back(*statement);
    while (unit.tokens[at - 1].kind == Kind::Comma &&
           unit.statements.back().kind == Statement::Kind::Variable) {
      statement = unit.scanDeclarator(unit.statements.back(), at);
      if (!statement)
        return statement.takeError();
      at = statement->last + 1;
      unit.statements.push_back(*statement);
    }
  }
  return unit;
}

// `, function_name label [+ offset], inlined_at file line column`, behind the token `at`: its last
// token, or `at` where there is no such thing. The labels are in sections.
size_t UnitText::endOfInlined(size_t at) const {
  size_t end = at + 1;
  if (tokens[end].kind != Kind::Comma || !is(end + 1, "function_name"))
    return at;
  end += 2;
  end += tokens[end].kind == Kind::Dot || tokens[end].kind == Kind::Word;
  if (tokens[end].kind == Kind::Plus && tokens[end + 1].kind == Kind::Integer)
    end += 2;
  if (tokens[end].kind != Kind::Comma || !is(end + 1, "inlined_at"))
    return at;
  for (size_t number = end + 2; number < end + 5; ++number)
    if (tokens[number].kind != Kind::Integer)
      return at;
  return end + 4;
}

// `.loc file line column`, without what is inlined; what follows stays in its line. What the parser
// does not take stays as it is: it is an error of the linked text too.
void UnitText::printLocation(size_t &token, std::string &out) const {
  unsigned file = 0;
  if (tokens[token + 1].kind != Kind::Integer ||
      spell(token + 1).rtrim('U').getAsInteger(0, file) ||
      tokens[token + 2].kind != Kind::Integer || tokens[token + 3].kind != Kind::Integer) {
    out += spell(token);
    return;
  }
  out += ".loc " + std::to_string(firstFile + file) + " " + spell(token + 2).str() + " " +
         spell(token + 3).str();
  const size_t first = tokens[token].offset;
  token = endOfInlined(token + 3);
  out.append(text.slice(first, tokens[token].end()).count('\n'), '\n');
}

namespace {

/// Which words of a text are names. Statements of a body begin with an opcode, whatever symbols of
/// its name there are; and `.reg .b32 r<3>` declares r0 to r2, which hide other symbols.
class NameFinder {
public:
  using Tokens = ArrayRef<Token>;
  NameFinder(Tokens tokens, StringRef text) : tokens(tokens), text(text) {}

  /// Takes tokens one after the other. The part of this one that is a name; empty if none is.
  StringRef next(size_t i) {
    const Token &token = tokens[i];
    const bool isFirst = isStart;
    isStart = false;
    switch (token.kind) {
    case Kind::LeftBrace:
      isStart = isFirst || (braces.empty() && !isInitialiser);
      braces.push_back({isStart, ranges.size()});
      return {};
    case Kind::RightBrace:
      if (!braces.empty()) {
        isStart = braces.back().isBlock;
        ranges.resize(braces.back().ranges);
        braces.pop_back();
      }
      return {};
    case Kind::Semicolon:
    case Kind::Colon:
      isStart = !braces.empty() && braces.back().isBlock;
      return {};
    case Kind::Equal:
      isInitialiser |= braces.empty();
      return {};
    case Kind::At:
      isGuard = true;
      return {};
    case Kind::Word:
      return nameIn(i, isFirst);
    default: // nothing else changes what a word is
      return {};
    }
  }
  /// A `.loc`, which has no `;`, was passed over.
  void restart() { isStart = !braces.empty() && braces.back().isBlock; }

private:
  StringRef spell(size_t i) const { return text.substr(tokens[i].offset, tokens[i].length); }

  StringRef nameIn(size_t i, bool isFirst) {
    const StringRef word = spell(i);
    const StringRef name = word.take_until([](char c) { return c == '.'; }); // of `name.x`
    unsigned count = 0;
    if (std::exchange(isGuard, false))
      isStart = true; // the instruction follows
    else if (isFirst && tokens[i + 1].kind != Kind::Colon)
      return {};
    if (tokens[i + 1].kind == Kind::Less && tokens[i + 2].kind == Kind::Integer &&
        tokens[i + 3].kind == Kind::Greater && !spell(i + 2).rtrim('U').getAsInteger(0, count)) {
      ranges.push_back({word, count});
      return {};
    }
    if (word == "generic" && tokens[i + 1].kind == Kind::LeftParen)
      return {};
    return any_of(ranges, [&](const auto &range) { return isIn(name, range); }) ? StringRef()
                                                                                : name;
  }
  static bool isIn(StringRef name, const std::pair<StringRef, unsigned> &range) {
    unsigned number = 0;
    return name.consume_front(range.first) && !name.empty() &&
           (name.size() == 1 || name[0] != '0') && llvm::all_of(name, llvm::isDigit) &&
           !name.getAsInteger(10, number) && number < range.second;
  }

  struct Brace {
    bool isBlock; // else a vector or an initialiser
    size_t ranges;
  };
  Tokens tokens;
  StringRef text;
  SmallVector<Brace> braces;
  SmallVector<std::pair<StringRef, unsigned>> ranges;
  bool isStart = false, isGuard = false, isInitialiser = false;
};

} // namespace

std::string UnitText::print(size_t first, size_t last) const {
  std::string out;
  size_t behind = tokens[first].offset;
  NameFinder names(tokens, text);
  for (size_t i = first; i <= last; ++i) {
    out += text.slice(behind, tokens[i].offset);
    if (is(i, ".loc")) {
      printLocation(i, out);
      names.restart();
    } else {
      const StringRef name = names.next(i);
      if (!name.empty())
        out += newName(name);
      out += spell(i).drop_front(name.size());
    }
    behind = tokens[i].end();
  }
  return out;
}

std::string UnitText::printVariable(const Statement &statement, bool isDefinition) const {
  return print(statement.declaration, statement.prefix) + " " +
         print(statement.declarator, isDefinition ? statement.last - 1 : statement.dimensions) +
         ";";
}

unsigned UnitText::lineOf(size_t token) const {
  return unsigned(llvm::upper_bound(lineStarts, tokens[token].offset) - lineStarts.begin());
}

} // namespace rubia::ptx
