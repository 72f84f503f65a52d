// SPDX-License-Identifier: Apache-2.0
// The clocks that a wave can read, all from the host's steady clock so that they never run
// backwards.
#pragma once

#include <chrono>
#include <cstdint>

namespace rubia::emulator {

inline uint64_t steadyNanoseconds() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch() /
                  std::chrono::nanoseconds(1));
}
/// The shader clock, taken to be 2 GHz.
inline uint64_t shaderCycles() { return steadyNanoseconds() * 2; }
/// The constant 100 MHz clock.
inline uint64_t realTime() { return steadyNanoseconds() / 10; }

} // namespace rubia::emulator
