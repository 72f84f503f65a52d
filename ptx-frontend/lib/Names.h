// The interner: every word of a module has one Name, which also holds what the word means at this
// point of the text (symbol), what it means as an instruction (spelling, matched once) and as a
// directive or modifier. So the meaning of a word costs one hash lookup.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/Support/Allocator.h"
#include <vector>

namespace rubia::ptx {

struct MatchedSpelling;

enum class Directive : uint8_t {
  None,
#define PTX_DIRECTIVE(Name, Text) Name,
#include "ptx-frontend/lib/Directives.def"
};

// What a name stands for in the innermost scope that declares it.
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

// `.reg .b32 %r<10>` under the name "%r"; a register "%r" may stand beside it.
struct RangeSymbol {
  uint32_t count = 0; // 0: there is none
  uint32_t first = 0; // register
  uint32_t depth = 0;
  const RangeSymbol *outer = nullptr; // the range that this one hides in part
};

struct Name {
  const char *data;
  uint32_t length;
  uint32_t hash;
  Symbol symbol;
  RangeSymbol range;
  uint32_t rejectedIn = 0; // as an instruction: the function, counted from 1, that reported it last
  const MatchedSpelling *spelling = nullptr;
  Mod mod = Mod::None;
  Directive directive = Directive::None;

  llvm::StringRef text() const { return {data, length}; }
};

// Pointers to names stay valid. Texts must outlive the table.
class NameTable {
public:
  // `expected` is a hint: about how many names there will be.
  explicit NameTable(size_t expected);

  Name *intern(llvm::StringRef text) {
    uint32_t hash = hashOf(text);
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      Name *name = slots[i];
      if (!name)
        return insert(text, hash, i);
      if (name->hash == hash && name->length == text.size() &&
          __builtin_memcmp(name->data, text.data(), text.size()) == 0)
        return name;
    }
  }
  Name *find(llvm::StringRef text) const {
    uint32_t hash = hashOf(text);
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      Name *name = slots[i];
      if (!name || (name->hash == hash && name->length == text.size() &&
                    __builtin_memcmp(name->data, text.data(), text.size()) == 0))
        return name;
    }
  }

private:
  llvm::BumpPtrAllocator arena;
  std::vector<Name *> slots;
  size_t mask, count = 0;

  // Eight bytes a step; the names of a module differ mostly at their ends.
  static uint32_t hashOf(llvm::StringRef text) {
    const char *p = text.data();
    size_t n = text.size();
    uint64_t hash = n * 0x9e3779b97f4a7c15ull;
    auto mix = [&](uint64_t value) {
      hash = (hash ^ value) * 0xff51afd7ed558ccdull;
      hash ^= hash >> 32;
    };
    uint64_t word = 0;
    for (; n >= 8; p += 8, n -= 8) {
      __builtin_memcpy(&word, p, 8);
      mix(word);
    }
    if (n >= 4) {
      uint32_t low, high;
      __builtin_memcpy(&low, p, 4);
      __builtin_memcpy(&high, p + n - 4, 4);
      mix(uint64_t(high) << 32 | low);
    } else if (n) {
      mix(uint64_t(uint8_t(p[0])) | uint64_t(uint8_t(p[n / 2])) << 8 |
          uint64_t(uint8_t(p[n - 1])) << 16);
    }
    return uint32_t(hash ^ hash >> 29);
  }
  Name *insert(llvm::StringRef text, uint32_t hash, size_t slot);
  void grow();
};

} // namespace rubia::ptx
