// SPDX-License-Identifier: Apache-2.0
// What scalar and SIMD video instructions share: the operation on two numbers.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// x and y, integers or vectors of them, are wide enough for the exact result; signed.
using VideoOperation = llvm::Value *(*)(llvm::IRBuilder<> & b, llvm::Value *x, llvm::Value *y);

llvm::Value *videoAdd(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);
llvm::Value *videoSub(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);
llvm::Value *videoAbsdiff(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);
llvm::Value *videoMin(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);
llvm::Value *videoMax(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);

/// A comparison of vset, vset2 or vset4 as one of x < y and x != y with operands exchanged, negated
/// or both.
struct VideoComparison {
  const ptx::Modifier &mod;
  bool isOrdered, exchanged, negated;
};
VideoComparison videoComparison(const ptx::Instruction &inst);

} // namespace rubia::lowering
