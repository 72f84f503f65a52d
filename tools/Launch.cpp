// SPDX-License-Identifier: Apache-2.0
// rubia launch: runs one kernel of a file with arguments from the command line, on a GPU or on the
// emulator.
#include "fatbin/Container.h"
#include "input/File.h"
#include "tools/CodeObjects.h"
#include "tools/Commands.h"
#include "tools/LaunchArguments.h"
#include "tools/LaunchObservation.h"
#include "tools/LaunchableKernels.h"
#include "tools/OutputFile.h"
#include "tools/launch/LaunchDevice.h"
#include "tools/launch/Outputs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <cstring>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, device, sandbox;
} // namespace rubia::settings::Id

namespace rubia::tools {

namespace {
struct LaunchOptions {
  std::string entry, grid = "1", block = "1";
  uint32_t shared = 0;
  std::vector<std::string> arguments, prints, compares;
  Tolerance tolerance;
};

struct CommandOptions {
  std::string file, batch;
  bool onReference = false;
  settings::Settings settings;
  ObservationOptions observation;
  LaunchOptions launch;
};

void addLaunchOptions(CLI::App &command, LaunchOptions &options) {
  command.add_option("--entry", options.entry, "kernel");
  command.add_option("--grid", options.grid, "X[,Y,Z] in blocks")->capture_default_str();
  command.add_option("--block", options.block, "X[,Y,Z] in threads")->capture_default_str();
  command.add_option("--shared", options.shared, "dynamic shared memory in bytes")
      ->capture_default_str();
  command.add_option("argument", options.arguments,
                     "i8: u8: i16: u16: i32: u32: i64: u64: f16: bf16: f32: f64:VALUE, "
                     "buf:IN[:OUT], zero:BYTES[:OUT], zero:TYPE[SIZE,...][:OUT], "
                     "bytes:HEX or bytes:@FILE; one for each parameter; .npy files have types");
  command
      .add_option("--print", options.prints,
                  "NUMBER[:TYPE]: print the elements of this argument's buffer")
      ->allow_extra_args(false);
  command
      .add_option("--compare", options.compares,
                  "[NUMBER=]FILE: fail unless this argument's buffer is equal to the file's")
      ->allow_extra_args(false);
  command
      .add_option("--rtol", options.tolerance.relative,
                  "of --compare, relative to what is expected")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--atol", options.tolerance.absolute, "of --compare, absolute")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

class Launcher {
public:
  Launcher(LaunchDevice &device, KernelFinder find) : device(device), find(std::move(find)) {}
  Error launch(const LaunchOptions &options);

private:
  LaunchDevice &device;
  KernelFinder find;
};

Error failure(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

// A device buffer that is freed at the end of the launch.
struct Buffer {
  LaunchDevice &device;
  void *address = nullptr;
  explicit Buffer(LaunchDevice &device) : device(device) {}
  Buffer(Buffer &&other) noexcept
      : device(other.device), address(std::exchange(other.address, nullptr)) {}
  ~Buffer() {
    if (address)
      device.free(address);
  }
};

Error Launcher::launch(const LaunchOptions &options) {
  runtime::LaunchShape shape;
  shape.dynamicSharedBytes = options.shared;
  if (Error error = parseDimensions(options.grid, shape.grid))
    return error;
  if (Error error = parseDimensions(options.block, shape.block))
    return error;
  Expected<LaunchableKernel> kernel = find(options.entry);
  if (!kernel)
    return kernel.takeError();

  if (options.arguments.size() != kernel->parameters.size())
    return failure("kernel '" + kernel->name + "' has " + Twine(kernel->parameters.size()) +
                   " parameters, " + Twine(options.arguments.size()) + " arguments were given");
  Expected<std::vector<BufferView>> views = parseViews(options.prints, options.compares);
  if (!views)
    return views.takeError();
  std::vector<LaunchArgument> arguments;
  std::vector<Buffer> buffers;
  std::vector<uint8_t> parameters(kernel->parameterBytes, 0);
  for (size_t i = 0; i < options.arguments.size(); ++i) {
    Expected<LaunchArgument> argument = parseLaunchArgument(options.arguments[i]);
    if (!argument)
      return argument.takeError();
    const LaunchableKernel::Parameter &parameter = kernel->parameters[i];
    size_t size = argument->isBuffer ? sizeof(void *) : argument->bytes.size();
    if (size != parameter.size)
      return failure("argument " + Twine(i + 1) + " ('" + argument->text + "') has " + Twine(size) +
                     " bytes, the parameter of kernel '" + kernel->name + "' has " +
                     Twine(parameter.size));
    Buffer &buffer = buffers.emplace_back(device);
    if (argument->isBuffer) {
      Expected<void *> address = device.allocate(argument->bytes.size());
      if (!address)
        return address.takeError();
      buffer.address = *address;
      if (Error error = device.write(buffer.address, argument->bytes))
        return error;
      memcpy(parameters.data() + parameter.offset, &buffer.address, sizeof(void *));
    } else {
      memcpy(parameters.data() + parameter.offset, argument->bytes.data(), size);
    }
    arguments.push_back(std::move(*argument));
  }

  if (Error error = kernel->launch(shape, parameters))
    return error;
  const std::string error = device.synchronize(), detail = toString(kernel->finish());
  if (!error.empty() || !detail.empty())
    return failure("kernel '" + kernel->name + "': " + error +
                   (!error.empty() && !detail.empty() ? ": " : "") + detail);
  const bool isLookedAt = !views->empty();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].isBuffer || (arguments[i].output.empty() && !isLookedAt))
      continue;
    std::vector<uint8_t> &bytes = arguments[i].bytes;
    if (Error error = device.read(bytes, buffers[i].address))
      return error;
    if (Error error = writeOutput(arguments[i]))
      return error;
  }
  return lookAtBuffers(*views, arguments, options.tolerance);
}

// One launch a line, in the form of the command line behind FILE.
int launchBatch(Launcher &launcher, const std::string &path) {
  auto file = input::readFile(path == "-" ? "/dev/stdin" : path, fatbin::kMaxPayloadBytes,
                              input::Accept::PipesToo);
  if (!file)
    return fail(file.takeError());
  SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string place = path + ":" + std::to_string(i + 1) + ": ";
    Expected<std::vector<std::string>> words = splitLine(lines[i]);
    if (!words)
      return fail(place + toString(words.takeError()));
    if (words->empty())
      continue;
    LaunchOptions options;
    CLI::App line;
    addLaunchOptions(line, options);
    try {
      std::vector<std::string> reversed(words->rbegin(), words->rend());
      line.parse(reversed);
    } catch (const CLI::ParseError &error) {
      fail(place + error.what());
      return kUsage;
    }
    if (Error error = launcher.launch(options))
      return fail(place + toString(std::move(error)));
  }
  return kDone;
}

