// SPDX-License-Identifier: Apache-2.0
// How types, state spaces and special registers are written.

#include "ptx-frontend/lib/TypeNames.h"
#include "ptx-frontend/Effects.h"

using llvm::StringRef;

namespace rubia::ptx {

StringRef nameOf(Type type) {
  switch (type) {
  case Type::None:
    return "no type";
  case Type::TexRef:
    return ".texref";
  case Type::SamplerRef:
    return ".samplerref";
  case Type::SurfRef:
    return ".surfref";
  default: // the modifiers begin with the types, in the same order
    return textOf(Modifier(unsigned(type)));
  }
}

StringRef nameOf(StateSpace space) {
  switch (space) {
  case StateSpace::None:
    return "generic";
  case StateSpace::Reg:
    return ".reg";
  case StateSpace::SReg:
    return ".sreg";
  case StateSpace::Const:
    return ".const";
  case StateSpace::Global:
    return ".global";
  case StateSpace::Local:
    return ".local";
  case StateSpace::Param:
    return ".param";
  case StateSpace::Shared:
    return ".shared";
  case StateSpace::Tex:
    return ".tex";
  }
  return "";
}

namespace {
struct SpecialRow {
  StringRef text;
  Type type;
  unsigned width;
  Version version;
  unsigned sm;
  SharedBy sharedBy;
};
constexpr Version V(unsigned major, unsigned minor) { return {uint8_t(major), uint8_t(minor)}; }
constexpr SpecialRow kSpecials[] = {
#define PTX_SPECIAL_REGISTER(Name, Text, ElementType, Width, Version, Sm, SharedBy_)               \
  {Text, Type::ElementType, Width, Version, Sm, SharedBy::SharedBy_},
#include "ptx-frontend/SpecialRegisters.def"
};
} // namespace

StringRef nameOf(SpecialRegister reg) { return kSpecials[unsigned(reg)].text; }
Type elementTypeOf(SpecialRegister reg) { return kSpecials[unsigned(reg)].type; }
unsigned widthOf(SpecialRegister reg) { return kSpecials[unsigned(reg)].width; }
Version versionOf(SpecialRegister reg) { return kSpecials[unsigned(reg)].version; }
unsigned smOf(SpecialRegister reg) { return kSpecials[unsigned(reg)].sm; }
SharedBy sharedBy(SpecialRegister reg) { return kSpecials[unsigned(reg)].sharedBy; }

StringRef wordOf(Linkage linkage) {
  switch (linkage) {
  case Linkage::Internal:
    return "";
  case Linkage::Visible:
    return ".visible ";
  case Linkage::Extern:
    return ".extern ";
  case Linkage::Weak:
    return ".weak ";
  case Linkage::Common:
    return ".common ";
  }
  return "";
}

std::string describe(const Variable &variable) {
  std::string out = nameOf(variable.space).str();
  uint64_t natural = sizeInBits(variable.type) / 8 * variable.vectorWidth;
  if (variable.alignment != natural)
    out += " .align " + std::to_string(variable.alignment);
  if (variable.vectorWidth > 1)
    out += " .v" + std::to_string(variable.vectorWidth);
  out += " " + nameOf(variable.type).str();
  if (variable.incomplete)
    out += "[]";
  else if (variable.elementCount != 1)
    out += "[" + std::to_string(variable.elementCount) + "]";
  return out;
}

} // namespace rubia::ptx
