// SPDX-License-Identifier: Apache-2.0
// Turns the syntax string of an Instructions.def row into a Form at compile time. A string that
// does not follow the notation (head of Instructions.def), or that names an unknown modifier, calls
// a function that is not constexpr, so that the row does not build.
#pragma once

#include "ptx-frontend/InstructionTable.h"
#include "ptx-frontend/lib/ModifierRows.h"
#include <algorithm>
#include <array>
#include <string_view>

namespace rubia::ptx {

void errorInSyntaxStringOfInstructionsDef(const char *what); // has no body: see above

/// The modifiers in the order of their texts, for the search by halves.
inline constexpr auto kModifiersByText = [] {
  std::array<uint16_t, std::size(kModifierTexts)> order{};
  for (unsigned i = 0; i < std::size(kModifierTexts); ++i)
    order[i] = uint16_t(i);
  std::sort(order.begin(), order.end(),
            [](unsigned a, unsigned b) { return kModifierTexts[a] < kModifierTexts[b]; });
  return order;
}();

/// `text` has its dot.
constexpr Modifier modifierWithText(std::string_view text) {
  const auto *at =
      std::lower_bound(kModifiersByText.begin(), kModifiersByText.end(), text,
                       [](unsigned i, std::string_view t) { return kModifierTexts[i] < t; });
  return at != kModifiersByText.end() && kModifierTexts[*at] == text ? Modifier(*at) : Mod::None;
}

constexpr void insertChoices(ModifierSet &set, std::string_view choices) {
  while (true) {
    size_t end = choices.find('|');
    std::string_view choice = choices.substr(0, end);
    std::array<char, 48> dotted{'.'};
    if (choice.size() + 1 > dotted.size())
      errorInSyntaxStringOfInstructionsDef("long modifier");
    std::copy(choice.begin(), choice.end(), dotted.begin() + 1);
    Modifier mod = modifierWithText({dotted.data(), choice.size() + 1});
    if (mod == Mod::None)
      errorInSyntaxStringOfInstructionsDef("unknown modifier");
    set.insert(mod);
    if (end == std::string_view::npos)
      return;
    choices.remove_prefix(end + 1);
  }
}

struct ModifierClass {
  std::string_view name;
  ModifierSet choices;
  constexpr ModifierClass(std::string_view name, std::string_view texts) : name(name) {
    insertChoices(choices, texts);
  }
};
inline constexpr ModifierClass kModifierClasses[] = {
#define PTX_MODIFIER_CLASS(Name, Choices) {Name, Choices},
#include "ptx-frontend/ModifierClasses.def"
};

/// Reads words, numbers and marks from the front of a text.
class SyntaxReader {
public:
  constexpr SyntaxReader(std::string_view text) : text(text) {}

  constexpr bool atEnd() const { return text.empty(); }
  constexpr bool peek(std::string_view mark) const { return text.starts_with(mark); }
  constexpr bool take(std::string_view mark) {
    if (!peek(mark))
      return false;
    text.remove_prefix(mark.size());
    return true;
  }
  constexpr void expect(std::string_view mark) {
    if (!take(mark))
      errorInSyntaxStringOfInstructionsDef("a character is missing");
  }
  constexpr std::string_view word() {
    size_t length = 0;
    while (length < text.size() && isWordCharacter(text[length]))
      ++length;
    return front(length);
  }
  constexpr std::string_view upTo(char end) { return front(text.find(end)); }
  constexpr int number() {
    bool negative = take("-");
    int value = 0;
    if (text.empty() || !isDigit(text[0]))
      errorInSyntaxStringOfInstructionsDef("a number is missing");
    while (!text.empty() && isDigit(text[0])) {
      value = value * 10 + (text[0] - '0');
      text.remove_prefix(1);
    }
    return negative ? -value : value;
  }

private:
  std::string_view text;

  constexpr std::string_view front(size_t length) {
    if (length == 0 || length > text.size())
      errorInSyntaxStringOfInstructionsDef("a word is missing");
    std::string_view result = text.substr(0, length);
    text.remove_prefix(length);
    return result;
  }
  static constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static constexpr bool isWordCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '_' || c == ':';
  }
};

