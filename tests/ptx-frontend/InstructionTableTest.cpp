// SPDX-License-Identifier: Apache-2.0
// Every row of the table, in every choice of its modifiers, parses to its own row and prints back
// as it was written.

#include "ptx-frontend/InstructionTable.h"
#include "Dump.h"
#include "ptx-frontend/Printer.h"
#include "ptx-frontend/lib/Spellings.h"
#include "ptx-frontend/lib/SyntaxString.h"
#include "ptx-frontend/lib/TypeNames.h"
#include "tests/ptx-generator/Instance.h"
#include <gtest/gtest.h>
#include <set>

using namespace rubia::ptx;
using llvm::StringRef;

namespace rubia::ptx::Mod {
extern const Modifier Rm, Rn, Rp, Rz;
} // namespace rubia::ptx::Mod

namespace {

std::vector<Modifier> choicesOf(const ModifierSlot &slot) {
  std::vector<Modifier> mods;
  for (unsigned i = 1; i < modifierCount(); ++i)
    if (slot.choices.contains(Modifier(i)))
      mods.push_back(Modifier(i));
  return mods;
}

// Spellings of a row: without and with its optional modifiers, and with every choice of every slot.
std::set<std::string> spellingsOf(const Form &form) {
  std::set<std::string> spellings;
  llvm::ArrayRef<ModifierSlot> slots = form.modifiers();
  auto group = [&](size_t i) { // {.x.y} comes and goes as one
    while (i < slots.size() && slots[i].withPrevious)
      --i;
    return i;
  };
  auto add = [&](bool optional, size_t variedSlot, size_t choice) {
    std::string text = form.opcode().str();
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].optional && !optional && group(i) != group(variedSlot))
        continue;
      text += textOf(choicesOf(slots[i])[i == variedSlot ? choice : 0]).str();
    }
    spellings.insert(text);
  };
  for (bool optional : {false, true}) {
    add(optional, ~size_t(0), 0);
    for (size_t i = 0; i < slots.size(); ++i)
      for (size_t c = 0; c < choicesOf(slots[i]).size(); ++c)
        add(optional, i, c);
  }
  return spellings;
}

// A register of plain bits fits every type of its size.
std::string registerOf(Type type, unsigned number) {
  if (type == Type::Pred)
    return "%p" + std::to_string(number % 8);
  return "%b" + std::to_string(sizeInBits(type)) + "_" + std::to_string(number % 8);
}

std::string vectorOf(Type type, unsigned width, unsigned number) {
  std::string vector = "{";
  for (unsigned i = 0; i < width; ++i)
    vector += (i ? ", " : "") + registerOf(type, number + i);
  return vector + "}";
}

// Which of a row's freedoms an instance uses.
struct Style {
  bool alternative = false; // the second form of each operand that has one
  bool optional = false;    // the optional operands
};

std::string selectorOf(const OperandSlot &slot, Style style) {
  switch (slot.selector) {
  case OperandSlot::Selector::None:
    return "";
  case OperandSlot::Selector::Scalar:
    return slot.merges && !style.optional ? "" : ".h1";
  case OperandSlot::Selector::Halves:
    return ".h21";
  case OperandSlot::Selector::Bytes:
    return ".b7610";
  case OperandSlot::Selector::HalfMask:
    return ".h1";
  case OperandSlot::Selector::ByteMask:
    return ".b210";
  }
  return "";
}

std::string constantOf(const ExpectedOperand &expected) {
  const ConstantRange &range = expected.slot->range;
  if (expected.type == Type::F32)
    return "0f3F000000";
  return std::to_string(range.kind == ConstantRange::Kind::Any ? 4 : range.values[0]);
}

