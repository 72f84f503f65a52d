// SPDX-License-Identifier: Apache-2.0
// Devices: what a program may ask before it makes a context.
//
// cudart reads 111 attributes when it starts and gives up if one of them fails, so an attribute
// that is not known is 0. Limits are CUDA's where Rubia keeps them (block and grid sizes), the
// hardware's where they cost something (shared memory, multiprocessors).
#include "lowering/Abi.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/HandleTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstring>

using namespace llvm;

namespace rubia::runtime {
int hipMemAddressReserve(void **pointer, size_t bytes, size_t alignment, void *wanted,
                         unsigned long long flags);
int hipMemExportToShareableHandle(void *out, void *handle, int type, unsigned long long flags);
int hipIpcOpenEventHandle(void **event, HipIpcHandle handle);
int hipMemPoolImportPointer(void **pointer, void *pool, HipIpcHandle *data);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

// What CUDA 13.0's driver knows; it refuses other numbers.
static constexpr int kLastDeviceAttribute = 147;

// Attributes that are the same on every device.
static int fixedAttribute(int attribute) {
  switch (attribute) {
  case 1: // MAX_THREADS_PER_BLOCK
  case 2: // MAX_BLOCK_DIM_X
  case 3: // MAX_BLOCK_DIM_Y
    return 1024;
  case 4: // MAX_BLOCK_DIM_Z
    return 64;
  case 5: // MAX_GRID_DIM_X
    return 2147483647;
  case 6: // MAX_GRID_DIM_Y
  case 7: // MAX_GRID_DIM_Z
    return 65535;
  case 8: // MAX_SHARED_MEMORY_PER_BLOCK, without opting in
    return 48 << 10;
  case 9: // TOTAL_CONSTANT_MEMORY
    return 64 << 10;
  case 10: // WARP_SIZE: PTX's, whatever the wave
    return 32;
  case 11: // MAX_PITCH
    return 2147483647;
  case 12: // MAX_REGISTERS_PER_BLOCK
  case 82: // MAX_REGISTERS_PER_MULTIPROCESSOR
    return 65536;
  case 14: // TEXTURE_ALIGNMENT
  case 30: // SURFACE_ALIGNMENT
    return 512;
  case 51: // TEXTURE_PITCH_ALIGNMENT
    return 32;
  case 15:  // GPU_OVERLAP
  case 19:  // CAN_MAP_HOST_MEMORY
  case 31:  // CONCURRENT_KERNELS
  case 41:  // UNIFIED_ADDRESSING
  case 78:  // STREAM_PRIORITIES_SUPPORTED
  case 79:  // GLOBAL_L1_CACHE_SUPPORTED
  case 80:  // LOCAL_L1_CACHE_SUPPORTED
  case 83:  // MANAGED_MEMORY
  case 91:  // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
  case 99:  // HOST_REGISTER_SUPPORTED
  case 115: // MEMORY_POOLS_SUPPORTED
  case 122: // CAN_USE_64_BIT_STREAM_MEM_OPS
  case 123: // CAN_USE_STREAM_WAIT_VALUE_NOR
    return 1;
  case 40: // ASYNC_ENGINE_COUNT
    return 2;
  case 106: // MAX_BLOCKS_PER_MULTIPROCESSOR
    return 32;
  // Sizes of textures and surfaces.
  case 21: // TEXTURE1D_WIDTH
  case 22: // TEXTURE2D_WIDTH
  case 56: // SURFACE2D_WIDTH
  case 70: // TEXTURE2D_LINEAR_WIDTH
    return 131072;
  case 23: // TEXTURE2D_HEIGHT
  case 57: // SURFACE2D_HEIGHT
    return 65536;
  case 71: // TEXTURE2D_LINEAR_HEIGHT
    return 65000;
  case 27: // TEXTURE2D_LAYERED
  case 28:
  case 42: // TEXTURE1D_LAYERED_WIDTH
  case 45: // TEXTURE2D_GATHER
  case 46:
  case 49: // TEXTURE3D_DEPTH_ALTERNATE
  case 52: // TEXTURECUBEMAP_WIDTH
  case 53: // TEXTURECUBEMAP_LAYERED_WIDTH
  case 55: // SURFACE1D_WIDTH
  case 61: // SURFACE1D_LAYERED_WIDTH
  case 63: // SURFACE2D_LAYERED
  case 64:
  case 66: // SURFACECUBEMAP_WIDTH
  case 67: // SURFACECUBEMAP_LAYERED_WIDTH
  case 73: // TEXTURE2D_MIPMAPPED
  case 74:
  case 77: // TEXTURE1D_MIPMAPPED_WIDTH
    return 32768;
  case 72: // TEXTURE2D_LINEAR_PITCH
    return 2097120;
  case 24: // TEXTURE3D
  case 25:
  case 26:
  case 58: // SURFACE3D
  case 59:
  case 60:
    return 16384;
  case 47: // TEXTURE3D_WIDTH_ALTERNATE
  case 48:
    return 8192;
  case 29: // layers
  case 43:
  case 62:
  case 65:
    return 2048;
  case 54: // cube map layers
  case 68:
    return 2046;
  case 69: // TEXTURE1D_LINEAR_WIDTH
    return 1 << 27;
  case 87: // SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
    return 16;
  }
  return 0;
}

// Programs choose their tiles by what the compute capability that they are told has. It lies in LDS
// or, if that has less, in device memory (abi::SharedPool).
// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
static constexpr int sharedPerMultiprocessor(unsigned capability) {
  switch (capability) {
  case 52:
  case 61:
  case 70:
  case 72:
    return 96 << 10;
  case 80:
  case 87:
    return 164 << 10;
  }
  return capability >= 120  ? 100 << 10
         : capability >= 90 ? 228 << 10
         : capability >= 80 ? 100 << 10
                            : 64 << 10;
}
static constexpr int reservedSharedPerBlock(unsigned capability) {
  return capability >= 80 ? 1 << 10 : 0;
}
static constexpr int sharedPerBlockOptin(unsigned capability) {
  return capability >= 70 ? sharedPerMultiprocessor(capability) - reservedSharedPerBlock(capability)
                          : 48 << 10;
}

// Closed libraries are told a capability of their own, which has no more than 8.9.
int Device::maxSharedPerBlock() {
  return std::max(sharedPerBlockOptin(89), sharedPerBlockOptin(capabilityForFile("")));
}
int Device::ldsPerBlock() const {
  return hip().attribute(HipAttribute::MaxSharedMemoryPerBlock, hipDevice);
}

static bool dependsOnCapability(int attribute) {
  return is_contained({int(kComputeCapabilityMajor), int(kComputeCapabilityMinor), 81, 97, 111},
                      attribute);
}

int Device::attribute(int attribute, unsigned capability) const {
  auto ofHip = [&](HipAttribute name) { return hip().attribute(name, hipDevice); };
  switch (attribute) {
  case kComputeCapabilityMajor:
    return int(capability / 10);
  case kComputeCapabilityMinor:
    return int(capability % 10);
  case 13: // CLOCK_RATE
    return ofHip(HipAttribute::ClockRate);
  case 16: // MULTIPROCESSOR_COUNT
    return ofHip(HipAttribute::MultiprocessorCount);
  case 20: // COMPUTE_MODE
    return ofHip(HipAttribute::ComputeMode);
  case 33: // PCI_BUS_ID
    return pciBus;
  case 34: // PCI_DEVICE_ID
    return pciDevice;
  case 50: // PCI_DOMAIN_ID
    return pciDomain;
  case 36: // MEMORY_CLOCK_RATE
    return ofHip(HipAttribute::MemoryClockRate);
  case 37: // GLOBAL_MEMORY_BUS_WIDTH
    return ofHip(HipAttribute::MemoryBusWidth);
  case 38: // L2_CACHE_SIZE
    return ofHip(HipAttribute::L2CacheSize);
  case 39: // MAX_THREADS_PER_MULTIPROCESSOR
    return ofHip(HipAttribute::MaxThreadsPerMultiProcessor);
  case 81: // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    return sharedPerMultiprocessor(capability);
  case 97: // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    return sharedPerBlockOptin(capability);
  case 111: // RESERVED_SHARED_MEMORY_PER_BLOCK
    return reservedSharedPerBlock(capability);
  case 120: // CLUSTER_LAUNCH
    return capability >= 90;
  case 95: // COOPERATIVE_LAUNCH
    return hip().has<hipModuleLaunchCooperativeKernel>() && ofHip(HipAttribute::CooperativeLaunch);
  case 102: // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
  case 103: // HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    return hip().has<hipMemAddressReserve>() && hip().has<hipMemExportToShareableHandle>();
  case 119: // MEMPOOL_SUPPORTED_HANDLE_TYPES: file descriptors
    return hip().has<hipMemPoolImportPointer>();
  case 125: // IPC_EVENT_SUPPORTED
    return hip().has<hipIpcOpenEventHandle>();
  case 141:                  // HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
  case 145:                  // HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    return hip().isEmulator; // HIP does not tell
  case 134:                  // HOST_NUMA_ID
    return -1;
  }
  return fixedAttribute(attribute);
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuDeviceGetCount(int *count) {
  return call(RUBIA_CALL(count), [&] {
    return count ? (*count = int(theDriver.load()->devices.size()), kSuccess) : kInvalidValue;
  });
}

Result cuDeviceGet(int *device, int ordinal) {
  return callFor(RUBIA_CALL(device, ordinal), ordinal, [&](Device &found) {
    return device ? (*device = found.ordinal, kSuccess) : kInvalidValue;
  });
}

Result cuDeviceGetName(char *name, int length, int device) {
  return callFor(RUBIA_CALL(name, length, device), device, [&](Device &found) {
    if (!name || length <= 0)
      return kInvalidValue;
    const size_t copied = std::min(found.name.size(), size_t(length) - 1);
    memcpy(name, found.name.data(), copied); // no padding: programs give any length
    name[copied] = 0;
    return kSuccess;
  });
}

Result cuDeviceTotalMem_v2(size_t *bytes, int device) {
  return callFor(RUBIA_CALL(bytes, device), device, [&](Device &found) {
    return bytes ? (*bytes = found.totalMemory, kSuccess) : kInvalidValue;
  });
}
Result cuDeviceTotalMem(unsigned *bytes, int device) {
  return callFor(RUBIA_CALL(bytes, device), device, [&](Device &found) {
    if (!bytes)
      return kInvalidValue;
    *bytes = std::min<size_t>(found.totalMemory, UINT32_MAX);
    return kSuccess;
  });
}

Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  const void *caller = __builtin_return_address(0);
  return callFor(RUBIA_CALL(value, attribute, device), device, [&](Device &found) {
    if (!value || attribute < 1 || attribute > kLastDeviceAttribute)
      return kInvalidValue;
    *value = found.attribute(attribute, dependsOnCapability(attribute) ? capabilityFor(caller) : 0);
    return kSuccess;
  });
}

Result cuDeviceComputeCapability(int *major, int *minor, int device) {
  const void *caller = __builtin_return_address(0);
  return callFor(RUBIA_CALL(major, minor, device), device, [&](Device &) {
    if (!major || !minor)
      return kInvalidValue;
    unsigned capability = capabilityFor(caller);
    *major = int(capability / 10);
    *minor = int(capability % 10);
    return kSuccess;
  });
}

Result cuDeviceGetProperties(DeviceProperties *properties, int device) {
  return callFor(RUBIA_CALL(properties, device), device, [&](Device &found) {
    if (!properties)
      return kInvalidValue;
    auto get = [&](int attribute) { return found.attribute(attribute, 0); };
    *properties = {get(1),
                   {get(2), get(3), get(4)},
                   {get(5), get(6), get(7)},
                   get(8),
                   get(9),
                   get(10),
                   get(11),
                   get(12),
                   get(13),
                   get(14)};
    return kSuccess;
  });
}

Result cuDeviceGetUuid(Uuid *uuid, int device) {
  return callFor(RUBIA_CALL(uuid, device), device, [&](Device &found) {
    if (!uuid)
      return kInvalidValue;
    llvm::copy(found.uuid, uuid->bytes);
    return kSuccess;
  });
}
Result cuDeviceGetUuid_v2(Uuid *uuid, int device) { return cuDeviceGetUuid(uuid, device); }

Result cuDeviceGetPCIBusId(char *text, int length, int device) {
  return callFor(RUBIA_CALL(text, length, device), device, [&](Device &found) {
    constexpr int kBytes = sizeof("0000:00:00.0"); // shorter ones would get a part of it
    if (!text || length < kBytes)
      return kInvalidValue;
    snprintf(text, length, "%04x:%02x:%02x.0", found.pciDomain, found.pciBus, found.pciDevice);
    return kSuccess;
  });
}

// "[domain:]bus:device[.function]" in hexadecimal.
Result cuDeviceGetByPCIBusId(int *device, const char *text) {
  return call(RUBIA_CALL(device, text), [&] {
    if (!device || !text)
      return kInvalidValue;
    SmallVector<StringRef, 4> parts;
    StringRef(text).split('.').first.split(parts, ':');
    int numbers[3] = {0, 0, 0}; // domain, bus, device
    if (parts.size() < 2 || parts.size() > 3)
      return kInvalidValue;
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].getAsInteger(16, numbers[3 - parts.size() + i]))
        return kInvalidValue;
    for (auto &found : theDriver.load()->devices)
      if (found->pciDomain == numbers[0] && found->pciBus == numbers[1] &&
          found->pciDevice == numbers[2])
        return *device = found->ordinal, kSuccess;
    return kInvalidDevice;
  });
}

Result cuDeviceGetExecAffinitySupport(int *value, int, int device) {
  return callFor(RUBIA_CALL(value, device), device,
                 [&](Device &) { return value ? (*value = 0, kSuccess) : kInvalidValue; });
}

// The one notification that there is tells that memory is asked back, which nobody does.
struct cuda::Notification {
  int device;
};
static HandleTable<Notification> &notifications = HandleTable<Notification>::leaked();
Result cuDeviceRegisterAsyncNotification(int device, void (*callback)(void *, void *, void *),
                                         void *, Notification **handle) {
  return callFor(RUBIA_CALL(device, callback, handle), device, [&](Device &) {
    if (!callback || !handle)
      return kInvalidValue;
    *handle = notifications.add(std::make_shared<Notification>(Notification{device}));
    return kSuccess;
  });
}
Result cuDeviceUnregisterAsyncNotification(int device, Notification *handle) {
  return callFor(RUBIA_CALL(device, handle), device, [&](Device &) {
    const bool isOfDevice = notifications.contains(handle) && handle->device == device;
    return isOfDevice && notifications.remove(handle) ? kSuccess : kInvalidValue;
  });
}

} // extern "C"
