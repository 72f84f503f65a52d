// SPDX-License-Identifier: Apache-2.0
// What came out: totals, how often each row met each kind of mistake, and the disagreements in
// groups. A group that Reasons.def knows has a reason; the others are named after their message.
#pragma once

#include "Cases.h"
#include <map>

namespace rubia::test {

class Report {
public:
  void add(const Case &c);
  double agreement() const; // percent
  size_t count() const { return judged; }

  void printDifferences(llvm::raw_ostream &out, unsigned most) const;
  void printTotals(llvm::raw_ostream &out) const;
  /// The groups as a Markdown table: what, count, share of the differences, reason.
  void printGroups(llvm::raw_ostream &out) const;
  /// A line a row of the table: legal instances, those that both accept, and wrong variants that
  /// ptxas or we refuse of each kind of mistake.
  void printForms(llvm::raw_ostream &out) const;
  /// Rows without a legal instance that both accept, and rows with few of something. False if there
  /// is one of the first.
  bool checkForms(llvm::raw_ostream &out, unsigned legal, unsigned illegal) const;

private:
  struct PerForm {
    unsigned legal = 0, accepted = 0, refused[kMistakes] = {}, refusedByPtxas = 0;
    unsigned wrong() const;
  };
  struct Group {
    size_t count = 0;
    bool weAccept = false;
    std::string why;
  };
  size_t judged = 0, accepted = 0, crashes = 0;
  std::vector<Case> different;
  std::map<std::string, std::pair<size_t, size_t>> byKind; // all, different
  std::map<std::string, Group> groups;
  std::map<const ptx::Form *, PerForm> forms;
};

} // namespace rubia::test
