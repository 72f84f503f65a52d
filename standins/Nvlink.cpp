// SPDX-License-Identifier: Apache-2.0
// nvlink, as compilers of kernels (XLA) start it. docs/standins.md.
#include "input/File.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/RegisterLimit.h"
#include "standins/Assembler.h"
#include "standins/lib/Options.h"
#include "standins/lib/Output.h"
#include "standins/lib/Units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
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
    {"Xnvvm", "", Value},
    {"Xptxas", "", Value},
    {"arch", "", Value, Read},
    {"cpu-arch", "", Value},
    {"debug", "g"},
    {"device-stack-protector", ""},
    {"disable-infos", ""},
    {"disable-warnings", "w", Nothing, Read},
    {"dlto", "", Nothing, Lost},
    {"dump-callgraph", "", Nothing, Lost},
    {"dump-callgraph-no-demangle", "", Nothing, Lost},
    {"emit-ptx", "", Nothing, Read},
    {"extra-warnings", "extrawarn"},
    {"gen-host-linker-script", "ghls", Value, Lost},
    {"help", "h", Nothing, Read},
    {"ignore-host-info", ""},
    {"keep-system-libraries", ""},
    {"kernels-used", "", Value}, // all kernels are in the file
    {"library", "l", Value, Read, Yes},
    {"library-path", "L", Value, Read, Yes},
    {"link-time-opt", "lto", Nothing, Lost},
    {"machine", "m", Number, Read, Yes},
    {"maxrregcount", "", Number, Read},
    {"nvvmpath", "", Value},
    {"options-file", "optf", Value, Read},
    {"output-file", "o", Value, Read},
    {"preserve-relocs", ""},
    {"register-link-binaries", "", Value, Lost},
    {"relocatable-link", "r", Nothing, Read},
    {"report-arch", ""},
    {"split-compile", "", Number},
    {"split-compile-extended", "", Number},
    {"suppress-arch-warning", ""},
    {"suppress-debug-info", ""},
    {"suppress-stack-size-warning", ""},
    {"time", "", Value, Lost},
    {"uidx-file", "uidx", Value, Lost},
    {"use-host-info", ""},
    {"variables-used", "", Value},
    {"verbose", "v", Nothing, Read},
    {"version", "V", Nothing, Read},
    {"warning-as-error", "Werror"},
};

int fail(const Twine &message) {
  messages() << fatal("nvlink", message);
  return 1;
}

// Inputs, then the library of each -l in the folders of -L. As for nvlink, a library that no folder
// has is no error: what only it defines is an undefined reference.
Expected<std::vector<ptx::LinkInput>> readInputs(const CommandLine &line, unsigned capability) {
  std::vector<ptx::LinkInput> units;
  auto add = [&](StringRef path) -> Error {
    auto file = input::readFile(path, uint64_t(1) << 30, input::Accept::PipesToo);
    if (!file)
      return file.takeError();
    if (Error error = readUnits((*file)->getBuffer(), path, capability, units))
      return createStringError(inconvertibleErrorCode(),
                               "'" + path + "': " + toString(std::move(error)));
    return Error::success();
  };
  for (const std::string &path : line.inputs)
    if (Error error = add(path))
      return std::move(error);
  for (StringRef library : line.values("library")) {
    std::string found;
    for (StringRef folder : line.values("library-path"))
      if (std::string path = (folder + "/lib" + library + ".a").str();
          found.empty() && sys::fs::exists(path))
        found = path;
    if (found.empty()) {
      if (!line.has("disable-warnings"))
        messages() << "nvlink warning : Library '" << library << "' not found\n";
      continue;
    }
    if (Error error = add(found))
      return std::move(error);
  }
  return units;
}

int run(const CommandLine &line) {
  AssemblerOptions options;
  options.tool = "nvlink";
  options.isRelocatable = line.has("relocatable-link");
  options.isVerbose = line.has("verbose");
  options.hasWarnings = !line.has("disable-warnings");
  if (options.hasWarnings)
    for (const std::string &warning : line.warnings)
      messages() << "nvlink warning : " << warning << "\n";
  const StringRef arch = line.value("arch").value_or("(null)");
  const std::optional<Target> target = targetNamed(arch);
  if (!target)
    return fail("Unknown arch name '" + arch + "'");
  options.target = *target;
  if (StringRef machine = line.value("machine").value_or("64"); machine != "64")
    return fail("Value '" + machine + "' is not defined for option 'machine'");
  (void)line.value("maxrregcount").value_or("0").getAsInteger(0, options.registerLimit);
  const std::optional<StringRef> output = line.value("output-file");
  if (!output)
    return fail("Must specify output file with -o option");
  Expected<std::vector<ptx::LinkInput>> units = readInputs(line, target->sm);
  if (!units)
    return fail(toString(units.takeError()));
  Expected<std::string> text = ptx::link(*units);
  if (!text) {
    messages() << "nvlink error   : " << toString(text.takeError()) << "\n";
    return 1;
  }
  if (!options.isRelocatable) {
    const ptx::ParseResult parsed = ptx::parse("linked", *text);
    const std::vector<std::string> missing = ptx::unresolved(parsed.module);
    for (const std::string &name : missing)
      messages() << "nvlink error   : Undefined reference to '" << name << "'\n";
    if (!missing.empty())
      return kFailed;
  }
  const Assembled made = assemble("linked", *text, options);
  messages() << made.log;
  if (made.hasFailed)
    return kFailed;
  const bool isPtx = line.has("emit-ptx");
  if (isPtx)
    *text = ptx::limitRegisters(std::move(*text), options.registerLimit);
  if (Error error =
          writeOutput(*output, isPtx ? arrayRefFromStringRef(*text) : ArrayRef(made.cubin)))
    return fail(toString(std::move(error)));
  return 0;
}

} // namespace

int main(int count, char **words) {
  return runTool({"nvlink", "<object, archive, cubin or fatbin> ...", "linker of device code",
                  kOptions, fail, run},
                 count, words);
}
