// SPDX-License-Identifier: Apache-2.0
// Instructions with which a loop looks at what others write, what they decide, and who may answer.
#pragma once

#include "lowering/lib/analysis/LoopValues.h"
#include "lowering/lib/waits/WaitFacts.h"
#include <optional>

namespace rubia::lowering {

// ---------- Which exits depend on what is polled

/// A loop, and an instruction in it that may poll. `branches`: those of its function.
class Poll {
public:
  Poll(const LoopValues &loop, llvm::ArrayRef<uint32_t> branches, uint32_t index);

  bool waitsAtOneAddress() const;

  /// Whether the loop waits at all, for whomever: what is polled decides whether it is left, or
  /// whether a round comes to where it may be left.
  bool decidesAnExit() const;

  /// grid.sync() waits for other CTAs, however long they take, when its own has arrived.
  bool isBarrierOfGrid() const;

  /// Whether all of a warp that enter the loop leave it in the same round: none of its branches
  /// divides them, so that they come to the exit together.
  bool leaveTogether() const;

  /// The branches that may leave the loop.
  llvm::SmallVector<uint32_t> exits() const;

private:
  bool leaves(uint32_t branch) const;
  bool goesRound(uint32_t branch) const;
  bool isRepeatedSwap() const;
  bool decides(uint32_t branch) const;

  const LoopValues &loop;
  llvm::ArrayRef<uint32_t> branches;
  const uint32_t index;
  const ptx::Instruction &instruction;
  mutable std::optional<llvm::BitVector> early; // blocks from which a round may end without an exit
};

// ---------- Who may write what is waited for

class Answers {
public:
  /// `endsAreAnswers`: who ends the kernel counts as one who answers. `meetings`: the blocks
  /// that answers do not come from; null: those where all may meet, in callees too.
  Answers(const WaitFacts &facts, const LoopValues &loop, uint32_t poll, bool endsAreAnswers,
          const llvm::BitVector *meetings = nullptr);

  /// Whether threads that take another way at a branch, while some of their warp come to the loop,
  /// may write what is waited for: by an address that is made of the same variable.
  bool mayComeFrom(uint32_t branch) const;

  /// The blocks outside of the loop, without others, from which a way leads to where it may be
  /// written.
  llvm::BitVector ways(const llvm::BitVector &others) const;

  /// Whether an instruction outside of the loop writes by an address that is made of the same
  /// variable.
  bool mayWrite(uint32_t instruction) const { return writers.test(instruction); }

  /// Whether an instruction outside of the loop may write what is waited for: by a pointer that is
  /// made of the same one, whatever the index. Not if its address is another one by a constant,
  /// which all threads of the warp compute of the same.
  bool mayBe(uint32_t instruction) const;

private:
  enum class Goal { Loop, Answer };
  const llvm::BitVector &comingTo(Goal goal) const;
  llvm::BitVector blocksThatComeTo(Goal goal) const;

  const WaitFacts &facts;
  const LoopValues &loop;
  const ptx::Function &function;
  const uint32_t poll;
  const bool endsAreAnswers;
  const llvm::BitVector *const meetings;
  llvm::BitVector writers;
  mutable std::optional<llvm::BitVector> coming[2]; // by goal
};

} // namespace rubia::lowering
