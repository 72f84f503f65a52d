// SPDX-License-Identifier: Apache-2.0
#include "runtime/nvml/Monitor.h"
#include "runtime/base/Log.h"
#include <dlfcn.h>
#include <map>
#include <mutex>

namespace rubia::runtime::nvml {

namespace {

// The functions of ROCm SMI that are used; all return 0 for success.
struct RocmSmi {
  int (*rsmi_init)(uint64_t flags) = nullptr;
  int (*rsmi_num_monitor_devices)(uint32_t *count) = nullptr;
  int (*rsmi_dev_pci_id_get)(uint32_t index, uint64_t *id) = nullptr;
  int (*rsmi_dev_busy_percent_get)(uint32_t index, uint32_t *percent) = nullptr;
  int (*rsmi_dev_memory_busy_percent_get)(uint32_t index, uint32_t *percent) = nullptr;
  int (*rsmi_dev_temp_metric_get)(uint32_t index, uint32_t sensor, int metric,
                                  int64_t *millidegrees) = nullptr;
  // The power, and which of both it is; newer than the average alone.
  int (*rsmi_dev_power_get)(uint32_t index, uint64_t *microwatts, int *kind) = nullptr;
  int (*rsmi_dev_power_ave_get)(uint32_t index, uint32_t sensor, uint64_t *microwatts) = nullptr;
  int (*rsmi_dev_power_cap_get)(uint32_t index, uint32_t sensor, uint64_t *microwatts) = nullptr;
  int (*rsmi_dev_fan_speed_get)(uint32_t index, uint32_t sensor, int64_t *speed) = nullptr;
  int (*rsmi_dev_fan_speed_max_get)(uint32_t index, uint32_t sensor, uint64_t *speed) = nullptr;
  int (*rsmi_dev_memory_usage_get)(uint32_t index, int kind, uint64_t *bytes) = nullptr;
};

// Null if it is not there or does not start. Never closed.
const RocmSmi *openRocmSmi() {
  void *library = nullptr;
  for (const char *name : {"librocm_smi64.so.1", "librocm_smi64.so.7", "librocm_smi64.so.6",
                           "librocm_smi64.so.5", "librocm_smi64.so"})
    if (!library)
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return nullptr;
  auto *smi = new RocmSmi;
  auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
#define FIND(Name) find(#Name, smi->Name)
  FIND(rsmi_init);
  FIND(rsmi_num_monitor_devices);
  FIND(rsmi_dev_pci_id_get);
  FIND(rsmi_dev_busy_percent_get);
  FIND(rsmi_dev_memory_busy_percent_get);
  FIND(rsmi_dev_temp_metric_get);
  FIND(rsmi_dev_power_get);
  FIND(rsmi_dev_power_ave_get);
  FIND(rsmi_dev_power_cap_get);
  FIND(rsmi_dev_fan_speed_get);
  FIND(rsmi_dev_fan_speed_max_get);
  FIND(rsmi_dev_memory_usage_get);
#undef FIND
  const int error = smi->rsmi_init && smi->rsmi_num_monitor_devices && smi->rsmi_dev_pci_id_get
                        ? smi->rsmi_init(0)
                        : -1;
  if (!error)
    return smi;
  log(LogLevel::Warning, "ROCm SMI does not start: " + llvm::Twine(error));
  delete smi;
  return nullptr;
}

const RocmSmi *rocmSmi() {
  static const RocmSmi *smi = openRocmSmi();
  return smi;
}

// What a function gives for the device and other arguments before the result.
template <class T, class... Arguments>
std::optional<T> ask(int (*function)(uint32_t, Arguments..., T *), uint32_t index,
                     std::type_identity_t<Arguments>... arguments) {
  T value = 0;
  if (!function || function(index, arguments..., &value))
    return std::nullopt;
  return value;
}

// RSMI's number of a place: domain, bus, device and function.
uint64_t numberOf(const FoundDevice &device) {
  return uint64_t(uint32_t(device.pciDomain)) << 32 | uint64_t(device.pciBus & 0xff) << 8 |
         uint64_t(device.pciDevice & 0x1f) << 3;
}

} // namespace

const Monitor *Monitor::of(const FoundDevice &device, bool isEmulated) {
  static std::mutex &mutex = *new std::mutex;
  static auto &monitors = *new std::map<uint64_t, const Monitor *>;
  if (isEmulated || !rocmSmi())
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  const uint64_t wanted = numberOf(device);
  if (auto found = monitors.find(wanted); found != monitors.end())
    return found->second;
  const Monitor *&monitor = monitors[wanted];
  constexpr uint64_t kPartition = 0xf0000000; // of a device, not of its place
  uint32_t count = 0;
  rocmSmi()->rsmi_num_monitor_devices(&count);
  for (uint32_t i = 0; i < count && !monitor; ++i)
    if (uint64_t id = 0; !rocmSmi()->rsmi_dev_pci_id_get(i, &id) && (id & ~kPartition) == wanted)
      monitor = new Monitor(i);
  return monitor;
}

std::optional<unsigned> Monitor::busyPercent() const {
  return ask<uint32_t>(rocmSmi()->rsmi_dev_busy_percent_get, index);
}
std::optional<unsigned> Monitor::memoryBusyPercent() const {
  return ask<uint32_t>(rocmSmi()->rsmi_dev_memory_busy_percent_get, index);
}
std::optional<int> Monitor::temperature() const {
  constexpr int kCurrent = 0;
  constexpr uint32_t kEdge = 0, kJunction = 1; // newer Instincts have no sensor at the edge
  for (uint32_t sensor : {kEdge, kJunction})
    if (auto value = ask<int64_t, uint32_t, int>(rocmSmi()->rsmi_dev_temp_metric_get, index, sensor,
                                                 kCurrent))
      return int(*value / 1000);
  return std::nullopt;
}
std::optional<unsigned> Monitor::powerInMilliwatts() const {
  uint64_t power = 0;
  int kind = 0;
  if (rocmSmi()->rsmi_dev_power_get && !rocmSmi()->rsmi_dev_power_get(index, &power, &kind))
    return unsigned(power / 1000);
  auto value = ask<uint64_t, uint32_t>(rocmSmi()->rsmi_dev_power_ave_get, index, 0);
  return value ? std::optional(unsigned(*value / 1000)) : std::nullopt;
}
std::optional<unsigned> Monitor::powerLimitInMilliwatts() const {
  auto value = ask<uint64_t, uint32_t>(rocmSmi()->rsmi_dev_power_cap_get, index, 0);
  return value ? std::optional(unsigned(*value / 1000)) : std::nullopt;
}
std::optional<unsigned> Monitor::fanPercent() const {
  auto speed = ask<int64_t, uint32_t>(rocmSmi()->rsmi_dev_fan_speed_get, index, 0);
  auto most = ask<uint64_t, uint32_t>(rocmSmi()->rsmi_dev_fan_speed_max_get, index, 0);
  if (!speed || !most || !*most)
    return std::nullopt;
  return unsigned(uint64_t(*speed) * 100 / *most);
}
std::optional<uint64_t> Monitor::usedMemory() const {
  constexpr int kVideoMemory = 0;
  return ask<uint64_t, int>(rocmSmi()->rsmi_dev_memory_usage_get, index, kVideoMemory);
}

} // namespace rubia::runtime::nvml
