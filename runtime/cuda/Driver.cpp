// SPDX-License-Identifier: Apache-2.0
// Initialisation, and the frame of entry points.
#include "runtime/cuda/Driver.h"
#include "runtime/base/RunSummary.h"
#include "runtime/cuda/graph/Capture.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting cudaModuleLoading, cudaVisibleDevices;
} // namespace rubia::settings::Id

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

Result fail(Result result, const Twine &reason, LogLevel level) {
  log(level, reason);
  remember(reason);
  return result;
}

void traceCall(const TracedCall &entry, Result result) {
  const char *text = nameOf(result);
  if (result == kNotSupported)
    summary::callUnsupported(entry.name);
  if (result && result != kNotReady)
    remember(Twine(entry.name) + ": " + (text ? text : "?"));
  // "Not ready" is the answer that a poll waits for.
  const LogLevel level = result && result != kNotReady ? LogLevel::Info : LogLevel::Debug;
  if (logs(LogLevel::Debug))
    log(level, entry.describe(text ? text : "?", !result));
  else
    log(level, Twine(entry.name) + ": " + (text ? text : "?"));
}

void logOnce(LogLevel level, const Twine &what) {
  static std::mutex &mutex = *new std::mutex;
  static std::set<std::string> &seen = *new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  std::string text = what.str();
  if (seen.insert(text).second)
    log(level, text);
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
        if (all[i] && StringRef(toHex(all[i]->uuid, true)).starts_with(digits))
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
  std::vector<std::string> refused;
  Expected<std::vector<FoundDevice>> found = findDevices(**hip, refused);
  if (!found)
    return found.takeError();
  for (const std::string &why : refused)
    log(LogLevel::Error, why);
  if (found->empty() && !refused.empty())
    return createStringError(inconvertibleErrorCode(), join(refused, "; "));
  for (FoundDevice &device : *found)
    driver->devices.push_back(std::make_unique<Device>(std::move(device)));
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
  const TimelineSpan span("api", __func__);
  Result result = flags ? kInvalidValue : initialize();
  traceCall(RUBIA_CALL(flags), result);
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
  const bool isEager =
      rubia::settings::Settings().text(rubia::settings::Id::cudaModuleLoading) == "EAGER";
  *mode = isEager ? 1 : 2; // CU_MODULE_EAGER_LOADING, LAZY
  return kSuccess;
}

// There is nothing that a profiler of CUDA could see.
Result cuProfilerStart() {
  return callIn(RUBIA_CALL(), [](Context &) { return checkUnsafe(); });
}
Result cuProfilerStop() {
  return callIn(RUBIA_CALL(), [](Context &) { return checkUnsafe(); });
}

} // extern "C"
