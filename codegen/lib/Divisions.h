// SPDX-License-Identifier: Apache-2.0
// Unsigned 32-bit divisions and remainders, for which AMDGPU has no instruction.
//
// The algorithm is LLVM's: v_rcp_f32 gives z near 2^32/d, a Newton step makes it good enough for a
// quotient that is at most 2 too small, and two steps correct it. LLVM compares and chooses in each
// of them. Here
// - a remainder is corrected by one minimum, since r - d wraps where r < d;
// - a quotient is corrected by adding the carry of the comparison;
// - the all ones that PTX has for a remainder of zero divisors come from the last minimum, which
//   becomes a median (v_med3_u32);
// - z is computed before the loops that keep the divisor, and once for all its divisions there.
//
// Where both numbers have 24 bits LLVM's own way is shorter and is left alone.
#pragma once

#include "llvm/IR/PassManager.h"

namespace rubia::codegen {

class DivisionsPass : public llvm::PassInfoMixin<DivisionsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace rubia::codegen
