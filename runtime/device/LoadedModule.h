// SPDX-License-Identifier: Apache-2.0
// A module on a device: its state (variables, trap record) in device memory, its units loaded when
// first needed. Used by the CUDA driver API and by `rubia launch`.
#pragma once

#include "lowering/Abi.h"
#include "runtime/cache/UnitVariants.h"
#include "runtime/compiler/Compiler.h"
#include "runtime/device/DeviceServices.h"
#include "runtime/device/Hip.h"
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rubia::runtime {

struct LaunchShape {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  /// A cooperative launch: all CTAs at once, with this workspace for grid.sync(). Else 0, and the
  /// launch has the module's.
  uint64_t gridWorkspace = 0;
  uint32_t cluster[3] = {0, 0, 0}; // CTAs of a cluster, if the launch gives its size
  /// Launches that were made earlier wait for it: it cannot take its turn behind them.
  bool isInBody = false;
};

/// The CTAs of a cluster in x, y and z: what the kernel requires, or what the launch gives.
std::array<uint32_t, 3> clusterOf(const Manifest::Kernel &kernel, const LaunchShape &shape);
/// All of them.
uint64_t ctasOf(const std::array<uint32_t, 3> &cluster);

/// Why a launch was refused, for the caller to map to a driver code.
class LaunchError : public llvm::ErrorInfo<LaunchError> {
public:
  static char ID;
  enum class Kind {
    NotFound,
    CannotCompile,
    InvalidShape,
    TooManyThreads, ///< for the registers or the warp form of the code
    InvalidCluster,
    ClusterInBody,
    OutOfResources,
    System,
    Hip
  };
  Kind kind;
  int hipError = 0; // Kind::Hip
  std::string message;
  LaunchError(Kind kind, std::string message, int hipError = 0)
      : kind(kind), hipError(hipError), message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

class AtomicLocks;

class LoadedModule {
public:
  /// `image` must keep its bytes, or who calls does; `services` must outlive the module. The module
  /// belongs to HIP's current device; all calls must be made with that device current. `compiler`
  /// is not asked for anything after the module is gone.
  static llvm::Expected<std::unique_ptr<LoadedModule>>
  load(const Hip &hip, ModuleImage image, DeviceServices &services,
       Compiler &compiler = Compiler::instance());
  /// The same for a code object that `rubia compile` has made, with all of its kernels. The error:
  /// it is none of those, or reads variables of its module, which are not in it.
  static llvm::Expected<std::unique_ptr<LoadedModule>>
  loadCodeObject(const Hip &hip, std::shared_ptr<const std::vector<uint8_t>> code,
                 DeviceServices &services, Compiler &compiler = Compiler::instance());
  ~LoadedModule(); // frees device memory, unloads code

  const Manifest &manifest() const { return *contents; }

  struct Global {
    void *address;
    uint64_t size;
  };
  /// Allocates and initialises the module's variables at the first call.
  llvm::Expected<Global> global(llvm::StringRef name);

  /// The HIP function of a kernel: compiles and loads its unit at the first call.
  llvm::Expected<void *> function(const Manifest::Kernel &kernel);

  /// The same for a launch: of the variant that it needs.
  llvm::Error prepare(const Manifest::Kernel &kernel, const LaunchShape &shape,
                      llvm::ArrayRef<uint8_t> parameters);

  /// `parameters` holds kernel.parameterBytes bytes, laid out as the manifest says. Asynchronous on
  /// `stream`.
  llvm::Error launch(const Manifest::Kernel &kernel, const LaunchShape &shape,
                     llvm::ArrayRef<uint8_t> parameters, void *stream);

  /// The most threads of a CTA in the form that the kernel is compiled to. Compiles the kernel's
  /// unit at the first call.
  llvm::Expected<uint32_t> maxThreads(const Manifest::Kernel &kernel);

  /// How many CTAs of this size a multiprocessor holds at once: HIP's answer for the workgroup that
  /// is dispatched. Compiles the kernel's unit at the first call.
  /// `inClusters`: of several.
  llvm::Expected<int> residentCtas(const Manifest::Kernel &kernel, uint32_t threads,
                                   uint32_t dynamicSharedBytes, bool inClusters = false);

  /// Copies pointers to values (cuLaunchKernel's kernelParams) into a parameter buffer.
  static std::vector<uint8_t> pack(const Manifest::Kernel &kernel, void *const *values);

  /// What the first trapping thread left behind, and clears it; nullopt: nothing. The record lies
  /// in pinned host memory: this waits for nothing and works on a device that has faulted.
  struct Trap {
    abi::TrapReason reason; // the text of an assertion is printed by DeviceServices
    std::string text;
  };
  std::optional<Trap> takeTrap();

private:
  LoadedModule() = default;
  static llvm::Expected<std::unique_ptr<LoadedModule>>
  onDevice(const Hip &hip, DeviceServices &services, Compiler &compiler);
  llvm::Expected<std::shared_ptr<const std::vector<uint8_t>>>
  codeOf(uint32_t number, const UnitVariant &variant) const;
  struct Unit;
  struct Compiled; // a kernel that is ready to run
  llvm::Expected<Compiled> compiled(const Manifest::Kernel &kernel, uint64_t threads,
                                    uint32_t dynamicSharedBytes = 0, bool inClusters = false,
                                    llvm::ArrayRef<uint8_t> parameters = {});
  llvm::Expected<bool> exceedsLds(const Unit &unit, const Manifest::Kernel &kernel, void *function,
                                  uint32_t dynamicSharedBytes);
  llvm::Error checkCluster(const Manifest::Kernel &kernel, const LaunchShape &shape);
  llvm::Error initializeState();
  llvm::Error makeState();
  llvm::StringRef nameOfUnit(uint32_t number) const;
  llvm::Expected<std::unique_ptr<Unit>> compileUnit(uint32_t number, const UnitVariant &variant);
  llvm::Expected<Unit *> loadUnit(uint32_t number, const UnitVariant &variant);
  llvm::Error fillModuleTable(const Unit &unit);
  void provideFunctionAddresses();
  llvm::Error writeFunctionAddresses(const Unit &unit);
  void releaseState();
  const Hip *hip = nullptr;
  Compiler *compiler = nullptr;
  DeviceServices *services = nullptr;
  ModuleImage image;
  std::shared_ptr<const std::vector<uint8_t>> ownCode; // null: the image is compiled
  std::string arch;
  std::shared_ptr<const Manifest> contents;
  std::mutex mutex; // guards what follows; not held while anything is compiled
  bool initialized = false;
  bool functionsWritten = false; // their addresses, to the variables that hold them
  bool functionsRefused = false; // they never will be
  void *state = nullptr;         // a workspace and the variables, in one allocation
  void *trapRecord = nullptr;    // abi::TrapRecord, pinned host memory
  void *trapRecordOnDevice = nullptr;
  std::shared_ptr<AtomicLocks> atomicLocks; // null until a unit needs them
  std::vector<void *> addresses;            // of the variables
  std::vector<void *> managed;              // allocations of their own
  std::vector<std::unique_ptr<Unit>> units; // by number and variant
};

} // namespace rubia::runtime
