// SPDX-License-Identifier: Apache-2.0
// Names and scopes. A name's present meaning is in its Name; a scope remembers what it hid.
// `.reg .b32 %r<10>` is one entry under "%r": "%r7" is looked up as "%r" and 7. PTX ISA:
// parameterized-variable-names.

#include "ptx-frontend/lib/Parser.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace rubia::ptx {

void ModuleParser::pushScope() {
  uint32_t id = uint32_t(scopeParents.size());
  scopeParents.push_back(scopes.empty() ? kNone : scopeId());
  scopes.push_back({id, symbolLog.size(), rangeLog.size()});
}

void ModuleParser::popScope() {
  Scope scope = scopes.back();
  scopes.pop_back();
  for (; symbolLog.size() > scope.symbols; symbolLog.pop_back())
    symbolLog.back().name->symbol = symbolLog.back().old;
  for (; rangeLog.size() > scope.ranges; rangeLog.pop_back())
    rangeLog.back().name->range = rangeLog.back().old;
}

bool ModuleParser::declare(Name *name, const Symbol &symbol, uint32_t place) {
  StringRef word = name->text();
  if (name->symbol.kind != Symbol::Kind::None && name->symbol.depth == depth())
    return error(place, "'" + word + "' is declared twice");
  if (word.size() > 1 && llvm::isDigit(word.back())) {
    Resolved old = resolvePlain(word);
    if (!old.symbol && old.reg != kNone) {
      size_t prefix = word.size();
      while (llvm::isDigit(word[prefix - 1]))
        --prefix;
      Name *range = names.find(word.take_front(prefix));
      if (range && range->range.count && range->range.depth == depth())
        return error(place, "'" + word + "' is declared twice: it is one of '" + range->text() +
                                "<" + llvm::Twine(range->range.count) + ">'");
    }
    hasPlainNumbers |= word[0] == '%';
  }
  if (depth())
    symbolLog.push_back({name, name->symbol});
  name->symbol = symbol;
  name->symbol.depth = depth();
  return true;
}

RegisterId ModuleParser::addRegisters(StringRef name, const Declaration &declaration,
                                      uint32_t count, bool isNumbered) {
  RegisterId first = RegisterId(registers.size());
  registerRanges.push_back({name, first, count, isNumbered});
  registers.resize(first + count, {declaration.type, declaration.vectorWidth});
  return first;
}

bool ModuleParser::declareRange(Name *name, const Declaration &declaration, uint64_t count,
                                uint32_t place) {
  StringRef prefix = name->text();
  if (name->range.count && name->range.depth == depth())
    return error(place,
                 "'" + prefix + "<" + llvm::Twine(name->range.count) + ">' is declared already");
  if (count > registerBudget)
    return error(place, "too many registers");
  registerBudget -= count;
  hasPlainNumbers |= llvm::isDigit(prefix.back());
  hasOtherRanges |= prefix[0] != '%';
  rangeLog.push_back({name, name->range});
  // `%r<3>` inside a scope of `%r<10>` hides only %r0 to %r2.
  const RangeSymbol *outer = nullptr;
  if (name->range.count)
    outer = new (storage.arena.Allocate<RangeSymbol>()) RangeSymbol(name->range);
  name->range = {uint32_t(count), uint32_t(registers.size()), depth(), outer};

  addRegisters(prefix, declaration, uint32_t(count), /*isNumbered=*/true);
  return true;
}

// The register that the innermost range of this name gives the number, or kNone.
RegisterId ModuleParser::numbered(const Name *name, uint64_t number, uint32_t *depth) {
  if (!name || !name->range.count)
    return kNone;
  const RangeSymbol *range = &name->range;
  while (range && number >= range->count)
    range = range->outer;
  if (!range)
    return kNone;
  if (depth)
    *depth = range->depth;
  return range->first + RegisterId(number);
}

