// SPDX-License-Identifier: Apache-2.0
// Stretches of a PTX function: instructions that are always executed one after the other, and what
// registers hold for those behind.
//
// A stretch goes beyond a label that nothing else branches to, and beyond a branch to where it
// leads anyway. Within one, a register's value can be followed from its write to all of its uses.
//
// The code is taken as NVIDIA's compiler leaves it: without branches that decide about nothing that
// is needed, and with loops of a few rounds unrolled (CountedLoops.h).
#pragma once

#include "lowering/lib/analysis/CountedLoops.h"
#include "lowering/lib/analysis/Definitions.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace rubia::lowering {

struct Stretches {
  /// A stretch also ends behind an instruction for which `ends` is true, unless that is a load
  /// whose result nobody needs.
  Stretches(const ptx::Function &function, const Definitions &definitions,
            llvm::function_ref<bool(const ptx::Instruction &)> ends);

  struct Stretch {
    /// Indexes into the body, in order of execution; of an unrolled loop once for each round.
    std::vector<uint32_t> instructions;
    /// By position: those that do something, by themselves or for others that do.
    llvm::BitVector needed;
    llvm::SmallVector<uint32_t, 2> successors;
    llvm::BitVector liveAtEnd; // registers, by number in `shared`
  };
  std::vector<Stretch> stretches;

  bool isLiveAtEnd(const Stretch &stretch, ptx::RegisterId reg) const {
    return shared[reg] != ptx::kNone && stretch.liveAtEnd.test(shared[reg]);
  }

private:
  void findNeededBranches(const ptx::Function &function, const ControlFlowGraph &graph,
                          llvm::ArrayRef<uint32_t> postDominators);
  void connect(const ControlFlowGraph &graph, llvm::ArrayRef<FlowNode> nodes);
  void findShared(const ptx::Function &function);
  void findLive(const ptx::Function &function);

  std::vector<uint32_t>
      shared; // by register: its number among those of several stretches, or kNone
  unsigned sharedCount = 0;
  /// By instruction: branches that decide about something needed, and what ends a stretch.
  llvm::BitVector branches, endings;
};

/// Calls written(register) and read(register) for what an instruction does to registers. A write
/// that keeps some of the old value (under a guard, of a vector's component) is a read too.
void forEachAccess(const ptx::Instruction &instruction,
                   llvm::function_ref<void(ptx::RegisterId)> written,
                   llvm::function_ref<void(ptx::RegisterId)> read);

} // namespace rubia::lowering
