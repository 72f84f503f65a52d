// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/interpreter/Memory.h"
#include "llvm/ADT/STLExtras.h"

namespace rubia::reference::interpreter {

void GlobalMemory::add(MemoryRange range) {
  auto behind = llvm::partition_point(
      ranges, [&](const MemoryRange &other) { return other.address < range.address; });
  ranges.insert(behind, range);
}

void GlobalMemory::remove(uint64_t address) {
  llvm::erase_if(ranges, [&](const MemoryRange &range) { return range.address == address; });
}

uint8_t *GlobalMemory::search(uint64_t address, uint64_t size) {
  auto behind = llvm::partition_point(
      ranges, [&](const MemoryRange &range) { return range.address <= address; });
  if (behind == ranges.begin())
    return nullptr;
  last = size_t(behind - ranges.begin()) - 1;
  return at(ranges[last], address, size);
}

} // namespace rubia::reference::interpreter
