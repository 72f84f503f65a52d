// SPDX-License-Identifier: Apache-2.0
// The last pass of the middle end: forms that LLVM's passes prefer, and that AMDGPU has no good
// code for, become others.
//
// - How many of some comparisons hold. The SLP vectoriser makes it `ctpop` of a vector of
//   conditions, which AMDGPU shifts together bit by bit: 16 instructions for four conditions. Each
//   condition is the carry of an addition.
// - Branches over a body. StructurizeCFG wants the condition of the body, and negates the other one
//   by an instruction, unless it is a single comparison. Here comparisons within it are turned.
// - Bits that two numbers share, of which one stays the same in a loop. PTX compares their
//   difference; what the loop keeps can be masked before it.
// - Conversions of the lower half of 64 bits to floating point, where the upper half says nothing.
//   LLVM converts all 64 bits, which takes seven instructions more.
// - Few arguments of a kernel. InstCombine moves their loads to where they are used; at the start
//   one load brings several.
#pragma once

#include "llvm/IR/PassManager.h"

namespace rubia::codegen {

class TargetFormsPass : public llvm::PassInfoMixin<TargetFormsPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace rubia::codegen
