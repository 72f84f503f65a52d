// SPDX-License-Identifier: Apache-2.0
// Small queries of Module.h.

#include "ptx-frontend/lib/Spellings.h"
#include "ptx-frontend/lib/Storage.h"
#include "llvm/ADT/Twine.h"

using llvm::StringRef;

namespace rubia::ptx {

Module::Module() : storage(std::make_unique<Storage>()) {}
Module::Module(Module &&) noexcept = default;
Module::~Module() = default;

const Function *Module::function(StringRef name) const {
  return storage->functionsByName.lookup(name);
}

std::string Function::registerName(RegisterId reg) const {
  const RegisterRange &range = *llvm::partition_point(
      registerRanges, [&](const RegisterRange &r) { return r.first + r.count <= reg; });
  return range.isNumbered ? (range.name + llvm::Twine(reg - range.first)).str() : range.name.str();
}

bool Spelling::has(Mod mod) const { return llvm::is_contained(modifiers, mod); }

Type Spelling::type(unsigned n) const {
  for (Mod mod : modifiers)
    if (Type type = typeOf(mod); type != Type::None && n-- == 0)
      return type;
  return Type::None;
}

Mod Spelling::first(ModCategory category) const {
  for (Mod mod : modifiers)
    if (categoryOf(mod) == category)
      return mod;
  return Mod::None;
}

Type Spelling::operandType(unsigned n) const {
  // Every Spelling is the base of one that the table matched.
  const auto &matched = static_cast<const MatchedSpelling &>(*this);
  if (n >= matched.expected.size())
    return Type::None;
  const OperandSlot &slot = *matched.expected[n].slot;
  return slot.kind == OperandSlot::Kind::Value && !slot.anything ? matched.expected[n].type
                                                                 : Type::None;
}

StateSpace Spelling::space() const { return spaceOf(first(ModCategory::Space)); }

unsigned Spelling::vectorWidth() const {
  switch (first(ModCategory::Vector)) {
  case Mod::V2:
    return 2;
  case Mod::V4:
    return 4;
  case Mod::V8:
    return 8;
  default: // no vector modifier
    return 1;
  }
}

} // namespace rubia::ptx
