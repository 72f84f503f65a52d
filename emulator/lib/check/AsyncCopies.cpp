// SPDX-License-Identifier: Apache-2.0
// PTX ISA: data-movement-and-conversion-instructions-asynchronous-copy. A dword on its way belongs
// to the thread that copies it, until that thread waits for its group; or until an mbarrier, which
// it was handed over to, has told the reading warp. Which mbarrier is not followed: any will do.
#include "emulator/lib/check/AsyncCopies.h"
#include <algorithm>

using namespace llvm;

namespace rubia::emulator {

static void forDwords(uint64_t address, uint32_t bytes, function_ref<void(uint64_t)> visit) {
  for (uint64_t dword = address & ~3ull; dword < address + bytes; dword += 4)
    visit(dword);
}

void AsyncCopies::hold(const AsyncStore &store) {
  begin(store);
  ThreadState &state = stateOf(store.thread);
  state.held.push_back(store);
  state.held.back().group = state.open;
}

// The store of a copy that was held back begins nothing new. It may come before the wait that the
// program has for it, and in parts.
bool AsyncCopies::finishesHeld(ThreadState &state, const AsyncStore &store) {
  auto covers = [&](const AsyncStore &whole) {
    return whole.isLds == store.isLds && whole.address <= store.address &&
           store.address - whole.address < 16 && store.bytes <= whole.bytes;
  };
  auto held = find_if(state.held, covers);
  if (held == state.held.end())
    return false;
  held->bytes -= store.bytes;
  if (held->bytes == 0)
    state.held.erase(held);
  return true;
}

void AsyncCopies::store(const AsyncStore &store) {
  if (!finishesHeld(stateOf(store.thread), store))
    begin(store);
}

void AsyncCopies::begin(const AsyncStore &store) {
  ThreadState &state = stateOf(store.thread);
  AsyncStore numbered = store;
  numbered.group = state.open;
  state.pending.push_back(numbered);
  forDwords(store.address, store.bytes,
            [&](uint64_t dword) { inFlight[keyOf(store.isLds, dword)] = numbered; });
}

void AsyncCopies::forget(bool isLds, uint64_t address, uint32_t bytes) {
  forDwords(address, bytes, [&](uint64_t dword) { inFlight.erase(keyOf(isLds, dword)); });
}

void AsyncCopies::arrive(ThreadState &state, function_ref<bool(const AsyncStore &)> isCovered,
                         function_ref<void(const AsyncStore &)> arrived) {
  erase_if(state.pending, [&](const AsyncStore &store) {
    if (!isCovered(store))
      return false;
    bool isLast = false; // nobody has stored there since
    forDwords(store.address, store.bytes, [&](uint64_t dword) {
      auto found = inFlight.find(keyOf(store.isLds, dword));
      if (found == inFlight.end() || found->second.thread != store.thread ||
          found->second.pc != store.pc || found->second.group != store.group)
        return;
      inFlight.erase(found);
      isLast = true;
    });
    if (isLast)
      arrived(store);
    return true;
  });
}

void AsyncCopies::wait(unsigned thread, unsigned groups,
                       function_ref<void(const AsyncStore &)> arrived) {
  ThreadState &state = stateOf(thread);
  arrive(
      state, [&](const AsyncStore &store) { return uint64_t(store.group) + groups < state.open; },
      arrived);
}

void AsyncCopies::waitAll(unsigned thread, function_ref<void(const AsyncStore &)> arrived) {
  ThreadState &state = stateOf(thread);
  ++state.open;
  arrive(state, [](const AsyncStore &) { return true; }, arrived);
}

const AsyncStore *AsyncCopies::heldBehindWait(unsigned thread, unsigned groups) const {
  if (thread >= threads.size())
    return nullptr;
  for (const AsyncStore &store : threads[thread].held)
    if (uint64_t(store.group) + groups < threads[thread].open)
      return &store;
  return nullptr;
}

void AsyncCopies::handOver(unsigned thread) {
  constexpr uint32_t kKept = 256; // who hands over rarely waits too
  std::vector<AsyncStore> &pending = stateOf(thread).pending;
  erase_if(pending, [&](const AsyncStore &store) {
    return store.handedOver && store.handedOver + kKept < time;
  });
  for (AsyncStore &store : pending) {
    if (store.handedOver)
      continue;
    store.handedOver = time;
    forDwords(store.address, store.bytes, [&](uint64_t dword) {
      auto found = inFlight.find(keyOf(store.isLds, dword));
      if (found != inFlight.end() && found->second.thread == store.thread &&
          found->second.group == store.group)
        found->second.handedOver = time;
    });
  }
  ++time;
}

void AsyncCopies::observe(unsigned warp) {
  if (warp >= observed.size())
    observed.resize(warp + 1);
  observed[warp] = time;
}

void AsyncCopies::barrier() {
  for (uint32_t of : observed)
    observedByAll = std::max(observedByAll, of);
}

const AsyncStore *AsyncCopies::find(bool isLds, uint64_t address, uint32_t bytes,
                                    unsigned warp) const {
  const AsyncStore *result = nullptr;
  const uint32_t known = std::max(observedByAll, warp < observed.size() ? observed[warp] : 0);
  forDwords(address, bytes, [&](uint64_t dword) {
    auto found = inFlight.find(keyOf(isLds, dword));
    if (found == inFlight.end())
      return;
    const uint32_t handed = found->second.handedOver;
    if (handed == 0 || known <= handed)
      result = &found->second;
  });
  return result;
}

} // namespace rubia::emulator
