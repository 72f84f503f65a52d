// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/Elements.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace rubia::tools {

namespace {
struct Row {
  StringLiteral name;
  unsigned bytes;
  enum Kind : uint8_t { Signed, Unsigned, Float } kind;
  const fltSemantics &(*semantics)();
};

// In the order of ElementType.
const Row kRows[] = {
    {"bool", 1, Row::Unsigned, nullptr},
    {"i8", 1, Row::Signed, nullptr},
    {"u8", 1, Row::Unsigned, nullptr},
    {"i16", 2, Row::Signed, nullptr},
    {"u16", 2, Row::Unsigned, nullptr},
    {"i32", 4, Row::Signed, nullptr},
    {"u32", 4, Row::Unsigned, nullptr},
    {"i64", 8, Row::Signed, nullptr},
    {"u64", 8, Row::Unsigned, nullptr},
    {"f16", 2, Row::Float, []() -> const fltSemantics & { return APFloat::IEEEhalf(); }},
    {"bf16", 2, Row::Float, []() -> const fltSemantics & { return APFloat::BFloat(); }},
    {"f32", 4, Row::Float, []() -> const fltSemantics & { return APFloat::IEEEsingle(); }},
    {"f64", 8, Row::Float, []() -> const fltSemantics & { return APFloat::IEEEdouble(); }},
};

const Row &rowOf(ElementType type) { return kRows[size_t(type)]; }

uint64_t wordAt(const Row &row, const uint8_t *bytes) {
  uint64_t word = 0;
  memcpy(&word, bytes, row.bytes); // little-endian, as the device
  return word;
}

int64_t signedAt(const Row &row, const uint8_t *bytes) {
  return SignExtend64(wordAt(row, bytes), row.bytes * 8);
}

APFloat floatAt(const Row &row, const uint8_t *bytes) {
  return {row.semantics(), APInt(row.bytes * 8, wordAt(row, bytes))};
}
} // namespace

std::optional<ElementType> elementType(StringRef name) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].name == name)
      return ElementType(i);
  return std::nullopt;
}

StringRef nameOf(ElementType type) { return rowOf(type).name; }
size_t sizeInBytes(ElementType type) { return rowOf(type).bytes; }
bool isFloat(ElementType type) { return rowOf(type).kind == Row::Float; }

uint64_t Shape::elements() const {
  uint64_t count = 1;
  for (uint64_t size : sizes)
    count *= size;
  return count;
}

std::string Shape::text() const {
  std::vector<std::string> numbers;
  for (uint64_t size : sizes)
    numbers.push_back(std::to_string(size));
  return nameOf(type).str() + "[" + join(numbers, ",") + "]";
}

// Whether all of it has at most this many bytes.
static bool isBounded(const Shape &shape, uint64_t most) {
  uint64_t left = most / sizeInBytes(shape.type);
  for (uint64_t size : shape.sizes) {
    if (size > left)
      return false;
    left /= std::max<uint64_t>(size, 1);
  }
  return true;
}

std::optional<Shape> parseShape(StringRef text) {
  constexpr uint64_t kMost = uint64_t(1) << 40;
  const auto [name, rest] = text.split('[');
  StringRef inside = rest;
  std::optional<ElementType> type = elementType(name);
  if (!type || !inside.consume_back("]"))
    return std::nullopt;
  Shape shape{*type, {}};
  SmallVector<StringRef> numbers;
  inside.split(numbers, ',');
  for (StringRef number : numbers)
    if (number.trim().getAsInteger(10, shape.sizes.emplace_back()) || !shape.sizes.back())
      return std::nullopt;
  if (!isBounded(shape, kMost))
    return std::nullopt;
  return shape;
}

double valueOf(ElementType type, const uint8_t *bytes) {
  const Row &row = rowOf(type);
  switch (row.kind) {
  case Row::Signed:
    return double(signedAt(row, bytes));
  case Row::Unsigned:
    return double(wordAt(row, bytes));
  case Row::Float:
    break;
  }
  APFloat value = floatAt(row, bytes);
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

std::string textOf(ElementType type, const uint8_t *bytes) {
  const Row &row = rowOf(type);
  switch (row.kind) {
  case Row::Signed:
    return std::to_string(signedAt(row, bytes));
  case Row::Unsigned:
    return std::to_string(wordAt(row, bytes));
  case Row::Float:
    break;
  }
  const APFloat value = floatAt(row, bytes);
  if (value.isNaN())
    return "nan";
  if (value.isInfinity())
    return value.isNegative() ? "-inf" : "inf";
  SmallString<32> text;
  value.toString(text);
  return text.str().str();
}

void printElements(raw_ostream &os, const Shape &shape, ArrayRef<uint8_t> bytes) {
  const size_t size = sizeInBytes(shape.type);
  const uint64_t row = shape.sizes.empty() ? 1 : shape.sizes.back();
  for (uint64_t i = 0; i < shape.elements(); ++i)
    os << textOf(shape.type, bytes.data() + i * size) << ((i + 1) % row ? " " : "\n");
}

// "[3,5]"
static std::string placeOf(const Shape &shape, uint64_t index) {
  std::string text;
  for (size_t i = shape.sizes.size(); i-- > 0; index /= shape.sizes[i])
    text = std::to_string(index % shape.sizes[i]) + (text.empty() ? "" : ",") + text;
  return "[" + text + "]";
}

std::string compareElements(const Shape &shape, ArrayRef<uint8_t> found, ArrayRef<uint8_t> expected,
                            const Tolerance &tolerance) {
  const size_t size = sizeInBytes(shape.type);
  uint64_t differing = 0, worst = 0;
  double largest = -1;
  for (uint64_t i = 0; i < shape.elements(); ++i) {
    const uint8_t *a = found.data() + i * size, *b = expected.data() + i * size;
    if (!memcmp(a, b, size))
      continue;
    const double is = valueOf(shape.type, a), should = valueOf(shape.type, b);
    if (isFloat(shape.type) &&
        (is == should || (std::isnan(is) && std::isnan(should)) ||
         (std::isfinite(is) && std::isfinite(should) &&
          std::fabs(is - should) <= tolerance.absolute + tolerance.relative * std::fabs(should))))
      continue;
    ++differing;
    const double difference =
        std::isfinite(is) && std::isfinite(should) ? std::fabs(is - should) : HUGE_VAL;
    if (difference > largest) {
      largest = difference;
      worst = i;
    }
  }
  if (!differing)
    return "";
  return std::to_string(differing) + " of " + std::to_string(shape.elements()) +
         " elements differ; the worst is " + placeOf(shape, worst) + ": " +
         textOf(shape.type, found.data() + worst * size) + ", expected " +
         textOf(shape.type, expected.data() + worst * size);
}

} // namespace rubia::tools
