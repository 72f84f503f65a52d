#include "emulator/hip/Device.h"
#include "emulator/hip/Api.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cstdlib>
#include <unistd.h>

using namespace llvm;

namespace rubia::emulator::hip {

static constexpr struct {
  const char *arch, *name;
  unsigned waveSize, ldsBytes;
} kModels[] = {
    {"gfx1100", "AMD Radeon RX 7900 XTX (emulated by Rubia)", 32, 65536},
    {"gfx1201", "AMD Radeon RX 9070 XT (emulated by Rubia)", 32, 65536},
    {"gfx1030", "AMD Radeon RX 6800 XT (emulated by Rubia)", 32, 65536},
    {"gfx90a", "AMD Instinct MI250X (emulated by Rubia)", 64, 65536},
    {"gfx942", "AMD Instinct MI300X (emulated by Rubia)", 64, 65536},
    {"gfx950", "AMD Instinct MI355X (emulated by Rubia)", 64, 163840},
};

static bool makeModel(StringRef arch, DeviceModel &model) {
  for (const auto &known : kModels) {
    if (arch != known.arch)
      continue;
    uint64_t host = uint64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    model.arch = known.arch;
    model.name = known.name;
    model.waveSize = known.waveSize;
    model.ldsBytes = known.ldsBytes;
    model.memoryBytes = std::min<uint64_t>(host / 2, uint64_t(16) << 30);
    return true;
  }
  return false;
}

static bool isHostRubia = false; // which reports what is wrong with the environment

static void reportSettings() {
  if (isHostRubia)
    return;
  for (const std::string &problem : hostSettings().problems())
    complain(problem);
}

Machine::Machine() {
  reportSettings();
  const std::string wanted = hostSettings().arch();
  SmallVector<StringRef> archs;
  StringRef(wanted).split(archs, ',');
  for (StringRef arch : archs) {
    auto device = std::make_unique<Device>();
    device->ordinal = devices.size();
    if (!makeModel(arch.trim(), device->model)) {
      std::string known;
      for (const auto &model : kModels)
        known += std::string(known.empty() ? "" : ", ") + model.arch;
      trouble = ("RUBIA_ARCH names '" + arch + "'; the emulator executes " + known).str();
      devices.clear();
      return;
    }
    devices.push_back(std::move(device));
  }
}

Machine &Machine::instance() {
  static auto *machine = new Machine;
  return *machine;
}

int &currentDeviceOrdinal() {
  static thread_local int ordinal = 0;
  return ordinal;
}

Device &currentDevice() { return *Machine::instance().devices[currentDeviceOrdinal()]; }

} // namespace rubia::emulator::hip

// For Rubia's own programs, before any other function: "NAME=VALUE"s up to a null, which are in
// front of the environment. Returns 0, or 1 if there is no such setting.
HIP_EXPORT int rubiaEmulatorSet(const char *const *assignments) {
  using namespace rubia;
  settings::Settings settings;
  for (; *assignments; ++assignments) {
    auto [name, value] = llvm::StringRef(*assignments).split('=');
    if (!settings.set(name, value))
      return 1;
  }
  emulator::hip::isHostRubia = true;
  emulator::setHostSettings(std::move(settings));
  return 0;
}
