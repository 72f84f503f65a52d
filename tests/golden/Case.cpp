// SPDX-License-Identifier: Apache-2.0
#include "Case.h"
#include "ptx-frontend/lib/Spellings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <random>

using namespace llvm;

namespace rubia::golden {
namespace {

constexpr StringRef kChapters[] = {
    "integer-arithmetic-instructions",
    "extended-precision-arithmetic-instructions",
    "floating-point-instructions",
    "half-precision-floating-point-instructions",
    "mixed-precision-floating-point-instructions",
    "comparison-and-selection-instructions",
    "half-precision-comparison-instructions",
    "logic-and-shift-instructions",
    "data-movement-and-conversion-instructions-cvt",
    "data-movement-and-conversion-instructions-mov",
    "data-movement-and-conversion-instructions-prmt",
    "scalar-video-instructions",
    "simd-video-instructions",
    "video-instructions",
};

// What modules are written for at least.
constexpr ptx::Version kDialect{7, 0};
constexpr unsigned kOldestSm = 52;

StringRef chapterOf(const ptx::Form &form) {
  for (StringRef chapter : kChapters)
    if (form.anchor().starts_with(chapter) && form.opcode() != "cvta")
      return chapter;
  return "";
}

std::vector<ptx::Modifier> choicesOf(const ptx::ModifierSlot &slot) {
  std::vector<ptx::Modifier> mods;
  if (slot.optional)
    mods.push_back(ptx::Mod::None);
  for (unsigned i = 1; i < ptx::modifierCount(); ++i)
    if (slot.choices.contains(ptx::Modifier(i)))
      mods.push_back(ptx::Modifier(i));
  return mods;
}

// Constants that stand for all of an immediate operand: those of a list, or a few of an interval.
std::vector<int64_t> immediatesOf(const ptx::OperandSlot &slot) {
  using Kind = ptx::ConstantRange::Kind;
  switch (slot.range.kind) {
  case Kind::List:
    return {slot.range.values, slot.range.values + slot.range.count};
  case Kind::Interval:
  case Kind::Any:
    break;
  }
  std::vector<int64_t> chosen;
  for (int64_t value : {0x80, 0xfe, 0xc0, 0x96, 0xe8, 0xca, 0x1b, 0x00, 0xff})
    if (slot.range.allows(value))
      chosen.push_back(value);
  return chosen;
}

/// The cases of one form; each step of the recursion settles one more thing.
class Cases {
public:
  Cases(const ptx::Form &form, std::vector<Case> &out) : form(form), out(out) {}

  void withModifiers(std::string spelling, unsigned slot) {
    if (slot < form.modifierCount) {
      for (ptx::Modifier mod : choicesOf(form.modifiers()[slot]))
        withModifiers(spelling + (mod == ptx::Mod::None ? "" : ptx::textOf(mod).str()), slot + 1);
      return;
    }
    BumpPtrAllocator arena;
    const ptx::MatchedSpelling *match = ptx::matchSpelling(spelling, arena);
    if (!match || match->row != &form)
      return; // an earlier row's
    if (form.availability.hasRemoved(kDialect, kOldestSm))
      return; // of GPUs that no driver knows any more
    Case test;
    test.mnemonic = spelling;
    test.version = match->version;
    test.sm = match->sm;
    for (unsigned i = 0; i < form.targets.specificCount; ++i)
      if (i == 0 || form.targets.specific[i].sm < test.sm) {
        test.sm = form.targets.specific[i].sm;
        test.smVariant = 'a'; // has what its family ('f') has, and needs no newer PTX
      }
    test.chapter = chapterOf(form).str();
    bool hasOptional = any_of(match->expected, [](auto &e) { return e.slot->optional; });
    bool hasSelectors = any_of(match->expected, [](auto &e) {
      return e.slot->selector != ptx::OperandSlot::Selector::None;
    });
    withSelectors = false;
    // The third source of a video instruction is there exactly if a part of the destination is
    // named.
    if (!hasSelectors || !hasOptional)
      withOperands(*match, test, {}, 0, true);
    if (hasOptional)
      withOperands(*match, test, {}, 0, false);
    withSelectors = hasSelectors;
    if (hasSelectors)
      withOperands(*match, test, {}, 0, true);
  }

private:
  const ptx::Form &form;
  std::vector<Case> &out;
  bool withSelectors = false;
  std::mt19937 random{1};

  // Bytes lie in wider registers where they may.
  static unsigned registerBits(const ptx::ExpectedOperand &expected) {
    if (expected.type == ptx::Type::Pred)
      return 1;
    return std::max(ptx::sizeInBits(expected.type), expected.slot->wider ? 16u : 8u);
  }

