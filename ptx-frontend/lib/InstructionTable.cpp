// SPDX-License-Identifier: Apache-2.0
// The rows of Instructions.def, parsed by the compiler.

#include "ptx-frontend/InstructionTable.h"
#include "ptx-frontend/lib/OperationRows.h"
#include "ptx-frontend/lib/SyntaxString.h"
#include "llvm/ADT/StringMap.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rubia::ptx {

static_assert(std::size(kModifierTexts) <= ModifierSet::kCapacity);

static constexpr Availability V(unsigned major, unsigned minor) {
  return {{uint8_t(major), uint8_t(minor)}, {}, 0};
}

static constexpr Form kForms[] = {
#define PTX_FORM(Op_, Syntax, Version_, Targets_, Anchor)                                          \
  {Operation(OperationRow::Op_), kOperations[unsigned(OperationRow::Op_)].lowered, Syntax,         \
   Version_, Targets_},
#define PTX_FORM_PARSED(Op_, Syntax, Version_, Targets_, Anchor)                                   \
  {Operation(OperationRow::Op_), false, Syntax, Version_, Targets_},
#include "ptx-frontend/Instructions.def"
};

static constexpr struct Texts {
  StringRef syntax, opcode, anchor;
} kTexts[] = {
#define PTX_FORM(Op_, Syntax, Version_, Targets_, Anchor)                                          \
  {Syntax, SyntaxString(Syntax).opcode(), Anchor},
#define PTX_FORM_PARSED(Op_, Syntax, Version_, Targets_, Anchor)                                   \
  {Syntax, SyntaxString(Syntax).opcode(), Anchor},
#include "ptx-frontend/Instructions.def"
};

static const Texts &textsOf(const Form &form) {
  const ptrdiff_t row = &form - kForms;
  assert(row >= 0 && size_t(row) < std::size(kForms));
  return kTexts[row];
}

StringRef Form::syntax() const { return textsOf(*this).syntax; }
StringRef Form::opcode() const { return textsOf(*this).opcode; }
StringRef Form::anchor() const { return textsOf(*this).anchor; }

// ---------- The effects of an operation against its forms

namespace {

// What the forms of an operation say of it.
struct Shape {
  bool hasForm = false, hasResult = false, hasAddress = false, hasLabel = false, isCall = false;
  bool hasSync = false, hasMembers = false, hasF32 = false;
  bool hasSecondResult = false; // in a form that is lowered
};

consteval std::array<Shape, std::size(kOperations)> shapesOfAll() {
  std::array<Shape, std::size(kOperations)> shapes;
  for (const Form &form : kForms) {
    Shape &shape = shapes[unsigned(form.op)];
    shape.hasForm = true;
    for (unsigned i = 0; i < form.modifierCount; ++i) {
      const ModifierSet &choices = form.modifierSlots[i].choices;
      shape.hasSync |= choices.contains(Modifier(ModifierRow::Sync));
      for (ModifierRow type :
           {ModifierRow::F32, ModifierRow::F32x2, ModifierRow::BF16, ModifierRow::BF16x2})
        shape.hasF32 |= choices.contains(Modifier(type));
    }
    for (unsigned i = 0; i < form.operandCount; ++i) {
      const OperandSlot &slot = form.operandSlots[i];
      shape.hasResult |= slot.destination;
      shape.hasSecondResult |= i > 0 && slot.destination && form.lowered;
      shape.hasAddress |= slot.kind == OperandSlot::Kind::Address;
      shape.hasLabel |=
          slot.kind == OperandSlot::Kind::Label || slot.kind == OperandSlot::Kind::LabelList;
      shape.isCall |= slot.kind == OperandSlot::Kind::Call;
      shape.hasMembers |= slot.members;
    }
  }
  return shapes;
}
constexpr auto kShapes = shapesOfAll();

using namespace effects;
constexpr Effects kMeets = MeetsWarp | MeetsCta | MeetsCluster | ArrivesCta;
constexpr Effects kControls = Jumps | Calls | Returns | Exits | Traps;
constexpr Effects kModes = F32 | F32Compared | F32Converted | F32Added | Bf16Widened | AnyMode;

constexpr const Shape &shapeOf(OperationRow row) { return kShapes[unsigned(row)]; }
constexpr Effects effectsOf(OperationRow row) { return kOperations[unsigned(row)].effects; }

#define PTX_OP(Name, Effects_)                                                                     \
  static_assert(shapeOf(OperationRow::Name).hasForm, #Name ": it has no form");                    \
  static_assert(!shapeOf(OperationRow::Name).hasSecondResult,                                      \
                #Name ": writesFirstOperand() and its users know no second destination");          \
  static_assert(effectsOf(OperationRow::Name).results() == 1,                                      \
                #Name ": say where its result comes from, in one word: Pure, Loads, WarpWide, "    \
                      "CtaWide, Lane or NoResult");                                                \
  static_assert(                                                                                   \
      effectsOf(OperationRow::Name).has(NoResult) ==                                               \
          !(shapeOf(OperationRow::Name).hasResult || shapeOf(OperationRow::Name).isCall),          \
      #Name ": NoResult is for operations that have no destination in any form");                  \
  static_assert(!effectsOf(OperationRow::Name).has(Pure) ||                                        \
                    !effectsOf(OperationRow::Name)                                                 \
                         .hasAny(Reads | Writes | Polls | Renews | kMeets | kControls),            \
                #Name ": what is Pure does nothing else");                                         \
  static_assert(!effectsOf(OperationRow::Name).has(Speculate) ||                                   \
                    effectsOf(OperationRow::Name).has(Pure),                                       \
                #Name ": Speculate is for what is Pure");                                          \
  static_assert(!shapeOf(OperationRow::Name).hasAddress ||                                         \
                    effectsOf(OperationRow::Name).hasAny(Reads | Writes | NamesAddress),           \
                #Name ": it has an address: say Reads, Writes or NamesAddress");                   \
  static_assert(!effectsOf(OperationRow::Name).has(Polls) ||                                       \
                    effectsOf(OperationRow::Name).has(Reads),                                      \
                #Name ": what Polls, Reads");                                                      \
  static_assert(                                                                                   \
      !(shapeOf(OperationRow::Name).hasSync || shapeOf(OperationRow::Name).hasMembers) ||          \
          effectsOf(OperationRow::Name).hasAny(MeetsWarp | MeetsCta),                              \
      #Name ": it has .sync or a membermask: say MeetsWarp or MeetsCta");                          \
  static_assert(                                                                                   \
      shapeOf(OperationRow::Name).hasLabel == effectsOf(OperationRow::Name).has(Jumps) &&          \
          shapeOf(OperationRow::Name).isCall == effectsOf(OperationRow::Name).has(Calls),          \
      #Name ": Jumps goes with labels, Calls with a call's operands");                             \
  static_assert(!shapeOf(OperationRow::Name).hasF32 ||                                             \
                    effectsOf(OperationRow::Name).count(kModes) == 1,                              \
                #Name ": it has .f32 or .bf16: say what it does to denormals, in one word: F32, "  \
                      "F32Compared, F32Converted, F32Added, Bf16Widened or AnyMode");
#define PTX_OP_PARSED(Name, Effects_) PTX_OP(Name, Effects_)
#include "ptx-frontend/Operations.def"

} // namespace

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

Modifier modifierNamed(StringRef text) { return modifierWithText({text.data(), text.size()}); }

} // namespace rubia::ptx
