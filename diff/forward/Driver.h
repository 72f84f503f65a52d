// SPDX-License-Identifier: Apache-2.0
// The driver behind the forwarding library: its functions by name, and those that recording calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubia::forward {

inline constexpr int kSuccess = 0, kInvalidValue = 1, kNotReady = 600, kNotSupported = 801;

struct Entry;
struct DriverFunction {
  const char *symbol; // as exported
  const char *name;   // as cuGetProcAddress knows it
  int introduced;     // driver version
  bool perThread;     // its default stream is the calling thread's
  void **slot;        // where the driver's address is
  Entry *entry;       // where the exported function goes
  void *exported;
  void *logged; // goes to the entry's target by way of the log
};

/// What an exported function does: it jumps to `to`.
struct Entry {
  void *to;
  void *target;                   // the hook, or the driver's function
  const DriverFunction *function; // null before connect()
};

const DriverFunction *driverFunctions(size_t &count);

/// Opens the driver's library and fills all slots; those of functions that it lacks return
/// kNotSupported.
bool openDriver(const char *path);
bool isMissing(const void *slot);

/// Exported functions go to hooks and to the driver from now on; with `isLogged` by way of the log.
void connect(bool isLogged);

using DevicePointer = uint64_t;
using Handle = void *; // of a function, kernel, module, library, stream

/// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id;
  int padding;
  uint8_t value[64];
};
static_assert(sizeof(LaunchAttribute) == 72);
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  Handle stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);
inline constexpr int kAttributeCooperative = 2, kAttributeCluster = 4;

} // namespace rubia::forward

extern "C" {
#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)                                         \
  extern __attribute__((visibility("hidden"))) void *rubia_driver_##Symbol;
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION
}

/// DRIVER(cuMemFree_v2, DevicePointer)(pointer) calls the driver's own.
#define DRIVER(Symbol, ...) (reinterpret_cast<int (*)(__VA_ARGS__)>(rubia_driver_##Symbol))
