// SPDX-License-Identifier: Apache-2.0
// A key is lines of name=value, so that two keys can be compared field by field (`rubia cache
// explain`).
#include "runtime/cache/CacheKey.h"
#include "lowering/Abi.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

using namespace llvm;

namespace rubia::runtime {

Digest digestOf(ArrayRef<uint8_t> bytes) { return BLAKE3::hash<32>(bytes); }

static std::string commonKey(const Digest &image, unsigned computeCapability, StringRef compiler) {
  return "rubia cache key\nabi=" + std::to_string(abi::kVersion) + "\ncompiler=" + compiler.str() +
         "\nimage=" + toHex(image, true) + "\ncapability=" + std::to_string(computeCapability);
}

std::string manifestKey(const Digest &image, unsigned computeCapability, StringRef compiler) {
  return commonKey(image, computeCapability, compiler) + "\nkind=manifest\n";
}

std::string codeObjectKey(const Digest &image, unsigned computeCapability, uint32_t unit,
                          StringRef arch, const settings::Code &code, StringRef compiler) {
  std::string key = commonKey(image, computeCapability, compiler) +
                    "\nkind=code\nunit=" + std::to_string(unit) + "\narch=" + arch.str() + "\n";
  for (auto [name, value] : code.keyFields())
    key += (name + "=" + value + "\n").str();
  return key;
}

std::vector<std::pair<StringRef, StringRef>> fieldsOfKey(StringRef key) {
  std::vector<std::pair<StringRef, StringRef>> fields;
  SmallVector<StringRef> lines;
  key.split(lines, '\n', -1, false);
  for (StringRef line : lines)
    if (line.contains('='))
      fields.push_back(line.split('='));
  return fields;
}

StringRef fieldOfKey(StringRef key, StringRef name) {
  for (auto [field, value] : fieldsOfKey(key))
    if (field == name)
      return value;
  return "";
}

} // namespace rubia::runtime