std::string valueOf(const ExpectedOperand &expected, unsigned number, Style style) {
  using Rule = OperandSlot::WidthRule;
  const OperandSlot &slot = *expected.slot;
  std::string text;
  bool vector = slot.widthRule != Rule::One && slot.widthRule != Rule::Spelled;
  if (slot.sinkOnly || (slot.sink && style.alternative && !slot.pairRequired))
    return "_";
  if (slot.immediate)
    return constantOf(expected);
  if (slot.orVector && style.alternative)
    return vectorOf(Type::B32, 4, number);
  if (slot.orPredicate && style.alternative)
    return registerOf(Type::Pred, number);
  text = vector || expected.vectorWidth > 1 ? vectorOf(expected.type, expected.vectorWidth, number)
                                            : registerOf(expected.type, number);
  if (style.alternative)
    text = (slot.negatable ? "!" : slot.minus ? "-" : "") + text + selectorOf(slot, style);
  if (slot.pairRequired || (slot.pair && style.alternative))
    text += "|" + registerOf(Type::Pred, 7);
  return text;
}

std::string addressOf(const OperandSlot &slot, const MatchedSpelling &spelling, Style style) {
  bool tensorMemory = slot.fixed == Type::B32;
  std::string text = tensorMemory ? "[%b32_1" : "[%b64_1";
  if (style.alternative && !slot.insideCount && slot.fixed == Type::None)
    text += "+16";
  if (slot.insideCount)
    for (const ExpectedOperand &inside : spelling.inside)
      if (!inside.slot->optional)
        text += ", " + valueOf(inside, 1, {});
  return text + (slot.unified && style.alternative ? "].unified" : "]");
}

std::string operandOf(const ExpectedOperand &expected, const MatchedSpelling &spelling,
                      unsigned number, Style style) {
  switch (expected.slot->kind) {
  case OperandSlot::Kind::Address:
    return addressOf(*expected.slot, spelling, style);
  case OperandSlot::Kind::Label:
    return "L";
  case OperandSlot::Kind::LabelList:
    return "$targets1";
  case OperandSlot::Kind::Call:
    return style.alternative ? "(%b32_0), g, (%b32_1)" : "f";
  case OperandSlot::Kind::Value:
    break;
  }
  if (expected.slot->orAddress && style.alternative)
    return "[%b32_2]";
  return valueOf(expected, number, style);
}

struct RowInstance {
  std::string text; // without semicolon
  Version version;
  unsigned sm;
};

RowInstance instanceOf(const MatchedSpelling &spelling, Style style) {
  RowInstance result{spelling.text.str(), spelling.version, spelling.sm};
  unsigned number = 0;
  for (const ExpectedOperand &expected : spelling.expected) {
    const OperandSlot &slot = *expected.slot;
    if (slot.unlessVector ? style.alternative : slot.optional && !style.optional)
      continue;
    if (slot.sm) {
      result.version = std::max(result.version, slot.version);
      result.sm = std::max(result.sm, unsigned(slot.sm));
    }
    if (slot.orPredicate && style.alternative) // cp.async
      result.version = std::max(result.version, Version{7, 5});
    result.text += (number ? ", " : " ") + operandOf(expected, spelling, number, style);
    ++number;
  }
  return result;
}

// For the first target that the row names, or the oldest.
std::string moduleWith(const MatchedSpelling &spelling, const RowInstance &instance) {
  const Targets &targets = spelling.row->targets;
  rubia::test::Dialect dialect{instance.version, instance.sm};
  if (targets.specificCount)
    dialect = {instance.version, targets.specific[0].sm, targets.specific[0].variant};
  dialect = rubia::test::withKnownTarget(dialect);
  std::string text =
      ".version " + std::to_string(dialect.version.major) + "." +
      std::to_string(dialect.version.minor) + "\n.target " + dialect.target() +
      "\n.address_size 64\n.func f() { ret; }\n"
      ".func (.reg .u32 r) g(.reg .u32 a) { ret; }\n.entry k() {\n.reg .pred %p<8>;\n";
  for (Type type : {Type::B8, Type::B16, Type::B32, Type::B64, Type::B128})
    text += ".reg " + nameOf(type).str() + " %" + nameOf(type).drop_front().str() + "_<8>;\n";
  if (StringRef(instance.text).contains("$targets1"))
    text += "$targets1: .branchtargets L;\n";
  return text + instance.text + ";\nL:\n}\n";
}

