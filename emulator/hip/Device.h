// SPDX-License-Identifier: Apache-2.0
// The emulated machine behind the HIP API: devices, memory, streams and loaded modules. One for
// each process, never destroyed: programs call HIP after their static destructors have run.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/hip/Stream.h"
#include "targets/Target.h"
#include "llvm/ADT/DenseMap.h"
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace rubia::emulator::hip {

/// What a target is presented as. The numbers are those of a real part of the family, so that
/// programs that size their launches by them behave as there; the number of compute units is kept
/// small, since grids are sized by it.
struct DeviceModel {
  const targets::Target *target = nullptr;
  std::string arch; // "gfx1100"
  std::string name;
  unsigned waveSize = 32;
  unsigned computeUnits = 4;
  unsigned ldsBytes = 65536;
  unsigned clockKilohertz = 1000000;
  uint64_t memoryBytes = 0; // what the host has, at most 16 GiB
};

struct Module {
  std::shared_ptr<CodeObject> code; // of launches too
  unsigned device = 0;              // that it was loaded for
};

struct MemoryPool;

/// What HIP remembers of an allocation beyond what kernels may do with it.
struct Placement {
  unsigned device = 0;
  unsigned flags = 0;      // of hipHostMalloc, hipHostRegister
  bool isRuntimes = false; // Rubia's own runtime has made it
  bool isMapped = false;   // by hipMemMap, or of another process: not hipFree's to end
  std::shared_ptr<MemoryPool> pool = nullptr; // of memory in stream order
  /// Of managed memory: what hipMemAdvise and hipMemPrefetchAsync said, kept and told.
  bool readMostly = false, coarseGrain = false;
  int preferred = kNowhere, prefetched = kNowhere;
  /// Of memory mapped by hipMemMap: the devices that hipMemSetAccess named; else none.
  DeviceSet granted = 0;
  std::set<int> accessedBy = {};
  static constexpr int kNowhere = -2; // hipInvalidDeviceId
};

/// A hipFunction_t.
struct Function {
  Module *module;
  const Kernel *kernel;
};

struct Device {
  DeviceModel model;
  unsigned ordinal = 0;
  std::atomic<uint32_t> stackBytes{64 << 10}; // Launch::stackBytes
  std::atomic<int> stickyError{0}; // hipError_t after a fault: every later call answers with it
  std::atomic<unsigned> flags{0};  // of hipSetDeviceFlags: told again
  StreamSet streams{*this};
  std::mutex heapMutex;
  uint64_t heap = 0;                             // of kernels' malloc; 0 until one takes it
  std::shared_ptr<MemoryPool> defaultPool, pool; // null until one is asked for
  std::set<unsigned> peers;                      // enabled by hipDeviceEnablePeerAccess
};

struct Machine {
  static Machine &instance();
  /// Why there is no device (a RUBIA_ARCH that the emulator does not know), or empty.
  std::string problem;
  std::vector<std::unique_ptr<Device>> devices;
  Memory memory; // one address space for all devices

  std::mutex mutex;                            // for what follows
  std::map<uint64_t, Placement> placements;    // by address of the allocation
  std::set<std::shared_ptr<MemoryPool>> pools; // with those of the devices
  std::set<Module *> modules;
  std::set<Function *> functions;
  std::map<std::pair<Module *, const Kernel *>, Function *> functionOf;

private:
  Machine();
};

/// The calling thread's device. hipSetDevice.
int &currentDeviceOrdinal();
Device &currentDevice();

} // namespace rubia::emulator::hip
