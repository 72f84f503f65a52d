// SPDX-License-Identifier: Apache-2.0
// Long blocks in pieces, for the vectorizer. It takes the square of a block's length. In long
// blocks it also makes vectors whose values have to be moved together: without them sixteen large
// Fourier transforms have 0.92 of the instructions on gfx942.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class BasicBlock;
class Instruction;
} // namespace llvm

namespace rubia::codegen {

/// Where pieces of so many instructions begin, the last one first: to divide a block moves all
/// that is behind. Phis do not count, and no piece begins with the terminator.
llvm::SmallVector<llvm::Instruction *> pieceStarts(llvm::BasicBlock &block, unsigned most);

/// Divides blocks of many instructions.
struct DivideBlocksPass : llvm::PassInfoMixin<DivideBlocksPass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &);
};

/// Joins them again: for one value, `instcombine` looks at all blocks that dominate it.
struct JoinBlocksPass : llvm::PassInfoMixin<JoinBlocksPass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &);
};

} // namespace rubia::codegen
