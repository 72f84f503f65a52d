// SPDX-License-Identifier: Apache-2.0
// One function a kind of mistake, on the parts of the instance.

#include "InstructionMutator.h"
#include "ptx-frontend/lib/TypeNames.h"
#include "llvm/ADT/StringExtras.h"
#include <iterator>

using llvm::StringRef;
using namespace rubia::ptx;

namespace rubia::test {

StringRef nameOf(Mutation mutation) {
  static constexpr StringRef kNames[kMutations] = {
      "swap modifiers",   "drop modifier", "double modifier", "sibling modifier",
      "foreign modifier", "other type",    "drop operand",    "add operand",
      "swap operands",    "operand kind",  "operand type",    "vector width",
      "constant",         "undeclared",    "old version",     "old target",
      "new target",       "guard",         "token",           "opcode"};
  return kNames[unsigned(mutation)];
}

StringRef nameOf(Mistake mistake) {
  static constexpr StringRef kNames[kMistakes] = {"modifiers", "types", "operand count",
                                                  "availability", "other"};
  return kNames[unsigned(mistake)];
}

Mistake mistakeOf(Mutation mutation) {
  switch (mutation) {
  case Mutation::SwapModifiers:
  case Mutation::DropModifier:
  case Mutation::DoubleModifier:
  case Mutation::SiblingModifier:
  case Mutation::ForeignModifier:
    return Mistake::Modifiers;
  case Mutation::OtherType:
  case Mutation::OperandType:
    return Mistake::Types;
  case Mutation::DropOperand:
  case Mutation::AddOperand:
    return Mistake::OperandCount;
  case Mutation::OldVersion:
  case Mutation::OldTarget:
  case Mutation::NewTarget:
    return Mistake::Availability;
  case Mutation::SwapOperands:
  case Mutation::OperandKind:
  case Mutation::VectorWidth:
  case Mutation::Constant:
  case Mutation::Undeclared:
  case Mutation::Guard:
  case Mutation::Token:
  case Mutation::Opcode:
    return Mistake::Other;
  }
  return Mistake::Other;
}

namespace {

constexpr StringRef kRegisterTypes[] = {"pred", "b8",  "u8",  "s8",  "b16", "u16",
                                        "s16",  "f16", "b32", "u32", "s32", "f32",
                                        "b64",  "u64", "s64", "f64", "b128"};

std::string registerOf(Random &random) {
  return "%" + random.pick(kRegisterTypes).str() + "_" + std::to_string(random.below(8));
}

// A choice of a random modifier slot of a random form of the opcode.
std::string siblingModifier(const Instance &instance, Random &random) {
  std::vector<const ModifierSlot *> slots;
  for (const Form &form : instructionForms())
    if (form.opcode() == instance.form->opcode())
      for (const ModifierSlot &slot : form.modifiers())
        slots.push_back(&slot);
  if (slots.empty())
    return ".ftz";
  const ModifierSlot &slot = *random.pick(slots);
  std::vector<Modifier> mods;
  for (unsigned i = 1; i < modifierCount(); ++i)
    if (slot.choices.contains(Modifier(i)))
      mods.push_back(Modifier(i));
  return textOf(random.pick(mods)).str();
}

std::string foreignModifier(Random &random) {
  const Form &form = instructionForms()[random.below(instructionForms().size())];
  Instance other;
  other.form = &form;
  return siblingModifier(other, random);
}

// Adds `modifier` or puts it in place of another.
void placeModifier(Instance &instance, std::string modifier, Random &random) {
  std::vector<std::string> &mods = instance.modifiers;
  size_t at = random.below(mods.size() + 1);
  if (at < mods.size() && random.chance(60))
    mods[at] = std::move(modifier);
  else
    mods.insert(mods.begin() + at, std::move(modifier));
}

std::string operandOfAnyKind(Random &random) {
  switch (random.below(16)) {
  case 0:
    return "[gv]";
  case 1:
    return "[%b64_1+4]";
  case 2:
    return "{%b32_1, %b32_2}";
  case 3:
    return "gv";
  case 4:
    return "fn";
  case 5:
    return "%tid.x";
  case 6:
    return "%tid";
  case 7:
    return "_";
  case 8:
    return "!%pred_1";
  case 9:
    return "%b32_1|%pred_2";
  case 10:
    return "L1";
  case 11:
    return "1.5";
  case 12:
    return "[%b32_1]";
  case 13:
    return "[sv]";
  case 14:
    return "0f3F800000";
  default:
    return "7";
  }
}

bool isConstant(StringRef operand) {
  return !operand.empty() && (llvm::isDigit(operand[0]) || operand[0] == '-' || operand[0] == '(');
}

std::string constantOfAnyKind(Random &random) {
  static constexpr StringRef kConstants[] = {"-1",
                                             "0",
                                             "16",
                                             "32",
                                             "33",
                                             "64",
                                             "255",
                                             "256",
                                             "65536",
                                             "-128",
                                             "4294967295",
                                             "4294967296",
                                             "1.0",
                                             "0f3F800000",
                                             "0d0000000000000000",
                                             "-2147483649",
                                             "0xffffffffffffffff",
                                             "18446744073709551616",
                                             "1.0e400",
                                             "0x",
                                             "9",
                                             "1U",
                                             "-0.0",
                                             "WARP_SZ",
                                             "5 > 3",
                                             "!0"};
  return random.pick(kConstants).str();
}

// One step down (or up) the list of versions that ptxas knows.
constexpr Version kVersions[] = {
    {1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 0}, {2, 1}, {2, 2}, {2, 3}, {3, 0}, {3, 1},
    {3, 2}, {4, 0}, {4, 1}, {4, 2}, {4, 3}, {5, 0}, {6, 0}, {6, 1}, {6, 2}, {6, 3}, {6, 4},
    {6, 5}, {7, 0}, {7, 1}, {7, 2}, {7, 3}, {7, 4}, {7, 5}, {7, 6}, {7, 7}, {7, 8}, {8, 0},
    {8, 1}, {8, 2}, {8, 3}, {8, 4}, {8, 5}, {8, 6}, {8, 7}, {8, 8}, {9, 0}};
void oneTargetEarlier(Dialect &dialect) {
  const Target *previous = nullptr;
  for (const Target &target : knownTargets()) {
    if (target.sm >= dialect.sm)
      break;
    previous = &target;
  }
  if (previous)
    dialect = withKnownTarget(
        {dialect.version, previous->sm, previous->variant, dialect.independentTextures});
}

void oneVersionEarlier(Instance &instance) {
  for (unsigned i = 1; i < std::size(kVersions); ++i)
    if (!(kVersions[i] < instance.dialect.version)) {
      instance.dialect.version = kVersions[i - 1];
      instance.dialect = withKnownTarget(instance.dialect);
      return;
    }
}

void changeVector(std::string &operand, Random &random) {
  size_t comma = operand.find(',');
  if (random.chance(50) && comma != std::string::npos)
    operand = "{" + operand.substr(comma + 2); // the first element is lost
  else
    operand.insert(operand.size() - 1,
                   ", " + operand.substr(1, std::min(comma, operand.size() - 1) - 1));
}

void changeToken(Instance &instance, Random &random) {
  switch (random.below(6)) {
  case 0:
    instance.end = "";
    return;
  case 1:
    instance.separator = " ";
    return;
  case 2:
    instance.end = ";;";
    return;
  case 3:
    instance.end = ",;";
    return;
  default:
    break;
  }
  if (instance.operands.empty())
    return;
  std::string &operand = instance.operands[random.below(instance.operands.size())];
  if (operand.empty())
    return;
  size_t at = random.below(operand.size());
  if (random.chance(50))
    operand.erase(at, 1);
  else
    operand.insert(at, 1, operand[random.below(operand.size())]);
}

} // namespace

Instance mutate(const Instance &original, Mutation mutation, Random &random) {
  Instance instance = original;
  std::vector<std::string> &mods = instance.modifiers, &operands = instance.operands;
  auto modifier = [&] { return random.below(mods.size()); };
  switch (mutation) {
  case Mutation::SwapModifiers:
    if (mods.size() > 1)
      std::swap(mods[modifier()], mods[modifier()]);
    break;
  case Mutation::DropModifier:
    if (!mods.empty())
      mods.erase(mods.begin() + modifier());
    break;
  case Mutation::DoubleModifier:
    if (!mods.empty()) {
      std::string twice = random.pick(mods);
      mods.insert(mods.begin() + modifier(), twice);
    }
    break;
  case Mutation::SiblingModifier:
    placeModifier(instance, siblingModifier(instance, random), random);
    break;
  case Mutation::ForeignModifier:
    placeModifier(instance, foreignModifier(random), random);
    break;
  case Mutation::OtherType: {
    std::vector<size_t> types;
    for (size_t i = 0; i < mods.size(); ++i)
      if (typeOf(modifierNamed(mods[i])) != Type::None)
        types.push_back(i);
    if (!types.empty())
      mods[random.pick(types)] = ptx::nameOf(Type(1 + random.below(unsigned(Type::E5M2x2)))).str();
    break;
  }
  case Mutation::DropOperand:
    if (!operands.empty())
      operands.erase(operands.begin() + random.below(operands.size()));
    break;
  case Mutation::AddOperand:
    operands.insert(operands.begin() + random.below(operands.size() + 1),
                    random.chance(50) ? registerOf(random) : operandOfAnyKind(random));
    break;
  case Mutation::SwapOperands:
    if (operands.size() > 1)
      std::swap(operands[random.below(operands.size())], operands[random.below(operands.size())]);
    break;
  case Mutation::OperandKind:
    if (!operands.empty())
      operands[random.below(operands.size())] = operandOfAnyKind(random);
    break;
  case Mutation::OperandType: {
    std::vector<size_t> registers;
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i].find("%") != std::string::npos)
        registers.push_back(i);
    if (registers.empty())
      break;
    std::string &operand = operands[random.pick(registers)];
    size_t begin = operand.find('%'),
           end = operand.find_first_not_of("%_abcdefghijklmnopqrstuvwxyz0123456789", begin);
    operand.replace(begin, end == std::string::npos ? end : end - begin, registerOf(random));
    break;
  }
  case Mutation::VectorWidth:
    for (std::string &operand : operands)
      if (operand[0] == '{') {
        changeVector(operand, random);
        return instance;
      }
    break;
  case Mutation::Constant: {
    std::vector<size_t> constants;
    for (size_t i = 0; i < operands.size(); ++i)
      if (isConstant(operands[i]))
        constants.push_back(i);
    if (!constants.empty())
      operands[random.pick(constants)] = constantOfAnyKind(random);
    else if (!operands.empty())
      operands[random.below(operands.size())] = constantOfAnyKind(random);
    break;
  }
  case Mutation::Undeclared:
    if (!operands.empty())
      operands[random.below(operands.size())] =
          random.oneOf({"%undeclared", "%b32_8", "nothing", "%tidx", "[nothing]"}).str();
    break;
  case Mutation::OldVersion:
    oneVersionEarlier(instance);
    break;
  case Mutation::OldTarget:
    oneTargetEarlier(instance.dialect);
    break;
  case Mutation::NewTarget:
    do {
      Target target = random.pick(knownTargets());
      instance.dialect = {{9, 0}, target.sm, target.variant, instance.dialect.independentTextures};
    } while (instance.dialect.sm < 75);
    break;
  case Mutation::Guard:
    instance.guard = random
                         .oneOf({"@%b32_1 ", "@!!%pred_1 ", "@1 ", "@ ", "@%undeclared ",
                                 "%pred_1 ", "@%tid.x "})
                         .str();
    break;
  case Mutation::Token:
    changeToken(instance, random);
    break;
  case Mutation::Opcode:
    if (random.chance(50))
      instance.opcode = instructionForms()[random.below(instructionForms().size())].opcode().str();
    else if (random.chance(50))
      instance.opcode += random.oneOf({"s", "x", "_", "2"}).str();
    else
      instance.opcode.pop_back();
    break;
  }
  return instance;
}

} // namespace rubia::test
