// SPDX-License-Identifier: Apache-2.0
// What is known of a function, whichever of its loops is asked for.
#pragma once

#include "lowering/lib/waits/Addresses.h"
#include "lowering/lib/waits/OwnWarpWaits.h"

namespace rubia::lowering {

class LoopValues;

class WaitFacts {
public:
  WaitFacts(const ptx::Function &function, const CallFacts &calls);
  WaitFacts(const WaitFacts &) = delete;

  const ptx::Function &function;
  const CallFacts &calls;
  const Definitions definitions;
  const std::vector<uint32_t> polls;    // instructions that may poll
  const std::vector<uint32_t> branches; // those that go one way or another by a condition
  const Addresses addresses;

  /// Whether threads may wait for others of their warp or CTA at an instruction, or in a callee.
  /// Not if the members are those that were there a moment ago.
  bool mayMeet(uint32_t instruction) const;
  /// Whether other threads may have to take part in an instruction, or it tells who is there; in a
  /// callee, a thread may end too.
  bool isForAll(uint32_t instruction) const { return ask(instruction, Question::IsForAll); }

private:
  enum class Question : unsigned { Meets, IsForAll };
  static bool isOne(const ptx::Instruction &instruction, Question question);
  bool ask(uint32_t instruction, Question question) const;
  bool hasOne(const ptx::Function &callee, Question question) const;

  mutable llvm::DenseMap<std::pair<const ptx::Function *, unsigned>, bool> callees;
};

/// A loop that waits with a poll, for whomever, or has a lock.
struct Waiting {
  OwnWarpWait wait; // without who may answer
  bool isAtOneAddress;
  bool leaveTogether; // all of a warp that enter it
};
std::optional<Waiting> waitingWith(const WaitFacts &facts, const LoopValues &loop, uint32_t poll);

} // namespace rubia::lowering
