// SPDX-License-Identifier: Apache-2.0
// What went wrong: the last error of a thread, the sticky one of a device, and names. HIP: "Error
// Handling".
#include "emulator/hip/Api.h"
#include "emulator/hip/api/Version.h"
#include "input/Printable.h"
#include "input/Writing.h"
#include <utility>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace rubia::emulator::hip {

// What hipGetLastError gives, and what hipExtGetLastError does: how the last call ended.
static thread_local hipError_t lastError = hipSuccess, lastResult = hipSuccess;

// Until HIP 7 both are the same: programs probe, fail, and ask after the next launch. Since then
// success hides no error, and what is not ready is none (HIP: "HIP API 7.0 changes").
hipError_t result(hipError_t error) {
  lastResult = error;
  if (hipMajorVersion() < 7 || (error != hipSuccess && error != hipErrorNotReady))
    lastError = error;
  return error;
}

void complain(const llvm::Twine &text) {
  input::tell("rubia emulator: " + input::printable(text.str()) + "\n");
}

hipError_t noDevice() {
  static std::once_flag said;
  std::call_once(said, [] { complain(Machine::instance().problem); });
  return hipErrorNoDevice;
}

hipError_t usable() {
  Machine &machine = Machine::instance();
  if (machine.devices.empty())
    return noDevice();
  return hipError_t(currentDevice().stickyError.load());
}

static hipError_t codeOf(const llvm::Error &error) {
  hipError_t code = hipErrorInvalidValue;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
    if (!info.isA<Fault>())
      return;
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
    case Fault::UnwaitedRegister:
    case Fault::DataRace:
    case Fault::Uninitialised:
    case Fault::AtomicOnHostMemory:
    case Fault::WarpHazard:
    case Fault::InvalidMask:
    case Fault::ImageResource:
      code = hipErrorLaunchFailure;
      break;
    }
  });
  return code;
}

hipError_t reportFailure(Device &device, llvm::Error error) {
  hipError_t code = codeOf(error);
  // At once: other devices may have something to say too.
  complain(llvm::toString(std::move(error)));
  int none = hipSuccess;
  device.stickyError.compare_exchange_strong(none, code);
  return code;
}

} // namespace rubia::emulator::hip

HIP_EXPORT hipError_t hipGetLastError() {
  lastResult = hipSuccess;
  return std::exchange(lastError, hipSuccess);
}

#pragma clang diagnostic ignored "-Wmissing-prototypes" // it is not in HIP 5.2's headers
HIP_EXPORT hipError_t hipExtGetLastError() {
  lastError = hipSuccess;
  return std::exchange(lastResult, hipSuccess);
}

HIP_EXPORT hipError_t hipPeekAtLastError() { return lastError; }

