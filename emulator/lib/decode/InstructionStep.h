// SPDX-License-Identifier: Apache-2.0
// What is known of an instruction beyond its effect, for the checks and others who look on: what it
// touches in memory, which registers it uses, and for the check `order` which counters it
// increments, how far down the caches it must go, and what waits and cache operations do.
//
// The words of all targets are brought into three terms: `Reach` (where an access or a cache
// operation must take effect), the private caches that a load must pass by, and counters.
#pragma once

#include "emulator/lib/machine/Addressing.h"
#include "emulator/lib/machine/Program.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCInst.h"
#include <array>
#include <optional>

namespace rubia::emulator {

/// Counters of outstanding memory operations under gfx12's names. Older generations share one
/// between kinds: stores count as loads on gfx9, scalar loads as LDS operations and samples of
/// images as loads before gfx12.
enum class Counter : uint8_t { Load, Store, Lds, Scalar, Sample };
constexpr unsigned kCounters = 5;

/// How far from the compute unit something takes effect.
enum class Reach : uint8_t {
  Workgroup,
  ShaderArray, // gfx12's SCOPE_SE
  Agent,
  System
};

enum class StepKind : uint8_t { Other, Wait, Vector, Lds, Scalar, Cache };

/// Where a DS instruction finds its addresses.
enum class LdsForm : uint8_t {
  None, // it touches no memory
  One,
  Two,      // DS_READ2_B32 and its kin
  ByThread, // *_ADDTID
  Counter,  // DS_APPEND, DS_CONSUME: one address for the wave
};

/// What an operation in registers makes of its sources' bits.
enum class Meaning : uint8_t {
  Copies,   // it moves them, or decides for each bit alone: moves, logic, shifts, selections
  Integers, // bit n of a result depends on all bits up to n
  Floats,   // all depend on all; conversions too
};

/// What the program meant an access to be. PTX ISA: strong-operations: relaxed, volatile,
/// acquiring, releasing and atomic ones.
enum class Strength : uint8_t { Unknown, Weak, Strong, StrongInCta };
constexpr bool isStrong(Strength strength) { return strength >= Strength::Strong; }

/// A place where the program commits or awaits asynchronous copies, where a warp begins one for a
/// thread, or the threads of part of a warp wait for each other, for the lanes that are on
/// (lowering/lib/frame/AsyncNotes.h).
struct AsyncMark {
  enum class Kind : uint8_t {
    None,
    Commit,
    WaitGroup,
    WaitAll,
    HandedOver,
    Observed,
    Held,
    PartOfWarp,
    ByWarp
  };
  Kind kind = Kind::None;
  uint8_t count = 0;      // WaitGroup: groups that may still be on their way; Held: bytes
  uint16_t vectorReg = 0; // number of a VGPR; Held: of the LDS address; PartOfWarp: of the mask
};

struct RegisterRange {
  uint16_t first = 0; // VGPR number (accumulators from kFirstAccumulator on) or ScalarIndex
  uint8_t count = 0;
  bool vector = false;
  bool written = false;
  uint8_t halves = 3; // of each register: 1 the low, 2 the high
};

struct InstructionStep {
  StepKind kind = StepKind::Other;
  bool reads = false, writes = false; // memory; an atomic does both
  Space space = Space::Global;        // of StepKind::Vector
  bool image = false;                 // of StepKind::Vector: texels, which visitTexels() finds
  bool byThread = false;              // *_ADDTID
  bool toLds = false;                 // what a vector instruction loads goes to LDS
  LdsForm lds = LdsForm::None;        // of StepKind::Lds
  bool barrier = false;               // S_BARRIER*
  bool barrierSignals = false, barrierWaits = false;
  bool writesExec = false;
  bool opensWholeWave = false; // all lanes are on behind it, for what concerns the wave
  bool gridBarrier = false;    // DS_GWS_BARRIER
  bool compares = false;       // an atomic that stores only if it finds what it expects
  bool ends = false;           // S_ENDPGM
  bool warpSync = false;       // a __syncwarp() stood before it
  bool branch = false;         // to a place in the code that the instruction names
  bool coherent = false;       // asks caches for more than plain accesses do: atomic or volatile
  bool highHalf = false;       // D16_HI: the data is the high half of its register
  bool signExtends = false;    // a load of less than a dword
  bool dual = false;           // V_DUAL_*: two operations
  bool movesRelative = false;  // V_MOVREL*: M0 says which registers
  bool readsScc = false, writesScc = false;
  Meaning meaning = Meaning::Copies; // V_DUAL_*: of the halves that are not of floats
  bool scales = false;               // shifts left by a constant that is no number of bytes
  bool ofHalves = false;             // results are of 16 bits
  bool endsAtFault = false;          // of a fault on its way nothing is known but the first lane
  bool direct = false;   // performed without caches: scalar memory other than plain loads, *_BLOCK
  uint8_t counters = 0;  // bit per Counter that it increments
  uint16_t bytes = 0;    // of a lane, or of a scalar load
  bool passesL0 = false; // a load that takes nothing from the compute unit's cache
  bool passesL1 = false; // ...nor from the shader array's
  Reach reach = Reach::Workgroup;
  /// Cache operations.
  bool invalidatesL0 = false, invalidatesL1 = false;
  std::optional<Reach> invalidatesL2, writesBackL2;
  /// Waits: how many operations may still be outstanding.
  static constexpr uint8_t kNoLimit = 255;
  std::array<uint8_t, kCounters> limit = {kNoLimit, kNoLimit, kNoLimit, kNoLimit, kNoLimit};
  llvm::SmallVector<RegisterRange, 4> registers;
  /// The number of this instruction among those of its function that are in a memory encoding.
  std::optional<uint32_t> memoryIndex;
  /// By AccessNotes, of which not every code object has any.
  Strength strength = Strength::Unknown;
  uint8_t alignment = 0;    // in bytes, as the program has it; 0: unknown
  uint8_t elementBytes = 0; // of each of the program's values; 0: unknown
  bool isAsync = false;     // a store of an asynchronous copy, or a load or atomic of an arrival
  AsyncMark mark;           // by AsyncNotes

  /// It does nothing but compute: no memory, branch, barrier, wait, note or change of EXEC.
  bool onlyComputes() const {
    return kind == StepKind::Other && !reads && !writes && !barrier && !gridBarrier && !branch &&
           !ends && !warpSync && !writesExec && !opensWholeWave &&
           mark.kind == AsyncMark::Kind::None;
  }
};

/// Whether `inst` is in an encoding for memory: scalar, vector or LDS. Cache operations are.
bool isMemoryEncoding(const Target &target, const llvm::MCInst &inst);

/// What `inst` touches and means for the order of memory operations.
InstructionStep describeStep(const Target &target, const llvm::MCInst &inst);

/// A program that keeps waits, with one step for each operation.
struct SteppedProgram {
  std::unique_ptr<Program> program;
  std::vector<InstructionStep> steps;
};

} // namespace rubia::emulator
