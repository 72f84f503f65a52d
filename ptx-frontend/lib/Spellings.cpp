// SPDX-License-Identifier: Apache-2.0
// Matching a spelling: split at the dots, then try the opcode's forms, first in the order that the
// manual gives, then, as ptxas accepts it, in any order.

#include "ptx-frontend/lib/Spellings.h"
#include "ptx-frontend/lib/DiagnosticLog.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include <optional>

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx::Op {
extern const Operation Atom, CpAsync, Cvt, Ld, Red, St, Suld, Sured, Sust;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier A, A1d, A2d, A2dms, And, Approx, Arrive, ArriveDrop, Async, B, Base, Bulk, C,
    Cc, Cluster, CommitGroup, CompleteTx, CpFenceproxy, Cta, Cvt, D, ExpectTx, F32, Fence,
    Fractional, Ftz, Full, Geometry1d, Geometry2d, Geometry2dms, Geometry3d, Geometry5d, Grad, Hi,
    Idx, Im2col, Init, Inval, L, LdReduce, Level, Lo, Load, Mbarrier, Mma, MmaAsync, NaN,
    NoComplete, Or, P, Pack, Parity, PendingCount, Popc, Prefetch, Proxy, QueryCancel, R, Range,
    Red, Reduce, Relu, Replace, Rm, Rp, Sat, Satfinite, SharedCta, Shiftamt, St, Store, Sync,
    Tensor, TestWait, TileGather4, TileScatter4, To, TryCancel, TryWait, Uni, Wait, WaitLd, WaitSt,
    Warp, Wide;
} // namespace rubia::ptx::Mod

