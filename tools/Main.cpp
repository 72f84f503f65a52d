// SPDX-License-Identifier: Apache-2.0
// rubia: run CUDA programs on AMD GPUs without their source.
#include "input/Printable.h"
#include "tools/Commands.h"
#include "tools/diff/DiffCommands.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

raw_ostream &printed() {
  static input::PrintableStream stream(outs());
  return stream;
}

raw_ostream &messages() {
  static input::PrintableStream stream(errs());
  return stream;
}

int fail(StringRef message) {
  bool placed = message.contains(": error: ");
  messages() << (placed ? "" : "rubia: error: ") << message << "\n";
  return kFailed;
}

int fail(Error error) { return fail(toString(std::move(error))); }

std::string programFolder() {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  return sys::path::parent_path(StringRef(path, n > 0 ? n : 0)).str();
}

} // namespace rubia::tools

int main(int argc, char **argv) {
  using namespace rubia::tools;
  CLI::App app("Run CUDA programs on AMD GPUs without their source.", "rubia");
  app.require_subcommand(1);
  app.set_version_flag("--version", RUBIA_VERSION);
  // Before any command does its work. What `run` starts reports itself.
  app.parse_complete_callback([&app] {
    if (!app.got_subcommand("run") && !app.got_subcommand("check") &&
        !app.got_subcommand("capture"))
      for (const std::string &problem : rubia::settings::Settings().problems())
        messages() << "rubia: " << problem << "\n";
  });
  int status = kDone;
  addRun(app, status);
  addCheck(app, status);
  addInspect(app, status);
  addExtract(app, status);
  addCompile(app, status);
  addLaunch(app, status);
  addPrecompile(app, status);
  addDoctor(app, status);
  addCache(app, status);
  addCapsule(app, status);
  addCapture(app, status);
  addReplay(app, status);
  addDiff(app, status);
  addHelp(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? kUsage : kDone;
  }
  return status;
}
