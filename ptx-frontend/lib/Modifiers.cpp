// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/InstructionTable.h"
#include "ptx-frontend/lib/ModifierRows.h"

using llvm::StringRef;

namespace rubia::ptx {

namespace Mod {
#define PTX_MODIFIER(Name, ...) extern const Modifier Name = Modifier(ModifierRow::Name);
#include "ptx-frontend/Modifiers.def"
} // namespace Mod

namespace {
struct Facts {
  ModCategory category;
  Version version = {}; // 0.0: since the first
  uint16_t sm = 0;
};

constexpr Version V(unsigned major, unsigned minor) { return {uint8_t(major), uint8_t(minor)}; }

constexpr Facts kFacts[] = {
    {ModCategory::Flag},
#define PTX_MODIFIER(Name, Text, Category) {ModCategory::Category},
#define PTX_MODIFIER_SINCE(Name, Text, Category, Version, Sm) {ModCategory::Category, Version, Sm},
#include "ptx-frontend/Modifiers.def"
};
} // namespace

unsigned modifierCount() { return std::size(kModifierTexts); }
StringRef textOf(Modifier mod) { return kModifierTexts[unsigned(mod)]; }
ModCategory categoryOf(Modifier mod) { return kFacts[unsigned(mod)].category; }
Version versionOf(Modifier mod) { return kFacts[unsigned(mod)].version; }
unsigned smOf(Modifier mod) { return kFacts[unsigned(mod)].sm; }

Type typeOf(Modifier mod) {
  if (mod == Mod::None || categoryOf(mod) != ModCategory::Type)
    return Type::None;
  return Type(unsigned(mod)); // SyntaxString.h asserts that both have the same order
}

StateSpace spaceOf(Modifier mod) {
  switch (ModifierRow(mod)) {
  case ModifierRow::Const:
    return StateSpace::Const;
  case ModifierRow::Global:
    return StateSpace::Global;
  case ModifierRow::Local:
    return StateSpace::Local;
  case ModifierRow::Param:
  case ModifierRow::ParamEntry:
  case ModifierRow::ParamFunc:
    return StateSpace::Param;
  case ModifierRow::Shared:
  case ModifierRow::SharedCta:
  case ModifierRow::SharedCluster:
    return StateSpace::Shared;
  default: // all other modifiers are no state spaces
    return StateSpace::None;
  }
}

} // namespace rubia::ptx
