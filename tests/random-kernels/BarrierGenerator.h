// SPDX-License-Identifier: Apache-2.0
// Random kernels whose blocks meet at barriers in branches and loops that depend on %tid, but are
// the same for all threads: only the numbers say so, which no compiler knows. Where a wave has 64
// lanes, two warps may share one only if it is checked at run time (the checked form). Between the
// barriers warps go different ways, store, and end.
//
// Steps and state are those of the matrices (MatrixKernel.h).
#pragma once

#include "StepGenerator.h"

namespace rubia::random_kernels {

inline constexpr const char *kBarrierFamily = "barriers";

class BarrierGenerator : StepGenerator {
public:
  explicit BarrierGenerator(uint64_t seed);
  MatrixKernel take();

private:
  /// Structure.
  void block(unsigned count) override;
  void step();
  void rounds();
  void branchOfAll();
  void divided();
  std::vector<Step> insideOfSome(unsigned count);

  /// Statements.
  void scalar();
  void exchange();
  void reduction();
  void warpOperation();
  void store();
  void end();

  std::string warpPredicate(const char *name);

  bool isTogether = true; // all threads of the block come here
};

/// The kernel of a seed: always the same.
MatrixKernel generateBarriers(uint64_t seed);

} // namespace rubia::random_kernels
