// SPDX-License-Identifier: Apache-2.0
// The functions of libnvidia-ml.so.1 that nvidia-smi calls.
#pragma once

#include "runtime/nvml/Types.h"

namespace rubia::runtime::nvml {

struct Device;

extern "C" {

Return nvmlInit_v2();
const char *nvmlErrorString(int result);
Return nvmlDeviceGetCount_v2(unsigned *count);
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out);
Return nvmlDeviceGetHandleByUUID(const char *uuid, Device **out);
Return nvmlDeviceGetHandleByPciBusId_v2(const char *bus, Device **out);
Return nvmlSystemGetDriverVersion(char *out, unsigned room);
Return nvmlSystemGetCudaDriverVersion_v2(int *out);
Return nvmlDeviceGetName(Device *device, char *out, unsigned room);
Return nvmlDeviceGetUUID(Device *device, char *out, unsigned room);
Return nvmlDeviceGetIndex(Device *device, unsigned *out);
Return nvmlDeviceGetPciInfo_v3(Device *device, PciInfo *out);
Return nvmlDeviceGetMemoryInfo(Device *device, Memory *out);
Return nvmlDeviceGetUtilizationRates(Device *device, Utilization *out);
Return nvmlDeviceGetTemperature(Device *device, int sensor, unsigned *out);
Return nvmlDeviceGetPowerUsage(Device *device, unsigned *out);
Return nvmlDeviceGetEnforcedPowerLimit(Device *device, unsigned *out);
Return nvmlDeviceGetFanSpeed(Device *device, unsigned *out);
Return nvmlDeviceGetMaxClockInfo(Device *device, int clock, unsigned *out);
Return nvmlDeviceGetCudaComputeCapability(Device *device, int *major, int *minor);

} // extern "C"
} // namespace rubia::runtime::nvml
