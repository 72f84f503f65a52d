// SPDX-License-Identifier: Apache-2.0
// Single words of device memory.
#pragma once

#include "runtime/cuda/Types.h"
#include <atomic>
#include <mutex>
#include <vector>

namespace rubia::runtime {
class Hip;
}

namespace rubia::runtime::cuda {

struct Context;

/// The words of a context; memory that they lie in is kept until the context ends.
class WordPool {
public:
  /// The word is 0.
  Result take(Context &context, void *&word);
  /// `life`: of the pool when the word was taken. One of an earlier life went with it.
  void giveBack(void *word, unsigned life);
  unsigned life() const { return lives; }
  void release(const Hip &hip, bool isLost);

private:
  std::mutex mutex;
  std::vector<void *> pages, free;
  std::atomic<unsigned> lives = 0;
};

} // namespace rubia::runtime::cuda
