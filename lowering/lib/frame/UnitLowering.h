// SPDX-License-Identifier: Apache-2.0
// The context of lowering one unit: the LLVM module that is being built and what all of its
// functions share.
#pragma once

#include "lowering/Lowering.h"
#include "lowering/lib/analysis/BarrierPlan.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/SharedHeaders.h"
#include "lowering/lib/analysis/SharedLayout.h"
#include "lowering/lib/analysis/Target.h"
#include "lowering/lib/analysis/WarpForm.h"
#include "lowering/lib/analysis/WarpMeetings.h"
#include "lowering/lib/frame/DebugInfo.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/IRBuilder.h"
#include <array>
#include <set>

namespace rubia::settings::SharedMemory {
extern const Word Device;
} // namespace rubia::settings::SharedMemory

namespace rubia::lowering {

class Experience;
struct PartialWarp;

/// Address spaces of LLVM's AMDGPU back end. AMDGPUUsage "Address Spaces".
enum AddressSpace : unsigned {
  kFlatSpace = 0,
  kGlobalSpace = 1,
  kSharedSpace = 3,
  kConstantSpace = 4,
  kPrivateSpace = 5,
};

/// Files of lowering/device/.
enum class DeviceLibrary : uint8_t { Driver, Matrices, Textures };

class UnitLowering {
public:
  UnitLowering(const ptx::Module &ptxModule, const Unit &unit, const Options &options,
               Target target, WarpFormDecision warpForm, llvm::Module &module);

  /// Lowers everything; problems are collected in diagnostics. Passes.cpp.
  void lowerAll();

  const ptx::Module &ptxModule;
  const Unit &unit;
  const Options &options;
  const Target target;
  const WarpFormDecision warpForm;
  llvm::Module &module;
  std::vector<ptx::Diagnostic> diagnostics;
  /// Not null: only what is reported is asked for (lowering/Judgement.h). The code is not complete.
  Experience *experience = nullptr;

  // ---------- Functions

  /// The LLVM function of a kernel or function of the unit; null for others.
  llvm::Function *functionFor(const ptx::Function &function);
  /// How values of parameters and results are passed between functions: a scalar as an integer of
  /// its size, anything else as an array of 32-bit words; a list of arguments (`.param .b8 list[]`)
  /// by its address.
  llvm::Type *passedType(const ptx::Variable &parameter) const;
  llvm::FunctionType *functionType(llvm::ArrayRef<const ptx::Variable *> results,
                                   llvm::ArrayRef<const ptx::Variable *> parameters, bool mayExit);
  /// The same of a function of the unit, with the address of the module's .local variables.
  llvm::FunctionType *calleeType(llvm::ArrayRef<const ptx::Variable *> results,
                                 llvm::ArrayRef<const ptx::Variable *> parameters, bool mayExit);
  /// Whether `exit` can be executed in the function or in one that it calls. Such a function
  /// returns one more value, an i1: whether the thread is to end.
  bool mayExit(const ptx::Function &function) const {
    return exiting.contains(&definitionOf(function));
  }
  /// The same of what is called through an address: either all functions of the unit whose address
  /// is taken are such, or none.
  bool indirectMayExit = false;

  /// .local variables of the module (before PTX 3.0) belong to a thread, so that the functions that
  /// a kernel calls see the same ones. If any function of the unit names one, the kernels have a
  /// frame for all of them, and every function of the unit takes its address as its last argument.
  bool passesModuleLocals = false;
  uint64_t moduleLocalBytes = 0;
  uint32_t moduleLocalAlignment = 4;
  uint64_t moduleLocalOffset(const ptx::Variable &variable) const {
    return moduleLocalOffsets.lookup(&variable);
  }

  /// Whether calls through an address may reach functions of the unit. Such a unit has to exist in
  /// one form only: addresses that lie in memory would lead from one form into the other.
  bool hasFunctionAddresses = false;

  /// An internal function that Rubia makes itself, without a body when it is made: what `name` was
  /// first asked for with.
  llvm::Function *ownFunction(llvm::StringRef name, llvm::FunctionType *type);
  /// The definition of a function of CUDA's driver (DeviceFunctions.h); null if the name is none.
  llvm::Function *driverFunction(llvm::StringRef name);
  /// The same of lowering/device/MatrixFunctions.cpp.
  llvm::Function *matrixFunction(llvm::StringRef name);
  /// The same of lowering/device/Textures.cpp.
  llvm::Function *textureFunction(llvm::StringRef name);
  /// Whether this is a library of lowering/device/, in which no thread waits for another one.
  bool isDeviceLibrary = false;
  /// The sampler's functions get a body that nobody may execute, which giveBody() replaces
  /// (lowering/LaterBodies.h).
  bool leavesBodies = false;
  /// What lowers them; null if there are none. It needs nothing but its options and the module.
  std::unique_ptr<UnitLowering> takeSampler() {
    return std::move(deviceFunctions[size_t(DeviceLibrary::Textures)]);
  }
  void giveBody(llvm::Function &function);

  /// The largest CTA that a kernel may be launched with.
  uint32_t maxThreads(const ptx::Function &kernel) const;

  // ---------- Variables

