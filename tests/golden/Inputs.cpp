// SPDX-License-Identifier: Apache-2.0
// Edge values by type, and tuples of them.
#include "Case.h"
#include "llvm/Support/xxhash.h"
#include <array>
#include <random>

using namespace llvm;

namespace rubia::golden {
namespace {

void addFloats(std::vector<uint64_t> &values, unsigned bits, unsigned fractionBits) {
  unsigned exponentBits = bits - 1 - fractionBits;
  uint64_t sign = uint64_t(1) << (bits - 1), hidden = uint64_t(1) << fractionBits;
  uint64_t fractions = hidden - 1, bias = (uint64_t(1) << (exponentBits - 1)) - 1;
  uint64_t infinity = ((uint64_t(1) << exponentBits) - 1) << fractionBits;
  auto number = [&](int exponent, uint64_t fraction) {
    return uint64_t(int64_t(bias) + exponent) << fractionBits | fraction;
  };
  std::vector<uint64_t> magnitudes = {
      0,
      1,
      2,
      hidden / 2,
      hidden / 2 + 1,
      fractions - 1,
      fractions, // zero, denormals
      hidden,
      hidden + 1,
      hidden | fractions, // the smallest normals
      number(0, 0),
      number(0, 1),
      number(-1, fractions),
      number(0, hidden / 2),
      number(1, 0),
      number(1, hidden / 2),
      number(-1, 0),
      number(-2, 0),
      number(1, hidden / 4),
      number(2, 0),
      number(2, 1),
      number(3, hidden / 4 * 3),
      number(int(bias), fractions),
      number(int(bias), fractions - 1),
      number(int(bias), 0),
      number(1 - int(bias), 0),
      number(int(fractionBits), 1),
      number(int(fractionBits) - 1, 1),
      number(int(fractionBits) + 1, 1),
      infinity,
      infinity | hidden / 2,
      infinity | fractions,
      infinity | 1,
      infinity | hidden / 4 | 3,
  };
  // Bounds of the integer types, and a step to either side.
  for (int exponent : {3, 6, 7, 8, 10, 14, 15, 16, 30, 31, 32, 62, 63, 64, 126})
    if (exponent <= int(bias)) {
      magnitudes.push_back(number(exponent, 0));
      magnitudes.push_back(number(exponent, 0) - 1);
      magnitudes.push_back(number(exponent, 0) + 1);
    }
  for (uint64_t magnitude : magnitudes) {
    values.push_back(magnitude);
    values.push_back(magnitude | sign);
  }
}

void addIntegers(std::vector<uint64_t> &values, unsigned bits) {
  uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  for (uint64_t value :
       {0,  1,  2,  3,  7,   8,   15,  16,  17,  24,     30,     31,     32,     33,    47,
        48, 63, 64, 65, 100, 127, 128, 255, 256, 0x0101, 0x1234, 0x7fff, 0x8000, 0xffff})
    values.push_back(value & mask);
  for (uint64_t value :
       {0x10000ull, 0x7fffffull, 0x800000ull, 0xffffffull, 0x7fffffffull, 0x80000000ull,
        0xffffffffull, 0x100000000ull, 0x7fffffffffffffffull, 0x8000000000000000ull,
        0x5555555555555555ull, 0xaaaaaaaaaaaaaaaaull, 0x0123456789abcdefull, 0xfedcba9876543210ull,
        0x8080808080808080ull, 0x7f7f7f7f7f7f7f7full, 0x8000800080008000ull, 0x7fff7fff7fff7fffull})
    values.push_back(value & mask);
  size_t count = values.size();
  for (size_t i = 0; i < count; ++i)
    values.push_back(-values[i] & mask);
}

struct TypeValues {
  std::vector<uint64_t> edges;
  unsigned bits;
  unsigned parts = 1;        // of a packed type: the edges are those of one part
  unsigned fractionBits = 0; // of a floating-point type
};

TypeValues valuesOf(ptx::Type type) {
  using ptx::Type;
  TypeValues result{{}, ptx::sizeInBits(type)};
  switch (type) {
  case Type::Pred:
    return {{0, 1}, 1};
  case Type::F16:
  case Type::F16x2:
    addFloats(result.edges, 16, 10);
    result.fractionBits = 10;
    break;
  case Type::BF16:
  case Type::BF16x2:
    addFloats(result.edges, 16, 7);
    result.fractionBits = 7;
    break;
  case Type::F32:
  case Type::F32x2:
  case Type::TF32:
    addFloats(result.edges, 32, 23);
    result.fractionBits = 23;
    break;
  case Type::F64:
    addFloats(result.edges, 64, 52);
    result.fractionBits = 52;
    break;
  case Type::U16x2:
  case Type::S16x2:
    addIntegers(result.edges, 16);
    break;
  default:
    addIntegers(result.edges, std::max(result.bits, 8u));
  }
  if (type == Type::F16x2 || type == Type::BF16x2 || type == Type::F32x2 || type == Type::U16x2 ||
      type == Type::S16x2)
    result.parts = 2;
  return result;
}

} // namespace

std::vector<uint64_t> inputsFor(const Case &test) {
  std::string key;
  std::vector<TypeValues> types;
  for (const Operand &operand : test.sources) {
    key += std::to_string(unsigned(ptx::sizeInBits(operand.type))) + "/" +
           std::to_string(unsigned(ptx::classOf(operand.type))) + ",";
    types.push_back(valuesOf(operand.type));
  }
  std::mt19937_64 random(xxh3_64bits(key));
  enum class How { Edge, Near, Any };
  auto one = [&](const TypeValues &type, How how) {
    if (type.bits == 1)
      return random() & 1;
    uint64_t anything = random() >> (64 - type.bits);
    if (how == How::Any || (how == How::Near && !type.fractionBits))
      return anything;
    uint64_t value = 0;
    unsigned width = type.bits / type.parts;
    for (unsigned part = 0; part < type.parts; ++part) {
      uint64_t element = type.edges[random() % type.edges.size()];
      if (how == How::Near) { // of a magnitude between 2^-8 and 2^8
        uint64_t bias = (uint64_t(1) << (width - 2 - type.fractionBits)) - 1;
        uint64_t fraction = random() & ((uint64_t(1) << type.fractionBits) - 1);
        element = (bias - 8 + random() % 16) << type.fractionBits | fraction |
                  (random() & 1) << (width - 1);
      }
      value |= element << (part * width);
    }
    return value;
  };
  std::vector<uint64_t> tuples;
  for (unsigned tuple = 0; tuple < kTupleCount; ++tuple) {
    How how = std::array{How::Edge, How::Edge, How::Near, How::Any}[tuple % 4];
    for (const auto &type : types) {
      // The edges of a single source in turn; those of several in random combination, every other
      // time with one that is not.
      if (types.size() == 1 && tuple < type.edges.size() && type.parts == 1)
        tuples.push_back(type.edges[tuple]);
      else
        tuples.push_back(one(type, tuple % 4 == 1 && random() % 3 == 0 ? How::Near : how));
    }
  }
  return tuples;
}

} // namespace rubia::golden
