// SPDX-License-Identifier: Apache-2.0
// Numbers that follow from a name, so that a recording need not hold its inputs.
#pragma once

#include <cstdint>
#include <string>

namespace rubia::golden {

// PCG: one number after the other from a seed.
class Random {
public:
  explicit Random(const std::string &seed) {
    for (char c : seed)
      state = (state ^ uint8_t(c)) * 0x100000001b3;
    next();
  }
  uint32_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint32_t shifted = uint32_t((state >> 18 ^ state) >> 27), turn = uint32_t(state >> 59);
    return shifted >> turn | shifted << (-turn & 31);
  }
  uint32_t below(uint32_t limit) { return uint32_t(uint64_t(next()) * limit >> 32); }
  float unit() { return float(next() >> 8) * 0x1p-24f; }

private:
  uint64_t state = 0xcbf29ce484222325;
};

} // namespace rubia::golden
