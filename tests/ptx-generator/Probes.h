// SPDX-License-Identifier: Apache-2.0
// Corner cases of PTX's syntax as small texts of our own, each judged in several dialects: what
// instructions made from the table cannot show (declarations, initialisers, names, scopes, numbers,
// addresses). A file of probes (tests/ptx-frontend/data/probes.txt) reads
//   === body vector-registers  ...-++++
//   text
// with the name, and ptxas' verdict in each of probeDialects() (`?` if it has not been asked).
//   body    statements of a kernel that has registers %p %h %r %rd %f %d and variables gv sv cv
//   module  what follows the header
//   file    all of it, judged once: one verdict
// In the text, `\xHH` is that byte.
#pragma once

#include "Instance.h"

namespace rubia::test {

enum class ProbeKind : uint8_t { Body, Module, File };

struct Probe {
  ProbeKind kind = ProbeKind::Body;
  std::string name, verdicts;
  std::string text; // as in the file
  /// The PTX in a dialect. Of a `file`, the dialect means nothing.
  std::string module(const Dialect &dialect) const;
  llvm::ArrayRef<Dialect> dialects() const; // those that it is judged in; one of none for a `file`
};

llvm::ArrayRef<Dialect> probeDialects();
std::vector<Probe> readProbes(llvm::StringRef text);
std::string printProbes(llvm::ArrayRef<Probe> probes);

} // namespace rubia::test
