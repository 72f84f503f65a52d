// SPDX-License-Identifier: Apache-2.0
// Integer clamp: what the instructions of the 16-, 32- and 64-bit families and the packed ones
// share.
#pragma once

#include "emulator/lib/vector/VectorAluFloat.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

/// The low bits of an exact result, or with the clamp bit the nearest value of the type. `W` holds
/// every exact result.
template <class I, class W> I narrowed(W exact, Saturate saturate) {
  return saturate.on ? saturated<I>(exact) : I(exact);
}

inline int32_t signExtend24(uint32_t value) { return int32_t(value << 8) >> 8; }
inline uint32_t zeroExtend24(uint32_t value) { return value & 0xffffff; }

/// V_BITOP3_*: bit i of the result is the table's bit {a[i], b[i], c[i]}.
inline uint32_t lookedUp(uint32_t table, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (unsigned row = 0; row < 8; ++row) {
    uint32_t matches = (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    result |= table >> row & 1 ? matches : 0;
  }
  return result;
}

/// V_PRNG_B32: one step of a linear feedback shift register.
inline uint32_t nextRandom(uint32_t seed) { return seed << 1 ^ (seed >> 31 ? 197 : 0); }

template <class I> I lesser(I a, I b) { return a < b ? a : b; }
template <class I> I greater(I a, I b) { return a > b ? a : b; }
template <class I> I middle(I a, I b, I c) {
  return greater(lesser(a, b), lesser(greater(a, b), c));
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
