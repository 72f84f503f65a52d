// SPDX-License-Identifier: Apache-2.0
// Which registers have the same value in all threads of a CTA (or of each warp) that come to use
// them, and which blocks all of them execute together, in the functions of a unit. Nothing is known
// of the order of a register's definitions: one that differs between threads makes all of it
// differ. A branch asks first what its own block computes.
//
// A load without .volatile, .relaxed or .acquire from an address that is the same for all threads,
// where all of them pass, gives all of them the same: if one of them could see another value, the
// program would have a data race, or a loop that waits for another warp (WaitingLoops.h).
//
// Threads that leave for good take no part in what follows: a branch to nothing but the thread's
// end is no divergence of the others.
//
// What those have in common that are in a branch or a loop, whatever brought them there, is another
// question: UniformValues.h.
//
// What is told of Group::RowWarp is good for hints, not for proofs: %ntid.x is presumed to be a
// multiple of 32. `%tid.x >> 5` and `%tid.x < 64` are the same for all of such a warp.
#pragma once

#include "lowering/Lowering.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/ThreadFacts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <memory>

namespace rubia::lowering {

class Uniformity {
public:
  /// `addressTaken`: functionsWithAddress().
  Uniformity(const Unit &unit, const llvm::DenseSet<const ptx::Function *> &addressTaken,
             Group group = Group::Cta);
  ~Uniformity();

  /// Whether the threads of a group execute an instruction (by index) of a function together or not
  /// at all. If not, why: "the branch of line 12 differs between threads", by what it is that
  /// differs.
  struct Answer {
    bool together = true;
    const ptx::Function *function = nullptr; // of `cause`
    const ptx::Instruction *cause = nullptr; // the branch, the guarded instruction or the call
    bool isCalledByAddress = false;          // then `function` is, and there is no cause
  };
  Answer executesTogether(const ptx::Function &function, uint32_t instruction) const;
  /// Whether a branch (by index) may divide the threads that come to it.
  bool divides(const ptx::Function &function, uint32_t branch) const;

private:
  struct Body;
  bool visit(Body &body);
  bool followsFromOperands(const ptx::Instruction &instruction) const;
  bool isQuiet(const ptx::Instruction &instruction) const;
  bool countsAlongWarp(const Body &body, const ptx::Operand &operand,
                       llvm::SmallDenseSet<ptx::RegisterId> visited = {}) const;
  bool isPlaceOfWarp(const Body &body, const ptx::Instruction &instruction) const;
  bool isBeyondThreads(const Body &body, const ptx::Instruction &instruction) const;
  void closeOffThreadEnds(Body &body);
  bool decide(Body &body, uint32_t block);
  bool differs(const Body &body, const ptx::Operand &operand) const;
  bool agreesInBlock(const Body &body, const ControlFlowGraph::Block &block, uint32_t place,
                     ptx::RegisterId reg, unsigned depth) const;
  bool meetsWholeWarp(const Body &body, const ptx::Instruction &instruction) const;
  bool resultDiffers(Body &body, const ptx::Instruction &instruction) const;
  bool passArguments(Body &body, const ptx::Instruction &instruction, bool alone);
  bool markResult(Body &body, const ptx::Operand &operand);
  bool markOwnMemory(const ptx::Variable *variable);

  const Group group;
  std::vector<std::unique_ptr<Body>> bodies;
  llvm::DenseMap<const ptx::Function *, Body *> bodyOf;
  /// Parameters and results of functions, and variables in local memory.
  llvm::DenseSet<const ptx::Variable *> variables;
};

/// What is told of Group::RowWarp in a unit, for hints. It is found when it is first asked for,
/// since that costs time: most units have no instruction of a warp.
class RowWarps {
public:
  explicit RowWarps(const Unit &unit) : unit(unit) {}
  const Uniformity &get();

private:
  const Unit &unit;
  std::unique_ptr<Uniformity> found;
};

} // namespace rubia::lowering
