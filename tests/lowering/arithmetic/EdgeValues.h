// SPDX-License-Identifier: Apache-2.0
// The shared list of edge values: what execution tests feed to every operation, by operand size.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace rubia::lowering::test {

/// Bit patterns that matter to 16-, 32- and 64-bit integers: zero, ends of ranges, single bits,
/// bytes with and without sign, shift amounts around the widths.
inline std::vector<uint64_t> integerEdges(unsigned bits) {
  std::vector<uint64_t> values = {0,   1,      2,      3,      7,      8,      15,    16,  17,
                                  31,  32,     33,     63,     64,     65,     127,   128, 255,
                                  256, 0x1f00, 0x7fff, 0x8000, 0xffff, 0x1234, 0xfedc};
  if (bits > 16)
    for (uint64_t value :
         {0x00010000ull, 0x007fffffull, 0x00800000ull, 0x00ffffffull, 0x7fffffffull, 0x80000000ull,
          0x80000001ull, 0xfffffffeull, 0xffffffffull, 0xff800000ull, 0x80ff7f01ull, 0x12345678ull,
          0xdeadbeefull, 0x3210ull, 0x00fedcbaull})
      values.push_back(value);
  if (bits > 32)
    for (uint64_t value : {0x0000000100000000ull, 0x7fffffffffffffffull, 0x8000000000000000ull,
                           0x8000000000000001ull, 0xffffffffffffffffull, 0xfffffffffffffffeull,
                           0x0020000000000001ull, 0x001fffffffffffffull, 0x7ffffffffffffc00ull,
                           0xfffffffffffff800ull, 0x123456789abcdef0ull, 0xffffffff00000000ull,
                           0x0000000001000001ull, 0x8000008000000001ull})
      values.push_back(value);
  return values;
}

/// f32: zeros, denormals, the ends of the normal range, 1 and its neighbours, halves, the ends of
/// the integer ranges, infinities, NaNs.
inline std::vector<uint64_t> f32Edges() {
  std::vector<uint64_t> values;
  for (uint64_t magnitude :
       {0x00000000u, 0x00000001u, 0x00000003u, 0x00400000u, 0x007fffffu, 0x00800000u,
        0x00800001u, 0x01000000u, 0x0c000000u, 0x33800000u, 0x34000001u, 0x3effffffu,
        0x3f000000u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x3fc00000u, 0x40200000u,
        0x40490fdbu, 0x42fe0000u, 0x42ff0000u, 0x43000000u, 0x437f8000u, 0x46fffe00u,
        0x477fff00u, 0x4b000001u, 0x4b7fffffu, 0x4effffffu, 0x4f000000u, 0x4f7fffffu,
        0x4f800000u, 0x5effffffu, 0x5f000000u, 0x5f800000u, 0x7e800000u, 0x7e800001u,
        0x7f000000u, 0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0x7fc00000u, 0x7fffffffu}) {
    values.push_back(magnitude);
    values.push_back(magnitude | 0x80000000u);
  }
  return values;
}

inline std::vector<uint64_t> f64Edges() {
  std::vector<uint64_t> values;
  for (uint64_t magnitude :
       {0x0000000000000000ull, 0x0000000000000001ull, 0x0008000000000000ull, 0x000fffffffffffffull,
        0x0010000000000000ull, 0x0010000000000001ull, 0x3690000000000000ull, 0x36a0000000000000ull,
        0x36a0000000000001ull, 0x380fffffe0000000ull, 0x380fffffc0000000ull, 0x380ffffff0000000ull,
        0x380fffffefffffffull, 0x3810000000000000ull, 0x3810000000000001ull, 0x3fdfffffffffffffull,
        0x3fe0000000000000ull, 0x3fefffffffffffffull, 0x3ff0000000000000ull, 0x3ff0000000000001ull,
        0x3ff0000010000000ull, 0x3ff0000030000000ull, 0x3ff8000000000000ull, 0x4004000000000000ull,
        0x400921fb54442d18ull, 0x41dfffffffc00000ull, 0x41e0000000000000ull, 0x41efffffffe00000ull,
        0x41f0000000000000ull, 0x43dfffffffffffffull, 0x43e0000000000000ull, 0x43efffffffffffffull,
        0x43f0000000000000ull, 0x47efffffe0000000ull, 0x47effffff0000000ull, 0x47f0000000000000ull,
        0x7fd0000000000000ull, 0x7fefffffffffffffull, 0x7ff0000000000000ull, 0x7ff0000000000001ull,
        0x7ff8000000000000ull}) {
    values.push_back(magnitude);
    values.push_back(magnitude | 0x8000000000000000ull);
  }
  return values;
}

inline std::vector<uint64_t> f16Edges() {
  std::vector<uint64_t> values;
  for (uint64_t magnitude : {0x0000u, 0x0001u, 0x03ffu, 0x0400u, 0x0401u, 0x37ffu, 0x3800u,
                             0x3bffu, 0x3c00u, 0x3c01u, 0x3e00u, 0x4100u, 0x57f0u, 0x5bf8u,
                             0x6400u, 0x7800u, 0x7bffu, 0x7c00u, 0x7c01u, 0x7e00u, 0x7ff7u}) {
    values.push_back(magnitude);
    values.push_back(magnitude | 0x8000u);
  }
  return values;
}

/// The last is the mark of fma.rn.oob, a NaN.
inline std::vector<uint64_t> bf16Edges() {
  std::vector<uint64_t> values;
  for (uint64_t magnitude :
       {0x0000u, 0x0001u, 0x0040u, 0x007fu, 0x0080u, 0x0081u, 0x1f80u, 0x2000u, 0x3b80u,
        0x3c00u, 0x3effu, 0x3f00u, 0x3f7fu, 0x3f80u, 0x3f81u, 0x3fc0u, 0x4049u, 0x437fu,
        0x5f80u, 0x7e80u, 0x7f7fu, 0x7f80u, 0x7f81u, 0x7fc0u, 0x7ff7u}) {
    values.push_back(magnitude);
    values.push_back(magnitude | 0x8000u);
  }
  return values;
}

/// Seeded bit patterns of which many are ordinary numbers of a float format: uniform exponents.
inline std::vector<uint64_t> randomPatterns(unsigned bits, unsigned count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<uint64_t> values;
  for (unsigned n = 0; n < count; ++n)
    values.push_back(bits == 64 ? engine() : engine() & ((uint64_t(1) << bits) - 1));
  return values;
}

} // namespace rubia::lowering::test
