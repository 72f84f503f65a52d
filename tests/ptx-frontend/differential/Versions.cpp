// SPDX-License-Identifier: Apache-2.0
// All instances are judged together in a dialect: we parse one module of them, and ptxas gets those
// that we refuse.

#include "Versions.h"
#include "ptx-frontend/Parser.h"
#include "tests/ptx-generator/InstructionGenerator.h"
#include <map>
#include <set>

using llvm::ArrayRef;
using llvm::Expected;
using llvm::raw_ostream;
using llvm::StringRef;

namespace rubia::test {

namespace {

// Of ptxas 13.0.
constexpr ptx::Version kVersions[] = {
    {1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {2, 0}, {2, 1}, {2, 2}, {2, 3}, {3, 0},
    {3, 1}, {3, 2}, {4, 0}, {4, 1}, {4, 2}, {4, 3}, {5, 0}, {5, 1}, {6, 0}, {6, 1}, {6, 2},
    {6, 3}, {6, 4}, {6, 5}, {7, 0}, {7, 1}, {7, 2}, {7, 3}, {7, 4}, {7, 5}, {7, 6}, {7, 7},
    {7, 8}, {8, 0}, {8, 1}, {8, 2}, {8, 3}, {8, 4}, {8, 5}, {8, 6}, {8, 7}, {8, 8}, {9, 0}};

// One of each generation that has other instructions.
constexpr std::pair<unsigned, char> kTargets[] = {
    {10, 0},    {12, 0},    {13, 0},    {20, 0},    {30, 0},    {32, 0},  {35, 0},
    {50, 0},    {52, 0},    {53, 0},    {60, 0},    {61, 0},    {70, 0},  {72, 0},
    {75, 0},    {80, 0},    {86, 0},    {87, 0},    {89, 0},    {90, 0},  {90, 'a'},
    {100, 0},   {100, 'a'}, {100, 'f'}, {103, 0},   {103, 'a'}, {110, 0}, {110, 'a'},
    {110, 'f'}, {120, 0},   {120, 'a'}, {120, 'f'}, {121, 'a'}};

struct Swept {
  const ptx::Form *form;
  Instance instance;
  bool accepted = false; // by us, in an earlier version for this target
  bool wrong = false;    // ptxas took it in an earlier one, which we have not
  // "sm_90: 7.8 to 8.0"
  std::vector<std::string> refusals;
  std::string first, last;
};

std::vector<Swept> instancesFor(const SweepOptions &options) {
  std::vector<Swept> swept;
  size_t row = 0;
  for (const ptx::Form &form : ptx::instructionForms()) {
    Random random(options.seed * 7919 + row++);
    if (!options.form.empty() && !form.syntax().contains(options.form))
      continue;
    std::set<std::string> spellings;
    for (unsigned i = 0; i < 8 * options.instances && spellings.size() < options.instances; ++i) {
      Instance instance = generate(form, random);
      if (!instance.dialect.independentTextures && spellings.insert(instance.spelling()).second)
        swept.push_back({&form, instance, false, false, {}, "", ""});
    }
  }
  return swept;
}

std::string nameOf(ptx::Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

// Which texts we take; the module's kernels are those of the texts, in their order.
std::vector<bool> ourVerdicts(const Dialect &dialect, ArrayRef<std::string> texts) {
  ptx::ParseResult result = ptx::parse("t", moduleWith(dialect, texts));
  std::vector<bool> taken(texts.size(), true);
  for (const ptx::Diagnostic &diagnostic : result.diagnostics)
    if (diagnostic.severity == ptx::Severity::Error && diagnostic.line >= kFirstKernelLine &&
        diagnostic.line - kFirstKernelLine < texts.size())
      taken[diagnostic.line - kFirstKernelLine] = false;
  return taken;
}

llvm::Error judgeDialect(Ptxas &ptxas, const Dialect &dialect, std::vector<Swept> &swept,
                         ArrayRef<std::string> texts) {
  std::vector<bool> taken = ourVerdicts(dialect, texts);
  std::vector<size_t> asked;
  std::vector<std::string> questions;
  for (size_t i = 0; i < swept.size(); ++i) {
    swept[i].accepted |= taken[i];
    bool again = swept[i].wrong && !swept[i].accepted; // what a version has, the next one has
    if (!taken[i] && !again) {
      asked.push_back(i);
      questions.push_back(texts[i]);
    } else if (!taken[i]) {
      swept[i].last = nameOf(dialect.version);
    }
  }
  Expected<std::vector<Verdict>> verdicts = ptxas.judge(dialect, questions);
  if (!verdicts)
    return verdicts.takeError();
  for (auto [i, verdict] : llvm::zip(asked, *verdicts)) {
    if (!verdict.accepted || verdict.crashed)
      continue;
    swept[i].wrong = true;
    swept[i].last = nameOf(dialect.version);
    if (swept[i].first.empty())
      swept[i].first = nameOf(dialect.version);
  }
  return llvm::Error::success();
}

} // namespace

Expected<unsigned> sweepVersions(Ptxas &ptxas, const SweepOptions &options, raw_ostream &out) {
  std::vector<Swept> swept = instancesFor(options);
  std::vector<std::string> texts;
  for (const Swept &s : swept)
    texts.push_back(s.instance.text());
  unsigned dialects = 0;
  for (auto [sm, variant] : kTargets) {
    ptx::Version first;
    for (const Target &target : knownTargets())
      if (target.sm == sm && target.variant == variant)
        first = target.version;
    for (Swept &s : swept)
      s.accepted = s.wrong = false, s.first.clear(), s.last.clear();
    Dialect dialect;
    dialect.sm = sm;
    dialect.variant = variant;
    for (ptx::Version version : kVersions) {
      if (version < first)
        continue;
      dialect.version = version;
      ++dialects;
      if (llvm::Error error = judgeDialect(ptxas, dialect, swept, texts))
        return std::move(error);
    }
    for (Swept &s : swept)
      if (!s.first.empty())
        s.refusals.push_back(dialect.target() + ": " + s.first + " to " + s.last);
  }
  unsigned refused = 0;
  for (const Swept &s : swept) {
    if (s.refusals.empty())
      continue;
    ++refused;
    out << "we refuse " << s.instance.text() << "\n  row " << s.form->syntax() << '\n';
    for (const std::string &refusal : s.refusals)
      out << "  " << refusal << '\n';
  }
  out << swept.size() << " instances in " << dialects << " dialects, we refuse " << refused
      << " in some that ptxas takes\n";
  return refused;
}

Expected<std::vector<Case>> versionSample(Ptxas &ptxas, const SweepOptions &options) {
  SweepOptions one = options;
  one.instances = 1;
  std::vector<Case> cases;
  for (const Swept &s : instancesFor(one)) {
    Dialect dialect = s.instance.dialect;
    for (unsigned sm : {dialect.sm, 90u}) {
      if (sm != dialect.sm && (sm < dialect.sm || dialect.variant))
        continue;
      dialect.sm = sm;
      ptx::Version target = withKnownTarget({{1, 0}, dialect.sm, dialect.variant}).version;
      std::optional<Dialect> before;
      for (ptx::Version version : kVersions) {
        if (version < target)
          continue;
        dialect.version = version;
        Verdict ours = ourVerdict(moduleWith(dialect, s.instance.text()));
        if (ours.accepted && before)
          cases.push_back({s.instance.text(), "", *before, s.form, std::nullopt, {false, ""}, {}});
        if (ours.accepted)
          cases.push_back({s.instance.text(), "", dialect, s.form, std::nullopt, ours, {}});
        if (ours.accepted)
          break;
        before = dialect;
      }
    }
  }
  if (llvm::Error error = judge(ptxas, cases))
    return std::move(error);
  return cases;
}

} // namespace rubia::test