ModuleParser::Resolved ModuleParser::resolvePlain(StringRef word) {
  Resolved result;
  int64_t bestDepth = -1;
  if (Name *name = names.find(word); name && name->symbol.kind != Symbol::Kind::None) {
    result.symbol = &name->symbol;
    bestDepth = name->symbol.depth;
    if (name->symbol.kind == Symbol::Kind::Register)
      result.reg = name->symbol.index;
    result.component = name->symbol.component;
  }
  if (word[0] != '%' && !hasOtherRanges)
    return result;
  // "a12" can be register 12 of `a<20>` or 2 of `a1<3>`.
  size_t prefix = word.size();
  while (prefix > 1 && llvm::isDigit(word[prefix - 1]) && word.size() - prefix < 9)
    --prefix;
  for (; prefix < word.size(); ++prefix) {
    uint64_t number = 0;
    for (char c : word.drop_front(prefix))
      number = number * 10 + uint64_t(c - '0');
    uint32_t depth = 0;
    RegisterId reg = numbered(names.find(word.take_front(prefix)), number, &depth);
    if (reg == kNone || int64_t(depth) <= bestDepth)
      continue;
    bestDepth = depth;
    result = {};
    result.reg = reg;
  }
  return result;
}

// Also takes "v.x": a component of a vector register.
ModuleParser::Resolved ModuleParser::resolve(StringRef word) {
  Resolved result = resolvePlain(word);
  if (result.symbol || result.reg != kNone)
    return result;
  auto [base, component] = word.rsplit('.');
  if (component.size() != 1)
    return result;
  size_t index = StringRef("xyzwrgba").find(component[0]);
  if (index == StringRef::npos)
    return result;
  if (index >= 4) // `%tid.r` is `%tid.x`
    if (Resolved special =
            resolvePlain((base + "." + StringRef("xyzw").substr(index % 4, 1)).str());
        special.symbol && special.symbol->kind == Symbol::Kind::Special)
      return special;
  Resolved vector = resolvePlain(base);
  if (vector.reg == kNone || registers[vector.reg].vectorWidth <= index % 4)
    return result;
  vector.component = uint8_t(index % 4);
  return vector;
}

// What two spellings have in common that a person mixes up: "%warpsize" and "WARP_SZ".
static std::string lettersOf(StringRef word) {
  std::string letters;
  for (char c : word)
    if (c != '%' && c != '_' && c != '.')
      letters += llvm::toLower(c);
  return letters;
}

// The name that is visible here and differs least.
std::string ModuleParser::nearestName(StringRef word) {
  constexpr size_t kShortest = 4, kLongest = 60;
  constexpr StringRef kDigits = "0123456789";
  llvm::ArrayRef<Name *> all = names.all();
  if (word.size() < kShortest || word.size() > kLongest || all.size() > comparisonBudget)
    return "";
  comparisonBudget -= all.size();
  std::string letters = lettersOf(word);
  unsigned best = letters.size() < 6 ? 2 : 3; // more than is near
  StringRef result;
  auto compare = [&](StringRef candidate) {
    if (candidate.size() > word.size() + 4 || candidate.size() + 4 < word.size() ||
        candidate.rtrim(kDigits) == word.rtrim(kDigits)) // another number
      return;
    unsigned distance =
        StringRef(letters).edit_distance(lettersOf(candidate), /*AllowReplacements=*/true, best);
    if (distance < best || (distance == best && !result.empty() && candidate < result)) {
      best = distance;
      result = candidate;
    }
  };
  for (const Name *name : all)
    if (name && name->symbol.kind != Symbol::Kind::None)
      compare(name->text());
  compare("WARP_SZ");
  return result.str();
}

bool ModuleParser::undeclared(uint32_t place, StringRef word) {
  size_t prefix = word.size();
  while (prefix > 1 && llvm::isDigit(word[prefix - 1]))
    --prefix;
  std::string message = ("undeclared name '" + word + "'").str();
  if (word.starts_with("%"))
    message = ("undeclared register '" + word + "'").str();
  Name *name = names.find(word.take_front(prefix));
  if (prefix != word.size() && name && name->range.count)
    message +=
        (": '.reg' declares '" + name->text() + "<" + llvm::Twine(name->range.count) + ">'").str();
  else if (std::string near = nearestName(word); !near.empty())
    message += ", did you mean '" + near + "'?";
  return error(place, message);
}

} // namespace rubia::ptx
