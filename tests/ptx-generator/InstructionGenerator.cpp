// One operand at a time, from its place in the row.

#include "InstructionGenerator.h"
#include "ptx-frontend/lib/Spellings.h"
#include "ptx-frontend/lib/TypeNames.h"

using llvm::StringRef;
using namespace rubia::ptx;

namespace rubia::test {

namespace {

// Register types that may stand for an instruction's type. PTX ISA: operand-type-checking.
std::vector<StringRef> registerTypesFor(Type type, bool wider) {
  switch (type) {
  case Type::Pred:
    return {"pred"};
  case Type::F32:
    return wider ? std::vector<StringRef>{"f32", "b32", "b64"}
                 : std::vector<StringRef>{"f32", "b32"};
  case Type::F64:
    return {"f64", "b64"};
  case Type::F16:
    return {"f16", "b16"};
  default:
    break;
  }
  std::vector<StringRef> types;
  static constexpr StringRef kBySize[5][4] = {{"b8", "u8", "s8", ""},
                                              {"b16", "u16", "s16", "f16"},
                                              {"b32", "u32", "s32", "f32"},
                                              {"b64", "u64", "s64", "f64"},
                                              {"b128", "", "", ""}};
  unsigned size = sizeInBits(type);
  TypeClass c = classOf(type);
  for (unsigned row = 0; row < 5; ++row) {
    if (size != 8u << row && !(wider && size < 8u << row && row < 4))
      continue;
    unsigned count = c == TypeClass::Bits ? 4 : c == TypeClass::Float ? 1 : 3;
    for (unsigned i = 0; i < count; ++i)
      if (!kBySize[row][i].empty())
        types.push_back(kBySize[row][i]);
  }
  return types;
}

class Generator {
public:
  Generator(const MatchedSpelling &spelling, Random &random) : spelling(spelling), random(random) {}

  std::vector<std::string> operands() {
    std::vector<std::string> texts;
    bool skipping = false; // optional operands are filled from the left
    for (const ExpectedOperand &expected : spelling.expected) {
      if (expected.slot->optional && (skipping || random.chance(50))) {
        skipping = true;
        continue;
      }
      texts.push_back(operand(expected));
    }
    return texts;
  }

private:
  const MatchedSpelling &spelling;
  Random &random;

  std::string reg(Type type, bool wider = false) {
    std::vector<StringRef> types = registerTypesFor(type, wider);
    // The plain type most of the time.
    StringRef chosen = random.chance(60) ? types.front() : random.pick(types);
    return "%" + chosen.str() + "_" + std::to_string(random.below(8));
  }

  std::string constant(Type type) {
    if (type == Type::Pred)
      return random.oneOf({"1", "0", "-1"}).str();
    if (classOf(type) == TypeClass::Float)
      return random
          .oneOf({"1.0", "0.0", "-2.5", "0f3F800000", "0d3FF0000000000000", "1e10", "0f7FC00000"})
          .str();
    return random.oneOf({"0", "1", "-1", "31", "0x7f", "4", "(2+3)*4", "0b101", "017"}).str();
  }

  std::string vector(const ExpectedOperand &expected) {
    std::string text = "{";
    for (unsigned i = 0; i < expected.vectorWidth; ++i)
      text += std::string(i ? ", " : "") + scalar(expected, /*element=*/true);
    return text + "}";
  }

  std::string packed(Type type) {
    unsigned size = sizeInBits(type);
    unsigned count = size >= 32 && random.chance(30) ? 4 : 2;
    static constexpr StringRef kTypes[] = {"b8", "b16", "b32", "b64"};
    unsigned row = llvm::Log2_32(size / count / 8);
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += std::string(i ? ", %" : "%") + kTypes[row].str() + "_" + std::to_string(i);
    return text + "}";
  }

