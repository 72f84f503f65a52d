// SPDX-License-Identifier: Apache-2.0
// rubia inspect: the images of a file, and for every kernel whether it will work, and if not, why.
#include "codegen/Codegen.h"
#include "fatbin/File.h"
#include "input/File.h"
#include "targets/Target.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/inspect/InputFiles.h"
#include "tools/inspect/Inspection.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
struct InspectOptions {
  std::vector<std::string> files;
  std::string arch = targets::byDefault().name.str(), entry, html;
  settings::Settings settings;
  bool json = false, recursive = false, mangled = false;
  bool prints() const { return !json && html.empty(); } // for people
};

class Inspector {
public:
  Inspector(const InspectOptions &options, InspectionOptions inspection, DriverFunctions driver)
      : options(options), inspection(std::move(inspection)), driver(std::move(driver)) {}
  void addPath(const std::string &path);
  int finish();

private:
  void add(InputFile input);
  void take(ordered_json entry, int status);
  void problem(const Twine &text) {
    fail(text.str());
    ++outcome.failed;
  }

  const InspectOptions &options;
  InspectionOptions inspection;
  DriverFunctions driver;
  Outcome outcome;
  ordered_json all = ordered_json::array();
  InputFiles walk{[this](InputFile input) { add(std::move(input)); },
                  [this](const std::string &place, const std::string &reason) {
                    problem(StringRef(reason).starts_with(place) ? Twine(reason)
                                                                 : place + ": " + reason);
                  }};
};

// Entries are shown as they come, unless a kernel is to be found in all of them first.
void Inspector::take(ordered_json entry, int status) {
  outcome.worked += status != kFailed;
  outcome.failed += status != kDone;
  all.push_back(std::move(entry));
  if (!options.prints() || !options.entry.empty())
    return;
  if (options.recursive)
    printShort(all.back());
  else
    print(all.back(), {options.mangled});
}

void Inspector::add(InputFile input) {
  const std::string place = input.buffer->getBufferIdentifier().str();
  if (beginsLikeCodeObject(input.buffer->getBuffer())) {
    Expected<CodeObjectFile> file = readCodeObjects(std::move(input.buffer));
    if (!file)
      return problem(toString(file.takeError()));
    return take(inspectCodeObjects(place, *file), kDone);
  }
  Expected<SourceFile> file = sourcesOf(fatbin::readBuffer(std::move(input.buffer)));
  if (!file) {
    const std::string reason = toString(file.takeError());
    // A damaged container counts wherever it is; that a program has no CUDA code does not.
    if (input.isNamed || !StringRef(reason).contains(": no CUDA code: "))
      problem(reason);
    return;
  }
  Expected<ordered_json> entry = inspectSources(*file, input.name, inspection, driver);
  if (!entry)
    return problem(toString(entry.takeError()));
  const int status = judge(*entry);
  take(std::move(*entry), status);
}

void Inspector::addPath(const std::string &path) {
  if (path == "-") {
    auto bytes = input::readFile("/dev/stdin", fatbin::kMaxPayloadBytes, input::Accept::PipesToo);
    if (!bytes)
      return problem(toString(bytes.takeError()));
    return walk.addBuffer(std::move(*bytes));
  }
  if (sys::fs::is_directory(path) && !options.recursive)
    return problem(path + " is a folder: --recursive inspects what is below it");
  walk.addPath(path);
}

int Inspector::finish() {
  if (!options.entry.empty()) {
    Expected<bool> found = keepKernel(all, options.entry);
    if (!found)
      return fail(found.takeError());
    if (!*found)
      return fail("no kernel '" + options.entry + "' in what was inspected");
    outcome = {};
    for (ordered_json &entry : all) {
      const int status = entry.contains("modules") ? judge(entry) : kDone;
      outcome.worked += status != kFailed;
      outcome.failed += status != kDone;
      if (options.prints())
        print(entry, {options.mangled});
    }
  }
  const ordered_json totals = totalsOf(all, walk.seen());
  if (!options.html.empty())
    if (Error error = writeFile(options.html,
                                [&](raw_ostream &os) { writePage(os, all, totals, options.arch); }))
      return fail(std::move(error));
  if (options.json)
    outs() << ordered_json{{"version", 1}, {"files", std::move(all)}, {"totals", totals}}.dump(
                  2, ' ', true, ordered_json::error_handler_t::replace)
           << "\n";
  else if (options.recursive && options.prints())
    printTotals(totals);
  return outcome.status();
}

int inspect(const InspectOptions &options) {
  Expected<unsigned> capability = computeCapability();
  if (!capability)
    return fail(capability.takeError());
  if (Error error = codegen::validateArch(options.arch)) {
    fail(std::move(error));
    return kUsage;
  }
  Expected<DriverFunctions> driver = DriverFunctions::installed();
  if (!driver)
    return fail(driver.takeError());
  InspectionOptions inspection;
  inspection.capability = *capability;
  inspection.pipeline.codegen.arch = options.arch;
  inspection.pipeline.code = options.settings.code();
  Inspector inspector(options, std::move(inspection), std::move(*driver));
  for (const std::string &path : options.files)
    inspector.addPath(path);
  return inspector.finish();
}
} // namespace

void addInspect(CLI::App &app, int &status) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App *command =
      app.add_subcommand("inspect", "What is inside, what will work and what will not, and why");
  command
      ->add_option("file", options->files,
                   "whatever holds kernels, wheels and other archives among them; - is stdin")
      ->required();
  command->add_flag("-r,--recursive", options->recursive,
                    "also folders, with all that is below: one line a file, and totals");
  command->add_option("--arch", options->arch, "the target to judge for")->capture_default_str();
  command->add_option("--entry", options->entry,
                      "only this kernel: its name, mangled or not, or the beginning of it");
  command->add_flag("--mangled", options->mangled, "names of kernels as they stand in the file");
  addCodeOptions(*command, options->settings);
  CLI::Option *json = command->add_flag("--json", options->json, "machine-readable");
  command
      ->add_option("--html", options->html, "a page to look at, into this file; nothing is printed")
      ->excludes(json);
  command->callback([options, &status] { status = inspect(*options); });
}

} // namespace rubia::tools
