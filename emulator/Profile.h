// SPDX-License-Identifier: Apache-2.0
// What a launch cost, counted instruction by instruction: which kinds of instructions, how many
// lanes took part, how many cache lines and LDS cycles they needed, and which line of the source
// they came from. Nothing here is a time: what is counted follows from the program and from
// published rules (docs/debugging.md), not from a model of a chip.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rubia::emulator {

/// Of everything that is written as JSON here; raised when a reader of the old must change.
constexpr int kProfileVersion = 1;

/// The unit and kind of an instruction, one row each in what is printed.
enum class InstructionClass : uint8_t {
  VectorF64,
  VectorF32,
  VectorF16, // BF16 too
  VectorInteger,
  VectorInteger64,
  VectorConversion,
  VectorComparison,
  VectorTranscendental,
  VectorMove, // copies, selects, exchange between lanes
  VectorDot,
  VectorDual, // V_DUAL_*, whatever its halves are
  Matrix,
  ScalarAlu,
  Branch,
  ScalarMemory,
  GlobalLoad, // FLAT and BUFFER too
  GlobalStore,
  GlobalAtomic,
  ScratchLoad,
  ScratchStore,
  LdsLoad,
  LdsStore,
  LdsAtomic,
  LaneExchange, // DS_BPERMUTE_B32 and its kin: through LDS hardware, but no memory
  Cache,
  Barrier,
  Wait,
  Other, // ends, messages, hints
};
constexpr unsigned kInstructionClasses = unsigned(InstructionClass::Other) + 1;
/// "vector f32".
llvm::StringRef toString(InstructionClass kind);
/// Whether EXEC says which lanes take part.
bool isVector(InstructionClass kind);

/// Memory other than LDS and scratch, as vector instructions reach it.
struct MemoryCost {
  uint64_t accesses = 0;      // wave instructions
  uint64_t bytes = 0;         // of all lanes
  uint64_t distinctBytes = 0; // those that several lanes touch in one instruction count once
  uint64_t lines = 0;         // cache lines that each instruction touches: its transactions
  void add(const MemoryCost &other);
};

/// What executed instructions cost in sum.
struct Cost {
  uint64_t waves = 0;                      // wave instructions
  uint64_t vectors = 0;                    // of those, vector instructions,
  uint64_t activeLanes = 0, laneSlots = 0; // the lanes that took part, and all that they have
  MemoryCost memory;
  uint64_t ldsAccesses = 0, ldsCycles = 0;
  uint64_t conflictCycles = 0;       // of ldsCycles, those more than without bank conflicts
  uint64_t maskings = 0, splits = 0; // narrowings of EXEC; those that kept some lanes and not all
  void add(const Cost &other);
};

/// A place in the source, and the function that it belongs to.
struct SourceFrame {
  std::string file, function;
  unsigned line = 0;
};

struct InstructionCost {
  uint64_t pc = 0; // as llvm-objdump prints it
  std::string text;
  InstructionClass kind = InstructionClass::Other;
  std::vector<SourceFrame> frames; // the innermost inlined function first; empty: unknown
  Cost cost;
};

struct LineCost {
  std::string file, function;
  unsigned line = 0;
  std::string text; // of the source, if the file is there
  Cost cost;        // of the instructions of this line itself
  Cost inlined;     // with those of functions inlined into it
};

struct Profile {
  unsigned lineBytes = 0; // of a cache line
  unsigned ldsBanks = 0;
  Cost total;
  MemoryCost loads, stores, atomics;                      // parts of total.memory
  std::array<uint64_t, kInstructionClasses> classes = {}; // wave instructions
  std::array<uint64_t, 65> activeLanes = {}; // vector instructions by lanes that took part
  std::vector<InstructionCost> instructions; // executed ones, by pc
  std::vector<LineCost> lines;               // most instructions first
};

} // namespace rubia::emulator
