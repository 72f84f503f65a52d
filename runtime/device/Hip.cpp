// SPDX-License-Identifier: Apache-2.0
// Finding and opening the HIP library.
#include "runtime/device/Hip.h"
#include "runtime/base/Installation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Path.h"
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <vector>
#define __HIP_PLATFORM_AMD__ 1
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-result"
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#include <hip/hip_runtime_api.h>
#pragma clang diagnostic pop

namespace rubia::settings::Id {
extern const Setting device, hipLibrary;
} // namespace rubia::settings::Id
namespace rubia::settings::DeviceChoice {
extern const Word Auto, Emulator, Hip;
} // namespace rubia::settings::DeviceChoice

using namespace llvm;

namespace rubia::runtime {

// The names, and a member of Functions for each.
#define HIP_FUNCTION(Name, Parameters) int Name Parameters;
#define HIP_OPTIONAL(Name, Parameters) int Name Parameters;
#include "runtime/device/HipFunctions.def"

struct Hip::Functions {
#define HIP_FUNCTION(Name, Parameters) int(*Name) Parameters = nullptr;
#define HIP_OPTIONAL(Name, Parameters) int(*Name) Parameters = nullptr;
#include "runtime/device/HipFunctions.def"
};

Hip::Hip() : functions(std::make_unique<Functions>()) {}
Hip::~Hip() = default;

template <auto &Function> static constexpr auto kMember = nullptr;
template <auto &Function> decltype(&Function) &Hip::slot() const {
  return functions.get()->*kMember<Function>;
}
#define HIP_FUNCTION(Name, Parameters)                                                             \
  template <> constexpr auto kMember<Name> = &Hip::Functions::Name;                                \
  template decltype(&Name) &Hip::slot<Name>() const;
#define HIP_OPTIONAL(Name, Parameters) HIP_FUNCTION(Name, Parameters)
#include "runtime/device/HipFunctions.def"

// The emulator exports this name, and no HIP library of AMD's does.
static constexpr const char *kEmulatorMark = "rubiaEmulatorVersion";
static constexpr const char *kEmulatorSettings = "rubiaEmulatorSet";

static Error failed(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

// The emulator is a library of its own: what the command line set is not in the environment that it
// reads.
static Error configure(void *emulator, const settings::Settings &settings) {
  auto set = reinterpret_cast<int (*)(const char *const *)>(dlsym(emulator, kEmulatorSettings));
  if (!set)
    return Error::success(); // AMD's library
  const std::vector<std::string> assignments = settings.assignments();
  std::vector<const char *> list;
  list.reserve(assignments.size() + 1);
  for (const std::string &assignment : assignments)
    list.push_back(assignment.c_str());
  list.push_back(nullptr);
  if (set(list.data()))
    return failed("it does not know all settings of this version");
  return Error::success();
}

static Expected<std::unique_ptr<Hip>> load(const std::string &path,
                                           const settings::Settings &settings) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return failed(dlerror());
  if (Error error = configure(library, settings))
    return failed(path + ": " + toString(std::move(error)));
  auto hip = std::make_unique<Hip>();
  hip->path = path;
#define HIP_FUNCTION(Name, Parameters)                                                             \
  hip->slot<Name>() = reinterpret_cast<decltype(&Name)>(dlsym(library, #Name));                    \
  if (!hip->has<Name>())                                                                           \
    return failed(path + " has no " #Name);
#define HIP_OPTIONAL(Name, Parameters)                                                             \
  hip->slot<Name>() = reinterpret_cast<decltype(&Name)>(dlsym(library, #Name));
#include "runtime/device/HipFunctions.def"
  hip->hipGetErrorString =
      reinterpret_cast<const char *(*)(int)>(dlsym(library, "hipGetErrorString"));
  if (!hip->hipGetErrorString)
    return failed(path + " has no hipGetErrorString");
  hip->isEmulator = dlsym(library, kEmulatorMark);

  if (int error = hip->call<hipInit>(0))
    return failed(path + ": hipInit: " + hip->hipGetErrorString(error));
  int count = 0;
  if (int error = hip->call<hipGetDeviceCount>(&count); error || count == 0)
    return failed(path + ": no device");
  if (int error = hip->call<hipRuntimeGetVersion>(&hip->version))
    return failed(path + ": hipRuntimeGetVersion: " + hip->hipGetErrorString(error));
  return hip;
}

// The build tree and the installed tree have the same shape: bin/rubia, lib/rubia/*.so.
static std::vector<std::string> emulatorPaths() {
  std::string folder = installationFolder();
  std::vector<std::string> paths{folder + "/librubia-emulator.so"};
  if (sys::path::filename(folder) == "bin")
    paths.insert(paths.begin(),
                 sys::path::parent_path(folder).str() + "/lib/rubia/librubia-emulator.so");
  return paths;
}

// libamdhip64 reaches GPUs by the first, and under WSL by the second.
static bool mayHaveGpu() { return access("/dev/kfd", F_OK) == 0 || access("/dev/dxg", F_OK) == 0; }

std::optional<std::string> Hip::certainEmulator(const settings::Settings &settings) {
  namespace DeviceChoice = settings::DeviceChoice;
  if (!settings.text(settings::Id::hipLibrary).empty() ||
      errorToBool(settings.check(settings::Id::device)))
    return std::nullopt;
  const settings::Word device = settings.word(settings::Id::device);
  if (device == DeviceChoice::Hip || (device == DeviceChoice::Auto && mayHaveGpu()))
    return std::nullopt;
  for (const std::string &path : emulatorPaths())
    if (access(path.c_str(), R_OK) == 0)
      return path;
  return std::nullopt;
}

static Expected<std::unique_ptr<Hip>> find(const settings::Settings &settings) {
  if (std::string path = settings.text(settings::Id::hipLibrary); !path.empty())
    return load(path, settings);

  namespace DeviceChoice = settings::DeviceChoice;
  if (Error error = settings.check(settings::Id::device))
    return std::move(error);
  const settings::Word device = settings.word(settings::Id::device);
  std::vector<std::string> candidates;
  std::string tried;
  if (device == DeviceChoice::Auto && !mayHaveGpu())
    tried = "\n  libamdhip64: there is neither /dev/kfd nor /dev/dxg";
  else if (device != DeviceChoice::Emulator)
    candidates = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
  if (device != DeviceChoice::Hip)
    for (std::string &path : emulatorPaths())
      candidates.push_back(std::move(path));

  for (const std::string &path : candidates) {
    Expected<std::unique_ptr<Hip>> hip = load(path, settings);
    if (hip)
      return hip;
    tried += "\n  " + toString(hip.takeError());
  }
  return failed("no HIP device found; tried:" + tried);
}

Expected<const Hip *> Hip::open(const settings::Settings &settings) {
  static std::mutex mutex;
  static const Hip *opened = nullptr; // never freed: programs call us after static destructors
  std::lock_guard<std::mutex> lock(mutex);
  if (opened)
    return opened;
  Expected<std::unique_ptr<Hip>> hip = find(settings);
  if (!hip)
    return hip.takeError();
  opened = hip->release();
  return opened;
}

Expected<std::string> Hip::archName(int device) const {
  // hipDeviceProp_t differs between HIP 5, 6 and 7, but each has gcnArchName, a NUL-terminated text
  // that begins with "gfx", behind the 256 bytes of the marketing name; nothing else in it does.
  auto *get = has<hipGetDevicePropertiesR0600>() ? slot<hipGetDevicePropertiesR0600>()
                                                 : slot<hipGetDeviceProperties>();
  if (!get)
    return failed(path + " has no hipGetDeviceProperties");
  std::vector<char> properties(16384, 0);
  if (int error = get(properties.data(), device))
    return failed(path + ": hipGetDeviceProperties: " + hipGetErrorString(error));
  for (size_t i = 256; i + 4 < properties.size(); ++i)
    if (!memcmp(&properties[i], "gfx", 3) && isHexDigit(properties[i + 3]) && !properties[i - 1])
      return std::string(&properties[i]);
  return failed(path + ": the device properties name no gfx architecture");
}

static int attributeNumber(HipAttribute attribute) {
  switch (attribute) {
  case HipAttribute::ClockRate:
    return hipDeviceAttributeClockRate;
  case HipAttribute::ComputeMode:
    return hipDeviceAttributeComputeMode;
  case HipAttribute::ConcurrentKernels:
    return hipDeviceAttributeConcurrentKernels;
  case HipAttribute::CooperativeLaunch:
    return hipDeviceAttributeCooperativeLaunch;
  case HipAttribute::L2CacheSize:
    return hipDeviceAttributeL2CacheSize;
  case HipAttribute::MaxSharedMemoryPerBlock:
    return hipDeviceAttributeMaxSharedMemoryPerBlock;
  case HipAttribute::MaxThreadsPerMultiProcessor:
    return hipDeviceAttributeMaxThreadsPerMultiProcessor;
  case HipAttribute::MemoryBusWidth:
    return hipDeviceAttributeMemoryBusWidth;
  case HipAttribute::MemoryClockRate:
    return hipDeviceAttributeMemoryClockRate;
  case HipAttribute::MultiprocessorCount:
    return hipDeviceAttributeMultiprocessorCount;
  case HipAttribute::PciBusId:
    return hipDeviceAttributePciBusId;
  case HipAttribute::PciDeviceId:
    return hipDeviceAttributePciDeviceId;
  case HipAttribute::PciDomainId:
    return hipDeviceAttributePciDomainID;
  case HipAttribute::WarpSize:
    return hipDeviceAttributeWarpSize;
  case HipAttribute::MaxThreadsPerBlock:
    return hipDeviceAttributeMaxThreadsPerBlock;
  case HipAttribute::MaxRegistersPerBlock:
    return hipDeviceAttributeMaxRegistersPerBlock;
  }
  return -1;
}

int Hip::attribute(HipAttribute attribute, int device) const {
  int value = 0;
  return call<hipDeviceGetAttribute>(&value, attributeNumber(attribute), device) ? 0 : value;
}

void ownedByRuntime(const Hip &hip, void *pointer) {
  if (hip.has<rubiaEmulatorOwn>())
    hip.call<rubiaEmulatorOwn>(pointer);
}

} // namespace rubia::runtime
