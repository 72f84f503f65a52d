// SPDX-License-Identifier: Apache-2.0
// What is judged: random legal instances and wrong variants of every row of the table.
#pragma once

#include "Ptxas.h"
#include "tests/ptx-generator/InstructionMutator.h"
#include <optional>

namespace rubia::test {

struct Case {
  std::string text;      // an instruction, or a whole file
  std::string kind = ""; // "legal", or the mutation
  Dialect dialect = {};  // of an instruction
  const ptx::Form *form = nullptr;
  std::optional<Mistake> mistake = std::nullopt; // none: it should be legal
  Verdict ours = {}, theirs = {};

  bool differs() const { return !theirs.crashed && ours.accepted != theirs.accepted; }
};

struct CaseOptions {
  unsigned legal = 8; // instances of a row that we take, all different
  unsigned illegal =
      10;               // variants of a row that we refuse, the same number of each kind of mistake
  unsigned modern = 50; // percent that are of a newer dialect than they need
  uint64_t seed = 1;
  std::string form; // only rows with this text
};

Verdict ourVerdict(llvm::StringRef module);
/// With our verdicts. A variant that we take is among them too, and another one is made.
std::vector<Case> makeCases(const CaseOptions &options);
/// Asks ptxas, all cases of a dialect at once.
llvm::Error judge(Ptxas &ptxas, std::vector<Case> &cases);

} // namespace rubia::test
