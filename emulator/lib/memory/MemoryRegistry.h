// SPDX-License-Identifier: Apache-2.0
// What the emulator's own parts see of a Memory besides its public members.
#pragma once

#include "emulator/Emulator.h"
#include <atomic>
#include <vector>

namespace rubia::emulator {

/// The counter behind Memory::generation(), so that a check costs one load.
const std::atomic<uint64_t> &generationOf(const Memory &memory);

/// What an allocation that kernels may write holds.
struct MemoryContents {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
};
/// Of all of them, to have a launch begin as an earlier one did.
std::vector<MemoryContents> contentsOf(const Memory &memory);
void restoreContents(llvm::ArrayRef<MemoryContents> contents);

} // namespace rubia::emulator
