// SPDX-License-Identifier: Apache-2.0
// Entry points that name a device.
#pragma once

#include "runtime/cuda/Driver.h"

namespace rubia::runtime::cuda {

/// As call(), with a device of the program's numbering; kInvalidDevice if there is none.
template <class Body> Result callFor(const char *name, int ordinal, Body body) {
  return call(name, [&]() -> Result {
    Device *device = deviceAt(ordinal);
    return device ? body(*device) : kInvalidDevice;
  });
}

} // namespace rubia::runtime::cuda
