// SPDX-License-Identifier: Apache-2.0
// One operand at a time, from its place in the row.

#include "InstructionGenerator.h"
#include "ptx-frontend/lib/Spellings.h"
#include "ptx-frontend/lib/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;
using namespace rubia::ptx;

namespace rubia::ptx::Mod {
extern const Modifier A1d, A2d, A2dms, Acube;
} // namespace rubia::ptx::Mod

namespace rubia::test {

namespace {

// Register types that may stand for an instruction's type, the plainest first.
// PTX ISA: operand-type-checking.
std::vector<StringRef> registerTypesFor(Type type, bool wider, bool strict = false) {
  static constexpr StringRef kAll[] = {"b8",  "b16", "b32", "b64", "b128", "u8",  "u16", "u32",
                                       "u64", "s8",  "s16", "s32", "s64",  "f16", "f32", "f64"};
  if (type == Type::Pred)
    return {"pred"};
  std::vector<StringRef> types;
  for (StringRef candidate : kAll) {
    // Places of a fixed type take no floats for bits; .b128 is a register type of PTX 8.3.
    if ((strict && candidate.starts_with("f") && classOf(type) == TypeClass::Bits) ||
        (candidate == "b128" && type != Type::B128))
      continue;
    if (fits(type, typeOf(modifierNamed("." + candidate.str())), wider))
      types.push_back(candidate);
  }
  for (size_t i = 0; i < types.size(); ++i) // the type itself, or the bits of its size
    if (nameOf(type).drop_front() == types[i])
      std::swap(types[0], types[i]);
  return types;
}

class Generator {
public:
  Generator(const MatchedSpelling &spelling, Random &random) : spelling(spelling), random(random) {}

  std::vector<std::string> operands() {
    std::vector<std::string> texts;
    list(spelling.expected, texts);
    return texts;
  }

private:
  const MatchedSpelling &spelling;
  Random &random;

  void list(llvm::ArrayRef<ExpectedOperand> places, std::vector<std::string> &texts) {
    bool skipping = false;     // optional operands are filled from the left
    bool vectorStands = false; // in the place of the :orv4 operand
    for (const ExpectedOperand &expected : places) {
      if (expected.slot->unlessVector && !vectorStands) {
        texts.push_back(operand(expected));
        continue;
      }
      if (expected.slot->optional && (skipping || random.chance(50))) {
        skipping = true;
        continue;
      }
      texts.push_back(operand(expected));
      vectorStands |= expected.slot->orVector && texts.back()[0] == '{';
    }
  }

  static bool isStrict(const OperandSlot &slot) {
    return slot.typeRule == OperandSlot::TypeRule::Fixed;
  }
  std::string number(uint64_t bound) { return std::to_string(random.below(bound)); }

  std::string reg(const ExpectedOperand &expected) {
    std::vector<StringRef> types =
        registerTypesFor(expected.type, expected.slot->wider, isStrict(*expected.slot));
    // The plain type most of the time.
    StringRef chosen = random.chance(60) ? types.front() : random.pick(types);
    return "%" + chosen.str() + "_" + std::to_string(random.below(8));
  }

  std::string constant(Type type, const ConstantRange &range) {
    switch (range.kind) {
    case ConstantRange::Kind::Any:
      break;
    case ConstantRange::Kind::List:
      return std::to_string(range.values[random.below(range.count)]);
    case ConstantRange::Kind::Interval: {
      uint64_t steps = uint64_t(range.values[1] - range.values[0]) / uint64_t(range.values[2]) + 1;
      return std::to_string(range.values[0] + int64_t(random.below(steps)) * range.values[2]);
    }
    }
    if (type == Type::Pred)
      return random.oneOf({"1", "0", "-1"}).str();
    if (classOf(type) == TypeClass::Float)
      return random
          .oneOf({"1.0", "0.0", "-2.5", "0f3F800000", "0d3FF0000000000000", "1e10", "0f7FC00000"})
          .str();
    return random.oneOf({"0", "1", "-1", "31", "0x7f", "4", "(2+3)*4", "0b101", "017"}).str();
  }

  bool isLayered(const ExpectedOperand &expected) {
    return expected.slot->widthRule == OperandSlot::WidthRule::Coordinates &&
           (spelling.has(Mod::A1d) || spelling.has(Mod::A2d) || spelling.has(Mod::Acube) ||
            spelling.has(Mod::A2dms));
  }

