// The front end against ptxas: random legal instances and mutations of every row, judged by both.
// Prints the agreement and each disagreement; fails below what is wanted.
//   ptxas_differential [--legal N] [--illegal N] [--seed S] [--modern PERCENT] [--show N]
//                      [--verdicts FILE] [--form TEXT] [--wanted PERCENT]

#include "Ptxas.h"
#include "ptx-frontend/Parser.h"
#include "tests/ptx-generator/InstructionGenerator.h"
#include "tests/ptx-generator/InstructionMutator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

using llvm::outs;
using llvm::StringRef;
using namespace rubia;
using namespace rubia::test;

namespace {

constexpr int kSkipped = 77; // for ctest

struct Options {
  unsigned legal = 1, illegal = 1, show = 40;
  unsigned modern = 50; // percent of the instances that are of a newer dialect than they need
  uint64_t seed = 1;
  double wanted = 99; // percent of agreement; less fails
  std::string form;
  std::string verdicts; // file to write
};

struct Case {
  std::string text;
  std::string kind; // "legal", or the mutation
  const ptx::Form *form;
  Verdict ours, theirs;
};
using Cases = std::map<Dialect, std::vector<Case>>;

// Some instances are of the oldest dialect that has their row, some of a newer one.
void modernize(Instance &instance, unsigned percent, Random &random) {
  if (!random.chance(percent))
    return;
  for (unsigned sm : {75u, 80u, 90u})
    if (sm >= instance.dialect.sm && (sm == 90 || random.chance(30))) {
      instance.dialect = {{9, 0}, sm, 0};
      return;
    }
}

Verdict ourVerdict(const Dialect &dialect, const std::string &text) {
  ptx::ParseResult result = ptx::parse("t", moduleWith(dialect, text));
  for (const ptx::Diagnostic &diagnostic : result.diagnostics)
    if (diagnostic.severity == ptx::Severity::Error)
      return {false, diagnostic.message};
  return {};
}

Cases makeCases(const Options &options) {
  Cases cases;
  std::set<std::pair<Dialect, std::string>> known;
  size_t row = 0;
  for (const ptx::Form &form : ptx::instructionForms()) {
    Random random(options.seed * 1000003 + row++);
    if (!form.syntax.contains(options.form) || ptx::Version{9, 0} < form.version)
      continue;                                                // ptxas 13.0 knows PTX up to 9.0
    auto add = [&](const Instance &instance, StringRef kind) { // true: it is new, and we refuse it
      std::string text = instance.text();
      if (ptx::Version{9, 0} < instance.dialect.version ||
          !known.insert({instance.dialect, text}).second)
        return false;
      Verdict ours = ourVerdict(instance.dialect, text);
      cases[instance.dialect].push_back({text, kind.str(), &form, ours, {}});
      return !ours.accepted;
    };
    for (unsigned i = 0; i < options.legal; ++i) {
      Instance instance = generate(form, random);
      modernize(instance, options.modern, random);
      add(instance, "legal");
    }
    // A mutation that changes nothing is done anew; one that we take counts as a legal variant and
    // another one is made.
    unsigned effective = 0;
    for (unsigned i = 0; effective < options.illegal && i < 4 * options.illegal; ++i) {
      Instance instance = generate(form, random);
      auto mutation = Mutation((random.below(kMutations) + i) % kMutations);
      if (mutation != Mutation::OldVersion && mutation != Mutation::OldTarget)
        modernize(instance, options.modern, random);
      Instance mutant = mutate(instance, mutation, random);
      bool sameDialect = !(instance.dialect < mutant.dialect || mutant.dialect < instance.dialect);
      if (sameDialect && instance.text() == mutant.text())
        continue;
      if (add(mutant, nameOf(mutation)))
        ++effective;
    }
  }
  return cases;
}

// `9.0 sm_90 + add.s32 ...;`: + what ptxas accepts, - what it refuses. PtxVerdicts reads this.
void write(llvm::raw_ostream &out, const Dialect &dialect, const Case &c) {
  if (c.text.size() < 200 && !c.theirs.crashed)
    out << unsigned(dialect.version.major) << '.' << unsigned(dialect.version.minor) << ' '
        << dialect.target() << (c.theirs.accepted ? " + " : " - ") << c.text << '\n';
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
    } else if (!quoted) {
      text += c;
    }
  }
  return text;
}

