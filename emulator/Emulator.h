// SPDX-License-Identifier: Apache-2.0
// The public interface of the emulator: real AMDGPU code objects (the ELF bytes that a GPU would
// load) executed on the CPU.
//
// Device addresses are host addresses, so a host program may read and write allocations directly.
// Every access that a kernel makes is checked against the registry in `Memory`; what is wrong with
// a launch is a `Fault`, an llvm::Error with the kernel, workgroup, thread, pc and disassembly.
#pragma once

#include "emulator/Profile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rubia::settings {
class Settings;
}

namespace rubia::emulator {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

enum class MemoryKind : uint8_t { Device, HostPinned, Managed, Code };

/// A set of devices, a bit for each. The 65th shares that of the first, and so on.
using DeviceSet = uint64_t;
constexpr DeviceSet kAllDevices = ~DeviceSet(0);
constexpr DeviceSet setOf(unsigned device) { return DeviceSet(1) << (device % 64); }

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0; // in bytes, as asked for
  MemoryKind kind = MemoryKind::Device;
  bool owned = true;          // false: registered host memory, which free() leaves alone
  bool coarseGrained = false; // memory of the host that devices cache: atomics reach their caches
  DeviceSet devices = kAllDevices; // whose kernels may access it
  uint64_t end() const { return address + size; }
};

/// What this process is set to: the environment, with what setHostSettings() put in front of it. A
/// library that programs load has no other way to be told.
const settings::Settings &hostSettings();
/// To be called before anything else.
void setHostSettings(settings::Settings settings);

/// What hardware lets through and the emulator reports unless it is asked not to.
struct Bounds {
  /// Memory of the device is checked in whole pages of 4 KiB: what overruns an allocation by less
  /// than that is no fault. Of a Memory.
  bool pages = false;
  /// Loads beyond the end of LDS give 0, stores there are dropped. Of a launch.
  bool lds = false;
};
/// What RUBIA_EMULATOR_BOUNDS asks for; unknown words are an error.
llvm::Expected<Bounds> boundsOf(const settings::Settings &settings);

/// The device's address space: which host address ranges a kernel may touch. All members may be
/// called from any thread, also while kernels run.
class Memory {
public:
  Memory(); // with the Bounds of hostSettings(); what is wrong with these, run() says
  explicit Memory(Bounds bounds);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// `size` bytes at an address aligned to `alignment` (a power of two), with unmapped or unused
  /// red zones around them. Contents are unspecified. A size of 0 is an allocation of no bytes with
  /// an address of its own.
  llvm::Expected<void *> allocate(uint64_t size, MemoryKind kind, uint64_t alignment = 256);
  /// The same with zeros in it, which cost nothing until they are written.
  llvm::Expected<void *> allocateZeroed(uint64_t size, MemoryKind kind, uint64_t alignment = 256);
  /// Makes [address, address + size) of the host accessible to kernels until free() or forget().
  llvm::Error registerHost(void *address, uint64_t size, MemoryKind kind = MemoryKind::HostPinned);
  /// Ends the allocation that starts at `address`. An error if none does. Owned memory stays in
  /// quarantine for a while, so that a use after free is reported as such.
  llvm::Error free(void *address);
  /// The live allocation that contains `address`, which may lie anywhere inside it.
  std::optional<Allocation> find(const void *address) const;
  /// Bytes in live owned allocations.
  uint64_t bytesInUse() const;

  /// Changes whenever the set of live allocations does: caches of find() compare it.
  uint64_t generation() const;
  /// What kernels may access around `address`: the live allocation that contains it, or its pages.
  std::optional<Allocation> lookup(uint64_t address) const;
  /// The allocation that contained `address` until it was freed, if that is recent.
  std::optional<Allocation> findFreed(uint64_t address) const;
  /// The live allocation nearest to `address`, for messages.
  std::optional<Allocation> nearest(uint64_t address) const;
  /// Says of the allocation that contains `address` what Allocation::coarseGrained says.
  void setCoarseGrained(const void *address, bool coarseGrained);
  /// Says which devices' kernels may access the allocation that contains `address`.
  void setDevices(const void *address, DeviceSet devices);
  /// Live owned allocations, by address.
  std::vector<Allocation> allocations() const;

