// SPDX-License-Identifier: Apache-2.0
// Float operations of the host under a rounding and a denormal mode: the reference for those of
// PTX.
#pragma once

#include <bit>
#include <cfenv>
#include <cstdint>
#include <xmmintrin.h>

namespace rubia::lowering::test {

inline float f32(uint64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
inline double f64(uint64_t bits) { return std::bit_cast<double>(bits); }
inline uint64_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t bitsOf(double value) { return std::bit_cast<uint64_t>(value); }

/// "", "rn", "rz", "rm", "rp" as <cfenv> knows it.
inline int hostRounding(const char *name) {
  switch (*name ? name[1] : 'n') {
  case 'z':
    return FE_TOWARDZERO;
  case 'm':
    return FE_DOWNWARD;
  case 'p':
    return FE_UPWARD;
  default:
    return FE_TONEAREST;
  }
}

/// MXCSR for the lifetime of the object. Flushing is by the rounded result with unbounded exponent,
/// as NVIDIA's.
class HostMode {
public:
  explicit HostMode(int rounding, bool flushes = false) : saved(_mm_getcsr()) {
    std::fesetround(rounding);
    if (flushes)
      _mm_setcsr(_mm_getcsr() | 0x8040); // FTZ, DAZ
  }
  ~HostMode() {
    std::fesetround(FE_TONEAREST);
    _mm_setcsr(saved);
  }

private:
  unsigned saved;
};

/// A value that the compiler cannot compute with at compile time or move out of a mode.
template <typename T> inline T opaque(T value) {
  volatile T copy = value;
  return copy;
}

} // namespace rubia::lowering::test
