// SPDX-License-Identifier: Apache-2.0
// What every command says, and how.
#include "input/Printable.h"
#include "input/Writing.h"
#include "tools/Commands.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

raw_ostream &printed() {
  static input::PrintableStream stream(outs());
  return stream;
}

namespace {
/// A program that `rubia run` is to start is started, and its status told, whoever reads stderr.
class StandardError : public raw_ostream {
public:
  StandardError() : raw_ostream(/*unbuffered=*/true) {}

private:
  void write_impl(const char *data, size_t size) override {
    (void)input::writeAll(STDERR_FILENO, StringRef(data, size));
    written += size;
  }
  uint64_t current_pos() const override { return written; }
  uint64_t written = 0;
};
StandardError &standardError() {
  static auto &stream = *new StandardError;
  return stream;
}
} // namespace

raw_ostream &messages() {
  static input::PrintableStream stream(standardError());
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
    standardError() << "\x1b[1;31merror:\x1b[0m ";
    messages() << message << "\n";
  } else {
    messages() << (placed ? "" : "rubia: error: ") << message << "\n";
  }
  return kFailed;
}

int fail(Error error) { return fail(toString(std::move(error))); }

} // namespace rubia::tools