  /// What has been written of allocations that are followed, for the check `uninitialised`; all
  /// others count as written. `address` is where one starts: from now on none of its bytes is.
  void followWrites(const void *address);
  void markWritten(uint64_t address, uint64_t bytes);
  /// What was copied is as much written as where it came from.
  void copyWritten(uint64_t to, uint64_t from, uint64_t bytes);
  /// A bit for each of up to 64 bytes that nobody has written.
  uint64_t unwritten(uint64_t address, unsigned bytes) const;

  /// The heap of a program's device code, for the check `memory`: its bytes, and a number for every
  /// kDeviceHeapUnit of these that kernels write: at the start of a block in use its size, and
  /// with kDeviceHeapFreed once it was freed; 0 elsewhere.
  struct DeviceHeap {
    uint64_t begin = 0, end = 0;
    const uint32_t *blocks = nullptr;
  };
  static constexpr unsigned kDeviceHeapUnit = 16;
  static constexpr uint32_t kDeviceHeapFreed = 1u << 31;
  /// It lies in an allocation, with which it ends.
  void setDeviceHeap(const DeviceHeap &heap);
  std::optional<DeviceHeap> deviceHeapAt(uint64_t address) const;

private:
  friend const std::atomic<uint64_t> &generationOf(const Memory &memory);
  friend std::vector<struct MemoryContents> contentsOf(const Memory &memory);
  struct State;
  std::unique_ptr<State> state;
};

/// One entry of a kernel's `.args` metadata (AMDGPUUsage "Code Object V5 Metadata").
struct KernelArgument {
  uint32_t offset = 0;
  uint32_t size = 0;
  std::string valueKind; // by_value, global_buffer, hidden_block_count_x, ...
  bool isHidden() const { return llvm::StringRef(valueKind).starts_with("hidden_"); }
};

constexpr uint32_t kMaxWorkgroupSize = 1024; // threads, on all processors

struct Program; // decoded code, private

/// A kernel of a loaded code object. Lives as long as its CodeObject.
struct Kernel {
  std::string name;
  uint64_t descriptorAddress = 0;
  uint64_t entryAddress = 0;
  uint32_t kernargSize = 0;         // in bytes, with hidden arguments
  uint32_t explicitKernargSize = 0; // end of the last argument that is not hidden
  uint32_t ldsBytes = 0;            // static
  uint32_t scratchBytes = 0;        // per lane, a lower bound where the stack is dynamic
  bool dynamicStack = false;
  uint32_t waveSize = 32;
  uint32_t maxWorkgroupSize = kMaxWorkgroupSize;
  uint32_t sgprCount = 0; // from metadata, for attribute queries
  uint32_t vgprCount = 0;
  uint32_t agprCount = 0;
  std::vector<KernelArgument> arguments;
  /// "amdhsa.printf": what the code object's kernels print by number, if they do it by buffer.
  std::shared_ptr<const std::vector<std::string>> printfFormats;
  uint32_t resource1 = 0, resource2 = 0, resource3 = 0; // COMPUTE_PGM_RSRC1..3
  uint16_t properties = 0;                              // KERNEL_CODE_PROPERTIES
  uint16_t kernargPreload = 0;
  const Program *program = nullptr;
};

struct Symbol {
  uint64_t address = 0;
  uint64_t size = 0;
};

/// A code object mapped into a Memory, decoded and ready to run. Frees its memory when destroyed.
class CodeObject {
public:
  /// Maps the loadable segments of `elf` (which may be freed afterwards), applies relocations and
  /// decodes all functions. Errors: malformed ELF or metadata, a target or a relocation that is not
  /// supported, and instructions that cannot be executed: up to a hundred of them are listed, with
  /// address and disassembly.
  static llvm::Expected<std::unique_ptr<CodeObject>> load(llvm::ArrayRef<uint8_t> elf,
                                                          Memory &memory);
  ~CodeObject();

  /// The processor, such as "gfx1100".
  llvm::StringRef target() const;
  llvm::ArrayRef<Kernel> kernels() const;
  const Kernel *kernel(llvm::StringRef name) const;
  /// A variable or function of the dynamic symbol table.
  std::optional<Symbol> symbol(llvm::StringRef name) const;

private:
  CodeObject();
  struct State;
  std::unique_ptr<State> state;
};

/// The check `order`: memory operations take effect at random later times unless the code waits for
/// them, and caches are kept coherent by nothing but the target's own instructions and scope bits.
/// A launch is then single-threaded, slow, and the same for the same seed.
struct OrderCheck {
  uint64_t seed = 1;
  /// 2: the workgroups are spread over two devices that share memory, so that only what is ordered
  /// at system scope is ordered between them.
  unsigned agents = 1;
};

