// SPDX-License-Identifier: Apache-2.0
// .entry and .func: signature, attributes, body. PTX ISA: kernel-and-function-directives.

#include "ptx-frontend/lib/Parser.h"

using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx {

using Kind = Token::Kind;

// Parameters and results; in a prototype (fn is null) their names mean nothing.
bool ModuleParser::parseParameterList(llvm::SmallVectorImpl<const Variable *> &parameters,
                                      Function *fn, bool isKernel) {
  if (!expect(Kind::LeftParen, "'('"))
    return false;
  if (take(Kind::RightParen))
    return true;
  do {
    Declaration declaration;
    uint32_t place = token.offset;
    if (!parseDeclaration(declaration))
      return false;
    if (declaration.space != StateSpace::Param && (!declaration.isReg || isKernel))
      return error(place, isKernel ? "a kernel parameter is in '.param'"
                                   : "a parameter is in '.param' or '.reg'");
    Variable *variable = parseVariable(declaration, /*isParameter=*/true);
    if (!variable)
      return false;
    if (isKernel && variable->incomplete)
      return error(variable->place,
                   "parameter '" + Twine(variable->name) + "' of a kernel has no size");
    variable->isKernelParameter = isKernel;
    parameters.push_back(variable);
    if (!fn)
      continue;
    Name *name = names.intern(variable->name);
    Symbol symbol;
    if (declaration.isReg) {
      variable->reg = addRegisters(variable->name, declaration, 1, /*isNumbered=*/false);
      symbol.kind = Symbol::Kind::Register;
      symbol.index = variable->reg;
    } else {
      symbol.kind = Symbol::Kind::Variable;
      symbol.variable = variable;
    }
    if (variable->name != "_" && !declare(name, symbol, variable->place))
      return false;
  } while (take(Kind::Comma));
  return expect(Kind::RightParen, "',' or ')'");
}

bool sameSignature(llvm::ArrayRef<const Variable *> a, llvm::ArrayRef<const Variable *> b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i]->sizeInBytes != b[i]->sizeInBytes || a[i]->space != b[i]->space ||
        a[i]->incomplete != b[i]->incomplete)
      return false;
  return true;
}

bool ModuleParser::parseFunction(bool isKernel, Linkage linkage) {
  ++functionNumber;
  bool modulePlainNumbers = hasPlainNumbers;
  scopeParents.clear();
  scopes.clear();
  registers.clear();
  registerRanges.clear();
  pragmas.clear();
  pushScope(); // of the parameters

  Function header; // until the name is known
  header.isKernel = isKernel;
  header.linkage = linkage;
  current = &header;
  llvm::SmallVector<const Variable *, 8> results, parameters;
  bool fine = true;
  if (directive() == Directive::Attribute) {
    bool managed = false;
    uint32_t place = token.offset;
    fine = parseAttributeList(managed, header.unified);
    if (fine && managed)
      fine = error(place, "a function cannot be managed");
  }
  fine = fine && (isKernel || !at(Kind::LeftParen) || parseParameterList(results, &header, false));
  Token nameToken = token;
  fine = fine && expect(Kind::Word, "the name of a function");
  if (fine && spell(nameToken).contains('.'))
    fine = error(nameToken.offset,
                 "expected the name of a function, found '" + Twine(spell(nameToken)) + "'");
  if (!fine) {
    popScope();
    hasPlainNumbers = modulePlainNumbers;
    return false;
  }
  header.name = spell(nameToken);
  header.place = nameToken.offset;

  // The node of this name: the one of an earlier declaration, or a new one.
  Name *name = names.intern(header.name);
  Function *fn = nullptr;
  if (name->symbol.kind == Symbol::Kind::Function) {
    fn = name->symbol.function;
  } else {
    fn = new (storage.arena.Allocate<Function>()) Function(header);
    Symbol symbol;
    symbol.kind = Symbol::Kind::Function;
    symbol.function = fn;
    if (name->symbol.kind != Symbol::Kind::None) {
      error(nameToken.offset, "'" + Twine(header.name) + "' is declared twice");
    } else {
      name->symbol = symbol; // at depth 0, so that it outlives the parameters' scope
      module.functions.push_back(fn);
      storage.functionsByName[fn->name] = fn;
    }
  }
  bool known = fn->place != header.place; // declared before
  current = fn;
  if (at(Kind::LeftParen))
    fine = parseParameterList(parameters, fn, isKernel);
  // Names for the parameters of variables that were parsed for `header`.
  for (const Variable *result : results)
    const_cast<Variable *>(result)->function = fn;
  KernelAttributes attributes = fn->attributes;
  fine = fine && parseAttributes(*fn);
  bool hasBody = at(Kind::LeftBrace);
  if (fine && known) {
    if (fn->isKernel != isKernel || !sameSignature(fn->results, results) ||
        !sameSignature(fn->parameters, parameters))
      fine =
          error(header.place, "'" + Twine(header.name) + "' differs from its earlier declaration");
    else if (hasBody && fn->aliasOf)
      fine = error(header.place, "alias '" + Twine(header.name) + "' has a body");
    else if (hasBody && fn->hasBody) {
      // The first definition stays as it is.
      bool wasValid = fn->valid;
      error(header.place, "'" + Twine(header.name) + "' is defined twice");
      fn->valid = wasValid;
      fn->attributes = attributes;
      fine = false;
    }
  }
  if (!fine) {
    fn->valid = fn->valid && fn->hasBody && known;
    popScope();
    hasPlainNumbers = modulePlainNumbers;
    return false;
  }
  if (!known || hasBody) {
    fn->results = storage.copy<const Variable *>(results);
    fn->parameters = storage.copy<const Variable *>(parameters);
    fn->place = header.place;
    if (header.unified.given)
      fn->unified = header.unified;
    if (linkage != Linkage::Internal || !known)
      fn->linkage = linkage;
  }
  if (hasBody) {
    fn->hasBody = true;
    parseBody(*fn);
  }
  popScope();
  hasPlainNumbers = modulePlainNumbers;
  return hasBody || endDeclaration(isKernel);
}

