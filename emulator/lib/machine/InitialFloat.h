// SPDX-License-Identifier: Apache-2.0
// What kernels compute does not depend on what the program that launches them has made of the
// host's floating point: Fortran's -ffpe-trap, -ffast-math, a rounding mode.
#pragma once

#include <cfenv>

namespace rubia::emulator {

/// All of the host's floating point as a program finds it at its start, for as long as it lives:
/// also of x87, which long double is computed by, and which has a rounding and traps of its own.
/// The flags that are raised meanwhile are forgotten.
class InitialFloatEnvironment {
public:
  [[gnu::always_inline]] InitialFloatEnvironment() {
    std::fegetenv(&saved);
    std::fesetenv(FE_DFL_ENV);
  }
  [[gnu::always_inline]] ~InitialFloatEnvironment() { std::fesetenv(&saved); }
  InitialFloatEnvironment(const InitialFloatEnvironment &) = delete;
  InitialFloatEnvironment &operator=(const InitialFloatEnvironment &) = delete;

private:
  std::fenv_t saved;
};

} // namespace rubia::emulator
