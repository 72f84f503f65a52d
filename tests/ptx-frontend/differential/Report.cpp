// SPDX-License-Identifier: Apache-2.0
#include "Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using llvm::format;
using llvm::raw_ostream;
using llvm::StringRef;

namespace rubia::test {

namespace {

struct Reason {
  bool weAccept;
  StringRef message; // regular expression for the refusal
  StringRef text;    // and for the instruction; empty: any
  StringRef what, why;
};
constexpr Reason kReasons[] = {
#define PTX_STRICTER(Message, Text, What, Why) {false, Message, Text, What, Why},
#define PTX_LAXER(Message, Text, What, Why) {true, Message, Text, What, Why},
#include "Reasons.def"
#undef PTX_STRICTER
#undef PTX_LAXER
};

const std::string &refusal(const Case &c) {
  return c.ours.accepted ? c.theirs.message : c.ours.message;
}

const Reason *reasonFor(const Case &c) {
  for (const Reason &reason : kReasons)
    if (reason.weAccept == c.ours.accepted && llvm::Regex(reason.message).match(refusal(c)) &&
        (reason.text.empty() || llvm::Regex(reason.text).match(c.text)))
      return &reason;
  return nullptr;
}

// A message without what differs between instances: names, values, positions.
std::string pattern(StringRef message) {
  std::string text;
  bool quoted = false;
  for (char c : message) {
    if (c == '\'')
      quoted = !quoted;
    if (llvm::isDigit(c)) {
      if (!quoted && !StringRef(text).ends_with("N"))
        text += 'N';
    } else if (!quoted && c != '\'') {
      text += c;
    }
  }
  return text;
}

} // namespace

unsigned Report::PerForm::wrong() const {
  unsigned sum = 0;
  for (unsigned number : refused)
    sum += number;
  return sum;
}

void Report::add(const Case &c) {
  if (c.theirs.crashed) {
    ++crashes;
    return;
  }
  ++judged;
  accepted += c.theirs.accepted;
  auto &[total, differing] = byKind[c.kind];
  ++total;
  PerForm &form = forms[c.form];
  if (!c.mistake) {
    ++form.legal;
    form.accepted += c.ours.accepted && c.theirs.accepted;
  } else if (!c.ours.accepted || !c.theirs.accepted) {
    ++form.refused[unsigned(*c.mistake)];
    form.refusedByPtxas += !c.theirs.accepted;
  }
  if (!c.differs())
    return;
  ++differing;
  const Reason *reason = reasonFor(c);
  Group &group = groups[reason ? reason->what.str() : pattern(refusal(c))];
  ++group.count;
  group.weAccept = c.ours.accepted;
  group.why = reason ? reason->why.str() : "";
  different.push_back(c);
}

double Report::agreement() const {
  return judged ? 100.0 * double(judged - different.size()) / double(judged) : 0;
}

void Report::printDifferences(raw_ostream &out, unsigned most) const {
  for (const Case &c : llvm::ArrayRef(different).take_front(most)) {
    if (c.form)
      out << c.dialect.name() << "  " << c.text << '\n';
    out << "    [" << c.kind << "] "
        << (c.ours.accepted ? "we accept, ptxas: " : "ptxas accepts, we: ") << refusal(c) << '\n';
  }
}

void Report::printTotals(raw_ostream &out) const {
  for (const auto &[kind, numbers] : byKind)
    out << format("%-18s %6zu, different %zu\n", kind.c_str(), numbers.first, numbers.second);
  out << format(
      "%zu judged (%zu accepted by ptxas; it crashed on %zu more), %zu different: %.2f %% "
      "agreement\n",
      judged, accepted, crashes, different.size(), agreement());
}

void Report::printGroups(raw_ostream &out) const {
  for (bool weAccept : {false, true}) {
    std::vector<std::pair<size_t, StringRef>> byCount;
    for (const auto &[what, group] : groups)
      if (group.weAccept == weAccept)
        byCount.push_back({group.count, what});
    llvm::sort(byCount, std::greater<>());
    out << (weAccept ? "\n| we take what ptxas refuses" : "| we refuse what ptxas takes")
        << " | count | of the differences | why |\n| --- | ---: | ---: | --- |\n";
    for (auto &[count, what] : byCount)
      out << "| " << what << " | " << count
          << format(" | %.1f %% | ", 100.0 * double(count) / double(different.size()))
          << groups.at(what.str()).why << " |\n";
  }
}

void Report::printForms(raw_ostream &out) const {
  out << "form\tlegal\taccepted by both";
  for (unsigned i = 0; i < kMistakes; ++i)
    out << "\twrong " << nameOf(Mistake(i));
  out << "\trefused by ptxas\n";
  for (const ptx::Form &row : ptx::instructionForms()) {
    auto found = forms.find(&row);
    if (found == forms.end())
      continue;
    out << row.syntax() << '\t' << found->second.legal << '\t' << found->second.accepted;
    for (unsigned number : found->second.refused)
      out << '\t' << number;
    out << '\t' << found->second.refusedByPtxas << '\n';
  }
}

bool Report::checkForms(raw_ostream &out, unsigned legal, unsigned illegal) const {
  size_t unaccepted = 0, fewLegal = 0, fewWrong = 0, lacking[kMistakes] = {};
  for (const auto &[row, numbers] : forms) {
    if (!numbers.accepted && numbers.legal) {
      ++unaccepted;
      out << "no legal instance is accepted by both: " << row->syntax() << '\n';
    }
    fewLegal += numbers.legal < legal;
    fewWrong += numbers.wrong() < illegal;
    for (unsigned i = 0; i < kMistakes; ++i)
      lacking[i] += numbers.refused[i] == 0;
  }
  out << format("%zu forms; %zu without a legal instance that both accept, %zu with less than %u "
                "legal instances, %zu with less than %u wrong variants",
                forms.size(), unaccepted, fewLegal, legal, fewWrong, illegal);
  for (unsigned i = 0; i < unsigned(Mistake::Other); ++i)
    out << (i ? ", " : "; without a wrong variant of ") << nameOf(Mistake(i)).str() << ": "
        << lacking[i];
  out << '\n';
  return unaccepted == 0;
}

} // namespace rubia::test
