// SPDX-License-Identifier: Apache-2.0
// The interner: every word of a module has one Name, which also holds what the word means at this
// point of the text (symbol), what it means as an instruction (spelling, matched once) and as a
// directive or modifier. So the meaning of a word costs one hash lookup.
#pragma once

#include "ptx-frontend/Module.h"
#include "ptx-frontend/lib/Characters.h"
#include "llvm/Support/Allocator.h"
#include <algorithm>
#include <vector>

namespace rubia::ptx {

struct MatchedSpelling;

enum class Directive : uint8_t {
  None,
#define PTX_DIRECTIVE(Name, Text) Name,
#include "ptx-frontend/lib/Directives.def"
};

/// What a name stands for in the innermost scope that declares it.
struct Symbol {
  enum class Kind : uint8_t { None, Register, Special, Variable, Function, Prototype, Targets };
  Kind kind = Kind::None;
  uint8_t component = 0xff; // Special: %tid.x
  ptx::SpecialRegister special{};
  uint32_t depth = 0; // of the scope that declares it; 0: the module
  uint32_t index = 0; // register, prototype, target list
  union {
    Variable *variable = nullptr;
    Function *function;
  };
};

/// `.reg .b32 %r<10>` under the name "%r"; a register "%r" may stand beside it.
struct RangeSymbol {
  uint32_t count = 0; // 0: there is none
  uint32_t first = 0; // register
  uint32_t depth = 0;
  const RangeSymbol *outer = nullptr; // the range that this one hides in part
};

/// The first sixteen characters of a word, zeros behind its end. Words that are not longer are
/// compared by their keys alone.
struct WordKey {
  static constexpr size_t kSize = 16;
  uint64_t low = 0, high = 0;

  /// Reads sixteen characters whatever the length is.
  static WordKey load(const char *data, size_t length) {
    WordKey key;
    __builtin_memcpy(&key, data, kSize);
    if (length >= kSize)
      return key;
    static constexpr std::array<uint8_t, 2 * kSize> kMask = [] {
      std::array<uint8_t, 2 * kSize> mask{};
      for (size_t i = 0; i < kSize; ++i)
        mask[i] = 0xff;
      return mask;
    }();
    WordKey mask;
    __builtin_memcpy(&mask, kMask.data() + kSize - length, kSize);
    key.low &= mask.low;
    key.high &= mask.high;
    return key;
  }
  static WordKey loadExactly(const char *data, size_t length) {
    WordKey key;
    __builtin_memcpy(&key, data, std::min(length, kSize));
    return key;
  }
  friend bool operator==(const WordKey &, const WordKey &) = default;
};

struct Name {
  WordKey key;
  const char *data;
  uint32_t length;
  uint32_t hash;
  RangeSymbol range;
  const MatchedSpelling *spelling = nullptr;
  Symbol symbol;
  uint32_t rejectedIn = 0; // as an instruction: the function, counted from 1, that reported it last
  Modifier mod = Mod::None;
  Directive directive = Directive::None;

  llvm::StringRef text() const { return {data, length}; }
};

/// Pointers to names stay valid. Texts must outlive the table.
class NameTable {
public:
  /// `text` is what most words will be part of; `expected` a hint: about how many names there will
  /// be.
  NameTable(llvm::StringRef text, size_t expected);

  Name *intern(llvm::StringRef word) {
    WordKey key = keyOf(word);
    uint32_t hash = hashOf(key, word);
    size_t slot = slotOf(key, hash, word);
    return slots[slot] ? slots[slot] : insert(key, hash, word, slot);
  }
  /// Null if there is none.
  Name *find(llvm::StringRef word) const {
    WordKey key = keyOf(word);
    return slots[slotOf(key, hashOf(key, word), word)];
  }
  /// Some of them are null.
  llvm::ArrayRef<Name *> all() const { return slots; }
  /// Of words of up to sixteen characters: differs from that of every other word.
  WordKey keyOf(llvm::StringRef word) const {
    bool canOverread = word.data() >= textBegin && word.data() + WordKey::kSize <= textEnd;
    return canOverread ? WordKey::load(word.data(), word.size())
                       : WordKey::loadExactly(word.data(), word.size());
  }

private:
  llvm::BumpPtrAllocator arena;
  std::vector<Name *> slots; // a power of two; the first free one after hash & mask
  size_t mask, count = 0;
  const char *textBegin, *textEnd;

