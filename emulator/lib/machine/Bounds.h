// SPDX-License-Identifier: Apache-2.0
// Ranges whose ends come from a file or a program, and may be anything.
#pragma once

#include <cstdint>

namespace rubia::emulator {

/// Whether [offset, offset + size) lies within [0, limit). Nothing wraps.
constexpr bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return size <= limit && offset <= limit - size;
}

/// Whether a read is of four elements and the last one alone may lie behind the end. NVIDIA's
/// compilers and LLVM read three in a row so where they are aligned; nobody uses the last one, and
/// it is in the same page.
constexpr bool readsThreeAsFour(uint64_t address, uint32_t size, uint64_t end) {
  return size > 4 && address % size == 0 && fits(address, size / 4 * 3, end);
}

} // namespace rubia::emulator
