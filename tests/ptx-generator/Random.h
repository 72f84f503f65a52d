// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same everywhere: the standard library's distributions are not.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace rubia::test {

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// 0 .. bound-1; 0 if bound is 0.
  size_t below(size_t bound) { return bound ? size_t(next() % bound) : 0; }
  bool chance(unsigned percent) { return below(100) < percent; }
  /// One element of an array, a vector.
  template <typename Range> auto pick(const Range &range) {
    return *(std::begin(range) + below(std::size(range)));
  }
  llvm::StringRef oneOf(std::initializer_list<llvm::StringRef> words) {
    return *(words.begin() + below(words.size()));
  }

private:
  uint64_t state;
};

} // namespace rubia::test
