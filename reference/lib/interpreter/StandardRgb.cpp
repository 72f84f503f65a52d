// SPDX-License-Identifier: Apache-2.0
// The digits are those of the curve that are nearest, but for small numbers: an H100's differ there
// by up to 1.3 of the last digit.
#include "reference/lib/interpreter/StandardRgb.h"
#include <algorithm>
#include <iterator>

namespace rubia::reference::interpreter {

LinearLight LinearLight::of(uint8_t channel) {
  // As recorded. The first channel of each power of two is not where the curve passes it.
  constexpr uint8_t kFirsts[] = {0, 1, 2, 4, 7, 13, 22, 32, 48, 64, 96, 136, 184, 248};
  constexpr uint8_t kSmall[] = {0x00, 0xa0, 0xa0, 0xf0, 0xa0, 0xc8, 0xf0, 0x8c, 0xa0, 0xb4, 0xc8,
                                0xdc, 0xf0, 0x84, 0x90, 0x9c, 0xaa, 0xb8, 0xc6, 0xd6, 0xe6};
  constexpr int kPowerOfFirst = -20;
  const auto next = std::upper_bound(std::begin(kFirsts), std::end(kFirsts), channel);
  LinearLight light;
  light.power = kPowerOfFirst + int(next - std::begin(kFirsts)) - 1;
  if (channel < std::size(kSmall)) {
    light.digits = kSmall[channel];
    return light;
  }
  const double curved = channel / 255.0, linear = curved <= 0.04045
                                                      ? curved / 12.92
                                                      : std::pow((curved + 0.055) / 1.055, 2.4);
  light.digits = unsigned(std::round(std::ldexp(linear, -light.power)));
  return light;
}

uint8_t standardRgbOf(float colour) {
  const double light = std::isnan(colour) ? 0 : std::clamp(double(colour), 0.0, 1.0);
  const double curved =
      light <= 0.0031308 ? light * 12.92 : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
  return uint8_t(std::lround(curved * 255));
}

} // namespace rubia::reference::interpreter
