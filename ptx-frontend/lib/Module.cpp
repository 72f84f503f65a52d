// SPDX-License-Identifier: Apache-2.0
// Small queries of Module.h.

#include "ptx-frontend/lib/Spellings.h"
#include "ptx-frontend/lib/Storage.h"
#include "llvm/ADT/Twine.h"

using llvm::StringRef;

namespace rubia::ptx::Mod {
extern const Modifier V2, V4, V8;
} // namespace rubia::ptx::Mod

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

bool Spelling::has(Modifier mod) const { return llvm::is_contained(modifiers, mod); }

Type Spelling::type(unsigned n) const {
  for (Modifier mod : modifiers)
    if (Type type = typeOf(mod); type != Type::None && n-- == 0)
      return type;
  return Type::None;
}

Modifier Spelling::first(ModCategory category) const {
  for (Modifier mod : modifiers)
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
  const Modifier vector = first(ModCategory::Vector);
  if (vector == Mod::V2)
    return 2;
  if (vector == Mod::V4)
    return 4;
  if (vector == Mod::V8)
    return 8;
  return 1; // no vector modifier
}

} // namespace rubia::ptx
