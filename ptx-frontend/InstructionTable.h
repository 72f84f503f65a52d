// SPDX-License-Identifier: Apache-2.0
// The instruction table in the form that programs use: what the rows of Instructions.def say after
// their syntax strings were parsed, at compile time. The parser, the verifier, the printer, the
// coverage report and the random instruction generators all read it.
#pragma once

#include "ptx-frontend/Modifiers.h"
#include "ptx-frontend/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace rubia::ptx {

struct ModifierSet {
  static constexpr unsigned kCapacity = 640; // InstructionTable.cpp asserts that all rows fit
  uint64_t words[kCapacity / 64] = {};
  constexpr bool contains(Modifier mod) const {
    return words[unsigned(mod) / 64] >> (unsigned(mod) % 64) & 1;
  }
  constexpr void insert(Modifier mod) { words[unsigned(mod) / 64] |= 1ull << (unsigned(mod) % 64); }
};

struct Version {
  uint8_t major = 0, minor = 0;
  friend constexpr bool operator<(Version a, Version b) {
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
  }
};

/// The versions that have a form: from `first` on, and before `removed` where the module is for
/// removedSm or later.
/// `earlier`: for earlierSm and later targets, the first version is that one.
struct Availability {
  Version first, removed;
  uint16_t removedSm = 0;
  Version earlier = {};
  uint16_t earlierSm = 0;

  constexpr Availability until(unsigned major, unsigned minor, unsigned sm = 0) const {
    return {first, {uint8_t(major), uint8_t(minor)}, uint16_t(sm), earlier, earlierSm};
  }
  constexpr Availability orFrom(unsigned major, unsigned minor, unsigned sm) const {
    return {first, removed, removedSm, {uint8_t(major), uint8_t(minor)}, uint16_t(sm)};
  }
  bool hasRemoved(Version version, unsigned sm) const {
    return removed.major && !(version < removed) && sm >= removedSm;
  }
};

/// The targets that have a form: all from a number on, or a list of architecture-specific
/// (`sm_90a`) and family-specific (`sm_100f`) ones. PTX ISA: ptx-module-directives-target.
struct Targets {
  struct Specific {
    uint16_t sm = 0;
    char variant = 0; // 'a', 'f'; 0: all from this one on
  };
  uint16_t first = 0; // the lowest number of all
  Specific specific[6] = {};
  uint8_t specificCount = 0; // 0: all from `first` on

  constexpr Targets(unsigned sm = 0) : first(uint16_t(sm)) {}
  constexpr Targets(const char *list); // "90a 100f 110f"; SyntaxString.h

  /// `variant`: 'a', 'f' or 0. sm_101 is the old name of sm_110.
  bool allows(unsigned sm, char variant) const;
};

/// One place of a spelling: `.(lo|hi)`, `{.ftz}`, `.rnd`.
struct ModifierSlot {
  ModifierSet choices;
  bool optional = false;
  bool withPrevious = false; // {.x.y}: .y is there exactly if .x is
  Version version;           // @7.0/80: what the spelling needs if it has one of the choices
  uint16_t sm = 0;
};

/// Constants that an operand may be.
struct ConstantRange {
  enum class Kind : uint8_t { Any, List, Interval };
  Kind kind = Kind::Any;
  uint8_t count = 0;      // List
  int32_t values[4] = {}; // List: the values. Interval: first, last, divisor
  bool allows(int64_t value) const;
};

/// One place of the operand list. Its type is that of the instruction's last type modifier unless
/// an annotation says otherwise.
struct OperandSlot {
  enum class Kind : uint8_t { Value, Address, Label, LabelList, Call };
  enum class TypeRule : uint8_t { Last, First, Second, Third, Wide, Fixed };
  enum class WidthRule : uint8_t {
    One,
    Spelled,     // :vec    of .v2, .v4, .v8
    Fixed,       // :v4     widthFactor elements
    Times,       // :x2     of .x1 to .x128, times widthFactor
    PerColumn,   // :n2     of the n of a shape as .m64n16k16, divided by widthFactor
    Coordinates, // :coords of a texture, surface or tensor
    Gradients,   // :grads  of derivatives and offsets of a texture
    Im2col,      // :im2col of a tensor's im2col offsets
  };
  /// :sel, :sel2, :sel4, :mask2, :mask4. PTX ISA: video-instructions
  enum class Selector : uint8_t { None, Scalar, Halves, Bytes, HalfMask, ByteMask };
  /// The state space of an address: that of the spelling's first or second space modifier, or
  /// fixed.
  enum class SpaceRule : uint8_t { First, Second, Fixed };

