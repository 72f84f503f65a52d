// SPDX-License-Identifier: Apache-2.0
// Values that are the same for all threads of a warp that execute together, whatever brought them
// there. Uniformity.h follows more values, but it speaks of all threads of a group: behind a branch
// that divides them everything differs, and so does whatever a loop in such a branch reads. Whether
// a warp's threads leave a loop together is asked of those that are in it. So this is the weaker
// question: which values have one definition, made of nothing but values of this kind, so that no
// way to the reader gives another one.
#pragma once

#include "lowering/lib/analysis/Definitions.h"

namespace rubia::lowering {

/// How many instructions values are followed back.
constexpr unsigned kMaxValueSteps = 8;

/// Whether every execution with the same operands gives the same result: parameters do not change,
/// other than the results of calls.
bool isRepeatable(const ptx::Function &function, const ptx::Instruction &instruction);

/// Whether a register has the same value for all threads of a warp that come together.
bool isUniform(const ptx::Function &function, const Definitions &definitions, ptx::RegisterId reg);

/// The threads of a warp that come to a jump together go on together: neither its guard nor its
/// choice of a label differs between them.
bool isUniformJump(const ptx::Function &function, const Definitions &definitions,
                   const ptx::Instruction &jump);

} // namespace rubia::lowering
