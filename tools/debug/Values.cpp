// SPDX-License-Identifier: Apache-2.0
#include "tools/debug/Values.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringExtras.h"
#include <bit>
#include <cstring>

using namespace llvm;

namespace rubia::tools {

uint64_t numberIn(const json::Object &object, StringRef key) {
  uint64_t value = 0;
  object.getString(key).value_or("0").getAsInteger(0, value);
  return value;
}

std::string hexadecimal(uint64_t value) { return "0x" + utohexstr(value, true); }

std::string tripleIn(const json::Object &object, StringRef key) {
  std::string text = "(";
  if (const json::Array *numbers = object.getArray(key))
    for (const json::Value &number : *numbers)
      text += (text.size() > 1 ? "," : "") + std::to_string(number.getAsInteger().value_or(0));
  return text + ")";
}

std::optional<json::Array> parseTriple(StringRef word) {
  word.consume_front("(");
  word.consume_back(")");
  SmallVector<StringRef, 3> parts;
  word.split(parts, ',');
  if (parts.size() > 3)
    return std::nullopt;
  json::Array numbers;
  for (size_t i = 0; i < 3; ++i) {
    uint32_t number = 0;
    if (i < parts.size() && parts[i].trim().getAsInteger(0, number))
      return std::nullopt;
    numbers.push_back(int64_t(number));
  }
  return numbers;
}

unsigned sizeOfType(StringRef type) {
  const StringRef digits = type.drop_front(type.empty() ? 0 : 1);
  unsigned bits = 0;
  if (type.empty() || !StringRef("usbf").contains(type[0]) || digits.getAsInteger(10, bits))
    return 0;
  const bool exists = bits == 16 || bits == 32 || bits == 64 || (bits == 8 && type[0] != 'f');
  return exists ? bits / 8 : 0;
}

static const fltSemantics &formatOf(unsigned bits) {
  return bits == 16   ? APFloat::IEEEhalf()
         : bits == 32 ? APFloat::IEEEsingle()
                      : APFloat::IEEEdouble();
}

/// A number of the type with these bits.
static std::string elementText(StringRef type, uint64_t bits) {
  const unsigned size = 8 * sizeOfType(type);
  if (type.starts_with("f")) {
    SmallString<32> text;
    APFloat(formatOf(size), APInt(size, bits, false, true)).toString(text);
    return text.str().str();
  }
  if (type.starts_with("s"))
    return std::to_string(SignExtend64(bits, size));
  return type.starts_with("u") ? std::to_string(bits) : hexadecimal(bits);
}

Expected<APInt> parseNumber(StringRef text, StringRef type, unsigned bits) {
  const auto wrong = [&] {
    const std::string what =
        type.empty() ? "a number of " + std::to_string(bits) + " bits" : type.str();
    return createStringError("'" + text + "' is not " + what);
  };
  if (type == "pred")
    text = text == "true" ? "1" : text == "false" ? "0" : text;
  bits = type == "pred" ? 1 : sizeOfType(type) ? 8 * sizeOfType(type) : bits;
  const bool isBits = text.starts_with_insensitive("0x");
  if (type.starts_with("f") && sizeOfType(type) && !isBits) {
    APFloat number(formatOf(bits));
    Expected<APFloat::opStatus> status =
        number.convertFromString(text, APFloat::rmNearestTiesToEven);
    if (!status) {
      consumeError(status.takeError());
      return wrong();
    }
    return number.bitcastToAPInt();
  }
  StringRef digits = text;
  const bool isNegative = digits.consume_front("-");
  APInt number;
  if (digits.getAsInteger(0, number) || number.getActiveBits() > bits)
    return wrong();
  number = number.zextOrTrunc(bits + 1); // with a sign
  const APInt least = APInt::getOneBitSet(bits + 1, bits - 1);
  if (isNegative && (type.starts_with("u") || number.ugt(least)))
    return wrong();
  if (type.starts_with("s") && !isNegative && !isBits && number.uge(least))
    return wrong();
  return (isNegative ? -number : number).trunc(bits);
}

std::string valueText(const json::Object &value) {
  const StringRef type = value.getString("type").value_or("");
  const uint64_t bits = numberIn(value, "value");
  if (type == "pred")
    return bits ? "true" : "false";
  if (value.get("high"))
    return hexadecimal(numberIn(value, "high")) + utohexstr(bits, true, 16);
  if (sizeOfType(type) == 0)
    return hexadecimal(bits);
  const std::string number = elementText(type, bits);
  if (type.starts_with("b")) // an integer, or the bits of anything
    return number + " = " + std::to_string(bits);
  return number + " (" + hexadecimal(bits) + ")";
}

std::string sourceText(const json::Object &place) {
  if (const std::optional<StringRef> file = place.getString("file"))
    return file->str() + ":" + std::to_string(place.getInteger("line").value_or(0));
  return "pc " + hexadecimal(uint64_t(place.getInteger("pc").value_or(0)));
}

std::string threadText(const json::Object &place) {
  return "workgroup " + tripleIn(place, "workgroup") + " thread " + tripleIn(place, "thread") +
         ", wave " + std::to_string(place.getInteger("wave").value_or(0)) + " lane " +
         std::to_string(place.getInteger("lane").value_or(0)) +
         (place.getBoolean("active").value_or(true) ? "" : " (inactive)");
}

std::string memoryText(ArrayRef<uint8_t> bytes, uint64_t address, StringRef type) {
  const unsigned size = sizeOfType(type);
  constexpr unsigned kInLine = 8;
  std::string text;
  for (size_t i = 0; i + size <= bytes.size(); i += size) {
    if (i % (kInLine * size) == 0)
      text += (i == 0 ? "" : "\n") + hexadecimal(address + i) + ":";
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, size);
    text += " " + elementText(type, bits);
  }
  return text + "\n";
}

} // namespace rubia::tools
