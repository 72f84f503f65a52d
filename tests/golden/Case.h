// SPDX-License-Identifier: Apache-2.0
// Golden cases: every scalar instruction of the table, with each combination of its modifiers, as a
// kernel of its own whose inputs and outputs are raw bits. The same kernels run on an NVIDIA GPU
// (to record) and through Rubia on the emulator or an AMD GPU (to compare).
#pragma once

#include "ptx-frontend/InstructionTable.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rubia::golden {

struct Operand {
  ptx::Type type = ptx::Type::None;
  unsigned bits = 0;    // of its register; 1: a predicate
  bool negated = false; // written with a `!`
};

struct Case {
  std::string mnemonic; // "add.rn.ftz.f32"; ".3" at the end: three sources (min.f32.3)
  std::string text;     // the statements, over %s0.. (sources) and %d0.. (destinations)
  std::vector<Operand> sources, destinations;
  std::vector<std::string> selectors; // of a video instruction's operands, destination first
  std::optional<int64_t> immediate;   // a constant operand
  unsigned immediateIndex = 0;        // its place among the sources
  ptx::Version version;
  unsigned sm = 0;
  char smVariant = 0;  // 'a', 'f' or 0
  std::string chapter; // "floating-point-instructions"
};

/// All cases, in the order of the table.
std::vector<Case> scalarCases();

/// The tuples of a case, [tuple][source], from fixed seeds: edge values of the types in random
/// combination, then random bits. Cases with the same types of sources get the same tuples.
inline constexpr unsigned kTupleCount = 512;
std::vector<uint64_t> inputsFor(const Case &test);

/// A module with one kernel a case, named case0, case1 ...: (.u64 inputs, .u64 outputs), one thread
/// a tuple; inputs [tuple][source], outputs [tuple][destination], 8 bytes each, zero-extended.
/// `cases` must agree on what they need: the module is for the newest version and target among
/// them.
std::string moduleFor(llvm::ArrayRef<Case> cases);

} // namespace rubia::golden
