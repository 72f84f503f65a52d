// Every row of the table, in every choice of its modifiers, parses to its own row and prints back
// as it was written.

#include "ptx-frontend/InstructionTable.h"
#include "Dump.h"
#include "ptx-frontend/Printer.h"
#include "ptx-frontend/lib/Spellings.h"
#include "ptx-frontend/lib/TypeNames.h"
#include <gtest/gtest.h>
#include <set>

using namespace rubia::ptx;
using llvm::StringRef;

namespace {

std::vector<Mod> choicesOf(const ModifierSlot &slot) {
  std::vector<Mod> mods;
  for (unsigned i = 1; i < 256; ++i)
    if (slot.choices.contains(Mod(i)))
      mods.push_back(Mod(i));
  return mods;
}

// Spellings of a row: without and with its optional modifiers, and with every choice of every slot.
std::set<std::string> spellingsOf(const Form &form) {
  std::set<std::string> spellings;
  auto add = [&](bool optional, size_t variedSlot, size_t choice) {
    std::string text = form.opcode.str();
    for (size_t i = 0; i < form.modifiers().size(); ++i) {
      const ModifierSlot &slot = form.modifiers()[i];
      if (slot.optional && !optional && i != variedSlot)
        continue;
      text += textOf(choicesOf(slot)[i == variedSlot ? choice : 0]).str();
    }
    spellings.insert(text);
  };
  for (bool optional : {false, true}) {
    add(optional, ~size_t(0), 0);
    for (size_t i = 0; i < form.modifiers().size(); ++i)
      for (size_t c = 0; c < choicesOf(form.modifiers()[i]).size(); ++c)
        add(optional, i, c);
  }
  return spellings;
}

std::string registerOf(Type type, unsigned number) {
  return "%" + nameOf(type).drop_front().str() + "_" + std::to_string(number);
}

// An operand as the row wants it, and a second form of it where the row allows one.
std::string operandOf(const ExpectedOperand &expected, unsigned number, bool alternative) {
  const OperandSlot &slot = *expected.slot;
  switch (slot.kind) {
  case OperandSlot::Kind::Address:
    return alternative ? "[%u64_1+16]" : "[%u64_1]";
  case OperandSlot::Kind::Label:
    return "L";
  case OperandSlot::Kind::LabelList:
    return "$targets1";
  case OperandSlot::Kind::Call:
    return alternative ? "(%u32_0), g, (%u32_1)" : "f";
  case OperandSlot::Kind::Value:
    break;
  }
  if (slot.immediate)
    return "3";
  if (expected.vectorWidth > 1) {
    std::string vector = "{";
    for (unsigned i = 0; i < expected.vectorWidth; ++i)
      vector += (i ? ", " : "") + registerOf(expected.type, i);
    return vector + "}";
  }
  std::string text = registerOf(expected.type, number);
  if (slot.pairRequired || (slot.pair && alternative))
    return text + "|" + registerOf(Type::Pred, 7);
  if (slot.negatable && alternative)
    return "!" + text;
  if (slot.sink && alternative)
    return "_";
  return text;
}

std::string moduleWith(const MatchedSpelling &spelling, StringRef instruction) {
  std::string text = ".version " + std::to_string(spelling.version.major) + "." +
                     std::to_string(spelling.version.minor) + "\n.target sm_" +
                     std::to_string(spelling.sm) +
                     "\n.address_size 64\n.func f() { ret; }\n"
                     ".func (.reg .u32 r) g(.reg .u32 a) { ret; }\n.entry k() {\n";
  for (unsigned i = unsigned(Type::Pred); i <= unsigned(Type::E5M2x2); ++i)
    text += ".reg " + nameOf(Type(i)).str() + " %" + nameOf(Type(i)).drop_front().str() + "_<8>;\n";
  if (instruction.contains("$targets1"))
    text += "$targets1: .branchtargets L;\n";
  return text + instruction.str() + ";\nL:\n}\n";
}

TEST(PtxInstructionTable, HasNoTwoRowsForOneSpelling) {
  for (const Form &form : instructionForms())
    for (const std::string &spelling : spellingsOf(form)) {
      llvm::BumpPtrAllocator arena;
      const MatchedSpelling *match = matchSpelling(spelling, arena);
      ASSERT_TRUE(match) << spelling << " of " << form.syntax.str();
      EXPECT_EQ(match->row->syntax, form.syntax) << spelling;
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
      for (unsigned optional = 0; optional < 2; ++optional) {
        std::string text = spelling;
        unsigned number = 0;
        for (const ExpectedOperand &expected : match->expected) {
          if (expected.slot->optional && !optional)
            continue;
          text += (number ? ", " : " ") + operandOf(expected, number, alternative);
          ++number;
        }
        ParseResult result = parse("row.ptx", moduleWith(*match, text));
        ASSERT_EQ(messages(result), "") << text;
        const Function &k = *result.module.function("k");
        ASSERT_EQ(k.body.size(), 1u);
        EXPECT_EQ(k.body[0].op(), form.op);
        std::string printed = print(result.module, k, k.body[0]);
        if (size_t list = printed.find(";\n"); list != std::string::npos) // .branchtargets first
          printed = StringRef(printed).drop_front(list + 2).trim().str();
        EXPECT_EQ(printed, text + ";");
        ++tested;
      }
  }
  EXPECT_GT(tested, 0u);
}

std::string rowName(const testing::TestParamInfo<size_t> &info) {
  std::string name = std::to_string(info.param) + "_";
  for (char c : instructionForms()[info.param].syntax.take_until([](char c) { return c == ' '; }))
    name += isalnum(c) ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, PtxInstructionRow,
                         testing::Range<size_t>(0, instructionForms().size()), rowName);

TEST(PtxInstructionTable, ReadsTheNotation) {
  auto find = [](StringRef syntax) -> const Form & {
    for (const Form &form : instructionForms())
      if (form.syntax == syntax)
        return form;
    ADD_FAILURE() << "no row " << syntax.str();
    return instructionForms()[0];
  };
  const Form &add = find("add{.rnd}{.ftz}{.sat}.f32 d, a, b");
  ASSERT_EQ(add.modifiers().size(), 4u);
  EXPECT_TRUE(add.modifiers()[0].optional);
  EXPECT_EQ(choicesOf(add.modifiers()[0]), (std::vector<Mod>{Mod::Rn, Mod::Rz, Mod::Rm, Mod::Rp}));
  EXPECT_FALSE(add.modifiers()[3].optional);
  ASSERT_EQ(add.operands().size(), 3u);
  EXPECT_TRUE(add.operands()[0].destination);
  EXPECT_FALSE(add.operands()[1].destination);
  EXPECT_EQ(add.requiredOperands(), 3u);
  const Form &bar = find("bar{.cta}.sync a:u32{, b:u32}");
  EXPECT_EQ(bar.requiredOperands(), 1u);
  EXPECT_FALSE(bar.operands()[0].destination);
  EXPECT_EQ(bar.operands()[1].fixed, Type::U32);
}

TEST(PtxInstructionTable, EveryRowNamesAnAnchor) {
  for (const Form &form : instructionForms()) {
    EXPECT_FALSE(form.anchor.empty()) << form.syntax.str();
    EXPECT_TRUE(form.sm >= 10 && form.sm <= 121) << form.syntax.str();
    EXPECT_TRUE(form.version.major >= 1 && form.version.major <= 9) << form.syntax.str();
  }
}

} // namespace
