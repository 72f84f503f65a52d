// SPDX-License-Identifier: Apache-2.0
// Other kernels whose results a recording gives too: what an instruction computes depends neither
// on what stands beside it nor on whether its operands are constants, but what LLVM makes of it
// does.
#pragma once

#include "Case.h"

namespace rubia::golden {

/// The constants among the sources of one execution of an instruction.
using Constants = std::vector<std::optional<uint64_t>>;

/// A kernel that executes the instruction once for each of `executions`, whose destinations follow
/// each other.
struct Variant {
  Case test;
  std::vector<Constants> executions;
};

/// The kernel of the case itself.
Variant asRecorded(const Case &test);

/// `count` executions with one source constant and, of several sources, as many with all of them:
/// values of the first tuples of `inputs`, which are edge values, chosen by `number`. Those of f32,
/// f64 and integers are literals; what PTX has no literals of is moved to a register before.
Variant withConstants(const Case &test, llvm::ArrayRef<uint64_t> inputs, unsigned count,
                      size_t number);

/// Puts an f32 instruction into the kernel, without an effect, that flushes denormals if the
/// instruction itself does not and keeps them if it does: so that a unit keeps denormals around an
/// instruction that flushes, and flushes them around one that cannot tell.
void besideOtherDenormalMode(Case &test);

/// Whether an execution has these sources.
bool hasSources(const Constants &constants, llvm::ArrayRef<uint64_t> sources);

/// "constants -, 3f800000, -"; empty without any.
std::string textOf(const Constants &constants);

} // namespace rubia::golden