TEST(PtxInstructionTable, HasNoTwoRowsForOneSpelling) {
  for (const Form &form : instructionForms())
    for (const std::string &spelling : spellingsOf(form)) {
      llvm::BumpPtrAllocator arena;
      const MatchedSpelling *match = matchSpelling(spelling, arena);
      ASSERT_TRUE(match) << spelling << " of " << form.syntax().str();
      EXPECT_EQ(match->row->syntax(), form.syntax()) << spelling;
    }
}

class PtxInstructionRow : public testing::TestWithParam<size_t> {};

TEST_P(PtxInstructionRow, ParsesAndPrintsBack) {
  const Form &form = instructionForms()[GetParam()];
  unsigned tested = 0;
  for (const std::string &spelling : spellingsOf(form)) {
    llvm::BumpPtrAllocator arena;
    const MatchedSpelling *match = matchSpelling(spelling, arena);
    ASSERT_TRUE(match) << spelling;
    for (bool alternative : {false, true})
      for (bool optional : {false, true}) {
        RowInstance instance = instanceOf(*match, {alternative, optional});
        ParseResult result = parse("row.ptx", moduleWith(*match, instance));
        ASSERT_EQ(messages(result), "") << instance.text;
        const Function &k = *result.module.function("k");
        ASSERT_EQ(k.body.size(), 1u);
        EXPECT_EQ(k.body[0].op(), form.op);
        std::string printed = print(result.module, k, k.body[0]);
        if (size_t list = printed.find(";\n"); list != std::string::npos) // .branchtargets first
          printed = StringRef(printed).drop_front(list + 2).trim().str();
        EXPECT_EQ(printed, instance.text + ";");
        ++tested;
      }
  }
  EXPECT_GT(tested, 0u);
}

std::string rowName(const testing::TestParamInfo<size_t> &info) {
  std::string name = std::to_string(info.param) + "_";
  for (char c : instructionForms()[info.param].syntax().take_until([](char c) { return c == ' '; }))
    name += isalnum(c) ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, PtxInstructionRow,
                         testing::Range<size_t>(0, instructionForms().size()), rowName);

TEST(PtxInstructionTable, ReadsTheNotation) {
  auto find = [](StringRef syntax) -> const Form & {
    for (const Form &form : instructionForms())
      if (form.syntax() == syntax)
        return form;
    ADD_FAILURE() << "no row " << syntax.str();
    return instructionForms()[0];
  };
  const Form &sub = find("sub{.rnd}{.sat}.f32.(f16|bf16) d:f32, a, c:f32");
  ASSERT_EQ(sub.modifiers().size(), 4u);
  EXPECT_TRUE(sub.modifiers()[0].optional);
  EXPECT_EQ(choicesOf(sub.modifiers()[0]),
            (std::vector<Modifier>{Mod::Rn, Mod::Rz, Mod::Rm, Mod::Rp}));
  EXPECT_FALSE(sub.modifiers()[3].optional);
  ASSERT_EQ(sub.operands().size(), 3u);
  EXPECT_TRUE(sub.operands()[0].destination);
  EXPECT_FALSE(sub.operands()[1].destination);
  EXPECT_EQ(sub.requiredOperands(), 3u);
  EXPECT_FALSE(find("tcgen05.(wait::ld|wait::st).sync.aligned").lowered);
  const Form &bar = find("bar{.cta@7.8/20}.sync a:u32(0..15){, b:u32}");
  EXPECT_EQ(bar.requiredOperands(), 1u);
  EXPECT_FALSE(bar.operands()[0].destination);
  EXPECT_EQ(bar.operands()[1].fixed, Type::U32);
  EXPECT_EQ(bar.modifiers()[0].sm, 20u);
  EXPECT_TRUE(bar.operands()[0].range.allows(15));
  EXPECT_FALSE(bar.operands()[0].range.allows(16));
}

