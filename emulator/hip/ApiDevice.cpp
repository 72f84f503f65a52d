// Initialisation, devices, errors. HIP: "Initialization and Version", "Device Management", "Error
// Handling".
#include "emulator/hip/Api.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace rubia::emulator;

namespace rubia::emulator {

static thread_local hipError_t lastError = hipSuccess;

hipError_t result(hipError_t error) {
  if (error != hipSuccess)
    lastError = error;
  return error;
}

hipError_t usable() {
  Machine &machine = Machine::instance();
  if (machine.devices.empty())
    return hipErrorNoDevice;
  return hipError_t(currentDevice().stickyError.load());
}

static hipError_t codeOf(const llvm::Error &error) {
  if (!error.isA<Fault>())
    return hipErrorInvalidValue;
  hipError_t code = hipErrorLaunchFailure;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
    switch (static_cast<const Fault &>(info).kind) {
    case Fault::OutOfBounds:
    case Fault::UseAfterFree:
    case Fault::LdsOutOfBounds:
    case Fault::ScratchOverflow:
      code = hipErrorIllegalAddress;
      break;
    case Fault::Misaligned:
    case Fault::Trap:
    case Fault::BarrierDivergence:
    case Fault::Deadlock:
    case Fault::IllegalInstruction:
      code = hipErrorLaunchFailure;
      break;
    }
  });
  return code;
}

hipError_t reportFailure(Device &device, llvm::Error error) {
  hipError_t code = codeOf(error);
  llvm::errs() << "rubia emulator: " << llvm::toString(std::move(error)) << "\n";
  int none = hipSuccess;
  device.stickyError.compare_exchange_strong(none, code);
  return code;
}

} // namespace rubia::emulator

// How others tell the emulator from AMD's library.
HIP_EXPORT const char *rubiaEmulatorVersion() { return "1"; }

HIP_EXPORT hipError_t hipInit(unsigned flags) {
  if (flags)
    return result(hipErrorInvalidValue);
  Machine &machine = Machine::instance();
  if (machine.devices.empty()) {
    llvm::errs() << "rubia emulator: " << machine.trouble << "\n";
    return result(hipErrorNoDevice);
  }
  return hipSuccess;
}

HIP_EXPORT hipError_t hipRuntimeGetVersion(int *version) {
  if (!version)
    return result(hipErrorInvalidValue);
  *version = HIP_VERSION;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }

HIP_EXPORT hipError_t hipGetDeviceCount(int *count) {
  if (!count)
    return result(hipErrorInvalidValue);
  *count = Machine::instance().devices.size();
  return *count ? hipSuccess : result(hipErrorNoDevice);
}

static bool isDevice(int device) {
  return device >= 0 && size_t(device) < Machine::instance().devices.size();
}

static Device &deviceAt(int device) { return *Machine::instance().devices[device]; }

HIP_EXPORT hipError_t hipSetDevice(int device) {
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  currentDeviceOrdinal() = device;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipGetDevice(int *device) {
  if (!device)
    return result(hipErrorInvalidValue);
  *device = currentDeviceOrdinal();
  return hipSuccess;
}

HIP_EXPORT hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device) {
  if (!name || length <= 0)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  snprintf(name, length, "%s", deviceAt(device).model.name);
  return hipSuccess;
}

