// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/Device.h"
#include "emulator/hip/Api.h"
#include "emulator/hip/CheckReports.h"
#include "emulator/lib/memory/SharedSlots.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cstdlib>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch;
} // namespace rubia::settings::Id
namespace rubia::targets::Fact {
extern const GenerationFact maxLdsBytes;
} // namespace rubia::targets::Fact

namespace rubia::emulator::hip {

static DeviceModel modelOf(const targets::Target &target) {
  const uint64_t host = uint64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  DeviceModel model;
  model.target = &target;
  model.arch = target.name.str();
  model.name = targets::nameOfEmulated(target);
  model.waveSize = target.waveSize();
  model.ldsBytes = targets::Fact::maxLdsBytes(target);
  model.memoryBytes = std::min<uint64_t>(host / 2, uint64_t(16) << 30);
  return model;
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
  reportLeaksAtExit();
  auto wanted = targets::emulatedDevices(hostSettings().text(settings::Id::arch));
  if (!wanted) {
    problem = toString(wanted.takeError());
    return;
  }
  for (const targets::Target *target : *wanted) {
    auto device = std::make_unique<Device>();
    device->ordinal = devices.size();
    device->model = modelOf(*target);
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

// For Rubia's own programs: workgroups have shared memory in device memory, in `count` slots of
// `stride` bytes from `first` on. Each writes to a word of `used` how many bytes it uses, when it
// takes the slot that the word belongs to, and 0 when it gives it back. A `count` of 0: no longer.
HIP_EXPORT int rubiaEmulatorSharedSlots(void *used, void *first, size_t stride, uint32_t count) {
  rubia::emulator::setSharedSlots(
      {reinterpret_cast<uint64_t>(used), reinterpret_cast<uint64_t>(first), stride, count});
  return 0;
}
