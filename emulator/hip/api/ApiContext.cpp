// SPDX-License-Identifier: Apache-2.0
// Contexts, peers, limits and settings of devices. A context is its device: HIP has kept them only
// for programs that were written for CUDA's driver API. HIP: "Context Management", "PeerToPeer
// Device Memory Access", "Device Management".
#include "emulator/hip/Allocations.h"
#include <cstring>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

HIP_EXPORT hipError_t hipDeviceGet(hipDevice_t *device, int ordinal) {
  if (!device)
    return result(hipErrorInvalidValue);
  if (!isDevice(ordinal))
    return result(hipErrorInvalidDevice);
  *device = ordinal;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device) {
  if (!major || !minor)
    return result(hipErrorInvalidValue);
  if (hipError_t error =
          hipDeviceGetAttribute(major, hipDeviceAttributeComputeCapabilityMajor, device))
    return error;
  return hipDeviceGetAttribute(minor, hipDeviceAttributeComputeCapabilityMinor, device);
}

HIP_EXPORT hipError_t hipDeviceGetByPCIBusId(int *device, const char *text) {
  if (!device || !text)
    return result(hipErrorInvalidValue);
  for (int i = 0; isDevice(i); ++i) {
    char own[16];
    if (!hipDeviceGetPCIBusId(own, sizeof(own), i) && !strcmp(own, text)) {
      *device = i;
      return result(hipSuccess);
    }
  }
  return result(hipErrorInvalidDevice);
}

HIP_EXPORT hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device) {
  if (!uuid)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  char text[17];
  snprintf(text, sizeof(text), "rubia-%010d", device);
  memcpy(uuid->bytes, text, sizeof(uuid->bytes));
  return result(hipSuccess);
}

// The first device that has at least what is asked for, else the first.
HIP_EXPORT hipError_t hipChooseDevice(int *device, const hipDeviceProp_t *wanted) {
  if (!device || !wanted)
    return result(hipErrorInvalidValue);
  if (hipError_t error = usable())
    return result(error);
  *device = 0;
  hipDeviceProp_t p;
  for (int i = 0; isDevice(i); ++i)
    if (!hipGetDeviceProperties(&p, i) && p.major >= wanted->major &&
        p.totalGlobalMem >= wanted->totalGlobalMem &&
        p.sharedMemPerBlock >= wanted->sharedMemPerBlock &&
        p.maxThreadsPerBlock >= wanted->maxThreadsPerBlock &&
        (!wanted->warpSize || p.warpSize == wanted->warpSize)) {
      *device = i;
      break;
    }
  return result(hipSuccess);
}

// ---------- Settings: kept and told; the emulator has no use for them

HIP_EXPORT hipError_t hipSetDeviceFlags(unsigned flags) {
  return hipDevicePrimaryCtxSetFlags(currentDeviceOrdinal(), flags);
}
HIP_EXPORT hipError_t hipGetDeviceFlags(unsigned *flags) {
  int active;
  return hipDevicePrimaryCtxGetState(currentDeviceOrdinal(), flags, &active);
}
HIP_EXPORT hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config) {
  return result(isKnown(config) ? usable() : hipErrorInvalidValue);
}
HIP_EXPORT hipError_t hipDeviceGetCacheConfig(hipFuncCache_t *config) {
  if (!config)
    return result(hipErrorInvalidValue);
  *config = hipFuncCachePreferNone;
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig config) {
  return result(isKnown(config) ? usable() : hipErrorInvalidValue);
}
HIP_EXPORT hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig *config) {
  if (!config)
    return result(hipErrorInvalidValue);
  *config = hipSharedMemBankSizeFourByte;
  return result(hipSuccess);
}

// The handle of a device's context is its address.
static hipCtx_t contextOf(int device) { return reinterpret_cast<hipCtx_t>(&deviceAt(device)); }

static bool findContext(hipCtx_t context, int &device) {
  for (device = 0; isDevice(device); ++device)
    if (contextOf(device) == context)
      return true;
  return false;
}

// ---------- Peers: all devices share one address space, and each says whose memory it accesses