static constexpr struct {
  hipError_t error;
  const char *name, *text;
} kErrors[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorNotInitialized, "hipErrorNotInitialized", "not initialized"},
    {hipErrorDeinitialized, "hipErrorDeinitialized", "deinitialized"},
    {hipErrorProfilerDisabled, "hipErrorProfilerDisabled", "profiler disabled"},
    {hipErrorProfilerNotInitialized, "hipErrorProfilerNotInitialized", "profiler not initialized"},
    {hipErrorProfilerAlreadyStarted, "hipErrorProfilerAlreadyStarted", "profiler already started"},
    {hipErrorProfilerAlreadyStopped, "hipErrorProfilerAlreadyStopped", "profiler already stopped"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration"},
    {hipErrorInvalidPitchValue, "hipErrorInvalidPitchValue", "invalid pitch value"},
    {hipErrorInvalidSymbol, "hipErrorInvalidSymbol", "invalid symbol"},
    {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {hipErrorInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection", "invalid memcpy direction"},
    {hipErrorInsufficientDriver, "hipErrorInsufficientDriver", "insufficient driver"},
    {hipErrorMissingConfiguration, "hipErrorMissingConfiguration", "missing configuration"},
    {hipErrorPriorLaunchFailure, "hipErrorPriorLaunchFailure", "prior launch failure"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction",
     "no such kernel for this device"},
    {hipErrorNoDevice, "hipErrorNoDevice", "no device"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "not a code object for this device"},
    {hipErrorInvalidContext, "hipErrorInvalidContext", "invalid context"},
    {hipErrorContextAlreadyCurrent, "hipErrorContextAlreadyCurrent", "context already current"},
    {hipErrorMapFailed, "hipErrorMapFailed", "map failed"},
    {hipErrorUnmapFailed, "hipErrorUnmapFailed", "unmap failed"},
    {hipErrorArrayIsMapped, "hipErrorArrayIsMapped", "array is mapped"},
    {hipErrorAlreadyMapped, "hipErrorAlreadyMapped", "already mapped"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu", "no code object for this device"},
    {hipErrorAlreadyAcquired, "hipErrorAlreadyAcquired", "already acquired"},
    {hipErrorNotMapped, "hipErrorNotMapped", "not mapped"},
    {hipErrorNotMappedAsArray, "hipErrorNotMappedAsArray", "not mapped as array"},
    {hipErrorNotMappedAsPointer, "hipErrorNotMappedAsPointer", "not mapped as pointer"},
    {hipErrorECCNotCorrectable, "hipErrorECCNotCorrectable",
     "an ECC error that cannot be corrected"},
    {hipErrorUnsupportedLimit, "hipErrorUnsupportedLimit", "unsupported limit"},
    {hipErrorContextAlreadyInUse, "hipErrorContextAlreadyInUse", "context already in use"},
    {hipErrorPeerAccessUnsupported, "hipErrorPeerAccessUnsupported", "peer access unsupported"},
    {hipErrorInvalidKernelFile, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {hipErrorInvalidGraphicsContext, "hipErrorInvalidGraphicsContext", "invalid graphics context"},
    {hipErrorInvalidSource, "hipErrorInvalidSource", "invalid source"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorSharedObjectSymbolNotFound, "hipErrorSharedObjectSymbolNotFound",
     "shared object symbol not found"},
    {hipErrorSharedObjectInitFailed, "hipErrorSharedObjectInitFailed", "shared object init failed"},
    {hipErrorOperatingSystem, "hipErrorOperatingSystem", "operating system"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid handle"},
    {hipErrorIllegalState, "hipErrorIllegalState", "illegal state"},
    {hipErrorNotFound, "hipErrorNotFound", "not found"},
    {hipErrorNotReady, "hipErrorNotReady", "not ready yet"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress",
     "a kernel accessed memory that is not there"},
    {hipErrorLaunchOutOfResources, "hipErrorLaunchOutOfResources", "launch out of resources"},
    {hipErrorLaunchTimeOut, "hipErrorLaunchTimeOut", "launch time out"},
    {hipErrorPeerAccessAlreadyEnabled, "hipErrorPeerAccessAlreadyEnabled",
     "peer access already enabled"},
    {hipErrorPeerAccessNotEnabled, "hipErrorPeerAccessNotEnabled", "peer access not enabled"},
    {hipErrorSetOnActiveProcess, "hipErrorSetOnActiveProcess", "set on active process"},
    {hipErrorContextIsDestroyed, "hipErrorContextIsDestroyed", "context is destroyed"},
    {hipErrorAssert, "hipErrorAssert", "assert"},
    {hipErrorHostMemoryAlreadyRegistered, "hipErrorHostMemoryAlreadyRegistered",
     "host memory already registered"},
    {hipErrorHostMemoryNotRegistered, "hipErrorHostMemoryNotRegistered",
     "host memory not registered"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "a kernel failed"},
    {hipErrorCooperativeLaunchTooLarge, "hipErrorCooperativeLaunchTooLarge",
     "cooperative launch too large"},
    {hipErrorNotSupported, "hipErrorNotSupported", "not supported"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "stream capture unsupported"},
    {hipErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated",
     "stream capture invalidated"},
    {hipErrorStreamCaptureMerge, "hipErrorStreamCaptureMerge", "stream capture merge"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched", "stream capture unmatched"},
    {hipErrorStreamCaptureUnjoined, "hipErrorStreamCaptureUnjoined", "stream capture unjoined"},
    {hipErrorStreamCaptureIsolation, "hipErrorStreamCaptureIsolation", "stream capture isolation"},
    {hipErrorStreamCaptureImplicit, "hipErrorStreamCaptureImplicit", "stream capture implicit"},
    {hipErrorCapturedEvent, "hipErrorCapturedEvent", "captured event"},
    {hipErrorStreamCaptureWrongThread, "hipErrorStreamCaptureWrongThread",
     "stream capture wrong thread"},
    {hipErrorGraphExecUpdateFailure, "hipErrorGraphExecUpdateFailure", "graph exec update failure"},
    {hipErrorUnknown, "hipErrorUnknown", "unknown error"},
    {hipErrorRuntimeMemory, "hipErrorRuntimeMemory", "runtime memory"},
    {hipErrorRuntimeOther, "hipErrorRuntimeOther", "runtime other"},
};

HIP_EXPORT const char *hipGetErrorName(hipError_t error) {
  for (const auto &known : kErrors)
    if (known.error == error)
      return known.name;
  return "hipErrorUnknown";
}

HIP_EXPORT const char *hipGetErrorString(hipError_t error) {
  for (const auto &known : kErrors)
    if (known.error == error)
      return known.text;
  return "unknown error";
}
