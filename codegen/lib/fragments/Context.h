// SPDX-License-Identifier: Apache-2.0
// What the parts of NativeFragmentsPass share: names, fragments and the function that they are in.
#pragma once

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PassManager.h"

namespace rubia::codegen::fragments {

constexpr llvm::StringLiteral kMma = "__rubia_mma.", kProduct = "__rubia_product.";
constexpr llvm::StringLiteral kLdmatrix = "__rubia_ldmatrix.x";
constexpr unsigned kSums = 8; ///< registers of two mma

/// The name of the function that is called; empty: none is.
llvm::StringRef calleeOf(const llvm::Instruction &inst);

/// Registers of PTX's fragments; null: of no interest.
using Registers = llvm::SmallVector<llvm::Value *, 8>;
/// A fragment of the unit: a vector for each warp in a wave.
using Native = llvm::SmallVector<llvm::Value *, 2>;

/// The vectors of a structure that has one for each warp.
Native split(llvm::IRBuilder<> &b, llvm::Value *structure);

struct Context {
  Context(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

  /// Whether lanes may have come to a block on different ways.
  bool isDivided(llvm::BasicBlock *block) const;
  /// A function that lowering has made.
  llvm::Function *called(const llvm::Twine &name) const;

  llvm::Function &function;
  llvm::Module &module;
  llvm::UniformityInfo &uniformity;
  const llvm::DominatorTree &dominators;
  const llvm::LoopInfo &loops;
  /// Blocks that some lanes of a wave may execute without the others.
  const llvm::DenseSet<llvm::BasicBlock *> divided;
};

} // namespace rubia::codegen::fragments
