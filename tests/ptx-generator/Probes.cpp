// SPDX-License-Identifier: Apache-2.0
// Reads and writes files of probes, and puts a module around a probe.

#include "Probes.h"
#include "llvm/ADT/StringExtras.h"
#include <iterator>

using llvm::ArrayRef;
using llvm::StringRef;

namespace rubia::test {

static const Dialect kDialects[] = {{{1, 0}, 10}, {{1, 4}, 13}, {{2, 3}, 20}, {{3, 1}, 30},
                                    {{4, 3}, 50}, {{6, 4}, 70}, {{8, 0}, 80}, {{9, 0}, 90}};
static constexpr StringRef kKinds[] = {"body", "module", "file"};

ArrayRef<Dialect> probeDialects() { return kDialects; }

ArrayRef<Dialect> Probe::dialects() const {
  static const Dialect none;
  return kind == ProbeKind::File ? ArrayRef(none) : probeDialects();
}

static std::string unescaped(StringRef text) {
  std::string bytes;
  while (!text.empty()) {
    uint8_t byte;
    if (text.starts_with("\\x") && !text.substr(2, 2).getAsInteger(16, byte)) {
      bytes += char(byte);
      text = text.drop_front(4);
    } else {
      bytes += text[0];
      text = text.drop_front();
    }
  }
  return bytes;
}

std::string Probe::module(const Dialect &dialect) const {
  std::string plain = unescaped(text);
  if (kind == ProbeKind::File)
    return plain;
  if (kind == ProbeKind::Module)
    return dialect.header() + plain;
  return dialect.header() +
         ".global .align 16 .b8 gv[64];\n.shared .align 16 .b8 sv[64];\n"
         ".const .align 16 .b8 cv[64];\n"
         ".entry k(.param .u64 pv)\n{\n"
         ".reg .pred %p<5>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
         ".reg .f32 %f<9>;" +
         (dialect.sm < 13 ? "\n" : " .reg .f64 %d<9>;\n") + plain + "ret;\n}\n";
}

std::vector<Probe> readProbes(StringRef text) {
  std::vector<Probe> probes;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (!line.starts_with("=== ")) {
      if (!probes.empty())
        probes.back().text += (line + "\n").str();
      continue;
    }
    llvm::SmallVector<StringRef, 4> words;
    llvm::SplitString(line, words);
    Probe &probe = probes.emplace_back();
    const auto *kind = llvm::find(kKinds, words.size() > 1 ? words[1] : "");
    probe.kind = ProbeKind(kind == std::end(kKinds) ? 0 : kind - std::begin(kKinds));
    probe.name = words.size() > 2 ? words[2].str() : "";
    probe.verdicts = words.size() > 3 ? words[3].str() : "";
    probe.verdicts.resize(probe.dialects().size(), '?');
  }
  return probes;
}

std::string printProbes(ArrayRef<Probe> probes) {
  std::string text;
  for (const Probe &probe : probes)
    text += ("=== " + kKinds[unsigned(probe.kind)] + " " + probe.name + " " + probe.verdicts +
             "\n" + probe.text)
                .str();
  return text;
}

} // namespace rubia::test
