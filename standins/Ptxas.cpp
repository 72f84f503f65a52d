// SPDX-License-Identifier: Apache-2.0
// ptxas, as compilers of kernels (Triton, XLA) start it. docs/standins.md.
#include "input/File.h"
#include "ptx-frontend/RegisterLimit.h"
#include "standins/Assembler.h"
#include "standins/lib/Options.h"
#include "standins/lib/Output.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace rubia;
using namespace rubia::standins;

namespace {

using enum Option::Takes;
using enum Option::Use;
using enum Option::Joins;

constexpr Option kOptions[] = {
    {"Ofast-compile", "Ofc", Value},
    {"allow-expensive-optimizations", "", Truth},
    {"compile-as-tools-patch", "astoolspatch", Nothing, Lost},
    {"compile-only", "c", Nothing, Read},
    {"compiler-annotations", "annotate"},
    {"def-load-cache", "dlcm", Value},
    {"def-store-cache", "dscm", Value},
    {"device-debug", "g"},
    {"device-function-maxrregcount", "func-maxrregcount", Value},
    {"device-stack-protector", "", Truth},
    {"disable-optimizer-constants", "disable-optimizer-consts"},
    {"disable-warnings", "w", Nothing, Read},
    {"dont-merge-basicblocks", "no-bb-merge"},
    {"entry", "e", Value, Read}, // all kernels are in the file
    {"extensible-whole-program", "ewp", Nothing, Read},
    {"fmad", "", Truth, Read},
    {"force-load-cache", "flcm", Value},
    {"force-store-cache", "fscm", Value},
    {"g-tensor-memory-access-check", "g-tmem-access-check"},
    {"generate-line-info", "lineinfo"},
    {"gno-tensor-memory-access-check", "gno-tmem-access-check"},
    {"gpu-name", "arch", Value, Read},
    {"help", "h", Nothing, Read},
    {"input-as-string", "ias", Value, Read},
    {"legacy-bar-warp-wide-behavior", "", Nothing, Lost},
    {"list-version", "version-ls", Nothing, Read},
    {"machine", "m", Number, Read, Yes},
    {"make-errors-visible-at-exit", ""},
    {"maxntid", "", Value, Lost},
    {"maxrregcount", "", Value, Read},
    {"minnctapersm", "", Number},
    {"opt-level", "O", Number, NoEffect, Only},
    {"optimize-float-atomics", "opt-fp-atomics"},
    {"options-file", "optf", Value, Read},
    {"output-file", "o", Value, Read},
    {"override-directive-values", "", Nothing, Lost},
    {"position-independent-code", "pic", Truth},
    {"preserve-relocs", ""},
    {"register-usage-level", "regUsageLevel", Number},
    {"return-at-end", "ret-end"},
    {"sanitize", "", Value, Lost},
    {"sp-bounds-check", ""},
    {"split-compile", "", Number},
    {"suppress-async-bulk-multicast-advisory-warning", ""},
    {"suppress-debug-info", ""},
    {"suppress-double-demote-warning", ""},
    {"suppress-sparse-mma-advisory-info", ""},
    {"suppress-stack-size-warning", ""},
    {"verbose", "v", Nothing, Read},
    {"version", "V", Nothing, Read},
    {"warn-on-double-precision-use", "warn-double-usage"},
    {"warn-on-local-memory-usage", "warn-lmem-usage"},
    {"warn-on-spills", "warn-spills"},
    {"warning-as-error", "Werror", Nothing, Read},
};

int fail(const Twine &message) {
  messages() << fatal("ptxas", message);
  return kFailed;
}

/// What an option may be, where that is neither any text nor any number.
struct Choices {
  StringLiteral option, words; // with blanks between them
  bool orNumber;
};
constexpr Choices kChoices[] = {
    {"Ofast-compile", "0 min mid max", false},   {"def-load-cache", "ca cg cs lu cv", false},
    {"def-store-cache", "wb cg cs wt", false},   {"force-load-cache", "ca cg cs lu cv", false},
    {"force-store-cache", "wb cg cs wt", false}, {"maxrregcount", "archmax archmin", true},
    {"sanitize", "memcheck threadsteer", false},
};

// What is wrong with the value of an option; "" if all are right.
std::string wrongChoice(const CommandLine &line) {
  for (const Choices &choices : kChoices)
    for (StringRef value : line.values(choices.option)) {
      SmallVector<StringRef> words;
      choices.words.split(words, ' ');
      uint64_t number;
      if (!is_contained(words, value) && (!choices.orNumber || value.getAsInteger(0, number)))
        return ("Invalid value '" + value + "' for option '" + choices.option + "'").str();
    }
  return "";
}

int assembleText(const CommandLine &line, const AssemblerOptions &options, StringRef name,
                 StringRef text) {
  const Assembled made = assemble(name, text, options);
  messages() << made.log;
  if (made.hasFailed)
    return kFailed;
  if (made.cubin.empty()) // of a virtual target
    return 0;
  if (Error error = writeOutput(line.value("output-file").value_or("elf.o"), made.cubin))
    return fail(toString(std::move(error)));
  return 0;
}

int listVersions() {
  for (const char *version :
       {"1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "2.0", "2.1", "2.2", "2.3", "3.0",
        "3.1", "3.2", "4.0", "4.1", "4.2", "4.3", "5.0", "5.1", "6.0", "6.1", "6.2",
        "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7",
        "7.8", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0"})
    outs() << version << "\n";
  return 0;
}

// The words that stand for numbers are the bounds.
unsigned registerLimit(const CommandLine &line, bool hasWarnings) {
  const StringRef word = line.value("maxrregcount").value_or("0");
  unsigned limit = 0;
  if (word == "archmin")
    limit = ptx::kLeastRegisterLimit;
  else if (word != "archmax")
    (void)word.getAsInteger(0, limit); // wrongChoice() has seen that it is a number
  if (hasWarnings && limit > ptx::kMostRegisters)
    messages() << "ptxas warning : Too big maxrregcount value specified " << limit
               << ", will be ignored\n";
  return limit;
}

int run(const CommandLine &line) {
  if (line.has("list-version"))
    return listVersions();
  AssemblerOptions options;
  options.isRelocatable = line.has("compile-only") || line.has("extensible-whole-program");
  options.isVerbose = line.has("verbose");
  options.hasWarnings = !line.has("disable-warnings");
  options.areWarningsErrors = line.has("warning-as-error");
  if (options.hasWarnings)
    for (const std::string &warning : line.warnings)
      messages() << "ptxas warning : " << warning << "\n";
  const StringRef arch = line.value("gpu-name").value_or("sm_75");
  const std::optional<Target> target = targetNamed(arch);
  if (!target)
    return fail("Value '" + arch + "' is not defined for option 'gpu-name'");
  options.target = *target;
  options.mayFuse = line.value("fmad").value_or("true") == "true";
  if (std::string wrong = wrongChoice(line); !wrong.empty())
    return fail(wrong);
  options.registerLimit = registerLimit(line, options.hasWarnings);
  for (StringRef names : line.values("entry"))
    for (StringRef name : split(names, ','))
      options.entries.push_back(name.str());
  if (StringRef machine = line.value("machine").value_or("64"); machine != "64")
    return fail("Value '" + machine + "' is not defined for option 'machine'");
  const std::vector<StringRef> strings = line.values("input-as-string");
  if (line.inputs.size() + strings.size() != 1)
    return fail(line.inputs.empty() && strings.empty() ? "No input file is given"
                                                       : "More than one input file is given");
  if (!strings.empty())
    return assembleText(line, options, "<string>", strings.front());
  const std::string &path = line.inputs.front();
  auto file = input::readFile(path == "-" ? "/dev/stdin" : path, uint64_t(1) << 30,
                              input::Accept::PipesToo);
  if (!file) {
    consumeError(file.takeError());
    messages() << fatal("ptxas", "Input file '" + path + "' could not be opened");
    return fail("Ptx assembly aborted due to errors");
  }
  return assembleText(line, options, path, (*file)->getBuffer().rtrim('\0'));
}

} // namespace

int main(int count, char **words) {
  return runTool(
      {"ptxas", "<ptx file>", "assembler of PTX", kOptions, fail, run, /*helpsWithoutWords=*/true},
      count, words);
}