  static uint32_t hashOf(const WordKey &key, llvm::StringRef word) {
    uint64_t hash =
        (key.low + word.size()) * 0x9e3779b97f4a7c15ull + key.high * 0xff51afd7ed558ccdull;
    if (word.size() > WordKey::kSize)
      hash = addRest(hash, word);
    return uint32_t(hash >> 32);
  }
  /// Eight bytes a step from the end on; the names of a module differ mostly there.
  static uint64_t addRest(uint64_t hash, llvm::StringRef word) {
    const char *p = word.end();
    for (size_t n = word.size() - WordKey::kSize;; n -= 8) {
      uint64_t part;
      p -= 8;
      __builtin_memcpy(&part, p, 8);
      hash = (hash ^ part) * 0xff51afd7ed558ccdull;
      hash ^= hash >> 32;
      if (n <= 8) // the last step may read characters of the key again
        return hash * 0x9e3779b97f4a7c15ull;
    }
  }
  static bool sameRest(const Name &name, llvm::StringRef word) {
    return word.size() <= WordKey::kSize ||
           __builtin_memcmp(name.data + WordKey::kSize, word.data() + WordKey::kSize,
                            word.size() - WordKey::kSize) == 0;
  }
  /// Of the name, or the free one where it belongs.
  size_t slotOf(const WordKey &key, uint32_t hash, llvm::StringRef word) const {
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      const Name *name = slots[i];
      if (!name || (name->key == key && name->length == word.size() && sameRest(*name, word)))
        return i;
    }
  }
  Name *insert(const WordKey &key, uint32_t hash, llvm::StringRef word, size_t slot);
  void grow();
};

/// "%r17" as "%r" and 17. PTX ISA: parameterized-variable-names.
struct NumberedWord {
  static constexpr unsigned kSize = 8;
  uint64_t prefix = 0; // its characters, the first one lowest
  unsigned prefixLength = 0;
  uint32_t number = 0;

  /// For words of up to eight characters, of which the first is no digit and the last one is. The
  /// eight characters up to its end can be read.
  static NumberedWord split(const char *data, unsigned length) {
    uint64_t word;
    __builtin_memcpy(&word, data + length - kSize, kSize);
    uint64_t values = word ^ 0x3030303030303030ull;
    // The highest bit of each byte that is no digit. A word is ASCII: its sums have no carry.
    uint64_t others = ((values + 0x7676767676767676ull) | values) & 0x8080808080808080ull;
    unsigned digits = unsigned(std::countl_zero(others)) & ~7u; // in bits
    // Eight digits at once: pairs, then fours, then all.
    uint64_t value = values >> (64 - digits) << (64 - digits);
    value = value * 10 + (value >> 8);
    value = ((value & 0x000000ff000000ffull) * 0x000f424000000064ull +
             (value >> 16 & 0x000000ff000000ffull) * 0x0000271000000001ull) >>
            32;
    unsigned prefixLength = length - digits / 8;
    return {word << digits >> (64 - 8 * prefixLength), prefixLength, uint32_t(value)};
  }
};

/// The instructions that a module has, as far as their words are short: one compare each.
class SpellingCache {
public:
  /// Null if it is not known here.
  const MatchedSpelling *find(const WordKey &key) const {
    const Entry &entry = entries[slotOf(key)];
    return entry.key == key ? entry.spelling : nullptr;
  }
  void insert(const WordKey &key, const MatchedSpelling *spelling) {
    entries[slotOf(key)] = {key, spelling};
  }

private:
  static constexpr unsigned kBits = 8;
  struct Entry {
    WordKey key;
    const MatchedSpelling *spelling = nullptr;
  };
  Entry entries[1 << kBits];

  static size_t slotOf(const WordKey &key) {
    return (key.low * 0x9e3779b97f4a7c15ull + key.high * 0xff51afd7ed558ccdull) >> (64 - kBits);
  }
};

/// The few prefixes that the registers of a function have, so that a register costs one compare.
class PrefixCache {
public:
  Name *find(const NumberedWord &word, const char *data, const NameTable &names) {
    Entry &entry = entries[(word.prefix * 0x9e3779b97f4a7c15ull) >> (64 - kBits)];
    return entry.prefix == word.prefix ? entry.name : findFirst(entry, word, data, names);
  }

private:
  static constexpr unsigned kBits = 6;
  struct Entry {
    uint64_t prefix = 0;
    Name *name = nullptr;
  };
  Entry entries[1 << kBits];

  [[gnu::noinline]] static Name *findFirst(Entry &entry, const NumberedWord &word, const char *data,
                                           const NameTable &names) {
    Name *name = names.find({data, word.prefixLength});
    if (name)
      entry = {word.prefix, name};
    return name;
  }
};

} // namespace rubia::ptx