  Kind kind = Kind::Value;
  TypeRule typeRule = TypeRule::Last;
  Type fixed = Type::None;
  WidthRule widthRule = WidthRule::One;
  uint8_t widthFactor = 1;
  Selector selector = Selector::None;
  SpaceRule spaceRule = SpaceRule::First;
  StateSpace space = StateSpace::None; // SpaceRule::Fixed; None: generic
  uint8_t insideCount = 0;             // [a, c]: further operands in the brackets: Form::inside()
  char name = 0;                       // first letter in the row
  Modifier condition = Mod::None;      // {.x?, c}  there exactly if the spelling has this modifier
  bool optional : 1 = false;           // {, c}
  bool destination : 1 = false;        // written: the first one if it is called d, p or f, or :out
  bool pair : 1 = false;               // p{|q}
  bool pairRequired : 1 = false;       // p|q
  bool negatable : 1 = false;          // {!}c
  bool minus : 1 = false;              // {-}c
  bool immediate : 1 = false;          // :imm    a constant
  bool anything : 1 = false;           // :name, :any  also the address of a name
  bool special : 1 = false;            // :special, :any  also a special register
  bool wider : 1 = false;              // :wider  a register may be wider than the type
  bool packed : 1 = false;             // :pack   may be a vector whose elements make up the type
  bool sink : 1 = false;               // :sink   may be `_`
  bool sinkOnly : 1 = false;           // :sinkonly  is `_`
  bool unified : 1 = false;            // [a]{.unified}
  bool orPredicate : 1 = false;        // :orpred   or a predicate
  bool orVector : 1 = false;           // :orv4     or a vector of four .b32
  bool merges : 1 = false;             // :selc   a selector only if the optional operand is there
  bool unlessVector : 1 = false;       // :unlessv4  there exactly if the :orv4 operand is no vector
  bool orAddress : 1 = false;          // :oraddress  or an address in brackets
  bool members : 1 = false;            // membermask: the lanes that take part
  ConstantRange range;                 // which constants it may be
  Version version;                     // @8.8/100: what the instruction needs if it is there
  uint16_t sm = 0;
};

inline constexpr unsigned kMaxModifierSlots = 15;
inline constexpr unsigned kMaxOperandSlots = 10;
inline constexpr unsigned kMaxInsideSlots = 3;

/// A row of Instructions.def. It has no addresses, so that 2 MB of rows need no relocation when a
/// program starts. Its texts are found by its place among the rows, so there are no copies.
struct Form {
  consteval Form(Operation op, bool lowered, const char *syntax, Availability availability,
                 Targets targets); // SyntaxString.h
  Form(const Form &) = delete;
  Form &operator=(const Form &) = delete;

  Operation op{};
  bool lowered = false; // false: parsed and verified, but lowering cannot do it yet
  ModifierSlot modifierSlots[kMaxModifierSlots];
  OperandSlot operandSlots[kMaxOperandSlots];
  OperandSlot insideSlots[kMaxInsideSlots]; // of the one address that has any
  uint8_t modifierCount = 0, operandCount = 0, insideCount = 0;
  Availability availability;
  Targets targets;
  Version version; // first PTX version that has it
  uint16_t sm = 0; // first SM that has it

  llvm::StringRef syntax() const; // the row's text
  llvm::StringRef opcode() const; // "add"
  llvm::StringRef anchor() const; // of the PTX ISA manual
  llvm::ArrayRef<ModifierSlot> modifiers() const { return {modifierSlots, modifierCount}; }
  llvm::ArrayRef<OperandSlot> operands() const { return {operandSlots, operandCount}; }
  llvm::ArrayRef<OperandSlot> inside() const { return {insideSlots, insideCount}; }
  unsigned requiredOperands() const; // without the optional and conditional ones
};

/// All rows, in the order of Instructions.def; Spelling::form is an index into it.
llvm::ArrayRef<Form> instructionForms();

/// The modifier with this text (".ftz"), or Mod::None.
Modifier modifierNamed(llvm::StringRef text);

/// What a spelling with this modifier needs, whatever else it has: 0.0 and 0 for most.
Version versionOf(Modifier mod);
unsigned smOf(Modifier mod);

} // namespace rubia::ptx
