// rubia: run CUDA programs on AMD GPUs without their source.
#include "input/Printable.h"
#include "tools/lib/Commands.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <cstdlib>
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

void setEnvironment(const char *name, const std::string &value) {
  if (!value.empty())
    setenv(name, value.c_str(), 1);
}

void CodeOptions::addTo(CLI::App &command) {
  command
      .add_option("--nan", nan,
                  "any (default): a NaN stays a NaN; canonical: with the bits that NVIDIA gives")
      ->check(CLI::IsMember({"any", "canonical"}));
  command
      .add_option("--warp-form", warpForm,
                  "in waves of 64 lanes, auto (default): two warps a wave where that is sound, "
                  "else one; half-filled: one; packed: two, or an error")
      ->check(CLI::IsMember({"auto", "half-filled", "packed"}));
  command
      .add_option("--contract", contract,
                  "a product and a sum without rounding modifiers become one fused operation where "
                  "NVIDIA's compiler does that (nvidia, default), or never")
      ->check(CLI::IsMember({"nvidia", "never"}));
}

void CodeOptions::toEnvironment() const {
  setEnvironment("RUBIA_NAN", nan);
  setEnvironment("RUBIA_WARP_FORM", warpForm);
  setEnvironment("RUBIA_CONTRACT", contract);
}

void addSandboxOption(CLI::App &command) {
  command
      .add_option_function<std::string>(
          "--sandbox", [](const std::string &mode) { setEnvironment("RUBIA_SANDBOX", mode); },
          "of compile processes: auto (default): what the kernel permits of it; require: nothing "
          "is compiled unless it is whole; off")
      ->check(CLI::IsMember({"auto", "require", "off"}));
}

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
  int status = kDone;
  addRun(app, status);
  addInspect(app, status);
  addExtract(app, status);
  addCompile(app, status);
  addLaunch(app, status);
  addPrecompile(app, status);
  addDoctor(app, status);
  addCache(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? kUsage : kDone;
  }
  return status;
}
