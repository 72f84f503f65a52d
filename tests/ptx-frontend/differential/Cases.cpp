// SPDX-License-Identifier: Apache-2.0
// A mistake of each kind in turn, so that every row meets wrong modifiers, types, numbers of
// operands and dialects, as far as it can be got wrong in that way.

#include "Cases.h"
#include "ptx-frontend/Parser.h"
#include "tests/ptx-generator/InstructionGenerator.h"
#include <map>
#include <set>

using llvm::StringRef;

namespace rubia::test {

namespace {

constexpr ptx::Version kNewest{9, 0}; // that ptxas 13.0 knows

// Some instances are of the oldest dialect that has their row, some of a newer one.
void modernize(Instance &instance, unsigned percent, Random &random) {
  if (!random.chance(percent))
    return;
  if (instance.dialect.variant || instance.dialect.sm == 90) { // its targets are few
    ptx::Version newer[] = {{8, 3}, {8, 5}, {8, 7}, kNewest};
    instance.dialect.version = std::max(instance.dialect.version, random.pick(newer));
    return;
  }
  for (unsigned sm : {75u, 80u, 90u})
    if (sm >= instance.dialect.sm && (sm == 90 || random.chance(30))) {
      instance.dialect = {kNewest, sm, 0, instance.dialect.independentTextures};
      return;
    }
}

Mutation mutationFor(Mistake mistake, Random &random) {
  while (true) {
    auto mutation = Mutation(random.below(kMutations));
    if (mistakeOf(mutation) == mistake)
      return mutation;
  }
}

class Maker {
public:
  Maker(const CaseOptions &options) : options(options) {}

  void addRow(const ptx::Form &form, Random random) {
    unsigned made = 0;
    for (unsigned i = 0; made < options.legal && i < 40 * options.legal; ++i) {
      Instance instance = generate(form, random);
      modernize(instance, options.modern, random);
      made += add(instance, "legal", std::nullopt) == Added::Accepted;
    }
    for (unsigned i = 0; i < options.illegal; ++i)
      if (!addWrong(form, Mistake(i % kMistakes), random))
        addWrong(form, Mistake::Other, random); // it cannot be got wrong in that way
  }

  std::vector<Case> cases;

private:
  const CaseOptions &options;
  std::set<std::pair<Dialect, std::string>> known;
  enum class Added { Nothing, Accepted, Refused };

  Added add(const Instance &instance, StringRef kind, std::optional<Mistake> mistake) {
    std::string text = instance.text();
    if (kNewest < instance.dialect.version || !known.insert({instance.dialect, text}).second)
      return Added::Nothing;
    Verdict ours = ourVerdict(moduleWith(instance.dialect, text));
    cases.push_back({text, kind.str(), instance.dialect, instance.form, mistake, ours, {}});
    return ours.accepted ? Added::Accepted : Added::Refused;
  }

  bool addWrong(const ptx::Form &form, Mistake mistake, Random &random) {
    for (unsigned attempt = 0; attempt < 16; ++attempt) {
      Instance instance = generate(form, random);
      Mutation mutation = mutationFor(mistake, random);
      if (mistake != Mistake::Availability)
        modernize(instance, options.modern, random);
      Instance mutant = mutate(instance, mutation, random);
      bool sameDialect = !(instance.dialect < mutant.dialect || mutant.dialect < instance.dialect);
      if (sameDialect && instance.text() == mutant.text())
        continue;
      if (add(mutant, nameOf(mutation), mistake) == Added::Refused)
        return true;
    }
    return false;
  }
};

} // namespace

Verdict ourVerdict(StringRef module) {
  ptx::ParseResult result = ptx::parse("t", module.str());
  for (const ptx::Diagnostic &diagnostic : result.diagnostics)
    if (diagnostic.severity == ptx::Severity::Error)
      return {false, diagnostic.message};
  return {};
}

std::vector<Case> makeCases(const CaseOptions &options) {
  Maker maker(options);
  size_t row = 0;
  for (const ptx::Form &form : ptx::instructionForms()) {
    Random random(options.seed * 1000003 + row++);
    if (form.syntax().contains(options.form) && !(kNewest < form.version))
      maker.addRow(form, random);
  }
  return std::move(maker.cases);
}

llvm::Error judge(Ptxas &ptxas, std::vector<Case> &cases) {
  std::map<Dialect, std::vector<Case *>> byDialect;
  for (Case &c : cases)
    byDialect[c.dialect].push_back(&c);
  for (auto &[dialect, group] : byDialect) {
    std::vector<std::string> texts;
    for (const Case *c : group)
      texts.push_back(c->text);
    llvm::Expected<std::vector<Verdict>> verdicts = ptxas.judge(dialect, texts);
    if (!verdicts)
      return verdicts.takeError();
    for (size_t i = 0; i < group.size(); ++i)
      group[i]->theirs = (*verdicts)[i];
  }
  return llvm::Error::success();
}

} // namespace rubia::test
