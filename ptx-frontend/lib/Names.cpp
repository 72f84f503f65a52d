// SPDX-License-Identifier: Apache-2.0
// The interner's slow paths, and the words that it knows from the start.

#include "ptx-frontend/lib/Names.h"
#include "llvm/Support/MathExtras.h"

using llvm::StringRef;

namespace rubia::ptx {

NameTable::NameTable(StringRef text, size_t expected)
    : textBegin(text.begin()), textEnd(text.end()) {
  // The vocabulary alone has some 700 words.
  slots.resize(std::max<size_t>(2048, llvm::PowerOf2Ceil(expected * 2)));
  mask = slots.size() - 1;

  for (unsigned i = 1; i < modifierCount(); ++i)
    intern(textOf(Modifier(i)))->mod = Modifier(i);

  static constexpr StringRef kDirectives[] = {
      "",
#define PTX_DIRECTIVE(Name, Text) Text,
#include "ptx-frontend/lib/Directives.def"
  };
  for (unsigned i = 1; i < std::size(kDirectives); ++i)
    intern(kDirectives[i])->directive = Directive(i);

  struct SpecialRow {
    StringRef text;
    unsigned width;
  };
  static constexpr SpecialRow kSpecials[] = {
#define PTX_SPECIAL_REGISTER(Name, Text, ElementType, Width, ...) {Text, Width},
#include "ptx-frontend/SpecialRegisters.def"
  };
  static constexpr StringRef kComponents = "xyzw";
  for (unsigned i = 0; i < std::size(kSpecials); ++i) {
    auto add = [&](StringRef text, uint8_t component) {
      Symbol &symbol = intern(text)->symbol;
      symbol.kind = Symbol::Kind::Special;
      symbol.special = SpecialRegister(i);
      symbol.component = component;
    };
    add(kSpecials[i].text, 0xff);
    if (kSpecials[i].width == 1)
      continue;
    for (unsigned c = 0; c < kSpecials[i].width; ++c) {
      size_t length = kSpecials[i].text.size() + 2;
      char *text = arena.Allocate<char>(length);
      memcpy(text, kSpecials[i].text.data(), length - 2);
      text[length - 2] = '.';
      text[length - 1] = kComponents[c];
      add({text, length}, c);
    }
  }
}

Name *NameTable::insert(const WordKey &key, uint32_t hash, StringRef word, size_t slot) {
  Name *name = new (arena.Allocate<Name>()) Name{};
  name->key = key;
  name->data = word.data();
  name->length = uint32_t(word.size());
  name->hash = hash;
  slots[slot] = name;
  if (++count * 2 > slots.size())
    grow();
  return name;
}

void NameTable::grow() {
  std::vector<Name *> old(slots.size() * 2);
  old.swap(slots);
  mask = slots.size() - 1;
  for (Name *name : old) {
    if (!name)
      continue;
    size_t i = name->hash & mask;
    while (slots[i])
      i = (i + 1) & mask;
    slots[i] = name;
  }
}

} // namespace rubia::ptx