namespace rubia::ptx {

namespace {

using FormList = SmallVector<const Form *, 8>;

const llvm::StringMap<FormList> &formsByOpcode() {
  static const llvm::StringMap<FormList> map = [] {
    llvm::StringMap<FormList> map;
    for (const Form &form : instructionForms())
      map[form.opcode()].push_back(&form);
    return map;
  }();
  return map;
}

struct Word {
  StringRef opcode;
  SmallVector<StringRef, 8> texts; // of the modifiers, with their dots
  SmallVector<Modifier, 8> mods;   // Mod::None for an unknown one
};

Word split(StringRef text) {
  Word word;
  size_t dot = text.find('.');
  word.opcode = text.substr(0, dot);
  while (dot != StringRef::npos) {
    size_t end = text.find('.', dot + 1);
    StringRef part = text.slice(dot, end);
    if (end != StringRef::npos) { // .xorsign.abs is one modifier
      size_t endOfTwo = text.find('.', end + 1);
      if (modifierNamed(text.slice(dot, endOfTwo)) != Mod::None) {
        part = text.slice(dot, endOfTwo);
        end = endOfTwo;
      }
    }
    word.texts.push_back(part);
    word.mods.push_back(modifierNamed(part));
    dot = end;
  }
  return word;
}

// `previous`: the slot before these is filled.
bool matchesInOrder(ArrayRef<ModifierSlot> slots, ArrayRef<Modifier> mods, bool previous = false) {
  if (slots.empty())
    return mods.empty();
  bool mayFill = !slots[0].withPrevious || previous;
  bool maySkip = slots[0].optional && !(slots[0].withPrevious && previous);
  if (mayFill && !mods.empty() && slots[0].choices.contains(mods[0]) &&
      matchesInOrder(slots.drop_front(), mods.drop_front(), true))
    return true;
  return maySkip && matchesInOrder(slots.drop_front(), mods, false);
}

// Slots take the first unused modifier that they allow; types,
// layouts and spaces keep their order. Counts the
// required slots that stay empty and the modifiers that no slot takes.
struct Leftover {
  unsigned missing = 0, unused = 0;
  const ModifierSlot *missingSlot = nullptr;
  unsigned unusedIndex = 0;
};
// Modifiers that are part of an instruction's name for ptxas, and stay where they are: `mul.wide`,
// `cp.async.bulk.prefetch`, `bar.red`.
bool isPartOfName(const ModifierSlot &slot) {
  static const ModifierSet parts = [] {
    ModifierSet set;
    for (Modifier mod : {Mod::Lo,          Mod::Hi,         Mod::Wide,       Mod::To,
                         Mod::L,           Mod::R,          Mod::Arrive,     Mod::Red,
                         Mod::Warp,        Mod::Idx,        Mod::Async,      Mod::Bulk,
                         Mod::Prefetch,    Mod::Tensor,     Mod::Proxy,      Mod::Replace,
                         Mod::Load,        Mod::Store,      Mod::Mma,        Mod::MmaAsync,
                         Mod::St,          Mod::Reduce,     Mod::LdReduce,   Mod::Sync,
                         Mod::Full,        Mod::Cluster,    Mod::Wait,       Mod::Popc,
                         Mod::And,         Mod::Or,         Mod::Pack,       Mod::A,
                         Mod::B,           Mod::C,          Mod::D,          Mod::P,
                         Mod::Base,        Mod::Level,      Mod::Grad,       Mod::Inval,
                         Mod::Init,        Mod::WaitLd,     Mod::WaitSt,     Mod::ArriveDrop,
                         Mod::ExpectTx,    Mod::CompleteTx, Mod::NoComplete, Mod::PendingCount,
                         Mod::TestWait,    Mod::TryWait,    Mod::Parity,     Mod::CpFenceproxy,
                         Mod::QueryCancel, Mod::Range,      Mod::Fractional, Mod::CommitGroup,
                         Mod::TryCancel,   Mod::Cvt,        Mod::Fence,      Mod::Mbarrier})
      set.insert(mod);
    return set;
  }();
  if (slot.optional)
    return false;
  for (size_t i = 0; i < std::size(parts.words); ++i)
    if (slot.choices.words[i] & ~parts.words[i])
      return false;
  return true;
}

constexpr uint64_t kOrdered = uint64_t(1) << unsigned(ModCategory::Type) |
                              uint64_t(1) << unsigned(ModCategory::Layout) |
                              uint64_t(1) << unsigned(ModCategory::Space);

Leftover matchInAnyOrder(ArrayRef<ModifierSlot> slots, ArrayRef<Modifier> mods) {
  Leftover leftover;
  SmallVector<bool, 16> used(mods.size(), false);
  bool previous = false;
  for (const ModifierSlot &slot : slots) {
    bool filled = false;
    uint64_t passed = 0; // categories whose modifiers keep their order
    bool mayFill = !slot.withPrevious || previous;
    for (unsigned i = 0; mayFill && i < mods.size() && !filled; ++i) {
      if (used[i])
        continue;
      uint64_t category = uint64_t(1) << unsigned(categoryOf(mods[i])) & kOrdered;
      if (slot.choices.contains(mods[i]) && !(category & passed))
        used[i] = filled = true;
      passed |= category;
    }
    if (!filled && (!slot.optional || (slot.withPrevious && previous))) {
      ++leftover.missing;
      leftover.missingSlot = &slot;
    }
    previous = filled;
  }
  for (unsigned i = 0; i < mods.size(); ++i)
    if (!used[i]) {
      ++leftover.unused;
      leftover.unusedIndex = i;
    }
  return leftover;
}

// `.sat.sat`: ptxas takes these twice. A long word must not cost the square of its length.
constexpr size_t kMaxModifiers = 4 * kMaxModifierSlots;
SmallVector<Modifier, 8> withoutRepeats(ArrayRef<Modifier> mods) {
  SmallVector<Modifier, 8> once;
  ModifierSet seen;
  for (Modifier mod : mods) {
    bool repeatable = mod == Mod::Sat || mod == Mod::Cc || mod == Mod::Approx || mod == Mod::NaN ||
                      mod == Mod::Sync || mod == Mod::Uni || mod == Mod::Shiftamt ||
                      mod == Mod::Relu || mod == Mod::Satfinite;
    if (!repeatable || !seen.contains(mod))
      once.push_back(mod);
    seen.insert(mod);
  }
  return once;
}

bool namesAgree(const Form &form, ArrayRef<Modifier> mods) {
  bool isBarrier = form.opcode().starts_with("bar");
  if (form.opcode() == "tcgen05" && !form.modifiers()[0].choices.contains(mods[0]))
    return false;
  size_t next = 0; // of `mods`
  for (const ModifierSlot &slot : form.modifiers()) {
    bool stands = next < mods.size() && slot.choices.contains(mods[next]);
    if (isBarrier && slot.optional && slot.choices.contains(Mod::Cta)) { // `bar.cta.sync`
      if (!stands && llvm::is_contained(mods, Mod::Cta))
        return false;
      next += stands;
      continue;
    }
    if (!isPartOfName(slot))
      return true;
    if ((slot.choices.contains(Mod::Sync) || slot.choices.contains(Mod::And)) && !isBarrier)
      return true; // `vote.ballot.sync`, `sured.b.b32.and` are taken, `bar.sync` is a name
    if (!stands)
      return false;
    ++next;
  }
  return true;
}

const Form *findForm(StringRef opcode, ArrayRef<Modifier> mods) {
  auto found = formsByOpcode().find(opcode);
  if (found == formsByOpcode().end() || mods.size() > kMaxModifiers ||
      llvm::is_contained(mods, Mod::None))
    return nullptr;
  for (const Form *form : found->second)
    if (matchesInOrder(form->modifiers(), mods))
      return form;
  SmallVector<Modifier, 8> once = withoutRepeats(mods);
  for (const Form *form : found->second) {
    Leftover leftover = matchInAnyOrder(form->modifiers(), once);
    if (!leftover.missing && !leftover.unused && namesAgree(*form, once))
      return form;
  }
  return nullptr;
}

Type widened(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  case Type::S32:
    return Type::S64;
  default: // the rows use :wide with these types only
    return Type::None;
  }
}

Type expectedType(const OperandSlot &slot, const Spelling &spelling) {
  Type last = Type::None;
  for (Modifier mod : spelling.modifiers)
    if (typeOf(mod) != Type::None)
      last = typeOf(mod);
  switch (slot.typeRule) {
  case OperandSlot::TypeRule::Last:
    return last;
  case OperandSlot::TypeRule::First:
    return spelling.type(0);
  case OperandSlot::TypeRule::Second:
    return spelling.type(1);
  case OperandSlot::TypeRule::Third:
    return spelling.type(2);
  case OperandSlot::TypeRule::Wide:
    return widened(last);
  case OperandSlot::TypeRule::Fixed:
    return slot.fixed;
  }
  return last;
}

// The n of a shape such as `.m64n16k32`.
unsigned columnsOf(const Spelling &spelling) {
  StringRef shape = textOf(spelling.first(ModCategory::Shape));
  shape = shape.substr(shape.find('n') + 1);
  unsigned columns = 0;
  return shape.consumeInteger(10, columns) ? 1 : columns;
}

// Components of coordinates. PTX ISA: texture-instructions-tex, tensor-dimensions-coordinates.
unsigned coordinatesOf(const Spelling &spelling) {
  bool fiveTiles = spelling.has(Mod::TileGather4) || spelling.has(Mod::TileScatter4);
  const Modifier geometry = spelling.first(ModCategory::Geometry);
  if (geometry == Mod::Geometry1d)
    return 1;
  if (geometry == Mod::Geometry2d)
    return fiveTiles ? 5 : 2;
  if (geometry == Mod::A1d)
    return 2;
  if (geometry == Mod::Geometry3d) // the fourth component of a texture's is ignored
    return spelling.has(Mod::Tensor) ? 3 : 4;
  return geometry == Mod::Geometry5d ? 5 : 4; // .4d, .a2d, .cube, .acube, .2dms, .a2dms
}

unsigned gradientsOf(const Spelling &spelling) {
  const Modifier geometry = spelling.first(ModCategory::Geometry);
  if (geometry == Mod::Geometry1d || geometry == Mod::A1d)
    return 1;
  const bool isPlane = geometry == Mod::Geometry2d || geometry == Mod::A2d ||
                       geometry == Mod::Geometry2dms || geometry == Mod::A2dms;
  return isPlane ? 2 : 4; // .3d, .cube, .acube
}

// PTX ISA: tensor-im2col-mode: one offset for each dimension but the first two; .im2col::w has two.
unsigned im2colOffsetsOf(const Spelling &spelling) {
  return spelling.has(Mod::Im2col) ? coordinatesOf(spelling) - 2 : 2;
}

unsigned widthOf(const OperandSlot &slot, const Spelling &spelling) {
  using Rule = OperandSlot::WidthRule;
  switch (slot.widthRule) {
  case Rule::One:
    return 1;
  case Rule::Spelled:
    return spelling.vectorWidth();
  case Rule::Fixed:
    return slot.widthFactor;
  case Rule::Times: {
    unsigned count = 1;
    textOf(spelling.first(ModCategory::Count)).drop_front(2).getAsInteger(10, count);
    return count * slot.widthFactor;
  }
  case Rule::PerColumn:
    return columnsOf(spelling) / slot.widthFactor;
  case Rule::Coordinates:
    return coordinatesOf(spelling);
  case Rule::Gradients:
    return gradientsOf(spelling);
  case Rule::Im2col:
    return im2colOffsetsOf(spelling);
  }
  return 1;
}

ArrayRef<ExpectedOperand> expectedOperands(ArrayRef<OperandSlot> slots, const Spelling &spelling,
                                           llvm::BumpPtrAllocator &arena) {
  auto *expected = arena.Allocate<ExpectedOperand>(slots.size());
  size_t count = 0;
  for (const OperandSlot &slot : slots)
    if (slot.condition == Mod::None || spelling.has(slot.condition))
      expected[count++] = {&slot, expectedType(slot, spelling), uint8_t(widthOf(slot, spelling))};
  return {expected, count};
}

// What the row, its places and its modifiers need.
void findNeeds(MatchedSpelling &spelling) {
  const Form &form = *spelling.row;
  spelling.version = Version();
  spelling.sm = form.sm;
  auto need = [&](Version version, unsigned sm) {
    spelling.version = std::max(spelling.version, version);
    spelling.sm = std::max(spelling.sm, uint16_t(sm));
  };
  for (Modifier mod : spelling.modifiers) {
    // ptxas has cp.async.ca.shared::cta from the first cp.async on.
    if (mod != Mod::SharedCta || spelling.op != Op::CpAsync)
      need(versionOf(mod), smOf(mod));
    for (const ModifierSlot &slot : form.modifiers())
      if (slot.sm && slot.choices.contains(mod))
        need(slot.version, slot.sm);
  }
  if (spelling.type() == Type::F64 && spelling.op != Op::Cvt &&
      (spelling.has(Mod::Rm) || spelling.has(Mod::Rp)))
    need({1, 0}, 13); // PTX ISA: floating-point-instructions
  // PTX ISA: surface-instructions: arrays and .3d came with PTX 3.0.
  const Modifier geometry = spelling.first(ModCategory::Geometry);
  if ((spelling.op == Op::Suld || spelling.op == Op::Sust || spelling.op == Op::Sured) &&
      (geometry == Mod::A1d || geometry == Mod::A2d || geometry == Mod::Geometry3d))
    need({3, 0}, 0);
  // PTX ISA: generic-addressing.
  bool mayBeGeneric = spelling.op == Op::Atom || spelling.op == Op::Red || spelling.op == Op::Ld ||
                      spelling.op == Op::St;
  if (mayBeGeneric && spelling.space() == StateSpace::None)
    need({2, 0}, 20);
  spelling.earlierVersion = std::max(form.availability.earlier, spelling.version);
  spelling.version = std::max(form.version, spelling.version);
}

} // namespace