// Without --arch, the emulator is the processor that the file is for.
Error chooseArch(const std::string &path, settings::Settings &settings) {
  if (settings.isUsable(settings::Id::arch))
    return Error::success();
  Expected<CodeObjectFile> file = openCodeObjects(path);
  if (!file)
    return file.takeError();
  settings.set(settings::Id::arch, file->images.front().info.target);
  return Error::success();
}

int launchAll(Launcher &launcher, const CommandOptions &options) {
  if (!options.batch.empty())
    return launchBatch(launcher, options.batch);
  if (Error error = launcher.launch(options.launch))
    return fail(std::move(error));
  return kDone;
}

int launchOnReference(const CommandOptions &options) {
  if (options.observation.any()) {
    fail("--stats, --profile and --trace tell what the emulator executes, not --reference");
    return kUsage;
  }
  Expected<ReferenceKernels> kernels = openReferenceKernels(options.file);
  if (!kernels)
    return fail(kernels.takeError());
  Launcher launcher(*kernels->device, std::move(kernels->find));
  return launchAll(launcher, options);
}

int launch(const CommandOptions &options) {
  if (options.onReference)
    return launchOnReference(options);
  settings::Settings settings = options.settings;
  const bool isCodeObject = holdsCodeObjects(options.file);
  if (isCodeObject)
    if (Error error = chooseArch(options.file, settings))
      return fail(std::move(error));
  std::optional<LaunchObservation> observation;
  if (!options.observation.json.empty() && !options.observation.any()) {
    fail("--json needs --stats, --profile or --trace");
    return kUsage;
  }
  if (options.observation.any()) {
    Expected<LaunchObservation> started = LaunchObservation::start(options.observation, settings);
    if (!started)
      return fail(started.takeError());
    observation.emplace(std::move(*started));
  }
  Expected<const runtime::Hip *> hip = runtime::Hip::open(settings);
  if (!hip)
    return fail(hip.takeError());
  if (observation && !(*hip)->isEmulator)
    return fail("--stats, --profile and --trace tell what the emulator executes: use "
                "--device emulator");
  Expected<KernelFinder> kernels = isCodeObject
                                       ? openCodeObjectKernels(**hip, options.file, settings)
                                       : openPtxKernels(**hip, options.file, settings);
  if (!kernels)
    return fail(kernels.takeError());
  std::unique_ptr<LaunchDevice> device = hipDevice(**hip);
  Launcher launcher(*device, std::move(*kernels));
  int status = launchAll(launcher, options);
  if (observation) // also of a launch that failed: how it got there
    if (Error error = observation->print(options.file))
      return fail(std::move(error));
  if (observation && status == kDone) {
    Expected<bool> missed = observation->missedTrace();
    if (!missed)
      return fail(missed.takeError());
    if (*missed)
      return fail("nothing was traced: no launch has what --trace-workgroup, --trace-wave or "
                  "--trace-thread choose");
  }
  return status;
}
} // namespace

void addLaunch(CLI::App &app, int &status) {
  auto options = std::make_shared<CommandOptions>();
  CLI::App *command = app.add_subcommand("launch", "Run one kernel of a file");
  command->add_option("file", options->file, "whatever holds kernels")->required();
  addLaunchOptions(*command, options->launch);
  command->add_flag("--reference", options->onReference,
                    "execute the PTX on the host, without compiling it: slow, and independent of "
                    "all else");
  addSettingOption(*command, options->settings, settings::Id::device, "--device");
  addSettingOption(*command, options->settings, settings::Id::arch, "--arch");
  addCodeOptions(*command, options->settings);
  addSettingOption(*command, options->settings, settings::Id::sandbox, "--sandbox");
  command->add_option("--batch", options->batch,
                      "file with one launch per line: --entry K --grid X --block X ARG...");
  options->observation.addTo(*command);
  command->callback([options, &status] { status = launch(*options); });
}

} // namespace rubia::tools
