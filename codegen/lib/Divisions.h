// SPDX-License-Identifier: Apache-2.0
// Unsigned divisions and remainders of up to 64 bits, for which AMDGPU has no instruction.
//
// The algorithms are LLVM's: v_rcp_f32 gives z near 2^n/d, Newton steps (one for 32 bits, two for
// 64) make it good enough for a quotient that is at most 2 too small, and two steps correct it.
// LLVM's factors for z are too large where v_rcp_f32 is a unit off, and its short form for numbers
// of 24 bits is wrong for some (Divisions.cpp). So all levels of optimisation have this pass. It
// also is quicker:
// - a remainder is corrected by one minimum, since r - d wraps where r < d;
// - a quotient is corrected by adding the carry of the comparison;
// - the all ones that PTX has for a remainder of zero divisors come from the last minimum, which
//   becomes a median (v_med3_u32);
// - z is computed before the loops that keep the divisor, and once for all its divisions there;
// - numbers of 64 bits that fit 32 are divided as such, which the kernel finds out
//   unless a branch before has done so.
//
// Where both numbers have 22 bits LLVM's own way is shorter, right, and left alone.
#pragma once

#include "llvm/IR/PassManager.h"

namespace rubia::codegen {

class DivisionsPass : public llvm::PassInfoMixin<DivisionsPass> {
public:
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace rubia::codegen
