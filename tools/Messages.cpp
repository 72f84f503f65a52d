// SPDX-License-Identifier: Apache-2.0
// What every command says, and how.
#include "input/Printable.h"
#include "tools/Commands.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

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

static bool isQuiet = false; // --quiet

raw_ostream &notices() { return isQuiet ? nulls() : messages(); }

void addQuietFlag(CLI::App &command) {
  command.add_flag("-q,--quiet", isQuiet, "only results, warnings and errors");
}

// https://no-color.org: NO_COLOR, of any text but an empty one.
static bool isColoured() {
  static const bool coloured = errs().is_displayed() && errs().has_colors() &&
                               settings::systemVariable("NO_COLOR").value_or("").empty() &&
                               settings::systemVariable("TERM").value_or("dumb") != "dumb";
  return coloured;
}

int fail(StringRef message) {
  const bool placed = message.contains(": error: ");
  if (!placed && isColoured()) {
    messages() << "rubia: ";
    errs() << "\x1b[1;31merror:\x1b[0m ";
    messages() << message << "\n";
  } else {
    messages() << (placed ? "" : "rubia: error: ") << message << "\n";
  }
  return kFailed;
}

int fail(Error error) { return fail(toString(std::move(error))); }

} // namespace rubia::tools