  static std::string source(Case &test, const ptx::ExpectedOperand &expected) {
    test.sources.push_back({expected.type, registerBits(expected), false});
    return "%s" + utostr(test.sources.size() - 1);
  }
  static std::string destination(Case &test, const ptx::ExpectedOperand &expected) {
    test.destinations.push_back({expected.type, registerBits(expected), false});
    return "%d" + utostr(test.destinations.size() - 1);
  }

  // One choice of selectors for each combination of modifiers, and the default ones: together they
  // meet every selector many times.
  std::string selectorFor(const ptx::OperandSlot &slot, Case &test) {
    using Selector = ptx::OperandSlot::Selector;
    if (slot.selector == Selector::None || !withSelectors) {
      test.selectors.push_back("");
      return "";
    }
    auto pick = [&](ArrayRef<StringRef> choices) {
      return choices[random() % choices.size()].str();
    };
    std::string chosen;
    switch (slot.selector) {
    case Selector::None:
      break;
    case Selector::Scalar:
      chosen = pick({"b0", "b1", "b2", "b3", "h0", "h1", ""});
      if (slot.destination && chosen.empty())
        chosen = "h1"; // only a part has what is left of the third source
      break;
    case Selector::Halves:
      chosen = pick({"h10", "h01", "h32", "h20", "h13", "h30", "h00"});
      break;
    case Selector::Bytes:
      chosen = pick({"b3210", "b0123", "b7654", "b5140", "b7162", "b4444", "b2703"});
      break;
    case Selector::HalfMask:
      chosen = pick({"h0", "h1", "h10"});
      break;
    case Selector::ByteMask:
      chosen = pick({"b0", "b3", "b21", "b310", "b3210", "b20"});
      break;
    }
    test.selectors.push_back(chosen);
    return chosen.empty() ? "" : "." + chosen;
  }

  void withOperands(const ptx::MatchedSpelling &match, Case test, std::vector<std::string> operands,
                    unsigned index, bool optionals) {
    while (index < match.expected.size()) {
      const ptx::ExpectedOperand &expected = match.expected[index++];
      const ptx::OperandSlot &slot = *expected.slot;
      bool isQuad = expected.vectorWidth == 4 && !slot.destination; // cvt of four numbers
      if (slot.kind != ptx::OperandSlot::Kind::Value || (expected.vectorWidth > 1 && !isQuad) ||
          ptx::sizeInBits(expected.type) > 64)
        return;
      if (slot.optional && !optionals)
        continue;
      test.version = std::max(test.version, slot.version);
      test.sm = std::max<unsigned>(test.sm, slot.sm);
      if (slot.destination) {
        std::string text = destination(test, expected) + selectorFor(slot, test);
        if (slot.pair || slot.pairRequired) {
          test.destinations.push_back({ptx::Type::Pred, 1, false});
          text += "|%d" + utostr(test.destinations.size() - 1);
        }
        operands.push_back(text);
        continue;
      }
      if (slot.immediate) {
        for (int64_t value : immediatesOf(slot)) {
          std::vector<std::string> more = operands;
          more.push_back(itostr(value));
          test.immediate = value;
          test.immediateIndex = test.sources.size();
          withOperands(match, test, more, index, optionals);
        }
        return;
      }
      // A negated predicate with one comparison stands for all.
      if (slot.negatable &&
          (form.opcode() == "selp" || StringRef(test.mnemonic).contains(".eq."))) {
        std::vector<std::string> negated = operands;
        Case other = test;
        negated.push_back("!" + source(other, expected));
        other.sources.back().negated = true;
        withOperands(match, other, negated, index, optionals);
      }
      std::string text = source(test, expected);
      if (isQuad) {
        for (unsigned i = 1; i < 4; ++i)
          text += ", " + source(test, expected);
        text = "{" + text + "}";
      }
      operands.push_back(text + selectorFor(slot, test));
    }
    finish(match, std::move(test), operands);
  }

