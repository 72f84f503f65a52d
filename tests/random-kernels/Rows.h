// SPDX-License-Identifier: Apache-2.0
// The scalar instructions that the generator draws from.
//
// The rows are the generator's own, not those of the instruction table: a recording is for the
// kernels that the generator makes of a seed, and these must not change when the table grows.
#pragma once

#include "Kernel.h"
#include <string>
#include <vector>

namespace rubia::random_kernels {

enum class Topic : uint8_t {
  Arithmetic,
  Division,
  Bits,
  Logic,
  Wide,
  Packed,
  Video,
  Single,
  Double,
  Half,
  BFloat,
  Slow, // divisions and square roots of f32 and f64
  Convert,
  Compare,
  Select,
  Move,
  Fused,   // unrounded multiplications and additions
  NanBits, // what depends on the bits of a NaN
  Count
};
inline constexpr unsigned kTopicCount = unsigned(Topic::Count);

/// One instruction. A letter is an operand:
///   p .pred   h .b16   r .b32   d .b64   f .f32   e .f64   x .f16   b .bf16   y .f16x2   z .bf16x2
///   q  p, or not p          s  a shift amount      t  a number from 0 to 255 (or to 63, constant)
///   u  a position, constant at most 31             v  a length, constant at most 32
///   k  a constant from 0 to 255
struct Row {
  Topic topic;
  std::string word;
  std::string destinations, sources;
};

/// Of an operand's letter.
Kind kindOf(char letter);

/// All rows, their alternatives expanded. Rows of one topic are equally likely by the line that
/// they come from: group(i) are those of line i.
const std::vector<std::vector<Row>> &rowsOf(Topic topic);

} // namespace rubia::random_kernels
