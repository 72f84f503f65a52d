// SPDX-License-Identifier: Apache-2.0
// What NVML tells. Most functions are a row of Answers.def; what gives more than a number or a text
// is written out here.
#include "runtime/nvml/Nvml.h"
#include "settings/Settings.h"
#include <cstring>
#include <fstream>

using namespace llvm;

namespace rubia::runtime {
int hipMemGetInfo(size_t *free, size_t *total);
} // namespace rubia::runtime

namespace rubia::settings::Id {
extern const Setting computeCapability;
} // namespace rubia::settings::Id

namespace rubia::runtime::nvml {

// The version of CUDA that libcuda.so.1 tells, and the lowest numbers of the branch of NVIDIA's
// driver that has it: programs compare them.
static constexpr int kCudaVersion = 13000;
static constexpr const char *kDriverVersion = "580.00.00", *kNvmlVersion = "13.580.00.00";

template <class T>
static std::optional<T> measured(const Device &device, std::optional<T> (Monitor::*what)() const) {
  return device.monitor ? (device.monitor->*what)() : std::nullopt;
}

static std::optional<int> known(const Device &device, HipAttribute attribute) {
  const int value = device.hip->attribute(attribute, device.found.hipDevice);
  return value > 0 ? std::optional(value) : std::nullopt;
}

static unsigned capability() {
  return settings::Settings().number(settings::Id::computeCapability);
}

// NVML's number of the architecture that has the compute capability which programs are told.
static std::optional<unsigned> architecture() {
  static constexpr struct {
    unsigned from, number;
  } kArchitectures[] = {{100, 10}, {90, 9}, {89, 8}, {80, 7}, {75, 6}, {70, 5}, {60, 4}, {50, 3}};
  for (auto [from, number] : kArchitectures)
    if (capability() >= from)
      return number;
  return std::nullopt;
}

// The machine's memory is everybody's if ROCm SMI tells of it, else this process's.
static Return memoryOf(const Device &device, Memory &out) {
  const Hip &hip = *device.hip;
  out.total = device.found.totalMemory;
  if (auto used = measured(device, &Monitor::usedMemory)) {
    out.used = std::min<uint64_t>(*used, out.total);
    out.free = out.total - out.used;
    return kSuccess;
  }
  int before = 0;
  size_t free = 0, total = 0;
  if (hip.call<hipGetDevice>(&before) || hip.call<hipSetDevice>(device.found.hipDevice))
    return kUnknown;
  const int error = hip.call<hipMemGetInfo>(&free, &total);
  if (hip.call<hipSetDevice>(before) || error)
    return kUnknown;
  out = {total, free, total - free};
  return kSuccess;
}

// A number in hexadecimal that Linux has of a PCI device; 0: it has none.
static unsigned fromSystem(const FoundDevice &device, const char *file) {
  std::string place = busText(device, 4);
  for (char &c : place)
    c = char(tolower(c));
  std::ifstream stream("/sys/bus/pci/devices/" + place + "/" + file);
  unsigned value = 0;
  stream >> std::hex >> value;
  return value;
}

template <class Info> static Info pciInfo(const FoundDevice &device) {
  Info info{};
  info.domain = unsigned(device.pciDomain);
  info.bus = unsigned(device.pciBus);
  info.device = unsigned(device.pciDevice);
  info.pciDeviceId = fromSystem(device, "device") << 16 | fromSystem(device, "vendor");
  info.pciSubSystemId =
      fromSystem(device, "subsystem_device") << 16 | fromSystem(device, "subsystem_vendor");
  return info;
}

static Return givePciInfo(Device *handle, PciInfoV2 *out) {
  return withDevice(handle, [&](const Device &device) {
    if (!out)
      return kInvalidArgument;
    *out = pciInfo<PciInfoV2>(device.found);
    return giveText(out->busId, sizeof(out->busId), busText(device.found, 4));
  });
}

} // namespace rubia::runtime::nvml

using namespace rubia::runtime;
using namespace rubia::runtime::nvml;

