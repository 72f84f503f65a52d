// SPDX-License-Identifier: Apache-2.0
// Initialisation, and the frame of entry points.
#include "runtime/cuda/Driver.h"
#include "targets/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>

using namespace llvm;

namespace rubia::runtime::cuda {

std::atomic<Driver *> theDriver = nullptr;
static std::atomic<bool> forked = false;
static std::atomic<bool> exiting = false;

bool isExiting() { return exiting.load(std::memory_order_relaxed); }

Result state() {
  if (!theDriver.load(std::memory_order_acquire) || forked.load(std::memory_order_relaxed))
    return kNotInitialized;
  return isExiting() ? kDeinitialized : kSuccess;
}

Result fail(Result result, const Twine &reason) {
  log(LogLevel::Error, reason);
  return result;
}

void traceCall(const char *name, Result result) {
  const char *text = nameOf(result);
  // "Not ready" is the answer that a poll waits for.
  log(result && result != kNotReady ? LogLevel::Info : LogLevel::Debug,
      Twine(name) + ": " + (text ? text : "?"));
}

void logOnce(LogLevel level, const Twine &what) {
  static std::mutex &mutex = *new std::mutex;
  static std::set<std::string> &seen = *new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  std::string text = what.str();
  if (seen.insert(text).second)
    log(level, text);
}

// Programs and their caches compare UUIDs, and the answer must not change: it is derived from what
// identifies the device in this machine.
static Uuid uuidOf(const Device &device) {
  BLAKE3 hash;
  hash.update(StringRef("rubia device"));
  for (const std::string &part : {device.name, device.arch, device.pciBusId}) {
    hash.update(StringRef(part));
    hash.update(ArrayRef<uint8_t>(0));
  }
  auto digest = hash.final<16>();
  Uuid uuid;
  std::copy(digest.begin(), digest.end(), uuid.bytes);
  return uuid;
}

static Expected<std::unique_ptr<Device>> openDevice(const Hip &hip, int hipDevice) {
  auto device = std::make_unique<Device>();
  device->hipDevice = hipDevice;
  auto failed = [&](const char *what, int error) {
    return createStringError(inconvertibleErrorCode(), Twine("device ") + Twine(hipDevice) + ": " +
                                                           what + ": " +
                                                           hip.hipGetErrorString(error));
  };
  char text[256] = "";
  if (int error = hip.hipDeviceGetName(text, sizeof(text), hipDevice))
    return failed("hipDeviceGetName", error);
  device->name = text;
  if (int error = hip.hipDeviceTotalMem(&device->totalMemory, hipDevice))
    return failed("hipDeviceTotalMem", error);
  if (int error = hip.hipDeviceGetPCIBusId(text, sizeof(text), hipDevice))
    return failed("hipDeviceGetPCIBusId", error);
  device->pciBusId = text;
  device->pciDomain = device->pciBus = device->pciDevice = 0;
  StringRef place(text); // "0000:03:00.0"
  for (int *number : {&device->pciDomain, &device->pciBus, &device->pciDevice})
    if (place.consumeInteger(16, *number) || !place.consume_front(":"))
      break;
  Expected<std::string> arch = hip.archName(hipDevice);
  if (!arch)
    return arch.takeError();
  device->arch = std::move(*arch);
  device->uuid = uuidOf(*device);
  return device;
}

// CUDA_VISIBLE_DEVICES: ordinals or "GPU-<uuid>" (a prefix is enough), in the order wanted; the
// list ends at the first that does not exist.
static void selectVisible(std::vector<std::unique_ptr<Device>> &devices) {
  const std::optional<StringRef> wanted =
      settings::Settings().given(settings::Id::cudaVisibleDevices);
  if (!wanted)
    return;
  std::vector<std::unique_ptr<Device>> all = std::move(devices);
  devices.clear();
  SmallVector<StringRef, 8> words;
  wanted->split(words, ',', -1, false);
  for (StringRef word : words) {
    word = word.trim();
    size_t found = all.size();
    unsigned ordinal;
    if (!word.getAsInteger(10, ordinal))
      found = ordinal;
    else if (word.consume_front("GPU-")) {
      std::string digits = word.lower();
      llvm::erase(digits, '-');
      for (size_t i = 0; i < all.size(); ++i)
        if (all[i] && StringRef(toHex(all[i]->uuid.bytes, true)).starts_with(digits))
          found = i;
    }
    if (found >= all.size() || !all[found])
      return;
    devices.push_back(std::move(all[found]));
  }
}

// What is wrong with the environment, once.
static void reportSettings() {
  static const bool reported = [] {
    for (const std::string &problem : settings::Settings().problems())
      log(LogLevel::Error, problem);
    return true;
  }();
  (void)reported;
}

static Expected<Driver *> openDriver() {
  Expected<const Hip *> hip = Hip::open();
  if (!hip)
    return hip.takeError();
  auto driver = std::make_unique<Driver>();
  driver->hip = *hip;
  int count = 0;
  if (int error = (*hip)->hipGetDeviceCount(&count))
    return createStringError(inconvertibleErrorCode(),
                             Twine("hipGetDeviceCount: ") + (*hip)->hipGetErrorString(error));
  std::string refused;
  for (int i = 0; i < count; ++i) {
    Expected<std::unique_ptr<Device>> device = openDevice(**hip, i);
    if (!device)
      return device.takeError();
    if (targets::find((*device)->arch)) {
      driver->devices.push_back(std::move(*device));
      continue;
    }
    const std::string why = ("device " + Twine(i) + ", " + (*device)->name +
                             ", is not used: " + targets::messageForUnknown((*device)->arch))
                                .str();
    log(LogLevel::Error, why);
    refused += (refused.empty() ? "" : "; ") + why;
  }
  if (driver->devices.empty() && !refused.empty())
    return createStringError(inconvertibleErrorCode(), refused);
  selectVisible(driver->devices);
  for (size_t i = 0; i < driver->devices.size(); ++i) {
    Device &device = *driver->devices[i];
    device.ordinal = int(i);
    device.primary = std::make_unique<Context>(device, true, 0);
    device.primary->alive = false;
    log(LogLevel::Info,
        "device " + Twine(i) + ": " + device.name + ", " + device.arch + ", by " + (*hip)->path);
  }
  return driver.release();
}

Result initialize() {
  static std::mutex &mutex = *new std::mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (isExiting())
    return kDeinitialized;
  if (forked)
    return kNotInitialized;
  if (Driver *driver = theDriver.load())
    return driver->devices.empty() ? kNoDevice : kSuccess;
  reportSettings();
  Expected<Driver *> driver = openDriver();
  if (!driver)
    return fail(kNoDevice, toString(driver.takeError()));
  for (std::unique_ptr<Device> &device : (*driver)->devices)
    registerContext(device->primary.get());
  // HIP's own exit handlers were registered when it was opened, so this one runs before them.
  atexit([] { exiting = true; });
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  theDriver = *driver;
  return (*driver)->devices.empty() ? kNoDevice : kSuccess;
}

Device *deviceAt(int ordinal) {
  auto &devices = theDriver.load()->devices;
  return ordinal >= 0 && size_t(ordinal) < devices.size() ? devices[ordinal].get() : nullptr;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuInit(unsigned flags) {
  Result result = flags ? kInvalidValue : initialize();
  traceCall(__func__, result);
  return result;
}

// Answered before cuInit too.
Result cuDriverGetVersion(int *version) {
  if (!version)
    return kInvalidValue;
  *version = kDriverVersion;
  return kSuccess;
}

Result cuModuleGetLoadingMode(int *mode) {
  if (!mode)
    return kInvalidValue;
  const bool isEager = rubia::settings::Settings().cudaModuleLoading() == "EAGER";
  *mode = isEager ? 1 : 2; // CU_MODULE_EAGER_LOADING, LAZY
  return kSuccess;
}

// There is nothing that a profiler of CUDA could see.
Result cuProfilerStart() {
  return callIn(__func__, [](Context &) { return kSuccess; });
}
Result cuProfilerStop() {
  return callIn(__func__, [](Context &) { return kSuccess; });
}

} // extern "C"