constexpr Targets::Targets(const char *list) {
  SyntaxReader reader{std::string_view(list)};
  do {
    if (specificCount == std::size(specific))
      errorInSyntaxStringOfInstructionsDef("too many targets");
    Specific &target = specific[specificCount++];
    target.sm = uint16_t(reader.number());
    target.variant = reader.take("a") ? 'a' : reader.take("f") ? 'f' : '\0';
    first = first ? std::min(first, target.sm) : target.sm;
  } while (reader.take(" "));
  if (!reader.atEnd())
    errorInSyntaxStringOfInstructionsDef("a list of targets has something else");
}

class SyntaxString {
public:
  consteval SyntaxString(std::string_view text) : reader(text) {}

  consteval llvm::StringRef opcode() {
    const std::string_view word = reader.word();
    return llvm::StringRef(word.data(), word.size());
  }

  consteval void parse(Form &form) {
    (void)opcode();
    while (!reader.atEnd() && !reader.peek(" "))
      parseModifier(form);
    if (reader.take(" "))
      parseOperands(form);
  }

private:
  SyntaxReader reader;

  consteval void parseModifier(Form &form) {
    if (form.modifierCount == kMaxModifierSlots)
      errorInSyntaxStringOfInstructionsDef("too many modifiers");
    bool optional = reader.take("{");
    parseOneModifier(form.modifierSlots[form.modifierCount++], optional);
    while (optional && reader.peek(".")) { // {.x.y}
      if (form.modifierCount == kMaxModifierSlots)
        errorInSyntaxStringOfInstructionsDef("too many modifiers");
      ModifierSlot &slot = form.modifierSlots[form.modifierCount++];
      parseOneModifier(slot, optional);
      slot.withPrevious = true;
    }
    if (optional)
      reader.expect("}");
  }

  consteval void parseOneModifier(ModifierSlot &slot, bool optional) {
    slot.optional = optional;
    reader.expect(".");
    if (reader.take("(")) {
      insertChoices(slot.choices, reader.upTo(')'));
      reader.expect(")");
    } else {
      parseNamedModifier(slot);
    }
    parseNeed(slot.version, slot.sm);
  }

  /// @7.8/90
  consteval void parseNeed(Version &version, uint16_t &sm) {
    if (!reader.take("@"))
      return;
    version.major = uint8_t(reader.number());
    reader.expect(".");
    version.minor = uint8_t(reader.number());
    reader.expect("/");
    sm = uint16_t(reader.number());
  }

  consteval void parseNamedModifier(ModifierSlot &slot) {
    std::string_view name = reader.word();
    if (name == "xorsign") { // one modifier of two words
      reader.expect(".abs");
      name = "xorsign.abs";
    }
    for (const ModifierClass &c : kModifierClasses)
      if (c.name == name) {
        slot.choices = c.choices;
        return;
      }
    insertChoices(slot.choices, name);
  }

  consteval void parseOperands(Form &form) {
    do {
      if (form.operandCount == kMaxOperandSlots)
        errorInSyntaxStringOfInstructionsDef("too many operands");
      OperandSlot &slot = form.operandSlots[form.operandCount++];
      parseListed(form, slot, form.operandCount == 1);
    } while (!reader.atEnd());
  }

  /// `, b`, `{, b}` or `{.x?, b}`; the first operand of a list has no comma, except in braces.
  consteval void parseListed(Form &form, OperandSlot &slot, bool first) {
    bool braced = reader.peek("{,") || reader.peek("{.");
    if (braced) {
      reader.expect("{");
      slot.optional = true;
      if (reader.take(".")) {
        ModifierSet set;
        std::string_view name = reader.word();
        insertChoices(set, name);
        slot.optional = false;
        for (unsigned i = 0; i < std::size(kModifierTexts); ++i)
          if (set.contains(Modifier(i)))
            slot.condition = Modifier(i);
        reader.expect("?");
      }
    }
    if (!first || (braced && reader.peek(",")))
      reader.expect(", ");
    parseOperand(form, slot, first);
    if (braced)
      reader.expect("}");
  }