TEST(PtxInstructionTable, KnowsWhichOperandsASpellingHas) {
  llvm::BumpPtrAllocator arena;
  auto operands = [&](StringRef text) {
    const MatchedSpelling *match = matchSpelling(text, arena);
    return match ? int(match->expected.size()) : -1;
  };
  EXPECT_EQ(operands("atom.global.exch.b128"), 3);
  EXPECT_EQ(operands("atom.global.exch.L2::cache_hint.b128"), 4);
  auto width = [&](StringRef text, unsigned n) {
    const MatchedSpelling *match = matchSpelling(text, arena);
    return match ? int(match->expected[n].vectorWidth) : -1;
  };
  EXPECT_EQ(width("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", 0), 128);
  EXPECT_EQ(width("wgmma.mma_async.sync.aligned.m64n104k16.f16.f16.f16", 0), 26);
  EXPECT_EQ(width("tcgen05.ld.sync.aligned.16x256b.x4.b32", 0), 16);
  EXPECT_EQ(width("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 2), 2);
  EXPECT_EQ(
      width("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
            3),
      3);
}

TEST(PtxInstructionTable, KnowsWhatASpellingNeeds) {
  llvm::BumpPtrAllocator arena;
  auto needs = [&](StringRef text) {
    const MatchedSpelling *match = matchSpelling(text, arena);
    if (!match)
      return std::string("none");
    return std::to_string(match->version.major) + "." + std::to_string(match->version.minor) +
           " sm_" + std::to_string(match->sm);
  };
  EXPECT_EQ(needs("atom.global.add.u32"), "1.0 sm_11");
  EXPECT_EQ(needs("atom.gpu.global.add.u32"), "5.0 sm_60");
  EXPECT_EQ(needs("atom.relaxed.cluster.global.add.u32"), "7.8 sm_90");
  EXPECT_EQ(needs("min.f32"), "1.0 sm_10");
  EXPECT_EQ(needs("min.NaN.f32"), "7.0 sm_80");
  EXPECT_EQ(needs("mbarrier.arrive.b64"), "7.0 sm_80");
  EXPECT_EQ(needs("mbarrier.arrive.release.cta.b64"), "8.0 sm_80");
  EXPECT_EQ(needs("mbarrier.arrive.release.b64"), "none"); // semantics and scope go together
}

TEST(PtxInstructionTable, KnowsTargetsAndWhatWasTakenBack) {
  constexpr Targets wgmma("90a"), tcgen05("100f 110f"), plain(80);
  EXPECT_TRUE(wgmma.allows(90, 'a'));
  EXPECT_FALSE(wgmma.allows(90, 0));
  EXPECT_FALSE(wgmma.allows(100, 'a'));
  EXPECT_TRUE(tcgen05.allows(103, 'f'));
  EXPECT_TRUE(tcgen05.allows(103, 'a'));
  EXPECT_TRUE(tcgen05.allows(101, 'a')); // the old name of sm_110
  EXPECT_FALSE(tcgen05.allows(103, 0));
  EXPECT_FALSE(tcgen05.allows(120, 'f'));
  EXPECT_TRUE(plain.allows(86, 0));
  EXPECT_FALSE(plain.allows(75, 0));
  llvm::BumpPtrAllocator arena;
  const Availability &old = matchSpelling("shfl.up.b32", arena)->row->availability;
  EXPECT_FALSE(old.hasRemoved({6, 3}, 70));
  EXPECT_FALSE(old.hasRemoved({6, 4}, 60));
  EXPECT_TRUE(old.hasRemoved({6, 4}, 70));
}

TEST(PtxInstructionTable, EveryRowNamesAnAnchor) {
  for (const Form &form : instructionForms()) {
    EXPECT_FALSE(form.anchor().empty()) << form.syntax().str();
    EXPECT_TRUE(form.sm >= 10 && form.sm <= 121) << form.syntax().str();
    EXPECT_TRUE(form.version.major >= 1 && form.version.major <= 9) << form.syntax().str();
  }
}

} // namespace
