// SPDX-License-Identifier: Apache-2.0
// The tests of Tests.def, one for each of their scopes.
#pragma once

#include "tests/litmus/Model.h"

namespace rubia::litmus {

enum class Verdict : uint8_t { Forbidden, Allowed, Weak };

struct Row {
  Test test;
  Scope scope = Scope::Gpu;
  /// What the reads return, or these and the final values.
  Outcome interesting;
  Verdict verdict = Verdict::Allowed;
  bool isInteresting(const Outcome &outcome) const;
};

/// Empty, with a message in `error`, if a row is malformed.
std::vector<Row> allRows(std::string &error);

/// Whether everything is to be tried (RUBIA_TEST_LITMUS_ALL), not a sample.
bool takesAll();
/// Whether the sample of every `n`th thing takes number `i` on this target. Targets take others,
/// those of which tests run a sample only (targets/Targets.def) a tenth as many.
bool isInSample(size_t i, unsigned n, const std::string &target);
/// How many launches of each test: RUBIA_TEST_LITMUS_SEEDS, or `otherwise`.
unsigned seedCount(unsigned fallback);

} // namespace rubia::litmus