  // The instruction with what sets the carry flag before it and reads it afterwards; for
  // subtractions, the borrow.
  void finish(const ptx::MatchedSpelling &match, Case test, ArrayRef<std::string> operands) {
    StringRef opcode = form.opcode();
    std::string statement = test.mnemonic + " " + join(operands, ", ") + ";";
    bool subtracts = opcode == "sub" || opcode == "subc";
    if (is_contained({"addc", "subc", "madc"}, opcode)) {
      test.sources.push_back({ptx::Type::Pred, 1, false});
      std::string carry = "%s" + utostr(test.sources.size() - 1);
      statement = "selp.b32 %c, 1, 0, " + carry + ";\n  " +
                  (subtracts ? "sub.cc.u32 %c, 0, %c;" : "add.cc.u32 %c, %c, 0xffffffff;") +
                  "\n  " + statement;
    }
    if (StringRef(test.mnemonic).contains(".cc")) {
      test.destinations.push_back({ptx::Type::B32, 32, false});
      statement += std::string("\n  ") + (subtracts ? "subc" : "addc") + ".u32 %d" +
                   utostr(test.destinations.size() - 1) + ", 0, 0;";
      if (subtracts)
        statement += "\n  neg.s32 %d" + utostr(test.destinations.size() - 1) + ", %d" +
                     utostr(test.destinations.size() - 1) + ";";
    }
    if ((opcode == "min" || opcode == "max") && test.sources.size() == 3)
      test.mnemonic += ".3";
    (void)match;
    test.text = statement;
    out.push_back(std::move(test));
  }
};

} // namespace

std::vector<Case> scalarCases() {
  std::vector<Case> cases;
  for (const ptx::Form &form : ptx::instructionForms())
    if (!chapterOf(form).empty())
      Cases(form, cases).withModifiers(form.opcode().str(), 0);
  return cases;
}

static StringRef registerClass(unsigned bits) {
  return bits == 1    ? ".pred"
         : bits == 8  ? ".b8"
         : bits == 16 ? ".b16"
         : bits == 32 ? ".b32"
                      : ".b64";
}

static std::string kernelFor(const Case &test, unsigned index) {
  std::string text;
  raw_string_ostream os(text);
  os << ".visible .entry case" << index << "(.param .u64 inputs, .param .u64 outputs) {\n";
  os << "  .reg .b32 %i, %n, %c;\n  .reg .b64 %in, %out, %offset, %bits;\n";
  for (auto [i, operand] : enumerate(test.sources))
    os << "  .reg " << registerClass(operand.bits) << " %s" << i << ";\n";
  for (auto [i, operand] : enumerate(test.destinations))
    os << "  .reg " << registerClass(operand.bits) << " %d" << i << ";\n";
  os << "  mov.u32 %i, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n  mov.u32 %c, %tid.x;\n"
        "  mad.lo.u32 %i, %i, %n, %c;\n"
        "  ld.param.u64 %in, [inputs];\n  ld.param.u64 %out, [outputs];\n"
     << "  mul.wide.u32 %offset, %i, " << 8 * test.sources.size() << ";\n"
     << "  add.u64 %in, %in, %offset;\n"
     << "  mul.wide.u32 %offset, %i, " << 8 * test.destinations.size() << ";\n"
     << "  add.u64 %out, %out, %offset;\n";
  for (auto [i, operand] : enumerate(test.sources)) {
    os << "  ld.global.b64 %bits, [%in+" << 8 * i << "];\n  ";
    if (operand.bits == 1)
      os << "setp.ne.b64 %s" << i << ", %bits, 0;\n";
    else if (operand.bits == 64)
      os << "mov.b64 %s" << i << ", %bits;\n";
    else
      os << "cvt.u" << operand.bits << ".u64 %s" << i << ", %bits;\n";
  }
  os << "  " << test.text << "\n";
  for (auto [i, operand] : enumerate(test.destinations)) {
    if (operand.bits == 1)
      os << "  selp.b64 %bits, 1, 0, %d" << i << ";\n";
    else if (operand.bits == 64)
      os << "  mov.b64 %bits, %d" << i << ";\n";
    else
      os << "  cvt.u64.u" << operand.bits << " %bits, %d" << i << ";\n";
    os << "  st.global.b64 [%out+" << 8 * i << "], %bits;\n";
  }
  os << "  ret;\n}\n";
  return text;
}

std::string moduleFor(ArrayRef<Case> cases) {
  ptx::Version version = kDialect;
  unsigned sm = kOldestSm;
  char variant = 0;
  for (const Case &test : cases) {
    version = std::max(version, test.version);
    if (test.sm > sm || (test.sm == sm && test.smVariant))
      variant = test.smVariant;
    sm = std::max(sm, test.sm);
  }
  std::string text = ".version " + utostr(version.major) + "." + utostr(version.minor) +
                     "\n.target sm_" + utostr(sm) +
                     (variant ? std::string(1, variant) : std::string()) + "\n.address_size 64\n";
  for (auto [i, test] : enumerate(cases))
    text += kernelFor(test, i);
  return text;
}

} // namespace rubia::golden