  std::string scalar(const ExpectedOperand &expected, bool element = false) {
    const OperandSlot &slot = *expected.slot;
    if (slot.immediate)
      return std::to_string(random.below(128));
    if (slot.destination) {
      if (slot.sink && random.chance(10))
        return "_";
      return reg(expected.type, slot.wider);
    }
    unsigned kind = unsigned(random.below(10));
    if (kind < 3 && expected.type != Type::F16)
      return constant(expected.type);
    if (kind == 3 && slot.special && !element)
      if (StringRef special = specialRegister(expected.type); !special.empty())
        return special.str();
    if (kind == 4 && slot.anything && !element && classOf(expected.type) != TypeClass::Float &&
        sizeInBits(expected.type) >= 32)
      return "gv";
    std::string text = reg(expected.type, slot.wider);
    if (slot.negatable && random.chance(30))
      return "!" + text;
    return text;
  }

  StringRef specialRegister(Type type) {
    if (classOf(type) == TypeClass::Float)
      return "";
    if (sizeInBits(type) == 32)
      return random.oneOf({"%tid.x", "%ntid.y", "%ctaid.z", "%laneid", "%clock"});
    return sizeInBits(type) == 64 ? "%clock64" : "";
  }

  std::string address() {
    StringRef variable;
    switch (spelling.space()) {
    case StateSpace::Const:
      variable = "cv";
      break;
    case StateSpace::Shared:
      variable = "sv";
      break;
    case StateSpace::Local:
      variable = "lv";
      break;
    case StateSpace::Param:
      return random.oneOf({"[pv]", "[pv+16]"}).str();
    default:
      variable = "gv";
      break;
    }
    switch (random.below(6)) {
    case 0:
      return "[" + variable.str() + "]";
    case 1:
      return "[" + variable.str() + "+16]";
    case 2:
      return "[%b64_" + std::to_string(random.below(8)) + "+-16]";
    case 3:
      return "[%u64_" + std::to_string(random.below(8)) + "+32]";
    default:
      return "[%b64_" + std::to_string(random.below(8)) + "]";
    }
  }

  std::string operand(const ExpectedOperand &expected) {
    const OperandSlot &slot = *expected.slot;
    switch (slot.kind) {
    case OperandSlot::Kind::Address:
      return address();
    case OperandSlot::Kind::Label:
      return "L1";
    case OperandSlot::Kind::LabelList:
      return "targets";
    case OperandSlot::Kind::Call:
      return random.chance(50) ? "procedure" : "(%u32_0), fn, (%u32_1)";
    case OperandSlot::Kind::Value:
      break;
    }
    if (expected.vectorWidth > 1)
      return vector(expected);
    if (slot.packed && sizeInBits(expected.type) >= 32 && random.chance(40))
      return packed(expected.type);
    std::string text = scalar(expected);
    if (slot.pairRequired || (slot.pair && random.chance(30)))
      text += "|%pred_" + std::to_string(random.below(8));
    return text;
  }
};

std::vector<Mod> choicesOf(const ModifierSlot &slot) {
  std::vector<Mod> mods;
  for (unsigned i = 1; i < 64 * std::size(slot.choices.words); ++i)
    if (slot.choices.contains(Mod(i)))
      mods.push_back(Mod(i));
  return mods;
}

} // namespace

Instance generate(const Form &form, Random &random) {
  Instance instance;
  instance.form = &form;
  instance.opcode = form.opcode.str();
  instance.dialect = withKnownTarget({form.version, form.sm, 0});
  llvm::BumpPtrAllocator arena;
  while (true) {
    instance.modifiers.clear();
    for (const ModifierSlot &slot : form.modifiers())
      if (!slot.optional || random.chance(40))
        instance.modifiers.push_back(textOf(random.pick(choicesOf(slot))).str());
    const MatchedSpelling *spelling = matchSpelling(instance.spelling(), arena);
    if (!spelling || spelling->row != &form) // a row before it has this spelling
      continue;
    if (random.chance(15))
      instance.guard = random.oneOf({"@%pred_1 ", "@!%pred_2 "}).str();
    instance.operands = Generator(*spelling, random).operands();
    return instance;
  }
}

} // namespace rubia::test
