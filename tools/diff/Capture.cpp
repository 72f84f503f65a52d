// SPDX-License-Identifier: Apache-2.0
// rubia capture: runs a CUDA program with the forwarding libcuda.so.1 between it and the driver,
// which is NVIDIA's where there is one, else Rubia's.
#include "tools/Commands.h"
#include "tools/Programs.h"
#include "tools/diff/DiffCommands.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, device;
} // namespace rubia::settings::Id

namespace rubia::tools {
namespace {

struct CaptureOptions {
  settings::Settings settings;
  std::vector<std::string> command;
  std::string output, kernel, driver;
  uint64_t first = 0, every = 1, maxBytes = uint64_t(1) << 30, timeout = 30;
  bool jitPtx = false, libraryCapability = false, commandLine = false, calls = false,
       touched = false, noPack = false, noImages = false, hashOnly = false;
};

/// The driver to forward to.
std::string chooseDriver(const CaptureOptions &options, const std::string &libraries) {
  if (!options.driver.empty() && options.driver != "rubia")
    return options.driver;
  const std::string ours = libraries + "/libcuda.so.1";
  if (!options.driver.empty() || !sys::fs::exists("/dev/nvidiactl"))
    return ours;
  return expectedToOptional(nvidiaDriver()).value_or(ours);
}

/// The lines that the forwarding library reads.
std::string linesFor(const CaptureOptions &options, StringRef output, StringRef driver) {
  std::string lines;
  raw_string_ostream os(lines);
  os << "output=" << output << "\ndriver=" << driver << "\nevery=" << options.every
     << "\nmax-bytes=" << options.maxBytes << "\ntimeout=" << options.timeout << "\n";
  for (auto [isWanted, key] :
       {std::pair(options.calls, "calls"), std::pair(options.jitPtx, "jit-ptx"),
        std::pair(options.libraryCapability, "library-capability"),
        std::pair(options.commandLine, "command-line")})
    if (isWanted)
      os << key << "=1\n";
  if (options.first)
    os << "first=" << options.first << "\n";
  if (!options.kernel.empty())
    os << "kernel=" << options.kernel << "\n";
  return lines;
}

Expected<Program> prepare(const CaptureOptions &options, StringRef output) {
  Expected<std::string> path = findProgram(options.command.front());
  if (!path)
    return path.takeError();
  Expected<std::string> libraries = libraryFolder();
  if (!libraries)
    return libraries.takeError();
  if (output.contains('\n') || StringRef(options.kernel).contains('\n'))
    return createStringError("a line break in --output or --kernel");
  Program program{*path, options.command, environmentOf(options.settings, *libraries + "/capture")};
  const std::string driver = chooseDriver(options, *libraries);
  program.variables.push_back("RUBIA_CAPTURE=" + linesFor(options, output, driver));
  notices() << "rubia: capturing launches on " << driver << "\n";
  return program;
}

int capture(const CaptureOptions &options) {
  SmallString<256> output(options.output);
  if (std::error_code error = sys::fs::make_absolute(output))
    return fail(options.output + ": " + error.message());
  if (sys::fs::exists(output))
    return fail(options.output + " exists");
  Expected<Program> program = prepare(options, output);
  if (!program)
    return fail(program.takeError());
  Expected<int> status = program->run();
  if (!status)
    return fail(status.takeError());
  if (!sys::fs::exists(output)) {
    fail("nothing was recorded: the program launched no kernel that was to be recorded");
    return *status ? *status : kFailed;
  }
  const std::string file = output.str().str();
  Expected<std::string> libraries = libraryFolder();
  if (!libraries)
    return fail(libraries.takeError());
  if (options.touched) {
    const ReplayTarget target{"the driver that recorded", options.settings, false,
                              chooseDriver(options, *libraries)};
    ReplayWork work;
    work.path = file;
    if (Error error = keepTouched(file, file, work, target))
      return fail(std::move(error));
  }
  Error error = options.noImages || options.hashOnly
                    ? stripCapsule(file, file, options.noImages, options.hashOnly)
                : options.noPack ? Error::success()
                                 : packCapsule(file, file);
  if (error)
    return fail(std::move(error));
  return *status;
}

} // namespace

void addCapture(CLI::App &app, int &status) {
  auto options = std::make_shared<CaptureOptions>();
  CLI::App *command = app.add_subcommand(
      "capture", "Run a CUDA program and record its launches, on NVIDIA's driver or Rubia's");
  command->add_option("-o,--output", options->output, "the capsule to make")->required();
  command->add_option("--kernel", options->kernel,
                      "record kernels whose names match this regular expression (POSIX, extended)");
  command->add_option("--first", options->first, "record so many launches of each kernel")
      ->check(CLI::PositiveNumber);
  command->add_option("--every", options->every, "record each K-th launch of a kernel")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--max-bytes", options->maxBytes,
                   "a launch that reaches more memory is recorded without it")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--timeout", options->timeout,
                   "seconds after which a launch counts as waiting for another")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--driver", options->driver,
                      "the libcuda.so.1 to record on, or `rubia`; default: NVIDIA's where there is "
                      "a device of theirs, else Rubia's");
  command->add_flag("--jit-ptx", options->jitPtx,
                    "make NVIDIA's driver compile the PTX, which is what can be replayed, where "
                    "the program has machine code too, and take PTX for newer devices where its "
                    "instructions allow");
  command->add_flag("--library-capability", options->libraryCapability,
                    "tell NVIDIA's libraries the compute capability that Rubia tells them: then "
                    "they launch the kernels that they launch on Rubia");
  CLI::Option *commandLine = command->add_flag("--command-line", options->commandLine,
                                               "record the program's command line");
  command->add_flag("--calls", options->calls,
                    "log every call of the driver API: `rubia capsule show --calls` lists them");
  CLI::Option *touched = command->add_flag(
      "--touched", options->touched,
      "keep those pages of memory alone that a launch touches, as a replay of it tells");
  CLI::Option *noImages =
      command->add_flag("--no-images", options->noImages,
                        "leave the program's kernels out of the capsule when it is recorded");
  CLI::Option *hashOnly =
      command->add_flag("--hash-only", options->hashOnly,
                        "leave digests in the place of what launches made of their memory");
  commandLine->excludes(noImages)->excludes(hashOnly); // which are for others to have
  command->add_flag("--no-pack", options->noPack, "do not compress the capsule afterwards")
      ->excludes(touched)
      ->excludes(noImages)
      ->excludes(hashOnly);
  addSettingOption(*command, options->settings, settings::Id::device, "--device");
  addSettingOption(*command, options->settings, settings::Id::arch, "--arch");
  addCodeOptions(*command, options->settings);
  command->add_option("program", options->command, "the program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = capture(*options); });
}

} // namespace rubia::tools
