// Turns the syntax string of an Instructions.def row into a Form at compile time. A string that
// does not follow the notation (head of Instructions.def), or that names an unknown modifier, calls
// a function that is not constexpr, so that the row does not build.
#pragma once

#include "ptx-frontend/InstructionTable.h"
#include <string_view>

namespace rubia::ptx {

inline constexpr std::string_view kModifierTexts[] = {
    "",
#define PTX_MODIFIER(Name, Text, Category) Text,
#include "ptx-frontend/Modifiers.def"
};

struct ModifierClass {
  std::string_view name, choices;
};
inline constexpr ModifierClass kModifierClasses[] = {
#define PTX_MODIFIER_CLASS(Name, Choices) {Name, Choices},
#include "ptx-frontend/ModifierClasses.def"
};

void errorInSyntaxStringOfInstructionsDef(const char *what); // has no body: see above

class SyntaxString {
public:
  consteval SyntaxString(std::string_view text) : text(text) {}

  consteval Form parse(Op op, Version version, unsigned sm, std::string_view anchor) {
    Form form;
    form.op = op;
    form.syntax = llvm::StringRef(text.data(), text.size());
    form.version = version;
    form.sm = sm;
    form.anchor = llvm::StringRef(anchor.data(), anchor.size());
    std::string_view opcode = word();
    form.opcode = llvm::StringRef(opcode.data(), opcode.size());
    while (at < text.size() && text[at] != ' ')
      parseModifier(form);
    if (at < text.size()) {
      ++at;
      parseOperands(form);
    }
    return form;
  }

private:
  std::string_view text;
  size_t at = 0;

  consteval bool peek(char c) const { return at < text.size() && text[at] == c; }
  consteval bool take(char c) {
    if (!peek(c))
      return false;
    ++at;
    return true;
  }
  consteval void expect(char c) {
    if (!take(c))
      errorInSyntaxStringOfInstructionsDef("a character is missing");
  }
  static consteval bool isWordCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':';
  }
  consteval std::string_view word() {
    size_t begin = at;
    while (at < text.size() && isWordCharacter(text[at]))
      ++at;
    if (begin == at)
      errorInSyntaxStringOfInstructionsDef("a word is missing");
    return text.substr(begin, at - begin);
  }
  // `text` is without the dot.
  static consteval Mod modifier(std::string_view text) {
    for (unsigned i = 1; i < std::size(kModifierTexts); ++i) {
      std::string_view candidate = kModifierTexts[i];
      if (candidate.size() == text.size() + 1 && candidate[1] == text[0] &&
          candidate.substr(1) == text)
        return Mod(i);
    }
    return Mod::None;
  }
  static consteval void insertAll(ModifierSet &set, std::string_view choices) {
    while (true) {
      size_t end = choices.find('|');
      Mod mod = modifier(choices.substr(0, end));
      if (mod == Mod::None)
        errorInSyntaxStringOfInstructionsDef("unknown modifier");
      set.insert(mod);
      if (end == std::string_view::npos)
        return;
      choices.remove_prefix(end + 1);
    }
  }

  consteval void parseModifier(Form &form) {
    if (form.modifierCount == kMaxModifierSlots)
      errorInSyntaxStringOfInstructionsDef("too many modifiers");
    ModifierSlot &slot = form.modifierSlots[form.modifierCount++];
    slot.optional = take('{');
    expect('.');
    if (take('(')) {
      size_t end = text.find(')', at);
      insertAll(slot.choices, text.substr(at, end - at));
      at = end;
      expect(')');
    } else {
      std::string_view name = word();
      if (name == "xorsign") { // one modifier of two words
        expect('.');
        word();
        name = "xorsign.abs";
      }
      bool found = false;
      for (const ModifierClass &c : kModifierClasses)
        if (c.name == name) {
          insertAll(slot.choices, c.choices);
          found = true;
        }
      if (!found)
        insertAll(slot.choices, name);
    }
    if (slot.optional)
      expect('}');
  }

  consteval void parseOperands(Form &form) {
    while (true) {
      if (form.operandCount == kMaxOperandSlots)
        errorInSyntaxStringOfInstructionsDef("too many operands");
      OperandSlot &slot = form.operandSlots[form.operandCount++];
      bool first = form.operandCount == 1;
      if (!first) {
        slot.optional = take('{');
        expect(',');
        expect(' ');
      }
      parseOperand(slot, first);
      if (slot.optional)
        expect('}');
      if (at == text.size())
        return;
    }
  }

  consteval void parseOperand(OperandSlot &slot, bool first) {
    if (take('[')) {
      slot.kind = OperandSlot::Kind::Address;
      slot.name = text[at];
      if (word().size() != 1)
        errorInSyntaxStringOfInstructionsDef("an address has no annotation");
      expect(']');
      return;
    }
    if (peek('{')) { // {!}c, or nothing that we know
      ++at;
      expect('!');
      expect('}');
      slot.negatable = true;
    }
    std::string_view annotated = word();
    std::string_view name = annotated.substr(0, annotated.find(':'));
    slot.name = name[0];
    slot.destination = first && (name == "d" || name == "p" || name == "f");
    if (annotated == "call") {
      slot.kind = OperandSlot::Kind::Call;
      return;
    }
    annotate(slot, annotated.substr(name.size()));
    if (text.substr(at, 2) == "{|") {
      at += 2;
      slot.pair = true;
      word();
      expect('}');
    } else if (take('|')) {
      slot.pair = slot.pairRequired = true;
      word();
    }
  }

  consteval void annotate(OperandSlot &slot, std::string_view annotations) {
    while (!annotations.empty()) {
      annotations.remove_prefix(1);
      std::string_view a = annotations.substr(0, annotations.find(':'));
      annotations.remove_prefix(a.size());
      if (a == "imm")
        slot.immediate = true;
      else if (a == "any")
        slot.anything = slot.special = true;
      else if (a == "name")
        slot.anything = true;
      else if (a == "special")
        slot.special = true;
      else if (a == "wider")
        slot.wider = true;
      else if (a == "vec")
        slot.vector = true;
      else if (a == "pack")
        slot.packed = true;
      else if (a == "sink")
        slot.sink = true;
      else if (a == "label")
        slot.kind = OperandSlot::Kind::Label;
      else if (a == "labels")
        slot.kind = OperandSlot::Kind::LabelList;
      else if (a == "first")
        slot.typeRule = OperandSlot::TypeRule::First;
      else if (a == "second")
        slot.typeRule = OperandSlot::TypeRule::Second;
      else if (a == "wide")
        slot.typeRule = OperandSlot::TypeRule::Wide;
      else {
        Mod mod = modifier(a);
        if (mod == Mod::None || mod > Mod::E5M2x2)
          errorInSyntaxStringOfInstructionsDef("unknown annotation");
        slot.typeRule = OperandSlot::TypeRule::Fixed;
        slot.fixed = Type(unsigned(mod)); // the type modifiers come first, in the order of Type
      }
    }
  }
};

static_assert(unsigned(Mod::Pred) == unsigned(Type::Pred) &&
                  unsigned(Mod::E5M2x2) == unsigned(Type::E5M2x2),
              "Modifiers.def begins with the types, in the order of Types.h");

} // namespace rubia::ptx
