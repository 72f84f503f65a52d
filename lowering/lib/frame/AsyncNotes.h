// SPDX-License-Identifier: Apache-2.0
// What the emulator's check `races` has to know of asynchronous copies, and `warps` of these and of
// barriers of part of a warp. Rubia performs a copy where
// it is issued or where it is waited for, so that a program which forgets to wait may compute what
// it should, and not on NVIDIA's GPUs. So the code object says which stores belong to copies (the
// section .rubia.accesses), which copies are held back, and where the program waits for them (the
// section .rubia.async): docs/architecture.md.
#pragma once

#include "llvm/IR/IRBuilder.h"
#include <string>

namespace rubia::lowering {

/// A place of the program, for the lanes that are on there. The numbers are in code objects.
enum class AsyncMark : uint8_t {
  Commit = 1,     ///< closes the thread's group of copies
  WaitGroup = 2,  ///< all but the latest `count` closed groups of the thread have arrived
  WaitAll = 3,    ///< all copies of the thread have arrived
  HandedOver = 4, ///< an mbarrier will tell of the thread's copies up to here
  Observed = 5,   ///< an mbarrier has told, which counts for the whole warp
  Held = 6,       ///< a copy of `count` bytes begins, to the LDS address in a register
  PartOfWarp = 7, ///< a bar.warp.sync, whose membermask is in a register
  ByWarp = 8      ///< up to the next HandedOver, the lanes of a warp copy for the first that is on
};

/// Notes that `store` belongs to an asynchronous copy. Where it is held back to the wait, the place
/// where the copy is issued is noted too (markHeldCopy).
void markAsyncStore(llvm::Instruction *store);

/// The scope of relaxed accesses that are part of an arrival at an mbarrier: what they read is
/// ours, and shows the program nothing of what other threads have done. For LLVM it differs from
/// `scope` in what else is ordered with an access, and with a relaxed one nothing is (AMDGPUUsage,
/// "Memory Model": one address space).
llvm::SyncScope::ID scopeOfArrival(llvm::LLVMContext &context, llvm::SyncScope::ID scope);

/// Emits an instruction without effect, which no memory access is moved across, and its note.
void markAsync(llvm::IRBuilderBase &builder, AsyncMark mark, unsigned count = 0);
/// The same as text of assembly.
std::string asyncMarkText(AsyncMark mark, unsigned count = 0);
/// As text of assembly, the note alone: the mark is the instruction that follows.
std::string asyncNoteText(AsyncMark mark);
/// As markAsync(), for a copy whose store to `place` in shared memory is held back.
void markHeldCopy(llvm::IRBuilderBase &builder, llvm::Value *place, unsigned bytes);
/// As markAsync(), for what orders the accesses of the threads in `members`.
void markPartOfWarp(llvm::IRBuilderBase &builder, llvm::Value *members);

} // namespace rubia::lowering
