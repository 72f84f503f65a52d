// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/lib/UnitText.h"
#include "ptx-frontend/Diagnostics.h"
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

// [.align n] [.attribute(..)] type name [dimensions] [= initialiser] ;
Expected<Statement> UnitText::scanVariable(Statement statement, size_t at) const {
  statement.kind = Statement::Kind::Variable;
  for (; tokens[at].kind != Kind::Semicolon; ++at) {
    if (tokens[at].kind == Kind::End || tokens[at].kind == Kind::Comma)
      return unexpected(at); // a comma: a second variable
    if (tokens[at].kind == Kind::Word && statement.name.empty())
      statement.name = spell(at);
    if (tokens[at].kind == Kind::LeftParen || tokens[at].kind == Kind::LeftBrace ||
        tokens[at].kind == Kind::LeftBracket) {
      Expected<size_t> end = closing(at);
      if (!end)
        return end.takeError();
      at = *end;
    }
  }
  if (statement.name.empty())
    return unexpected(at);
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

// `.loc file line column`, without what is inlined. What the parser does not take stays as it is:
// it is an error of the linked text too.
void UnitText::printLocation(size_t &token, std::string &out) const {
  unsigned file = 0;
  if (tokens[token + 1].kind != Kind::Integer ||
      spell(token + 1).rtrim('U').getAsInteger(0, file) ||
      tokens[token + 2].kind != Kind::Integer || tokens[token + 3].kind != Kind::Integer) {
    out += spell(token);
    return;
  }
  out += "\n.loc " + std::to_string(firstFile + file) + " " + spell(token + 2).str() + " " +
         spell(token + 3).str() + "\n";
  token = endOfInlined(token + 3);
}

std::string UnitText::print(size_t first, size_t last) const {
  std::string out;
  size_t behind = tokens[first].offset;
  for (size_t i = first; i <= last; ++i) {
    out += text.slice(behind, tokens[i].offset);
    if (is(i, ".loc"))
      printLocation(i, out);
    else if (tokens[i].kind == Kind::Word)
      out += newName(spell(i));
    else
      out += spell(i);
    behind = tokens[i].end();
  }
  return out;
}

} // namespace rubia::ptx
