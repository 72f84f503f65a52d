// SPDX-License-Identifier: Apache-2.0
// The front end against ptxas: random legal instances and wrong variants of every row, and broken
// variants of real files, judged by both. Prints the agreement and the disagreements; fails below
// what is wanted, and where no legal instance of a row is accepted by both.

#include "FileMutants.h"
#include "Report.h"
#include "Versions.h"
#include "tests/ptx-generator/Probes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using llvm::Error;
using llvm::outs;
using llvm::raw_ostream;
using llvm::StringRef;
using namespace rubia::test;

namespace {

constexpr int kSkipped = 77; // for ctest

struct Options {
  cl::opt<unsigned> legal{"legal", cl::desc("legal instances of a row"), cl::init(9)};
  cl::opt<unsigned> illegal{"illegal", cl::desc("wrong variants of a row"), cl::init(10)};
  cl::opt<unsigned> modern{"modern", cl::desc("percent of a newer dialect"), cl::init(50)};
  cl::opt<uint64_t> seed{"seed", cl::init(1)};
  cl::opt<std::string> form{"form", cl::desc("only rows with this text")};
  cl::opt<unsigned> show{"show", cl::desc("differences to print"), cl::init(40)};
  cl::opt<double> wanted{"wanted", cl::desc("percent of agreement"), cl::init(99.5)};
  cl::opt<std::string> verdicts{"verdicts", cl::desc("file for the verdicts of ptxas")};
  cl::opt<std::string> exceptions{"exceptions", cl::desc("file for those that we differ in")};
  cl::opt<std::string> groups{"groups", cl::desc("file for the groups of differences")};
  cl::opt<std::string> forms{"forms", cl::desc("file for the counts of each row")};
  cl::opt<std::string> lines{"lines", cl::desc("judge `9.0 sm_90 add.s32 ...;` of this file")};
  cl::opt<bool> versions{"versions", cl::desc("judge every row in all versions of all targets")};
  cl::opt<unsigned> instances{"instances", cl::desc("of a row, for --versions"), cl::init(4)};
  cl::opt<std::string> probes{"probes", cl::desc("judge the probes of this file")};
  cl::opt<bool> again{"again", cl::desc("ask ptxas for all probes")};
  cl::list<std::string> files{"files", cl::desc("judge PTX of these files"), cl::CommaSeparated};
  cl::opt<unsigned> mutants{"mutants", cl::desc("variants of files"), cl::init(1000)};
  cl::opt<unsigned> maxBytes{"max-bytes", cl::desc("of a file"), cl::init(20000)};
};

// `9.0 sm_90 + add.s32 ...;`: + what ptxas accepts, - what it refuses. PtxVerdicts reads this.
// `onlyDifferent`: those in which the front end differs.
void printVerdicts(raw_ostream &out, llvm::ArrayRef<Case> cases, bool onlyDifferent) {
  for (const Case &c : cases)
    if (c.text.size() < 200 && !c.theirs.crashed && (c.differs() || !onlyDifferent))
      out << c.dialect.name() << (c.theirs.accepted ? " + " : " - ") << c.text << '\n';
}

template <typename Print> bool writeFile(const std::string &name, Print print) {
  if (name.empty())
    return true;
  std::error_code error;
  llvm::raw_fd_ostream file(name, error);
  if (!error)
    print(file);
  file.close();
  if (!error && !file.has_error())
    return true;
  llvm::errs() << "cannot write " << name << '\n';
  file.clear_error();
  return false;
}

llvm::Expected<std::vector<Case>> readLines(const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(name);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  std::vector<Case> cases;
  for (StringRef rest = (*buffer)->getBuffer(); !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    std::optional<Dialect> dialect = takeDialect(line);
    if (!dialect)
      continue;
    Case c;
    c.dialect = *dialect;
    c.text = line.str();
    c.ours = ourVerdict(moduleWith(c.dialect, c.text));
    cases.push_back(c);
  }
  return cases;
}

Error judgeLines(Ptxas &ptxas, const std::string &name) {
  llvm::Expected<std::vector<Case>> cases = readLines(name);
  if (!cases)
    return cases.takeError();
  if (Error error = judge(ptxas, *cases))
    return error;
  for (const Case &c : *cases)
    outs() << (c.differs() ? "DIFFERENT " : "same ") << (c.theirs.accepted ? "+ " : "- ")
           << c.dialect.name() << ' ' << c.text << "   ptxas: " << c.theirs.message
           << "   we: " << c.ours.message << '\n';
  return Error::success();
}

// Prints the differences; the verdicts go into the file. ptxas is asked where we differ from the
// verdict that the file has, and where it has none.
Error judgeProbes(Ptxas &ptxas, const std::string &name, bool again) {
  auto buffer = llvm::MemoryBuffer::getFile(name);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  std::vector<Probe> probes = readProbes((*buffer)->getBuffer());
  unsigned judged = 0, refused = 0, taken = 0;
  for (Probe &probe : probes)
    for (auto [index, dialect] : llvm::enumerate(probe.dialects())) {
      std::string module = probe.module(dialect);
      Verdict ours = ourVerdict(module);
      ++judged;
      char &known = probe.verdicts[index];
      if (known != '?' && !again && ours.accepted == (known == '+'))
        continue;
      llvm::Expected<Verdict> theirs = ptxas.judgeFile(module);
      if (!theirs)
        return theirs.takeError();
      known = theirs->crashed ? '?' : theirs->accepted ? '+' : '-';
      if (theirs->crashed || ours.accepted == theirs->accepted)
        continue;
      ++(theirs->accepted ? refused : taken);
      outs() << (theirs->accepted ? "we refuse " : "we take ") << probe.name << ' '
             << (probe.kind == ProbeKind::File ? std::string() : dialect.name()) << ": "
             << StringRef(theirs->accepted ? ours.message : theirs->message).trim() << '\n';
    }
  outs() << probes.size() << " probes, judged " << judged << ", we refuse " << refused
         << ", we take " << taken << '\n';
  if (!writeFile(name, [&](raw_ostream &out) { out << printProbes(probes); }))
    return llvm::createStringError("the probes were not written");
  return Error::success();
}

llvm::Expected<std::vector<Case>> judgedCases(Ptxas &ptxas, const Options &options) {
  std::vector<Case> cases;
  if (!options.files.empty()) {
    llvm::Expected<std::vector<PtxFile>> files = readPtx(options.files, options.maxBytes);
    if (!files)
      return files.takeError();
    cases = makeFileCases(*files, options.mutants, options.seed);
    if (Error error = judgeFiles(ptxas, cases))
      return error;
    return cases;
  }
  CaseOptions wanted{options.legal, options.illegal, options.modern, options.seed, options.form};
  cases = makeCases(wanted);
  if (Error error = judge(ptxas, cases))
    return error;
  return cases;
}

int compare(Ptxas &ptxas, const Options &options) {
  llvm::Expected<std::vector<Case>> cases = judgedCases(ptxas, options);
  if (!cases) {
    llvm::errs() << llvm::toString(cases.takeError()) << '\n';
    return 1;
  }
  Report report;
  for (const Case &c : *cases)
    report.add(c);
  report.printDifferences(outs(), options.show);
  report.printGroups(outs());
  report.printTotals(outs());
  bool right = true;
  if (options.files.empty()) // in a small sample, not every row has an instance that both take
    right = report.checkForms(outs(), std::min(options.legal.getValue(), 8u),
                              std::min(options.illegal.getValue(), 8u)) ||
            options.legal < 8;
  right &=
      writeFile(options.verdicts, [&](raw_ostream &out) { printVerdicts(out, *cases, false); });
  right &=
      writeFile(options.exceptions, [&](raw_ostream &out) { printVerdicts(out, *cases, true); });
  right &= writeFile(options.groups, [&](raw_ostream &out) { report.printGroups(out); });
  right &= writeFile(options.forms, [&](raw_ostream &out) { report.printForms(out); });
  return !right || report.agreement() < options.wanted;
}

int writeVersionSample(Ptxas &ptxas, const SweepOptions &wanted, const Options &options) {
  llvm::Expected<std::vector<Case>> cases = versionSample(ptxas, wanted);
  if (!cases) {
    llvm::errs() << llvm::toString(cases.takeError()) << '\n';
    return 1;
  }
  auto writer = [&](bool onlyDifferent) {
    return [&cases, onlyDifferent](raw_ostream &out) { printVerdicts(out, *cases, onlyDifferent); };
  };
  bool written = writeFile(options.verdicts, writer(false));
  written &= writeFile(options.exceptions, writer(true));
  return !written;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  cl::ParseCommandLineOptions(argc, argv, "the PTX front end against ptxas\n");
  std::unique_ptr<Ptxas> ptxas = Ptxas::find();
  if (!ptxas) {
    outs() << "skipped: no ptxas\n";
    return kSkipped;
  }
  if (options.versions) {
    SweepOptions wanted{options.instances, options.seed, options.form};
    if (!options.verdicts.empty())
      return writeVersionSample(*ptxas, wanted, options);
    llvm::Expected<unsigned> refused = sweepVersions(*ptxas, wanted, outs());
    if (!refused) {
      llvm::errs() << llvm::toString(refused.takeError()) << '\n';
      return 1;
    }
    return *refused ? 1 : 0;
  }
  if (options.lines.empty() && options.probes.empty())
    return compare(*ptxas, options);
  if (Error error = options.lines.empty() ? judgeProbes(*ptxas, options.probes, options.again)
                                          : judgeLines(*ptxas, options.lines)) {
    llvm::errs() << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
