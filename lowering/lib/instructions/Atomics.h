// SPDX-License-Identifier: Apache-2.0
// What the atomics share: how one becomes ordered, and what is done to 128 bits, for which LLVM has
// no atomics.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/instructions/MemoryModel.h"

namespace rubia::lowering {

/// Builds accesses by `relaxed` with the semantics of an atomic as a whole: fences before and after
/// them. PTX ISA: release-patterns, acquire-patterns.
llvm::Value *withSemantics(FunctionLowering &fn, ptx::Modifier semantics, ptx::Modifier scope,
                           llvm::function_ref<llvm::Value *()> relaxed);

/// A relaxed load or store of 16 bytes, aligned to 16, as one instruction; the value is of
/// wholeType().
inline constexpr unsigned kWholeBytes = 16;
inline llvm::Type *wholeType(llvm::IRBuilder<> &b) {
  return llvm::FixedVectorType::get(b.getInt32Ty(), 4);
}
llvm::Value *loadWhole(FunctionLowering &fn, llvm::Value *pointer, ptx::Modifier scope);
void storeWhole(FunctionLowering &fn, llvm::Value *value, llvm::Value *pointer,
                ptx::Modifier scope);

/// Reads the 128 bits at `pointer`, and writes what `update` makes of them (an i128; nothing if it
/// gives null), as one relaxed operation; gives what was read. All such operations on one address
/// exclude each other, whichever thread, kernel or module of the context they are in.
llvm::Value *updateWide(FunctionLowering &fn, llvm::Value *pointer, ptx::Modifier scope,
                        llvm::function_ref<llvm::Value *(llvm::Value *old)> update);

/// The operation that a spelling names: .add, .min, .inc, .and ...; None: none.
ptx::Modifier reductionOf(const ptx::Spelling &spelling);

/// One relaxed operation on memory of the CTA or the device, as cp.reduce.async.bulk and red.async
/// do it: additions of f32 keep denormals everywhere.
void reduceElement(FunctionLowering &fn, const ptx::Instruction &inst, llvm::Value *pointer,
                   bool isShared, ptx::Modifier operation, ptx::Type type, llvm::Value *operand);

} // namespace rubia::lowering
