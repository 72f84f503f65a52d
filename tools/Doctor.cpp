// SPDX-License-Identifier: Apache-2.0
// rubia doctor: what works on this machine and what does not.
#include "codegen/Codegen.h"
#include "runtime/cache/CacheDirectory.h"
#include "runtime/device/Hip.h"
#include "tools/Commands.h"
#include "tools/Selftest.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

namespace {
void line(const char *what, const Twine &text) {
  printed() << formatv("{0,-22}{1}\n", what, text.str());
}

int reportDevices(const settings::Settings &settings) {
  Expected<const runtime::Hip *> opened = runtime::Hip::open(settings);
  if (!opened) {
    line("device", "none: " + toString(opened.takeError()));
    return kFailed;
  }
  const runtime::Hip &hip = **opened;
  line("HIP library",
       hip.path + (hip.isEmulator ? " (emulator)" : "") + ", version " + Twine(hip.version));
  int count = 0, status = kDone;
  if (hip.hipGetDeviceCount(&count))
    return kFailed;
  for (int i = 0; i < count; ++i) {
    char name[256] = "";
    hip.hipDeviceGetName(name, sizeof(name), i);
    Expected<std::string> arch = hip.archName(i);
    if (!arch) {
      line("device", Twine(i) + ": " + toString(arch.takeError()));
      status = kFailed;
      continue;
    }
    const std::string problem = toString(codegen::validateArch(*arch));
    line("device", Twine(i) + ": " + *arch + ", " + name +
                       (problem.empty() ? problem : ", not usable: " + problem));
    auto of = [&](runtime::HipAttribute attribute) { return hip.attribute(attribute, i); };
    const bool cooperative =
        hip.hipModuleLaunchCooperativeKernel && of(runtime::HipAttribute::CooperativeLaunch);
    line("", Twine(of(runtime::HipAttribute::MultiprocessorCount)) + " multiprocessors, " +
                 Twine(of(runtime::HipAttribute::MaxSharedMemoryPerBlock)) +
                 " bytes of shared memory a CTA, " + (cooperative ? "" : "no ") +
                 "cooperative launches, clusters of one CTA");
  }
  return status;
}

std::string libraryFolder() { return programFolder() + "/../lib/rubia/"; }

// What the kernel refuses the worker of its sandbox: it tries. Security modules may decide by
// program, so that nobody else's attempt would tell.
Expected<std::string> refusedOfSandbox() {
  const int file = memfd_create("sandbox", MFD_CLOEXEC);
  if (file < 0)
    return createStringError(errnoAsErrorCode(), "no memory file");
  const std::string worker = libraryFolder() + "rubia-worker",
                    output = "/proc/self/fd/" + std::to_string(file);
  std::string error;
  const int status =
      sys::ExecuteAndWait(worker, {worker, "sandbox"}, std::nullopt,
                          {std::nullopt, StringRef(output), std::nullopt}, 0, 0, &error);
  auto text = MemoryBuffer::getFile(output);
  close(file);
  if (status || !text)
    return createStringError(inconvertibleErrorCode(), "rubia-worker cannot tell: " + error);
  return (*text)->getBuffer().str();
}

int reportSandbox(const settings::Settings &settings) {
  if (Error error = settings.check(settings::Id::sandbox)) {
    line("sandbox", toString(std::move(error)));
    return kFailed;
  }
  const settings::SandboxMode mode = settings.sandbox();
  if (mode == settings::SandboxMode::Off) {
    line("sandbox", "off: RUBIA_SANDBOX");
    return kDone;
  }
  Expected<std::string> refused = refusedOfSandbox();
  if (!refused) {
    line("sandbox", toString(refused.takeError()));
    return kFailed;
  }
  if (refused->empty()) {
    line("sandbox", "complete, of compile processes");
    return kDone;
  }
  const bool isDemanded = mode == settings::SandboxMode::Require;
  line("sandbox", "not complete, of compile processes: " + *refused +
                      (isDemanded ? "; nothing is compiled: RUBIA_SANDBOX=require" : ""));
  return isDemanded ? kFailed : kDone;
}

int reportInstallation() {
  int status = kDone;
  std::string libraries = libraryFolder();
  for (const char *name : {"libcuda.so.1", "librubia-emulator.so", "rubia-worker"}) {
    bool there = sys::fs::exists(libraries + name);
    line(name, there ? libraries + name : "missing in " + libraries);
    status = there ? status : kFailed;
  }
  void *comgr = dlopen("libamd_comgr.so.2", RTLD_LAZY | RTLD_LOCAL);
  line("comgr", comgr ? "libamd_comgr.so.2" : "not found (only --codegen comgr needs it)");
  return status;
}

void reportCache() {
  if (std::optional<std::string> folder = runtime::cacheDirectory())
    line("kernel cache", *folder);
  else
    line("kernel cache", "off: disabled, or no folder to be had");
}

int doctor(const settings::Settings &settings) {
  line("rubia", RUBIA_VERSION);
  line("LLVM", LLVM_VERSION_STRING);
  int status = reportInstallation();
  status = std::max(status, reportSandbox(settings));
  status = std::max(status, reportDevices(settings));
  reportCache();
  return status;
}
} // namespace

void addDoctor(CLI::App &app, int &status) {
  struct Options {
    bool selftest = false, list = false;
    settings::Settings settings;
  };
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("doctor", "What works on this machine and what does not");
  CLI::Option *selftest =
      command->add_flag("--selftest", options->selftest,
                        "whether the device behaves as docs/hardware-assumptions.md says");
  command->add_flag("--list", options->list, "only the names of the checks")->needs(selftest);
  addSettingOption(*command, options->settings, settings::Id::device, "--device");
  addSettingOption(*command, options->settings, settings::Id::arch, "--arch");
  addSettingOption(*command, options->settings, settings::Id::sandbox, "--sandbox");
  command->callback([options, &status] {
    if (options->list)
      for (const SelftestCheck &check : selftestChecks())
        printed() << check.id << "\n";
    else
      status = options->selftest ? runSelftest(options->settings) : doctor(options->settings);
  });
}

} // namespace rubia::tools
