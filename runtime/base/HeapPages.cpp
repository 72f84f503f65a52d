// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/HeapPages.h"
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rubia::runtime {

void keepHeapInHugePages() {
#ifdef __GLIBC__
  constexpr size_t kHeap = 32 << 20, kHugePage = 2 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  mallopt(M_TOP_PAD, kHeap);
  void *volatile grown = malloc(kHugePage); // the heap's end moves
  free(grown);
  const uintptr_t end = uintptr_t(sbrk(0));
  const uintptr_t begin = (end - kHeap + kHugePage - 1) / kHugePage * kHugePage;
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

} // namespace rubia::runtime
