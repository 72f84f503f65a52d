// SPDX-License-Identifier: Apache-2.0
// Keeps matrix fragments in the layout of the target's matrix unit.
//
// Lowering makes each mma a call that moves its operands from PTX's layout to the unit's,
// multiplies and moves the sums back (lowering/lib/matrices/NativeMma.h). Here, where values
// are in SSA form,
// - two mma with the same A and types become one product: the unit has 16 columns, mma has 8;
// - sums that only go to the next product, also round a loop, stay in the unit's layout, and are
//   scaled there;
// - fragments that ldmatrix reads are read from shared memory as the unit wants them.
// Nothing depends on this pass but speed.
//
// A unit's fragment needs all lanes of a wave. So only those mma are touched that no divergent
// branch decides about; in waves of 64 lanes only in kernels whose CTAs fill their waves.
#pragma once

#include "llvm/IR/PassManager.h"

namespace rubia::codegen {

/// Whether a module has mma for a matrix unit.
bool hasNativeFragments(const llvm::Module &module);

class NativeFragmentsPass : public llvm::PassInfoMixin<NativeFragmentsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace rubia::codegen
