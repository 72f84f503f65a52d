// SPDX-License-Identifier: Apache-2.0
// What a device is like. HIP: hipGetDeviceProperties, hipDeviceGetAttribute. The structure that HIP
// 5 returns is the header's; HIP 6 and 7 have another one, which programs reach by another name.
#include "emulator/hip/Images.h"
#include <cstring>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

HIP_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device) {
  if (!properties)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  const DeviceModel &model = deviceAt(device).model;
  hipDeviceProp_t p;
  memset(&p, 0, sizeof(p));
  snprintf(p.name, sizeof(p.name), "%s", model.name.c_str());
  snprintf(p.gcnArchName, sizeof(p.gcnArchName), "%s", model.arch.c_str());
  p.totalGlobalMem = model.memoryBytes;
  p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = model.ldsBytes;
  p.regsPerBlock = 65536;
  p.warpSize = int(model.waveSize);
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = p.maxThreadsDim[2] = 1024;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.clockRate = p.memoryClockRate = p.clockInstructionRate = int(model.clockKilohertz);
  p.memoryBusWidth = 256;
  p.totalConstMem = model.memoryBytes;
  p.major = int(model.target->version.major);
  p.minor = int(model.target->version.minor);
  p.multiProcessorCount = int(model.computeUnits);
  p.l2CacheSize = 4 << 20;
  p.maxThreadsPerMultiProcessor = 2048;
  p.concurrentKernels = 1;
  p.cooperativeLaunch = p.cooperativeMultiDeviceLaunch = 1;
  p.pciBusID = device + 1;
  p.canMapHostMemory = 1;
  p.managedMemory = p.concurrentManagedAccess = 1;
  p.memPitch = 0x7fffffff;
  p.textureAlignment = p.texturePitchAlignment = 256;
  if (hasImages(*model.target)) {
    p.maxTexture1D = p.maxTexture2D[0] = p.maxTexture2D[1] = int(kMostTexels);
    p.maxTexture3D[0] = p.maxTexture3D[1] = int(kMostTexels);
    p.maxTexture3D[2] = int(kMostSlices);
    p.maxTexture1DLinear = int(kMostLinearTexels);
  }
  hipDeviceArch_t &arch = p.arch;
  arch.hasGlobalInt32Atomics = arch.hasGlobalFloatAtomicExch = arch.hasSharedInt32Atomics = 1;
  arch.hasSharedFloatAtomicExch = arch.hasFloatAtomicAdd = arch.hasGlobalInt64Atomics = 1;
  arch.hasSharedInt64Atomics = arch.hasDoubles = arch.hasWarpVote = arch.hasWarpBallot = 1;
  arch.hasWarpShuffle = arch.hasThreadFenceSystem = arch.has3dGrid = 1;
  *properties = p;
  return result(hipSuccess);
}

constexpr int kCopyEngines = 2;             // what streams see of them: all streams copy at once
constexpr int kWallClockKilohertz = 100000; // of wall_clock64()

static int workgroupsPerUnit(const hipDeviceProp_t &p) {
  return p.maxThreadsPerMultiProcessor / p.warpSize;
}