HIP_EXPORT hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) {
  if (!can)
    return result(hipErrorInvalidValue);
  if (!isDevice(device) || !isDevice(peer))
    return result(hipErrorInvalidDevice);
  *can = device != peer;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  if (flags)
    return result(hipErrorInvalidValue);
  if (!isDevice(peer) || peer == currentDeviceOrdinal())
    return result(hipErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  if (!currentDevice().peers.insert(unsigned(peer)).second)
    return result(hipErrorPeerAccessAlreadyEnabled);
  updateDevices();
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipCtxEnablePeerAccess(hipCtx_t context, unsigned flags) {
  int device;
  if (!findContext(context, device))
    return result(hipErrorInvalidContext);
  return hipDeviceEnablePeerAccess(device, flags);
}
HIP_EXPORT hipError_t hipCtxDisablePeerAccess(hipCtx_t context) {
  int device;
  if (!findContext(context, device))
    return result(hipErrorInvalidContext);
  return hipDeviceDisablePeerAccess(device);
}

// One hop over PCI Express: HSA's HSA_AMD_LINK_INFO_TYPE_PCIE.
HIP_EXPORT hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, uint32_t *type,
                                                   uint32_t *hops) {
  if (!type || !hops || from == to)
    return result(hipErrorInvalidValue);
  if (!isDevice(from) || !isDevice(to))
    return result(hipErrorInvalidDevice);
  *type = 2;
  *hops = 1;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceDisablePeerAccess(int peer) {
  if (hipError_t error = usable())
    return result(error);
  if (!isDevice(peer) || peer == currentDeviceOrdinal())
    return result(hipErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  if (!currentDevice().peers.erase(unsigned(peer)))
    return result(hipErrorPeerAccessNotEnabled);
  updateDevices();
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetP2PAttribute(int *value, hipDeviceP2PAttr attribute, int from,
                                               int to) {
  if (!value)
    return result(hipErrorInvalidValue);
  if (!isDevice(from) || !isDevice(to) || from == to)
    return result(hipErrorInvalidDevice);
  switch (attribute) {
  case hipDevP2PAttrPerformanceRank:
  case hipDevP2PAttrHipArrayAccessSupported:
    *value = 0;
    return result(hipSuccess);
  case hipDevP2PAttrAccessSupported:
  case hipDevP2PAttrNativeAtomicSupported:
    *value = 1;
    return result(hipSuccess);
  }
  return result(hipErrorInvalidValue);
}

// ---------- Contexts

// A thread's stack of contexts is one of devices.
static thread_local std::vector<int> contexts;

HIP_EXPORT hipError_t hipCtxPushCurrent(hipCtx_t context) {
  int device;
  if (!findContext(context, device))
    return result(hipErrorInvalidContext);
  contexts.push_back(currentDeviceOrdinal());
  currentDeviceOrdinal() = device;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipCtxPopCurrent(hipCtx_t *context) {
  if (contexts.empty())
    return result(hipErrorInvalidContext);
  if (context)
    *context = contextOf(currentDeviceOrdinal());
  currentDeviceOrdinal() = contexts.back();
  contexts.pop_back();
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipCtxCreate(hipCtx_t *context, unsigned flags, hipDevice_t device) {
  if (!context || !areDeviceFlags(flags))
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  deviceAt(device).flags = flags;
  *context = contextOf(device);
  return hipCtxPushCurrent(*context);
}

HIP_EXPORT hipError_t hipCtxDestroy(hipCtx_t context) {
  int device;
  if (!findContext(context, device))
    return result(hipErrorInvalidContext);
  if (device == currentDeviceOrdinal() && !contexts.empty())
    return hipCtxPopCurrent(nullptr);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipCtxSetCurrent(hipCtx_t context) {
  int device;
  if (!findContext(context, device))
    return result(hipErrorInvalidContext);
  currentDeviceOrdinal() = device;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipCtxGetCurrent(hipCtx_t *context) {
  if (hipError_t error = usable())
    return result(error);
  if (!context)
    return result(hipErrorInvalidValue);
  *context = contextOf(currentDeviceOrdinal());
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipCtxGetDevice(hipDevice_t *device) { return hipGetDevice(device); }
HIP_EXPORT hipError_t hipCtxSynchronize() { return hipDeviceSynchronize(); }

HIP_EXPORT hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device) {
  if (!context)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  *context = contextOf(device);
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return result(isDevice(device) ? hipSuccess : hipErrorInvalidDevice);
}

HIP_EXPORT hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags,
                                                  int *active) {
  if (!flags || !active)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  *flags = deviceAt(device).flags;
  *active = device == currentDeviceOrdinal();
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags) {
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  if (!areDeviceFlags(flags))
    return result(hipErrorInvalidValue);
  deviceAt(device).flags = flags;
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  const int before = currentDeviceOrdinal();
  currentDeviceOrdinal() = device;
  const hipError_t error = hipDeviceReset();
  currentDeviceOrdinal() = before;
  return error;
}

HIP_EXPORT hipError_t hipCtxGetApiVersion(hipCtx_t context, int *version) {
  int device;
  if (!version)
    return result(hipErrorInvalidValue);
  if (context && !findContext(context, device))
    return result(hipErrorInvalidContext);
  *version = 4; // that of contexts, which HIP has never changed
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipCtxGetFlags(unsigned *flags) { return hipGetDeviceFlags(flags); }
HIP_EXPORT hipError_t hipCtxGetCacheConfig(hipFuncCache_t *config) {
  return hipDeviceGetCacheConfig(config);
}
HIP_EXPORT hipError_t hipCtxSetCacheConfig(hipFuncCache_t config) {
  return hipDeviceSetCacheConfig(config);
}
HIP_EXPORT hipError_t hipCtxGetSharedMemConfig(hipSharedMemConfig *config) {
  return hipDeviceGetSharedMemConfig(config);
}
HIP_EXPORT hipError_t hipCtxSetSharedMemConfig(hipSharedMemConfig config) {
  return hipDeviceSetSharedMemConfig(config);
}
