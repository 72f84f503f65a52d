// SPDX-License-Identifier: Apache-2.0
// Global memory: ranges of host memory, each access checked against them.
#pragma once

#include "reference/Interpreter.h"
#include <vector>

namespace rubia::reference::interpreter {

class GlobalMemory {
public:
  void add(MemoryRange range);
  /// Forgets the range that begins there, if there is one.
  void remove(uint64_t address);
  void clear() { ranges.clear(); }
  /// The host's address of `size` bytes; null if they are not all in one range.
  uint8_t *find(uint64_t address, uint64_t size) {
    if (last < ranges.size())
      if (uint8_t *found = at(ranges[last], address, size))
        return found;
    return search(address, size);
  }

private:
  static uint8_t *at(const MemoryRange &range, uint64_t address, uint64_t size) {
    const uint64_t offset = address - range.address;
    return offset < range.bytes.size() && size <= range.bytes.size() - offset
               ? range.bytes.data() + offset
               : nullptr;
  }
  uint8_t *search(uint64_t address, uint64_t size);

  std::vector<MemoryRange> ranges; // by address
  size_t last = 0;                 // where the last access was
};

} // namespace rubia::reference::interpreter
