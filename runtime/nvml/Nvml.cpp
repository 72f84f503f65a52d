// SPDX-License-Identifier: Apache-2.0
// Initialisation, and how devices are found.
#include "runtime/nvml/Nvml.h"
#include "runtime/base/Log.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>

using namespace llvm;

namespace rubia::runtime::nvml {

// Leaked: handles stay what they are, and programs call from their exit handlers.
static State *opened = nullptr;
static std::atomic<unsigned> users = 0;
static std::mutex &mutex = *new std::mutex;

const State *state() { return users ? opened : nullptr; }

static Return open() {
  Expected<const Hip *> hip = Hip::open();
  if (!hip) {
    log(LogLevel::Error, toString(hip.takeError()));
    return kDriverNotLoaded;
  }
  std::vector<std::string> refused;
  Expected<std::vector<FoundDevice>> found = findDevices(**hip, refused);
  if (!found) {
    log(LogLevel::Error, toString(found.takeError()));
    return kUnknown;
  }
  opened = new State;
  for (FoundDevice &device : *found) {
    const Monitor *monitor = Monitor::of(device, (*hip)->isEmulator);
    opened->devices.push_back({*hip, unsigned(opened->devices.size()), std::move(device), monitor});
  }
  return kSuccess;
}

static Return initialize() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!opened)
    if (Return result = open())
      return result;
  ++users;
  return kSuccess;
}

Return giveText(char *out, unsigned room, StringRef text) {
  if (!out)
    return kInvalidArgument;
  if (text.size() >= room)
    return kInsufficientSize;
  memcpy(out, text.data(), text.size());
  out[text.size()] = 0;
  return kSuccess;
}

std::string uuidText(const FoundDevice &device) {
  std::string digits = toHex(device.uuid, true);
  for (size_t at : {20, 16, 12, 8})
    digits.insert(at, "-");
  return "GPU-" + digits;
}

std::string busText(const FoundDevice &device, unsigned domainDigits) {
  std::string text;
  raw_string_ostream(text) << format_hex_no_prefix(uint32_t(device.pciDomain), domainDigits, true)
                           << ':' << format_hex_no_prefix(device.pciBus, 2, true) << ':'
                           << format_hex_no_prefix(device.pciDevice, 2, true) << ".0";
  return text;
}

// Any number of digits of the domain, which may be left out.
static bool isAt(const FoundDevice &device, StringRef text) {
  unsigned domain = 0, bus = 0, number = 0;
  text.consume_back(".0");
  SmallVector<StringRef, 3> parts;
  text.split(parts, ':');
  if (parts.size() == 3 && parts[0].getAsInteger(16, domain))
    return false;
  if (parts.size() < 2 || parts.size() > 3 || parts[parts.size() - 2].getAsInteger(16, bus) ||
      parts.back().getAsInteger(16, number))
    return false;
  return int(domain) == device.pciDomain && int(bus) == device.pciBus &&
         int(number) == device.pciDevice;
}

// The first device for which `isIt` holds; `isAsked`: whether the caller says what it wants.
template <class Predicate> static Return find(Device **out, bool isAsked, Predicate isIt) {
  const State *known = state();
  if (!known)
    return kUninitialized;
  if (!out || !isAsked)
    return kInvalidArgument;
  for (const Device &device : known->devices)
    if (isIt(device)) {
      *out = const_cast<Device *>(&device);
      return kSuccess;
    }
  return kNotFound;
}

static const char *textOf(int result) {
  switch (result) {
  case kSuccess:
    return "Success";
  case kUninitialized:
    return "Uninitialized";
  case kInvalidArgument:
    return "Invalid Argument";
  case kNotSupported:
    return "Not Supported";
  case kNotFound:
    return "Not Found";
  case kInsufficientSize:
    return "Insufficient Size";
  case kDriverNotLoaded:
    return "Driver Not Loaded";
  case kTimeout:
    return "Timeout";
  case kArgumentVersionMismatch:
    return "Argument Version Mismatch";
  }
  return "Unknown Error";
}

} // namespace rubia::runtime::nvml

using namespace rubia::runtime::nvml;

extern "C" {

Return nvmlInit_v2() { return initialize(); }
Return nvmlInit() { return initialize(); }
Return nvmlInitWithFlags(unsigned) {
  return initialize();
} // NO_GPUS, NO_ATTACH: fewer are no error
Return nvmlShutdown() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!users)
    return kUninitialized;
  --users;
  return kSuccess;
}
const char *nvmlErrorString(int result) { return textOf(result); }

Return nvmlDeviceGetCount_v2(unsigned *count) {
  const State *known = state();
  return known ? give(count, std::optional(known->devices.size())) : kUninitialized;
}
Return nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) {
  Return result = find(out, true, [&](const Device &device) { return device.index == index; });
  return result == kNotFound ? kInvalidArgument : result;
}
Return nvmlDeviceGetHandleByIndex(unsigned index, Device **out) {
  return nvmlDeviceGetHandleByIndex_v2(index, out);
}
Return nvmlDeviceGetHandleByUUID(const char *uuid, Device **out) {
  return find(out, uuid, [&](const Device &device) { return uuidText(device.found) == uuid; });
}
Return nvmlDeviceGetHandleByPciBusId_v2(const char *bus, Device **out) {
  return find(out, bus, [&](const Device &device) { return isAt(device.found, bus); });
}
Return nvmlDeviceGetHandleByPciBusId(const char *bus, Device **out) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus, out);
}

Return nvmlSystemGetProcessName(unsigned process, char *name, unsigned room) {
  if (!state())
    return kUninitialized;
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
  std::string text;
  if (!std::getline(file, text, '\0'))
    return kNotFound;
  return giveText(name, room, text);
}

} // extern "C"