  consteval void parseOperand(Form &form, OperandSlot &slot, bool first) {
    if (reader.take("["))
      return parseAddress(form, slot);
    slot.negatable = reader.take("{!}");
    slot.minus = reader.take("{-}");
    std::string_view annotated = reader.word();
    std::string_view name = annotated.substr(0, annotated.find(':'));
    slot.name = name[0];
    slot.members = name == "membermask";
    slot.destination = first && (name == "d" || name == "p" || name == "f");
    if (annotated == "call") {
      slot.kind = OperandSlot::Kind::Call;
      return;
    }
    annotate(slot, annotated.substr(name.size()));
    if (reader.take("("))
      parseRange(slot.range);
    parseNeed(slot.version, slot.sm);
    if (reader.take("{|")) {
      slot.pair = true;
      reader.word();
      parseNeed(slot.version, slot.sm);
      reader.expect("}");
    } else if (reader.take("|")) {
      slot.pair = slot.pairRequired = true;
      reader.word();
    }
  }

  /// [a], [a:shared], [a{, b}, c:coords:s32], [a]{.unified}
  consteval void parseAddress(Form &form, OperandSlot &slot) {
    slot.kind = OperandSlot::Kind::Address;
    std::string_view annotated = reader.word();
    slot.name = annotated[0];
    annotate(slot,
             annotated.substr(annotated.find(':') == std::string_view::npos ? annotated.size()
                                                                            : annotated.find(':')));
    while (!reader.take("]")) {
      if (form.insideCount == kMaxInsideSlots)
        errorInSyntaxStringOfInstructionsDef("too many operands in brackets");
      OperandSlot &inside = form.insideSlots[form.insideCount++];
      ++slot.insideCount;
      parseListed(form, inside, false);
    }
    slot.unified = reader.take("{.unified}");
  }

  /// 4|8|16), 0..15), 24..256/8)
  consteval void parseRange(ConstantRange &range) {
    range.values[range.count++] = reader.number();
    if (reader.take("..")) {
      range.kind = ConstantRange::Kind::Interval;
      range.values[1] = reader.number();
      range.values[2] = reader.take("/") ? reader.number() : 1;
    } else {
      range.kind = ConstantRange::Kind::List;
      while (reader.take("|")) {
        if (range.count == std::size(range.values))
          errorInSyntaxStringOfInstructionsDef("too many constants");
        range.values[range.count++] = reader.number();
      }
    }
    reader.expect(")");
  }

  static consteval bool isNumbered(std::string_view annotation, char letter, unsigned &number) {
    if (annotation.size() < 2 || annotation[0] != letter)
      return false;
    number = 0;
    for (char c : annotation.substr(1)) {
      if (c < '0' || c > '9')
        return false;
      number = number * 10 + unsigned(c - '0');
    }
    return number > 0 && number < 256;
  }

  consteval void annotate(OperandSlot &slot, std::string_view annotations) {
    while (!annotations.empty()) {
      annotations.remove_prefix(1);
      std::string_view a = annotations.substr(0, annotations.find(':'));
      annotations.remove_prefix(a.size());
      if (!annotateFlag(slot, a) && !annotateWidth(slot, a) &&
          !(slot.kind == OperandSlot::Kind::Address && annotateSpace(slot, a)))
        annotateType(slot, a);
    }
  }

