// SPDX-License-Identifier: Apache-2.0
// The host's floating point: the one place that knows how a processor other than the emulated one
// is told to round, and what it calls a number of 113 bits. MXCSR on x86-64 (Intel SDM "MXCSR
// Control and Status Register"), FPCR on AArch64 (Arm ARM "FPCR, Floating-point Control Register").
//
// Everything here is always inline: the vector tables are compiled for several instruction sets,
// and a function that the linker shared between them could be the one for a newer processor.
#pragma once

#include <cstdint>
#ifdef __x86_64__
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#error "the emulator knows the floating-point control of x86-64 and AArch64"
#endif

namespace rubia::emulator {

#ifdef __x86_64__
using HostFloatControl = unsigned;
constexpr HostFloatControl kDefaultFloatControl = 0x1f80; // to nearest, denormals kept, no traps
constexpr HostFloatControl kRoundingControl = 0x6000;
[[gnu::always_inline]] inline HostFloatControl hostFloatControl() { return _mm_getcsr(); }
[[gnu::always_inline]] inline void setHostFloatControl(HostFloatControl value) {
  _mm_setcsr(value);
}
#else
using HostFloatControl = uint64_t;
constexpr HostFloatControl kDefaultFloatControl = 0;
constexpr HostFloatControl kRoundingControl = 3 << 22;
[[gnu::always_inline]] inline HostFloatControl hostFloatControl() {
  return __builtin_arm_rsr64("fpcr");
}
[[gnu::always_inline]] inline void setHostFloatControl(HostFloatControl value) {
  __builtin_arm_wsr64("fpcr", value);
}
#endif

/// IEEE's binary128, which arithmetic in software makes exact enough for f64.
#if __LDBL_MANT_DIG__ == 113
using Quad = long double;
#else
using Quad = __float128;
#endif

/// The host's rounding mode while it lives.
class HostRounding {
public:
#ifdef __x86_64__
  enum Direction : HostFloatControl {
    Nearest = 0,
    Down = 0x2000,
    Up = 0x4000,
    TowardZero = 0x6000
  };
#else
  enum Direction : HostFloatControl {
    Nearest = 0,
    Up = 1 << 22,
    Down = 2 << 22,
    TowardZero = 3 << 22
  };
#endif
  [[gnu::always_inline]] explicit HostRounding(Direction direction) : saved(hostFloatControl()) {
    setHostFloatControl((saved & ~kRoundingControl) | direction);
  }
  [[gnu::always_inline]] ~HostRounding() { setHostFloatControl(saved); }
  HostRounding(const HostRounding &) = delete;
  HostRounding &operator=(const HostRounding &) = delete;

private:
  HostFloatControl saved;
};

/// Round to nearest, denormals kept, for as long as it lives. Calls of functions that are not
/// inline stay between constructor and destructor; inline arithmetic need not.
class DefaultFloatEnvironment {
public:
  [[gnu::always_inline]] DefaultFloatEnvironment() : saved(hostFloatControl()) {
    if (saved != kDefaultFloatControl)
      setHostFloatControl(kDefaultFloatControl);
  }
  [[gnu::always_inline]] ~DefaultFloatEnvironment() {
    if (saved != kDefaultFloatControl)
      setHostFloatControl(saved);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;
  DefaultFloatEnvironment &operator=(const DefaultFloatEnvironment &) = delete;

private:
  HostFloatControl saved;
};

} // namespace rubia::emulator
