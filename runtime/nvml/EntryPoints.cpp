// SPDX-License-Identifier: Apache-2.0
// Every function of NVML is exported. Those that nothing is known for say that they are not
// supported, as NVIDIA's library does for what a GPU lacks.
#include "runtime/nvml/Nvml.h"

using namespace rubia::runtime::nvml;

// Weak: a definition elsewhere takes its place.
#define NVML_FUNCTION(Name)                                                                        \
  extern "C" __attribute__((weak)) Return Name() {                                                 \
    return state() ? kNotSupported : kUninitialized;                                               \
  }
#include "runtime/nvml/Functions.def"
