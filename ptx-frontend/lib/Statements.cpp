// SPDX-License-Identifier: Apache-2.0
// The statements of a body: directives, labels, instructions. PTX ISA: statements.

#include "ptx-frontend/lib/Parser.h"

using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx {

using Kind = Token::Kind;

bool ModuleParser::parseStatement() {
  if (at(Kind::Dot))
    return parseBodyDirective();
  if (at(Kind::Word))
    return parseInstruction(Guard());
  if (!at(Kind::At))
    return expectedHere("a statement");
  std::optional<Guard> guard = parseGuard();
  if (!guard)
    return false;
  if (!at(Kind::Word))
    return expectedHere("an instruction");
  return parseInstruction(*guard);
}

bool ModuleParser::parseBodyDirective() {
  switch (directive()) {
  case Directive::Reg:
    return parseRegisters();
  case Directive::Local:
  case Directive::Shared:
  case Directive::Param:
  case Directive::Global:
  case Directive::Const:
    return parseVariables(Linkage::Internal);
  case Directive::Loc:
    return parseLoc();
  case Directive::Pragma:
    return parsePragma(uint32_t(body.size()));
  default: // no other directive stands in a body
    return error(token.offset, "unexpected directive " + found());
  }
}

// `.loc 1 12 3`, `.loc 1 12 3, function_name $L__info_string0, inlined_at 1 40 5`.
// PTX ISA: debugging-directives-loc.
bool ModuleParser::parseLoc() {
  advance();
  auto parseNumberInto = [&](uint32_t &value) {
    if (!at(Kind::Integer))
      return expectedHere("a number");
    Constant constant;
    if (!parseNumber(constant))
      return false;
    value = uint32_t(std::min<uint64_t>(constant.bits, UINT32_MAX));
    return true;
  };
  SourceLine line;
  if (!parseNumberInto(line.file) || !parseNumberInto(line.line) || !parseNumberInto(line.column))
    return false;
  auto key = [](const SourceLine &line) {
    return (uint64_t(line.file) << 52) ^ (uint64_t(line.line) << 20) ^ line.column;
  };
  auto takeWord = [&](StringRef word) {
    if (!at(Kind::Word) || spell(token) != word)
      return expectedHere(("'" + word + "'").str());
    advance();
    return true;
  };
  // Both, or neither.
  if (take(Kind::Comma)) {
    if (!takeWord("function_name"))
      return false;
    line.inlinedFunction = spell(token);
    if (!take(Kind::Dot) && !expect(Kind::Word, "a label")) // or a section
      return false;
    if (at(Kind::Plus)) {
      advance();
      if (!parseNumberInto(line.inlinedFunctionOffset))
        return false;
    }
    SourceLine caller;
    if (!expect(Kind::Comma, "','") || !takeWord("inlined_at") || !parseNumberInto(caller.file) ||
        !parseNumberInto(caller.line) || !parseNumberInto(caller.column))
      return false;
    auto known = lastLine.find(key(caller));
    if (known != lastLine.end()) {
      line.inlinedAt = known->second;
    } else {
      line.inlinedAt = uint32_t(module.sourceLines.size());
      module.sourceLines.push_back(caller);
    }
  }
  sourceLine = uint32_t(module.sourceLines.size());
  lastLine[key(line)] = sourceLine;
  module.sourceLines.push_back(line);
  return true;
}

std::optional<Guard> ModuleParser::parseGuard() {
  advance();
  bool negated = take(Kind::Not);
  Token word = token;
  if (!expect(Kind::Word, "a predicate"))
    return std::nullopt;
  if (RegisterId reg = registerOf(word); reg != kNone)
    return Guard{reg, negated};
  Resolved resolved = resolve(spell(word));
  if (resolved.reg != kNone)
    return Guard{resolved.reg, negated};
  if (resolved.symbol)
    error(word.offset, "guard '" + Twine(spell(word)) + "' is no predicate register");
  else
    undeclared(word.offset, spell(word));
  return std::nullopt;
}

// ---------- Labels and what is written like one

bool ModuleParser::parseLabel(Token nameToken) {
  advance(); // the colon
  switch (directive()) {
  case Directive::CallPrototype:
    return parseCallPrototype(nameToken);
  case Directive::CallTargets:
    return parseCallTargets(nameToken);
  case Directive::BranchTargets:
    return parseBranchTargets(nameToken);
  default: // a label
    break;
  }
  StringRef word = spell(nameToken);
  if (word.contains('.'))
    return error(nameToken.offset, "expected a label, found '" + Twine(word) + "'");
  Name *name = names.intern(word);
  auto [entry, isNew] = labelsByName.try_emplace({name, scopeId()}, LabelId(labels.size()));
  if (!isNew) {
    error(nameToken.offset, "label '" + Twine(word) + "' is defined twice");
    return true; // what follows is another statement
  }
  labels.push_back({word, uint32_t(body.size())});
  return true;
}

// PTX ISA: kernel-and-function-directives-callprototype.
bool ModuleParser::parseCallPrototype(Token nameToken) {
  advance();
  llvm::SmallVector<const Variable *, 8> results, parameters;
  if (at(Kind::LeftParen) && !parseParameterList(results, nullptr, false))
    return false;
  if (!expect(Kind::Word, "'_'"))
    return false;
  if (at(Kind::LeftParen) && !parseParameterList(parameters, nullptr, false))
    return false;
  Function attributes; // .noreturn, .abi_preserve
  if (!parseAttributes(attributes))
    return false;
  Symbol symbol;
  symbol.kind = Symbol::Kind::Prototype;
  symbol.index = uint32_t(prototypes.size());
  if (!declare(names.intern(spell(nameToken)), symbol, nameToken.offset))
    return false;
  Prototype prototype;
  prototype.name = spell(nameToken);
  prototype.results = storage.copy<const Variable *>(results);
  prototype.parameters = storage.copy<const Variable *>(parameters);
  prototype.noReturn = attributes.attributes.noReturn;
  prototype.abiPreserve = attributes.attributes.abiPreserve;
  prototype.abiPreserveControl = attributes.attributes.abiPreserveControl;
  prototypes.push_back(prototype);
  return endStatement("'.callprototype'");
}

// PTX ISA: kernel-and-function-directives-calltargets. The signature is that of the targets.
bool ModuleParser::parseCallTargets(Token nameToken) {
  advance();
  llvm::SmallVector<const Function *, 8> targets;
  do {
    Token word = token;
    if (!expect(Kind::Word, "a function"))
      return false;
    Name *name = names.find(spell(word));
    if (!name || name->symbol.kind != Symbol::Kind::Function)
      return error(word.offset, "undeclared function '" + Twine(spell(word)) + "'");
    targets.push_back(name->symbol.function);
  } while (take(Kind::Comma));
  Symbol symbol;
  symbol.kind = Symbol::Kind::Prototype;
  symbol.index = uint32_t(prototypes.size());
  if (!declare(names.intern(spell(nameToken)), symbol, nameToken.offset))
    return false;
  Prototype prototype;
  prototype.name = spell(nameToken);
  prototype.results = targets[0]->results;
  prototype.parameters = targets[0]->parameters;
  prototype.targets = storage.copy<const Function *>(targets);
  prototype.isTargetList = true;
  prototypes.push_back(prototype);
  return endStatement("'.calltargets'");
}

// PTX ISA: control-flow-directives-branchtargets.
bool ModuleParser::parseBranchTargets(Token nameToken) {
  advance();
  llvm::SmallVector<std::pair<StringRef, uint32_t>, 16> words;
  do {
    Token word = token;
    if (!expect(Kind::Word, "a label"))
      return false;
    if (!take(Kind::Less)) {
      words.push_back({spell(word), word.offset});
      continue;
    }
    // `L<3>`: L0, L1, L2.
    Constant count; // a full expression would take the '>'
    if (!at(Kind::Integer))
      return expectedHere("a number of labels");
    if (!parseNumber(count) || !expect(Kind::Greater, "'>'"))
      return false;
    if (count.bits > registerBudget)
      return error(word.offset, "too many labels");
    registerBudget -= count.bits; // likewise bounded by the length of the text
    for (uint64_t i = 0; i < count.bits; ++i)
      words.push_back({storage.copy(StringRef((spell(word) + Twine(i)).str())), word.offset});
  } while (take(Kind::Comma));
  LabelId *ids = storage.arena.Allocate<LabelId>(words.size());
  for (auto [i, word] : llvm::enumerate(words)) {
    ids[i] = kNone;
    refer(ids[i], names.intern(word.first), word.second);
  }
  Symbol symbol;
  symbol.kind = Symbol::Kind::Targets;
  symbol.index = uint32_t(targetLists.size());
  if (!declare(names.intern(spell(nameToken)), symbol, nameToken.offset))
    return false;
  targetLists.push_back({ids, words.size()});
  return endStatement("'.branchtargets'");
}

void ModuleParser::refer(LabelId &label, Name *name, uint32_t place) {
  labelReferences.push_back({&label, name, scopeId(), place});
}

// ---------- Instructions

const MatchedSpelling *ModuleParser::spellingOf(StringRef word, uint32_t place) {
  if (word.size() > WordKey::kSize)
    return findSpelling(word, place);
  WordKey key = names.keyOf(word);
  if (const MatchedSpelling *spelling = spellings.find(key))
    return spelling;
  const MatchedSpelling *spelling = findSpelling(word, place);
  if (spelling)
    spellings.insert(key, spelling);
  return spelling;
}

const MatchedSpelling *ModuleParser::findSpelling(StringRef word, uint32_t place) {
  Name *name = names.intern(word);
  if (name->spelling)
    return name->spelling;
  if (name->rejectedIn != functionNumber) { // once a function and word
    if (name->rejectedIn == 0)
      if (MatchedSpelling *spelling = matchSpelling(name->text(), storage.arena)) {
        Version version{uint8_t(module.versionMajor), uint8_t(module.versionMinor)};
        addImpliedModifiers(*spelling, version, module.sm, storage.arena);
        return name->spelling = spelling;
      }
    std::string where =
        (current->isKernel ? " in kernel '" : " in function '") + shown(current->name) + "'";
    // A newer version may have what the table has not.
    error(place, explainMismatch(word, where), /*unsupported=*/isOfNewerVersion());
    name->rejectedIn = functionNumber;
  }
  current->valid = false;
  return nullptr;
}

bool ModuleParser::parseInstruction(Guard guard) {
  Token wordToken = token;
  advance();
  if (at(Kind::Colon) && guard.reg == kNone)
    return parseLabel(wordToken);
  StringRef word = spell(wordToken);
  if (at(Kind::LeftBracket) && word.ends_with(".const") && !parseConstantBank())
    return false;
  if (at(Kind::Dot)) { // `ld .global .u32`: legal, if rare
    std::string joined = word.str();
    for (; at(Kind::Dot); advance())
      joined += spell(token);
    word = storage.copy(StringRef(joined));
  }
  const MatchedSpelling *spelling = spellingOf(word, wordToken.offset);
  if (!spelling)
    return false;
  operands.begin();
  bool ended = false;
  if (!at(Kind::Semicolon) && !at(Kind::RightBrace) && !parseOperands(*spelling, ended))
    return false;
  if (!ended && !endStatement("instruction"))
    return false;
  Instruction &instruction = body.emplace_back(
      Instruction{spelling, guard, operands.finish(), wordToken.offset, sourceLine});
  if (spelling->labels)
    for (const Operand &operand : instruction.operands)
      if (operand.kind == Operand::Kind::Label) {
        Name *name = names.intern(pendingLabel);
        refer(const_cast<Operand &>(operand).label, name, operand.place);
      }
  return true;
}

} // namespace rubia::ptx
