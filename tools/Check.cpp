// SPDX-License-Identifier: Apache-2.0
// rubia check: runs a CUDA program on the emulator with its checks on, and tells what they found.
#include "tools/CheckReport.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/Programs.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <CLI/CLI.hpp>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, device, emulatorCheck, emulatorMaxReports, emulatorReports, emulatorSeed,
    emulatorTimeout, localArrays, masks;
} // namespace rubia::settings::Id
namespace rubia::settings::EmulatorCheck {
extern const Word All, Warps;
} // namespace rubia::settings::EmulatorCheck

namespace rubia::tools {

namespace {

struct CheckCommand {
  settings::Settings settings;
  std::vector<std::string> command;
  std::string checks = "all", format = "text", output, failOn = "error";
  bool leaks = false;
  uint64_t maxReports = 100;
  int errorStatus = 1;
};

/// What is to be set for the program. An error: words that are no checks.
Error configure(CheckCommand &options, const std::string &reports) {
  namespace EmulatorCheck = settings::EmulatorCheck;
  namespace Id = settings::Id;
  settings::Settings &settings = options.settings;
  settings.set(Id::device, "emulator")
      .set(Id::emulatorCheck, options.checks + (options.leaks ? ",leaks" : ""))
      .set(Id::emulatorMaxReports, std::to_string(options.maxReports))
      .set(Id::emulatorReports, reports)
      .set(Id::localArrays, "memory");
  if (Error error = settings.check(Id::emulatorCheck))
    return error;
  const auto words = settings.words(Id::emulatorCheck);
  if (words.has(EmulatorCheck::Warps) || words.has(EmulatorCheck::All))
    settings.set(Id::masks, "checked");
  return Error::success();
}

Error writeReport(const CheckReport &report, const CheckCommand &options) {
  const bool isText = options.format == "text";
  if (isText && options.output.empty())
    return Error::success(); // what was found has been said as it was found
  return writeFile(options.output.empty() ? "-" : options.output, [&](raw_ostream &os) {
    if (isText)
      report.writeText(os);
    else if (options.format == "json")
      report.writeJson(os);
    else
      report.writeXml(os);
  });
}

std::string counted(size_t count, StringRef what) {
  return std::to_string(count) + " " + what.str() + (count == 1 ? "" : "s");
}

int check(CheckCommand &options) {
  SmallString<128> file;
  int descriptor = -1;
  if (std::error_code error = sys::fs::createTemporaryFile("rubia-check", "json", descriptor, file))
    return fail("no temporary file: " + error.message());
  close(descriptor);
  scope_exit removed([&] { (void)sys::fs::remove(file); });
  if (Error error = configure(options, file.str().str())) {
    fail(std::move(error));
    return kUsage;
  }
  Expected<Program> program = prepareProgram(options.command, options.settings);
  if (!program)
    return fail(program.takeError());
  Expected<int> status = program->run();
  if (!status)
    return fail(status.takeError());
  CheckReport report;
  report.command = options.command;
  report.status = *status;
  ErrorOr<std::unique_ptr<MemoryBuffer>> lines = MemoryBuffer::getFile(file);
  if (!lines)
    return fail(file.str().str() + ": " + lines.getError().message());
  if (Error error = report.read((*lines)->getBuffer()))
    return fail(std::move(error));
  if (Error error = writeReport(report, options))
    return fail(std::move(error));
  messages() << "rubia check: " << counted(report.errors(), "error") << ", "
             << counted(report.warnings(), "warning") << "\n";
  const bool failed = report.errors() || (options.failOn == "warning" && report.warnings());
  return failed ? options.errorStatus : *status;
}

} // namespace

void addCheck(CLI::App &app, int &status) {
  auto options = std::make_shared<CheckCommand>();
  CLI::App *command = app.add_subcommand(
      "check", "Run a CUDA program and report races, wrong accesses, uninitialised values");
  addSettingOption(*command, options->settings, settings::Id::arch, "--arch");
  addSettingOption(*command, options->settings, settings::Id::emulatorSeed, "--seed");
  addSettingOption(*command, options->settings, settings::Id::emulatorTimeout, "--timeout");
  for (const settings::Row &row : settings::rows())
    if (!row.key.empty() && row.id != settings::Id::masks && row.id != settings::Id::localArrays)
      addSettingOption(*command, options->settings, row.id, "--" + row.key.str());
  command
      ->add_option("--checks", options->checks,
                   "memory, races, uninitialised, barriers, warps, with commas, or all of them")
      ->capture_default_str();
  command->add_flag("--leaks", options->leaks, "report device memory that is never freed");
  command
      ->add_option("--max-reports", options->maxReports,
                   "errors of a launch before it ends with the last of them; 1: go on after none")
      ->check(CLI::Range(uint64_t(1), uint64_t(1000000000)))
      ->capture_default_str();
  command->add_option("--format", options->format, "of the report: text, json, or xml as JUnit's")
      ->check(CLI::IsMember({"text", "json", "xml"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output,
                      "the file for the report; else json and xml go to stdout behind the "
                      "program's own output");
  command->add_option("--fail-on", options->failOn, "what makes the exit status that of an error")
      ->check(CLI::IsMember({"error", "warning"}))
      ->capture_default_str();
  command
      ->add_option("--error-status", options->errorStatus,
                   "the exit status then; else it is the program's own")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();
  command->add_option("program", options->command, "the program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = check(*options); });
}

} // namespace rubia::tools
