// SPDX-License-Identifier: Apache-2.0
// The caches of the emulated device, as the `order` check sees them.
//
//   compute unit: L0 (the L1 of gfx9)   scalar cache: for a few compute units
//           \                              /
//            L1 of a shader array (gfx10 to gfx12)
//                       |
//            L2 of an agent, or of a die of one (gfx942, gfx950)
//                       |
//                    memory
//
// The host's memory is "memory", and also the L2 where an agent has only one and nobody else looks:
// then no L2 is modelled. L0 and L1 are written through and never hold what a store of theirs has
// not taken further down; an L2 holds dirty bytes. The key idea: an instruction's own handler does
// the access, on host memory into which the bytes that the cache would answer with are put for that
// moment.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/decode/InstructionStep.h"
#include "emulator/lib/observe/OrderRandom.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::emulator {

constexpr uint64_t kLineBytes = 64;
constexpr uint64_t lineOf(uint64_t address) { return address & ~(kLineBytes - 1); }

/// Bytes of one line that an access touches.
struct LinePart {
  uint64_t line = 0;
  uint64_t mask = 0; // bit i: byte i
};

class OrderCaches {
public:
  OrderCaches(const Target &target, const Memory &memory, unsigned agents, OrderRandom &random);

  unsigned computeUnits() const { return unsigned(units.size()); }
  /// The other compute unit of a work-group processor, or `unit`.
  unsigned neighbour(unsigned unit) const { return hasPairs ? unit ^ 1 : unit; }

  /// Performs a vector access to these lines, all of whose bytes may be accessed, for a wave on
  /// `unit`. `execute` does it on host memory.
  void access(unsigned unit, const InstructionStep &step, llvm::ArrayRef<LinePart> parts,
              llvm::function_ref<void()> execute);
  /// The same for a scalar load.
  void scalarLoad(unsigned unit, llvm::ArrayRef<LinePart> parts,
                  llvm::function_ref<void()> execute);
  void invalidate(unsigned unit, const InstructionStep &step);
  void writeBack(unsigned unit, const InstructionStep &step);

  /// Lines that others may be expected to read: what the kernel has pointers to.
  void expect(uint64_t address, uint64_t bytes);
  /// What hardware may do at any time, since workgroups on the same compute unit may read whatever
  /// they like: the caches of `unit` get half of the expected lines, before anything has run there.
  void prefill(unsigned unit);
  /// Likewise: some line goes to some cache or, in half of all launches, leaves it. `mayFill(unit,
  /// line)`: nothing of that line is under way from there.
  void disturb(llvm::function_ref<bool(unsigned, uint64_t)> mayFill);

  /// The end of the kernel: everything goes to memory.
  void flush();

private:
  struct Line {
    uint8_t bytes[kLineBytes];
    uint64_t valid = 0, dirty = 0;
  };
  using Cache = llvm::DenseMap<uint64_t, Line>;
  struct Unit {
    Cache l0;
    unsigned scalar = 0, l1 = 0, l2 = 0; // indices
  };

  /// Brings the line's bytes, as the unit sees them, to `bytes` and into the caches on the way.
  void fetch(unsigned unit, Cache *first, const InstructionStep &step, uint64_t line,
             uint8_t *bytes);
  void fetchFromL2(unsigned unit, const InstructionStep &step, uint64_t line, uint8_t *bytes);
  void load(unsigned unit, Cache *first, const InstructionStep &step,
            llvm::ArrayRef<LinePart> parts, llvm::function_ref<void()> execute);
  void write(unsigned unit, const InstructionStep &step, llvm::ArrayRef<LinePart> parts,
             llvm::function_ref<void()> execute);
  bool usesL2(const InstructionStep &step, uint64_t line);
  /// Whether an operation of this reach must look beyond the L2.
  bool goesBeyondL2(Reach reach) const {
    return reach == Reach::System || (severalL2 && reach == Reach::Agent);
  }
  bool isUncached(uint64_t line);
  static void writeBackLine(uint64_t line, Line &entry);
  void remember(uint64_t line);

  const Memory &memory;
  OrderRandom &random;
  std::vector<Unit> units;
  std::vector<Cache> scalars, l1s, l2s;
  bool hasPairs = false, hasL1 = false;
  bool modelsL2 = false;  // else memory is the L2
  bool severalL2 = false; // per agent
  bool evicts = false;    // else lines stay for ever
  llvm::DenseMap<uint64_t, bool> uncached;
  std::vector<uint64_t> expected;
  static constexpr unsigned kRecent = 16;
  uint64_t recent[kRecent] = {};
  unsigned nextRecent = 0;
};

} // namespace rubia::emulator
