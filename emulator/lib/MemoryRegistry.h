// What the emulator's own parts see of a Memory besides its public members.
#pragma once

#include "emulator/Emulator.h"
#include <atomic>

namespace rubia::emulator {

/// The counter behind Memory::generation(), so that a check costs one load.
const std::atomic<uint64_t> &generationOf(const Memory &memory);

} // namespace rubia::emulator
