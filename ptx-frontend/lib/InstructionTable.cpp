// The rows of Instructions.def, parsed by the compiler.

#include "ptx-frontend/InstructionTable.h"
#include "ptx-frontend/lib/SyntaxString.h"
#include "llvm/ADT/StringMap.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rubia::ptx {

static constexpr Availability V(unsigned major, unsigned minor) {
  return {{uint8_t(major), uint8_t(minor)}, {}, 0};
}

static constexpr bool kIsLowered[] = {
#define PTX_OP(Name) true,
#define PTX_OP_PARSED(Name) false,
#include "ptx-frontend/Instructions.def"
};

static constexpr Form kForms[] = {
#define PTX_FORM(Op_, Syntax, Version_, Targets_, Anchor)                                          \
  SyntaxString(Syntax).parse(Op::Op_, kIsLowered[unsigned(Op::Op_)], Version_, Targets_, Anchor),
#define PTX_FORM_PARSED(Op_, Syntax, Version_, Targets_, Anchor)                                   \
  SyntaxString(Syntax).parse(Op::Op_, false, Version_, Targets_, Anchor),
#include "ptx-frontend/Instructions.def"
};

ArrayRef<Form> instructionForms() { return kForms; }

unsigned Form::requiredOperands() const {
  unsigned count = 0;
  for (const OperandSlot &slot : operands())
    count += !slot.optional && slot.condition == Mod::None;
  return count;
}

bool Targets::allows(unsigned sm, char variant) const {
  auto number = [](unsigned sm) { return sm == 101 ? 110 : sm; };
  sm = number(sm);
  if (!specificCount)
    return sm >= number(first);
  for (const Specific &target : ArrayRef(specific, specificCount)) {
    unsigned own = number(target.sm);
    switch (target.variant) {
    case 0:
      if (sm >= own)
        return true;
      break;
    case 'a':
      if (sm == own && variant == 'a')
        return true;
      break;
    case 'f': // later members of the family have it too, and so have their 'a' targets
      if (sm / 10 == own / 10 && sm >= own && variant)
        return true;
      break;
    }
  }
  return false;
}

bool ConstantRange::allows(int64_t value) const {
  switch (kind) {
  case Kind::Any:
    return true;
  case Kind::List:
    return llvm::is_contained(ArrayRef(values, count), value);
  case Kind::Interval:
    return value >= values[0] && value <= values[1] && value % values[2] == 0;
  }
  return false;
}

Mod modifierNamed(StringRef text) { return modifierWithText({text.data(), text.size()}); }

namespace {
struct Need {
  Version version;
  uint16_t sm = 0;
};
constexpr Need kNeeds[] = {
    {},
#define PTX_MODIFIER(Name, Text, Category) {},
#define PTX_MODIFIER_SINCE(Name, Text, Category, Version_, Sm) {Version_.first, Sm},
#include "ptx-frontend/Modifiers.def"
};
} // namespace

Version versionOf(Mod mod) { return kNeeds[unsigned(mod)].version; }
unsigned smOf(Mod mod) { return kNeeds[unsigned(mod)].sm; }

} // namespace rubia::ptx
