// SPDX-License-Identifier: Apache-2.0
// Initialisers: bytes, and relocations where an element is an address. Bytes are kept only up to
// the last one that is not zero until the end, so that `x[1000000000] = {0}` costs nothing.
// PTX ISA: initializers.

#include "ptx-frontend/lib/Parser.h"

using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx {

using Kind = Token::Kind;

struct ModuleParser::InitializerState {
  Variable &variable;
  unsigned width; // of a scalar element, in bytes
  ArrayRef<uint64_t> dimensions;
  llvm::SmallVector<uint64_t, 4> strides; // scalars in one element of each dimension
  uint64_t count = 0;                     // scalars that an open dimension has
  std::vector<uint8_t> bytes;
  std::vector<Relocation> relocations;

  bool open() const { return !dimensions.empty() && dimensions[0] == 0; }
};

// Also what an initialiser with an error made us allocate is paid for.
bool ModuleParser::payForInitializer(const Variable &variable, uint64_t bytes, uint32_t place) {
  if (bytes > initializerBudget)
    return error(place, "initialiser of '" + Twine(variable.name) + "' is too large");
  initializerBudget -= bytes;
  return true;
}

bool ModuleParser::parseInitializer(Variable &variable, ArrayRef<uint64_t> dimensions) {
  if (classOf(variable.type) == TypeClass::Opaque)
    return parseOpaqueInitializer(variable);
  InitializerState state{variable, sizeInBits(variable.type) / 8, dimensions, {}, 0, {}, {}};
  state.strides.resize(dimensions.size());
  uint64_t stride = 1;
  for (size_t i = dimensions.size(); i-- > 0; stride *= dimensions[i])
    state.strides[i] = stride;
  uint32_t place = token.offset;
  if (at(Kind::LeftBrace) == dimensions.empty())
    return expectedHere(dimensions.empty() ? "a value" : "'{'");
  if (at(Kind::LeftBrace) ? !parseInitializerLevel(state, 0, 0)
                          : !parseInitializerElement(state, 0))
    return false;
  if (state.open()) {
    uint64_t rows = (state.count + state.strides[0] - 1) / std::max<uint64_t>(state.strides[0], 1);
    variable.incomplete = false;
    variable.elementCount = rows * state.strides[0] / variable.vectorWidth;
    variable.sizeInBytes = rows * state.strides[0] * state.width;
  }
  if (state.bytes.empty() && state.relocations.empty())
    return true; // zero, as a variable without initialiser
  if (!payForInitializer(variable, variable.sizeInBytes, place))
    return false;
  uint8_t *bytes = storage.arena.Allocate<uint8_t>(variable.sizeInBytes);
  std::copy(state.bytes.begin(), state.bytes.end(), bytes);
  std::fill(bytes + state.bytes.size(), bytes + variable.sizeInBytes, 0);
  variable.initialized = true;
  variable.initializer = {bytes, size_t(variable.sizeInBytes)};
  variable.relocations = storage.copy<Relocation>(state.relocations);
  return true;
}

// `{width = 4, addr_mode_0 = wrap}`, for an array a list of such.
// PTX ISA: texture-sampler-and-surface-types.
bool ModuleParser::parseOpaqueInitializer(Variable &variable) {
  llvm::SmallVector<OpaqueField, 8> fields;
  if (variable.elementCount == 1 && !variable.incomplete) {
    if (!parseOpaqueFields(0, fields))
      return false;
  } else {
    if (!expect(Kind::LeftBrace, "'{'"))
      return false;
    ++braces;
    uint64_t count = 0;
    do {
      if (!variable.incomplete && count == variable.elementCount)
        return errorHere("too many initialisers for '" + Twine(variable.name) + "'");
      if (!parseOpaqueFields(count++, fields))
        return false;
    } while (take(Kind::Comma));
    if (!expect(Kind::RightBrace, "',' or '}'"))
      return false;
    --braces;
    if (variable.incomplete) {
      variable.incomplete = false;
      variable.elementCount = count;
      variable.sizeInBytes = count * sizeInBits(variable.type) / 8;
    }
  }
  variable.fields = storage.copy<OpaqueField>(fields);
  return true;
}

bool ModuleParser::parseOpaqueFields(uint64_t element, llvm::SmallVectorImpl<OpaqueField> &fields) {
  static constexpr StringRef kFields[] = {"width",
                                          "height",
                                          "depth",
                                          "array_size",
                                          "num_mipmap_levels",
                                          "num_samples",
                                          "memory_layout",
                                          "channel_data_type",
                                          "channel_order",
                                          "filter_mode",
                                          "normalized_coords",
                                          "force_unnormalized_coords",
                                          "addr_mode_0",
                                          "addr_mode_1",
                                          "addr_mode_2"};
  static constexpr StringRef kWords[] = {"nearest",   "linear",        "wrap",           "mirror",
                                         "clamp_ogl", "clamp_to_edge", "clamp_to_border"};
  if (!expect(Kind::LeftBrace, "'{'"))
    return false;
  ++braces;
  while (!at(Kind::RightBrace)) {
    OpaqueField field{element, spell(token), {}, 0};
    if (!at(Kind::Word) || !llvm::is_contained(kFields, field.name))
      return expectedHere("a field such as width or addr_mode_0");
    advance();
    if (!expect(Kind::Equal, "'='"))
      return false;
    if (at(Kind::Word) && llvm::is_contained(kWords, spell(token))) {
      field.word = spell(token);
      advance();
    } else if (!parseInteger(field.value)) {
      return false;
    }
    fields.push_back(field);
    if (!take(Kind::Comma))
      break;
  }
  if (!expect(Kind::RightBrace, "',' or '}'"))
    return false;
  --braces;
  return true;
}

bool ModuleParser::parseInitializerLevel(InitializerState &state, unsigned level, uint64_t begin) {
  advance();
  ++braces;
  uint64_t stride = state.strides[level];
  bool innermost = level + 1 == state.dimensions.size();
  bool open = level == 0 && state.open();
  uint64_t end = begin + state.dimensions[level] * stride;
  uint64_t index = begin;
  while (!at(Kind::RightBrace)) {
    if (index >= end && !open)
      return errorHere("too many initialisers for '" + Twine(state.variable.name) + "'");
    if (index + stride > kMaxVariableSize / state.width) // of an open dimension
      return errorHere("array '" + Twine(state.variable.name) + "' is larger than 2^40 bytes");
    if (at(Kind::LeftBrace) == innermost)
      return expectedHere(innermost ? "a value" : "'{'");
    bool isNumber = innermost && at(Kind::Integer) && lexer.isAt(','); // nearly always
    if (isNumber    ? !parseNumberElements(state, index, open ? ~0ull : end)
        : innermost ? !parseInitializerElement(state, index)
                    : !parseInitializerLevel(state, level + 1, index))
      return false;
    if (!isNumber)
      index += stride;
    state.count = std::max(state.count, index);
    if (!isNumber && !take(Kind::Comma))
      break;
  }
  if (!expect(Kind::RightBrace, "',' or '}'"))
    return false;
  --braces;
  return true;
}

// `12, 13, 14,`. Tables have hundreds of thousands: plain ones need no tokens.
bool ModuleParser::parseNumberElements(InitializerState &state, uint64_t &index, uint64_t end) {
  Constant value;
  if (!readNumber(value) || !storeConstant(state, index++, value, token.offset) || !lexer.take(','))
    return false;
  if (classOf(state.variable.type) != TypeClass::Float)
    for (end = std::min(end, kMaxVariableSize / state.width); index < end; ++index) {
      uint32_t place = lexer.position();
      std::optional<uint32_t> number = lexer.takeDecimal();
      if (!number)
        break;
      if (!storeBits(state, index, *number, place))
        return false;
    }
  previousEnd = lexer.position();
  token = lexer.next();
  return true;
}

// A constant expression, an address, or mask(address) such as 0xFF00(symbol+4).
bool ModuleParser::parseInitializerElement(InitializerState &state, uint64_t index) {
  uint32_t place = token.offset;
  if (at(Kind::Word) && spell(token) != "WARP_SZ")
    return parseAddressElement(state, index, ~0ull);
  Constant value;
  if (at(Kind::Integer)) { // nearly always all there is
    Lexer savedLexer = lexer;
    Token savedToken = token;
    if (!parseNumber(value))
      return false;
    if (at(Kind::LeftParen)) {
      advance();
      return parseAddressElement(state, index, value.bits) && expect(Kind::RightParen, "')'");
    }
    if (at(Kind::Comma) || at(Kind::RightBrace))
      return storeConstant(state, index, value, place);
    lexer = savedLexer;
    token = savedToken;
  }
  return parseConstant(value) && storeConstant(state, index, value, place);
}

bool ModuleParser::storeConstant(InitializerState &state, uint64_t index, const Constant &value,
                                 uint32_t place) {
  uint64_t bits = value.bits;
  Type type = state.variable.type;
  if (value.isFloat) {
    double number = value.isSingle ? double(llvm::bit_cast<float>(uint32_t(bits)))
                                   : llvm::bit_cast<double>(bits);
    if (state.width == 4 && (type == Type::F32 || type == Type::B32)) {
      // 0f literals keep their bits, NaN payloads included.
      bits = value.isSingle ? bits : llvm::bit_cast<uint32_t>(float(number));
    } else if (type == Type::F64 || type == Type::B64) {
      bits = value.isSingle ? llvm::bit_cast<uint64_t>(number) : bits;
    } else {
      return error(place, "a floating point constant cannot initialise '" +
                              Twine(state.variable.name) + "'");
    }
  } else if (classOf(type) == TypeClass::Float) {
    return error(place, "an integer cannot initialise '" + Twine(state.variable.name) +
                            "', expected a floating point constant");
  }
  return storeBits(state, index, bits, place);
}

bool ModuleParser::storeBits(InitializerState &state, uint64_t index, uint64_t bits,
                             uint32_t place) {
  if (state.width < 8)
    bits &= (1ull << state.width * 8) - 1;
  uint64_t offset = index * state.width;
  if (bits == 0)
    return true;
  if (uint64_t end = offset + state.width; state.bytes.size() < end) {
    if (!payForInitializer(state.variable, end - state.bytes.size(), place))
      return false;
    state.bytes.resize(end);
  }
  uint8_t *bytes = state.bytes.data() + offset;
  for (unsigned i = 0; i < std::min(state.width, 8u); ++i)
    bytes[i] = uint8_t(bits >> 8 * i);
  return true;
}

bool ModuleParser::parseAddressElement(InitializerState &state, uint64_t index, uint64_t mask) {
  uint32_t place = token.offset;
  Relocation relocation{};
  relocation.offset = index * state.width;
  relocation.width = uint8_t(state.width);
  relocation.mask = mask;
  if (!parseAddressTerm(relocation) || !parseAddend(relocation))
    return false;
  if (classOf(state.variable.type) == TypeClass::Float || state.width > 8 ||
      (state.width < 4 && mask == ~0ull))
    return error(place, "an address cannot initialise '" + Twine(state.variable.name) + "'");
  state.relocations.push_back(relocation);
  return true;
}

// symbol, symbol+4, generic(symbol+4)
bool ModuleParser::parseAddressTerm(Relocation &relocation) {
  Token nameToken = token;
  if (!expect(Kind::Word, "the name of a variable or function"))
    return false;
  StringRef word = spell(nameToken);
  if (word == "generic" && at(Kind::LeftParen)) {
    advance();
    if (relocation.generic)
      return errorHere("generic() inside generic()");
    relocation.generic = true;
    return parseAddressTerm(relocation) && parseAddend(relocation) &&
           expect(Kind::RightParen, "')'");
  }
  Name *name = names.find(word);
  Symbol::Kind kind = name ? name->symbol.kind : Symbol::Kind::None;
  if (kind == Symbol::Kind::Variable && name->symbol.variable->space != StateSpace::Reg &&
      name->symbol.variable->space != StateSpace::Param)
    relocation.variable = name->symbol.variable;
  else if (kind == Symbol::Kind::Function)
    relocation.function = name->symbol.function;
  else
    return undeclared(nameToken.offset, word);
  return true;
}

bool ModuleParser::parseAddend(Relocation &relocation) {
  if (!at(Kind::Plus) && !at(Kind::Minus))
    return true;
  int64_t addend; // the sign is part of the expression
  if (!parseInteger(addend))
    return false;
  relocation.addend = int64_t(uint64_t(relocation.addend) + uint64_t(addend));
  return true;
}

} // namespace rubia::ptx
