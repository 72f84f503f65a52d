// SPDX-License-Identifier: Apache-2.0
// Ranges whose ends come from a file or a program, and may be anything.
#pragma once

#include <cstdint>

namespace rubia::emulator {

/// Whether [offset, offset + size) lies within [0, limit). Nothing wraps.
constexpr bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return size <= limit && offset <= limit - size;
}

} // namespace rubia::emulator
