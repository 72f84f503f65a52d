// SPDX-License-Identifier: Apache-2.0
// Memory that a debugger reads or writes, as the focus' thread sees it.
#pragma once

#include "emulator/lib/debug/Inspection.h"

namespace rubia::emulator {

class MemoryRange {
public:
  /// As many of `count` bytes as there are, a megabyte at most. `space` is global, shared, local or
  /// generic. An error: there is none.
  static llvm::Expected<MemoryRange> find(const Memory &memory, const Focus &focus,
                                          llvm::StringRef space, uint64_t address, uint64_t count);

  uint64_t count() const { return bytes; }
  uint8_t &at(uint64_t index) const;

private:
  Focus focus;
  uint8_t *base = nullptr; // null: local memory
  uint64_t first = 0;      // of the lane's local memory
  uint64_t bytes = 0;
};

} // namespace rubia::emulator
