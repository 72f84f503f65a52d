// SPDX-License-Identifier: Apache-2.0
// sRGB's curve as an H100 has it: docs/textures.md, "The sampler".
#pragma once

#include <cmath>
#include <cstdint>

namespace rubia::reference::interpreter {

/// What a channel of an sRGB texel stands for: digits of 8 bits, and what the last of them is
/// worth.
struct LinearLight {
  unsigned digits = 0;
  int power = 0; // of two

  static LinearLight of(uint8_t channel);
  double value() const { return std::ldexp(digits, power); }
  /// Cut to where a number with a larger power ends.
  double cutAt(int larger) const {
    constexpr int kBits = 8;
    return larger - power > kBits ? 0 : std::ldexp(digits >> (larger - power), larger);
  }
};

/// The channel whose light is nearest to a colour from 0 to 1.
uint8_t standardRgbOf(float colour);

} // namespace rubia::reference::interpreter
