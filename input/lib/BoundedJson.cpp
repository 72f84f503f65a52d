// SPDX-License-Identifier: Apache-2.0
#include "input/BoundedJson.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace rubia::input {

static constexpr unsigned kMaxDepth = 64; // ours has five levels

static bool isNestedTooDeep(StringRef text) {
  unsigned depth = 0;
  bool isInString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (isInString) {
      i += c == '\\';
      isInString = c != '"';
    } else if (c == '"') {
      isInString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth)
        return true;
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  return false;
}

/// LLVM's parser makes an infinity of 1e999, and its printer writes what is no JSON.
static bool hasInfinity(const json::Value &value) {
  if (const json::Array *array = value.getAsArray())
    return any_of(*array, hasInfinity);
  if (const json::Object *object = value.getAsObject())
    return any_of(*object, [](const auto &member) { return hasInfinity(member.second); });
  const std::optional<double> number = value.getAsNumber();
  return number && !std::isfinite(*number);
}

Expected<json::Value> parseBoundedJson(StringRef text) {
  if (isNestedTooDeep(text))
    return createStringError(inconvertibleErrorCode(), "JSON that is nested too deep");
  Expected<json::Value> value = json::parse(text);
  if (value && hasInfinity(*value))
    return createStringError(inconvertibleErrorCode(), "JSON with a number that is too large");
  return value;
}

} // namespace rubia::input