/// What is checked beyond what always is: the checks of memory (docs/emulator-checks.md). With any
/// of these a launch is single-threaded and slow; `order` excludes the others.
struct Checks {
  std::optional<OrderCheck> order;
  bool memory = false; // alignment that CUDA asks for and hardware does not
  bool races = false;
  bool uninitialised = false;
  bool barriers = false;
  bool warps = false; // what lanes of one warp do to each other's memory, and their membermasks
  uint64_t seed = 1;  // of the turns that waves take
  bool any() const { return memory || races || uninitialised || barriers || warps; }
};
/// What RUBIA_EMULATOR_CHECK and RUBIA_EMULATOR_SEED ask for; unknown words are an error.
llvm::Expected<Checks> checksOf(const settings::Settings &settings);

/// Which executed instructions are written down, with the registers that they change.
struct TraceRequest {
  std::string kernel;                            // empty: all
  std::optional<Dim3> workgroup = Dim3{0, 0, 0}; // none: all
  std::optional<unsigned> wave = 0;              // of the workgroup; none: all
  std::optional<Dim3> thread;                    // of the workgroup: its wave, and its lane alone
  uint64_t limit = 10000;                        // instructions of each wave; 0: all
  bool json = false;                             // else text
  llvm::raw_ostream *out = nullptr;              // which outlives the launch
};
/// From words such as "workgroup=1,0,0;wave=all;limit=100"; docs/environment.md,
/// RUBIA_EMULATOR_TRACE_SELECT.
llvm::Expected<TraceRequest> parseTraceRequest(llvm::StringRef words);

/// Pointers that the hidden arguments hand to the kernel; 0 where the host offers nothing.
struct HiddenPointers {
  uint64_t printfBuffer = 0;
  uint64_t hostcallBuffer = 0;
  uint64_t heap = 0;
  uint64_t multigridSync = 0;
};

/// How far a launch is.
struct LaunchProgress {
  uint64_t ended = 0, workgroups = 0; // of the grid
  double seconds = 0;                 // since it began
};

struct Launch {
  const Kernel *kernel = nullptr;
  Dim3 grid;  // in workgroups
  Dim3 block; // in threads
  uint32_t dynamicLdsBytes = 0;
  /// Scratch of a lane beyond what the descriptor says: those of recursive kernels and of indirect
  /// calls cannot say how deep they go.
  uint32_t stackBytes = 64 << 10;
  llvm::ArrayRef<uint8_t> kernarg; // the explicit arguments; hidden ones are appended by run()
  HiddenPointers hidden;
  unsigned hostThreads = 0;      // 0: one per core
  uint64_t instructionLimit = 0; // per wave; exceeding it is Fault::Deadlock; 0: none
  /// All workgroups wait for each other, so they take turns often.
  bool cooperative = false;
  /// Workgroups that wait are resident at the same time up to this number, as on a device (but at
  /// least one a host thread); 0: no limit.
  uint64_t residentLimit = 0;
  unsigned device = 0; // that it runs on: Allocation::devices
  /// Nothing goes on: for so long no workgroup has started, ended or passed a barrier.
  double stallSeconds = 0; // exceeding it is Fault::Deadlock; 0: none
  /// Told, from any thread, who waits where when nothing has gone on for `warnSeconds`, and each
  /// time that this has doubled.
  std::function<void(const std::string &)> warn;
  double warnSeconds = 20;
  /// Told once, from any thread, when the launch has run for `longSeconds`: how far it is.
  std::function<void(const LaunchProgress &)> tellProgress;
  double longSeconds = 10;
  /// Told what the checks find, from one thread: errors as they happen, the last one included that
  /// run() returns too, and warnings that are about a thread. Without it warnings go to `warn`.
  std::function<void(const class Fault &, bool goesOn)> report;
  /// Errors before the launch ends. More than one: a checked launch goes on after the others, and
  /// run() returns no error unless this number is reached or it cannot go on.
  uint64_t maxReports = 1;
  bool countOperations = false; // fills Statistics::operations, which costs some speed
  bool profile = false; // fills Statistics::profile and operations: the launch is much slower
  std::optional<TraceRequest> trace; // likewise slower
  std::optional<Checks> checks;      // none: those of hostSettings()
  std::optional<Bounds> bounds;      // none: those of hostSettings()
};

