// SPDX-License-Identifier: Apache-2.0
// The random choices of the `order` check: a function of the seed alone (SplitMix64).
#pragma once

#include <cstdint>

namespace rubia::emulator {

class OrderRandom {
public:
  explicit OrderRandom(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// Less than `bound`, which is not 0.
  uint32_t below(uint32_t bound) { return uint32_t((next() >> 32) * bound >> 32); }
  bool oneIn(uint32_t n) { return below(n) == 0; }

private:
  uint64_t state;
};

} // namespace rubia::emulator
