// SPDX-License-Identifier: Apache-2.0
// The one file that knows HIP: its functions, looked up in a library that is opened at run time
// (libamdhip64, or Rubia's emulator, which exports the same names), and the few types and numbers
// that we use. Structures differ between HIP 5, 6 and 7, so attributes are preferred; the device
// properties' one field that we need is read at its place per version.
//
// HipFunctions.def has the functions that the runtime calls, and this header has none of its rows:
// a file names those that it calls, by declaring them as HIP does. The linker refuses a name that
// is no row, or has other parameters there.
#pragma once

#include "settings/Settings.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace rubia::runtime {

/// hipError_t, as far as the runtime tells them apart.
enum HipError : int {
  kHipSuccess = 0,
  kHipErrorInvalidValue = 1,
  kHipErrorOutOfMemory = 2,
  kHipErrorNotInitialized = 3,
  kHipErrorNoDevice = 100,
  kHipErrorInvalidDevice = 101,
  kHipErrorInvalidImage = 200,
  kHipErrorNotFound = 500,
  kHipErrorNotReady = 600,
  kHipErrorIllegalAddress = 700,
  kHipErrorLaunchFailure = 719,
  kHipErrorNotSupported = 801,
};

/// hipDeviceAttribute_t differs between versions in its order; see attributeNumber in Hip.cpp.
enum class HipAttribute {
  ClockRate,
  ComputeMode,
  ConcurrentKernels,
  CooperativeLaunch,
  L2CacheSize,
  MaxSharedMemoryPerBlock,
  MaxThreadsPerMultiProcessor,
  MemoryBusWidth,
  MemoryClockRate,
  MultiprocessorCount,
  PciBusId,
  PciDeviceId,
  PciDomainId,
  WarpSize,
  MaxThreadsPerBlock,
  MaxRegistersPerBlock,
};

inline constexpr int kHipLimitStackSize = 0;  // hipLimit_t
inline constexpr int kHipSharedSizeBytes = 1; // hipFunction_attribute

enum HipMemcpyKind : int {
  kHipMemcpyHostToHost,
  kHipMemcpyHostToDevice,
  kHipMemcpyDeviceToHost,
  kHipMemcpyDeviceToDevice,
  kHipMemcpyDefault
};

enum HipStreamWaitValue : unsigned {
  kHipStreamWaitValueGte,
  kHipStreamWaitValueEq,
  kHipStreamWaitValueAnd,
  kHipStreamWaitValueNor
};

struct HipIpcHandle { // of memory and events; that of exported pointers of pools is as large
  char bytes[64];
};

inline void *const kHipLaunchParamBufferPointer = reinterpret_cast<void *>(1);
inline void *const kHipLaunchParamBufferSize = reinterpret_cast<void *>(2);
inline void *const kHipLaunchParamEnd = reinterpret_cast<void *>(3);

// Those that many files call. They are names for Hip::call, and have no body.
int hipSetDevice(int device);
int hipGetDevice(int *device);
int hipMalloc(void **pointer, size_t bytes);
int hipFree(void *pointer);
int hipHostMalloc(void **pointer, size_t bytes, unsigned flags);
int hipHostFree(void *pointer);
int hipHostGetDevicePointer(void **device, void *host, unsigned flags);
int hipMemGetAddressRange(void **base, size_t *bytes, void *pointer);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipStreamDestroy(void *stream);
int hipStreamSynchronize(void *stream);
int hipStreamWaitEvent(void *stream, void *event, unsigned flags);
int hipEventCreateWithFlags(void **event, unsigned flags);
int hipEventDestroy(void *event);
int hipEventRecord(void *event, void *stream);
int hipEventQuery(void *event);
int hipModuleLaunchCooperativeKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                     unsigned blockX, unsigned blockY, unsigned blockZ,
                                     unsigned sharedBytes, void *stream, void **parameters);

class Hip {
public:
  Hip(); // without a library: no function is there
  ~Hip();

  /// By RUBIA_DEVICE and RUBIA_HIP_LIBRARY: libamdhip64.so.{7,6,5} if it finds a device, else the
  /// emulator beside this library, which is told what is set. Without a device file
  /// of GPUs, libamdhip64 is loaded only on demand: it takes 15 ms. The first call decides for the
  /// process. Never closed: HIP libraries do not survive dlclose. The error names what was tried
  /// and why not.
  static llvm::Expected<const Hip *> open(const settings::Settings &settings = {});

  /// The emulator's path if open() takes it for certain, known without loading a library. Nothing:
  /// open() has to try.
  static std::optional<std::string> certainEmulator(const settings::Settings &settings);

  std::string path; // of the library
  bool isEmulator = false;
  int version = 0; // hipRuntimeGetVersion: 5.2 is 50221153

  /// gcnArchName: "gfx1100", "gfx90a:sramecc+:xnack-".
  llvm::Expected<std::string> archName(int device) const;
  int attribute(HipAttribute attribute, int device) const; // 0 if the library does not know it

  /// hip.call<hipFree>(pointer): HIP's result. An optional function must be there.
  template <auto &Function, typename... Arguments> int call(Arguments &&...arguments) const {
    return slot<Function>()(std::forward<Arguments>(arguments)...);
  }
  /// Of an optional function.
  template <auto &Function> bool has() const { return slot<Function>(); }
  /// The function's address in the library. Tests put functions of their own there.
  template <auto &Function> decltype(&Function) &slot() const;
  const char *(*hipGetErrorString)(int error) = nullptr;

  struct Functions; // a member for each row, in Hip.cpp

private:
  std::unique_ptr<Functions> functions;
};

/// Tells the emulator that this allocation is not the program's: it is no leak.
void ownedByRuntime(const Hip &hip, void *pointer);

} // namespace rubia::runtime