// hipDeviceProp_t since HIP 6 is 1472 bytes; what is set of it, by offset.
extern "C" __attribute__((visibility("default"))) hipError_t
hipGetDevicePropertiesR0600(void *properties, int device);
hipError_t hipGetDevicePropertiesR0600(void *properties, int device) {
  hipDeviceProp_t p;
  if (!properties)
    return result(hipErrorInvalidValue);
  if (hipError_t error = hipGetDeviceProperties(&p, device))
    return error;
  auto *bytes = static_cast<char *>(properties);
  memset(bytes, 0, 1472);
  auto put = [&](size_t offset, const auto &value) {
    memcpy(bytes + offset, &value, sizeof(value));
  };
  put(0, p.name);
  hipUUID uuid;
  if (hipError_t error = hipDeviceGetUuid(&uuid, device))
    return error;
  put(256, uuid.bytes);
  put(288, p.totalGlobalMem);
  put(296, p.sharedMemPerBlock);
  put(304, p.regsPerBlock);
  put(308, p.warpSize);
  put(312, p.memPitch);
  put(320, p.maxThreadsPerBlock);
  put(324, p.maxThreadsDim);
  put(336, p.maxGridSize);
  put(348, p.clockRate);
  put(352, p.totalConstMem);
  put(360, p.major);
  put(364, p.minor);
  put(368, p.textureAlignment);
  put(376, p.texturePitchAlignment);
  put(384, 1); // deviceOverlap
  put(388, p.multiProcessorCount);
  put(396, p.integrated);
  put(400, p.canMapHostMemory);
  put(404, p.computeMode);
  for (size_t offset : {408, 412, 484, 512, 536}) // of one dimension, with levels or layers too
    put(offset, p.maxTexture1D);
  put(416, p.maxTexture1DLinear);
  for (size_t offset : {420, 428, 436, 448, 492, 516, 544}) // of two
    put(offset, p.maxTexture2D);
  for (size_t offset : {456, 468, 524}) // of three
    put(offset, p.maxTexture3D);
  for (size_t offset : {480, 504, 556, 560}) // of cube maps
    put(offset, p.maxTexture2D[0]);
  for (size_t offset : {488, 500, 508, 540, 552, 564}) // layers
    put(offset, p.maxTexture3D[2]);
  put(576, p.concurrentKernels);
  put(580, p.ECCEnabled);
  put(584, p.pciBusID);
  put(588, p.pciDeviceID);
  put(592, p.pciDomainID);
  put(600, kCopyEngines);
  put(604, 1); // unifiedAddressing
  put(608, p.memoryClockRate);
  put(612, p.memoryBusWidth);
  put(616, p.l2CacheSize);
  put(624, p.maxThreadsPerMultiProcessor);
  put(632, 1); // globalL1CacheSupported
  put(636, 1); // localL1CacheSupported
  put(640, p.maxSharedMemoryPerMultiProcessor);
  put(648, p.regsPerBlock); // regsPerMultiprocessor
  put(652, p.managedMemory);
  put(676, p.concurrentManagedAccess);
  put(684, 1); // canUseHostPointerForRegisteredMem
  put(688, p.cooperativeLaunch);
  put(692, p.cooperativeMultiDeviceLaunch);
  put(696, p.sharedMemPerBlock);  // sharedMemPerBlockOptin
  put(712, workgroupsPerUnit(p)); // maxBlocksPerMultiProcessor
  put(728, 1);                    // hostRegisterSupported
  put(744, 1);                    // memoryPoolsSupported
  put(1160, p.gcnArchName);
  put(1416, p.maxSharedMemoryPerMultiProcessor);
  put(1424, p.clockInstructionRate);
  put(1428, p.arch);
  put(1464, p.isLargeBar);
  put(1468, p.asicRevision);
  return result(hipSuccess);
}

// hipChooseDevice with HIP 6's structure: what that looks at, by offset.
extern "C" __attribute__((visibility("default"))) hipError_t
hipChooseDeviceR0600(int *device, const void *properties);
hipError_t hipChooseDeviceR0600(int *device, const void *properties) {
  if (!properties)
    return result(hipErrorInvalidValue);
  hipDeviceProp_t wanted;
  memset(&wanted, 0, sizeof(wanted));
  auto take = [&](size_t offset, auto &value) {
    memcpy(&value, static_cast<const char *>(properties) + offset, sizeof(value));
  };
  take(288, wanted.totalGlobalMem);
  take(296, wanted.sharedMemPerBlock);
  take(308, wanted.warpSize);
  take(320, wanted.maxThreadsPerBlock);
  take(360, wanted.major);
  return hipChooseDevice(device, &wanted);
}

