// SPDX-License-Identifier: Apache-2.0
// What one thread computes, result by result: the PTX is changed so that it writes each value of a
// register down. The same text runs on every target, and the first value that differs names the
// instruction.
#pragma once

#include "diff/Locate.h"
#include "ptx-frontend/Types.h"

namespace rubia::capsule {

/// The variable of an instrumented module: the numbers of CTA and thread in their grids, how many
/// values there were, 0 (4 bytes each), and from kTraceEntries on an entry for each of the first
/// kTraceMost values: the site's number, 0, the bits (8 bytes).
inline constexpr const char *kTraceVariable = "rubia_trace";
inline constexpr size_t kTraceEntries = 16, kTraceEntryBytes = 16, kTraceMost = 1 << 18,
                        kTraceBytes = kTraceEntries + (kTraceMost + 16) * kTraceEntryBytes;
/// A second variable of the same form where values are given: open results are taken from there.
inline constexpr const char *kGivenVariable = "rubia_given";

/// A register that an instruction writes.
struct TraceSite {
  StoreSite place;
  std::string result;   // "%r4"
  std::string function; // whose register it is
  ptx::Type type = ptx::Type::None;
  std::vector<std::string> sources; // registers that the instruction reads
  /// The result may be another one elsewhere: approximations, sums in an open order, clocks.
  bool isOpen = false;
  bool isAddress = false; // of a variable or parameter: where things lie is open
  bool isLoad = false;    // of memory that others write too
  /// Of a load: where what it has loaded lies is written down as a site before it.
  bool isPlace = false; // such a site
  ptx::StateSpace space = ptx::StateSpace::None;
  unsigned offset = 0; // of an element of a vector, in bytes
};

struct TracedPtx {
  std::string text;
  std::vector<TraceSite> sites; // by the number that they write down
};

/// What is taken from kGivenVariable, which the text has then: open results, or loaded ones too.
enum class Given { Nothing, Open, Loads };
/// An error: the PTX cannot be changed.
llvm::Expected<TracedPtx> instrumentTrace(llvm::StringRef ptx, llvm::StringRef kernel, Given given);

/// The variable's contents before the launch, for a thread by its numbers.
std::vector<uint8_t> traceRequest(uint32_t cta, uint32_t thread);

/// What two runs of the thread wrote down, compared.
struct TraceDifference {
  enum class Kind {
    None,  // all that was compared is equal
    Value, // the first result that differs
    Path,  // the first instruction that one of them does not execute there
    Cut    // none among the first kTraceMost
  } kind = Kind::None;
  size_t site = 0, otherSite = 0; // Path: of the second one
  uint64_t first = 0, second = 0; // bits
  size_t compared = 0, open = 0;  // before it; open: not compared
  struct Operand {
    std::string name;
    uint64_t first = 0, second = 0;
  };
  std::vector<Operand> operands; // as the thread last wrote them
  Operand place;                 // of a load: the address, with the offset in a vector
  /// What led to the operands, the last first: kSliceMost at most, by its own operands.
  struct Step {
    size_t site;
    uint64_t bits; // of the first one
  };
  std::vector<Step> slice;
  static constexpr size_t kSliceMost = 12;
};
/// `given`: what the second one has taken of the first.
TraceDifference compareTraces(llvm::ArrayRef<uint8_t> first, llvm::ArrayRef<uint8_t> second,
                              llvm::ArrayRef<TraceSite> sites, Given given = Given::Open);

} // namespace rubia::capsule
