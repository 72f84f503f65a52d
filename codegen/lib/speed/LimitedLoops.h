// SPDX-License-Identifier: Apache-2.0
// Passes over loops, but not in functions where they would take the square of the length.
#pragma once

#include "llvm/IR/PassManager.h"

namespace rubia::codegen {

/// Runs passes over a function, unless it has so many loops and instructions that they take too
/// long: LLVM forgets what it knows of all values that follow from a loop's, for each loop that it
/// simplifies or peels. Of 64,000 instructions with 3 % loops that is 40 % of the time.
class LimitedLoopsPass : public llvm::PassInfoMixin<LimitedLoopsPass> {
public:
  explicit LimitedLoopsPass(llvm::FunctionPassManager passes) : passes(std::move(passes)) {}
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

private:
  llvm::FunctionPassManager passes;
};

} // namespace rubia::codegen
