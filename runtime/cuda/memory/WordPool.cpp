// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/memory/WordPool.h"
#include "runtime/cuda/Memory.h"

namespace rubia::runtime::cuda {

static constexpr size_t kPageBytes = 4096, kWordBytes = 8;

Result WordPool::take(Context &context, void *&word) {
  std::lock_guard<std::mutex> lock(mutex);
  if (free.empty()) {
    void *page = nullptr;
    if (Result result = allocateDevice(context, &page, kPageBytes))
      return result;
    ownedByRuntime(hip(), page);
    pages.push_back(page);
    for (size_t at = kPageBytes; at; at -= kWordBytes)
      free.push_back(static_cast<char *>(page) + at - kWordBytes);
  }
  // One that was given back still has its last value.
  if (Result result =
          context.check(context.services.stream().fill(hip(), free.back(), 0, kWordBytes)))
    return result;
  word = free.back();
  free.pop_back();
  return kSuccess;
}

void WordPool::giveBack(void *word, unsigned life) {
  std::lock_guard<std::mutex> lock(mutex);
  if (life == lives)
    free.push_back(word);
}

void WordPool::release(const Hip &hip, bool isLost) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isLost)
    for (void *page : pages)
      (void)hip.call<hipFree>(page); // whatever it says: the context ends
  pages.clear();
  free.clear();
  ++lives;
}

} // namespace rubia::runtime::cuda
