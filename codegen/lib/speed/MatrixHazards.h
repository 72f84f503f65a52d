// SPDX-License-Identifier: Apache-2.0
// CDNA 2 and later want some waiting between a product of matrices, or a dot product, and what
// reads or writes its registers. For each operand of each instruction LLVM looks back for such
// products, up to 19 instructions and into the blocks before. Most kernels have none of them:
// there is nothing to look for.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
}

namespace rubia::codegen {

/// Whether an instruction of this name may be such a product. LLVM's flags, which say so, are for
/// itself only.
bool mayBeProduct(llvm::StringRef name);

/// Looks whether a function has products of matrices or dot products. To be run behind selection,
/// at all levels: what it says is of the last function that it has seen.
llvm::Pass *makeMatrixHazards();

/// How often LLVM was not asked, by this thread.
unsigned matrixHazardsSpared();

/// While there is one, LLVM looks back in all functions. For tests.
struct MatrixHazardsEverywhere {
  MatrixHazardsEverywhere();
  ~MatrixHazardsEverywhere();
};

} // namespace rubia::codegen