  // ptxas wants elements of one type.
  std::string vector(const ExpectedOperand &expected) {
    std::vector<StringRef> types =
        registerTypesFor(expected.type, expected.slot->wider, isStrict(*expected.slot));
    StringRef type = random.chance(60) ? types.front() : random.pick(types);
    bool sinks = expected.slot->destination && random.chance(20);
    std::string text = "{";
    for (unsigned i = 0; i < expected.vectorWidth; ++i) {
      text += i ? ", " : "";
      if (i == 0 && isLayered(expected)) { // PTX ISA: texture-instructions-tex
        text += random.chance(50) ? "%u32_" + number(8) : "%b32_" + number(8);
        continue;
      }
      if (i && sinks && random.chance(50))
        text += "_";
      else
        text += "%" + type.str() + "_" + number(8);
    }
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

  std::string scalar(const ExpectedOperand &expected) {
    const OperandSlot &slot = *expected.slot;
    if (slot.sinkOnly)
      return "_";
    if (slot.immediate)
      return slot.range.kind == ConstantRange::Kind::Any ? number(128)
                                                         : constant(expected.type, slot.range);
    if (slot.destination) {
      if (slot.sink && random.chance(10))
        return "_";
      return reg(expected);
    }
    unsigned kind = unsigned(random.below(10));
    bool plain = classOf(expected.type) != TypeClass::Float || expected.type == Type::F32 ||
                 expected.type == Type::F64;
    plain &= expected.type != Type::U16x2 && expected.type != Type::S16x2;
    if (kind < 3 && plain)
      return constant(expected.type, slot.range);
    if (kind == 3 && slot.special)
      if (StringRef special = specialRegister(expected.type); !special.empty())
        return special.str();
    if (kind == 4 && slot.anything && classOf(expected.type) != TypeClass::Float &&
        sizeInBits(expected.type) >= 32)
      return variableFor(spelling.space());
    std::string text = reg(expected);
    if (slot.negatable && random.chance(30))
      return "!" + text;
    if (slot.minus && random.chance(30))
      return "-" + text;
    return text + selector(slot.selector);
  }

  // PTX ISA: video-instructions.
  std::string selector(OperandSlot::Selector kind) {
    switch (kind) {
    case OperandSlot::Selector::None:
      return "";
    case OperandSlot::Selector::Scalar:
      return random.oneOf({"", ".b0", ".b3", ".h0", ".h1"}).str();
    case OperandSlot::Selector::Halves:
      return random.oneOf({"", ".h10", ".h32", ".h20"}).str();
    case OperandSlot::Selector::Bytes:
      return random.oneOf({"", ".b3210", ".b7654", ".b0000"}).str();
    case OperandSlot::Selector::HalfMask:
      return random.oneOf({"", ".h0", ".h1", ".h10"}).str();
    case OperandSlot::Selector::ByteMask:
      return random.oneOf({"", ".b0", ".b3210", ".b31"}).str();
    }
    return "";
  }

  StringRef specialRegister(Type type) {
    if (classOf(type) == TypeClass::Float)
      return "";
    if (sizeInBits(type) == 32)
      return random.oneOf({"%tid.x", "%ntid.y", "%ctaid.z", "%nctaid.x", "%clock"});
    return sizeInBits(type) == 64 && !(spelling.version < Version{2, 0}) ? "%clock64" : "";
  }

  static std::string variableFor(StateSpace space) {
    switch (space) {
    case StateSpace::Const:
      return "cv";
    case StateSpace::Shared:
      return "sv";
    case StateSpace::Local:
      return "lv";
    case StateSpace::Param:
      return "pv";
    default: // generic addresses can be of .global
      return "gv";
    }
  }

  StateSpace spaceOf(const OperandSlot &slot) {
    switch (slot.spaceRule) {
    case OperandSlot::SpaceRule::First:
      return spelling.space();
    case OperandSlot::SpaceRule::Second: {
      unsigned seen = 0;
      for (Modifier mod : spelling.modifiers)
        if (ptx::spaceOf(mod) != StateSpace::None && seen++)
          return ptx::spaceOf(mod);
      return StateSpace::None;
    }
    case OperandSlot::SpaceRule::Fixed:
      return slot.space;
    }
    return StateSpace::None;
  }

  std::string base(const OperandSlot &slot) {
    switch (slot.fixed) {
    case Type::TexRef:
      return "texture";
    case Type::SamplerRef:
      return "sampler";
    case Type::SurfRef:
      return "surface";
    case Type::B32: // in tensor memory
      return "%b32_" + number(8);
    default: // bytes
      break;
    }
    StateSpace space = spaceOf(slot);
    std::string variable = variableFor(space);
    if (space == StateSpace::Param)
      return random.oneOf({"pv", "pv+16"}).str();
    switch (random.below(6)) {
    case 0:
      return variable;
    case 1:
      return variable + "+16";
    case 2:
      return "%b64_" + number(8) + "+-16";
    case 3:
      return "%u64_" + number(8) + "+32";
    default:
      return "%b64_" + number(8);
    }
  }

  std::string operand(const ExpectedOperand &expected) {
    const OperandSlot &slot = *expected.slot;
    switch (slot.kind) {
    case OperandSlot::Kind::Address: {
      std::vector<std::string> texts{base(slot)};
      if (slot.insideCount && random.chance(50) &&
          slot.fixed != Type::B32) // no offset beside coordinates
        texts[0] = variableFor(spaceOf(slot));
      else if (slot.insideCount)
        texts[0] = "%b64_" + number(8);
      if (classOf(slot.fixed) == TypeClass::Opaque)
        texts[0] = base(slot);
      if (slot.insideCount)
        list(spelling.inside, texts);
      return "[" + llvm::join(texts, ", ") + "]" +
             (slot.unified && random.chance(10) ? ".unified" : "");
    }
    case OperandSlot::Kind::Label:
      return "L1";
    case OperandSlot::Kind::LabelList:
      return "targets";
    case OperandSlot::Kind::Call:
      return random.chance(50) ? "procedure" : "(%u32_0), fn, (%u32_1)";
    case OperandSlot::Kind::Value:
      break;
    }
    if (classOf(slot.fixed) == TypeClass::Opaque)
      return base(slot);
    if (slot.orPredicate && random.chance(30))
      return "%pred_" + number(8);
    if (expected.vectorWidth > 1 || (slot.widthRule != OperandSlot::WidthRule::One &&
                                     slot.widthRule != OperandSlot::WidthRule::Spelled))
      return vector(expected);
    if (slot.packed && sizeInBits(expected.type) >= 32 && random.chance(40))
      return packed(expected.type);
    std::string text = scalar(expected);
    if (slot.pairRequired || (slot.pair && random.chance(30)))
      text += "|%pred_" + std::to_string(random.below(8));
    return text;
  }
};

std::vector<Modifier> choicesOf(const ModifierSlot &slot) {
  std::vector<Modifier> mods;
  for (unsigned i = 1; i < modifierCount(); ++i)
    if (slot.choices.contains(Modifier(i)))
      mods.push_back(Modifier(i));
  return mods;
}

} // namespace

// A target that the spelling may be for.
static Dialect oldestDialect(const MatchedSpelling &spelling, Random &random) {
  Dialect dialect{spelling.version, spelling.sm, 0};
  const Targets &targets = spelling.row->targets;
  if (targets.specificCount) {
    Targets::Specific target = targets.specific[random.below(targets.specificCount)];
    if (target.variant || target.sm >= dialect.sm)
      dialect = {spelling.version, target.sm, target.variant};
  }
  return withKnownTarget(dialect);
}

std::optional<Instance> generate(const Form &form, std::vector<std::string> modifiers,
                                 Random &random) {
  Instance instance;
  instance.form = &form;
  instance.opcode = form.opcode().str();
  instance.modifiers = std::move(modifiers);
  llvm::BumpPtrAllocator arena;
  const MatchedSpelling *spelling = matchSpelling(instance.spelling(), arena);
  if (!spelling || spelling->row != &form) // a row before it has this spelling
    return std::nullopt;
  instance.dialect = oldestDialect(*spelling, random);
  Version &version = instance.dialect.version;
  if (spelling->space() == StateSpace::Param) // kernels have none before
    version = std::max(version, Version{1, 4});
  if (random.chance(15))
    instance.guard = random.oneOf({"@%pred_1 ", "@!%pred_2 "}).str();
  instance.operands = Generator(*spelling, random).operands();
  std::string text = instance.text();
  if (text.find("[texture") != std::string::npos) // .texref
    version = std::max(version, Version{1, 5});
  if (text.find("sampler") != std::string::npos) {
    instance.dialect.independentTextures = true;
    version = std::max(version, Version{1, 5});
  }
  return instance;
}

Instance generate(const Form &form, Random &random) {
  while (true) {
    std::vector<std::string> modifiers;
    for (const ModifierSlot &slot : form.modifiers())
      if (!slot.optional || random.chance(40))
        modifiers.push_back(textOf(random.pick(choicesOf(slot))).str());
    if (std::optional<Instance> instance = generate(form, std::move(modifiers), random))
      return *std::move(instance);
  }
}

} // namespace rubia::test