HIP_EXPORT hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute,
                                            int device) {
  if (!value)
    return result(hipErrorInvalidValue);
  hipDeviceProp_t p;
  if (hipError_t error = hipGetDeviceProperties(&p, device))
    return error;
  const auto large = [](size_t bytes) { return int(std::min<size_t>(bytes, 0x7fffffff)); };
  switch (attribute) {
#define VALUE(Name, Value)                                                                         \
  case hipDeviceAttribute##Name:                                                                   \
    *value = Value;                                                                                \
    return result(hipSuccess);
    VALUE(ClockRate, p.clockRate)
    VALUE(MemoryClockRate, p.memoryClockRate)
    VALUE(MemoryBusWidth, p.memoryBusWidth)
    VALUE(MultiprocessorCount, p.multiProcessorCount)
    VALUE(MaxThreadsPerBlock, p.maxThreadsPerBlock)
    VALUE(MaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor)
    VALUE(MaxBlockDimX, p.maxThreadsDim[0])
    VALUE(MaxBlockDimY, p.maxThreadsDim[1])
    VALUE(MaxBlockDimZ, p.maxThreadsDim[2])
    VALUE(MaxGridDimX, p.maxGridSize[0])
    VALUE(MaxGridDimY, p.maxGridSize[1])
    VALUE(MaxGridDimZ, p.maxGridSize[2])
    VALUE(MaxRegistersPerBlock, p.regsPerBlock)
    VALUE(MaxRegistersPerMultiprocessor, p.regsPerBlock)
    VALUE(MaxSharedMemoryPerBlock, int(p.sharedMemPerBlock))
    VALUE(SharedMemPerBlockOptin, int(p.sharedMemPerBlock))
    VALUE(MaxSharedMemoryPerMultiprocessor, int(p.maxSharedMemoryPerMultiProcessor))
    VALUE(TotalConstantMemory, large(p.totalConstMem))
    VALUE(MaxPitch, large(p.memPitch))
    VALUE(L2CacheSize, p.l2CacheSize)
    VALUE(WarpSize, p.warpSize)
    VALUE(ComputeCapabilityMajor, p.major)
    VALUE(ComputeCapabilityMinor, p.minor)
    VALUE(PciBusId, p.pciBusID)
    VALUE(PciDeviceId, p.pciDeviceID)
    VALUE(PciDomainID, p.pciDomainID)
    VALUE(ComputeMode, p.computeMode)
    VALUE(Integrated, p.integrated)
    VALUE(EccEnabled, p.ECCEnabled)
    VALUE(KernelExecTimeout, p.kernelExecTimeoutEnabled)
    VALUE(ConcurrentKernels, p.concurrentKernels)
    VALUE(CanMapHostMemory, p.canMapHostMemory)
    VALUE(ManagedMemory, p.managedMemory)
    VALUE(ConcurrentManagedAccess, p.concurrentManagedAccess)
    VALUE(PageableMemoryAccess, p.pageableMemoryAccess)
    VALUE(UnifiedAddressing, 1)
    VALUE(CooperativeLaunch, p.cooperativeLaunch)
    VALUE(CooperativeMultiDeviceLaunch, p.cooperativeMultiDeviceLaunch)
    VALUE(IsLargeBar, p.isLargeBar)
    VALUE(AsicRevision, p.asicRevision)
    VALUE(MemoryPoolsSupported, 1)
    VALUE(CanUseStreamWaitValue, 1)
    VALUE(AsyncEngineCount, kCopyEngines)
    VALUE(DeviceOverlap, 1)
    VALUE(MaxBlocksPerMultiProcessor, workgroupsPerUnit(p))
    VALUE(MaxThreadsDim, p.maxThreadsDim[0])
    VALUE(TotalGlobalMem, large(p.totalGlobalMem))
    VALUE(StreamPrioritiesSupported, 0)
    VALUE(GlobalL1CacheSupported, 1)
    VALUE(LocalL1CacheSupported, 1)
    VALUE(HostNativeAtomicSupported, 0)
    VALUE(PageableMemoryAccessUsesHostPageTables, 0)
    VALUE(DirectManagedMemAccessFromHost, 0)
    VALUE(CanUseHostPointerForRegisteredMem, 1)
    VALUE(ComputePreemptionSupported, 0)
    VALUE(IsMultiGpuBoard, 0)
    VALUE(MultiGpuBoardGroupID, 0)
    VALUE(TccDriver, 0)
    VALUE(SharedMemPerMultiprocessor, int(p.maxSharedMemoryPerMultiProcessor))
    VALUE(PhysicalMultiProcessorCount, p.multiProcessorCount)
    VALUE(FineGrainSupport, 1)
    VALUE(ClockInstructionRate, p.clockInstructionRate)
    VALUE(ImageSupport, p.maxTexture1D != 0)
    VALUE(TextureAlignment, int(p.textureAlignment))
    VALUE(TexturePitchAlignment, int(p.texturePitchAlignment))
    VALUE(SurfaceAlignment, 256)
    VALUE(MaxTexture1DWidth, p.maxTexture1D)
    VALUE(MaxTexture1DLinear, p.maxTexture1DLinear)
    VALUE(MaxTexture2DWidth, p.maxTexture2D[0])
    VALUE(MaxTexture2DHeight, p.maxTexture2D[1])
    VALUE(MaxTexture3DWidth, p.maxTexture3D[0])
    VALUE(MaxTexture3DHeight, p.maxTexture3D[1])
    VALUE(MaxTexture3DDepth, p.maxTexture3D[2])
    VALUE(MaxTexture1DLayered, p.maxTexture1D)
    VALUE(MaxTexture1DMipmap, p.maxTexture1D)
    VALUE(MaxTexture2DGather, p.maxTexture2D[0])
    VALUE(MaxTexture2DLayered, p.maxTexture2D[0])
    VALUE(MaxTexture2DLinear, p.maxTexture2D[0])
    VALUE(MaxTexture2DMipmap, p.maxTexture2D[0])
    VALUE(MaxTexture3DAlt, p.maxTexture3D[0])
    VALUE(MaxTextureCubemap, p.maxTexture2D[0])
    VALUE(MaxTextureCubemapLayered, p.maxTexture2D[0])
    VALUE(MaxSurface1D, p.maxTexture1D)
    VALUE(MaxSurface1DLayered, p.maxTexture1D)
    VALUE(MaxSurface2D, p.maxTexture2D[0])
    VALUE(MaxSurface2DLayered, p.maxTexture2D[0])
    VALUE(MaxSurface3D, p.maxTexture3D[0])
    VALUE(MaxSurfaceCubemap, p.maxTexture2D[0])
    VALUE(MaxSurfaceCubemapLayered, p.maxTexture2D[0])
    VALUE(AccessPolicyMaxWindowSize, 0)
    VALUE(PersistingL2CacheMaxSize, 0)
    VALUE(ReservedSharedMemPerBlock, 0)
    VALUE(CooperativeMultiDeviceUnmatchedFunc, 1)
    VALUE(CooperativeMultiDeviceUnmatchedGridDim, 1)
    VALUE(CooperativeMultiDeviceUnmatchedBlockDim, 1)
    VALUE(CooperativeMultiDeviceUnmatchedSharedMem, 1)
#undef VALUE
  default: // among others texts, which no number tells
    break;
  }
  // Not in HIP 5.2's headers.
  switch (int(attribute)) {
  case hipDeviceAttributeMemoryPoolsSupported + 3: // MemoryPoolSupportedHandleTypes
    *value = 0;
    return result(hipSuccess);
  case hipDeviceAttributeMemoryPoolsSupported + 1: // VirtualMemoryManagementSupported
  case hipDeviceAttributeMemoryPoolsSupported + 2: // HostRegisterSupported
    *value = 1;
    return result(hipSuccess);
  case hipDeviceAttributeFineGrainSupport + 1: // WallClockRate
    *value = kWallClockKilohertz;
    return result(hipSuccess);
  }
  return result(hipErrorInvalidValue);
}
