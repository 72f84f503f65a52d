// Integer clamp: what the instructions of the 16-, 32- and 64-bit families and the packed ones
// share.
#pragma once

#include "emulator/lib/VectorAluFloat.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

/// The low bits of an exact result, or with the clamp bit the nearest value of the type. `W` holds
/// every exact result.
template <class I, class W> I narrowed(W exact, Saturate saturate) {
  return saturate.on ? saturated<I>(exact) : I(exact);
}

inline int32_t signExtend24(uint32_t value) { return int32_t(value << 8) >> 8; }
inline uint32_t zeroExtend24(uint32_t value) { return value & 0xffffff; }

template <class I> I lesser(I a, I b) { return a < b ? a : b; }
template <class I> I greater(I a, I b) { return a > b ? a : b; }
template <class I> I middle(I a, I b, I c) {
  return greater(lesser(a, b), lesser(greater(a, b), c));
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
