// SPDX-License-Identifier: Apache-2.0
// Local arrays keep their object.
//
// PTX computes addresses as integers, so an array of a thread is reached by `inttoptr` of a sum,
// and LLVM must assume that any such access may touch it. It then stays in scratch memory, where
// clang's own code has it in registers: 16 words that are sorted, the words of a range reduction.
//
// This pass turns the sums into offsets: the address of the array becomes 0 in them, and each
// access a `getelementptr` of the array by the offset. Nothing is `inbounds`, as PTX may compute
// any address. Elements have the size of the accesses: AMDGPU's passes take such arrays for vectors
// in registers. There nothing sees an index beyond an array. So functions with the attribute
// "rubia-local-arrays" keep their arrays in memory, as arrays of bytes.
//
// It is done only where the object is certain, which takes three things:
// - All uses of the address are sums, differences, phis, selects and comparisons for equality that
//   end in accesses. So nothing else can know the address, and no offset can lead to another
//   object. Where an address is stored, handed to a function or combined otherwise, all stays as
//   it is.
// - Every phi, select and comparison has addresses of this array only.
// - No other array of the function is treated. PTX lays the variables of a function out side by
//   side, and an index may go from one into the next.
#pragma once

#include "llvm/IR/PassManager.h"

namespace rubia::codegen {

class LocalArraysPass : public llvm::PassInfoMixin<LocalArraysPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace rubia::codegen