void addImpliedModifiers(MatchedSpelling &spelling, Version version, unsigned sm,
                         llvm::BumpPtrAllocator &arena) {
  bool isOld = version < Version{1, 4};
  if ((!isOld && sm >= 20) || !spelling.has(Mod::F32))
    return;
  SmallVector<Modifier, 8> mods(spelling.modifiers);
  auto add = [&](Modifier mod) { // where the instruction can have it
    mods.push_back(mod);
    bool can = findForm(spelling.row->opcode(), mods);
    if (!can)
      mods.pop_back();
    return can;
  };
  const Version last = spelling.row->availability.removed;
  bool lacksRounding = last.major == 1 && last.minor == 4;
  bool approximates = isOld && lacksRounding && add(Mod::Approx);
  // Up to PTX 1.4 conversions to 64 bits keep denormals.
  bool keeps =
      spelling.op == Op::Cvt && sizeInBits(spelling.type()) == 64 && version < Version{1, 5};
  if (approximates || (sm < 20 && !keeps))
    add(Mod::Ftz);
  Modifier *all = arena.Allocate<Modifier>(mods.size());
  std::copy(mods.begin(), mods.end(), all);
  spelling.modifiers = {all, mods.size()};
}

MatchedSpelling *matchSpelling(StringRef text, llvm::BumpPtrAllocator &arena) {
  Word word = split(text);
  const Form *form = findForm(word.opcode, word.mods);
  if (!form)
    return nullptr;
  auto *spelling = new (arena.Allocate<MatchedSpelling>()) MatchedSpelling{};
  Modifier *mods = arena.Allocate<Modifier>(word.mods.size());
  std::copy(word.mods.begin(), word.mods.end(), mods);
  spelling->text = text;
  spelling->op = form->op;
  spelling->form = uint16_t(form - instructionForms().data());
  spelling->modifiers = {mods, word.mods.size()};
  spelling->row = form;
  spelling->expected = expectedOperands(form->operands(), *spelling, arena);
  spelling->inside = expectedOperands(form->inside(), *spelling, arena);
  for (const ExpectedOperand &expected : spelling->expected) {
    OperandSlot::Kind kind = expected.slot->kind;
    spelling->requiredOperands += !expected.slot->optional;
    spelling->labels |= kind == OperandSlot::Kind::Label || kind == OperandSlot::Kind::LabelList;
    spelling->call |= kind == OperandSlot::Kind::Call;
  }
  findNeeds(*spelling);
  return spelling;
}

