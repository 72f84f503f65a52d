// SPDX-License-Identifier: Apache-2.0
// What one thread computes, result by result: the PTX is changed so that it writes each value of a
// register down, where it accesses memory, what its stores leave there, and which way it takes. The
// same text runs on every target, and the first entry that differs names the instruction.
#pragma once

#include "diff/Locate.h"
#include "ptx-frontend/Types.h"

namespace rubia::capsule {

/// The variable of an instrumented module: the address of a buffer (8 bytes), which has the numbers
/// of CTA and thread in their grids, how many entries there were, whether the launch failed (4
/// bytes each), and from kTraceEntries on an entry for each of the first kTraceMost: the site's
/// number, whether its guard held (4 bytes each), the bits (8 bytes).
inline constexpr const char *kTraceVariable = "rubia_trace";
inline constexpr size_t kTraceFailed = 12, kTraceEntries = 16, kTraceEntryBytes = 16,
                        kTraceMost = 1 << 18,
                        kTraceBytes = kTraceEntries + (kTraceMost + 64) * kTraceEntryBytes;
/// A second variable of the same form where values are given: open results are taken from there.
inline constexpr const char *kGivenVariable = "rubia_given";

/// What the bound of an inexact result is a multiple of.
enum class Magnitude : uint8_t {
  Result,       // the bound is relative
  ResultOrOne,  // relative above 1, absolute below
  OneOrOperand, // absolute, and grows with the operand: ranges are reduced
  Products,     // |C| + sum |A B|
  Filter        // of the texels, with the bound of their texture
};
struct ResultBound {
  ptx::Type type = ptx::Type::None; // of the numbers: a register may have two
  int exponent = 0;                 // a power of two
  Magnitude magnitude = Magnitude::Result;
  bool isSmallDivisor = false; // it only holds for divisors up to 2^126
  std::string operand;         // the register that the magnitude or the divisor is in
  double texels = 0;           // of a filter: their largest magnitude, which the launch tells
};

/// What an instruction writes down.
struct TraceSite {
  enum class Kind : uint8_t {
    Result,   // a register that it writes
    Place,    // the address that it is about to access
    Memory,   // what lies where it has stored, read again by the same thread
    Branch,   // whether it jumps or ends the thread, or where to
    Magnitude // |C| + sum |A B| of a result behind it
  } kind = Kind::Result;
  StoreSite place;
  std::string result;   // "%r4"
  std::string function; // whose register it is
  ptx::Type type = ptx::Type::None;
  std::vector<std::string> sources; // registers that the instruction reads
  /// The result may be another one elsewhere: approximations, sums in an open order, clocks.
  bool isOpen = false;
  std::optional<ResultBound> bound = std::nullopt; // of an open one
  bool isAddress = false; // of a variable or parameter: where things lie is open
  bool isLoad = false;    // of memory that others write too
  bool isOfTile = false;  // where it loads from follows from the lane, too
  bool isAtomic = false;  // it changes memory in a way that Memory does not show
  ptx::StateSpace space = ptx::StateSpace::None;
  unsigned offset = 0; // of an element of a vector, in bytes
};

struct TracedPtx {
  std::string text;
  std::vector<TraceSite> sites; // by the number that they write down
  /// Of each instruction that accesses memory, a texture or a surface, where it is.
  std::vector<StoreSite> accesses;
};

/// What is taken from kGivenVariable, which the text has then: open results, or loaded ones too.
enum class Given { Nothing, Open, Loads };
/// An error: the PTX cannot be changed.
llvm::Expected<TracedPtx> instrumentTrace(llvm::StringRef ptx, llvm::StringRef kernel, Given given);

/// The buffer's contents before the launch, for a thread by its numbers.
std::vector<uint8_t> traceRequest(uint32_t cta, uint32_t thread);
/// Bits that a launch that fails does not write down stay kUnwritten in each byte.
void markUnwritten(llvm::MutableArrayRef<uint8_t> trace);
inline constexpr uint8_t kUnwritten = 0xa5;

/// What two runs of the thread wrote down, compared.
struct TraceDifference {
  enum class Kind {
    None,    // all that was compared is equal
    Value,   // the first entry that differs
    Beyond,  // the first open result that is not within its own bound
    Path,    // the last branch before they part
    Stopped, // the launch failed, and this is what the thread did last
    Cut      // none among the first kTraceMost
  } kind = Kind::None;
  size_t site = 0;
  uint64_t first = 0, second = 0; // bits
  size_t compared = 0, open = 0;  // before it; open: not compared
  /// The first open result that is another one, though within its own bound.
  struct Pair {
    size_t site;
    uint64_t first, second; // bits
  };
  std::optional<Pair> other;
  /// Given loads of which the second one has others, and their addresses.
  struct Load : Pair {
    size_t index; // in the trace
    std::pair<uint64_t, uint64_t> place;
    double distance;
  };
  std::vector<Load> loads;     // the furthest first
  bool isOfOtherStore = false; // the rules name a store that this thread has not made
  struct Operand {
    std::string name;
    uint64_t first = 0, second = 0;
  };
  std::vector<Operand> operands; // as the thread last wrote them
  std::optional<size_t> next;    // of a launch that failed: where the other goes on
  Operand place;                 // of a load or store: the address, with the offset in a vector
  /// What led to the operands, the last first: kSliceMost at most, by its own operands.
  struct Step {
    size_t site;
    uint64_t bits; // of the first one
  };
  std::vector<Step> slice;
  static constexpr size_t kSliceMost = 12;
};
/// A store by its line in the PTX, what was loaded from there, and at which address.
struct StoreAt {
  uint32_t line = 0;
  uint64_t address = 0, bits = 0; // bits: of the first one
  unsigned bytes = 0;
  bool isShared = false; // the address: generic ones of stores there are others
};
struct TraceRules {
  Given given = Given::Open; // what the second one has taken of the first
  /// What stores leave in memory counts. Where several threads store to one place it depends on
  /// their order.
  bool isStored = true;
  /// Memory that lies at the same address on both sides: its address and bytes.
  llvm::ArrayRef<std::pair<uint64_t, uint64_t>> fixed = {};
  /// What the thread does behind the last store of these bits does not count. None: all counts.
  std::optional<StoreAt> until = std::nullopt;
};
TraceDifference compareTraces(llvm::ArrayRef<uint8_t> first, llvm::ArrayRef<uint8_t> second,
                              llvm::ArrayRef<TraceSite> sites, const TraceRules &rules = {});

} // namespace rubia::capsule
