// SPDX-License-Identifier: Apache-2.0
// Initialisation and devices. HIP: "Initialization and Version", "Device Management".
#include "emulator/hip/Graph.h"
#include "emulator/hip/api/Version.h"

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

// How others tell the emulator from AMD's library.
HIP_EXPORT const char *rubiaEmulatorVersion() { return "1"; }

HIP_EXPORT hipError_t hipInit(unsigned flags) {
  if (flags)
    return result(hipErrorInvalidValue);
  return result(Machine::instance().devices.empty() ? noDevice() : hipSuccess);
}

HIP_EXPORT hipError_t hipRuntimeGetVersion(int *version) {
  if (!version)
    return result(hipErrorInvalidValue);
  *version = hipVersionNumber();
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }

HIP_EXPORT hipError_t hipGetDeviceCount(int *count) {
  if (!count)
    return result(hipErrorInvalidValue);
  *count = int(Machine::instance().devices.size());
  return result(*count ? hipSuccess : noDevice());
}

bool rubia::emulator::hip::isDevice(int device) {
  return device >= 0 && size_t(device) < Machine::instance().devices.size();
}

Device &rubia::emulator::hip::deviceAt(int device) { return *Machine::instance().devices[device]; }

HIP_EXPORT hipError_t hipSetDevice(int device) {
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  currentDeviceOrdinal() = device;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGetDevice(int *device) {
  if (!device)
    return result(hipErrorInvalidValue);
  *device = currentDeviceOrdinal();
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device) {
  if (!name || length <= 0)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  snprintf(name, length, "%s", deviceAt(device).model.name.c_str());
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device) {
  if (!bytes)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  *bytes = deviceAt(device).model.memoryBytes;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetPCIBusId(char *text, int length, int device) {
  if (!text || length < 13)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  snprintf(text, length, "0000:%02x:00.0", device + 1);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceSynchronize() {
  if (hipError_t error = usable())
    return result(error);
  if (hipError_t error = waitsForCapture(hipErrorStreamCaptureUnsupported))
    return result(error);
  currentDevice().streams.synchronizeAll();
  return result(usable());
}