// ---------- Explanations

namespace {

// The candidate nearest to `word`, if it is near: one change in a short word, two in a long one.
template <typename Range>
std::optional<StringRef> nearest(StringRef word, const Range &candidates) {
  unsigned best = word.size() <= 4 ? 2 : 3;
  std::optional<StringRef> result;
  for (StringRef candidate : candidates) {
    unsigned distance = word.edit_distance(candidate, /*AllowReplacements=*/true, best);
    // Two letters that changed places count as one change: "fzt" for "ftz".
    if (distance == 2 && word.size() == candidate.size()) {
      std::string swapped = word.str();
      for (size_t i = 0; i + 1 < swapped.size(); ++i) {
        std::swap(swapped[i], swapped[i + 1]);
        if (swapped == candidate)
          distance = 1;
        std::swap(swapped[i], swapped[i + 1]);
      }
    }
    // Of equally near ones, that with the same first letter.
    bool better =
        distance < best || (result && distance == best && !result->starts_with(word.take_front()) &&
                            candidate.starts_with(word.take_front()));
    if (better) {
      best = distance;
      result = candidate;
    }
  }
  return result;
}

std::string quoted(StringRef text) { return "'" + shown(text) + "'"; }

} // namespace

std::string explainMismatch(StringRef text, StringRef where) {
  Word word = split(text);
  std::string plain = "unknown instruction " + quoted(text) + where.str();
  auto found = formsByOpcode().find(word.opcode);
  if (found == formsByOpcode().end()) {
    std::optional<StringRef> near = nearest(word.opcode, formsByOpcode().keys());
    return near ? plain + ", did you mean " + quoted(*near) + "?" : plain;
  }
  if (word.mods.size() > kMaxModifiers)
    return plain + ": it has more than " + std::to_string(kMaxModifiers) + " modifiers";

  // Which modifiers does this opcode know?
  ModifierSet known;
  for (const Form *form : found->second)
    for (const ModifierSlot &slot : form->modifiers())
      for (unsigned i = 0; i < std::size(known.words); ++i)
        known.words[i] |= slot.choices.words[i];
  SmallVector<StringRef, 64> knownTexts;
  for (unsigned i = 1; i < 64 * std::size(known.words); ++i)
    if (known.contains(Modifier(i)))
      knownTexts.push_back(textOf(Modifier(i)));
  for (unsigned i = 0; i < word.mods.size(); ++i) {
    if (word.mods[i] != Mod::None && known.contains(word.mods[i]))
      continue;
    if (word.mods[i] == Mod::None)
      if (std::optional<StringRef> near = nearest(word.texts[i], knownTexts))
        return "unknown modifier " + quoted(word.texts[i]) + " of " + quoted(text) + where.str() +
               ", did you mean " + quoted(*near) + "?";
    return plain + ": no form of " + quoted(word.opcode) + " has " + quoted(word.texts[i]);
  }

  // Every modifier occurs in some form, but no form has them all. One too many, or one too few?
  for (const Form *form : found->second) {
    Leftover leftover = matchInAnyOrder(form->modifiers(), word.mods);
    if (leftover.missing + leftover.unused != 1)
      continue;
    if (leftover.unused)
      return "modifier " + quoted(word.texts[leftover.unusedIndex]) + " is not allowed in " +
             quoted(text) + where.str();
    unsigned first = 1;
    while (!leftover.missingSlot->choices.contains(Modifier(first)))
      ++first;
    return quoted(text) + where.str() + " lacks a modifier such as " +
           quoted(textOf(Modifier(first)));
  }
  for (const Form *form : found->second) {
    Leftover leftover = matchInAnyOrder(form->modifiers(), word.mods);
    if (leftover.missing != 1 || leftover.unused != 1)
      continue;
    return "modifier " + quoted(word.texts[leftover.unusedIndex]) + " is not allowed in " +
           quoted(text) + where.str();
  }
  return plain + ": no form of " + quoted(word.opcode) + " has this combination of modifiers";
}

} // namespace rubia::ptx
