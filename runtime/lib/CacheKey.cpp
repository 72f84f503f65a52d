// A key is lines of name=value, so that two keys can be compared field by field (`rubia cache
// explain`).
#include "runtime/CacheKey.h"
#include "lowering/Abi.h"
#include "runtime/Log.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include <cstdlib>

using namespace llvm;

namespace rubia::runtime {

Digest digestOf(ArrayRef<uint8_t> bytes) { return BLAKE3::hash<32>(bytes); }

// Which of some words, the first being the default.
static unsigned wordOf(const char *variable, ArrayRef<StringRef> words) {
  const char *value = secure_getenv(variable);
  if (!value || !*value)
    return 0;
  if (const StringRef *found = llvm::find(words, StringRef(value)); found != words.end())
    return unsigned(found - words.begin());
  log(LogLevel::Error, Twine(variable) + " is '" + value + "', expected " + join(words, " or ") +
                           "; " + words[0] + " is taken");
  return 0;
}

static constexpr StringRef kWarpForms[] = {"auto", "half-filled", "packed"};

CompileOptions CompileOptions::fromEnvironment() {
  return {wordOf("RUBIA_NAN", {"any", "canonical"}) == 1,
          wordOf("RUBIA_SAFE_ATOMICS", {"0", "1"}) == 1,
          abi::WarpFormChoice(wordOf("RUBIA_WARP_FORM", kWarpForms)),
          wordOf("RUBIA_CONTRACT", {"nvidia", "never"}) == 1};
}

static std::string commonKey(const Digest &image, unsigned computeCapability, StringRef compiler) {
  return "rubia cache key\nabi=" + std::to_string(abi::kVersion) + "\ncompiler=" + compiler.str() +
         "\nimage=" + toHex(image, true) + "\ncapability=" + std::to_string(computeCapability);
}

std::string manifestKey(const Digest &image, unsigned computeCapability, StringRef compiler) {
  return commonKey(image, computeCapability, compiler) + "\nkind=manifest\n";
}

std::string codeObjectKey(const Digest &image, unsigned computeCapability, uint32_t unit,
                          StringRef arch, const CompileOptions &options, StringRef compiler) {
  return commonKey(image, computeCapability, compiler) +
         "\nkind=code\nunit=" + std::to_string(unit) + "\narch=" + arch.str() +
         "\nnan=" + (options.canonicalNan ? "canonical" : "any") +
         "\natomics=" + (options.safeAtomics ? "safe" : "fast") +
         "\nwarp-form=" + kWarpForms[unsigned(options.warpForm)].str() +
         "\ncontract=" + (options.contractNever ? "never" : "nvidia") + "\n";
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
