// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/BoundedJson.h"

using namespace llvm;

namespace rubia::runtime {

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

Expected<json::Value> parseBoundedJson(StringRef text) {
  if (isNestedTooDeep(text))
    return createStringError(inconvertibleErrorCode(), "JSON that is nested too deep");
  return json::parse(text);
}

} // namespace rubia::runtime
