// What scalar and SIMD video instructions share: the operation on two numbers.
#pragma once

#include "lowering/lib/FunctionLowering.h"

namespace rubia::lowering {

// x and y, integers or vectors of them, are wide enough for the exact result; signed.
using VideoOperation = llvm::Value *(*)(llvm::IRBuilder<> & b, llvm::Value *x, llvm::Value *y);

llvm::Value *videoAdd(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);
llvm::Value *videoSub(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);
llvm::Value *videoAbsdiff(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);
llvm::Value *videoMin(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);
llvm::Value *videoMax(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y);

// 1 or 0: .eq .ne .lt .le .gt .ge of vset, vset2 and vset4.
llvm::Value *videoSet(llvm::IRBuilder<> &b, const ptx::Instruction &inst, llvm::Value *x,
                      llvm::Value *y);

} // namespace rubia::lowering
