// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/FoundDevices.h"
#include "targets/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"

using namespace llvm;

namespace rubia::runtime {
int hipGetDeviceCount(int *count);
int hipDeviceGetName(char *name, int length, int device);
int hipDeviceTotalMem(size_t *bytes, int device);
int hipDeviceGetPCIBusId(char *text, int length, int device);
} // namespace rubia::runtime

namespace rubia::runtime {

// Programs and their caches compare UUIDs, and the answer must not change: it is derived from what
// identifies the device in this machine.
static std::array<uint8_t, 16> uuidOf(const FoundDevice &device) {
  BLAKE3 hash;
  hash.update(StringRef("rubia device"));
  for (const std::string &part : {device.name, device.arch, device.pciBusId}) {
    hash.update(StringRef(part));
    hash.update(ArrayRef<uint8_t>(0));
  }
  auto digest = hash.final<16>();
  std::array<uint8_t, 16> uuid;
  std::copy(digest.begin(), digest.end(), uuid.begin());
  return uuid;
}

static Expected<FoundDevice> openDevice(const Hip &hip, int hipDevice) {
  FoundDevice device;
  device.hipDevice = hipDevice;
  auto failed = [&](const char *what, int error) {
    return createStringError(inconvertibleErrorCode(), Twine("device ") + Twine(hipDevice) + ": " +
                                                           what + ": " +
                                                           hip.hipGetErrorString(error));
  };
  char text[256] = "";
  if (int error = hip.call<hipDeviceGetName>(text, sizeof(text), hipDevice))
    return failed("hipDeviceGetName", error);
  device.name = text;
  if (int error = hip.call<hipDeviceTotalMem>(&device.totalMemory, hipDevice))
    return failed("hipDeviceTotalMem", error);
  if (int error = hip.call<hipDeviceGetPCIBusId>(text, sizeof(text), hipDevice))
    return failed("hipDeviceGetPCIBusId", error);
  device.pciBusId = text;
  StringRef place(text); // "0000:03:00.0"
  for (int *number : {&device.pciDomain, &device.pciBus, &device.pciDevice})
    if (place.consumeInteger(16, *number) || !place.consume_front(":"))
      break;
  Expected<std::string> arch = hip.archName(hipDevice);
  if (!arch)
    return arch.takeError();
  device.arch = std::move(*arch);
  device.uuid = uuidOf(device);
  return device;
}

Expected<std::vector<FoundDevice>> findDevices(const Hip &hip, std::vector<std::string> &refused) {
  int count = 0;
  if (int error = hip.call<hipGetDeviceCount>(&count))
    return createStringError(inconvertibleErrorCode(),
                             Twine("hipGetDeviceCount: ") + hip.hipGetErrorString(error));
  std::vector<FoundDevice> found;
  for (int i = 0; i < count; ++i) {
    Expected<FoundDevice> device = openDevice(hip, i);
    if (!device)
      return device.takeError();
    if (targets::find(device->arch))
      found.push_back(std::move(*device));
    else
      refused.push_back(("device " + Twine(i) + ", " + device->name +
                         ", is not used: " + targets::messageForUnknown(device->arch))
                            .str());
  }
  return found;
}

} // namespace rubia::runtime
