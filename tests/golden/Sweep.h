// SPDX-License-Identifier: Apache-2.0
// Approximate f32 instructions at all 2^32 operands, or evenly spaced ones.
#pragma once

#include "Runner.h"

namespace rubia::golden {

/// "rcp.approx.f32" and so on: all that have one operand.
std::vector<std::string> sweptInstructions();

/// Over operands that the manual gives one bound for.
struct SweptRegion {
  std::string name;         // "|a| <= pi"; empty if there is only one
  double worstFraction = 0; // of the documented bound
  uint32_t worstInput = 0;
  double worstUlps = 0; // units in the last place of the true value, over normal numbers
  double worstAbsolute = 0;
};

struct SweepResult {
  uint64_t inputs = 0;
  uint64_t wrong = 0;      // beyond the documented bound, or not the documented special value
  uint32_t firstWrong = 0; // an operand
  std::vector<SweptRegion> regions;
};

/// Compares with the host's f64 functions, and with the reference evaluator where the true value is
/// no normal number or the bound is close.
llvm::Expected<SweepResult> sweep(Runner &runner, const std::string &mnemonic, uint32_t stride);

} // namespace rubia::golden
