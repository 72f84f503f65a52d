// SPDX-License-Identifier: Apache-2.0
// What copies and reductions of many bytes share.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// Takes bytes that have come off an mbarrier's tx-count; who waits for it sees what was written.
void completeBytes(FunctionLowering &fn, const ptx::Instruction &inst, llvm::Value *mbarrier,
                   llvm::Value *bytes);

/// Ends the kernel, as an H100 does, if it is not launched with a cluster.
void needExplicitCluster(FunctionLowering &fn, const ptx::Instruction &inst);

/// A loop over 0, step, 2 step ... below `end` (an i32).
void forEachStep(FunctionLowering &fn, llvm::Value *end, unsigned step,
                 llvm::function_ref<void(llvm::Value *offset)> body);

/// Builds a copy, to be done for each CTA in .multicast::cluster's mask, if there is one. `shift`:
/// how far what corresponds to an address lies from it in that CTA's shared memory, in bytes (i64);
/// null: it is this CTA.
void inMulticast(FunctionLowering &fn, const ptx::Instruction &inst, unsigned maskOperand,
                 llvm::function_ref<void(llvm::Value *shift)> copy);
/// The same for a mask (i32) of CTAs of a cluster that may have several.
void forEachCta(FunctionLowering &fn, llvm::Value *mask,
                llvm::function_ref<void(llvm::Value *shift)> copy);
/// `shift` null: the pointer.
llvm::Value *shifted(FunctionLowering &fn, llvm::Value *pointer, llvm::Value *shift);

/// st.async and red.async with an mbarrier.
llvm::Expected<llvm::Value *> storeAndComplete(FunctionLowering &fn, const ptx::Instruction &inst);
llvm::Expected<llvm::Value *> reduceAndComplete(FunctionLowering &fn, const ptx::Instruction &inst);

} // namespace rubia::lowering