  /// Whether shared memory lies in device memory, in a slot that the CTA has (SharedSlot.h).
  bool sharedInMemory() const {
    return parent ? parent->sharedInMemory()
                  : forClusters ||
                        (options.code.is(settings::SharedMemory::Device) && sharedLayout.isUsed);
  }
  /// Whether a cluster may have several CTAs (ClusterSlots.h). Shared memory lies in device memory
  /// then.
  bool isForClusters() const { return parent ? parent->isForClusters() : forClusters; }
  /// Else: a .shared variable. All dynamic ones (`.extern .shared x[]`) are one.
  llvm::GlobalVariable *sharedVariable(const ptx::Variable &variable);
  /// An element of abi::kModuleTable, an i64.
  llvm::Value *loadModuleTable(llvm::IRBuilder<> &builder, unsigned slot);
  /// The slot of a module variable.
  unsigned slotOf(const ptx::Variable &variable) const;
  /// BarrierWords.
  llvm::GlobalVariable *barrierWords();
  /// The shared memory of %reserved_smem_offset_*.
  llvm::GlobalVariable *reservedShared();
  /// Where a .shared variable lies in the slot.
  uint32_t sharedOffset(const ptx::Variable &variable) const {
    return variable.incomplete ? uint32_t(sharedLayout.dynamic)
                               : sharedLayout.offsets.lookup(&variable);
  }
  /// What a CTA keeps in LDS of its slot (SharedSlot.cpp).
  llvm::GlobalVariable *slotWords();

  // ---------- Facts

  const BarrierPlan barriers;
  const SharedLayout sharedLayout;
  const bool namesClusters; // its code depends on how many CTAs a cluster has
  /// Who may meet in functions that are called.
  const std::optional<Group> calledMeeting;

  /// Of which only more than a judgement needs to know.
  WarpMeetings warpMeetings;
  /// Which branches divide warps, as hints.
  RowWarps rowWarps{unit};

  /// See FunctionLowering::flushesF32Denormals.
  bool flushesF32Denormals = false;
  /// Whether Options::safeAtomics would have made other code.
  bool hasFastAtomics = false;

  DebugInfo debugInfo;

  ptx::Diagnostic diagnosticAt(uint32_t place, const ptx::Function &function,
                               const llvm::Twine &message, bool unsupported) const;

  /// Where an instruction stands, for people: "k:17", and the line of the source if there are such.
  /// `source`: the instruction whose line of the source it is, if another one.
  std::string describe(const ptx::Function &function, const ptx::Instruction &instruction,
                       const ptx::Instruction *source = nullptr) const;
  /// Adds to the metadata's "traps" and returns the index, TrapRecord::place.
  unsigned addTrap(std::string what);
  /// Loops that are watched (SpinLoops.h), for the metadata.
  std::vector<std::string> spinLoops;
  /// Of each function the first instruction that ends the kernel if it is executed, for the
  /// metadata.
  std::vector<std::string> refused;
  /// How the unit's products of matrices are computed, for the metadata: "wmma" and "mfma" by the
  /// target's unit; "fma", "dot", "software": MmaSoftware.h.
  std::set<std::string> matrixRoutes;

  /// The text of `!rubia.metadata`. docs/architecture.md: Metadata.
  std::string metadata();

private:
  std::vector<std::string> describePartialWarps();
  void report(ptx::Diagnostic diagnostic) { diagnostics.push_back(std::move(diagnostic)); }
  void declareFunction(const ptx::Function &function);
  void setAttributes(const ptx::Function &function, llvm::Function &llvmFunction);
  void setCommonAttributes(llvm::Function &llvmFunction) const;
  void lowerBody(const ptx::Function &function);
  void findAddressesAndCalls();
  void findModuleLocals();
  void makeFunctionTable();
  void findExitingFunctions();
  bool chooseDenormalMode() const;
  void checkKernel(const ptx::Function &kernel);

  llvm::Function *deviceFunction(DeviceLibrary library, llvm::StringRef name);
  std::unique_ptr<UnitLowering> makeLibrary(DeviceLibrary library);
  void leaveRegisters(llvm::Function &sampler) const;
  void lowerSampler(const ptx::Function &function);

  /// Device functions are lowered by a UnitLowering for each library. Its parent has the module
  /// table; the sampler, which needs none, has no parent.
  std::array<std::unique_ptr<UnitLowering>, 3> deviceFunctions;
  UnitLowering *parent = nullptr;
  const bool forClusters;

  llvm::DenseMap<const ptx::Function *, llvm::Function *> functions;
  llvm::DenseMap<const ptx::Variable *, llvm::GlobalVariable *> sharedVariables;
  llvm::DenseMap<const ptx::Variable *, unsigned> slots;
  llvm::DenseMap<const ptx::Variable *, uint64_t> moduleLocalOffsets;
  llvm::DenseSet<const ptx::Function *> directlyCalled, addressTaken, exiting;
  llvm::GlobalVariable *moduleTable = nullptr;
  llvm::GlobalVariable *dynamicShared = nullptr;
  llvm::GlobalVariable *barrierVariable = nullptr;
  llvm::GlobalVariable *reserved = nullptr;
  llvm::GlobalVariable *slotVariable = nullptr;
  std::set<unsigned> slotsRead;
  std::vector<std::string> traps;
};

} // namespace rubia::lowering
