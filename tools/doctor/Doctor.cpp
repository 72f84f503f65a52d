// SPDX-License-Identifier: Apache-2.0
// rubia doctor: what works on this machine and what does not.
#include "codegen/Codegen.h"
#include "runtime/cache/CacheDirectory.h"
#include "runtime/device/Hip.h"
#include "tools/Commands.h"
#include "tools/Selftest.h"
#include "tools/doctor/Machine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {
int hipGetDeviceCount(int *count);
int hipDeviceGetName(char *name, int length, int device);
} // namespace rubia::runtime

namespace rubia::settings::Id {
extern const Setting arch, device, sandbox;
} // namespace rubia::settings::Id
namespace rubia::settings::SandboxMode {
extern const Word Off, Require;
} // namespace rubia::settings::SandboxMode

namespace rubia::tools {

namespace {
using nlohmann::ordered_json;

struct DoctorOptions {
  bool selftest = false, list = false, json = false;
  std::string root; // of tests
  settings::Settings settings;
};

// One kind of finding. `works` is what the exit status depends on.
struct Finding {
  ordered_json json;
  bool works = true;
};

Finding lookAtDevices(const settings::Settings &settings) {
  Finding finding{{{"library", nullptr}, {"devices", ordered_json::array()}}};
  Expected<const runtime::Hip *> opened = runtime::Hip::open(settings);
  if (!opened) {
    finding.json["problem"] = toString(opened.takeError());
    finding.works = false;
    return finding;
  }
  const runtime::Hip &hip = **opened;
  finding.json["library"] = {
      {"path", hip.path}, {"emulator", hip.isEmulator}, {"hip_version", hip.version}};
  int count = 0;
  if (int error = hip.call<runtime::hipGetDeviceCount>(&count)) {
    finding.json["problem"] = std::string("hipGetDeviceCount: ") + hip.hipGetErrorString(error);
    finding.works = false;
  }
  for (int i = 0; i < count; ++i) {
    ordered_json device{{"number", i}};
    Expected<std::string> arch = hip.archName(i);
    if (!arch) {
      device["problem"] = toString(arch.takeError());
      finding.works = false;
      finding.json["devices"].push_back(std::move(device));
      continue;
    }
    char name[256] = "";
    hip.call<runtime::hipDeviceGetName>(name, sizeof(name), i);
    device["target"] = *arch;
    device["name"] = name;
    if (const std::string problem = toString(codegen::validateArch(*arch)); !problem.empty())
      device["problem"] = "not usable: " + problem;
    auto of = [&](runtime::HipAttribute attribute) { return hip.attribute(attribute, i); };
    device["multiprocessors"] = of(runtime::HipAttribute::MultiprocessorCount);
    device["shared_bytes"] = of(runtime::HipAttribute::MaxSharedMemoryPerBlock);
    device["cooperative"] = hip.has<runtime::hipModuleLaunchCooperativeKernel>() &&
                            of(runtime::HipAttribute::CooperativeLaunch);
    finding.json["devices"].push_back(std::move(device));
  }
  return finding;
}

// What the kernel refuses the worker of its sandbox: it tries. Security modules may decide by
// program, so that nobody else's attempt would tell.
Expected<std::string> refusedOfSandbox() {
  const int file = memfd_create("sandbox", MFD_CLOEXEC);
  if (file < 0)
    return createStringError(errnoAsErrorCode(), "no memory file");
  const std::string worker = supportFolder() + "/rubia-worker",
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

// How compile processes are confined.
Finding lookAtSandbox(const settings::Settings &settings) {
  auto broken = [](std::string why) { return Finding{{{"state", std::move(why)}}, false}; };
  if (Error error = settings.check(settings::Id::sandbox))
    return broken(toString(std::move(error)));
  const settings::Word mode = settings.word(settings::Id::sandbox);
  if (mode == settings::SandboxMode::Off)
    return {{{"state", "off: RUBIA_SANDBOX"}}};
  Expected<std::string> refused = refusedOfSandbox();
  if (!refused)
    return broken(toString(refused.takeError()));
  if (refused->empty())
    return {{{"state", "complete, of compile processes"}}};
  const bool isDemanded = mode == settings::SandboxMode::Require;
  return {{{"state", "not complete, of compile processes: " + *refused +
                         (isDemanded ? "; nothing is compiled: RUBIA_SANDBOX=require" : "")}},
          !isDemanded};
}

Finding lookAtInstallation() {
  Finding finding{{{"files", ordered_json::array()}}};
  const std::string libraries = supportFolder() + "/";
  for (const char *name : {"libcuda.so.1", "librubia-emulator.so", "rubia-worker"}) {
    const bool there = sys::fs::exists(libraries + name);
    finding.json["files"].push_back(
        {{"name", name}, {"path", libraries + name}, {"is_there", there}});
    finding.works &= there;
  }
  finding.json["comgr"] = dlopen("libamd_comgr.so.2", RTLD_LAZY | RTLD_LOCAL) != nullptr;
  return finding;
}

void line(const std::string &what, const Twine &text) {
  printed() << formatv("{0,-22}{1}\n", what, text.str());
}

std::string textOf(const ordered_json &value) { return value.get<std::string>(); }

// 50221153, HIP_VERSION, -> "5.2.21153".
std::string hipVersionText(int version) {
  return formatv("{0}.{1}.{2}", version / 10000000, version / 100000 % 100, version % 100000);
}

void printDevices(const ordered_json &devices) {
  if (const ordered_json &library = devices["library"]; !library.is_null())
    line("HIP library", textOf(library["path"]) +
                            (library["emulator"].get<bool>() ? " (emulator)" : "") + ", HIP " +
                            hipVersionText(library["hip_version"].get<int>()));
  if (devices.contains("problem"))
    line("device", "none: " + textOf(devices["problem"]));
  for (const ordered_json &device : devices["devices"]) {
    const std::string number = std::to_string(device["number"].get<int>()) + ": ";
    const std::string problem = device.contains("problem") ? textOf(device["problem"]) : "";
    if (!device.contains("target")) {
      line("device", number + problem);
      continue;
    }
    line("device", number + textOf(device["target"]) + ", " + textOf(device["name"]) +
                       (problem.empty() ? "" : ", " + problem));
    line("", Twine(device["multiprocessors"].get<int>()) + " multiprocessors, " +
                 Twine(device["shared_bytes"].get<int>()) + " bytes of shared memory a CTA, " +
                 (device["cooperative"].get<bool>() ? "" : "no ") +
                 "cooperative launches, clusters of up to 16 CTAs");
  }
}

void printMachine(const ordered_json &machine) {
  const ordered_json &kfd = machine["kfd"];
  line("/dev/kfd", !kfd["exists"].get<bool>()  ? Twine("not there")
                   : kfd["usable"].get<bool>() ? Twine("usable")
                                               : Twine("may not be opened"));
  line("groups", join(machine["groups"].get<std::vector<std::string>>(), ", "));
  for (const ordered_json &rocm : machine["rocm"])
    line("ROCm", textOf(rocm["version"]) + ", " + textOf(rocm["path"]));
  for (const ordered_json &card : machine["cards"])
    line("card", textOf(card["target"]) + ", " + textOf(card["name"]) +
                     (card["supported"].get<bool>() ? "" : ", no target of Rubia's"));
  for (const ordered_json &advice : machine["advice"])
    line("advice", textOf(advice));
}

void print(const ordered_json &all) {
  line("rubia", textOf(all["rubia"]));
  line("LLVM", textOf(all["llvm"]));
  for (const ordered_json &file : all["installation"]["files"])
    line(textOf(file["name"]),
         file["is_there"].get<bool>() ? textOf(file["path"]) : "missing in " + supportFolder());
  line("comgr", all["installation"]["comgr"].get<bool>()
                    ? "libamd_comgr.so.2"
                    : "not found (only --codegen comgr needs it)");
  line("sandbox", textOf(all["sandbox"]["state"]));
  printDevices(all["hip"]);
  printMachine(all["machine"]);
  line("kernel cache",
       all["cache"].is_null() ? "off: disabled, or no folder to be had" : textOf(all["cache"]));
}

int doctor(const DoctorOptions &options) {
  Finding installation = lookAtInstallation(), sandbox = lookAtSandbox(options.settings),
          devices = lookAtDevices(options.settings);
  const bool works = installation.works && sandbox.works && devices.works;
  ordered_json all{
      {"version", 1},
      {"rubia", RUBIA_VERSION},
      {"llvm", LLVM_VERSION_STRING},
      {"works", works},
      {"installation", std::move(installation.json)},
      {"sandbox", std::move(sandbox.json)},
      {"hip", std::move(devices.json)},
      {"machine",
       Machine::look(options.root, settings::systemVariable("ROCM_PATH").value_or("")).json()},
      {"cache", nullptr}};
  if (std::optional<std::string> folder = runtime::cacheDirectory())
    all["cache"] = *folder;
  if (options.json)
    outs() << all.dump(2, ' ', true, ordered_json::error_handler_t::replace) << "\n";
  else
    print(all);
  return works ? kDone : kFailed;
}
} // namespace

void addDoctor(CLI::App &app, int &status) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App *command = app.add_subcommand("doctor", "What works on this machine and what does not");
  CLI::Option *selftest =
      command->add_flag("--selftest", options->selftest,
                        "whether the device behaves as docs/hardware-assumptions.md says");
  command->add_flag("--list", options->list, "only the names of the checks")->needs(selftest);
  command->add_flag("--json", options->json, "machine-readable")->excludes(selftest);
  command->add_option("--root", options->root, "look for /dev, /sys and /opt below this folder")
      ->group("");
  addSettingOption(*command, options->settings, settings::Id::device, "--device");
  addSettingOption(*command, options->settings, settings::Id::arch, "--arch");
  addSettingOption(*command, options->settings, settings::Id::sandbox, "--sandbox");
  command->callback([options, &status] {
    if (options->list)
      for (const SelftestCheck &check : selftestChecks())
        printed() << check.id << "\n";
    else
      status = options->selftest ? runSelftest(options->settings) : doctor(*options);
  });
}

} // namespace rubia::tools
