// SPDX-License-Identifier: Apache-2.0
// Formats and shapes of the cases (Cases.h).
#pragma once

#include "tests/golden/textures/Cases.h"
#include <algorithm>
#include <iterator>

namespace rubia::golden {

struct Format {
  const char *name;
  int code;
  unsigned bytes; // of a channel
  bool isFloat;
};
inline constexpr Format kFormats[] = {
    {"u8", 1, 1, false},  {"u16", 2, 2, false},  {"u32", 3, 4, false},   {"s8", 8, 1, false},
    {"s16", 9, 2, false}, {"s32", 10, 4, false}, {"f16", 0x10, 2, true}, {"f32", 0x20, 4, true}};
inline const Format &formatOf(int code) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [&](const Format &format) { return format.code == code; });
}

inline unsigned dimensionsOf(Shape shape) {
  switch (shape) {
  case Shape::Linear:
  case Shape::D1:
  case Shape::Layered1:
    return 1;
  case Shape::Pitched:
  case Shape::D2:
  case Shape::Layered2:
    return 2;
  default:
    return 3;
  }
}
inline bool isLayered(Shape shape) {
  return shape == Shape::Layered1 || shape == Shape::Layered2 || shape == Shape::LayeredCube;
}

} // namespace rubia::golden