HIP_EXPORT hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device) {
  if (!bytes)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  *bytes = deviceAt(device).model.memoryBytes;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipDeviceGetPCIBusId(char *text, int length, int device) {
  if (!text || length < 13)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  snprintf(text, length, "0000:%02x:00.0", device + 1);
  return hipSuccess;
}

HIP_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device) {
  if (!properties)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  const DeviceModel &model = deviceAt(device).model;
  hipDeviceProp_t p;
  memset(&p, 0, sizeof(p));
  snprintf(p.name, sizeof(p.name), "%s", model.name);
  snprintf(p.gcnArchName, sizeof(p.gcnArchName), "%s", model.arch.c_str());
  p.totalGlobalMem = model.memoryBytes;
  p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = model.ldsBytes;
  p.regsPerBlock = 65536;
  p.warpSize = model.waveSize;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = p.maxThreadsDim[2] = 1024;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.clockRate = p.memoryClockRate = model.clockKilohertz;
  p.memoryBusWidth = 256;
  p.totalConstMem = model.memoryBytes;
  // gfx1100 is 11.0, gfx90a 9.0: the last two digits are minor and stepping.
  unsigned major = 0;
  llvm::StringRef(model.arch).drop_front(3).drop_back(2).getAsInteger(10, major);
  p.major = int(major);
  p.minor = model.arch[model.arch.size() - 2] - '0';
  p.multiProcessorCount = model.computeUnits;
  p.l2CacheSize = 4 << 20;
  p.maxThreadsPerMultiProcessor = 2048;
  p.concurrentKernels = 1;
  p.pciBusID = device + 1;
  p.canMapHostMemory = 1;
  p.managedMemory = 1;
  p.memPitch = 0x7fffffff;
  *properties = p;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute,
                                            int device) {
  if (!value)
    return result(hipErrorInvalidValue);
  hipDeviceProp_t p;
  if (hipError_t error = hipGetDeviceProperties(&p, device))
    return error;
  switch (attribute) {
  case hipDeviceAttributeClockRate:
    *value = p.clockRate;
    return hipSuccess;
  case hipDeviceAttributeMemoryClockRate:
    *value = p.memoryClockRate;
    return hipSuccess;
  case hipDeviceAttributeMemoryBusWidth:
    *value = p.memoryBusWidth;
    return hipSuccess;
  case hipDeviceAttributeMultiprocessorCount:
    *value = p.multiProcessorCount;
    return hipSuccess;
  case hipDeviceAttributeMaxThreadsPerBlock:
    *value = p.maxThreadsPerBlock;
    return hipSuccess;
  case hipDeviceAttributeMaxThreadsPerMultiProcessor:
    *value = p.maxThreadsPerMultiProcessor;
    return hipSuccess;
  case hipDeviceAttributeMaxRegistersPerBlock:
    *value = p.regsPerBlock;
    return hipSuccess;
  case hipDeviceAttributeMaxSharedMemoryPerBlock:
    *value = int(p.sharedMemPerBlock);
    return hipSuccess;
  case hipDeviceAttributeL2CacheSize:
    *value = p.l2CacheSize;
    return hipSuccess;
  case hipDeviceAttributeWarpSize:
    *value = p.warpSize;
    return hipSuccess;
  case hipDeviceAttributePciBusId:
    *value = p.pciBusID;
    return hipSuccess;
  case hipDeviceAttributePciDeviceId:
  case hipDeviceAttributePciDomainID:
  case hipDeviceAttributeComputeMode:
    *value = 0;
    return hipSuccess;
  case hipDeviceAttributeCooperativeLaunch: // no grid-wide barrier: not all workgroups are resident
    *value = 0;
    return hipSuccess;
  case hipDeviceAttributeConcurrentKernels:
  case hipDeviceAttributeCanMapHostMemory:
  case hipDeviceAttributeManagedMemory:
    *value = 1;
    return hipSuccess;
  default:
    return result(hipErrorInvalidValue);
  }
}

HIP_EXPORT hipError_t hipDeviceSynchronize() {
  if (hipError_t error = usable())
    return result(error);
  currentDevice().streams.synchronizeAll();
  return result(usable());
}

HIP_EXPORT hipError_t hipGetLastError() {
  hipError_t error = rubia::emulator::lastError;
  rubia::emulator::lastError = hipSuccess;
  return error;
}

HIP_EXPORT hipError_t hipPeekAtLastError() { return rubia::emulator::lastError; }

HIP_EXPORT const char *hipGetErrorName(hipError_t error) {
  switch (error) {
#define NAME(X)                                                                                    \
  case X:                                                                                          \
    return #X;
    NAME(hipSuccess)
    NAME(hipErrorInvalidValue)
    NAME(hipErrorOutOfMemory)
    NAME(hipErrorNotInitialized)
    NAME(hipErrorInvalidDevice)
    NAME(hipErrorNoDevice)
    NAME(hipErrorInvalidImage)
    NAME(hipErrorInvalidHandle)
    NAME(hipErrorInvalidConfiguration)
    NAME(hipErrorNotFound)
    NAME(hipErrorNotReady)
    NAME(hipErrorNotSupported)
    NAME(hipErrorIllegalAddress)
    NAME(hipErrorLaunchFailure)
    NAME(hipErrorHostMemoryAlreadyRegistered)
    NAME(hipErrorHostMemoryNotRegistered)
#undef NAME
  default:
    return "hipErrorUnknown";
  }
}

HIP_EXPORT const char *hipGetErrorString(hipError_t error) { return hipGetErrorName(error); }