// A declaration's `;`. nvcc left it out until CUDA 12, and ptxas takes a function without it.
bool ModuleParser::endDeclaration(bool isKernel) {
  if (!isKernel && (at(Kind::Dot) || at(Kind::End)))
    return true;
  return endStatement("function declaration");
}

bool ModuleParser::parseCount(uint32_t &value) {
  advance();
  uint32_t place = token.offset;
  int64_t count;
  if (!parseInteger(count))
    return false;
  if (count < 0 || count > INT32_MAX)
    return error(place, "a value from 0 to 2147483647 is expected");
  value = uint32_t(count);
  return true;
}

// `.maxntid 256`, `.maxntid 16, 16, 4`: dimensions that are not given are 1.
bool ModuleParser::parseTriple(uint32_t (&values)[3]) {
  values[0] = values[1] = values[2] = 1;
  if (!parseCount(values[0]))
    return false;
  for (int i = 1; i < 3 && at(Kind::Comma); ++i)
    if (!parseCount(values[i]))
      return false;
  return true;
}

// PTX ISA: performance-tuning-directives, cluster-dimension-directives.
bool ModuleParser::parseAttributes(Function &fn) {
  KernelAttributes &attributes = fn.attributes;
  while (at(Kind::Dot)) {
    switch (directive()) {
    case Directive::MaxNTid:
      if (!parseTriple(attributes.maxThreads))
        return false;
      break;
    case Directive::ReqNTid:
      if (!parseTriple(attributes.requiredThreads))
        return false;
      break;
    case Directive::MinNCtaPerSm:
      if (!parseCount(attributes.minBlocksPerMultiprocessor))
        return false;
      break;
    case Directive::MaxNCtaPerSm: // deprecated: a hint
      if (!parseCount(attributes.maxBlocksPerMultiprocessor))
        return false;
      break;
    case Directive::MaxNReg:
      if (!parseCount(attributes.maxRegisters))
        return false;
      if (!attributes.maxRegisters)
        return error(token.offset, "a limit of registers is more than 0");
      break;
    case Directive::NoReturn:
      advance();
      attributes.noReturn = true;
      break;
    case Directive::ReqNCtaPerCluster:
      if (!parseTriple(attributes.requiredCluster))
        return false;
      break;
    case Directive::ExplicitCluster:
      advance();
      attributes.explicitCluster = true;
      break;
    case Directive::BlocksAreClusters:
      advance();
      attributes.blocksAreClusters = true;
      break;
    case Directive::MaxClusterRank:
      if (!parseCount(attributes.maxClusterRank))
        return false;
      break;
    case Directive::AbiPreserve: // register allocation hints
      if (!parseCount(attributes.abiPreserve))
        return false;
      break;
    case Directive::AbiPreserveControl:
      if (!parseCount(attributes.abiPreserveControl))
        return false;
      break;
    case Directive::Pragma:
      if (!parsePragma(kNone))
        return false;
      break;
    default: // anything else belongs to variables; or the next statement begins, without a `;`
      if (!fn.isKernel && directive() != Directive::None)
        return true;
      return expectedHere("'{' or ';'");
    }
  }
  return true;
}

// ---------- Body

void ModuleParser::parseBody(Function &fn) {
  labels.clear();
  labelsByName.clear();
  labelReferences.clear();
  targetLists.clear();
  prototypes.clear();
  locals.clear();
  body.clear();
  sourceLine = kNone;

  uint32_t start = token.offset;
  advance();
  pushScope();
  size_t outermost = scopes.size();
  while (true) {
    braces = 0;
    if (at(Kind::LeftBrace)) {
      if (scopes.size() - outermost >= kMaxScopes) {
        errorHere("blocks are nested too deeply");
        skipBraces();
        continue;
      }
      advance();
      pushScope();
    } else if (at(Kind::RightBrace)) {
      advance();
      popScope();
      if (scopes.size() < outermost)
        break;
    } else if (at(Kind::End)) {
      error(start, "the body of '" + Twine(fn.name) + "' has no end");
      while (scopes.size() >= outermost)
        popScope();
      break;
    } else if (!parseStatement()) {
      skipStatement();
    }
  }
  finishBody(fn);
}

// Labels can be used before they are defined: now all are known.
void ModuleParser::finishBody(Function &fn) {
  for (const LabelReference &reference : labelReferences) {
    uint32_t scope = reference.scope;
    auto label = labelsByName.end();
    while (scope != kNone && label == labelsByName.end()) {
      label = labelsByName.find({reference.name, scope});
      scope = scopeParents[scope];
    }
    if (label == labelsByName.end())
      error(reference.place, "undefined label '" + Twine(reference.name->text()) + "'");
    else
      *reference.target = label->second;
  }
  fn.locals = storage.copy<const Variable *>(locals);
  fn.registers = storage.copy<Register>(registers);
  fn.registerRanges = storage.copy<RegisterRange>(registerRanges);
  fn.labels = storage.copy<Label>(labels);
  fn.prototypes = storage.copy<Prototype>(prototypes);
  fn.body = storage.copy<Instruction>(body);
  fn.pragmas = storage.copy<Pragma>(pragmas);
}

} // namespace rubia::ptx
