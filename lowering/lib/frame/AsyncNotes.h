// SPDX-License-Identifier: Apache-2.0
// What the emulator's check `races` has to know of asynchronous copies. Rubia performs a copy where
// it is issued, so a program that forgets to wait computes what it should; on NVIDIA's GPUs it may
// not. So the code object says which stores belong to copies (the section .rubia.accesses) and
// where the program waits for them (the section .rubia.async): docs/architecture.md.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace rubia::lowering {

/// A place of the program, for the lanes that are on there. The numbers are in code objects.
enum class AsyncMark : uint8_t {
  Commit = 1,     ///< closes the thread's group of copies
  WaitGroup = 2,  ///< all but the latest `count` closed groups of the thread have arrived
  WaitAll = 3,    ///< all copies of the thread have arrived
  HandedOver = 4, ///< an mbarrier will tell of the thread's copies up to here
  Observed = 5    ///< an mbarrier has told, which counts for the whole warp
};

/// Notes that `store` belongs to an asynchronous copy. Those that are held back to the wait do not.
void markAsyncStore(llvm::Instruction *store);

/// Emits an instruction without effect, which no memory access is moved across, and its note.
void markAsync(llvm::IRBuilderBase &builder, AsyncMark mark, unsigned count = 0);

} // namespace rubia::lowering