/// How often an instruction was executed.
struct OperationCount {
  std::string name; // as LLVM prints it, without encoding; "v_dual_a :: v_dual_b" for pairs
  /// How far hardware may be from the emulator: "exact", "within 1 ulp", "approximation" (the
  /// manuals give a wide bound), "order of a sum" (they do not fix the order of additions).
  llvm::StringRef exactness;
  InstructionClass kind = InstructionClass::Other;
  uint64_t waves = 0; // wave instructions
};

struct Statistics {
  uint64_t workgroups = 0;
  uint64_t waves = 0;
  /// Wave instructions, without those that decoding drops (waits, hints). Without
  /// Launch::countOperations one that the emulator does in two steps (V_DUAL_*) counts as two.
  uint64_t instructions = 0;
  std::vector<OperationCount> operations; // most frequent first; if Launch::countOperations
  std::shared_ptr<Profile> profile;       // if Launch::profile
  /// Active lanes times vector instructions, pairs counted as two; if Launch::countOperations.
  uint64_t laneOperations = 0;
};

/// What a kernel did that it must not do.
class Fault : public llvm::ErrorInfo<Fault> {
public:
  enum Kind : uint8_t {
    OutOfBounds,  // no live allocation there, or a store to read-only memory
    UseAfterFree, // the address was allocated until recently
    Misaligned,   // an access that hardware does not split
    Trap,         // s_trap 2: llvm.trap, __trap(), a failed device assert
    BarrierDivergence,
    Deadlock,           // waves wait in vain, or a limit of instructions or time was exceeded
    IllegalInstruction, // control reached bytes that are not a decoded instruction
    LdsOutOfBounds,
    ScratchOverflow,
    UnwaitedRegister,   // used before a wait for the load that fills it (the check `order`)
    DataRace,           // the check `races`
    Uninitialised,      // the check `uninitialised`
    AtomicOnHostMemory, // one that is dropped there on hardware: float additions, minima, ...
    WarpHazard,         // the check `warps`: lanes of one warp that nothing orders
    InvalidMask,        // likewise: a membermask that the executing threads do not agree with
    ImageResource,      // an image or a sampler that the instruction cannot use
  };
  /// What is only told (the launch goes on and nobody fails), and what is wrong.
  enum class Severity : uint8_t { Warning, Error };
  static char ID;

  Kind kind = OutOfBounds;
  Severity severity = Severity::Error;
  std::string kernel;
  Dim3 workgroup{0, 0, 0};
  Dim3 thread{0, 0, 0}; // local id of the (first) lane at fault
  uint64_t pc = 0;      // offset in the code object's text, as llvm-objdump prints it
  std::string disassembly;
  uint64_t address = 0; // of the access
  uint32_t accessSize = 0;
  bool isWrite = false;
  std::string detail; // nearest allocation and the like
  std::string source; // file:line, where the object has line tables

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};
llvm::StringRef toString(Fault::Kind kind);
/// A word for files: "out-of-bounds".
llvm::StringRef wordOf(Fault::Kind kind);

/// How many workgroups of a launch a compute unit (RDNA: a workgroup processor) holds at once, and
/// what keeps it from holding more.
struct Occupancy {
  unsigned workgroups = 0; // the least of these four:
  unsigned byWaves = 0, byRegisters = 0;
  std::optional<unsigned> byLds, byBarriers; // none: no limit
  unsigned wavesPerSimd = 0;                 // with so many workgroups, on the fullest SIMD
  unsigned maxWavesPerSimd = 0;              // of the processor
  unsigned vgprs = 0;                        // that a wave takes
  unsigned ldsBytes = 0;                     // that a workgroup takes
  /// "waves", "registers", "LDS" or "barriers".
  llvm::StringRef limit() const;
};
Occupancy occupancy(const Kernel &kernel, uint32_t threads, uint32_t dynamicLdsBytes);
/// Its number of workgroups. 0: not even one.
unsigned residentWorkgroups(const Kernel &kernel, uint32_t threads, uint32_t dynamicLdsBytes);

/// Runs a launch to its end on the calling thread and helpers. The error is a Fault if the kernel
/// is at fault, else a StringError about the launch itself (block too large, kernarg of the wrong
/// size, too much LDS).
llvm::Expected<Statistics> run(const Launch &launch, Memory &memory);

} // namespace rubia::emulator
