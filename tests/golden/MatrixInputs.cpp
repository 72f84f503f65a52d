// SPDX-License-Identifier: Apache-2.0
#include "MatrixInputs.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace rubia::golden {
namespace {

struct FloatType {
  StringRef name;
  unsigned bytes, exponentBits, mantissaBits, lowBits; // lowBits: below the mantissa (tf32)
  bool hasInfinity;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  unsigned highestField() const {
    return (1u << exponentBits) - (hasInfinity ? 2 : 1); // e4m3: the highest has numbers
  }
  uint64_t make(bool negative, uint64_t field, uint64_t mantissa) const {
    return ((uint64_t(negative) << exponentBits | field) << mantissaBits | mantissa) << lowBits;
  }
};
constexpr FloatType kFloats[] = {{"f16", 2, 5, 10, 0, true},   {"bf16", 2, 8, 7, 0, true},
                                 {"tf32", 4, 8, 10, 13, true}, {"f32", 4, 8, 23, 0, true},
                                 {"f64", 8, 11, 52, 0, true},  {"e4m3", 1, 4, 3, 0, false},
                                 {"e5m2", 1, 5, 2, 0, true}};

class Floats {
public:
  Floats(const FloatType &type, std::mt19937_64 &random) : type(type), random(random) {}

  // `index`: of the element; `previous`: the one before.
  uint64_t next(StringRef kind, size_t index, uint64_t previous) {
    if (kind == "exact")
      return integer(int(below(9)) - 4);
    if (kind == "denormal")
      return below(4) ? type.make(below(2), below(3), mantissa())
                      : type.make(below(2), unsigned(type.bias()), mantissa());
    if (kind == "cancelling") // the factors in B are the same, or nearly
      return index % 2 ? previous ^ signBit() ^ (below(3) ? 0 : uint64_t(1) << type.lowBits)
                       : around(0, spread());
    if (kind == "same") // of B in a cancelling product
      return index % 2 ? previous : around(0, spread());
    if (kind == "huge")
      return type.make(below(2), type.highestField() - below(3),
                       type.hasInfinity ? mantissa() : below(6));
    if ((kind == "infinite" || kind == "nan") && below(24) == 0) {
      const bool asNan = kind == "nan" && below(2);
      if (!type.hasInfinity)
        return asNan ? type.make(below(2), type.highestField(), mantissaMask())
                     : type.make(below(2), type.highestField(), mantissaMask() - 1);
      return type.make(below(2), type.highestField() + 1, asNan ? 1 + below(mantissaMask()) : 0);
    }
    return around(0, kind == "normal" ? spread() : 2);
  }

private:
  uint64_t below(uint64_t bound) { return (random() >> 16) % bound; }
  uint64_t mantissaMask() const { return (uint64_t(1) << type.mantissaBits) - 1; }
  uint64_t mantissa() { return random() & mantissaMask(); }
  uint64_t signBit() const { return type.make(true, 0, 0); }
  int spread() const { return type.exponentBits >= 8 ? 9 : type.exponentBits == 5 ? 5 : 3; }
  uint64_t around(int exponent, int distance) {
    const int chosen = exponent - distance + int(below(uint64_t(2 * distance + 1)));
    const uint64_t low = type.lowBits ? random() & ((uint64_t(1) << type.lowBits) - 1) : 0;
    return type.make(below(2), uint64_t(chosen + type.bias()), mantissa()) | low;
  }
  // Of at most 4 in magnitude: one of 0, 1, 2, 3, 4.
  uint64_t integer(int value) const {
    if (value == 0)
      return 0;
    const unsigned magnitude = unsigned(std::abs(value));
    const unsigned exponent = magnitude < 2 ? 0 : magnitude < 4 ? 1 : 2;
    const uint64_t rest = uint64_t(magnitude - (1u << exponent)) << (type.mantissaBits - exponent);
    return type.make(value < 0, uint64_t(int(exponent) + type.bias()), rest);
  }

  const FloatType &type;
  std::mt19937_64 &random;
};

uint64_t integerWord(StringRef type, StringRef kind, std::mt19937_64 &random) {
  static constexpr uint8_t kBytes[] = {0x00, 0x01, 0x7f, 0x80, 0x81, 0xff};
  if (type == "s32") {
    if (kind == "normal")
      return uint32_t(int32_t(uint32_t(random())) >> 8);
    static constexpr uint32_t kSums[] = {0x7fffffff, 0x80000000, 0x7ffffff0, 0x80000010, 0, 1};
    return kSums[(random() >> 16) % std::size(kSums)];
  }
  if (kind == "normal")
    return uint32_t(random());
  // Four at once, often the same: sums as large as they get.
  if (type == "b1")
    return random() % 2 ? 0xffffffff : uint32_t(random());
  if (random() % 2)
    return 0x01010101u * (type[1] == '8' ? kBytes[(random() >> 16) % std::size(kBytes)]
                                         : uint32_t(random() % 2 ? 0x88 : 0x77));
  uint32_t word = 0;
  for (unsigned i = 0; i < 4; ++i)
    word = word << 8 | kBytes[(random() >> 16) % std::size(kBytes)];
  return word;
}

uint32_t metadataWord(bool oneOfTwo, std::mt19937_64 &random) {
  static constexpr uint8_t kTwoOfFour[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe};
  uint32_t word = 0;
  for (unsigned i = 0; i < 8; ++i)
    word = word << 4 | (oneOfTwo ? ((random() >> 16) % 2 ? 0xe : 0x4)
                                 : kTwoOfFour[(random() >> 16) % std::size(kTwoOfFour)]);
  return word;
}

} // namespace

std::optional<std::vector<uint8_t>> matrixElements(StringRef rule, size_t size,
                                                   std::mt19937_64 &random) {
  auto [type, kind] = rule.split('/');
  std::vector<uint8_t> bytes(size);
  auto put = [&](size_t at, uint64_t value, unsigned width) {
    memcpy(&bytes[at], &value, std::min<size_t>(width, size - at));
  };
  if (type.starts_with("metadata")) {
    for (size_t at = 0; at < size; at += 4)
      put(at, metadataWord(type == "metadata-tf32", random), 4);
    return bytes;
  }
  if (type == "s32" || type == "s8" || type == "u8" || type == "s4" || type == "u4" ||
      type == "b1") {
    for (size_t at = 0; at < size; at += 4)
      put(at, integerWord(type, kind, random), 4);
    return bytes;
  }
  const auto *found = find_if(kFloats, [&](const FloatType &f) { return f.name == type; });
  if (kind.empty() || found == std::end(kFloats))
    return std::nullopt;
  Floats floats(*found, random);
  uint64_t previous = 0;
  for (size_t i = 0; i * found->bytes < size; ++i) {
    previous = floats.next(kind, i, previous);
    put(i * found->bytes, previous, found->bytes);
  }
  return bytes;
}

} // namespace rubia::golden
