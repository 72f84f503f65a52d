// SPDX-License-Identifier: Apache-2.0
// Declarations from the names that occur in an instruction.

#include "Instance.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using llvm::ArrayRef;
using llvm::StringRef;

namespace rubia::test {

std::string Dialect::target() const {
  std::string text = "sm_" + std::to_string(sm);
  if (variant)
    text += variant;
  return text;
}

static constexpr StringRef kIndependent = ",texmode_independent";

std::string Dialect::name() const {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + " " + target() +
         (independentTextures ? kIndependent.str() : "");
}

std::optional<Dialect> takeDialect(StringRef &text) {
  Dialect dialect;
  unsigned major = 0, minor = 0;
  if (text.consumeInteger(10, major) || !text.consume_front(".") ||
      text.consumeInteger(10, minor) || !text.consume_front(" sm_") ||
      text.consumeInteger(10, dialect.sm))
    return std::nullopt;
  dialect.version = {uint8_t(major), uint8_t(minor)};
  if (!text.starts_with(" ") && !text.starts_with(",")) {
    dialect.variant = text.empty() ? 0 : text[0];
    text = text.drop_front();
  }
  dialect.independentTextures = text.consume_front(kIndependent);
  if (!text.consume_front(" "))
    return std::nullopt;
  return dialect;
}

std::string Dialect::header() const {
  return ".version " + std::to_string(version.major) + "." + std::to_string(version.minor) +
         "\n.target " + target() + (independentTextures ? kIndependent.str() : "") +
         (version < ptx::Version{2, 3} ? "\n\n" : "\n.address_size 64\n");
}

static constexpr Target kTargets[] = {
#define PTX_TARGET(Sm, Variant, Major, Minor) {Sm, Variant, {Major, Minor}},
#include "ptx-frontend/Targets.def"
};

ArrayRef<Target> knownTargets() { return kTargets; }

Dialect withKnownTarget(Dialect dialect) {
  for (const Target &target : kTargets)
    if (target.sm == dialect.sm && target.variant == dialect.variant &&
        dialect.version < target.version)
      dialect.version = target.version;
  return dialect;
}

std::string Instance::spelling() const { return opcode + llvm::join(modifiers, ""); }

std::string Instance::text() const {
  std::string text = guard + spelling();
  if (!operands.empty())
    text += " " + llvm::join(operands, separator);
  return text + end;
}

namespace {

using Names = std::set<std::string>;

void collect(StringRef text, Names &names) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (!llvm::isAlpha(text[i]) && text[i] != '%')
      continue;
    size_t end = i + 1;
    while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_'))
      ++end;
    if (i == 0 || text[i - 1] != '.')
      names.insert(text.slice(i, end).str());
    i = end - 1;
  }
}

struct Declaration {
  StringRef name, text;
};
constexpr Declaration kModuleLevel[] = {
    {"gv", ".global .align 16 .b8 gv[256];"},
    {"cv", ".const .align 16 .b8 cv[256];"},
    {"sv", ".shared .align 16 .b8 sv[256];"},
    {"texture", ".global .texref texture;"},
    {"sampler", ".global .samplerref sampler;"},
    {"surface", ".global .surfref surface;"},
    {"fn", ".func (.reg .u32 r) fn(.reg .u32 a) { mov.u32 r, a; ret; }"},
    {"procedure", ".func procedure() { ret; }"},
};

// `%b32_3` -> `.reg .b32 %b32_<8>;`, `%b32v4_1` -> `.reg .v4 .b32 %b32v4_<8>;`
void declareRegisters(const Names &names, std::string &out) {
  Names done;
  for (StringRef name : names) {
    if (!name.consume_front("%"))
      continue;
    auto [type, number] = name.split('_');
    unsigned value;
    if (number.getAsInteger(10, value) || value >= 8 || !done.insert(type.str()).second)
      continue;
    auto [element, width] = type.split('v');
    out += ".reg ";
    if (!width.empty())
      out += (".v" + width + " ").str();
    out += ("." + element + " %" + type + "_<8>; ").str();
  }
}

// On one line, so that the line of a diagnostic tells the instance.
std::string kernelWith(StringRef instruction, size_t number) {
  Names names;
  collect(instruction, names);
  std::string text = ".entry k" + std::to_string(number) + "(";
  if (names.contains("pv"))
    text += ".param .align 16 .b8 pv[256]";
  text += ") { ";
  declareRegisters(names, text);
  if (names.contains("lv"))
    text += ".local .align 16 .b8 lv[256]; ";
  bool label = names.contains("L1");
  if (names.contains("targets")) {
    text += "targets: .branchtargets L1; ";
    label = true;
  }
  text += instruction;
  return text + (label ? " L1: ret; }" : " ret; }");
}

} // namespace

std::string moduleWith(const Dialect &dialect, ArrayRef<std::string> texts) {
  Names names;
  for (StringRef text : texts)
    collect(text, names);
  std::string module = dialect.header();
  for (const Declaration &declaration : kModuleLevel)
    if (names.contains(declaration.name.str()))
      module += declaration.text.str() + " ";
  module += "\n";
  for (auto [number, text] : llvm::enumerate(texts))
    module += kernelWith(text, number) + "\n";
  return module;
}

} // namespace rubia::test