extern "C" {

#define NVML_NUMBER(Name, Type, Value)                                                             \
  Return Name(Device *handle, Type *out) {                                                         \
    return withDevice(handle,                                                                      \
                      [&]([[maybe_unused]] const Device &device) { return give(out, Value); });    \
  }
#define NVML_TEXT(Name, Value)                                                                     \
  Return Name(Device *handle, char *out, unsigned room) {                                          \
    return withDevice(handle, [&](const Device &device) { return giveText(out, room, Value); });   \
  }
#define NVML_SYSTEM_NUMBER(Name, Value)                                                            \
  Return Name(int *out) { return give(out, std::optional(Value)); }
#define NVML_SYSTEM_TEXT(Name, Value)                                                              \
  Return Name(char *out, unsigned room) {                                                          \
    return state() ? giveText(out, room, Value) : kUninitialized;                                  \
  }
#include "runtime/nvml/Answers.def"

Return nvmlDeviceGetCudaComputeCapability(Device *handle, int *major, int *minor) {
  return withDevice(handle, [&](const Device &) {
    if (!major || !minor)
      return kInvalidArgument;
    *major = int(capability() / 10);
    *minor = int(capability() % 10);
    return kSuccess;
  });
}

Return nvmlDeviceGetMemoryInfo(Device *handle, Memory *out) {
  return withDevice(handle, [&](const Device &device) {
    return out ? memoryOf(device, *out) : kInvalidArgument;
  });
}
Return nvmlDeviceGetMemoryInfo_v2(Device *handle, MemoryV2 *out) {
  return withDevice(handle, [&](const Device &device) {
    if (!out)
      return kInvalidArgument;
    if (out->version != kMemoryV2Version)
      return kArgumentVersionMismatch;
    Memory memory{};
    Return result = memoryOf(device, memory);
    *out = {out->version, memory.total, 0, memory.free, memory.used};
    return result;
  });
}

Return nvmlDeviceGetPciInfo_v3(Device *handle, PciInfo *out) {
  return withDevice(handle, [&](const Device &device) {
    if (!out)
      return kInvalidArgument;
    *out = pciInfo<PciInfo>(device.found);
    Return result = giveText(out->busId, sizeof(out->busId), busText(device.found, 8));
    return result ? result
                  : giveText(out->busIdLegacy, sizeof(out->busIdLegacy), busText(device.found, 4));
  });
}
Return nvmlDeviceGetPciInfo_v2(Device *handle, PciInfoV2 *out) { return givePciInfo(handle, out); }
Return nvmlDeviceGetPciInfo(Device *handle, PciInfoV2 *out) { return givePciInfo(handle, out); }

Return nvmlDeviceGetUtilizationRates(Device *handle, Utilization *out) {
  return withDevice(handle, [&](const Device &device) {
    if (!out)
      return kInvalidArgument;
    Return result = give(&out->gpu, measured(device, &Monitor::busyPercent));
    return result ? result : give(&out->memory, measured(device, &Monitor::memoryBusyPercent));
  });
}

Return nvmlDeviceGetTemperature(Device *handle, int sensor, unsigned *out) {
  return withDevice(handle, [&](const Device &device) {
    return sensor ? kInvalidArgument : give(out, measured(device, &Monitor::temperature));
  });
}
Return nvmlDeviceGetTemperatureV(Device *handle, Temperature *out) {
  return withDevice(handle, [&](const Device &device) {
    if (!out || out->sensor)
      return kInvalidArgument;
    if (out->version != kTemperatureVersion)
      return kArgumentVersionMismatch;
    return give(&out->temperature, measured(device, &Monitor::temperature));
  });
}

// 0 graphics, 1 multiprocessors, 2 memory; HIP tells kHz.
Return nvmlDeviceGetMaxClockInfo(Device *handle, int clock, unsigned *out) {
  return withDevice(handle, [&](const Device &device) {
    if (clock < 0 || clock > 3)
      return kInvalidArgument;
    if (clock == 3) // video
      return kNotSupported;
    auto kilohertz =
        known(device, clock == 2 ? HipAttribute::MemoryClockRate : HipAttribute::ClockRate);
    return give(out, kilohertz ? std::optional(*kilohertz / 1000) : std::nullopt);
  });
}

// The driver gives no device access to another's memory.
Return nvmlDeviceGetP2PStatus(Device *handle, Device *peer, int, int *out) {
  constexpr int kPeersNotSupported = 5;
  return withDevice(handle, [&](const Device &) {
    return withDevice(peer,
                      [&](const Device &) { return give(out, std::optional(kPeersNotSupported)); });
  });
}

// No process is known, as NVIDIA's library knows none of those outside of a container. PyTorch asks
// when memory is out, and fails if there is no answer.
#define NO_PROCESSES(Name)                                                                         \
  Return Name(Device *handle, unsigned *count, void *) {                                           \
    return withDevice(handle, [&](const Device &) { return give(count, std::optional(0u)); });     \
  }
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)
#undef NO_PROCESSES

Return nvmlDeviceGetFieldValues(Device *handle, int count, FieldValue *values) {
  return withDevice(handle, [&](const Device &) {
    if (count < 1 || !values)
      return kInvalidArgument;
    for (int i = 0; i < count; ++i)
      values[i].result = kNotSupported;
    return kSuccess;
  });
}

} // extern "C"
