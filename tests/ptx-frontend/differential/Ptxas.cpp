// SPDX-License-Identifier: Apache-2.0
// Runs ptxas and reads `ptxas FILE, line N; error   : TEXT`.

#include "Ptxas.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <numeric>

using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::MutableArrayRef;
using llvm::StringRef;

namespace rubia::test {

std::unique_ptr<Ptxas> Ptxas::find() {
  const char *named = std::getenv("RUBIA_TEST_PTXAS");
  std::string program = named ? named : RUBIA_PTXAS;
  if (!llvm::sys::fs::can_execute(program))
    return nullptr;
  auto ptxas = std::make_unique<Ptxas>();
  ptxas->program = program;
  return ptxas;
}

static Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

// `compute_90a`: no code is generated. ptxas 13.0 compiles for sm_75 and later.
static std::string archFor(const Dialect &dialect) {
  std::string arch = "compute_" + std::to_string(std::max(dialect.sm, 75u));
  if (dialect.variant)
    arch += dialect.variant;
  return arch;
}

Expected<Ptxas::Report> Ptxas::run(StringRef text, StringRef arch) {
  llvm::SmallString<128> input, output;
  if (std::error_code e = llvm::sys::fs::createTemporaryFile("rubia", "ptx", input))
    return llvm::errorCodeToError(e);
  llvm::FileRemover removeInput(input);
  if (std::error_code e = llvm::sys::fs::createTemporaryFile("rubia", "txt", output))
    return llvm::errorCodeToError(e);
  llvm::FileRemover removeOutput(output);
  {
    std::error_code e;
    llvm::raw_fd_ostream file(input, e);
    file << text;
    file.close();
    if (e || file.has_error())
      return failure("cannot write " + input);
  }
  ++processes;
  std::string archOption = ("-arch=" + arch).str(), problem;
  std::optional<StringRef> redirects[] = {StringRef(), output.str(), output.str()};
  int status =
      llvm::sys::ExecuteAndWait(program, {program, archOption, input, "-o", "/dev/null"},
                                std::nullopt, redirects, /*SecondsToWait=*/300, 0, &problem);
  if (status == -1)
    return failure("ptxas: " + problem);
  auto buffer = llvm::MemoryBuffer::getFile(output);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  Report report;
  report.status = status;
  StringRef rest = (*buffer)->getBuffer();
  while (!rest.empty()) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    auto [where, what] = line.split("; ");
    bool isPlaced = !what.empty();
    if (line.empty() || line.contains("aborted due to errors") ||
        (isPlaced && !what.starts_with("error") && !what.starts_with("fatal"))) // advice
      continue;
    size_t number = where.find(", line ");
    Report::Line entry;
    if (number == StringRef::npos || where.drop_front(number + 7).getAsInteger(10, entry.number)) {
      report.rest += line.str() + "\n";
      continue;
    }
    if (!where.contains(input)) // `<macro util>`: an instruction that ptxas expands
      entry.number = 0;
    entry.fatal = what.starts_with("fatal");
    entry.message = what.split(": ").second.str();
    report.lines.push_back(entry);
  }
  return report;
}

Error Ptxas::judgeOnce(const Dialect &dialect, ArrayRef<std::string> instructions,
                       MutableArrayRef<Verdict> verdicts) {
  while (!instructions.empty()) {
    Expected<Report> report = run(moduleWith(dialect, instructions), archFor(dialect));
    if (!report)
      return report.takeError();
    size_t next = instructions.size();
    // Now and then a line number is wrong: then halves are judged, to find the culprit.
    bool crashed = report->status == -2;
    if (crashed && instructions.size() == 1) {
      verdicts[0].crashed = true;
      return Error::success();
    }
    bool unplaced = crashed || llvm::any_of(report->lines, [](const Report::Line &line) {
                      return line.number < kFirstKernelLine;
                    });
    if (unplaced && instructions.size() > 1) {
      size_t half = instructions.size() / 2;
      if (Error error =
              judgeOnce(dialect, instructions.take_front(half), verdicts.take_front(half)))
        return error;
      instructions = instructions.drop_front(half);
      verdicts = verdicts.drop_front(half);
      continue;
    }
    for (const Report::Line &line : report->lines) {
      size_t index =
          line.number < kFirstKernelLine
              ? 0
              : std::min<size_t>(line.number - kFirstKernelLine, instructions.size() - 1);
      if (verdicts[index].accepted)
        verdicts[index] = {false, line.message};
      if (line.fatal)
        next = index + 1;
    }
    if (report->status != 0 && report->lines.empty())
      return failure("ptxas for " + dialect.target() + ": " + report->rest);
    instructions = instructions.drop_front(next);
    verdicts = verdicts.drop_front(next);
  }
  return Error::success();
}

// Some errors are looked for only in a file that has no others, so what was accepted is judged
// again until nothing new turns up.
Expected<std::vector<Verdict>> Ptxas::judge(const Dialect &dialect,
                                            ArrayRef<std::string> instructions) {
  std::vector<Verdict> verdicts(instructions.size());
  std::vector<size_t> open(instructions.size());
  std::iota(open.begin(), open.end(), 0);
  while (true) {
    std::vector<std::string> texts;
    for (size_t i : open)
      texts.push_back(instructions[i]);
    std::vector<Verdict> some(open.size());
    if (Error error = judgeOnce(dialect, texts, some))
      return error;
    std::vector<size_t> accepted;
    for (size_t i = 0; i < open.size(); ++i) {
      verdicts[open[i]] = some[i];
      if (some[i].accepted && !some[i].crashed)
        accepted.push_back(open[i]);
    }
    if (accepted.size() == open.size())
      return verdicts;
    open = std::move(accepted);
  }
}

Expected<Verdict> Ptxas::judgeFile(StringRef text) {
  StringRef target = text.split(".target").second.ltrim();
  Dialect dialect; // of a file that names none, ptxas says so itself
  if (target.consume_front("sm_") && !target.consumeInteger(10, dialect.sm) &&
      (target.starts_with("a") || target.starts_with("f")))
    dialect.variant = target[0];
  Expected<Report> report = run(text, archFor(dialect));
  if (!report)
    return report.takeError();
  if (report->status == 0)
    return Verdict{};
  return Verdict{false, report->lines.empty() ? report->rest : report->lines.front().message};
}

} // namespace rubia::test
