// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/RegisterLimit.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/lib/Lexer.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace llvm;

namespace rubia::ptx {

static bool hasOwnLimit(const KernelAttributes &attributes) {
  const bool knowsThreads = attributes.maxThreads[0] || attributes.requiredThreads[0];
  return attributes.maxRegisters || (attributes.minBlocksPerMultiprocessor && knowsThreads);
}

// Where the body of a function begins: no bracket of its kind stands in a parameter list.
static std::optional<size_t> bodyOf(StringRef text, const Function &function) {
  Lexer lexer(text.drop_front(function.place));
  for (Token token = lexer.next(); token.kind != Token::Kind::End; token = lexer.next())
    if (token.kind == Token::Kind::LeftBrace)
      return function.place + token.offset;
  return std::nullopt;
}

std::string limitRegisters(const Module &module, unsigned limit) {
  const std::string &text = *module.text;
  if (!limit || limit > kMostRegisters)
    return text;
  const std::string directive = ".maxnreg " + std::to_string(limit) + " ";
  std::vector<size_t> places;
  for (const Function *function : module.functions)
    if (function->isKernel && function->hasBody && !hasOwnLimit(function->attributes))
      if (std::optional<size_t> body = bodyOf(text, *function))
        places.push_back(*body);
  std::sort(places.begin(), places.end());
  std::string limited;
  size_t from = 0;
  for (size_t place : places) {
    limited += text.substr(from, place - from) + directive;
    from = place;
  }
  return limited + text.substr(from);
}

std::string limitRegisters(std::string text, unsigned limit) {
  if (!limit || limit > kMostRegisters)
    return text;
  const ParseResult parsed = parse("", std::move(text));
  return parsed.usable ? limitRegisters(parsed.module, limit) : *parsed.module.text;
}

unsigned registerLimitOf(StringRef options) {
  SmallVector<StringRef> words;
  options.split(words, ' ', -1, /*KeepEmpty=*/false);
  unsigned limit = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i].ltrim('-');
    if (word.size() == words[i].size() || !word.consume_front("maxrregcount"))
      continue;
    StringRef value = word.consume_front("=") ? word : i + 1 < words.size() ? words[i + 1] : "";
    unsigned number;
    if (!value.getAsInteger(0, number))
      limit = number;
  }
  return limit;
}

} // namespace rubia::ptx
