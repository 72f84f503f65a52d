// SPDX-License-Identifier: Apache-2.0
// What crosses the boundary of NVML, laid out as NVML's ABI has it.
#pragma once

#include <cstdint>

namespace rubia::runtime::nvml {

enum Return : int { // nvmlReturn_t
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kArgumentVersionMismatch = 25,
  kUnknown = 999,
};

struct PciInfo { // nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
static_assert(sizeof(PciInfo) == 68);
struct PciInfoV2 { // of the versions before
  char busId[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId, reserved[4];
};
static_assert(sizeof(PciInfoV2) == 52);

struct Memory { // nvmlMemory_t
  unsigned long long total, free, used;
};
struct MemoryV2 { // nvmlMemory_v2_t
  unsigned version;
  unsigned long long total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40);
inline constexpr unsigned kMemoryV2Version = sizeof(MemoryV2) | 2u << 24;

struct Utilization { // nvmlUtilization_t, percent
  unsigned gpu, memory;
};

struct Temperature { // nvmlTemperature_v1_t
  unsigned version;
  int sensor, temperature;
};
inline constexpr unsigned kTemperatureVersion = sizeof(Temperature) | 1u << 24;

struct FieldValue { // nvmlFieldValue_t
  unsigned fieldId, scopeId;
  long long timestamp, latencyInMicroseconds;
  int valueType;
  Return result;
  unsigned long long value;
};
static_assert(sizeof(FieldValue) == 40);

} // namespace rubia::runtime::nvml
