// The instruction table in the form that programs use: what the rows of Instructions.def say after
// their syntax strings were parsed, at compile time. The parser, the verifier, the printer, the
// coverage report and the random instruction generators all read it.
#pragma once

#include "ptx-frontend/Modifiers.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace rubia::ptx {

struct ModifierSet {
  uint64_t words[4] = {};
  constexpr bool contains(Mod mod) const {
    return words[unsigned(mod) / 64] >> (unsigned(mod) % 64) & 1;
  }
  constexpr void insert(Mod mod) { words[unsigned(mod) / 64] |= 1ull << (unsigned(mod) % 64); }
};

// One place of a spelling: `.(lo|hi)`, `{.ftz}`, `.rnd`.
struct ModifierSlot {
  ModifierSet choices;
  bool optional = false;
};

// One place of the operand list. Its type is that of the instruction's last type modifier unless an
// annotation says otherwise.
struct OperandSlot {
  enum class Kind : uint8_t { Value, Address, Label, LabelList, Call };
  enum class TypeRule : uint8_t { Last, First, Second, Wide, Fixed };
  Kind kind = Kind::Value;
  TypeRule typeRule = TypeRule::Last;
  Type fixed = Type::None;
  bool optional = false;     // {, c}
  bool destination = false;  // written: the first operand where it is called d, p or f
  bool pair = false;         // p{|q}
  bool pairRequired = false; // p|q
  bool negatable = false;    // {!}c
  bool immediate = false;    // :imm    a constant
  bool anything = false;     // :name, :any  also the address of a name
  bool special = false;      // :special, :any  also a special register
  bool wider = false;        // :wider  a register may be wider than the type (ld, st, cvt)
  bool vector = false;       // :vec    a vector where the spelling has .v2, .v4 or .v8
  bool packed = false;       // :pack   may be a vector whose elements make up the type
  bool sink = false;         // :sink   may be `_`
  char name = 0;             // first letter in the row
};

struct Version {
  uint8_t major = 0, minor = 0;
  friend constexpr bool operator<(Version a, Version b) {
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
  }
};

inline constexpr unsigned kMaxModifierSlots = 12;
inline constexpr unsigned kMaxOperandSlots = 6;

// A row of Instructions.def.
struct Form {
  Op op{};
  llvm::StringRef syntax; // the row's text
  llvm::StringRef opcode; // "add"
  ModifierSlot modifierSlots[kMaxModifierSlots];
  OperandSlot operandSlots[kMaxOperandSlots];
  uint8_t modifierCount = 0, operandCount = 0;
  Version version;        // first PTX version that has it
  uint16_t sm = 0;        // first SM that has it
  llvm::StringRef anchor; // of the PTX ISA manual

  llvm::ArrayRef<ModifierSlot> modifiers() const { return {modifierSlots, modifierCount}; }
  llvm::ArrayRef<OperandSlot> operands() const { return {operandSlots, operandCount}; }
  unsigned requiredOperands() const; // without the optional ones
};

// All rows, in the order of Instructions.def; Spelling::form is an index into it.
llvm::ArrayRef<Form> instructionForms();

// Opcodes ("add", "tex") that PTX has: those of the table and those that are not in it yet.
bool isKnownOpcode(llvm::StringRef opcode);

// The modifier with this text (".ftz"), or Mod::None.
Mod modifierNamed(llvm::StringRef text);

} // namespace rubia::ptx
