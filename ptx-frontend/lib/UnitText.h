// SPDX-License-Identifier: Apache-2.0
// The statements of a translation unit at module scope, as places in its text, and that text with
// names changed. What the statements mean, the parser knows.
#pragma once

#include "ptx-frontend/Module.h"
#include "ptx-frontend/lib/Lexer.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <map>

namespace rubia::ptx {

struct Statement {
  enum class Kind : uint8_t { Header, File, Section, Pragma, Alias, Function, Variable };
  Kind kind;
  size_t first, last;     // tokens, the last included
  llvm::StringRef name;   // of a function or variable; what an alias stands for
  llvm::StringRef target; // of an alias
  Linkage linkage = Linkage::Internal;
  bool isKernel = false, hasBody = false, isNoReturn = false;
  size_t declaration = 0; // token after the linkage
  size_t prefix = 0;      // the last token before the first variable of a declaration
  size_t declarator = 0;  // token of a variable's name
  size_t dimensions = 0;  // the last token of a variable's name and dimensions
  size_t signature = 0;   // the last token of a function's parameters or name
};

class UnitText {
public:
  /// `text` stays alive. Fails where a statement has no end.
  static llvm::Expected<UnitText> scan(llvm::StringRef text);

  std::vector<Statement> statements;

  llvm::StringMap<std::string> renamed; // old name -> new name
  unsigned firstFile = 0;               // what is added to the numbers of files

  llvm::StringRef newName(llvm::StringRef name) const {
    auto found = renamed.find(name);
    return found == renamed.end() ? name : llvm::StringRef(found->second);
  }
  /// Tokens `first` to `last` as text, with new names and numbers of files.
  std::string print(size_t first, size_t last) const;
  /// A variable behind its linkage, with the initialiser or without.
  std::string printVariable(const Statement &statement, bool isDefinition) const;
  /// The line (from 1) that a token stands in.
  unsigned lineOf(size_t token) const;
  /// All words of a variable's declarator but its own name.
  template <typename Visit> void forEachWord(const Statement &statement, Visit visit) const {
    for (size_t i = statement.declarator; i <= statement.last; ++i)
      if (tokens[i].kind == Token::Kind::Word && spell(i) != statement.name)
        visit(spell(i));
  }

private:
  llvm::StringRef spell(size_t token) const {
    return text.substr(tokens[token].offset, tokens[token].length);
  }
  bool is(size_t token, llvm::StringRef word) const { return spell(token) == word; }
  llvm::Expected<Statement> scanStatement(size_t first) const;
  llvm::Expected<Statement> scanFunction(Statement statement, size_t at) const;
  llvm::Expected<Statement> scanVariable(Statement statement, size_t at) const;
  llvm::Expected<Statement> scanDeclarator(Statement statement, size_t at) const;
  /// The token of the bracket that closes the one at `open`.
  llvm::Expected<size_t> closing(size_t open) const;
  llvm::Error unexpected(size_t token) const;
  size_t endOfInlined(size_t at) const;
  void printLocation(size_t &token, std::string &out) const;

  llvm::StringRef text;
  std::vector<Token> tokens;        // the last is End
  std::vector<uint32_t> lineStarts; // offsets
};

} // namespace rubia::ptx
