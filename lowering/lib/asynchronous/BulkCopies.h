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

/// Builds a copy, to be done only where the CTA is in .multicast::cluster's mask, if there is one.
void inMulticast(FunctionLowering &fn, const ptx::Instruction &inst, unsigned maskOperand,
                 llvm::function_ref<void()> copy);

/// st.async and red.async with an mbarrier.
llvm::Expected<llvm::Value *> storeAndComplete(FunctionLowering &fn, const ptx::Instruction &inst);
llvm::Expected<llvm::Value *> reduceAndComplete(FunctionLowering &fn, const ptx::Instruction &inst);

} // namespace rubia::lowering