  static consteval bool annotateFlag(OperandSlot &slot, std::string_view a) {
    if (a == "imm")
      return slot.immediate = true;
    if (a == "any")
      return slot.anything = slot.special = true;
    if (a == "name")
      return slot.anything = true;
    if (a == "special")
      return slot.special = true;
    if (a == "wider")
      return slot.wider = true;
    if (a == "pack")
      return slot.packed = true;
    if (a == "sink")
      return slot.sink = true;
    if (a == "sinkonly")
      return slot.sinkOnly = slot.sink = true;
    if (a == "out")
      return slot.destination = true;
    if (a == "orpred")
      return slot.orPredicate = true;
    if (a == "orv4")
      return slot.orVector = true;
    if (a == "unlessv4")
      return slot.unlessVector = true;
    if (a == "oraddress")
      return slot.orAddress = true;
    using Selector = OperandSlot::Selector;
    slot.merges |= a == "selc";
    slot.selector = a == "sel" || a == "selc" ? Selector::Scalar
                    : a == "sel2"             ? Selector::Halves
                    : a == "sel4"             ? Selector::Bytes
                    : a == "mask2"            ? Selector::HalfMask
                    : a == "mask4"            ? Selector::ByteMask
                                              : slot.selector;
    return a.starts_with("sel") || a.starts_with("mask");
  }

  static consteval bool annotateWidth(OperandSlot &slot, std::string_view a) {
    using Rule = OperandSlot::WidthRule;
    unsigned number = 1;
    if (a == "vec")
      slot.widthRule = Rule::Spelled;
    else if (a == "coords")
      slot.widthRule = Rule::Coordinates;
    else if (a == "grads")
      slot.widthRule = Rule::Gradients;
    else if (a == "im2col")
      slot.widthRule = Rule::Im2col;
    else if (isNumbered(a, 'v', number))
      slot.widthRule = Rule::Fixed;
    else if (isNumbered(a, 'x', number))
      slot.widthRule = Rule::Times;
    else if (isNumbered(a, 'n', number))
      slot.widthRule = Rule::PerColumn;
    else
      return false;
    slot.widthFactor = uint8_t(number);
    return true;
  }

  static consteval bool annotateSpace(OperandSlot &slot, std::string_view a) {
    if (a == "second") {
      slot.spaceRule = OperandSlot::SpaceRule::Second;
      return true;
    }
    if (a != "shared" && a != "global" && a != "generic")
      return false;
    slot.spaceRule = OperandSlot::SpaceRule::Fixed;
    slot.space = a == "shared"   ? StateSpace::Shared
                 : a == "global" ? StateSpace::Global
                                 : StateSpace::None;
    return true;
  }

  static consteval void annotateType(OperandSlot &slot, std::string_view a) {
    slot.typeRule = a == "first"    ? OperandSlot::TypeRule::First
                    : a == "second" ? OperandSlot::TypeRule::Second
                    : a == "third"  ? OperandSlot::TypeRule::Third
                    : a == "wide"   ? OperandSlot::TypeRule::Wide
                                    : OperandSlot::TypeRule::Fixed;
    if (a == "label")
      slot.kind = OperandSlot::Kind::Label;
    else if (a == "labels")
      slot.kind = OperandSlot::Kind::LabelList;
    else if (a == "texref")
      slot.fixed = Type::TexRef;
    else if (a == "samplerref")
      slot.fixed = Type::SamplerRef;
    else if (a == "surfref")
      slot.fixed = Type::SurfRef;
    else if (slot.typeRule == OperandSlot::TypeRule::Fixed) {
      ModifierSet set;
      insertChoices(set, a);
      for (unsigned i = 1; i <= unsigned(kLastTypeModifier); ++i)
        if (set.contains(Modifier(i)))
          slot.fixed = Type(i); // the type modifiers come first, in the order of Type
      if (slot.fixed == Type::None)
        errorInSyntaxStringOfInstructionsDef("unknown annotation");
    }
  }

public:
  static constexpr ModifierRow kLastTypeModifier = ModifierRow::S2F6x2;
};

static_assert(unsigned(ModifierRow::Pred) == unsigned(Type::Pred) &&
                  unsigned(SyntaxString::kLastTypeModifier) + 1 == unsigned(Type::TexRef),
              "Modifiers.def begins with the types, in the order of Types.h");

consteval Form::Form(Operation op, bool lowered, const char *syntax, Availability availability,
                     Targets targets)
    : op(op), lowered(lowered), availability(availability), targets(targets),
      version(availability.first), sm(targets.first) {
  SyntaxString(syntax).parse(*this);
}

} // namespace rubia::ptx
