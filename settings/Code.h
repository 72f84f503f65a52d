// SPDX-License-Identifier: Apache-2.0
// What the user may choose about the code of a kernel, made of the rows of Code.def.
#pragma once

#include "settings/Types.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace rubia::settings {

/// Enumerators of a row, in parentheses there, without them.
#define RUBIA_ENUMERATORS(...) __VA_ARGS__
/// An enumeration with an enumerator for each of the words.
#define RUBIA_WORD_ENUMERATION(Enum, Enumerators, Words)                                           \
  enum class Enum : uint8_t { RUBIA_ENUMERATORS Enumerators };                                     \
  static_assert([] {                                                                               \
    enum { RUBIA_ENUMERATORS Enumerators, kCount };                                                \
    return countWords(Words) == size_t(kCount);                                                    \
  }());
#define CODE_SETTING(Variable, Name, Enum, Enumerators, Words, Default, Key, Meaning)              \
  RUBIA_WORD_ENUMERATION(Enum, Enumerators, Words)
#include "settings/Code.def"
#undef CODE_SETTING

/// What the user may choose about the code of a kernel: one field for each CODE_SETTING. It goes
/// from the command line or the environment through the compile worker to lowering as it is.
struct Code {
#define CODE_SETTING(Variable, Name, Enum, Enumerators, Words, Default, Key, Meaning)              \
  Enum Name = Enum(indexOfWord(Words, Default));
#include "settings/Code.def"
#undef CODE_SETTING
  bool operator==(const Code &) const = default;

  /// ("nan", "any"), ...: in the order of the rows.
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> keyFields() const;
};

} // namespace rubia::settings
