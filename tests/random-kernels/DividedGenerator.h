// SPDX-License-Identifier: Apache-2.0
// Random kernels whose warps are divided by branches and by loops that single threads leave. The
// threads of each part shuffle, vote, match and sum among themselves, by masks that name them.
//
// In the family `meetings` they also come together from several ways: each way has the same
// instructions with the same masks, but with registers of its own, in loops of its own, once
// unrolled and once not. nvcc makes that of branches within loops, and of what several ways have at
// their ends. PTX ISA: data-movement-and-conversion-instructions-shfl-sync and its sisters, which
// wait for the threads of the mask wherever they are.
//
// Steps and state are those of the matrices (MatrixKernel.h). In texts, `$M` is the mask of the
// threads that execute the step.
#pragma once

#include "StepGenerator.h"

namespace rubia::random_kernels {

inline constexpr const char *kDividedFamily = "divided", *kMeetingsFamily = "meetings";

class DividedGenerator : StepGenerator {
public:
  DividedGenerator(uint64_t seed, bool hasMeetings);
  MatrixKernel take();

private:
  /// What the threads of a mask do together.
  enum class Together : uint8_t {
    Pick,     // shfl.sync.idx
    Shift,    // shfl.sync.bfly, .up, .down
    Ballot,   // vote.sync.ballot
    Vote,     // vote.sync.any, .all, .uni
    MatchAny, // match.any.sync
    MatchAll, // match.all.sync
    Sum,      // redux.sync
    Elect,    // elect.sync
    Exchange  // bar.warp.sync between stores and loads of shared memory
  };
  struct Operation {
    Together what;
    std::string word; // what is drawn of its name
  };

  /// Structure.
  void block(unsigned count) override;
  void step();
  void lanes();
  void leaving();
  void loop();
  void meeting();
  void guardedMeeting();
  void way(const std::vector<Operation> &operations, unsigned rounds, bool isUnrolled);
  std::string lanePredicate(const char *name);

  /// Statements.
  Operation operation();
  void execute(const Operation &operation, const std::string &guard = "");
  void scalar();
  void activeLanes();
  void pickMember();

  const bool hasMeetings;
};

/// The kernel of a seed: always the same.
MatrixKernel generateDivided(uint64_t seed, bool hasMeetings);

} // namespace rubia::random_kernels
