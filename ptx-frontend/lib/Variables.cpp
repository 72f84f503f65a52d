// SPDX-License-Identifier: Apache-2.0
// Declarations of variables and registers. PTX ISA: variables, state-spaces.

#include "ptx-frontend/lib/Parser.h"
#include "ptx-frontend/lib/TypeNames.h"

using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx::Mod {
extern const Modifier V2, V4;
} // namespace rubia::ptx::Mod

namespace rubia::ptx {

using Kind = Token::Kind;

bool ModuleParser::parseAlignment(uint64_t &alignment) {
  advance();
  uint32_t place = token.offset;
  int64_t value;
  if (!parseInteger(value))
    return false;
  if (value < 1 || value > (1 << 20) || (value & (value - 1)))
    return error(place, "an alignment is a power of two up to 2^20");
  alignment = uint64_t(value);
  return true;
}

// PTX ISA: variable-and-function-attribute-directive-attribute.
bool ModuleParser::parseAttributeList(bool &managed, UnifiedId &unified) {
  advance();
  if (!expect(Kind::LeftParen, "'('"))
    return false;
  do {
    switch (directive()) {
    case Directive::Managed:
      advance();
      managed = true;
      break;
    case Directive::Unified: {
      advance();
      int64_t first, second;
      if (!expect(Kind::LeftParen, "'('") || !parseInteger(first) || !expect(Kind::Comma, "','") ||
          !parseInteger(second) || !expect(Kind::RightParen, "')'"))
        return false;
      unified = {uint64_t(first), uint64_t(second), true};
      break;
    }
    default: // PTX has no others
      return expectedHere("an attribute");
    }
  } while (take(Kind::Comma));
  return expect(Kind::RightParen, "')'");
}

static StateSpace spaceOf(Directive directive) {
  switch (directive) {
  case Directive::Global:
    return StateSpace::Global;
  case Directive::Const:
    return StateSpace::Const;
  case Directive::Shared:
    return StateSpace::Shared;
  case Directive::Local:
    return StateSpace::Local;
  case Directive::Param:
    return StateSpace::Param;
  case Directive::Reg:
    return StateSpace::Reg;
  case Directive::Tex:
    return StateSpace::Tex;
  default: // no state space
    return StateSpace::None;
  }
}

// `[0]` behind `.const`: the bank that all variables are in. PTX ISA: constant-state-space, which
// had eleven up to PTX 2.1; ptxas knows this one only.
bool ModuleParser::parseConstantBank() {
  uint32_t place = token.offset;
  advance();
  int64_t bank;
  if (!parseInteger(bank) || !expect(Kind::RightBracket, "']'"))
    return false;
  if (bank != 0)
    return error(place, "unsupported: constant banks", /*unsupported=*/true);
  if (std::pair(module.versionMajor, module.versionMinor) >= std::pair(2u, 2u))
    return error(place, "constant banks are not available since PTX 2.2");
  return true;
}

// From the state space to the type: `.param .align 8 .b8`, `.param .u64 .ptr .global .align 16`,
// `.reg .v2 .f32`.
bool ModuleParser::parseDeclaration(Declaration &declaration) {
  declaration.space = spaceOf(directive());
  declaration.isReg = declaration.space == StateSpace::Reg;
  if (declaration.space == StateSpace::None)
    return expectedHere("a state space");
  uint32_t place = token.offset;
  advance();
  if (declaration.space == StateSpace::Const && at(Kind::LeftBracket) && !parseConstantBank())
    return false;
  while (at(Kind::Dot)) {
    Name *name = names.find(spell(token));
    if (name && name->directive == Directive::Align) {
      uint64_t &alignment = declaration.alignment;
      if (!parseAlignment(alignment))
        return false;
      continue;
    }
    if (name && name->directive == Directive::Attribute) {
      if (!parseAttributeList(declaration.managed, declaration.unified))
        return false;
      continue;
    }
    if (name && name->directive == Directive::Ptr) {
      // PTX ISA: kernel-function-parameter-attributes. What follows is about the pointee.
      declaration.isPointer = true;
      advance();
      while (at(Kind::Dot)) {
        if (directive() == Directive::Align) {
          uint64_t alignment;
          if (!parseAlignment(alignment))
            return false;
          declaration.pointerAlignment = uint32_t(alignment);
        } else if (StateSpace space = spaceOf(directive()); space != StateSpace::None) {
          declaration.pointerSpace = space;
          advance();
        } else {
          return expectedHere("a state space or '.align'");
        }
      }
      break;
    }
    if (name && (name->mod == Mod::V2 || name->mod == Mod::V4)) {
      declaration.vectorWidth = name->mod == Mod::V2 ? 2 : 4;
    } else if (name && typeOf(name->mod) != Type::None && declaration.type == Type::None) {
      declaration.type = typeOf(name->mod);
    } else if (name && name->directive == Directive::TexRef) {
      declaration.type = Type::TexRef;
    } else if (name && name->directive == Directive::SamplerRef) {
      declaration.type = Type::SamplerRef;
    } else if (name && name->directive == Directive::SurfRef) {
      declaration.type = Type::SurfRef;
    } else {
      return expectedHere("a type");
    }
    advance();
  }
  if (declaration.type == Type::None)
    return expectedHere("a type");
  if (declaration.type == Type::Pred && !declaration.isReg)
    return error(place, "a predicate is a register");
  if (declaration.type == Type::Pred && declaration.vectorWidth > 1)
    return error(place, "a predicate cannot be a vector");
  if (isOnlyInstructionType(declaration.type))
    return error(place, "'" + Twine(nameOf(declaration.type)) +
                            "' is a type of instructions only, '.b" +
                            Twine(std::max(sizeInBits(declaration.type), 8u)) + "' holds it");
  bool isOpaque = classOf(declaration.type) == TypeClass::Opaque;
  if (isOpaque && std::pair(module.versionMajor, module.versionMinor) < std::pair(1u, 5u))
    return error(place, "'" + Twine(nameOf(declaration.type)) + "' needs PTX 1.5");
  if (sizeInBits(declaration.type) * declaration.vectorWidth > 128)
    return error(place, "a vector has at most 128 bits");
  if (declaration.space == StateSpace::Tex) { // PTX ISA: texture-state-space-deprecated
    if (std::pair(module.versionMajor, module.versionMinor) >= std::pair(1u, 5u))
      return error(place, "'.tex' is not available since PTX 1.5");
    if (declaration.type != Type::U32 && declaration.type != Type::U64)
      return error(place, "'.tex' has type .u32 or .u64");
    declaration.space = StateSpace::Global;
    declaration.type = Type::TexRef;
  }
  return true;
}

Variable *ModuleParser::parseVariable(const Declaration &declaration, bool isParameter) {
  Token nameToken = token;
  if (!expect(Kind::Word, "a name"))
    return nullptr;
  StringRef word = spell(nameToken);
  if (word.contains('.')) {
    error(nameToken.offset, "expected a name, found '" + Twine(word) + "'");
    return nullptr;
  }
  auto *variable = new (storage.arena.Allocate<Variable>()) Variable{};
  variable->name = word;
  variable->space = declaration.space;
  variable->type = declaration.type;
  variable->vectorWidth = declaration.vectorWidth;
  variable->linkage = declaration.linkage;
  variable->managed = declaration.managed;
  variable->unified = declaration.unified;
  variable->isPointer = declaration.isPointer;
  variable->pointerSpace = declaration.pointerSpace;
  variable->pointerAlignment = declaration.pointerAlignment;
  variable->function = current;
  variable->place = nameToken.offset;
  uint64_t elementSize = uint64_t(sizeInBits(declaration.type)) / 8 * declaration.vectorWidth;
  variable->alignment = uint32_t(std::max<uint64_t>(declaration.alignment, elementSize));

  // Dimensions. Only the first may be left open.
  bool open = false;
  uint64_t count = 1;
  llvm::SmallVector<uint64_t, 4> dimensions; // 0 for an open one
  while (at(Kind::LeftBracket)) {
    uint32_t place = token.offset;
    if (dimensions.size() == kMaxDepth) {
      errorHere("too many dimensions");
      return nullptr;
    }
    advance();
    int64_t dimension = 0;
    if (!at(Kind::RightBracket) && !parseInteger(dimension))
      return nullptr;
    if (!expect(Kind::RightBracket, "']'"))
      return nullptr;
    if (dimension < 0) {
      error(place, "a dimension cannot be negative");
      return nullptr;
    }
    if (dimension == 0) { // `[0]` is `[]`, as ptxas has it
      if (!dimensions.empty()) {
        error(place, "only the first dimension can be left open");
        return nullptr;
      }
      open = true;
      dimensions.push_back(0);
      continue;
    }
    if (count > kMaxVariableSize / uint64_t(dimension) / std::max<uint64_t>(elementSize, 1)) {
      error(place, "array '" + Twine(word) + "' is larger than 2^40 bytes");
      return nullptr;
    }
    count *= uint64_t(dimension);
    dimensions.push_back(uint64_t(dimension));
  }
  variable->elementCount = count;
  variable->sizeInBytes = count * elementSize;
  if (open) {
    variable->incomplete = true;
    variable->elementCount = variable->sizeInBytes = 0;
  }
  if (at(Kind::Equal)) {
    if (isParameter ||
        (declaration.space != StateSpace::Global && declaration.space != StateSpace::Const)) {
      errorHere("'" + Twine(word) + "' cannot have an initialiser in its state space");
      return nullptr;
    }
    advance();
    if (declaration.vectorWidth > 1)
      dimensions.push_back(declaration.vectorWidth);
    if (!parseInitializer(*variable, dimensions))
      return nullptr;
    open = false;
  }
  if (open && !isParameter && declaration.linkage != Linkage::Extern) {
    error(nameToken.offset, "'" + Twine(word) + "' has no size and is not extern");
    return nullptr;
  }
  return variable;
}

// `.global .align 4 .b8 x[4] = {...}, y;`
bool ModuleParser::parseVariables(Linkage linkage) {
  Declaration declaration;
  declaration.linkage = linkage;
  uint32_t place = token.offset;
  if (!parseDeclaration(declaration))
    return false;
  if (linkage == Linkage::Common && declaration.space != StateSpace::Global)
    return error(place, "'.common' is for variables in '.global'");
  do {
    Variable *variable = parseVariable(declaration, /*isParameter=*/false);
    if (!variable)
      return false;
    Name *name = names.intern(variable->name);
    Symbol symbol;
    symbol.kind = Symbol::Kind::Variable;
    symbol.variable = variable;
    // PTX ISA: an extern declaration may come before the definition.
    bool completes =
        !current && name->symbol.kind == Symbol::Kind::Variable && name->symbol.depth == 0 &&
        (name->symbol.variable->linkage == Linkage::Extern || linkage == Linkage::Extern ||
         linkage == Linkage::Weak || linkage == Linkage::Common) &&
        name->symbol.variable->space == variable->space &&
        name->symbol.variable->type == variable->type;
    if (completes) {
      // Uses before this point refer to the first node: it takes the definition's contents.
      if (linkage != Linkage::Extern)
        *name->symbol.variable = *variable;
      continue;
    }
    if (!declare(name, symbol, variable->place))
      return false;
    if (current)
      locals.push_back(variable);
    else
      module.variables.push_back(variable);
  } while (take(Kind::Comma));
  return endStatement("declaration");
}

// `.reg .b32 %r<10>, %x;`
bool ModuleParser::parseRegisters() {
  Declaration declaration;
  if (!parseDeclaration(declaration))
    return false;
  do {
    Token nameToken = token;
    if (!expect(Kind::Word, "a register name"))
      return false;
    StringRef word = spell(nameToken);
    if (word.contains('.') || word == "_")
      return error(nameToken.offset, "expected a register name, found '" + Twine(word) + "'");
    Name *name = names.intern(word);
    if (take(Kind::Less)) {
      Constant constant; // a full expression would take the '>'
      if (!at(Kind::Integer))
        return expectedHere("a number of registers");
      if (!parseNumber(constant))
        return false;
      if (!expect(Kind::Greater, "'>'") ||
          (constant.bits && !declareRange(name, declaration, constant.bits, nameToken.offset)))
        return false;
    } else {
      if (at(Kind::Equal))
        return errorHere("a register cannot have an initialiser");
      Symbol symbol;
      symbol.kind = Symbol::Kind::Register;
      symbol.index = RegisterId(registers.size());
      if (!declare(name, symbol, nameToken.offset))
        return false;
      if (registerBudget == 0)
        return error(nameToken.offset, "too many registers");
      --registerBudget;
      addRegisters(word, declaration, 1, /*isNumbered=*/false);
    }
  } while (take(Kind::Comma));
  return endStatement("declaration");
}

} // namespace rubia::ptx