// Disagreements of one kind: the direction and message, and the opcode where the message does not
// tell what is wrong.
std::string groupOf(const Case &c) {
  const Verdict &refusal = c.ours.accepted ? c.theirs : c.ours;
  std::string group = c.ours.accepted ? "ptxas refuses: " : "we refuse: ";
  group += pattern(refusal.message);
  if (StringRef(refusal.message).contains("rguments mismatch"))
    group += " (" + c.form->opcode.str() + ")";
  return group;
}

void print(const std::map<std::string, size_t> &groups) {
  std::vector<std::pair<size_t, StringRef>> byCount;
  for (const auto &[group, count] : groups)
    byCount.push_back({count, group});
  llvm::sort(byCount, std::greater<>());
  outs() << "disagreements in groups:\n";
  for (auto &[count, group] : byCount)
    outs() << llvm::format("%6zu  ", count) << group << '\n';
}

int compare(Ptxas &ptxas, const Options &options) {
  Cases cases = makeCases(options);
  size_t count = 0, accepted = 0, differences = 0;
  std::map<std::string, std::pair<size_t, size_t>> byKind;
  std::map<std::string, size_t> groups;
  std::map<const ptx::Form *, unsigned> refused; // variants that ptxas refuses
  std::error_code cannotWrite;
  llvm::raw_fd_ostream verdictFile(options.verdicts.empty() ? "/dev/null" : options.verdicts,
                                   cannotWrite);
  for (auto &[dialect, group] : cases) {
    std::vector<std::string> texts;
    for (const Case &c : group)
      texts.push_back(c.text);
    llvm::Expected<std::vector<Verdict>> verdicts = ptxas.judge(dialect, texts);
    if (!verdicts) {
      llvm::errs() << llvm::toString(verdicts.takeError()) << '\n';
      return 1;
    }
    for (size_t i = 0; i < group.size(); ++i) {
      Case &c = group[i];
      c.theirs = (*verdicts)[i];
      if (c.theirs.crashed) {
        outs() << "ptxas crashes: " << c.text << '\n';
        continue;
      }
      write(verdictFile, dialect, c);
      ++count;
      accepted += c.theirs.accepted;
      refused[c.form] += !c.theirs.accepted && c.kind != "legal";
      auto &[total, different] = byKind[c.kind];
      ++total;
      if (c.ours.accepted == c.theirs.accepted)
        continue;
      ++different;
      ++groups[groupOf(c)];
      if (++differences <= options.show)
        outs() << unsigned(dialect.version.major) << '.' << unsigned(dialect.version.minor) << ' '
               << dialect.target() << "  " << c.text << "\n    [" << c.kind << "] "
               << (c.ours.accepted ? "we accept, ptxas: " + c.theirs.message
                                   : "ptxas accepts, we: " + c.ours.message)
               << '\n';
    }
  }
  for (auto &[kind, numbers] : byKind)
    outs() << llvm::format("%-18s %6zu, different %zu\n", kind.c_str(), numbers.first,
                           numbers.second);
  print(groups);
  unsigned fewest = ~0u;
  for (auto &[form, number] : refused)
    fewest = std::min(fewest, number);
  outs() << llvm::format("%zu forms, each with at least %u variants that ptxas refuses\n",
                         refused.size(), fewest);
  double agreement = count ? 100.0 * double(count - differences) / double(count) : 0;
  outs() << llvm::format("%zu instances (%zu accepted by ptxas), %zu different: %.2f %% agreement, "
                         "%u runs of ptxas\n",
                         count, accepted, differences, agreement, ptxas.runs());
  return agreement < options.wanted;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    StringRef name = argv[i], value = argv[i + 1];
    if (name == "--verdicts") {
      options.verdicts = value.str();
      continue;
    }
    if (name == "--form") {
      options.form = value.str();
      continue;
    }
    if (name == "--wanted") {
      if (value.getAsDouble(options.wanted)) {
        llvm::errs() << "not a number: " << value << '\n';
        return 2;
      }
      continue;
    }
    unsigned long long number = 0;
    if (value.getAsInteger(10, number)) {
      llvm::errs() << "not a number: " << value << '\n';
      return 2;
    }
    if (name == "--legal")
      options.legal = unsigned(number);
    else if (name == "--illegal")
      options.illegal = unsigned(number);
    else if (name == "--modern")
      options.modern = unsigned(number);
    else if (name == "--show")
      options.show = unsigned(number);
    else if (name == "--seed")
      options.seed = number;
  }
  std::unique_ptr<Ptxas> ptxas = Ptxas::find();
  if (!ptxas) {
    outs() << "skipped: no ptxas\n";
    return kSkipped;
  }
  return compare(*ptxas, options);
}
