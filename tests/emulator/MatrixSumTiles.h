// SPDX-License-Identifier: Apache-2.0
// Random tiles for matrix units, the same on every machine: numbers of all kinds that show how a
// unit aligns, cuts, rounds and flushes. Data that was recorded of them holds results alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace rubia::emulator::test {

/// A binary format: its fields, and which codes are special.
struct TileFormat {
  unsigned exponentBits, fractionBits;
  bool fnuz; // no infinities, the NaN has the code of -0; else as IEEE
  constexpr unsigned bits() const { return 1 + exponentBits + fractionBits; }
  constexpr int bias() const { return (1 << (exponentBits - 1)) - (fnuz ? 0 : 1); }
  constexpr int top() const { return (1 << exponentBits) - (fnuz ? 1 : 2); } // of normal numbers
};

constexpr uint64_t mixed64(uint64_t x) { // the finaliser of SplitMix64
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// FNV-1a.
constexpr uint64_t seedOf(std::string_view form) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : form)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

/// The numbers of one tile. Operands: 0 is A with index row * depth + k, 1 is B with index column *
/// depth + k, 2 is C with index row * columns + column.
class TileNumbers {
public:
  TileNumbers(std::string_view form, unsigned tile)
      : seed(mixed64(seedOf(form) + tile * 0x9e3779b97f4a7c15)), kind(tile % 8) {}

  /// A number of A or B at depth `k`.
  uint64_t input(const TileFormat &format, unsigned operand, unsigned index, unsigned k) const {
    const bool cancels = kind == 4 && (k & 1);
    uint64_t r = random(operand, cancels ? index - 1 : index), t = mixed64(r) >> 16;
    if (cancels && random(operand, index) % 4 != 0 && operand == 0)
      r ^= 1; // the sign
    uint64_t fraction = r >> 1 & mask(format.fractionBits);
    int field = format.bias();
    switch (kind) {
    case 0:
      field += int(t % 7) - 3;
      break;
    case 1:
      field = int(t % (1u << format.exponentBits));
      break;
    case 2: // few bits
      field += int(t % 7) - 3;
      fraction &= ~mask(format.fractionBits - 2);
      break;
    case 3: // denormals and their neighbours
      field = int(t % 4);
      break;
    case 4:
      field += int(t % 3) - 1;
      break;
    case 5: // zeros
      if (t % 2)
        return format.fnuz ? 0 : (r & 1) << (format.bits() - 1);
      field += int(t / 2 % 31) - 15;
      break;
    case 6:
      if (t % 64 == 0)
        return special(format, r, t);
      field += int(t % 7) - 3;
      break;
    case 7:
      field = format.top() - int(t % 4);
      break;
    }
    return code(format, r & 1, field, fraction);
  }

  /// A number of C, around the products of `input`.
  uint64_t addend(const TileFormat &format, const TileFormat &input, unsigned index) const {
    constexpr int kSpans[] = {12, 64, 8, 32, 40, 48, 12, 30};
    const uint64_t r = random(2, index), t = mixed64(r) >> 16;
    if (kind == 6 && t % 64 == 0)
      return special(format, r, t);
    const int centre = kind == 3   ? 2 * (1 - input.bias())
                       : kind == 7 ? 2 * (input.top() - input.bias())
                                   : 0;
    const int span = kSpans[kind];
    return code(format, r & 1, format.bias() + centre + int(t % unsigned(span)) - span / 2,
                r >> 1 & mask(format.fractionBits));
  }

private:
  uint64_t random(unsigned operand, unsigned index) const {
    return mixed64(seed ^ (uint64_t(operand) << 32 | index));
  }
  static uint64_t mask(unsigned bits) { return (uint64_t(1) << bits) - 1; }
  static uint64_t code(const TileFormat &format, uint64_t sign, int field, uint64_t fraction) {
    field = field < 0 ? 0 : field > format.top() ? format.top() : field;
    const uint64_t magnitude = uint64_t(field) << format.fractionBits | fraction;
    return format.fnuz && magnitude == 0 ? 0 : sign << (format.bits() - 1) | magnitude;
  }
  static uint64_t special(const TileFormat &format, uint64_t r, uint64_t t) {
    const uint64_t sign = uint64_t(1) << (format.bits() - 1);
    if (format.fnuz)
      return sign;
    const uint64_t infinity = mask(format.exponentBits) << format.fractionBits;
    const uint64_t nan = t / 64 % 4 == 0 ? uint64_t(1) << (format.fractionBits - 1) : 0;
    return (r & 1 ? sign : 0) | infinity | nan;
  }
  uint64_t seed;
  unsigned kind;
};

/// A digest of results, in the order of rows and columns: all NaNs count as one.
class TileDigest {
public:
  void add(uint64_t bits, bool isNan) {
    hash = mixed64(hash ^ (isNan ? 0x7ff8000000000000 : bits)) + 0x9e3779b97f4a7c15;
  }
  uint64_t value() const { return hash; }

private:
  uint64_t hash = 0;
};

} // namespace rubia::emulator::test
