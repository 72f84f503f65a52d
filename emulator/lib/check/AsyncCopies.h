// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies on their way to shared memory, for the check `races`. The emulator executes
// the code that Rubia made, which copies where a copy is issued; the program may rest on the bytes
// only behind its wait. Notes in the code object say which stores are of copies, and where the
// program commits groups of them and waits (lowering/lib/frame/AsyncNotes.h).
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace rubia::emulator {

/// A store of a copy, by one thread.
struct AsyncStore {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t group = 0;      // of the thread that copies
  uint32_t handedOver = 0; // to an mbarrier, at that time; 0: not
  uint32_t pc = 0;
  uint16_t thread = 0; // lane in the workgroup
  uint8_t lane = 0;    // of its wave
  bool isLds = false;
};

/// The copies of a workgroup. Threads are numbered by waves, warps by the race check.
class AsyncCopies {
public:
  bool empty() const { return inFlight.empty(); }

  /// A thread stores dwords of a copy, or begins one whose store is held back.
  void store(const AsyncStore &store);
  void hold(const AsyncStore &store);
  /// A plain store, or an arrived copy, takes the place of what was on its way.
  void forget(bool isLds, uint64_t address, uint32_t bytes);

  void commit(unsigned thread) { ++stateOf(thread).open; }
  /// Calls `arrived` with each store of the thread that its wait covers.
  void wait(unsigned thread, unsigned groups, llvm::function_ref<void(const AsyncStore &)> arrived);
  void waitAll(unsigned thread, llvm::function_ref<void(const AsyncStore &)> arrived);
  void handOver(unsigned thread);
  /// A copy of the thread that a wait for all but the latest `groups` covers, whose store the
  /// translation still holds back; or null.
  const AsyncStore *heldBehindWait(unsigned thread, unsigned groups) const;
  /// An mbarrier told a warp that its phase is over.
  void observe(unsigned warp);
  /// All warps of the workgroup know what one knows.
  void barrier();

  /// The copy that a warp may not rely on yet among the dwords of [address, address + bytes), or
  /// null.
  const AsyncStore *find(bool isLds, uint64_t address, uint32_t bytes, unsigned warp) const;

private:
  struct ThreadState {
    uint32_t open = 0;               // number of the group that is not closed
    std::vector<AsyncStore> pending; // in the order of the groups
    std::vector<AsyncStore> held;    // `bytes` of each are yet to be stored
  };
  void begin(const AsyncStore &store);
  bool finishesHeld(ThreadState &state, const AsyncStore &store);
  ThreadState &stateOf(unsigned thread) {
    if (thread >= threads.size())
      threads.resize(thread + 1);
    return threads[thread];
  }
  static uint64_t keyOf(bool isLds, uint64_t dword) { return dword >> 2 << 1 | unsigned(isLds); }
  void arrive(ThreadState &state, llvm::function_ref<bool(const AsyncStore &)> isCovered,
              llvm::function_ref<void(const AsyncStore &)> arrived);

  std::vector<ThreadState> threads;
  llvm::DenseMap<uint64_t, AsyncStore> inFlight; // by dword
  uint32_t time = 1;                             // of the next handing over
  std::vector<uint32_t> observed;                // by warp: what was handed over before
  uint32_t observedByAll = 0;                    // at the latest barrier
};

} // namespace rubia::emulator
