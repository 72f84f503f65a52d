// SPDX-License-Identifier: Apache-2.0
// What a character can be part of, and runs of characters: sixteen at a time with SSE2, so that the
// length of a word costs no unpredictable branch; one at a time near the end of the text and on
// other processors.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rubia::ptx {

enum CharacterClass : uint8_t { kBlank = 1, kWordStart = 2, kDigit = 4, kWord = 8, kHexDigit = 16 };

inline constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'})
    classes[uint8_t(c)] = kBlank;
  for (unsigned c = 'a'; c <= 'z'; ++c)
    classes[c] = classes[c - 'a' + 'A'] = kWordStart | kWord;
  for (char c : {'_', '$'})
    classes[uint8_t(c)] = kWordStart | kWord;
  for (unsigned c = '0'; c <= '9'; ++c)
    classes[c] = kDigit | kWord | kHexDigit;
  for (char c : {'a', 'b', 'c', 'd', 'e', 'f', 'A', 'B', 'C', 'D', 'E', 'F'})
    classes[uint8_t(c)] |= kHexDigit;
  return classes;
}();

inline bool is(char c, uint8_t classes) { return kClasses[uint8_t(c)] & classes; }

/// Sixteen characters from `p` on; bit i of a mask is about p[i].
class Chunk {
public:
  static constexpr unsigned kSize = 16;
#ifdef __SSE2__
  explicit Chunk(const char *p) : c(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))) {}

  unsigned newlines() const { return mask(equal('\n')); }
  /// Blank, tab, line break and their kin.
  unsigned blanks() const { return mask(_mm_or_si128(equal(' '), inRange(c, '\t', 4))); }
  /// Letters, digits, `_` and `$`.
  unsigned words() const {
    __m128i lower = _mm_or_si128(c, _mm_set1_epi8(0x20));
    return mask(_mm_or_si128(_mm_or_si128(inRange(lower, 'a', 25), inRange(c, '0', 9)),
                             _mm_or_si128(equal('_'), equal('$'))));
  }
  unsigned dots() const { return mask(equal('.')); }

private:
  __m128i c;
  static unsigned mask(__m128i bytes) { return unsigned(_mm_movemask_epi8(bytes)); }
  __m128i equal(char value) const { return _mm_cmpeq_epi8(c, _mm_set1_epi8(value)); }
  /// value in [first, first + span], as unsigned bytes
  static __m128i inRange(__m128i value, char first, char span) {
    __m128i offset = _mm_sub_epi8(value, _mm_set1_epi8(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(span)), offset);
  }
#else
  explicit Chunk(const char *p) : p(p) {}

  unsigned newlines() const {
    return mask([](char c) { return c == '\n'; });
  }
  unsigned blanks() const {
    return mask([](char c) { return is(c, kBlank); });
  }
  unsigned words() const {
    return mask([](char c) { return is(c, kWord); });
  }
  unsigned dots() const {
    return mask([](char c) { return c == '.'; });
  }

private:
  const char *p;
  template <typename Predicate> unsigned mask(Predicate holds) const {
    unsigned bits = 0;
    for (unsigned i = 0; i < kSize; ++i)
      bits |= unsigned(holds(p[i])) << i;
    return bits;
  }
#endif
};

} // namespace rubia::ptx
